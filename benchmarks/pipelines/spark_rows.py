"""The rows of Spark in `benchmarks.kafka`: ages in a streaming query, and the rate of a batch query."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from benchmarks.common.run import in_turns
from benchmarks.pipelines.child import Task
from benchmarks.pipelines.ends import LAB, ends_of
from benchmarks.pipelines.open_loop import EVENT_BYTES, KEYS_BY_INDEX, event_due_at
from benchmarks.pipelines.spark_ages import ages, frame_of

FROM_MEMORY = "memory"


class SparkRows:
    """A Spark session on this machine. Use it as a context manager.

    Args:
        addresses: Addresses by kind of system.
        connector: Kafka's connector for Spark, as ``spark.jars`` takes it; empty if Kafka is not compared.
    """

    def __init__(self, addresses: dict[str, str], connector: str) -> None:
        self.addresses = addresses
        self._connector = connector
        self._tasks: dict[str, Task] = {}

    def __enter__(self) -> Self:
        from benchmarks.spark.sources import MemorySource
        from pravega_lab.connector.spark import create_session

        conf = {"spark.sql.streaming.numRecentProgressUpdates": "10000"}
        if self._connector:
            conf["spark.jars"] = self._connector
        self._spark = create_session("benchmark", memory="1g", conf=conf)
        self._spark.sparkContext.setLogLevel("OFF")  # a query that is stopped says so at length
        self._spark.dataSource.register(MemorySource)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spark.stop()

    def mean_age_ms(self, task: Task) -> float:
        """Return the mean age of the events of a schedule when their micro-batches are done."""
        return ages(self._spark, task).mean_ms

    def batch_rates(self, count: int, segments: int, turn: int) -> dict[str, float]:
        """Return rows per second of batch queries, by kind, and of the same rows from memory."""
        for kind, address in self.addresses.items():
            if kind not in self._tasks:
                self._tasks[kind] = _filled(kind, address, count, segments)
        return {
            kind: count / self._seconds_to_read(kind, count, segments)
            for kind in in_turns([*self.addresses, FROM_MEMORY], turn)
        }

    def _seconds_to_read(self, kind: str, count: int, segments: int) -> float:
        frame = self._frame(kind, count, segments)
        begin = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - begin

    def _frame(self, kind: str, count: int, segments: int) -> Any:
        reader = self._spark.read
        if kind != FROM_MEMORY:
            return frame_of(reader, self._tasks[kind])
        rows = {"events": count, "segments": segments, "event_bytes": EVENT_BYTES}
        return reader.format("memory_rows").options(**rows).load()


def _filled(kind: str, address: str, count: int, segments: int) -> Task:
    task = Task(kind, address, f"filled{uuid4().hex[:12]}", count)
    ends = ends_of(kind, address)
    ends.create(task.name, segments)
    if kind == LAB:
        _fill_in_arrays(task)
        return task
    with ends.writing(task.name) as writer:
        for index in range(count):
            writer.write(event_due_at(index + 1), KEYS_BY_INDEX[index % len(KEYS_BY_INDEX)])
        writer.flush()
    return task


def _fill_in_arrays(task: Task) -> None:
    from benchmarks.client import input_of
    from pravega_lab.client import connect

    with connect(task.address) as client:
        client.stream(f"bench/{task.name}").write(*input_of(task.n_events))
