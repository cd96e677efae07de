"""Rows of a query in the columns of a table, which Spark does not compare in streaming queries."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from pravega_lab.client import connect
from pravega_lab.connector.spark.options import parse_options
from pravega_lab.connector.spark.sink.table_columns import check_columns, in_columns
from pravega_lab.connector.spark.sink.writer import write_rows
from pravega_lab.connector.tables.columns import arrow_schema, parse_columns
from pravega_lab.errors import BadInputError

TABLE = "id int, item string, x double, parts array<struct<n:bigint,at:timestamp>>"


def test_columns_are_found_by_name_and_those_that_lack_are_null() -> None:
    parts = pa.list_(
        pa.field(
            "element",
            pa.struct([pa.field("n", pa.int8(), False), pa.field("at", pa.timestamp("us", "UTC"))]),
            False,
        )
    )
    rows = pa.record_batch(
        {
            "_routing_key": pa.array(["k"]),
            "parts": pa.array([[{"n": 1, "at": 0}]], parts),
            "x": pa.array([2], pa.int32()),
            "id": pa.array([1], pa.int64()),
        }
    )
    check_columns(rows.schema, TABLE)
    found = in_columns(rows, TABLE)
    assert found.schema.names == ["id", "item", "x", "parts", "_routing_key"]
    assert found.schema.types[:4] == arrow_schema(parse_columns(TABLE)).types
    assert found.select(["id", "item", "x"]).to_pylist() == [{"id": 1, "item": None, "x": 2.0}]
    assert found.column("parts")[0][0]["n"].as_py() == 1
    assert in_columns(found, TABLE) is found


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("ID", pa.int32(), "the table has no column 'ID'. Did you mean 'id'"),
        ("extra", pa.int32(), "the table has no column 'extra'. It has: id, item, x, parts"),
        ("id", pa.string(), "column 'id' of the rows is string, and the table has int there. Cast it"),
        ("id", pa.float64(), "column 'id' of the rows is double"),
        ("item", pa.int32(), "column 'item' of the rows is int"),
        (
            "parts",
            pa.list_(pa.struct([("at", pa.timestamp("us", "UTC"))])),
            "column 'parts' of the rows is array",
        ),
        (
            "parts",
            pa.list_(pa.struct([("n", pa.int64()), ("at", pa.timestamp("us"))])),
            "and the table has array",
        ),
    ],
)
def test_columns_that_do_not_fit_are_refused(name: str, kind: pa.DataType, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        check_columns(pa.schema([(name, kind)]), TABLE)


def test_a_number_that_is_too_large_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"column 'id' of the table is int: Integer value 2147483648"):
        in_columns(pa.record_batch({"id": pa.array([2**31])}), TABLE)


@pytest.mark.parametrize(("format_name", "event"), [("csv", b'1,"tea"'), ("avro", b"\x02\x02\x02\x06tea")])
def test_events_without_names_have_the_order_of_the_table(
    store: str, scope_name: Callable[[], str], format_name: str, event: bytes
) -> None:
    address = {"controller": store, "scope": scope_name(), "stream": "out", "exactly_once": "false"}
    options = parse_options({**address, "format": format_name, "columns": "id bigint, item string"})
    with connect(store) as client:
        stream = client.create_stream(options.output)
        rows = pa.record_batch({"item": pa.array(["tea"]), "id": pa.array([1], pa.int64())})
        write_rows(options, iter([rows]), [])
        with stream.read() as batches:
            assert [found.as_py() for batch in batches for found in batch.column("event")] == [event]
