"""Workers as plain processes of this machine. No Spark is needed.

::

    with ProcessJob(env.job_graph(), JobConfig(folder="checkpoints"), workers=2) as job:
        job.wait()
"""

from __future__ import annotations

import asyncio
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..flow.graph.graph import JobGraph
from ..flow.master.config import JobConfig
from .cluster_job import ClusterJob
from .driver.placement import WorkerSpec

END_S = 5.0
PARENT_S = 2.0
_MOST = 64
_CODE = "from pravega_lab.engine.cluster.processes import main; main()"


class ProcessJob(ClusterJob):
    """A `cluster_job.ClusterJob` that runs its workers as processes of this machine, with the same arguments
    and errors.
    """

    def __init__(self, graph: JobGraph, config: JobConfig | None = None, **options: Any) -> None:
        super().__init__(ProcessLauncher(), graph, config, **options)


class ProcessLauncher:
    """Launch worker processes. It is a `launching.Launcher`."""

    few = ""
    late = (
        "each imports the modules of the job first, which takes long on a busy machine; raise "
        "start_timeout_s=, or ask for fewer workers="
    )

    def default_host(self) -> str:
        """Return the loopback address."""
        return "127.0.0.1"

    def slots(self) -> int:
        """Return the largest number of workers."""
        return _MOST

    def may_grow(self) -> bool:
        """Return False: the number of slots is fixed."""
        return False

    def launch(self, spec: WorkerSpec, on_end: Callable[[str], None]) -> WorkerProcesses:
        """Start the worker processes of an epoch."""
        return WorkerProcesses(spec, on_end)


class WorkerProcesses:
    """Hold the processes of one epoch. It is a `launching.Launched`.

    A worker reads its specification from standard input, and shares the standard error of this process. Its
    standard input stays open, so that its end says that this process has ended.
    """

    def __init__(self, spec: WorkerSpec, on_end: Callable[[str], None]) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", _CODE],
                stdin=subprocess.PIPE,
                env=environment,
                cwd=spec.folder if os.path.isdir(spec.folder) else None,
                start_new_session=True,  # an interrupt of a cell, or Ctrl-C, is for this process alone
            )
            for _ in range(spec.workers)
        ]
        self._on_end = on_end
        for index, process in enumerate(self._processes):
            threading.Thread(target=self._watch, args=(spec, index, process), daemon=True).start()

    def _watch(self, spec: WorkerSpec, index: int, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        with suppress(OSError), process.stdin as pipe:
            pipe.write(pickle.dumps((spec, index)))
            pipe.flush()
            process.wait()
        process.wait()
        self._on_end(f"worker {index} (pid {process.pid}) {_how(process.returncode)}")

    async def stop(self) -> None:
        """Wait up to 5 s for the processes to end, then kill the rest."""
        deadline = asyncio.get_running_loop().time() + END_S
        while any(process.poll() is None for process in self._processes):
            if asyncio.get_running_loop().time() > deadline:
                for process in self._processes:
                    process.kill()
            await asyncio.sleep(0.02)


def _how(code: int) -> str:
    """Return how a process ended. A signal has a negative code."""
    if -code == signal.SIGKILL:
        return "was killed by SIGKILL, as the system does when memory runs out"
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"


def main() -> None:
    """Run a worker, as the main function of its process."""
    from ..flow.errors import JobCancelledError
    from .worker.worker import run_worker

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # see `cancelling.is_interrupt`
    spec, index = pickle.load(sys.stdin.buffer)
    pipe = os.dup(sys.stdin.fileno())
    with open(os.devnull) as nothing:  # a user's function that reads standard input would wait for ever
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    threading.Thread(target=_end_with_the_driver, args=(pipe, os.getppid()), daemon=True).start()
    try:
        run_worker(spec, index)
    except JobCancelledError as error:
        sys.exit(str(error))


def _end_with_the_driver(pipe: int, driver: int) -> None:
    """End this process when the driver is gone, also if a user's function is stuck.

    A worker that is not stuck has ended by itself before, unless the driver was killed and had forked: then
    its child keeps the pipe and the connections of the workers open.
    """
    while os.getppid() == driver and not select.select([pipe], [], [], PARENT_S)[0]:
        pass
    time.sleep(END_S)
    os._exit(1)
