"""The engine on Spark: a barrier job places the workers, and the driver process has the coordinator.

::

    from pravega_lab.engine.cluster.spark import SparkJob

    job = SparkJob(env.job_graph(), JobConfig(folder="/shared/checkpoints"), spark=spark, workers=2)
    job.start()
    job.wait()

One barrier task is one worker, which hosts several subtasks, as a TaskManager does with its slots. Spark
provides only placement, a common start and the detection of lost executors. The engine uses no allGather and
no retry of Spark's: a barrier stage that is the result stage fails at once. When a worker is lost, the driver
submits the barrier job again, and the job resumes from its last checkpoint as its restart strategy says.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from pravega_lab.errors import BadInputError

from ..flow.graph.graph import JobGraph
from ..flow.master.config import JobConfig
from .cluster_job import ClusterJob
from .driver.placement import WorkerSpec
from .worker.worker import run_worker

END_S = 5.0
KILL_S = 30.0


class SparkJob(ClusterJob):
    """A `cluster_job.ClusterJob` that runs its workers in a Spark session, with the same arguments and
    errors.

    ``spark`` is a session of classic Spark (not Connect); the default is the active one. The default of
    ``host`` is ``spark.driver.host``. The job holds ``workers`` slots of the session until it ends.
    """

    def __init__(
        self,
        graph: JobGraph,
        config: JobConfig | None = None,
        *,
        spark: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(SparkLauncher(spark, graph.name), graph, config, **options)


class SparkLauncher:
    """Launch workers as barrier tasks. It is a `launching.Launcher`.

    Raises:
        BadInputError: there is no session of classic Spark, or it was stopped.
    """

    few = ", or start Spark with more: local[N]"
    late = (
        "other jobs may hold the slots (a streaming query takes them for as long as a batch runs); stop "
        "those, or ask for fewer workers=, or raise start_timeout_s="
    )

    def __init__(self, spark: Any, name: str) -> None:
        self._context, self._name = _context(spark), name

    def default_host(self) -> str:
        """Return ``spark.driver.host``."""
        return str(self._context.getConf().get("spark.driver.host", "127.0.0.1"))

    def slots(self) -> int:
        """Return the number of tasks that can run at a time with the current executors."""
        scala = self._context._jsc.sc()
        profile = scala.resourceProfileManager().defaultResourceProfile()
        return int(scala.maxNumConcurrentTasks(profile))

    def may_grow(self) -> bool:
        """Return whether executors may be added: on a cluster they come and go."""
        return not str(self._context.master).startswith("local[")

    def launch(self, spec: WorkerSpec, on_end: Callable[[str], None]) -> BarrierJob:
        """Submit the barrier job of an epoch."""
        return BarrierJob(self._context, self._name, spec, on_end)


class BarrierJob:
    """Hold the workers of one epoch: a Spark job that its own thread submits.

    It is a `launching.Launched`.
    """

    def __init__(self, context: Any, name: str, spec: WorkerSpec, on_end: Callable[[str], None]) -> None:
        self._context, self._spec, self._on_end = context, spec, on_end
        self._words = f"workers of job {name}, epoch {spec.epoch}"
        self._group = f"pravega-lab-{uuid.uuid4().hex}"
        self._thread = threading.Thread(target=self._submit, name=self._words, daemon=True)
        self._thread.start()

    def _submit(self) -> None:
        context, workers = self._context, self._spec.workers
        try:
            context.setJobGroup(self._group, self._words, interruptOnCancel=True)
            tasks = context.parallelize(range(workers), workers).barrier()
            tasks.mapPartitions(partial(_in_barrier_task, self._spec)).collect()
        except Exception as error:  # py4j raises whatever Spark does
            self._on_end(f"the Spark job of the workers ended: {_first_words(error)}")
        else:
            self._on_end("the workers ended")

    async def stop(self) -> None:
        """Wait for the job to end, and cancel it if it does not."""
        await asyncio.to_thread(self._thread.join, END_S)
        if self._thread.is_alive():
            await asyncio.to_thread(self._context.cancelJobGroup, self._group)
            await asyncio.to_thread(self._thread.join, KILL_S)


def _in_barrier_task(spec: WorkerSpec, _rows: Iterable[int]) -> Iterator[int]:
    """What each barrier task runs."""
    from pyspark import BarrierTaskContext

    index = BarrierTaskContext.get().partitionId()
    run_worker(spec, index)
    yield index


def _context(spark: Any) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise BadInputError("SparkJob needs Spark: pip install 'pravega-lab[spark]'") from None
    session = spark or SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is None:
        raise BadInputError("there is no Spark session: give SparkJob(spark=...), Lab().spark for example")
    context = getattr(session, "_sc", None)
    if context is None:
        raise BadInputError("SparkJob needs a classic Spark session: Spark Connect has no barrier jobs")
    if context._jsc is None:
        raise BadInputError("the Spark session was stopped: create another one, with Lab().spark for example")
    return context


def _first_words(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("An error occurred while calling", "at "))]
    return " ".join(telling[:2]).lstrip(": ")[:400] or type(error).__name__
