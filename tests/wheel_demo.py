"""The built wheel, in an environment without the checkout: a plain Spark session, and a short demo.

Run by ``make wheel`` in an empty environment, and by ``make installed`` in the one of a Binder's steps.
Prints a closing line that counts, and exits non-zero if anything is missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent
EVENTS = "8000"
TOKEN = "wheel-demo"
START_S = 60


def environ(prefix: Path) -> dict[str, str]:
    """Return the variables of a shell in which the environment ``prefix`` is activated."""
    ours = ("PYTHON", "PYSPARK", "SPARK_", "VIRTUAL_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    return {**clean, "PATH": f"{prefix / 'bin'}{os.pathsep}{clean['PATH']}"}


def run(command: list[str], cwd: Path, prefix: Path) -> str:
    """Run a command in the environment ``prefix``, as if it was activated; returns its standard output."""
    print("wheel:", " ".join(Path(word).name for word in command[:6]), flush=True)
    done = subprocess.run(
        command, cwd=cwd, env=environ(prefix), stdout=subprocess.PIPE, text=True, check=True
    )
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
    return page.exists() and page.stat().st_size > 1000 and check_lab(wheel, folder)


def check_lab(wheel: Path, folder: Path) -> bool:
    """Install the wheel with uv into an empty environment; `pravega-lab lab` serves the tutorials there."""
    prefix = folder / "uv"
    uv = [sys.executable, "-m", "uv"]
    run([*uv, "venv", "-q", "--python", sys.executable, str(prefix)], folder, prefix)
    asked = f"pravega-lab[lab] @ {wheel.as_uri()}"
    run([*uv, "pip", "install", "-q", "--python", str(prefix / "bin/python"), asked], folder, prefix)
    mine = folder / "tutorials"
    command = [str(prefix / "bin/pravega-lab"), "lab", str(mine)]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [prefix / "bin/pravega-lab", "lab", mine, "--no-browser", "--port", str(port)]
    scratch = {name: str(folder / name) for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR")}
    process = subprocess.Popen(
        [*command, "--jupyter=--allow-root", "--jupyter=--ip=127.0.0.1"],
        cwd=folder,
        env={**environ(prefix), **scratch, "JUPYTER_TOKEN": TOKEN},
        start_new_session=True,
    )
    try:
        address = f"http://127.0.0.1:{port}/api/contents/01-quickstart.ipynb?content=0&token={TOKEN}"
        served = json.loads(answer_of(address, process))
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)
    print(f"wheel: {served['name']} is served, of {len(list(mine.glob('*.ipynb')))}", flush=True)
    return served["type"] == "notebook"


def answer_of(address: str, process: subprocess.Popen[bytes]) -> bytes:
    """Return what a server answers once it has started."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(address, timeout=2) as answer:
                return bytes(answer.read())
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"wheel: FAILED: JupyterLab does not answer at {address}")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        passed = check_wheel(folder, folder / "env", fresh=True)
    print(f"{int(passed)} passed, {int(not passed)} failed")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
