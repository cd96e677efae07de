"""The job whose speed `benchmarks.flow` measures, its observer, and how it runs in each kind of process."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.errors import CheckpointFailedError
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.observer import (
    CheckpointCompleted,
    CheckpointPending,
    LifecycleCall,
    Observation,
    Observer,
)
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink
from pravega_lab.engine.flow.sink.sinks import MaybeAwaitable
from pravega_lab.engine.flow.source.collections import RowsReader, RowsSource
from pravega_lab.engine.flow.source.sources import ReaderContext

PARALLELISM = 2
BLOCK = 1_000_000
BATCH_ROWS = 32_768
SINK = "sink"
WAIT_S = 300


@dataclass
class Found:
    """Of one run: until the last record was committed; what the checkpoints before that one took."""

    seconds: float
    cpu_s: float | None
    checkpoints_ms: list[float] = field(default_factory=list)
    recovery_ms: float | None = None


@dataclass(frozen=True)
class Task:
    """What to run. ``interval_ms`` None: only the checkpoint that each run has when everything is written."""

    n_records: int
    n_keys: int
    interval_ms: int | None
    fails: bool = False


@lru_cache(maxsize=2)
def words(n_records: int, n_keys: int) -> pa.Table:
    """A column ``word`` of texts in a scattered order; one block over and over."""
    numbers = np.random.default_rng(7).integers(0, n_keys, BLOCK)
    block = pa.table({"word": pa.array([f"key-{n:06d}" for n in range(n_keys)]).take(pa.array(numbers))})
    return pa.concat_tables([block] * -(-n_records // BLOCK)).slice(0, n_records)


class Words(RowsSource):
    """They are made where they are read."""

    def __init__(self, n_records: int, n_keys: int) -> None:
        super().__init__(range(n_records), splits=PARALLELISM)  # type: ignore[arg-type]
        self._n_records, self._n_keys = n_records, n_keys

    def create_reader(self, context: ReaderContext) -> RowsReader:
        table = words(self._n_records, self._n_keys)
        return RowsReader(context, table, BATCH_ROWS, lambda: 0, self.boundedness)


class MarkingSink(TwoPhaseFileSink):
    """Its first subtask fails once it has ``fails_after`` rows and a commit; says in files when that was, and
    when the restored one wrote."""

    def __init__(self, folder: str, marks: Path, fails_after: int | None) -> None:
        super().__init__(folder)
        self._given = (folder, marks, fails_after)
        self._n_rows, self._has_committed, self._has_marked = 0, False, False

    def __deepcopy__(self, memo: dict[int, Any]) -> MarkingSink:
        return MarkingSink(*self._given)

    async def commit(self, transaction: dict[str, Any]) -> None:
        await super().commit(transaction)
        self._has_committed = True

    def write(self, transaction: dict[str, Any], batch: Batch) -> MaybeAwaitable:
        waits = super().write(transaction, batch)
        _, marks, fails_after = self._given
        self._n_rows += batch.num_rows
        is_first_attempt = self._context.task_name.endswith("#0")
        if not is_first_attempt and not self._has_marked:
            self._has_marked = True
            mark(marks / f"restored-{self._context.subtask_index}")
        may_fail = is_first_attempt and self._context.subtask_index == 0 and self._has_committed
        if fails_after is not None and may_fail and self._n_rows >= fails_after:
            mark(marks / "failed")
            raise RuntimeError("the failure that was planned")
        return waits


def mark(path: Path) -> None:
    """The moment, in a file."""
    path.write_text(repr(time.time()))


def recovery_ms(marks: Path) -> float:
    """From the failure until the first restored sink wrote."""
    restored = min(float(path.read_text()) for path in marks.glob("restored-*"))
    return 1000 * (restored - float((marks / "failed").read_text()))


class Told:
    """An observer: when the sinks had everything, and how long checkpoints took."""

    def __init__(self, on_all: Callable[[], None] = lambda: None) -> None:
        self._on_all, self._begun, self._ended = on_all, dict[int, int](), set[int]()
        self.has_all = False
        self.checkpoints_ms: list[float] = []

    def observe(self, observation: Observation) -> None:
        if isinstance(observation, CheckpointPending):
            self._begun[observation.checkpoint_id] = observation.at_ms
        elif isinstance(observation, CheckpointCompleted) and not self.has_all:
            self.checkpoints_ms.append(observation.at_ms - self._begun[observation.checkpoint_id])
        elif isinstance(observation, LifecycleCall) and observation.what == "finish":
            if observation.operator == SINK:
                self._ended.add(observation.subtask.index)
            if len(self._ended) == PARALLELISM and not self.has_all:
                self.has_all = True
                self._on_all()


def graph_of(task: Task, folder: Path) -> JobGraph:
    env = StreamEnvironment("count", parallelism=PARALLELISM)
    stream = env.from_source(Words(task.n_records, task.n_keys))
    fails_after = task.n_records // PARALLELISM // 2 if task.fails else None
    sink = MarkingSink(str(folder / "out"), folder, fails_after)
    stream.key_by("word").aggregate(count(), column="n").sink_to(sink, uid=SINK)
    return env.job_graph()


def config_of(task: Task, folder: Path) -> JobConfig:
    return JobConfig(
        CheckpointConfig(interval_ms=task.interval_ms),
        restart=FixedDelay(wait_ms=0),
        channel_capacity=BATCH_ROWS,
        folder=str(folder / "checkpoints"),
    )


def on_asyncio(task: Task, folder: Path) -> Found:
    """In this process."""
    words(task.n_records, task.n_keys)
    return asyncio.run(_on_asyncio(task, folder))


async def _on_asyncio(task: Task, folder: Path) -> Found:
    has_all = asyncio.Event()
    told = Told(has_all.set)
    job = Job(graph_of(task, folder), config_of(task, folder), observer=told)
    began, cpu = time.perf_counter(), time.process_time()
    await job.start()
    await has_all.wait()
    with suppress(CheckpointFailedError):  # a periodic one was faster, and the job has finished with it
        await job.trigger_checkpoint()
    await job.wait()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return _found(told, seconds, cpu, task, folder)


class ClusterHome(Protocol):
    """A face of `engine.cluster`: ``SparkJob`` or ``ProcessJob``."""

    def __call__(self, graph: JobGraph, config: JobConfig, *, workers: int, observer: Observer) -> Any: ...


def in_workers(home: ClusterHome, task: Task, folder: Path) -> Found:
    """In two worker processes. Starting them does not count."""
    has_all = threading.Event()
    told = Told(has_all.set)
    with home(graph_of(task, folder), config_of(task, folder), workers=2, observer=told) as job:
        began = time.perf_counter()
        assert has_all.wait(WAIT_S)
        with suppress(CheckpointFailedError):
            job.trigger_checkpoint()
        job.wait()
        seconds = time.perf_counter() - began
    return _found(told, seconds, None, task, folder)


def _found(told: Told, seconds: float, cpu_s: float | None, task: Task, folder: Path) -> Found:
    check_lines(folder / "out", task.n_records)
    recovered = recovery_ms(folder) if task.fails else None
    return Found(seconds, cpu_s, told.checkpoints_ms, recovered)


def check_lines(folder: Path, n_wanted: int) -> None:
    """Is every record committed, once?"""
    n_lines = sum(path.read_bytes().count(b"\n") for path in folder.rglob("part-*"))
    assert n_lines == n_wanted, f"{n_lines} lines are committed, {n_wanted} were to be"
