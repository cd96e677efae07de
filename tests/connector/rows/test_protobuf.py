"""Messages of Protocol Buffers in Arrow columns, against the library's own dictionaries."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, json_format

from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.rows.parsing import UnreadableRowError, parse_events
from pravega_lab.connector.rows.protobuf.arrow_types import arrow_schema_of
from pravega_lab.connector.rows.protobuf.descriptors import message_class
from pravega_lab.errors import BadInputError

FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = ["double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes"]
SCALARS += ["uint32", "sfixed32", "sfixed64", "sint32", "sint64"]


def descriptor_set() -> bytes:
    """Return the descriptor of message ``shop.Order``, which has a field of every kind."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    size = file.enum_type.add(name="Size")
    size.value.add(name="SMALL", number=0)
    size.value.add(name="LARGE", number=1)
    item = file.message_type.add(name="Item")
    item.field.add(name="name", number=1, type=FIELD.TYPE_STRING, label=1)
    item.field.add(name="tags", number=2, type=FIELD.TYPE_STRING, label=3)
    order = file.message_type.add(name="Order")
    for number, name in enumerate(SCALARS, 1):
        order.field.add(name=f"a_{name}", number=number, type=getattr(FIELD, f"TYPE_{name.upper()}"), label=1)
    order.oneof_decl.add(name="_note")
    order.field.add(name="note", number=20, type=9, label=1, oneof_index=0, proto3_optional=True)
    order.field.add(name="size", number=21, type=14, type_name=".shop.Size", label=1)
    order.field.add(name="item", number=22, type=11, type_name=".shop.Item", label=1)
    order.field.add(name="items", number=23, type=11, type_name=".shop.Item", label=3)
    order.field.add(name="numbers", number=24, type=FIELD.TYPE_INT64, label=3)
    order.field.add(name="at", number=25, type=11, type_name=".google.protobuf.Timestamp", label=1)
    order.field.add(name="counts", number=26, type=11, type_name=".shop.Order.CountsEntry", label=3)
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=FIELD.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=11, type_name=".shop.Item", label=1)
    again = file.message_type.add(name="Tree")
    again.field.add(name="below", number=1, type=11, type_name=".shop.Tree", label=3)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


DESCRIPTOR = descriptor_set()
OPTIONS = {"protobuf_descriptor": DESCRIPTOR, "protobuf_message": "shop.Order"}
ORDER = message_class(DESCRIPTOR, "shop.Order")
COLUMNS = arrow_schema_of(ORDER.DESCRIPTOR)


def messages(seed: int = 3, count: int = 60) -> list[Any]:
    chance = random.Random(seed)
    limits = {"int32": 31, "sint32": 31, "sfixed32": 31, "int64": 63, "sint64": 63, "sfixed64": 63}

    def item() -> dict[str, Any]:
        return {"name": chance.choice(["", "tea"]), "tags": ["x"] * chance.randint(0, 2)}

    def scalar(name: str) -> Any:
        if name in limits:
            return chance.randint(-(2 ** limits[name]), 2 ** limits[name] - 1)
        if name in ("uint64", "fixed64", "uint32", "fixed32"):
            return chance.randint(0, 2 ** int(name[-2:]) - 1)
        return {
            "bool": chance.random() < 0.5,
            "string": "über",
            "bytes": b"\xff",
            "float": 0.5,
            "double": 1e300,
        }[name]

    made = []
    for _ in range(count):
        row: dict[str, Any] = {f"a_{name}": scalar(name) for name in SCALARS if chance.random() < 0.8}
        more = {
            "note": chance.choice(["", "soon"]),
            "size": chance.randint(0, 2),
            "item": item(),
            "items": [item() for _ in range(chance.randint(0, 2))],
            "numbers": [chance.randint(-9, 9)] * chance.randint(0, 3),
            "at": {"seconds": chance.randint(-(10**9), 10**10), "nanos": chance.randint(0, 999_999) * 1000},
            "counts": {"a": item()},
        }
        row |= {name: value for name, value in more.items() if chance.random() < 0.7}
        made.append(ORDER(**row))
    return made


def as_library(message: Any) -> dict[str, Any]:
    """Return a message as the library's dictionaries have it, with the types that columns have."""
    found: dict[str, Any] = {}
    plain = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    for name, field in ORDER.DESCRIPTOR.fields_by_name.items():
        value = getattr(message, name)
        if name == "at":
            found[name] = value.seconds * 10**6 + value.nanos // 1000 if message.HasField(name) else None
        elif name == "counts":
            found[name] = [tuple(pair) for pair in plain[name].items()]
        elif name == "size":
            found[name] = str(plain[name])
        elif field.message_type or name in ("note", "a_string"):
            found[name] = plain.get(name)
        else:
            found[name] = list(value) if field.is_repeated else value
    return found


def test_columns_are_what_the_library_reads_and_encoded_rows_are_the_same_messages() -> None:
    made = messages()
    events = pa.array([message.SerializeToString(deterministic=True) for message in made], pa.binary())
    format_ = row_format("protobuf", COLUMNS, OPTIONS)
    batch = format_.parse(events)
    batch.validate(full=True)
    place = COLUMNS.get_field_index("at")
    rows = batch.set_column(place, "at", batch.column("at").cast(pa.int64())).to_pylist()
    assert rows == [as_library(message) for message in made]
    assert format_.encode(batch).to_pylist() == events.to_pylist()
    some = pa.schema([("a_int32", pa.int64()), ("item", pa.struct([("name", pa.string())]))])
    assert row_format("protobuf", some, OPTIONS).parse(events).column("a_int32").to_pylist() == [
        message.a_int32 for message in made
    ]


def test_a_timestamp_may_have_another_name_of_its_zone() -> None:
    schema = pa.schema([("at", pa.timestamp("us", "Europe/Berlin"))])
    format_ = row_format("protobuf", schema, OPTIONS)
    batch = pa.RecordBatch.from_arrays(
        [pa.array([-1, None, 10**15 + 7], schema.field(0).type)], schema=schema
    )
    assert format_.parse(format_.encode(batch)).equals(batch)


def test_damaged_messages_stand_alone() -> None:
    good = [message.SerializeToString() for message in messages(count=20)]
    events = [*good[:5], b"\xff", b"\x4a\x01\xff", *good[5:]]  # the second has a text that is not UTF-8
    parse = row_format("protobuf", COLUMNS, OPTIONS).parse
    parsed, unreadable = parse_events(parse, pa.array(events, pa.binary()))
    assert [event.index for event in unreadable] == [5, 6]
    assert "is no message 'shop.Order'" in unreadable[0].reason
    assert parsed.num_rows == 20


@pytest.mark.parametrize(
    ("options", "columns", "words"),
    [
        ({}, [], "needs a descriptor and the name of a message. Add .*protobuf_descriptor_file"),
        ({"protobuf_message": "shop.Ordr"}, [], "no message 'shop.Ordr'. Did you mean 'shop.Order'"),
        ({"protobuf_descriptor": b"no"}, [], "no FileDescriptorSet: it begins with b'no'.*protoc"),
        (
            {},
            [("a_int33", pa.int32())],
            "'a_int33' is no field of message 'shop.Order'. Did you mean",
        ),
        ({}, [("a_int64", pa.int32())], "'a_int64' is int32, and the message has int64 there"),
        ({}, [("item", pa.struct([("nam", pa.string())]))], "'item.nam' is no field of message 'shop.Item'"),
        ({}, [("items", pa.struct([("name", pa.string())]))], "'items' is struct.* the message has list"),
        (
            {"protobuf_message": "shop.Tree"},
            [("below", pa.string())],
            "'shop.Tree' contains itself, by field 'below'",
        ),
    ],
)
def test_what_does_not_fit_the_descriptor_is_refused(options: Any, columns: Any, words: str) -> None:
    given = {**OPTIONS, **options} if options or columns else {}
    with pytest.raises(BadInputError, match=words):
        row_format("protobuf", pa.schema(columns), given)


def test_values_that_a_message_cannot_contain_are_refused() -> None:
    counts = COLUMNS.field("counts").type
    schema = pa.schema(
        [
            ("size", pa.string()),
            ("numbers", pa.list_(pa.int64())),
            ("counts", counts),
            ("a_float", pa.float64()),
        ]
    )
    format_ = row_format("protobuf", schema, OPTIONS)
    for row, words in (
        ({"size": "HUGE"}, "HUGE"),
        ({"numbers": [1, None]}, "'numbers' has a null among its items"),
        ({"counts": [("a", None), ("b", {"name": "x", "tags": []})]}, "'counts' has a null among its items"),
        ({"a_float": 1e300}, r"1e\+300 is too large for a float"),
        ({"a_float": -3.4028235677973366e38}, "too large"),
    ):
        with pytest.raises(BadInputError, match=rf"no message 'shop.Order': .*{words}"):
            format_.encode(pa.RecordBatch.from_pylist([row], schema))
    floats = [{"a_float": value} for value in (3.4028235677973362e38, float("inf"), float("-inf"))]
    found = format_.parse(format_.encode(pa.RecordBatch.from_pylist(floats, schema)))
    assert found.column("a_float").to_pylist() == [3.4028234663852886e38, float("inf"), float("-inf")]
    numbers = pa.schema([("a_uint64", pa.int64())])
    large = pa.array([ORDER(a_uint64=2**64 - 1).SerializeToString()], pa.binary())
    with pytest.raises(UnreadableRowError, match=r"shop\.Order"):
        row_format("protobuf", numbers, OPTIONS).parse(large)
