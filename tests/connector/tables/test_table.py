"""`Table`: one description, read as Arrow, by pandas and Polars, and by Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from pravega_lab.client import Client, EventPointer
from pravega_lab.connector.rows.key_expression import _columns, _database
from pravega_lab.connector.tables.engine import TableEvents, TableRows
from pravega_lab.connector.tables.table import Table
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.errors import BadInputError, CorruptRowError, SetupError, StreamNotFoundError


@pytest.fixture
def orders(client: Client, scope_name: Callable[[], str]) -> Table:
    table = Table.create(f"{scope_name()}/orders").schema("id bigint, item string").json().on(client).save()
    client.stream(table.scoped_stream).write(
        [b'{"id": 1, "item": "tea"}', b'{"id": 2, "item": "cup"}'], ["k"] * 2
    )
    return table


def test_rows_are_read_as_arrow(orders: Table) -> None:
    assert orders.to_pandas().to_dict("list") == {"id": [1, 2], "item": ["tea", "cup"]}
    assert pl.DataFrame(orders.arrow())["id"].sum() == 3


def test_rows_are_read_between_two_cuts(orders: Table, client: Client) -> None:
    stream = client.stream(orders.scoped_stream)
    middle = stream.tail()
    stream.write([b'{"id": 3}'], ["k"])
    assert orders.to_pandas(start=middle)["id"].tolist() == [3]
    assert orders.to_pandas(end=middle)["id"].tolist() == [1, 2]
    empty = orders.arrow(middle, middle).read_all()
    assert (empty.num_rows, empty.schema.names) == (0, ["id", "item"])


def test_the_description_is_found_in_the_store(orders: Table, client: Client) -> None:
    described = orders.watermark("id", "5 s").primary_key("id").option("ordered", "false").save()
    assert described.description.options == {"ordered": "false"}
    found = Table.load(client, orders.scoped_stream)
    assert found.description.watermark == ("id", "5 s")
    assert found.description.primary_key == ("id",)
    assert found.to_pandas().equals(orders.to_pandas())
    assert found.spark_options()["format"] == "json"
    assert found.spark_options()["primary_key"] == "id"
    assert "routing_key_column" not in found.option("routing_key_column", "item").spark_options()


def test_an_event_that_is_no_row_is_named(orders: Table, client: Client) -> None:
    client.stream(orders.scoped_stream).write([b"{no json"], ["k"])
    with pytest.raises(CorruptRowError, match=r"at offset \d+ of segment 0 of .*/orders.*\{no json"):
        orders.to_pandas()


def test_what_is_incomplete_is_refused_in_words(client: Client) -> None:
    with pytest.raises(BadInputError, match="write scope/stream"):
        Table.create("orders")
    with pytest.raises(BadInputError, match="at least one column"):
        Table.create("a/b").json().on(client).save()
    with pytest.raises(BadInputError, match=r"Call \.on\(client\)"):
        Table.create("a/b").schema("id bigint").json().to_pandas()
    with pytest.raises(BadInputError, match="watermark names column 'time'"):
        Table.create("a/b").schema("id bigint").json().watermark("time", "5 s").on(client).save()


def test_a_stream_without_a_description_says_what_is_missing(orders: Table, client: Client) -> None:
    scope, _, _ = orders.scoped_stream.partition("/")
    client.create_stream(f"{scope}/plain")
    with pytest.raises(BadInputError, match=r"/plain is not described, .*Add \.schema"):
        Table.load(client, f"{scope}/plain").to_pandas()
    with pytest.raises(StreamNotFoundError, match=r"there is no stream .*/nothing"):
        Table.load(client, f"{scope}/nothing").to_pandas()


def test_a_table_of_a_stream_that_was_created_again_is_not_read(orders: Table, client: Client) -> None:
    described = Table.load(client, orders.scoped_stream)
    stream = client.stream(orders.scoped_stream)
    stream.seal()
    stream.delete()
    client.create_stream(orders.scoped_stream)
    for use in (described.to_pandas, described.source, described.sink):
        with pytest.raises(BadInputError, match=r"created again after it was described.*Drop the table"):
            use()
    assert orders.save().to_pandas().empty  # described again


def test_metadata_of_events_are_columns(orders: Table) -> None:
    columns = "id bigint, _offset bigint, _segment_id bigint, _stream string, _event_pointer binary"
    found = orders.schema(columns).arrow().read_all().to_pylist()
    assert [(row["id"], row["_offset"], row["_segment_id"], row["_stream"]) for row in found] == [
        (1, 0, 0, "orders"),
        (2, 32, 0, "orders"),
    ]
    pointer = EventPointer.from_bytes(found[1]["_event_pointer"])
    assert orders.client is not None
    assert orders.client.stream(orders.scoped_stream).fetch(pointer) == b'{"id": 2, "item": "cup"}'
    misspelt = orders.schema("id bigint, _ofset bigint")
    for use in (misspelt.save, misspelt.to_pandas, misspelt.source, misspelt.sink):
        with pytest.raises(BadInputError, match=r"'_ofset' is no metadata .* '_offset'\? .*'field_columns'"):
            use()
    assert misspelt.option("field_columns", "_ofset").to_pandas()["_ofset"].isna().all()
    with pytest.raises(BadInputError, match="column '_offset' cannot be written"):
        orders.schema("id bigint, _offset bigint").sink()


def test_events_that_are_no_rows_are_dropped_or_kept(
    orders: Table, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.stream(orders.scoped_stream).write([b"{no json", b'{"id": 3}'], ["k"] * 2)
    dropping = orders.option("corrupt_rows", "drop").save()
    assert Table.load(client, orders.scoped_stream).to_pandas()["id"].tolist() == [1, 2, 3]
    assert f"dropped 1 events of {orders.scoped_stream} that are no rows" in caplog.text
    keeping = dropping.schema("id bigint, _corrupt binary").option("corrupt_rows", "keep")
    assert keeping.arrow().read_all()["_corrupt"].to_pylist() == [None, None, b"{no json", None]
    with pytest.raises(BadInputError, match=r"the schema has column '_corrupt', .*'drop'"):
        keeping.option("corrupt_rows", "drop").to_pandas()


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("routing_key", "upper(item) || id", ["TEA1", "CUP2"]),
        ("routing_key_column", "item", ["tea", "cup"]),
        ("sink.routing-key.field.name", "item", ["tea", "cup"]),
    ],
)
def test_a_column_or_an_expression_gives_the_routing_key(
    orders: Table, option: str, value: str, expected: list[str]
) -> None:
    assert orders.client is not None
    saved = orders.option(option, value).save()
    description = Table.load(orders.client, saved.scoped_stream).description
    rows = Batch.of_rows([{"id": 1, "item": "tea"}, {"id": 2, "item": "cup"}])
    assert TableEvents(description=description).of(rows)[1] == expected
    assert option not in saved.primary_key("id").spark_options()
    with pytest.raises(BadInputError, match="idd"):
        orders.option(option, "idd").save()
    with pytest.raises(BadInputError, match="Both give the routing key"):
        orders.option("routing_key_column", "item").option("routing_key", "item").save()


def test_a_table_with_an_expression_is_read_without_duckdb(
    orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = orders.option("routing_key", "upper(item)").save()
    for kept in (_database, _columns):
        kept.cache_clear()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert len(saved.to_pandas()) == 2
    for use in (saved.save, saved.sink):
        with pytest.raises(SetupError, match=r"DuckDB is not installed here. Run pip install .*\[frames\]"):
            use()


FIELDS = "_id bigint, _event_index string, _database string"


@pytest.mark.parametrize("name", ["json", "avro", "csv", "maxwell-json"])
def test_fields_may_begin_like_metadata(
    name: str, client: Client, scope_name: Callable[[], str], caplog: pytest.LogCaptureFixture
) -> None:
    columns = FIELDS if name != "maxwell-json" else "_id bigint, _event_index string"
    table = Table.create(f"{scope_name()}/documents").schema(columns).format(name).primary_key("_id")
    table = table.on(client).save()
    rows = [dict(zip(table.arrow().schema.names, (n, f"{n}", "shop"), strict=False)) for n in (1, 2)]
    events, keys = TableEvents(description=table.description).of(Batch.of_rows(rows))
    assert keys == ["1", "2"]
    stream = client.stream(table.scoped_stream)
    stream.write(events, keys)
    assert Table.load(client, table.scoped_stream).arrow().read_all().sort_by("_id").to_pylist() == rows
    assert caplog.text == ""
    with stream.read() as batches:
        found = [row for batch in batches for row in _rows(table, batch)]
    assert sorted(found, key=lambda row: row["_id"]) == rows
    table.sink()


def _rows(table: Table, batch: Any) -> Sequence[dict[str, Any]]:
    return TableRows(description=table.description).batch(table.scoped_stream, batch).rows


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("_offset string", "'_offset' is bigint, not string.*rename the field"),
        ("_Offset bigint", "'_Offset' differs only in capital letters.*Write '_offset'"),
        ("_row_kind string", "no '_row_kind'. It belongs to format debezium-json"),
        ("_routing_key string", "'_routing_key' cannot be read: it is the routing key"),
        ("_corrupt string", "'_corrupt' is binary, not string"),
    ],
)
def test_a_field_with_the_name_of_metadata_is_refused(orders: Table, column: str, words: str) -> None:
    for use in (orders.schema(f"id bigint, {column}").to_pandas, orders.schema(f"id bigint, {column}").save):
        with pytest.raises(BadInputError, match=words):
            use()


def test_an_option_that_does_not_exist_is_refused_at_once() -> None:
    table = Table.create("a/b").option("Ordered", "false").option("sink.routing-key.field.name", "id")
    assert len(table.description.options) == 2
    with pytest.raises(BadInputError, match=r"'routing_key_colum' of a table .* mean 'routing_key_column'\?"):
        table.option("routing_key_colum", "id")
    with pytest.raises(BadInputError, match=r"option 'xyz' of a table is not known. docs/options\.md"):
        table.option("xyz", "1")
