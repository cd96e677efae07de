"""The built wheel, in an environment without the checkout: a plain Spark session, and a short demo.

Run by ``make wheel`` in an empty environment, and by ``make installed`` in the one of a Binder's steps.
Prints a closing line that counts, and exits non-zero if anything is missing.
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


def run(command: list[str], cwd: Path, prefix: Path) -> str:
    """Run a command in the environment ``prefix``, as if it was activated; returns its standard output."""
    print("wheel:", " ".join(Path(word).name for word in command[:6]), flush=True)
    ours = ("PYTHON", "PYSPARK", "SPARK_", "VIRTUAL_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    clean["PATH"] = f"{prefix / 'bin'}{os.pathsep}{clean['PATH']}"
    done = subprocess.run(command, cwd=cwd, env=clean, stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout, end="", flush=True)
    return done.stdout


def check_wheel(folder: Path, prefix: Path, *, fresh: bool) -> bool:
    """Build the wheel, install it into ``prefix`` and run what a user would run first.

    Args:
        folder: An existing folder for the wheel and for what the demo writes.
        prefix: A virtual environment.
        fresh: Whether the environment is empty. If not, it holds the pinned versions, and the wheel has to be
            content with them: it may bring no other package and change no version.
    """
    run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], folder, prefix)
    [wheel] = folder.glob("*.whl")
    python = str(prefix / "bin/python")
    pip = [python, "-m", "pip"]
    if fresh:
        run([*pip, "install", "-q", f"pravega-lab[lab] @ {wheel.as_uri()}"], folder, prefix)
    else:
        before = run([*pip, "freeze", "--exclude", "pravega-lab"], folder, prefix)
        run([*pip, "uninstall", "-q", "-y", "pravega-lab"], folder, prefix)
        run([*pip, "install", "-q", f"pravega-lab[lab] @ {wheel.as_uri()}"], folder, prefix)
        after = run([*pip, "freeze", "--exclude", "pravega-lab"], folder, prefix)
        if before != after:
            print(f"wheel: FAILED: the wheel changed the environment, which has now:\n{after}")
            return False
    program = str(prefix / "bin/pravega-lab")
    run([program, "doctor"], folder, prefix)
    run([python, shutil.copy(ROOT / "tests/plain_session.py", folder)], folder, prefix)
    run([program, "demo", "--events", EVENTS, "--speed", "2", "--no-kill"], folder, prefix)
    page = folder / "demo.html"
    return page.exists() and page.stat().st_size > 1000


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        passed = check_wheel(folder, folder / "env", fresh=True)
    print(f"{int(passed)} passed, {int(not passed)} failed")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
