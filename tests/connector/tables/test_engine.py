"""A table as source and sink of a job of the engine, on the embedded store."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pravega_lab.client import Client
from pravega_lab.connector.tables.engine import TableEvents, TableRows, event_time_ms
from pravega_lab.connector.tables.table import Table
from pravega_lab.engine.flow.batch import Batch, RowKind
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import run
from pravega_lab.engine.flow.master.restart import NoRestart
from pravega_lab.errors import BadInputError
from tests.connector.tables.described import describe

ORDERS = "id bigint, item string, time timestamp"
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def orders(client: Client, scope_name: Callable[[], str]) -> Table:
    return Table.create(f"{scope_name()}/orders").schema(ORDERS).json().on(client).save()


def config(folder: Path) -> JobConfig:
    return JobConfig(CheckpointConfig(interval_ms=200), restart=NoRestart(), folder=str(folder))


def sibling(table: Table, name: str) -> Table:
    scope = table.scoped_stream.split("/")[0]
    assert table.client is not None
    return Table.create(f"{scope}/{name}").schema(ORDERS).primary_key("id").on(table.client)


def write(table: Table, *events: dict[str, object] | bytes) -> None:
    """Write the events and seal the stream, so that a job over it ends."""
    assert table.client is not None
    stream = table.client.stream(table.scoped_stream)
    stream.write([e if isinstance(e, bytes) else json.dumps(e).encode() for e in events], "k")
    stream.seal()


def test_rows_of_a_table_go_into_a_table(orders: Table, tmp_path: Path) -> None:
    some = orders.watermark("time", "5 s").save()
    write(some, *({"id": n, "item": f"item {n}", "time": "2026-01-01T00:00:00Z"} for n in range(200)))
    cheap = sibling(orders, "cheap").json().save()
    env = StreamEnvironment("copy", parallelism=2)
    env.from_table(some).filter(lambda row: row["id"] % 2 == 0).insert_into(cheap)
    run(env.job_graph(), config(tmp_path))
    found = cheap.to_pandas()
    assert sorted(found["id"]) == list(range(0, 200, 2))
    assert set(found["item"]) == {f"item {n}" for n in range(0, 200, 2)}
    assert found["time"].unique().tolist() == [START]


def test_changes_of_rows_keep_their_kinds(orders: Table, tmp_path: Path) -> None:
    tea, cup = (
        {"id": n, "item": item, "time": "2026-01-01T00:00:00Z"} for n, item in ((1, "tea"), (1, "cup"))
    )
    changes = sibling(orders, "changes").format("debezium-json").save()
    write(
        changes,
        {"before": None, "after": tea, "op": "c"},
        {"before": tea, "after": cup, "op": "u"},
        {"before": cup, "after": None, "op": "d"},
        b"",  # a tombstone is no row
    )
    copied = sibling(orders, "copied").format("debezium-json").save()
    env = StreamEnvironment("changes")
    env.from_table(changes).insert_into(copied)
    run(env.job_graph(), config(tmp_path))
    assert copied.client is not None
    with copied.client.stream(copied.scoped_stream).read() as found:
        events = [json.loads(event) for batch in found for event in batch.column("event").to_pylist()]
    assert [(event["op"], (event["after"] or event["before"])["item"]) for event in events] == [
        ("c", "tea"), ("u", "cup"), ("d", "cup")
    ]  # fmt: skip
    assert events[1]["before"]["item"] == "tea"


def test_a_damaged_event_fails_the_job_by_its_place(orders: Table, tmp_path: Path) -> None:
    write(orders, b"{no json")
    env = StreamEnvironment("damaged")
    env.from_table(orders).insert_into(sibling(orders, "copy").json().save())
    with pytest.raises(
        JobFailedError, match=r"offset 0 of segment 0 of .*/orders is no row of format 'json'"
    ):
        run(env.job_graph(), config(tmp_path))


def test_event_times_are_timestamps_or_milliseconds() -> None:
    assert event_time_ms("t", {"t": START}) == event_time_ms("t", {"t": START.replace(tzinfo=None)})
    assert event_time_ms("t", {"t": 17}) == 17
    with pytest.raises(BadInputError, match="column 't' gives the watermark, and a row has None there"):
        event_time_ms("t", {"t": None})


def test_what_a_table_cannot_take_is_refused(orders: Table) -> None:
    events = TableEvents(description=orders.description)
    row = {"id": 1, "item": "tea", "time": START}
    assert len(events.of(Batch.of_rows([row]))[0]) == 1
    with pytest.raises(BadInputError, match="no column 'time', which the table has"):
        events.of(Batch.of_rows([{"id": 1, "item": "tea"}]))
    with pytest.raises(BadInputError, match="column 'price', which the table has not"):
        events.of(Batch.of_rows([{**row, "price": 1}]))
    for wrong in ("one", 1.5, float("nan"), 2**70, True):
        with pytest.raises(BadInputError, match="column 'id' of the table is int64, and a row has another"):
            events.of(Batch.of_rows([{**row, "id": wrong}]))
    assert (
        events.of(Batch.of_rows([{**row, "id": 2.0}]))[0] == events.of(Batch.of_rows([{**row, "id": 2}]))[0]
    )
    with pytest.raises(BadInputError, match="format 'json' has only inserts"):
        events.of(Batch.of_rows([row], kinds=np.array([RowKind.DELETE], np.int8)))
    with pytest.raises(BadInputError, match="has no primary key"):
        orders.format("debezium-json").sink()
    with pytest.raises(BadInputError, match="no store is known"):
        Table.create("s/t").schema("id bigint").json().source()


def test_rows_in_arrow_become_events_without_objects_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Order of columns does not matter. Other types are converted value by value, as before."""
    rows: list[dict[str, Any]] = [{"id": 1, "item": "tea"}, {"id": 1, "item": "cup"}, {"id": 2, "item": None}]
    kinds = np.array([RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE], np.int8)
    plain = TableEvents(description=describe("id bigint, item string", "json", primary_key=("id",)))
    changes = TableEvents(description=replace(plain.description, format="debezium-json"))
    wanted = plain.of(Batch.of_rows(rows)), changes.of(Batch.of_rows(rows, kinds=kinds))
    types = pa.schema([("item", pa.string()), ("id", pa.int64())])
    arrow = pa.RecordBatch.from_pylist(rows, types)
    small = Batch.of_arrow(arrow.cast(types.set(1, pa.field("id", pa.int32()))))
    assert plain.of(small) == wanted[0]
    monkeypatch.setattr(Batch, "rows", property(lambda _: pytest.fail("made rows of Python")))
    assert (plain.of(Batch.of_arrow(arrow)), changes.of(Batch.of_arrow(arrow, None, kinds))) == wanted
    with pytest.raises(BadInputError, match="format 'json' has only inserts"):
        plain.of(Batch.of_arrow(arrow, None, kinds))


def test_rows_of_many_batches_have_the_columns_of_the_table(orders: Table, client: Client) -> None:
    write(orders, {"id": 1, "item": "tea", "time": None})
    rows = TableRows(description=orders.description)
    with client.stream(orders.scoped_stream).read() as found:
        (batch,) = found.next_batches()
    assert rows.batch(orders.scoped_stream, batch).rows == [{"id": 1, "item": "tea", "time": None}]


def test_a_number_beyond_the_range_of_a_float_is_refused() -> None:
    events = TableEvents(description=describe("x float", "json"))
    assert events.of(Batch.of_rows([{"x": 1.5}, {"x": None}]))[0] == [b'{"x":1.5}', b'{"x":null}']
    with pytest.raises(BadInputError, match=r"column 'x' of the table is float, .*1e\+300 is too large"):
        events.of(Batch.of_rows([{"x": 1e300}]))
