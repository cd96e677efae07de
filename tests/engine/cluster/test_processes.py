"""Workers as plain processes end with their driver."""

from __future__ import annotations

import pickle
import subprocess
import sys

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
