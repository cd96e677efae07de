"""The envelopes of Debezium, Canal and Maxwell, against a plain reading of one event after the other."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest

from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.rows.parsing import UnreadableRowError, parse_events, placed
from pravega_lab.errors import BadInputError

ROW = [("id", pa.int64()), ("item", pa.string()), ("price", pa.decimal128(10, 2))]
KIND = ("_row_kind", pa.string())
ROWS = pa.schema([*ROW, KIND])
FORMATS = ("debezium-json", "canal-json", "maxwell-json")


def changes(name: str, seed: int, count: int = 60) -> tuple[list[bytes], list[list[tuple[Any, ...]]]]:
    """Return events of all kinds, and the rows of each, made without the code under test."""
    chance = random.Random(seed)
    events, wanted = [], []

    def some() -> dict[str, Any]:
        item = chance.choice(["tea", "null", 'a "cup"', None, ""])
        return {"id": chance.randint(1, 9), "item": item, "price": f"{chance.randint(0, 99)}.50"}

    for _ in range(count):
        what = chance.choice(["insert", "update", "delete", "tombstone"])
        pairs = [(some(), some()) for _ in range(chance.randint(1, 3) if name == "canal-json" else 1)]
        if what == "tombstone":
            events.append(b"")
            wanted.append([])
            continue
        if what == "update":
            changed = [[key for key in ("id", "item", "price") if chance.random() < 0.5] for _ in pairs]
            pairs = [
                ({**new, **{key: old[key] for key in keys}}, new)
                for (old, new), keys in zip(pairs, changed, strict=True)
            ]
            olds = [{key: old[key] for key in keys} for (old, _), keys in zip(pairs, changed, strict=True)]
        rows = []
        for old, new in pairs:
            kinds = {"insert": [("+I", new)], "update": [("-U", old), ("+U", new)], "delete": [("-D", new)]}
            rows += [(row["id"], row["item"], row["price"], kind) for kind, row in kinds[what]]
        wanted.append(rows)
        old, new = pairs[0]
        if name == "debezium-json":
            before = {"insert": None, "update": old, "delete": new}[what]
            after = None if what == "delete" else new
            payload = {
                "before": before,
                "after": after,
                "op": {"insert": chance.choice("cr")}.get(what, what[0]),
            }
            wrapped = {"schema": {"type": "struct", "fields": []}, "payload": payload}
            event: Any = wrapped if chance.random() < 0.3 else payload
        elif name == "maxwell-json":
            event = {"type": what, "ts": 1, "data": new} | ({"old": olds[0]} if what == "update" else {})
        else:
            text = lambda row: {k: None if v is None else str(v) for k, v in row.items()}  # noqa: E731
            event = {"data": [text(new) for _, new in pairs], "type": what.upper(), "pkNames": ["id"]}
            event["old"] = [text(old) for old in olds] if what == "update" else None
        events.append(json.dumps(event).encode())
    return events, wanted


def found(name: str, schema: pa.Schema, events: list[bytes]) -> tuple[list[tuple[Any, ...]], list[int]]:
    parsed, unreadable = parse_events(row_format(name, schema).parse, pa.array(events, pa.binary()))
    assert unreadable == []
    rows, index = placed(parsed, len(events), [], with_unreadable=False)
    return [tuple(map(plain, row.values())) for row in rows.to_pylist()], index.to_pylist()


def plain(value: Any) -> Any:
    return value if isinstance(value, int | str | None) else str(value)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(5))
def test_every_change_becomes_its_rows_with_the_index_of_its_event(name: str, seed: int) -> None:
    events, wanted = changes(name, seed)
    rows, index = found(name, ROWS, events)
    assert rows == [row for rows in wanted for row in rows]
    assert index == [n for n, rows in enumerate(wanted) for _ in rows]
    assert found(name, pa.schema([KIND]), events)[0] == [(row[3],) for rows in wanted for row in rows]


@pytest.mark.parametrize("name", FORMATS)
def test_rows_with_kinds_are_read_again_and_an_update_is_one_event(name: str) -> None:
    kinds = ["+I", "-U", "+U", "-D", "+U", "-U", "-U", "+U"]
    batch = pa.RecordBatch.from_pylist(
        [{"id": n, "item": None if n % 3 else 'a "cup"', "_row_kind": kind} for n, kind in enumerate(kinds)],
        pa.schema([ROW[0], ROW[1], KIND]),
    )
    format_ = row_format(name, batch.schema)
    events = format_.encode(batch)
    assert [event is None for event in events.to_pylist()] == [
        kind == "-U" and n != 5 for n, kind in enumerate(kinds)
    ]
    again = format_.parse(events.drop_null())
    assert again.column("id").to_pylist() == batch.column("id").to_pylist()
    assert again.column("item").equals(batch.column("item"))
    assert again.column("_row_kind").to_pylist() == ["+I", "-U", "+U", "-D", "+I", "-D", "-U", "+U"]
    without = batch.drop_columns(["_row_kind"])
    inserted = format_.parse(row_format(name, without.schema).encode(without))
    assert set(inserted.column("_row_kind").to_pylist()) == {"+I"}


METADATA = {
    "debezium-json": (
        b'{"after":{"id":1},"op":"c","ts_ms":1700000000123,'
        b'"source":{"ts_ms":1700000000000,"db":"shop","schema":"public","table":"orders","lsn":7}}',
        {
            "_source_database": "shop",
            "_source_schema": "public",
            "_source_table": "orders",
            "_ingestion_timestamp": 1700000000123000,
            "_source_timestamp": 1700000000000000,
        },
    ),
    "canal-json": (
        b'{"data":[{"id":"1"}],"type":"INSERT","database":"shop","table":"orders","pkNames":["id"],'
        b'"ts":1700000000123,"isDdl":false}',
        {
            "_database": "shop",
            "_table": "orders",
            "_pk_names": ["id"],
            "_ingestion_timestamp": 1700000000123000,
        },
    ),
    "maxwell-json": (
        b'{"data":{"id":1},"type":"bootstrap-insert","database":"shop","table":"orders","ts":1700000000,'
        b'"primary_key_columns":["id"]}',
        {
            "_database": "shop",
            "_table": "orders",
            "_primary_key_columns": ["id"],
            "_ingestion_timestamp": 1700000000000000,
        },
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_metadata_of_the_envelope(name: str) -> None:
    event, wanted = METADATA[name]
    types = {
        "_ingestion_timestamp": pa.timestamp("us", "UTC"),
        "_source_timestamp": pa.timestamp("us", "UTC"),
    }
    types |= dict.fromkeys(("_pk_names", "_primary_key_columns"), pa.list_(pa.string()))
    schema = pa.schema([ROW[0], *((column, types.get(column, pa.string())) for column in wanted)])
    batch = row_format(name, schema).parse(pa.array([event], pa.binary()))
    values = {
        column: batch.column(column).cast(pa.int64())[0].as_py() if column in types and "time" in column
        else batch.column(column)[0].as_py()
        for column in wanted
    }  # fmt: skip
    assert values == wanted
    assert batch.column("id").to_pylist() == [1]


def test_a_number_beyond_the_range_of_a_column_of_canal_does_not_fit() -> None:
    events = [f'{{"data":[{{"x":"{x}"}}],"type":"INSERT"}}'.encode() for x in ("1.5", "1e300", "Infinity")]
    format_ = row_format("canal-json", pa.schema([("x", pa.float32())]))
    parsed, unreadable = parse_events(format_.parse, pa.array(events, pa.binary()))
    assert [(one.index, one.reason) for one in unreadable] == [(1, "column 'x' is float: 1e300 is too large")]
    assert parsed["x"].to_pylist() == [1.5, float("inf")]


def test_values_of_canal_have_their_types_in_json_or_are_texts() -> None:
    kinds = [("n", pa.int32()), ("d", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("ok", pa.bool_())]
    values = ['"1","d":"2024-02-29","at":"2024-01-02 03:04:05","ok":"true"', '2,"d":"2024-02-29"', "null"]
    events = [f'{{"type":"INSERT","data":[{{"n":{text}}}]}}'.encode() for text in values]
    parsed, _ = parse_events(row_format("canal-json", pa.schema(kinds)).parse, pa.array(events, pa.binary()))
    assert parsed.column("n").to_pylist() == [1, 2, None]
    assert [str(day) for day in parsed.column("d").to_pylist()] == ["2024-02-29", "2024-02-29", "None"]
    assert str(parsed.column("at")[0].as_py()) == "2024-01-02 03:04:05+00:00"


@pytest.mark.parametrize(
    ("name", "event", "words"),
    [
        ("debezium-json", b'{"after":{"id":1},"op":"m"}', "'op' is 'm', not one of c, r, u, d"),
        ("debezium-json", b'{"after":{"id":1},"op":"u"}', "'before' is null. Let the database record"),
        ("debezium-json", b'{"op":"c"}', "'after' is null"),
        ("debezium-json", b"{}", "'op' is None"),
        (
            "debezium-json",
            b'{"after":{"id":"1"},"op":"c"}',
            "column 'after.id' is int64, and .* the text \"1\" there",
        ),
        ("canal-json", b'{"data":[{"id":"x"}],"type":"INSERT"}', "column 'id': Failed to parse string: 'x'"),
        ("canal-json", b'{"data":[{"id":"1"}],"old":null,"type":"UPDATE"}', "not .* the same number of rows"),
        ("canal-json", b'{"data":null,"type":"DELETE"}', "'data' is null"),
        ("canal-json", b'{"data":[{"id":"1"}],"old":[null],"type":"UPDATE"}', "a null in place of a row"),
        ("canal-json", b'{"data":[null],"type":"INSERT"}', "a null in place of a row"),
        ("maxwell-json", b'{"data":{"id":1},"type":"update"}', "'old' is null or absent"),
        ("maxwell-json", b'{"data":{"id":1},"type":"upsert"}', "'type' is 'upsert', not one of insert"),
        ("maxwell-json", b"no", "not a JSON object"),
    ],
)
def test_an_event_that_is_no_change_stands_alone(name: str, event: bytes, words: str) -> None:
    good, wanted = changes(name, 3, 20)
    schema = pa.schema([ROW[0], KIND])
    events = [*good[:7], event, *good[7:]]
    parsed, unreadable = parse_events(row_format(name, schema).parse, pa.array(events, pa.binary()))
    assert [bad.index for bad in unreadable] == [7]
    with pytest.raises(UnreadableRowError, match=words):
        row_format(name, schema).parse(pa.array([event], pa.binary()))
    rows, index = placed(parsed, len(events), unreadable, with_unreadable=True)
    place = index.to_pylist().index(7)
    assert rows.column("id")[place].as_py() is None
    ids = rows.column("id").to_pylist()
    assert ids[:place] + ids[place + 1 :] == [row[0] for rows in wanted for row in rows]


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_event_gives_rows_or_the_reason(name: str) -> None:
    """A changed byte makes an event unreadable, or another event, and never fails otherwise."""
    chance = random.Random(11)
    events, _ = changes(name, 12)
    parse = row_format(name, ROWS).parse
    outcomes = set()
    for event in events * 4:
        damaged = bytearray(event)
        for _ in range(chance.randint(0, 2) if event else 0):
            damaged[chance.randrange(len(damaged))] = chance.choice(b'{}[]",:0ntx\\\xff ')
        parsed, unreadable = parse_events(parse, pa.array([bytes(damaged)], pa.binary()))
        outcomes.add(bool(unreadable))
        assert unreadable or parsed is not None
    assert outcomes == {True, False}


def test_statements_and_marks_are_no_rows() -> None:
    events = [b'{"type":"ALTER","data":null,"isDdl":true,"sql":"ALTER TABLE"}']
    assert found("canal-json", ROWS, events) == ([], [])
    assert found("maxwell-json", ROWS, [b'{"type":"bootstrap-start","data":{}}', b""]) == ([], [])


@pytest.mark.parametrize("name", FORMATS)
def test_columns_and_kinds_that_an_envelope_cannot_contain_are_refused(name: str) -> None:
    with pytest.raises(BadInputError, match="column 'data' is binary, which format 'json' cannot contain"):
        row_format(name, pa.schema([("data", pa.binary())]))
    batch = pa.RecordBatch.from_pylist([{"id": 1, "_row_kind": "I"}], pa.schema([ROW[0], KIND]))
    with pytest.raises(
        BadInputError, match=r"'_row_kind' has 'I', and a row kind is one of \+I, -U, \+U, -D"
    ):
        row_format(name, batch.schema).encode(batch)
