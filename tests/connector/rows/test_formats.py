"""Formats of rows: what is encoded is parsed again, damaged events stand alone, and plain JSON agrees."""

from __future__ import annotations

import datetime
import decimal
import json
import random
import re
from typing import Any

import pyarrow as pa
import pytest

from pravega_lab.connector.rows import json_rows
from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.rows.parsing import parse_events, placed
from pravega_lab.errors import BadInputError

DAY = datetime.date(2024, 1, 2)
MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, 123456, tzinfo=datetime.UTC)
PLAIN = pa.schema(
    [
        ("id", pa.int64()),
        ("text", pa.string()),
        ("day", pa.date32()),
        ("ratio", pa.float64()),
        ("price", pa.decimal128(10, 2)),
        ("yes", pa.bool_()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
NESTED = pa.schema(
    [
        *PLAIN,
        ("days", pa.list_(pa.date32())),
        ("inner", pa.struct([("price", pa.decimal128(10, 2)), ("days", pa.list_(pa.date32()))])),
    ]
)
TEXTS = ['a "quoted" text', "back\\slash", "über, 你好", "line\nbreak\ttab", "\x01", "", "null", "{}"]


def rows(schema: pa.Schema, seed: int = 1, count: int = 200) -> pa.RecordBatch:
    chance = random.Random(seed)

    def value(name: str) -> Any:
        return {
            "id": chance.randint(-(2**63), 2**63 - 1),
            "text": chance.choice(TEXTS),
            "day": DAY + datetime.timedelta(chance.randint(-9999, 9999)),
            "ratio": chance.choice([chance.uniform(-1e9, 1e9), 1e300, 0.1, -0.0, 3.0]),
            "price": decimal.Decimal(chance.randint(-(10**9), 10**9)).scaleb(-2),
            "yes": chance.random() < 0.5,
            "at": MOMENT + datetime.timedelta(microseconds=chance.randint(-(10**15), 10**15)),
            "days": [DAY] * chance.randint(0, 2),
            "inner": {"price": decimal.Decimal("1.25"), "days": [DAY, None]},
        }[name]

    made = [{n: None if chance.random() < 0.2 else value(n) for n in schema.names} for _ in range(count)]
    return pa.RecordBatch.from_pylist(made, schema)


@pytest.mark.parametrize(("name", "schema"), [("json", PLAIN), ("json", NESTED), ("csv", PLAIN)])
def test_encoded_rows_are_parsed_again(name: str, schema: pa.Schema) -> None:
    written = rows(schema)
    format_ = row_format(name, schema)
    parsed, unreadable = parse_events(format_.parse, format_.encode(written))
    assert unreadable == []
    assert parsed.schema == schema
    assert parsed.equals(pa.Table.from_batches([written]))


def test_encoded_json_is_what_plain_json_reads() -> None:
    schema = pa.schema([field for field in NESTED if field.name in ("id", "text", "ratio", "yes")])
    written = rows(schema)
    found = [json.loads(event) for event in row_format("json", schema).encode(written).to_pylist()]
    assert found == written.to_pylist()


def edges(kind: pa.DataType, first: int, last: int) -> list[pa.Array]:
    """The least and the greatest value that a text can have, and the values next to them that it cannot."""
    whole = pa.int32() if pa.types.is_date(kind) else pa.int64()
    return [pa.array([number], whole).cast(kind) for number in (first, last, first - 1, last + 1)]


DAY_US = 86_400_000_000
FAR = [
    edges(pa.date32(), -719_528, 2_932_896),
    edges(pa.timestamp("us", "UTC"), -719_528 * DAY_US, 2_932_897 * DAY_US - 1),
    edges(pa.timestamp("us"), -719_528 * DAY_US, 2_932_897 * DAY_US - 1),
]


@pytest.mark.parametrize("name", ["json", "csv", "debezium-json"])
@pytest.mark.parametrize("values", FAR, ids=["date", "timestamp", "timestamp_ntz"])
def test_a_year_without_four_digits_is_not_written(name: str, values: list[pa.Array]) -> None:
    """Arrow writes it as a text that no reader takes, or as another year."""
    *written, early, late = (pa.record_batch([value, pa.array([1])], ["at", "id"]) for value in values)
    for batch in written:
        rows_of = row_format(name, batch.schema)
        assert rows_of.parse(rows_of.encode(batch)).column("at") == batch.column("at")
    for batch in (early, late):
        with pytest.raises(BadInputError, match=r"column 'at' has a .* outside of the years 0 to 9999"):
            row_format(name, batch.schema).encode(batch)


def test_a_nested_year_without_four_digits_is_not_written() -> None:
    far = FAR[0][3]
    days = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), far)
    batch = pa.record_batch([pa.StructArray.from_arrays([days], ["days"])], ["inner"])
    with pytest.raises(BadInputError, match="column 'days' has a date"):
        row_format("json", batch.schema).encode(batch)


def test_not_a_number_is_null_in_json() -> None:
    schema = pa.schema([("x", pa.float64()), ("l", pa.list_(pa.float64()))])
    batch = pa.RecordBatch.from_pylist([{"x": float("nan"), "l": [float("inf")]}], schema)
    assert row_format("json", schema).encode(batch).to_pylist() == [b'{"x":null,"l":[null]}']


FLOATS = pa.schema([("x", pa.float32()), ("y", pa.float64()), ("l", pa.list_(pa.float32()))])


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (b'{"x":1e300}', r"column 'x' is float, and the event has the number 1e\+300 there"),
        (b'{"l":[1, -1e39]}', r"column 'l\[\]' is float, and the event has the number -1e\+39 there"),
        (b'{"y":1e400}', "too big to be stored in double"),
    ],
)
def test_a_number_beyond_the_range_of_a_json_column_does_not_fit(event: bytes, words: str) -> None:
    good, endless = b'{"x":1.5}', b'{"x":Infinity,"y":-Infinity}'
    events = pa.array([good, event, endless], pa.binary())
    parsed, unreadable = parse_events(row_format("json", FLOATS).parse, events)
    assert [one.index for one in unreadable] == [1]
    assert re.search(words, unreadable[0].reason)
    assert parsed["x"].to_pylist() == [1.5, float("inf")]


@pytest.mark.parametrize(("event", "column"), [(b"1e300,1", "'x' is float"), (b"1,-1e400", "'y' is double")])
def test_a_number_beyond_the_range_of_a_csv_column_does_not_fit(event: bytes, column: str) -> None:
    events = pa.array([b"1.5,1", event, b"inf,-Infinity", b"nan,"], pa.binary())
    parsed, unreadable = parse_events(row_format("csv", pa.schema(list(FLOATS)[:2])).parse, events)
    assert [one.index for one in unreadable] == [1]
    assert (
        f"column {column}: {event.decode().split(',')[column[1] == 'y']} is too large" in unreadable[0].reason
    )
    assert parsed["x"].to_pylist()[:2] == [1.5, float("inf")]
    assert parsed["y"].to_pylist() == [1.0, float("-inf"), None]


DAMAGED_JSON = {
    b"x": "not a JSON object",
    b"": "not a JSON object",
    b"[1]": "not a JSON object",
    b'{"id":1}{"id":2}': "not exactly one JSON object",
    b'{"id":"1"}': "column 'id' is int64, and the event has the text \"1\" there",
    b'{"id":1.5}': "column 'id' is int64, and the event has the number 1.5 there",
    b'{"id":1,"id":2}': "specified twice",
    b'{"id":99999999999999999999}': "column 'id' is int64, and the event has the number 99999999999999999999",
    b'{"day":"yesterday"}': "column 'day' is date32.*the text \"yesterday\" there",
    b'{"price":1.005}': r"column 'price' is decimal128\(10, 2\), and the event has the number 1.005",
    b'{"text":"\xff"}': "not UTF-8",
    b'{"id":{}}': "column 'id' is int64, and the event has the object {} there",
    b'{"id":1},{"id":2}': "empty",
    b'{"text":"a}': "Missing|parse|string",
}


def test_damaged_events_stand_alone_and_their_neighbours_keep_their_rows() -> None:
    parse = row_format("json", PLAIN).parse
    good = [json.dumps({"id": n, "more": {"is": "ignored"}}, indent=n % 2).encode() for n in range(40)]
    chance = random.Random(7)
    for damaged, words in DAMAGED_JSON.items():
        places = sorted(chance.sample(range(40), 3))
        events = [damaged if n in places else event for n, event in enumerate(good)]
        parsed, unreadable = parse_events(parse, pa.array(events, pa.binary()))
        assert [event.index for event in unreadable] == places
        for event in unreadable:
            assert re.search(words, event.reason), event
        wanted = [None if n in places else n for n in range(40)]
        rows, index = placed(parsed, 40, unreadable, with_unreadable=True)
        assert rows["id"].to_pylist() == wanted
        assert index.to_pylist() == list(range(40))
        assert placed(parsed, 40, unreadable, with_unreadable=False)[1].to_pylist() == [
            n for n in range(40) if n not in places
        ]
    halves = [b'{"id":', b"1}", b'{"id":1}{"id":2}', b'{"id":3}']  # as many objects as events
    _, unreadable = parse_events(parse, pa.array(halves, pa.binary()))
    assert [event.index for event in unreadable] == [0, 1, 2]
    assert parse_events(parse, pa.array([b"x"], pa.binary()))[0] is None


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            {"inner": {"days": ["2024-01-02", "x"]}},
            "column 'inner.days[]' is date32[day], and the event has the text",
        ),
        (
            {"inner": [1]},
            "column 'inner' is struct<price: decimal128(10, 2), days: list<item: date32[day]>>, and",
        ),
        ({"days": {"a": "\ud800"}}, 'the object {"a": "\\ud800"} there'),
        ({"text": ["x" * 99]}, f'the array ["{"x" * 58}… there'),
    ],
)
def test_the_innermost_part_that_does_not_fit_is_named(event: dict[str, Any], words: str) -> None:
    [found] = parse_events(row_format("json", NESTED).parse, pa.array([json.dumps(event).encode()]))[1]
    assert words in found.reason


def test_the_column_that_does_not_fit_is_found_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow takes half a millisecond to parse one value, so columns are not parsed one after the other."""
    inner = pa.struct([(f"f{n}", pa.int64()) for n in range(100)])
    schema = pa.schema([*((f"c{n}", pa.int64()) for n in range(300)), ("inner", inner)])
    calls: list[pa.Schema] = []
    read = json_rows._read
    monkeypatch.setattr(json_rows, "_read", lambda text, kinds: calls.append(kinds) or read(text, kinds))
    good = {**{f"c{n}": n for n in range(300)}, "inner": {f"f{n}": n for n in range(100)}}
    for bad, name in (({"c0": "x"}, "c0"), ({"c299": "x"}, "c299"), ({"inner": {"f77": []}}, "inner.f77")):
        event = json.dumps({**good, **bad}).encode()
        calls.clear()
        [found] = parse_events(row_format("json", schema).parse, pa.array([event]))[1]
        assert f"column '{name}' is int64" in found.reason
        assert len(calls) < 25


def test_json_without_a_zone_takes_no_text_with_one() -> None:
    parse = row_format(
        "json", pa.schema([("at", pa.timestamp("us")), ("l", pa.list_(pa.timestamp("us")))])
    ).parse
    good = b'{"at":"2024-01-02T03:04:05","l":["2024-01-02 03:04:05.678901",null]}'
    moved = b'{"at":"2024-01-02T03:04:05+02:00"}'
    rows, unreadable = parse_events(parse, pa.array([good, moved, b'{"at":"2024-01-02T03:04:05Z"}']))
    local = MOMENT.replace(tzinfo=None)
    assert rows.to_pylist() == [
        {"at": local.replace(microsecond=0), "l": [local.replace(microsecond=678901), None]}
    ]
    assert [event.index for event in unreadable] == [1, 2]


def test_a_struct_without_fields_is_an_empty_object() -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([]))])
    batch = pa.RecordBatch.from_pylist([{"id": 1, "s": {}}, {"id": 2, "s": None}], schema)
    format_ = row_format("json", schema)
    events = format_.encode(batch)
    assert events.to_pylist() == [b'{"id":1,"s":{}}', b'{"id":2,"s":null}']
    assert format_.parse(events).equals(batch)


def test_an_error_of_csv_names_the_column() -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC"))])
    events = [b"1,soon,", b"x,,", b",,2024-01-02 03:04:05"]
    found = parse_events(row_format("csv", schema).parse, pa.array(events))[1]
    assert [event.reason for event in found] == [
        "column 'day' is date32[day]: invalid value 'soon'",
        "column 'id' is int64: invalid value 'x'",
        "column 'at' is timestamp[us, tz=UTC]: expected a zone offset in '2024-01-02 03:04:05'",
    ]


def test_damaged_lines_of_csv_stand_alone() -> None:
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    events = [b"1,a", b'2,"line\nbreak"', b"x,a", b"3", b"4,a,b", b"5,a\n6,b", b'7,"a', b'8,a"', b"", b'9,""']
    parsed, unreadable = parse_events(row_format("csv", schema).parse, pa.array(events, pa.binary()))
    assert [event.index for event in unreadable] == [2, 3, 4, 5, 6, 7, 8]
    assert parsed.to_pydict() == {"id": [1, 2, 9], "text": ["a", "line\nbreak", ""]}


@pytest.mark.parametrize("kind", [pa.string(), pa.bool_(), pa.decimal128(10, 2)])
def test_the_last_value_of_a_line_of_csv_may_be_null(kind: Any) -> None:
    schema = pa.schema([("text", pa.string()), ("last", kind)])
    written = pa.RecordBatch.from_pylist([{"text": "a"}, {"text": "line\nbreak"}, {"text": "b"}], schema)
    format_ = row_format("csv", schema)
    parsed, unreadable = parse_events(format_.parse, format_.encode(written))
    assert (parsed.to_pylist(), unreadable) == (written.to_pylist(), [])


def test_a_row_of_csv_that_would_be_an_empty_event_stays_null() -> None:
    schema = pa.schema([("id", pa.int64())])
    batch = pa.RecordBatch.from_pylist([{"id": 1}, {"id": None}], schema)
    assert row_format("csv", schema).encode(batch).to_pylist() == [b"1", None]


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("jsno", [("a", pa.int64())], "no format 'jsno' of rows. Did you mean 'json'"),
        ("json", [("a", pa.struct([("b", pa.binary())]))], "'a.b' is binary.*Declare it as string"),
        ("json", [("a", pa.map_(pa.string(), pa.int64()))], "'a' is map.*cannot contain"),
        ("json", [("a", pa.time64("us"))], "'a' is time64.*cannot contain"),
        ("csv", [("a", pa.list_(pa.int64()))], "'a' is list.*use format 'json'"),
        ("raw", [("a", pa.int64())], "one column of type binary or string, not a int64"),
        ("raw", [("a", pa.string()), ("b", pa.string())], "not a string, b string"),
    ],
)
def test_what_a_format_cannot_contain_is_refused(name: str, fields: list[Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        row_format(name, pa.schema(fields))
