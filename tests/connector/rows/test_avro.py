"""Avro in Arrow columns against fastavro, over schemas and values that hypothesis makes up."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pravega_lab.connector.rows.avro import decode, encode, flat_kernels, loops
from pravega_lab.connector.rows.avro.arrow_types import arrow_schema_of, avro_json_of
from pravega_lab.connector.rows.avro.decode import AvroDecoder
from pravega_lab.connector.rows.avro.encode import AvroEncoder
from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.rows.parsing import UnreadableRowError, parse_events
from pravega_lab.errors import BadInputError

LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
FLOATS = st.floats(width=32, allow_nan=False)
#: Type and a strategy of values as fastavro reads and writes them without logical types.
LEAVES: list[tuple[Any, Any]] = [
    ("long", LONGS | st.sampled_from([0, -1, 63, 64, -64, -65])),
    ("int", INTS),
    ("boolean", st.booleans()),
    ("double", st.floats(allow_nan=False)),
    ("float", FLOATS),
    ("string", st.text(st.characters(exclude_categories=["Cs"]), max_size=9)),
    ("bytes", st.binary(max_size=9)),
]


@st.composite
def typed(draw: Any, depth: int = 2) -> tuple[Any, Any]:
    """Return an Avro type and a strategy of its values."""
    kinds = ["leaf", "leaf", "null", "enum", "fixed"]
    kind = draw(st.sampled_from(kinds + (["array", "map", "record"] if depth else [])))
    name = "n"  # `renamed` makes them different
    if kind == "leaf":
        found: tuple[Any, Any] = draw(st.sampled_from(LEAVES))
        return found
    if kind == "enum":
        return {"type": "enum", "name": name, "symbols": ["A", "B", "C"]}, st.sampled_from("ABC")
    if kind == "fixed":
        return {"type": "fixed", "name": name, "size": 3}, st.binary(min_size=3, max_size=3)
    if kind == "record":
        return draw(record(depth - 1, name))
    inner, values = draw(typed(depth - 1) if kind != "null" else typed(depth - 1 if depth else 0))
    if kind == "array":
        return {"type": "array", "items": inner}, st.lists(values, max_size=3)
    if kind == "map":
        return {"type": "map", "values": inner}, st.dictionaries(
            st.text("abc", max_size=2), values, max_size=3
        )
    if isinstance(inner, list):
        return inner, values
    branches = ["null", inner] if draw(st.booleans()) else [inner, "null"]
    return branches, st.none() | values


@st.composite
def record(draw: Any, depth: int = 2, name: str = "top") -> tuple[Any, Any]:
    fields = draw(st.lists(typed(depth), min_size=1, max_size=4))
    schema = {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{index}", "type": kind} for index, (kind, _) in enumerate(fields)],
    }
    return schema, st.fixed_dictionaries({f"f{index}": values for index, (_, values) in enumerate(fields)})


def encoded(schema: Any, row: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


def plain(value: Any) -> Any:
    """Return what Arrow calls a value of Python as fastavro does: maps are dictionaries."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        pairs = value and all(isinstance(item, tuple) for item in value)
        return {key: plain(item) for key, item in value} if pairs else [plain(item) for item in value]
    return value


def equal(found: Any, wanted: Any) -> bool:
    """Compare, with an empty list for an empty map."""
    found = plain(found)
    if isinstance(wanted, dict) and isinstance(found, dict):
        return found.keys() == wanted.keys() and all(equal(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(map(equal, found, wanted))
    return bool(found == wanted) or (found == [] and wanted == {})


@pytest.fixture(params=["compiled", "plain"], autouse=True)
def _loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with the compiled loops and with the plain ones."""
    chosen = loops.PLAIN if request.param == "plain" else loops._compiled()
    monkeypatch.setattr(decode, "loops_for", lambda rows: chosen)
    monkeypatch.setattr(encode, "loops_for", lambda rows: chosen)


def renamed(schema: Any, numbers: Iterator[int]) -> Any:
    """Return a schema whose named types all have different names."""
    if isinstance(schema, list):
        return [renamed(part, numbers) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: renamed(value, numbers) if key in ("type", "items", "values") else value
        for key, value in schema.items()
    }
    if "fields" in made:
        made["fields"] = [{**field, "type": renamed(field["type"], numbers)} for field in made["fields"]]
    if made.get("type") in ("record", "enum", "fixed"):
        made["name"] = f"n{next(numbers)}"
    return made


FEW = settings(max_examples=60, suppress_health_check=list(HealthCheck))


@FEW
@given(st.data())
def test_decoding_and_encoding_agree_with_fastavro(data: Any) -> None:
    schema, values = data.draw(record())
    schema = renamed(schema, count())
    rows = data.draw(st.lists(values, max_size=6))
    events = pa.array([encoded(schema, row) for row in rows], pa.binary())
    decoder = AvroDecoder(schema)
    batch = decoder.decode(events)
    batch.validate(full=True)
    assert batch.num_rows == len(rows)
    assert all(map(equal, batch.to_pylist(), rows)), (batch.to_pylist(), rows)
    names = data.draw(st.lists(st.sampled_from(batch.schema.names), unique=True))
    some = AvroDecoder(schema, pa.schema([batch.schema.field(name) for name in names])).decode(events)
    assert some.num_rows == len(rows)
    assert all(some.column(name).equals(batch.column(name)) for name in names)

    again = AvroEncoder(schema, batch.schema).encode(batch)
    parsed = fastavro.parse_schema(schema)
    assert [fastavro.schemaless_reader(io.BytesIO(event), parsed) for event in again.to_pylist()] == rows
    middle = slice(1, max(1, len(rows) - 1))
    part = batch.slice(middle.start, middle.stop - middle.start)
    if rows[middle]:
        assert AvroEncoder(schema, batch.schema).encode(part).equals(again[middle])
        assert decoder.decode(events[middle]).equals(part)


@FEW
@given(st.data())
def test_a_damaged_event_is_refused_or_read_as_fastavro_does(data: Any) -> None:
    schema, values = data.draw(record())
    schema = renamed(schema, count())
    event = bytearray(encoded(schema, data.draw(values)))
    if event and data.draw(st.booleans()):
        event[data.draw(st.integers(0, len(event) - 1))] = data.draw(st.integers(0, 255))
    else:
        event = event[: data.draw(st.integers(0, len(event)))]
    source = io.BytesIO(bytes(event))
    try:
        found = AvroDecoder(schema).decode(pa.array([bytes(event)], pa.binary())).to_pylist()[0]
    except UnreadableRowError:
        return
    wanted = fastavro.schemaless_reader(source, fastavro.parse_schema(schema))
    assert source.tell() == len(event)
    assert repr(found) == repr(wanted) or equal(found, wanted)


OLD = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "was", "type": "string"},
        {"name": "gone", "type": ["null", {"type": "map", "values": "long"}, "string"]},
        {"name": "size", "type": {"type": "enum", "name": "size", "symbols": ["S", "M", "XXL"]}},
        {
            "name": "inner",
            "type": {"type": "record", "name": "inner", "fields": [{"name": "a", "type": "long"}]},
        },
    ],
}
NEW = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "added", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
        {"name": "id", "type": "long"},
        {"name": "now", "type": "string", "aliases": ["was"]},
        {
            "name": "size",
            "type": {"type": "enum", "name": "size", "symbols": ["S", "M", "L"], "default": "L"},
        },
        {
            "name": "inner",
            "type": {
                "type": "record",
                "name": "inner",
                "fields": [
                    {"name": "b", "type": ["null", "string"], "default": None},
                    {"name": "a", "type": "double"},
                ],
            },
        },
    ],
}


def test_events_of_an_earlier_schema_are_read_with_a_later_one_as_fastavro_does() -> None:
    sizes = ["S", "M", "XXL"]
    gone = [None, {"x": 1}, "text"]
    rows = [
        {"id": n, "was": f"w{n}", "gone": gone[n % 3], "size": sizes[n % 3], "inner": {"a": n}}
        for n in range(9)
    ]
    events = [encoded(OLD, row) for row in rows]
    old, new = fastavro.parse_schema(OLD), fastavro.parse_schema(NEW)
    wanted = [fastavro.schemaless_reader(io.BytesIO(event), old, new) for event in events]
    batch = AvroDecoder(OLD, reader=NEW).decode(pa.array(events, pa.binary()))
    assert batch.schema == arrow_schema_of(json.dumps(NEW))
    assert batch.to_pylist() == wanted
    assert {row["size"] for row in wanted} == {"S", "M", "L"}


def test_a_header_and_bytes_after_the_datum() -> None:
    events = pa.array([b"\1\0\0\0\7" + encoded(OLD["fields"][4]["type"], {"a": 150}) + b"\0\0"], pa.binary())
    schema = OLD["fields"][4]["type"]
    decoder = AvroDecoder(schema, header_bytes=5, may_be_followed=True)
    assert decoder.decode(events).to_pylist() == [{"a": 150}]
    with pytest.raises(UnreadableRowError, match="bytes follow the last field"):
        AvroDecoder(schema, header_bytes=5).decode(events)


def test_blocks_of_an_array_may_carry_their_size_and_announce_no_more_items_than_bytes() -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "l", "type": {"type": "array", "items": "int"}}],
    }
    events = pa.array([b"\x03\x04\x02\x04\x02\x06\x00"], pa.binary())  # two items of 2 bytes, then one
    assert AvroDecoder(schema).decode(events).to_pylist() == [{"l": [1, 2, 3]}]
    with pytest.raises(UnreadableRowError, match="more items than bytes"):
        AvroDecoder(schema).decode(pa.array([b"\xfe\xff\xff\xff\x0f"], pa.binary()))


KINDS = pa.schema(
    [
        *(("tiny", pa.int8()), ("small", pa.int16()), ("at", pa.timestamp("us", "UTC"))),
        *(("local", pa.timestamp("us")), ("day", pa.date32()), ("price", pa.decimal128(10, 2))),
        *(("big", pa.decimal128(38, 0)), ("clock", pa.time64("us")), ("l", pa.list_(pa.date32()))),
        *(("m", pa.map_(pa.string(), pa.decimal128(5, 1))), ("s", pa.struct([("x", pa.bool_())]))),
    ]
)


def test_rows_of_a_derived_schema_are_read_again_and_fastavro_reads_them_too() -> None:
    import datetime as dt
    from decimal import Decimal

    full = {
        "tiny": -128,
        "small": 32767,
        "local": dt.datetime(1901, 2, 3, 4, 5, 6, 789),
        "at": dt.datetime(2024, 1, 2, 3, 4, 5, 678, dt.UTC),
        "day": dt.date(1969, 12, 31),
        "price": Decimal("-12345678.90"),
        "big": Decimal(-(10**37)),
        "clock": dt.time(23, 59, 59, 999999),
        "l": [dt.date(2024, 2, 29), None],
        "m": [("k", Decimal("-0.1"))],
        "s": {"x": True},
    }
    rows = [full, dict.fromkeys(KINDS.names), {**full, "l": [], "m": [], "s": {"x": None}}]
    batch = pa.RecordBatch.from_pylist(rows, KINDS)
    format_ = row_format("avro", KINDS)
    events = format_.encode(batch)
    assert format_.parse(events).equals(batch)
    parsed = fastavro.parse_schema(json.loads(avro_json_of(KINDS)))
    found = [fastavro.schemaless_reader(io.BytesIO(event), parsed) for event in events.to_pylist()]
    assert [
        {**row, "m": [*(row["m"] or {}).items()] if row["m"] is not None else None} for row in found
    ] == rows


def test_records_of_a_derived_schema_have_names_of_their_own() -> None:
    inner = pa.struct([("x", pa.int32())])
    schema = pa.schema([("a", pa.struct([("b", inner)])), ("a_b", inner), ("l", pa.list_(inner))])
    batch = pa.RecordBatch.from_pylist([{"a": {"b": {"x": 1}}, "a_b": {"x": 2}, "l": [{"x": 3}]}], schema)
    events = row_format("avro", schema).encode(batch)
    assert row_format("avro", schema).parse(events).equals(batch)
    parsed = fastavro.parse_schema(json.loads(avro_json_of(schema)))
    assert fastavro.schemaless_reader(io.BytesIO(events[0].as_py()), parsed) == batch.to_pylist()[0]
    with pytest.raises(BadInputError, match=r"column 'a b' cannot be a field of Avro.*Rename the column"):
        avro_json_of(pa.schema([("s", pa.struct([("a b", pa.int32())]))]))


def test_damaged_events_stand_alone() -> None:
    schema = json.dumps({"type": "record", "name": "r", "fields": [{"name": "t", "type": "string"}]})
    format_ = row_format("avro", pa.schema([("t", pa.string())]), {"avro_schema": schema})
    chance = random.Random(5)
    damaged = {3: b"", 7: b"\x04a", 8: b"\x04a\xff", 20: b"\x02aa", 30: b"\x01"}
    events = [damaged.get(n, b"\x04" + bytes(chance.choices(b"abc", k=2))) for n in range(40)]
    parsed, unreadable = parse_events(format_.parse, pa.array(events, pa.binary()))
    assert [event.index for event in unreadable] == list(damaged)
    assert parsed.num_rows == 35
    assert "ends in the middle" in unreadable[0].reason


#: Every type of a plain value, with a value of each.
PLAIN_VALUES: list[tuple[Any, Callable[[random.Random], Any]]] = [
    ("long", lambda chance: chance.getrandbits(64) - 2**63 >> chance.randrange(64)),
    ("int", lambda chance: chance.getrandbits(32) - 2**31 >> chance.randrange(32)),
    ("boolean", lambda chance: chance.random() < 0.5),
    ("double", lambda chance: chance.gauss(0, 1e9)),
    ("float", lambda chance: chance.randrange(-(2**20), 2**20) / 8),
    ("string", lambda chance: "é" * chance.randrange(20)),
    ("bytes", lambda chance: chance.randbytes(chance.randrange(40))),
    ({"type": "enum", "name": "n", "symbols": ["A", "B", "C"]}, lambda chance: chance.choice("ABC")),
    ({"type": "fixed", "name": "n", "size": 3}, lambda chance: chance.randbytes(3)),
    ({"type": "record", "name": "n", "fields": [{"name": "a", "type": "long"}]}, lambda _: {"a": 5}),
]


def test_columns_and_rows_are_decoded_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(11)
    kinds = [
        (kind, value)
        for plain_kind, value in PLAIN_VALUES
        for kind in (plain_kind, ["null", plain_kind], [plain_kind, "null"])
        if kind is plain_kind or plain_kind is not PLAIN_VALUES[-1][0]  # only a plain record has no level
    ]
    fields = [{"name": f"f{n}", "type": kind} for n, (kind, _) in enumerate(kinds)]
    schema = renamed({"type": "record", "name": "top", "fields": fields}, count())
    rows = [
        {
            f"f{n}": None if isinstance(kind, list) and chance.random() < 0.3 else value(chance)
            for n, (kind, value) in enumerate(kinds)
        }
        for _ in range(flat_kernels.BLOCK_ROWS + 20)
    ]
    parsed = fastavro.parse_schema(schema)
    events = pa.array([encoded(parsed, row) for row in rows], pa.binary())
    all_columns = arrow_schema_of(schema)
    some_columns = pa.schema([all_columns.field(n) for n in range(3, len(fields), 4)])
    decoders = [AvroDecoder(schema, columns) for columns in (all_columns, some_columns)]
    assert all(decoder._steps is not None for decoder in decoders)
    monkeypatch.setattr(decode, "flat_steps", lambda code: None)
    row_by_row = [AvroDecoder(schema, columns) for columns in (all_columns, some_columns)]
    assert decoders[0].decode(events).to_pylist() == rows
    for by_columns, by_rows in zip(decoders, row_by_row, strict=True):
        assert by_columns.decode(events).equals(by_rows.decode(events))
        assert outcomes(by_columns, events.to_pylist()) == outcomes(by_rows, events.to_pylist())


def outcomes(decoder: AvroDecoder, all_events: list[bytes]) -> list[Any]:
    """Return what becomes of events of which one is cut, or has another byte: rows or the reason."""
    chance, found = random.Random(3), list[Any]()
    for n in range(100):
        events = all_events[n : n + 3]
        at = chance.randrange(len(events[1]))
        rest = bytes([chance.choice([0, 1, 2, 4, 127, 128, 255])]) + events[1][at + 1 :]
        events[1] = events[1][:at] + (rest if chance.random() < 0.7 else b"")
        try:
            found.append(decoder.decode(pa.array(events, pa.binary())).to_pylist())
        except UnreadableRowError as error:
            found.append(str(error))
    assert 5 <= len([one for one in found if isinstance(one, list)]) <= 95
    return found


def test_numba_is_used_where_it_is_installed_and_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loops.loops_for(loops.FEW_ROWS + 1) is not loops.PLAIN
    monkeypatch.setitem(sys.modules, "numba", None)
    loops._compiled.cache_clear()
    try:
        assert loops.loops_for(10**6) is loops.PLAIN
    finally:
        loops._compiled.cache_clear()


def test_loops_are_compiled_where_no_folder_for_the_cache_can_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def njit(signature: Any, *, nogil: bool, cache: bool = False) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr("numba.njit", njit)
    loops._compiled.cache_clear()
    try:
        compiled = loops._compiled()
        assert compiled is not None
        assert compiled.decode_rows is loops.kernels.decode_rows
    finally:
        loops._compiled.cache_clear()


def one(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": "price", "type": kind}]}


@pytest.mark.parametrize(
    ("schema", "columns", "words"),
    [
        (
            one("long"),
            [("prize", pa.int64())],
            "column 'prize' is not in the Avro schema 'r'. Did you mean 'price'",
        ),
        (
            one("string"),
            [("price", pa.int64())],
            "column 'price' is int64, and the Avro schema has string there",
        ),
        (one("long"), [("price", pa.int32())], "column 'price' is int32, and the Avro schema has long there"),
        (
            one(["int", "string"]),
            [("price", pa.bool_())],
            "'price' is bool, .*has union of int, string there",
        ),
        (
            one({"type": "array", "items": "int"}),
            [("price", pa.list_(pa.string()))],
            r"'price\[\]' is string",
        ),
        (one("prize"), [], "no Avro schema: the type 'prize' is not defined before its use"),
        (one(["null", "r"]), [], "record 'r' of the Avro schema contains itself"),
        ("{", [], "no Avro schema: Expecting property name"),
        ('"int"', [], "is int, and the columns of a row are the fields of a record"),
    ],
)
def test_columns_that_cannot_be_read_are_refused(schema: Any, columns: Any, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        AvroDecoder(schema, pa.schema(columns))


@pytest.mark.parametrize(
    ("schema", "columns", "words"),
    [
        (
            one("long"),
            [("prize", pa.int64())],
            "column 'prize' is not in the Avro schema 'r', which has price",
        ),
        (
            one("long"),
            [],
            "field 'price', which is long and cannot be null, and the rows have no such column",
        ),
        (one("int"), [("price", pa.int64())], "'price' is int64, and the Avro schema has int there"),
    ],
)
def test_columns_that_cannot_be_written_are_refused(schema: Any, columns: Any, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        AvroEncoder(schema, pa.schema(columns))


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("long", None, "column 'price' has a null, and the Avro schema has long there"),
        (
            {"type": "enum", "name": "e", "symbols": ["A"]},
            "B",
            "'price' has 'B', which is no symbol of enum e",
        ),
        ({"type": "fixed", "name": "f", "size": 2}, b"abc", "not of the 2 bytes of fixed f"),
    ],
)
def test_values_that_a_schema_cannot_contain_are_refused(kind: Any, value: Any, words: str) -> None:
    columns = arrow_schema_of(json.dumps(one(kind)))
    batch = pa.RecordBatch.from_arrays([pa.array([value], columns.field(0).type)], names=["price"])
    with pytest.raises(BadInputError, match=words):
        AvroEncoder(one(kind), batch.schema).encode(batch)
