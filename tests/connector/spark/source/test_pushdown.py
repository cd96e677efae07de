"""What filters on segment, offset and pointer leave to be read, and pointers that lead back to events."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource as ds
from pyspark.sql.types import LongType, StructType

from pravega_lab.client import Client, EventPointer, ScalingPolicy, Stream, connect
from pravega_lab.connector.rows.pointers import event_pointers
from pravega_lab.connector.spark.data_source import FilteringReader, PravegaDataSource, PravegaReader
from pravega_lab.connector.spark.options.parsing import CATALOG_TABLE
from pravega_lab.connector.spark.source.pushdown import PUSHING, Wanted
from pravega_lab.connector.spark.source.splits import SegmentSlice

NAMES = [("_segment_id",), ("_offset",), ("id",)]
POINTER = ("_event_pointer",)
EVENT_BYTES = 10
STREAM = "a/s"
SETTING = "spark.sql.python.filterPushdown.enabled"


def filters() -> Any:
    numbers = st.integers(-5, 60)
    name = st.sampled_from(NAMES)
    kinds = [
        ds.EqualTo,
        ds.EqualNullSafe,
        ds.GreaterThan,
        ds.GreaterThanOrEqual,
        ds.LessThan,
        ds.LessThanOrEqual,
    ]
    one = st.one_of(
        *(st.builds(kind, name, numbers) for kind in kinds),
        st.builds(ds.In, name, st.lists(numbers, min_size=1, max_size=3).map(tuple)),
        st.builds(ds.IsNotNull, name),
        st.builds(ds.Not, st.builds(ds.EqualTo, name, numbers)),
        st.builds(ds.EqualTo, name, st.text(max_size=1)),
        st.builds(ds.EqualTo, st.just(POINTER), pointers()),
        st.builds(ds.In, st.just(POINTER), st.lists(pointers(), min_size=1, max_size=3).map(tuple)),
        st.builds(ds.Not, st.builds(ds.EqualTo, st.just(POINTER), pointers())),
    )
    return st.lists(one, max_size=4)


def pointers() -> Any:
    """Pointers to events, to places inside them, to another length, to another stream, and other bytes."""
    made = st.builds(
        EventPointer,
        st.sampled_from([STREAM, STREAM, STREAM, "a/t"]),
        st.integers(0, 3),
        st.sampled_from([0, 5, 10, 20, 30, 40, 50]),
        st.sampled_from([EVENT_BYTES, EVENT_BYTES, 15]),
    )
    return st.one_of(made.map(EventPointer.to_bytes), st.binary(max_size=9))


def begins_there(pointer: EventPointer) -> bool:
    return pointer.offset % EVENT_BYTES == 0 and pointer.length == EVENT_BYTES


def admits(one: ds.Filter, row: dict[str, Any]) -> bool:
    """Evaluate a filter as Spark does."""
    if isinstance(one, ds.Not):
        return not admits(one.child, row)
    value = row[one.attribute[0]]  # type: ignore[attr-defined]
    if isinstance(one, ds.IsNotNull):
        return True
    wanted = one.value  # type: ignore[attr-defined]
    compared = {
        ds.GreaterThan: lambda: value > wanted,
        ds.GreaterThanOrEqual: lambda: value >= wanted,
        ds.LessThan: lambda: value < wanted,
        ds.LessThanOrEqual: lambda: value <= wanted,
        ds.In: lambda: value in wanted,
    }
    return compared.get(type(one), lambda: value == wanted)()


def batches(pieces: list[SegmentSlice], size: int, read: list[int]) -> Any:
    """Yield the events of slices, segment after segment, and count the batches that were taken."""
    for piece in pieces:
        offsets = range(piece.start, piece.end, EVENT_BYTES)
        for part in (offsets[at : at + size] for at in range(0, len(offsets), size)):
            read.append(len(part))
            yield pa.RecordBatch.from_arrays(
                [pa.array([piece.segment_id] * len(part)), pa.array(part, pa.int64())],
                ["segment_id", "offset"],
            )


@given(filters(), st.integers(1, 4))
def test_no_event_that_spark_would_keep_is_left_out(given_filters: list[ds.Filter], size: int) -> None:
    pieces = [SegmentSlice(STREAM, number, number * 10, number * 10 + 30) for number in range(3)]
    wanted = Wanted().narrowed(given_filters, is_typed=True)

    def kept(found: Any) -> list[tuple[int, int]]:
        rows = [(row["segment_id"], row["offset"]) for batch in found for row in batch.to_pylist()]
        every = [
            {
                "_segment_id": segment,
                "_offset": offset,
                "_event_pointer": EventPointer(STREAM, segment, offset, EVENT_BYTES).to_bytes(),
                "id": 0,
            }
            for segment, offset in rows
        ]
        return [
            row
            for row, values in zip(rows, every, strict=True)
            if all(admits(f, values) for f in given_filters)
        ]

    some = wanted.slices(pieces, begins_there)
    assert kept(wanted.events(some, batches(some, size, []))) == kept(batches(pieces, size, []))


def test_slices_and_events_that_no_filter_admits_are_not_read() -> None:
    pieces = [SegmentSlice("s", number, 0, 100) for number in range(3)]
    one = Wanted().narrowed([ds.EqualTo(("segment_id",), 1), ds.LessThan(("offset",), 30)], is_typed=False)
    assert one.slices(pieces) == [pieces[1]]
    read: list[int] = []
    found = list(one.events([pieces[1]], batches([pieces[1]], 2, read)))
    assert [offset for batch in found for offset in batch.column("offset").to_pylist()] == [0, 10, 20]
    assert len(read) == 2
    assert one.slices([SegmentSlice("s", 1, 30, 60)]) == []
    assert Wanted().narrowed([ds.EqualTo(("segment_id",), 1)], is_typed=True).slices(pieces) == pieces


def test_pointers_narrow_a_slice_to_the_bytes_of_their_events() -> None:
    pieces = [SegmentSlice(STREAM, number, 0, 100) for number in range(3)]
    to = [EventPointer(STREAM, 1, offset, EVENT_BYTES).to_bytes() for offset in (20, 50, 45)]
    one = Wanted().narrowed([ds.EqualTo(POINTER, to[0])], is_typed=True)
    assert one.slices(pieces, begins_there) == [SegmentSlice(STREAM, 1, 20, 30)]
    two = Wanted().narrowed([ds.In(("event_pointer",), tuple(to[:2]))], is_typed=False)
    assert two.slices(pieces, begins_there) == [SegmentSlice(STREAM, 1, 20, 60)]
    inside = Wanted().narrowed([ds.EqualTo(POINTER, to[2])], is_typed=True)
    assert inside.slices(pieces, begins_there) == [pieces[1]]
    assert Wanted().narrowed([ds.EqualTo(POINTER, b"no pointer")], is_typed=True).slices(pieces) == []


def test_only_the_catalog_in_a_worker_that_plans_with_filters_gets_a_reader_that_takes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = {"scope": "a", "stream": "b"}
    plain, of_catalog = PravegaDataSource(address), PravegaDataSource({**address, CATALOG_TABLE: ""})
    schema = StructType().add("offset", LongType())
    monkeypatch.delitem(sys.modules, PUSHING, raising=False)
    assert {type(source.reader(schema)) for source in (plain, of_catalog)} == {PravegaReader}
    monkeypatch.setitem(sys.modules, PUSHING, object())
    assert type(plain.reader(schema)) is PravegaReader
    assert type(of_catalog.reader(schema)) is FilteringReader


def test_pointers_of_a_batch_are_those_of_its_events() -> None:
    chance = random.Random(1)
    edges = [0, 63, 64, 16383, 16384, 2**30 - 1, 2**30, 2**40]
    rows = [
        (
            chance.choice([0, 1, (3 << 32) + 7]),
            chance.choice([*edges, chance.randrange(2**50)]),
            chance.randrange(300),
        )
        for _ in range(500)
    ]
    rows += [(0, 5, 16375), (0, 5, 16376)]
    names = ["segment_id", "offset", "event"]
    columns = [pa.array([row[n] for row in rows], pa.int64()) for n in range(2)]
    events = [b"x" * size for _, _, size in rows]
    batch = pa.RecordBatch.from_arrays([*columns, pa.array(events, pa.binary())], names)
    wanted = [
        EventPointer.of("a/b", *row[:2], event).to_bytes() for row, event in zip(rows, events, strict=True)
    ]
    assert event_pointers("a/b", batch).to_pylist() == wanted
    assert len(event_pointers("a/b", batch.slice(0, 0))) == 0


@pytest.mark.spark
def test_queries_of_one_frame_do_not_share_their_filters(
    spark: Any, store: str, scope_name: Callable[[], str]
) -> None:
    """Spark keeps the plan that it made with the filters of the first query for all others."""
    with connect(store) as client:
        _, address = written(client, scope_name(), segments=2, events=100)
    assert spark.conf.get(SETTING) == "true"
    rows = spark.read.format("pravega").options(**address).load()
    first, second = rows.where("segment_id = 0"), rows.where("segment_id = 1")
    n_first = first.count()
    assert 0 < n_first < 100
    assert second.count() == 100 - n_first
    assert rows.count() == first.union(second).count() == 100
    rows.createOrReplaceTempView("shared")
    both = "SELECT (SELECT count(*) FROM shared WHERE segment_id = 0), (SELECT count(*) FROM shared)"
    assert spark.sql(both).collect() == [(n_first, 100)]


@pytest.mark.spark
def test_a_query_reads_the_same_with_filters_pushed_and_not(
    spark: Any, store: str, scope_name: Callable[[], str]
) -> None:
    with connect(store) as client:
        stream, address = written(client, scope_name(), segments=3, events=300)
        before = spark.conf.get(SETTING)
        try:
            for pushes in ("true", "false", "true"):
                spark.conf.set(SETTING, pushes)
                read_filtered(spark, stream, address)
        finally:
            spark.conf.set(SETTING, before)


def written(client: Client, scope: str, *, segments: int, events: int) -> tuple[Stream, dict[str, str]]:
    """Return a new stream with events, and the options that address it."""
    stream = client.create_stream(f"{scope}/pushed", scaling=ScalingPolicy.fixed(segments))
    stream.write([f"event {n}" for n in range(events)], [str(n) for n in range(events)])
    return stream, {"controller": client.uri, "scope": scope, "stream": "pushed"}


def read_filtered(spark: Any, stream: Stream, address: dict[str, str]) -> None:
    rows = spark.read.format("pravega").options(**address).load()
    few = rows.where("segment_id = 1 and offset > 100").collect()
    assert len(few) > 10
    assert {row.segment_id for row in few} == {1}
    assert min(row.offset for row in few) > 100
    typed = spark.read.format("pravega").options(**address, format="raw")
    found = typed.schema("text string, _offset bigint, _event_pointer binary, _segment_id bigint").load()
    some = found.where("_offset < 100 and text != ''").collect()
    assert {row._segment_id for row in some} == {0, 1, 2}
    for row in some:
        pointer = EventPointer.from_bytes(bytes(row._event_pointer))
        assert (pointer.segment_id, pointer.offset) == (row._segment_id, row._offset)
        assert stream.fetch(pointer).decode() == row.text
    one = found.where(f"_event_pointer = X'{some[0]._event_pointer.hex()}'").collect()
    assert [row.text for row in one] == [some[0].text]
