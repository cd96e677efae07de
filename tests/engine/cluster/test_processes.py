"""Workers as plain processes end with their driver, and not with an interrupt of it."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pravega_lab.engine.cluster.processes import ProcessJob, WorkerProcesses
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.master.restart import NoRestart
from tests.engine.cluster.jobs import config, words

STUCK = """
import time
from pravega_lab.engine.cluster import processes
from pravega_lab.engine.cluster.worker import worker

def stuck(spec, index):
    print(spec, index, flush=True)
    time.sleep(1000)

processes.END_S, processes.PARENT_S, worker.run_worker = 0.1, 0.1, stuck
processes.main()
"""


def test_a_worker_that_is_stuck_ends_when_its_driver_is_gone() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", STUCK], **pipes) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(pickle.dumps(("spec", 3)))
            process.stdin.flush()
            assert process.stdout.readline() == b"spec 3\n"
            assert process.poll() is None
            process.stdin.close()  # as when the driver is killed
            assert process.wait(timeout=30) == 1
        finally:
            process.kill()


DRIVER = f"""
import os, pickle, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", {STUCK!r}], stdin=subprocess.PIPE)
worker.stdin.write(pickle.dumps(("spec", 3)))
worker.stdin.flush()
if os.fork() == 0:
    os.close(1)
    time.sleep(30)
    os._exit(0)
time.sleep(1000)
"""


def test_a_worker_ends_when_its_driver_is_killed_and_had_forked() -> None:
    """The child has the pipe and the connections of the driver, which used to keep the worker running."""
    with subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"spec 3\n"
        driver.kill()
        killed_s = time.monotonic()
        assert driver.stdout.read() == b""  # the worker has ended
        assert time.monotonic() - killed_s < 20


def test_an_interrupt_of_the_driver_does_not_reach_its_workers() -> None:
    """A terminal, and the interrupt of a kernel, send it to all processes of the driver's group."""
    spec: Any = SimpleNamespace(workers=1, folder="")
    ended = threading.Event()
    [process] = WorkerProcesses(spec, lambda _: ended.set())._processes
    try:
        assert os.getsid(process.pid) == process.pid
    finally:
        process.kill()
        assert ended.wait(30)


def exits(row: Row) -> Row:
    os._exit(3)


def is_killed(row: Row) -> Row:
    os.kill(os.getpid(), signal.SIGKILL)
    return row


def is_interrupted(row: Row) -> Row:
    signal.raise_signal(signal.SIGINT)
    return row


@pytest.mark.parametrize(
    ("look", "how"),
    [
        (exits, "ended with code 3;"),
        (is_killed, "was killed by SIGKILL, "),
        (is_interrupted, "was ended by signal 2;"),
    ],
)
def test_the_job_says_how_a_worker_ended(look: Callable[[Row], Row], how: str, tmp_path: Path) -> None:
    graph = words(tmp_path, 100, look=look)
    with (
        ProcessJob(graph, config(tmp_path, NoRestart()), workers=1) as job,
        pytest.raises(JobFailedError, match=rf"worker 0 \(pid \d+\) {how}"),
    ):
        job.wait()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_error_that_would_end_a_program_is_one_of_the_function(
    error: type[BaseException], tmp_path: Path
) -> None:
    """A KeyboardInterrupt used to end the worker, and the job said that the connection was closed."""

    def ends(row: Row) -> Row:
        raise error("boom")

    with (
        ProcessJob(words(tmp_path, 100, look=ends), config(tmp_path, NoRestart()), workers=1) as job,
        pytest.raises(JobFailedError, match=rf"map, subtask ./2: {error.__name__}: boom"),
    ):
        job.wait()


def test_a_job_that_was_not_closed_leaves_no_thread(tmp_path: Path) -> None:
    """In a notebook, each run of a cell used to leave a thread and an event loop."""
    job = ProcessJob(words(tmp_path, 10), config(tmp_path), workers=1)
    job.start()
    job.wait()
    thread = job._thread
    assert thread is not None
    assert thread.is_alive()
    del job
    gc.collect()
    thread.join(timeout=20)
    assert not thread.is_alive()


def test_a_worker_starts_although_the_folder_of_the_program_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = ProcessJob(words(tmp_path, 10), config(tmp_path), workers=1)
    deleted = tmp_path / "deleted"
    deleted.mkdir()
    monkeypatch.chdir(deleted)
    deleted.rmdir()
    with job:
        job.wait(timeout_s=20)


def reads(row: Row) -> Row:
    """Read standard input, as a breakpoint and many programs do."""
    assert sys.stdin.read() == ""
    assert subprocess.run(["cat"], capture_output=True, check=True).stdout == b""
    return row


def test_a_function_that_reads_standard_input_does_not_wait(tmp_path: Path) -> None:
    with ProcessJob(words(tmp_path, 10, look=reads), config(tmp_path), workers=1, cancel_timeout_s=1) as job:
        job.wait(timeout_s=20)
    assert job.state == "finished"
