"""What a micro-batch of our source costs: python -m benchmarks.spark.micro_batch

The time of a micro-batch (Spark's ``triggerExecution``) from our source and from Spark's built-in rate source
(``rate-micro-batch``: in the JVM, one partition), each into the same Python sink that only counts. One
session, as `Lab().spark` makes it, and one batch after the other; the queries take turns, and of each turn
the second half counts. All the time some events are written to the stream, so that every batch has rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median, quantiles
from typing import Any

from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from benchmarks.spark.sources import CountingSink
from pravega_lab.client import ScalingPolicy, Stream, connect
from pravega_lab.connector.spark import create_session
from pravega_lab.engine.server.store_process import StoreProcess

OURS, RATE = "our source", "rate source"
MIDDLE, SLOW = "micro-batch, median, ms", "micro-batch, 95 of 100, ms"
ROWS, EVERY_S, EVENT = 4, 0.02, b"x" * 100
EXTRA_MS_WANTED = 100.0


@contextmanager
def fed(stream: Stream) -> Iterator[None]:
    """Events keep coming: some at a time, a little apart."""
    over = threading.Event()

    def feed() -> None:
        while not over.wait(EVERY_S):
            stream.write([EVENT] * ROWS, [f"key-{i}" for i in range(ROWS)])

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def frames(spark: Any, stream: Stream) -> dict[str, Any]:
    ours = spark.readStream.format("pravega").options(**stream.options()).load()
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20).option("numPartitions", 1)
    return {OURS: ours, RATE: rate.load()}


def durations_ms(frame: Any, seconds: float) -> list[float]:
    """Of the micro-batches in the second half of a run of that length, those of before it warm up."""
    with tempfile.TemporaryDirectory() as folder:
        writer = frame.writeStream.format("counting_sink").option("checkpointLocation", folder)
        query = writer.trigger(processingTime="0 seconds").start()
        try:
            _wait(query, batches=2)
            _wait(query, seconds=seconds)
        finally:
            query.stop()
        found = [float(p.durationMs["triggerExecution"]) for p in query.recentProgress if p.numInputRows]
    return found[len(found) // 2 :]


def _wait(query: Any, batches: int = 0, seconds: float = 0.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until or (query.lastProgress or {"batchId": -1})["batchId"] < batches:
        if query.exception():
            raise query.exception()
        time.sleep(0.05)


def compare(run: Run, compared: dict[str, Any], options: argparse.Namespace) -> None:
    for turn in rounds_of(options):
        for name in in_turns(list(compared), turn):
            found = durations_ms(compared[name], options.seconds)
            if turn:  # the first round warms up JVM and workers
                run.add(MIDDLE, name, median(found))
                run.add(SLOW, name, quantiles(found, n=20)[-1] if len(found) > 1 else found[0])


def judge(run: Run) -> None:
    name = "our source - rate source, ms"
    run.target(name, run.difference(name, (MIDDLE, OURS), (MIDDLE, RATE)), EXTRA_MS_WANTED, at_least=False)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each query in each round")
    parser.add_argument("--segments", type=int, default=2)
    options = parser.parse_args()
    run = Run(f"Micro-batches of some 20 rows, {options.segments} segments")
    with ExitStack() as stack:
        client = stack.enter_context(connect(stack.enter_context(StoreProcess()).uri))
        stream = client.create_stream("bench/live", scaling=ScalingPolicy.fixed(options.segments))
        conf = {"spark.sql.streaming.numRecentProgressUpdates": "10000"}
        spark = create_session("micro_batch", conf=conf)
        stack.callback(spark.stop)
        spark.sparkContext.setLogLevel("OFF")  # a query that is stopped says so at length
        spark.dataSource.register(CountingSink)
        with fed(stream):
            compare(run, frames(spark, stream), options)
        run.measured()
    judge(run)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
