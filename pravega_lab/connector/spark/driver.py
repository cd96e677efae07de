"""`submit`: a Spark driver as a process of its own, to be watched, killed and started again from outside."""

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

from ...errors import BadInputError
from .gate import HOLD_FOLDER_VARIABLE
from .progress import PROGRESS_FILE_VARIABLE, read_progress


class Driver:
    """A script that runs a Spark driver, with its JVM, in one process group.

    Use `submit`. A context manager: leaving it kills what still runs. What the script prints goes to
    `log_file`.
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
        self.exit_codes: list[int] = []  # of the runs before the newest; negative: the signal that ended it
        self.checkpoint: Path | None = None  # where its query keeps it, for observers; whoever knows sets it

    @property
    def pid(self) -> int | None:
        """Process id of the Python driver of the newest run; the id of its group too."""
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Run the script. Raises `BadInputError` while the last run goes on."""
        if self.alive:
            raise BadInputError(
                f"{self.command[1]} runs already, as process {self.pid}. Call kill() or wait() first"
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
        """SIGKILL to Python and JVM at once; nothing of them gets to clean up. Does nothing after an end.

        Spark's Python workers are in groups of their own; they end when the JVM is gone.
        """
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """`kill`."""
        self.kill()

    def restart(self) -> None:
        """`kill`, then `start` again: same script, same arguments, same progress file."""
        self.kill()
        self.start()

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the script's end and return its exit code (negative: the signal that killed it).

        Raises:
            TimeoutError: Still running after ``timeout_s`` seconds.
        """
        if self._process is None:
            raise BadInputError("the driver was never started. Call start() first")
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(
                f"{self.command[1]} still runs after {timeout_s} s; see {self.log_file}"
            ) from None

    def lines(self) -> list[dict[str, Any]]:
        """What the queries of all runs have told so far, oldest first; see `progress` for the lines."""
        return list(read_progress(self.progress_file))

    def progress(self) -> list[dict[str, Any]]:
        """Spark's report of every batch of every run so far: ``batchId``, ``sources``, ``stateOperators``,
        …
        """
        return [line["progress"] for line in self.lines() if line["kind"] == "progress"]

    def log(self) -> str:
        """What the script and Spark have printed, over all runs."""
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
    """Run a Python script as a Spark driver of its own and return a handle of it.

    The script makes its session with ``create_session()``; its queries are then seen in `Driver.progress`.
    A session made in another way calls `progress.write_progress` itself.

    Args:
        script: The Python file.
        args: Its command-line arguments.
        progress_file: Where the progress of its queries goes, with ``driver.log`` beside it; in a new
            temporary folder if not given.
        env: Variables added to this process's environment.

    Raises:
        BadInputError: There is no such script.
    """
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
    """The script must find this package also where it runs from a checkout."""
    root = str(Path(__file__).resolve().parents[3])
    found = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys([root, *found]))}
