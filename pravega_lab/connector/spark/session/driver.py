"""`submit` runs a Spark driver in its own process, which the caller can watch, kill and start again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pravega_lab.connector.spark.session.progress import PROGRESS_FILE_VARIABLE, read_progress
from pravega_lab.connector.spark.source.hold import HOLD_FOLDER_VARIABLE
from pravega_lab.errors import BadInputError


class Driver:
    """A process group that runs a Python script as a Spark driver, with its JVM.

    Create it with `submit`. As a context manager it kills the process group on exit. The output of the script
    goes to `log_file`.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], progress_file: Path) -> None:
        self.command = tuple(command)
        self.progress_file = progress_file
        self.log_file = progress_file.with_name("driver.log")
        self.hold_folder = progress_file.with_name("holds")
        self._environ = {
            **environ,
            PROGRESS_FILE_VARIABLE: str(self.progress_file),
            HOLD_FOLDER_VARIABLE: str(self.hold_folder),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.runs = 0
        self.exit_codes: list[int] = []  # of earlier runs; a negative one is the signal that ended the run
        # folder of the query's checkpoint, for observers; the caller sets it
        self.checkpoint: Path | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the Python driver of the latest run, which is also the id of its process group."""
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        """Whether the latest run is still running."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Run the script.

        Raises:
            BadInputError: The latest run is still running.
        """
        if self.alive:
            raise BadInputError(
                f"{self.command[1]} is already running as process {self.pid}. Call kill() or wait() first"
            )
        if self._process is not None:
            self.exit_codes.append(self._process.wait())
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.runs += 1

    def kill(self) -> None:
        """Send SIGKILL to Python and JVM at once, and wait until Python has ended. Does nothing if it has
        ended.

        Neither process can clean up. Spark's Python workers are in other process groups; they end when the
        JVM is gone.
        """
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Kill the driver; same as `kill`."""
        self.kill()

    def restart(self) -> None:
        """Kill the driver and start it again with the same script, arguments and progress file."""
        self.kill()
        self.start()

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait until the script ends, and return its exit code (negative: the signal that killed it).

        Raises:
            TimeoutError: The script is still running after ``timeout_s`` seconds.
            BadInputError: The script was never started.
        """
        if self._process is None:
            raise BadInputError("the driver was never started. Call start() first")
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(
                f"{self.command[1]} is still running after {timeout_s} s; see {self.log_file}"
            ) from None

    def lines(self) -> list[dict[str, Any]]:
        """Return what the queries of all runs have reported so far, oldest first; see `progress` for the
        format.
        """
        return list(read_progress(self.progress_file))

    def progress(self) -> list[dict[str, Any]]:
        """Return Spark's report of every batch of every run so far, oldest first.

        A report has ``batchId``, ``sources``, ``stateOperators`` and more.
        """
        return [line["progress"] for line in self.lines() if line["kind"] == "progress"]

    def log(self) -> str:
        """Return the output of the script and of Spark in all runs."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def __repr__(self) -> str:
        state = f"process {self.pid}" if self.alive else "not running"
        return f"Driver({self.command[1]!r}, {state}, run {self.runs})"


def submit(
    script: str | Path,
    *args: str,
    progress_file: str | Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Driver:
    """Run a Python script as a Spark driver in its own process, and return a handle of it.

    The script creates its session with ``create_session()``, which makes its queries visible in
    `Driver.progress`. A script that creates its session in another way calls `progress.write_progress`
    itself.

    Args:
        script: The Python file.
        args: Its command-line arguments.
        progress_file: The file for the progress of its queries; ``driver.log`` is in the same folder. The
            default is a file in a new temporary folder.
        env: Variables to add to the environment of this process.

    Raises:
        BadInputError: There is no such script.
    """
    if not isinstance(script, str | os.PathLike):
        raise BadInputError(
            f"submit({script!r:.80}): give the path of a Python file that runs the query. Observe a query of "
            "this session with lab.observe(query)"
        )
    path = Path(script)
    if not path.is_file():
        raise BadInputError(f"there is no script {path}. Name a Python file that runs the query")
    if progress_file is None:
        progress_file = Path(tempfile.mkdtemp(prefix="pravega-lab-driver-")) / "progress.jsonl"
    file = Path(progress_file)
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(path), *args]
    driver = Driver(command, {**os.environ, **_import_path(), **(env or {})}, file)
    driver.start()
    return driver


def _import_path() -> dict[str, str]:
    """Return a ``PYTHONPATH`` with which the script finds this package, also in a checkout."""
    root = str(Path(__file__).resolve().parents[4])
    found = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys([root, *found]))}
