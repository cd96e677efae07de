"""How old events are when Spark has finished the micro-batch that contains them, for the lab and for Kafka.

The query reads, notes the due times by `DataFrame.observe`, which runs in the JVM, and writes into Spark's
sink ``noop``. A batch is done when its trigger is: ``timestamp`` plus ``triggerExecution`` of its
progress, in ms.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from benchmarks.pipelines.child import WARM_EVENTS, Task
from benchmarks.pipelines.children import begin_ns, started
from benchmarks.pipelines.ends import LAB
from benchmarks.pipelines.open_loop import WARM_UP

WAIT_S_MAX = 120.0
WARM_BATCHES = 5
TRIGGER = "0 seconds"


class Ages(NamedTuple):
    """The mean age of all events and the median age of the oldest event of a batch, in ms, and events/s."""

    mean_ms: float
    oldest_ms: float
    rate: float


def frame_of(reader: Any, task: Task) -> Any:
    """Return a frame of a stream or topic from its head on, with the events in column ``event``."""
    if task.kind == LAB:
        options = {"controller": task.address, "scope": "bench", "stream": task.name}
        return reader.format("pravega").options(**options, start_stream_cut="earliest").load()
    options = {"kafka.bootstrap.servers": task.address, "subscribe": task.name, "startingOffsets": "earliest"}
    return reader.format("kafka").options(**options).load().withColumnRenamed("value", "event")


def ages(spark: Any, task: Task) -> Ages:
    """Send events on a schedule to a stream that a query reads with trigger 0, and return their ages."""
    with _query(spark, task) as query, started(("write_on_schedule", task)) as [writer]:
        _wait_for(query, lambda: _n_rows(query) >= WARM_EVENTS)
        _wait_for(query, lambda: len(query.recentProgress) >= WARM_BATCHES)
        begin = begin_ns()
        writer.begin(begin)
        writer.figures()
        _wait_for(query, lambda: _n_rows(query) >= WARM_EVENTS + task.n_events)
        return _found(query, begin, task.n_events)


@contextmanager
def _query(spark: Any, task: Task) -> Iterator[Any]:
    from pyspark.sql import functions as f

    due_ns = f.conv(f.hex(f.substring("event", 1, 8)), 16, 10).cast("long")
    timed = f.when(due_ns != WARM_UP, due_ns / 1e6)
    noted = [f.sum(timed).alias("sum_ms"), f.count(timed).alias("n"), f.min(timed).alias("first_ms")]
    frame = frame_of(spark.readStream, task).observe("due", *noted)
    with tempfile.TemporaryDirectory() as folder:
        writer = frame.writeStream.format("noop").option("checkpointLocation", folder)
        query = writer.trigger(processingTime=TRIGGER).start()
        try:
            yield query
        finally:
            query.stop()


def _n_rows(query: Any) -> int:
    return sum(progress.numInputRows for progress in query.recentProgress)


def _wait_for(query: Any, is_reached: Any) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not is_reached():
        if query.exception():
            raise query.exception()
        if time.monotonic() > deadline:
            raise RuntimeError(f"Spark did not read all events within {WAIT_S_MAX:g} s")
        time.sleep(0.05)


def _found(query: Any, begin: int, n_expected: int) -> Ages:
    """Return the ages, with the wall clock of Spark's progress set to the monotonic clock of the events."""
    import numpy as np

    offset_ms = (time.time_ns() - time.monotonic_ns()) / 1e6
    sum_ms = n_events = done_ms = 0.0
    oldest_ms = []
    for progress in query.recentProgress:
        due = progress.observedMetrics.get("due")
        if due is None or not due.n:
            continue
        batch_ms = float(progress.durationMs["triggerExecution"])
        start = np.datetime64(progress.timestamp.removesuffix("Z"), "ms").astype(np.int64)
        done_ms = float(start) + batch_ms - offset_ms
        sum_ms += due.n * done_ms - due.sum_ms
        n_events += due.n
        oldest_ms.append(done_ms - due.first_ms)
    if n_events != n_expected:
        raise RuntimeError(f"Spark read {n_events:g} of {n_expected} events")
    rate = n_events / max((done_ms - begin / 1e6) / 1e3, 1e-9)
    return Ages(sum_ms / n_events, float(np.median(oldest_ms)), rate)
