"""Running small jobs under virtual time, and what they told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.stream import DataStream, StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.simulation.kernel.loop import SimulationLoop

CHECKPOINTED = JobConfig(checkpoints=CheckpointConfig(interval_ms=100))


class Told:
    """An observer that keeps everything."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def observe(self, observation: seen.Observation) -> None:
        self.all.append(observation)

    def of(self, kind: type[Any]) -> list[Any]:
        return [o for o in self.all if isinstance(o, kind)]

    def calls(self, operator: str, subtask: int = 0, attempt: int | None = None) -> list[str]:
        """Lifecycle calls of one operator's subtask."""
        return [
            o.what
            for o in self.of(seen.LifecycleCall)
            if o.operator == operator and o.subtask.index == subtask and attempt in (None, o.attempt)
        ]


class Collect(Operator):
    """Puts rows into a list that the test holds."""

    def __init__(self, into: list[Any]) -> None:
        self._into = into

    def process_batch(self, batch: Batch, input: int) -> None:
        self._into += [(row, kind.short) for row, _, kind in batch.records()]


def collect(stream: DataStream, into: list[Any], parallelism: int = 1) -> None:
    """End a stream in a list of (row, kind)."""
    stream.transform("collect", lambda: Collect(into)).set_parallelism(parallelism)


class Virtual:
    """A loop under virtual time, with files and an observer for the jobs on it."""

    def __init__(self, seed: int = 1) -> None:
        self.loop = SimulationLoop(seed)  # type: ignore[abstract]
        self.files = MemoryFiles()
        self.told = Told()
        self._names = 0

    def unique(self) -> str:
        self._names += 1
        return f"{self._names:012d}"

    def job(
        self, env: StreamEnvironment, config: JobConfig = CHECKPOINTED, restore_from: str | None = None
    ) -> Job:
        return Job(
            env.job_graph(),
            config,
            restore_from=restore_from,
            files=self.files,
            observer=self.told,
            now_ms=lambda: self.loop.now_us // 1000,
            unique_id=self.unique,
        )

    def run(self, story: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return self.loop.run_until_complete(story())
        finally:
            assert self.loop.errors == []

    def finish(
        self, env: StreamEnvironment, config: JobConfig = CHECKPOINTED, restore_from: str | None = None
    ) -> Job:
        """Run a job to its end."""

        async def story() -> Job:
            job = self.job(env, config, restore_from)
            await job.start()
            await job.wait()
            return job

        job: Job = self.run(story)
        return job
