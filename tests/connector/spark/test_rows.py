"""Rows of source and sink: columns, schemas that are refused, digests."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, StringType, StructType

from pravega_lab.client import connect
from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.spark.data_source import PravegaDataSource, PravegaReader
from pravega_lab.connector.spark.options import parse_options
from pravega_lab.connector.spark.sink.digest import add, digest_of
from pravega_lab.connector.spark.sink.rows import arrays, check_rows
from pravega_lab.connector.spark.source.rows import (
    SCHEMA,
    arrow_schema,
    check_schema,
    metadata_types,
    rows_of,
)
from pravega_lab.errors import BadInputError

TYPES = {"binary": BinaryType, "string": StringType, "bigint": LongType, "int": IntegerType}


def struct(text: str) -> StructType:
    """A schema from its text, without the JVM that Spark asks for this."""
    found = StructType()
    for column in text.split(", "):
        name, kind = column.split()
        type_: DataType = TYPES[kind]()
        found.add(name, type_)
    return found


def batch(*offsets: int) -> pa.RecordBatch:
    columns = {"event": [b"x"] * len(offsets), "segment_id": [4] * len(offsets), "offset": list(offsets)}
    types = pa.schema([("event", pa.binary()), ("segment_id", pa.int64()), ("offset", pa.int64())])
    return pa.RecordBatch.from_pydict(columns, schema=types)


def test_all_batches_have_the_schema_that_spark_wants() -> None:
    schema = arrow_schema(struct(SCHEMA))
    found = list(rows_of(schema, "demo/flights", [batch(0, 9), batch(18), batch(27, 36, 45)]))
    assert [rows.schema for rows in found] == [schema] * 3
    assert found[2].to_pylist()[2] == {
        "event": b"x",
        "scope": "demo",
        "stream": "flights",
        "segment_id": 4,
        "offset": 45,
    }


def test_a_narrower_schema_is_built_alone_and_in_its_order() -> None:
    schema = arrow_schema(struct("offset bigint, stream string"))
    [rows] = rows_of(schema, "demo/flights", [batch(0, 9)])
    assert rows.to_pydict() == {"offset": [0, 9], "stream": ["flights", "flights"]}


@pytest.mark.parametrize(
    ("options", "schema"),
    [({}, "event binary, offset bigint, event binary"), ({"format": "json"}, "event string, event bigint")],
)
def test_a_schema_with_a_column_twice_is_refused(options: dict[str, str], schema: str) -> None:
    source = PravegaDataSource({"scope": "demo", "stream": "flights", **options})
    with pytest.raises(BadInputError, match="column 'event' is in the schema twice"):
        source.reader(struct(schema))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("evnt binary", "no column 'evnt'. Did you mean 'event'"),
        ("event string", "'event' of .* is binary, not string.*cast it in the query"),
        ("offset int", "is bigint, not int"),
        ("key string", "There are: event, scope, stream, segment_id, offset"),
    ],
)
def test_a_schema_that_does_not_fit_is_refused(schema: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        check_schema(struct(schema))


def test_a_schema_without_columns_is_refused() -> None:
    with pytest.raises(BadInputError, match="the schema has no column"):
        PravegaReader(parse_options({"scope": "a", "stream": "b"}), StructType())


def test_metadata_tables_have_schemas_of_their_own() -> None:
    assert list(metadata_types("StreamInfo")) == ["head_stream_cut", "tail_stream_cut"]
    check_schema(struct("stream_name string"), metadata_types("Streams"))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("value string", "no column 'event', but value"),
        ("event binary, key string", "not 'key'. Select"),
        ("event bigint", "'event' is bigint; a sink takes binary or string. Cast it"),
        ("event string, routing_key bigint", "'routing_key' is bigint"),
    ],
)
def test_rows_that_are_no_events_are_refused(schema: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        check_rows(struct(schema))


def test_a_null_event_is_refused_and_a_null_key_is_not() -> None:
    events, keys = arrays(pa.RecordBatch.from_pydict({"event": ["ä", "b"], "routing_key": ["k", None]}))
    assert events.to_pylist() == ["ä".encode(), b"b"]
    assert keys is not None
    with pytest.raises(BadInputError, match="1 of 2 rows have a null event"):
        arrays(pa.RecordBatch.from_pydict({"event": ["a", None]}))
    for name in ("csv", "raw"):
        with pytest.raises(BadInputError, match=f"1 of 2 rows are null in their only column, .* {name!r}"):
            arrays(pa.RecordBatch.from_pydict({"item": ["a", None]}), name)


def test_a_text_that_is_not_utf_8_is_refused_and_the_bytes_of_an_event_are_not() -> None:
    """Spark makes such texts by a cast of binary to string."""
    damaged = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    inner = pa.StructArray.from_arrays([damaged], ["text"])
    assert arrays(pa.record_batch([damaged], ["event"]))[0].to_pylist() == [b"\xff"]
    with pytest.raises(BadInputError, match="column 'routing_key' has a text that is not UTF-8"):
        arrays(pa.record_batch([damaged, damaged], ["event", "routing_key"]))
    for name in ("json", "csv", "avro"):
        with pytest.raises(BadInputError, match=r"make_valid_utf8\(item\)"):
            arrays(pa.record_batch([damaged], ["item"]), name)
    with pytest.raises(BadInputError, match="column 'inner'"):
        arrays(pa.record_batch([inner], ["inner"]), "json")


def test_rows_with_offsets_of_64_bits_are_those_of_32() -> None:
    small = pa.schema(
        [("s", pa.string()), ("l", pa.list_(pa.string())), ("m", pa.map_(pa.string(), pa.string()))]
    )
    large = pa.schema(
        [
            ("s", pa.large_string()),
            ("l", pa.list_(pa.large_string())),
            ("m", pa.map_(pa.large_string(), pa.large_string())),
        ]
    )
    rows = {"s": ['a"b'], "l": [["x"]], "m": [[("k", "v")]]}
    wanted, found = (arrays(pa.RecordBatch.from_pydict(rows, kind), "avro")[0] for kind in (small, large))
    assert found.equals(wanted)
    text = pa.RecordBatch.from_pydict({"s": ['a"b']}, pa.schema([("s", pa.large_string())]))
    assert arrays(text, "json")[0].to_pylist() == [b'{"s":"a\\"b"}']
    raw = pa.RecordBatch.from_pydict({"b": [b"y"]}, pa.schema([("b", pa.large_binary())]))
    assert arrays(raw, "raw")[0].to_pylist() == [b"y"]


@pytest.mark.parametrize("form", ["json", "csv", "avro", "maxwell-json"])
def test_times_do_not_depend_on_the_zone_of_the_session(form: str) -> None:
    """New York was 4:56:02 after UTC. Its texts had no seconds, and one row had another key in each zone."""
    moments = [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)]

    def written(zone: str) -> tuple[Any, Any]:
        kind = pa.timestamp("us", zone)
        columns = {"at": pa.array(moments, kind)}
        if form in ("json", "avro"):
            columns["nested"] = pa.array(
                [[{"at": moment}] for moment in moments], pa.list_(pa.struct([("at", kind)]))
            )
        return arrays(pa.RecordBatch.from_pydict(columns), form, primary_key=("at",))

    events, keys = written("America/New_York")
    assert (events.to_pylist(), keys.to_pylist()) == tuple(column.to_pylist() for column in written("UTC"))
    fields = pa.schema([("at", pa.timestamp("us", "UTC"))])
    if form in ("json", "csv"):
        assert row_format(form, fields).parse(events).column("at").to_pylist() == moments


def test_a_batch_job_creates_its_stream_again(store: str, scope_name: Callable[[], str]) -> None:
    """The process that plans a job may have planned one for a stream that was deleted since."""
    with connect(store) as client:
        stream = client.stream(f"{scope_name()}/out")
        where = {**stream.options(), "format": "raw"}
        for _ in range(2):
            writer = PravegaDataSource(where).writer(struct("event string"), overwrite=False)
            rows = pa.RecordBatch.from_pydict({"event": ["a"]})
            writer.commit([writer.write(iter([rows]))])
            with stream.read() as batches:
                assert sum(batch.num_rows for batch in batches) == 1
            stream.seal()
            stream.delete()


def test_digests_know_rows_and_not_their_order() -> None:
    chance = random.Random(3)
    rows = [(f"event {i % 70}".encode(), f"k{i % 7}" if i % 5 else None) for i in range(100)]

    def digest(some: list[tuple[bytes, str | None]]) -> int:
        return digest_of(
            pa.array([e for e, _ in some], pa.binary()), pa.array([k for _, k in some], pa.string())
        )

    shuffled = chance.sample(rows, len(rows))
    assert digest(rows) == digest(shuffled) == add(digest(rows[:30]), digest(rows[30:]))
    assert digest(rows) != digest(rows[1:])
    assert digest(rows) != digest([(rows[0][0], "other"), *rows[1:]])
    assert digest([(b"a", "b"), (b"c", "d")]) != digest([(b"a", "d"), (b"c", "b")])
    assert digest([(b"a", None)]) != digest([(b"a", "")])
    assert digest([]) == 0


def test_a_digest_is_the_same_in_every_process_and_version() -> None:
    assert digest_of(pa.array([b"hello", b""], pa.binary()), pa.array(["key", None])) == 5686619357403234609
