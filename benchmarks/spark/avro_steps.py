"""Where the time of a typed read goes in Spark's Python worker: python -m benchmarks.spark.avro_steps

Rows of Avro, the same as in `benchmarks.typed_rows`, go through the three steps of the worker, without Spark:
the client reads the events, the format decodes them into Arrow, and Arrow writes the bytes that the JVM would
receive. The figures are rows per second of CPU time of one core, so that other programs hardly count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from benchmarks.common.run import Run, parser_of, rounds_of
from benchmarks.typed_rows import AVRO_SCHEMA, SCHEMA, event
from pravega_lab.client import ScalingPolicy, Stream, connect
from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.tables.columns import arrow_schema, parse_columns
from pravega_lab.engine.server.store_process import StoreProcess

WHAT = "rows/s of CPU time"
READ, DECODE, BYTES, ALL = "1 read", "2 decode", "3 write Arrow", "all steps"
WRITE_EVENTS = 50_000  # at a time


def main() -> int:
    """Run the benchmark and return its exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--events", type=int, default=400_000)
    options = parser.parse_args()
    run = Run(f"Avro in the worker, {options.events:,} events of ten fields")
    columns = arrow_schema(parse_columns(SCHEMA))
    avro = row_format("avro", columns, {"avro_schema": AVRO_SCHEMA})
    with StoreProcess() as store, connect(store.uri) as client:
        client.create_scope("bench")
        stream = client.create_stream("bench/avro", scaling=ScalingPolicy.fixed(1))
        as_json = row_format("json", columns)
        for first in range(0, options.events, WRITE_EVENTS):
            last = min(options.events, first + WRITE_EVENTS)
            rows = as_json.parse(pa.array([event(n) for n in range(first, last)], pa.binary()))
            stream.write(avro.encode(rows))
        for turn in rounds_of(options):
            events, read_s = timed(lambda: list(batches(stream)))
            found, decode_s = timed(lambda: [avro.parse(batch.column("event")) for batch in events])  # noqa: B023
            _, bytes_s = timed(lambda: [as_bytes(batch) for batch in found])  # noqa: B023
            if turn:
                steps = {READ: read_s, DECODE: decode_s, BYTES: bytes_s, ALL: read_s + decode_s + bytes_s}
                for name, took_s in steps.items():
                    run.add(WHAT, name, options.events / took_s)
    return run.finish(options)


def timed(step: Callable[[], list[Any]]) -> tuple[list[Any], float]:
    """Return what a step returns, and the CPU time of this process that it took, in seconds."""
    began_s = time.process_time()
    found = step()
    return found, time.process_time() - began_s


def batches(stream: Stream) -> Any:
    """Yield the client's batches of the whole stream."""
    with stream.read() as found:
        while some := found.next_batches():
            yield from some


def as_bytes(batch: pa.RecordBatch) -> Any:
    """Return a batch as Spark's worker sends it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


if __name__ == "__main__":
    sys.exit(main())
