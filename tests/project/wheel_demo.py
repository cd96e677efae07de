"""The built wheel, in environments without the checkout: with pip and with uv, a short demo and JupyterLab.

In that of pip, ``doctor`` and a plain Spark session run too. That of uv is empty at first, and the closing
line says how long the path from there to the verdict of the demo took. Run by ``make wheel`` in an empty
environment, and by ``make installed`` in the one of a Binder's steps. Exits non-zero if anything is missing.
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
from typing import NamedTuple
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.project.package_cache import UV, install  # noqa: E402 - a script finds the package by the line above
from tests.spark.jvm import QUICK_START  # noqa: E402

# The first days of the storm, eight times as fast: seconds. docs/demo.md has the whole year.
DEMO = ["demo", "--events", "2000", "--speed", "8", "--no-kill"]
TOKEN = "wheel-demo"
START_S = 60


def environ(prefix: Path) -> dict[str, str]:
    """Return the variables of a shell in which ``prefix`` is activated. Its Sparks start quickly."""
    ours = ("PYTHON", "PYSPARK", "SPARK_", "VIRTUAL_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    path = f"{prefix / 'bin'}{os.pathsep}{clean['PATH']}"
    return {**clean, "PATH": path, "SPARK_SUBMIT_OPTS": QUICK_START}


def run(command: list[str], cwd: Path, prefix: Path) -> str:
    """Run a command in the environment ``prefix``, as if it was activated; returns its standard output."""
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=cwd, env=environ(prefix), stdout=subprocess.PIPE, text=True, check=True
    )
    print(done.stdout, end="")
    took = f"({time.monotonic() - began:.0f} s)"
    print("wheel:", " ".join(Path(word).name for word in command[:6]), took, flush=True)
    return done.stdout


class Checked(NamedTuple):
    """Whether everything worked, and the seconds from an empty environment to the verdict of the demo."""

    passed: bool
    to_verdict_s: float

    def line(self) -> str:
        """Return the closing line, which `make test` repeats at its end."""
        counts = f"{int(self.passed)} passed, {int(not self.passed)} failed"
        took = f"{self.to_verdict_s:.0f} s from an empty environment to the verdict"
        return f"{counts}, {took}" if self.passed else counts


def check_wheel(folder: Path, prefix: Path, *, fresh: bool) -> Checked:
    """Build the wheel, install it with pip and with uv, and run what a user would run first.

    Args:
        folder: An existing folder for the wheel and for what the demo writes.
        prefix: A virtual environment for pip. That for uv is a new one.
        fresh: Whether the environment is empty. If not, it holds the pinned versions, and the wheel has to be
            content with them: it may bring no other package and change no version.
    """
    run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], folder, prefix)
    [wheel] = folder.glob("*.whl")
    if not install_with_pip(wheel, folder, prefix, fresh=fresh):
        return Checked(False, 0.0)
    run([str(prefix / "bin/pravega-lab"), "doctor"], folder, prefix)
    run(
        [str(prefix / "bin/python"), shutil.copy(str(ROOT / "tests/project/plain_session.py"), folder)],
        folder,
        prefix,
    )
    passed = demo_ran(folder / "pip", prefix) and lab_is_served(folder / "pip", prefix)
    began = time.monotonic()
    install_with_uv(wheel, folder, folder / "uv-env")
    passed = demo_ran(folder / "uv", folder / "uv-env") and passed
    to_verdict_s = time.monotonic() - began
    return Checked(lab_is_served(folder / "uv", folder / "uv-env") and passed, to_verdict_s)


def install_with_pip(wheel: Path, folder: Path, prefix: Path, *, fresh: bool) -> bool:
    """Install the wheel into an environment; returns whether that is as it has to be."""
    pip = [str(prefix / "bin/python"), "-m", "pip"]
    before = "" if fresh else run([*pip, "freeze", "--exclude", "pravega-lab"], folder, prefix)
    if not fresh:
        run([*pip, "uninstall", "-q", "-y", "pravega-lab"], folder, prefix)
    run([*pip, "install", "-q", f"pravega-lab[lab] @ {wheel.as_uri()}"], folder, prefix)
    after = "" if fresh else run([*pip, "freeze", "--exclude", "pravega-lab"], folder, prefix)
    if before != after:
        print(f"wheel: FAILED: the wheel changed the environment, which has now:\n{after}")
    return before == after


def install_with_uv(wheel: Path, folder: Path, prefix: Path) -> None:
    """Make an empty environment, and install the wheel into it."""
    run([*UV, "venv", "-q", "--python", sys.executable, str(prefix)], folder, prefix)
    asked = f"pravega-lab[lab] @ {wheel.as_uri()}"
    came_from = install(prefix / "bin/python", asked, cwd=folder, env=environ(prefix))
    print(f"wheel: uv installed from the {came_from}", flush=True)


def demo_ran(folder: Path, prefix: Path) -> bool:
    """Run a short demo in a new folder; returns whether it left its page. Other verdicts than exact raise."""
    folder.mkdir()
    run([str(prefix / "bin/pravega-lab"), *DEMO], folder, prefix)
    page = folder / "demo.html"
    return page.exists() and page.stat().st_size > 1000


def lab_is_served(folder: Path, prefix: Path) -> bool:
    """Return whether `pravega-lab lab` serves the tutorials."""
    mine = folder / "tutorials"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(prefix / "bin/pravega-lab"), "lab", str(mine), "--no-browser", "--port", str(port)]
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
    return bool(served["type"] == "notebook")


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
        checked = check_wheel(folder, folder / "env", fresh=True)
    print(checked.line())
    return 0 if checked.passed else 1


if __name__ == "__main__":
    sys.exit(main())
