"""The built wheel, in an empty environment without the checkout: a plain Spark session, and a short demo.

Run by ``make wheel``. Prints a closing line that counts, and exits non-zero if anything is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
EVENTS = "8000"


def run(command: list[str], cwd: Path) -> None:
    print("wheel:", " ".join(Path(word).name for word in command[:6]), flush=True)
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK", "SPARK_", "VIRTUAL_"))
    }
    clean["PATH"] = f"{cwd / 'env/bin'}{os.pathsep}{clean['PATH']}"  # as in an activated environment
    subprocess.run(command, cwd=cwd, env=clean, check=True)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], folder)
        wheel = next(folder.glob("*.whl"))
        venv.create(folder / "env", with_pip=True)
        python = str(folder / "env/bin/python")
        run([python, "-m", "pip", "install", "-q", f"pravega-lab[lab] @ {wheel.as_uri()}"], folder)
        program = str(folder / "env/bin/pravega-lab")
        run([program, "doctor"], folder)
        run([python, shutil.copy(ROOT / "tests/plain_session.py", folder)], folder)
        run([program, "demo", "--events", EVENTS, "--speed", "2", "--no-kill"], folder)
        page = folder / "demo.html"
        passed = page.exists() and page.stat().st_size > 1000
    print(f"{int(passed)} passed, {int(not passed)} failed")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
