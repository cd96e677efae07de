"""How fast Spark reads a stream: python -m benchmarks.spark_read

The same rows (event of 100 bytes, scope, stream, segment_id, offset) from our store, from a Python data
source that has them in memory, which is the most that Spark takes from Python, and from parquet without
compression. As a batch query, and as a streaming query with trigger AvailableNow, each into Spark's "noop"
sink; of the latter the time of its micro-batches counts. One session, as `Lab().spark` makes it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.client import EVENT_BYTES, input_of
from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from benchmarks.spark.sources import MemorySource
from pravega_lab.client import ScalingPolicy, connect
from pravega_lab.connector.spark import create_session
from pravega_lab.engine.server.store_process import StoreProcess

OURS, FROM_MEMORY, PARQUET = "our store", "Python source from memory", "parquet"
BATCH, AVAILABLE_NOW = "batch, rows/s", "AvailableNow, rows/s"
WRITE_EVENTS = 500_000  # at a time
RATIO_WANTED = 0.6
SCOPED_NAME = "bench/events"

Reader = Callable[[Any], Any]  # spark.read or spark.readStream -> a frame


def fill(uri: str, options: argparse.Namespace) -> dict[str, str]:
    """Write the events; the options for Spark."""
    with connect(uri) as client:
        stream = client.create_stream(SCOPED_NAME, scaling=ScalingPolicy.fixed(options.segments))
        for first in range(0, options.events, WRITE_EVENTS):
            stream.write(*input_of(min(WRITE_EVENTS, options.events - first)))
        return stream.options()


def sources(spark: Any, uri: str, folder: Path, options: argparse.Namespace) -> dict[str, Reader]:
    """What is compared; parquet is made of the stream itself, one file per segment."""
    ours = {**fill(uri, options), "start_stream_cut": "earliest"}
    rows = {"events": options.events, "segments": options.segments, "event_bytes": EVENT_BYTES}
    spark.dataSource.register(MemorySource)
    frame = spark.read.format("pravega").options(**ours).load()
    path = str(folder / "parquet")
    frame.write.option("compression", "none").parquet(path)
    schema = frame.schema
    return {
        OURS: lambda reader: reader.format("pravega").options(**ours).load(),
        FROM_MEMORY: lambda reader: reader.format("memory_rows").options(**rows).load(),
        PARQUET: lambda reader: reader.schema(schema).parquet(path),
    }


def seconds_of_batch(spark: Any, source: Reader, expected: int) -> float:
    frame = source(spark.read)
    begin = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begin


def seconds_of_stream(spark: Any, source: Reader, expected: int) -> float:
    """Of the micro-batches, from their trigger to their commit."""
    with tempfile.TemporaryDirectory() as folder:
        writer = source(spark.readStream).writeStream.format("noop").option("checkpointLocation", folder)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        progress = [one for one in query.recentProgress if one.numInputRows]
    found = sum(one.numInputRows for one in progress)
    if found != expected:
        raise SystemExit(f"{found} of {expected} rows came")
    return sum(float(one.durationMs["triggerExecution"]) for one in progress) / 1000


FORMS = {BATCH: seconds_of_batch, AVAILABLE_NOW: seconds_of_stream}


def compare(run: Run, spark: Any, compared: dict[str, Reader], options: argparse.Namespace) -> None:
    for name, source in compared.items():
        found = source(spark.read).count()
        if found != options.events:
            raise SystemExit(f"{name}: {found} of {options.events} rows")
    for turn in rounds_of(options):
        for what, form in FORMS.items():
            for name in in_turns(list(compared), turn):
                rate = options.events / form(spark, compared[name], options.events)
                if turn:  # the first round warms up JVM and workers
                    run.add(what, name, rate)


def judge(run: Run) -> None:
    for what in FORMS:
        short = what.removesuffix(", rows/s")
        name = f"{short}, our store : from memory"
        run.target(name, run.ratio(name, (what, OURS), (what, FROM_MEMORY)), RATIO_WANTED)
        run.ratio(f"{short}, our store : parquet", (what, OURS), (what, PARQUET))


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--segments", type=int, default=4)
    parser.add_argument("--durable", action="store_true", help="read from a store on disk")
    options = parser.parse_args()
    run = Run(f"Spark reads {options.events:,} events of {EVENT_BYTES} bytes, {options.segments} segments")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        uri = stack.enter_context(StoreProcess(folder / "store" if options.durable else None)).uri
        spark = create_session("spark_read", memory="1g")
        stack.callback(spark.stop)
        compare(run, spark, sources(spark, uri, folder, options), options)
        run.measured()
    judge(run)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())
