"""How fast Spark gets typed rows from a stream: python -m benchmarks.typed_rows

The same rows of ten fields, read in several ways as batch queries into Spark's "noop" sink: JSON objects by
the raw source alone, by the raw source and Spark's own `from_json`, and by format "json" of the connector
with all ten columns, and with one of them; and Avro without unions, the same with a schema registry, messages
of Protocol Buffers, and inserts of Debezium by their formats. Next to them, Spark reads the JSON objects from
its own memory with `from_json`, and the rows from a Parquet file. Every way runs in one task, so that a ratio
compares the same cores. A second table writes the rows: Spark's `to_json` before the raw sink, the formats of
the sink, and Parquet.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from pravega_lab.client import ScalingPolicy, connect
from pravega_lab.connector.spark import create_session
from pravega_lab.engine.server.store_process import StoreProcess

RAW, FROM_JSON, TYPED, ONE_FIELD = "raw", "raw, from_json", "format json", "format json, 1 of 10"
AVRO, AVRO_ONE_FIELD = "format avro", "format avro, 1 of 10"
PROTOBUF, DEBEZIUM = "format protobuf", "format debezium-json"
REGISTRY, MEMORY, PARQUET = "format pravega-registry", "memory, from_json", "parquet"
TO_JSON = "to_json, raw sink"
READ, WRITTEN = "read, rows/s", "written, rows/s"
FIELDS = "id bigint, price double, quantity int, ok boolean, item string, place string, day date"
SCHEMA = f"{FIELDS}, at timestamp, customer bigint, remark string"
SCOPE, STREAM = "bench", "orders"
WRITE_EVENTS = 100_000  # at a time
RATIO_WANTED, ONE_FIELD_WANTED, AVRO_WANTED = 2.0, 1.2, 1_200_000.0

Action = Callable[[], None]
Formats = dict[str, dict[str, str]]


def avro_schema() -> str:
    """Return the schema of the rows without a union, as JSON."""
    kinds: dict[str, Any] = {"bigint": "long", "int": "int", "double": "double", "boolean": "boolean"}
    kinds |= {"string": "string", "date": {"type": "int", "logicalType": "date"}}
    kinds["timestamp"] = {"type": "long", "logicalType": "timestamp-micros"}
    columns = [column.split() for column in SCHEMA.split(", ")]
    fields = [{"name": name, "type": kinds[kind]} for name, kind in columns]
    return json.dumps({"type": "record", "name": "order", "fields": fields})


def descriptor() -> str:
    """Return the descriptor of the message of a row, in base64. A day is a text there."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

    file = FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    order = file.message_type.add(name="Order")
    kinds = {"bigint": "INT64", "int": "INT32", "double": "DOUBLE", "boolean": "BOOL", "timestamp": "MESSAGE"}
    for number, column in enumerate(SCHEMA.split(", "), 1):
        name, kind = column.split()
        field = order.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        field.type = getattr(FieldDescriptorProto, f"TYPE_{kinds.get(kind, 'STRING')}")
        if kind == "timestamp":
            field.type_name = ".google.protobuf.Timestamp"
    return base64.b64encode(FileDescriptorSet(file=[file]).SerializeToString()).decode()


AVRO_SCHEMA = avro_schema()
OTHERS: Formats = {
    AVRO: {"format": "avro", "avro_schema": AVRO_SCHEMA},
    PROTOBUF: {"format": "protobuf", "protobuf_message": "shop.Order", "protobuf_descriptor": descriptor()},
    DEBEZIUM: {"format": "debezium-json"},
}


def event(number: int) -> bytes:
    """Return one row as JSON, of about 190 bytes."""
    row = {"id": number, "price": number / 7, "quantity": number % 12, "ok": number % 2 == 0}
    row |= {"item": f"item {number % 1000}", "place": "Berlin", "day": "2024-01-02", "customer": number * 17}
    row |= {"at": "2024-01-02T03:04:05.123456Z", "remark": 'as "usual"'}
    return json.dumps(row, separators=(",", ":")).encode()


def fill(uri: str, events: int) -> dict[str, str]:
    """Write the events and return the options of their stream."""
    with connect(uri) as client:
        stream = client.create_stream(f"{SCOPE}/{STREAM}", scaling=ScalingPolicy.fixed(1))
        for first in range(0, events, WRITE_EVENTS):
            stream.write([event(n) for n in range(first, min(events, first + WRITE_EVENTS))])
        return {**stream.options(), "start_stream_cut": "earliest"}


def formats(store: StoreProcess) -> Formats:
    """Return the options of the formats besides JSON, with the registry of the store."""
    registry = {"format": "pravega-registry", "registry_uri": store.registry_uri}
    return {**OTHERS, REGISTRY: {**registry, "registry_group": "orders", "registry_register": "true"}}


def readers(spark: Any, where: dict[str, str], others: Formats, parquet: str) -> dict[str, Action]:
    """Return the ways to read."""
    from pyspark.sql import functions

    def noop(frame: Any) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def raw() -> Any:
        return spark.read.format("pravega").options(**where).schema("event binary").load()

    def typed(schema: str) -> Any:
        return spark.read.format("pravega").options(**where, format="json").schema(schema).load()

    def from_json(events: Any) -> Any:
        row = functions.from_json(functions.col("event").cast("string"), SCHEMA)
        return events.select(row.alias("row")).select("row.*")

    def other(name: str, schema: str) -> Any:
        options = {**where, **others[name], "stream": others[name]["format"]}
        return spark.read.format("pravega").options(**options).schema(schema).load()

    in_memory = raw().cache()
    in_memory.count()

    return {
        RAW: lambda: noop(raw()),
        FROM_JSON: lambda: noop(from_json(raw())),
        MEMORY: lambda: noop(from_json(in_memory)),
        PARQUET: lambda: noop(spark.read.parquet(parquet)),
        TYPED: lambda: noop(typed(SCHEMA)),
        ONE_FIELD: lambda: noop(typed("customer bigint")),
        AVRO: lambda: noop(other(AVRO, SCHEMA)),
        AVRO_ONE_FIELD: lambda: noop(other(AVRO, "customer bigint")),
        REGISTRY: lambda: noop(other(REGISTRY, SCHEMA)),
        PROTOBUF: lambda: noop(other(PROTOBUF, SCHEMA.replace("day date", "day string"))),
        DEBEZIUM: lambda: noop(other(DEBEZIUM, f"{SCHEMA}, _row_kind string")),
    }


def writers(
    spark: Any, where: dict[str, str], events: int, others: Formats, parquet: str
) -> dict[str, Action]:
    """Return the ways to write rows that Spark has in its memory. Write them in each format to be read."""
    read = spark.read.format("pravega").options(**where, format="json").schema(SCHEMA).load()
    rows = read.cache()
    if rows.count() != events:
        raise SystemExit("not all rows came")

    def write(frame: Any, **more: str) -> None:
        target = {"controller": where["controller"], "scope": SCOPE, "stream": "copy", **more}
        frame.write.format("pravega").mode("append").options(**target).save()

    texts = rows.withColumn("day", rows.day.cast("string"))
    sources = {AVRO: rows, REGISTRY: rows, PROTOBUF: texts, DEBEZIUM: rows}
    for name, given in others.items():
        write(sources[name], **given, stream=given["format"])
    rows.write.mode("overwrite").parquet(parquet)
    return {
        TO_JSON: lambda: write(rows.selectExpr("to_json(struct(*)) AS event")),
        TYPED: lambda: write(rows, format="json"),
        AVRO: lambda: write(rows, **others[AVRO]),
        REGISTRY: lambda: write(rows, **others[REGISTRY]),
        PROTOBUF: lambda: write(texts, **others[PROTOBUF]),
        DEBEZIUM: lambda: write(rows, **others[DEBEZIUM]),
        PARQUET: lambda: rows.write.mode("overwrite").parquet(f"{parquet}-copy"),
    }


def main() -> int:
    """Run the benchmark and return its exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--events", type=int, default=400_000)
    options = parser.parse_args()
    run = Run(f"Typed rows, {options.events:,} events of ten fields, one task")
    with ExitStack() as stack:
        store = stack.enter_context(StoreProcess(registry_port=0))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        spark = create_session("typed_rows", memory="1g")
        stack.callback(spark.stop)
        where, others, parquet = fill(store.uri, options.events), formats(store), f"{folder}/orders"
        writing = writers(spark, where, options.events, others, parquet)
        forms = {READ: readers(spark, where, others, parquet), WRITTEN: writing}
        measure(run, forms, options)
        run.measured()
    wanted = run.ratio("read, format json : from_json", (READ, TYPED), (READ, FROM_JSON))
    run.target("read, format json : from_json", wanted, RATIO_WANTED)
    one = run.ratio("read, 1 : 10 fields", (READ, ONE_FIELD), (READ, TYPED))
    run.target("read, 1 : 10 fields", one, ONE_FIELD_WANTED)
    run.target("read, format avro", run.median(READ, AVRO), AVRO_WANTED)
    for name in others:
        run.ratio(f"read, {name} : from_json", (READ, name), (READ, FROM_JSON))
    run.ratio("read, format avro : raw source", (READ, AVRO), (READ, RAW))
    run.ratio("read, format avro : parquet", (READ, AVRO), (READ, PARQUET))
    run.ratio("read, format json : from_json of rows in memory", (READ, TYPED), (READ, MEMORY))
    run.ratio("written, format json : to_json", (WRITTEN, TYPED), (WRITTEN, TO_JSON))
    for name in others:
        run.ratio(f"written, {name} : to_json", (WRITTEN, name), (WRITTEN, TO_JSON))
    return run.finish(options)


def measure(run: Run, forms: dict[str, dict[str, Action]], options: argparse.Namespace) -> None:
    """Time every way in every round; the first round warms up the JVM and the workers."""
    for turn in rounds_of(options):
        for what, ways in forms.items():
            for name in in_turns(list(ways), turn):
                begin = time.perf_counter()
                ways[name]()
                if turn:
                    run.add(what, name, options.events / (time.perf_counter() - begin))


if __name__ == "__main__":
    sys.exit(main())
