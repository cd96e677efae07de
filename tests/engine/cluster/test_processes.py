"""Workers as plain processes end with their driver, and not with an interrupt of it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

from pravega_lab.engine.cluster.processes import WorkerProcesses

STUCK = """
import time
from pravega_lab.engine.cluster import processes
from pravega_lab.engine.cluster.worker import worker

def stuck(spec, index):
    print(spec, index, flush=True)
    time.sleep(1000)

processes.END_S, worker.run_worker = 0.1, stuck
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


def test_an_interrupt_of_the_driver_does_not_reach_its_workers() -> None:
    """A terminal, and the interrupt of a kernel, send it to all processes of the driver's group."""
    spec: Any = SimpleNamespace(workers=1)
    ended = threading.Event()
    [process] = WorkerProcesses(spec, lambda _: ended.set())._processes
    try:
        assert os.getsid(process.pid) == process.pid
    finally:
        process.kill()
        assert ended.wait(30)
