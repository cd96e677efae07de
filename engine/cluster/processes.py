"""Workers as plain processes of this machine, without Spark: the same job, started by nothing but Python.

::

    with ProcessJob(env.job_graph(), JobConfig(folder="checkpoints"), workers=2) as job:
        job.wait()
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from pravega_lab.engine.cluster.home import ClusterJob
from pravega_lab.engine.cluster.placement import WorkerSpec
from pravega_lab.engine.flow.config import JobConfig
from pravega_lab.engine.flow.graph import JobGraph

END_S = 5.0
_MOST = 64
_CODE = "from pravega_lab.engine.cluster.processes import main; main()"


class ProcessJob(ClusterJob):
    """A `home.ClusterJob` whose workers are processes of this machine. Arguments and errors as there."""

    def __init__(self, graph: JobGraph, config: JobConfig | None = None, **options: Any) -> None:
        super().__init__(ProcessLauncher(), graph, config, **options)


class ProcessLauncher:
    """A `launching.Launcher`."""

    def default_host(self) -> str:
        return "127.0.0.1"

    def slots(self) -> int:
        return _MOST

    def may_grow(self) -> bool:
        return False

    def launch(self, spec: WorkerSpec, on_end: Callable[[str], None]) -> WorkerProcesses:
        return WorkerProcesses(spec, on_end)


class WorkerProcesses:
    """A `launching.Launched`. A worker's standard input carries its orders; its errors go to ours."""

    def __init__(self, spec: WorkerSpec, on_end: Callable[[str], None]) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        self._processes = [
            subprocess.Popen([sys.executable, "-c", _CODE], stdin=subprocess.PIPE, env=environment)
            for _ in range(spec.workers)
        ]
        self._on_end = on_end
        for index, process in enumerate(self._processes):
            threading.Thread(target=self._watch, args=(spec, index, process), daemon=True).start()

    def _watch(self, spec: WorkerSpec, index: int, process: subprocess.Popen[bytes]) -> None:
        process.communicate(pickle.dumps((spec, index)))
        self._on_end(f"worker {index} (pid {process.pid}) ended with code {process.returncode}")

    async def stop(self) -> None:
        deadline = asyncio.get_running_loop().time() + END_S
        while any(process.poll() is None for process in self._processes):
            if asyncio.get_running_loop().time() > deadline:
                for process in self._processes:
                    process.kill()
            await asyncio.sleep(0.02)


def main() -> None:
    """Of a worker's process."""
    from pravega_lab.engine.cluster.worker import run_worker
    from pravega_lab.engine.flow.errors import JobCancelledError

    spec, index = pickle.load(sys.stdin.buffer)
    try:
        run_worker(spec, index)
    except JobCancelledError as error:
        sys.exit(str(error))
