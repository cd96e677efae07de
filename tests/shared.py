"""What the processes of a test run share: a folder, and a real Pravega for each pytest with its workers.

A run is `tests/run_stages.py` with all its stages, or one pytest with all its workers. Its first process
writes its id into ``VARIABLE``, which the processes that it starts inherit. A pytest writes its own into
``SESSION``, for its workers.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "PRAVEGA_LAB_TEST_RUN"
SESSION = "PRAVEGA_LAB_TEST_SESSION"
START_S_MAX = 900  # the first start on a machine fetches the jars
POLL_S = 0.2


def begin() -> None:
    """Make this process the owner of the run, unless it is part of one."""
    os.environ.setdefault(VARIABLE, str(os.getpid()))


def begin_session() -> None:
    """Make this process, a pytest that is no worker, the one for which servers are kept."""
    os.environ[SESSION] = str(os.getpid())


def end() -> None:
    """Remove the folder of the run, if this process owns it."""
    if os.environ.get(VARIABLE) == str(os.getpid()):
        shutil.rmtree(_path(os.getpid()), ignore_errors=True)


def owner() -> int:
    """Return the process id of the run's owner."""
    return int(os.environ[VARIABLE])


def folder() -> Path:
    """Return the folder of the run, which exists."""
    path = _path(owner())
    path.mkdir(exist_ok=True)
    return path


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the run's lock ``name``: one process of the run at a time."""
    with (folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def real_pravega() -> str:
    """Return the controller URI of the real Pravega of this pytest, which the first caller starts.

    The server ends with the pytest. While clients wait for it, it takes half a core, so that it is not kept
    longer.

    Raises:
        NoRealPravegaError: No server can run here; the message says why. It is tried once per pytest.
    """
    from tests.conformance.real_pravega import NoRealPravegaError

    session = os.environ[SESSION]
    with locked(f"pravega-{session}"):
        answer = folder() / f"pravega-{session}.json"
        if not answer.exists():
            _start_pravega(session, answer)
    found = json.loads(answer.read_text())
    if "error" in found:
        raise NoRealPravegaError(found["error"])
    return str(found["uri"])


def _start_pravega(session: str, answer: Path) -> None:
    command = [sys.executable, "-m", "tests.conformance.real_pravega", "--for", session, str(answer)]
    log_file = answer.with_suffix(".log")
    with log_file.open("w") as log:
        keeper = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + START_S_MAX
    while not answer.exists():
        assert time.monotonic() < deadline, f"no answer within {START_S_MAX} s"
        assert keeper.poll() is None, log_file.read_text()
        time.sleep(POLL_S)


def _path(pid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"pravega-lab-tests-{pid}"
