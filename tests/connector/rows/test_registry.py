"""Format ``pravega-registry``: Avro, JSON and Protobuf, with several versions and codecs in one batch."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import count
from typing import Any

import pyarrow as pa
import pytest

from pravega_lab.client.registry import (
    GZIP,
    SNAPPY,
    Deserializer,
    SchemaRegistry,
    Serializer,
    avro_schema,
    json_schema,
)
from pravega_lab.client.registry.schemas import protobuf_schema
from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.rows.parsing import UnreadableRowError, parse_events
from pravega_lab.connector.rows.registry.registry_rows import forget_encoders, registry_columns
from pravega_lab.errors import BadInputError, IncompatibleSchemaError, NotFoundError, RegistryUnavailableError
from pravega_lab.protocol.controller import controller_pb2 as pb
from tests.standalone import Standalone, logged_url

ID, NAME = {"name": "id", "type": "long"}, {"name": "name", "type": "string"}
MAIL = {"name": "mail", "type": ["null", "string"], "default": None}
AGE = {"name": "age", "type": "int", "default": 7}
_numbers = count()


def user(*fields: dict[str, Any]) -> Any:
    return avro_schema({"type": "record", "name": "User", "fields": list(fields)})


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    store = Standalone("--memory", "--registry-port", "0")
    with store:
        yield logged_url(store, "registry_open")


@pytest.fixture
def registry(uri: str) -> SchemaRegistry:
    return SchemaRegistry(uri, namespace=f"n{next(_numbers)}")


def options(registry: SchemaRegistry, **more: Any) -> dict[str, Any]:
    return {
        "registry_uri": registry.uri,
        "registry_namespace": registry.namespace,
        "registry_group": "g",
        **more,
    }


def rows(registry: SchemaRegistry, columns: Any = None, **more: Any) -> Any:
    given = options(registry, **more)
    return row_format("pravega-registry", columns or registry_columns(given), given)


def binary(*events: bytes) -> Any:
    return pa.array(events, pa.binary())


def test_versions_and_codecs_in_one_batch_keep_their_order(registry: SchemaRegistry) -> None:
    plain = Serializer(registry, "g", user(ID, NAME), register=True)
    zipped = Serializer(registry, "g", user(ID, NAME, MAIL), codec=GZIP, register=True)
    snappy = Serializer(registry, "g", user(ID, NAME, MAIL, AGE), codec=SNAPPY, register=True)
    events = []
    for number in range(30):
        value: dict[str, Any] = {"id": number, "name": f"n{number}"}
        if number % 3 == 1:
            events.append(zipped.serialize({**value, "mail": "a@b"}))
        elif number % 3 == 2:
            events.append(snappy.serialize({**value, "mail": None, "age": number}))
        else:
            events.append(plain.serialize(value))
    found = rows(registry).parse(binary(b"not read", *events).slice(1))
    assert found.column("id").to_pylist() == list(range(30))
    assert found.column("mail").to_pylist() == [None, "a@b", None] * 10
    assert found.column("age").to_pylist() == [n if n % 3 == 2 else 7 for n in range(30)]
    narrow = rows(registry, pa.schema([("name", pa.string())])).parse(binary(*events))
    assert narrow.column("name").to_pylist() == [f"n{n}" for n in range(30)]


def test_a_field_that_takes_the_old_name_of_another_is_read_under_its_new_name(
    registry: SchemaRegistry,
) -> None:
    was = [{"name": "first", "type": "int"}, {"name": "second", "type": "int"}]
    now = [
        {"name": "second", "type": "int", "aliases": ["first"]},
        {"name": "third", "type": "int", "aliases": ["second"]},
    ]
    old = Serializer(registry, "g", user(*was), register=True).serialize({"first": 1, "second": 2})
    began = rows(registry)
    new = Serializer(registry, "g", user(*now), register=True).serialize({"second": 3, "third": 4})
    expected = [{"second": 1, "third": 2}, {"second": 3, "third": 4}]
    assert rows(registry).parse(binary(old, new)).to_pylist() == expected
    reader = Deserializer(registry, "g", reader=user(*now))
    assert [reader.deserialize(event) for event in (old, new)] == expected
    kept = [{"first": 1, "second": 2}, {"first": None, "second": 3}]
    assert began.parse(binary(old, new)).to_pylist() == kept


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy"])
@pytest.mark.parametrize("kind", ["avro", "json"])
def test_rows_are_read_as_they_were_written(registry: SchemaRegistry, kind: str, codec: str) -> None:
    written = pa.RecordBatch.from_pydict(
        {
            "id": [1, None, 3],
            "name": ["a", "ü", None],
            "tags": [["x"], [], None],
            "at": [{"x": 1.5}, None, None],
        },
        pa.schema(
            [
                ("id", pa.int64()),
                ("name", pa.string()),
                ("tags", pa.list_(pa.string())),
                ("at", pa.struct([("x", pa.float64())])),
            ]
        ),
    )
    chosen = {"registry_format": kind, "registry_codec": codec, "registry_register": True}
    events = rows(registry, written.schema, **chosen).encode(written)
    found = rows(registry)
    found.check_reading()
    assert found.parse(events).to_pylist() == written.to_pylist()
    again = rows(registry, written.schema, registry_codec=codec).encode(written)
    assert again.to_pylist() == events.to_pylist()
    assert len(registry.versions("g")) == 1


def test_messages_of_protobuf(registry: SchemaRegistry) -> None:
    registry.create_group("g", "Protobuf")
    registry.add_schema("g", protobuf_schema(pb.SegmentRange))
    serializer = Serializer(registry, "g", protobuf_schema(pb.SegmentRange), codec=GZIP, register=True)
    message = pb.SegmentRange(
        segmentId=pb.SegmentId(
            streamInfo=pb.StreamInfo(scope="s", accessOperation=pb.StreamInfo.READ), segmentId=5
        ),
        minKey=0.25,
    )
    format_ = rows(registry)
    format_.check_reading()
    found = format_.parse(binary(serializer.serialize(message), serializer.serialize(pb.SegmentRange())))
    first, second = found.to_pylist()
    assert (first["segmentId"]["segmentId"], first["minKey"], first["maxKey"]) == (5, 0.25, 0.0)
    assert first["segmentId"]["streamInfo"] == {"scope": "s", "stream": "", "accessOperation": "READ"}
    assert second["segmentId"] is None
    again = format_.parse(format_.encode(found))
    assert again.to_pylist() == found.to_pylist()


def test_a_field_that_is_added_to_a_message_is_null_before(registry: SchemaRegistry) -> None:
    registry.create_group("g", "Protobuf")
    old, new = _messages("id"), _messages("id", "name")
    events = [
        Serializer(registry, "g", old, register=True).serialize({"id": "a"}),
        Serializer(registry, "g", new, register=True).serialize({"id": "b", "name": "c"}),
    ]
    assert rows(registry).parse(binary(*events)).to_pylist() == [
        {"id": "a", "name": None},
        {"id": "b", "name": "c"},
    ]


def test_a_running_query_keeps_a_field_that_a_later_version_drops(registry: SchemaRegistry) -> None:
    """Events of the version with the field were unreadable, too, once the later version was there."""
    first = {"id": 1, "name": "Ann", "mail": "a@b"}
    old = Serializer(registry, "g", user(ID, NAME, MAIL), register=True)
    events = [old.serialize(first)]
    running = rows(registry)
    new = Serializer(registry, "g", user(ID), register=True)
    events += [new.serialize({"id": 2}), old.serialize({"id": 3, "name": "Bob", "mail": None})]
    assert running.parse(binary(*events)).to_pylist() == [
        first,
        {"id": 2, "name": None, "mail": None},
        {"id": 3, "name": "Bob", "mail": None},
    ]
    assert rows(registry).parse(binary(*events)).to_pylist() == [{"id": 1}, {"id": 2}, {"id": 3}]


def record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


@pytest.mark.parametrize("codec", ["", GZIP])
@pytest.mark.parametrize("nullable", [False, True], ids=["plain", "nullable"])
def test_a_running_query_keeps_an_inner_field_that_a_later_version_drops(
    registry: SchemaRegistry, nullable: bool, codec: str
) -> None:
    """Such a query failed at the first event of the later version."""

    def version(*inner: dict[str, Any]) -> Any:
        def maybe(kind: Any) -> Any:
            return ["null", kind] if nullable else kind

        fields = [
            {"name": "one", "type": maybe(record("One", *inner))},
            {"name": "many", "type": {"type": "array", "items": maybe(record("Item", *inner))}},
            {"name": "named", "type": {"type": "map", "values": maybe(record("Value", *inner))}},
        ]
        return user(ID, *fields)

    def value(number: int, **inner: Any) -> dict[str, Any]:
        return {"id": number, "one": inner, "many": [inner, inner], "named": {"k": inner}}

    def row(number: int, **inner: Any) -> dict[str, Any]:
        return {**value(number, **inner), "named": [("k", inner)]}

    chosen = {"codec": codec} if codec else {}
    registry.create_group("g", "Avro", "AllowAny")
    old = Serializer(registry, "g", version(AGE, MAIL), register=True, **chosen)
    events = [old.serialize(value(1, age=5, mail="a@b"))]
    running = rows(registry)
    new = Serializer(registry, "g", version(MAIL, NAME), register=True, **chosen)
    events += [new.serialize(value(2, mail=None, name="Bob")), old.serialize(value(3, age=6, mail=None))]
    assert running.parse(binary(*events)).to_pylist() == [
        row(1, age=5, mail="a@b"),
        row(2, age=None, mail=None),
        row(3, age=6, mail=None),
    ]
    assert rows(registry).parse(binary(*events)).to_pylist() == [
        row(1, mail="a@b", name=None),
        row(2, mail=None, name="Bob"),
        row(3, mail=None, name=None),
    ]


def test_a_field_that_neither_an_event_nor_a_default_has_is_null(registry: SchemaRegistry) -> None:
    registry.create_group("g", "Avro", "AllowAny")
    event = Serializer(registry, "g", user(ID), register=True).serialize({"id": 1})
    registry.add_schema("g", user(ID, NAME))
    assert rows(registry).parse(binary(event)).to_pylist() == [{"id": 1, "name": None}]


def test_a_running_query_keeps_a_field_that_a_later_message_drops(registry: SchemaRegistry) -> None:
    registry.create_group("g", "Protobuf")
    old = Serializer(registry, "g", _messages("id", "name"), register=True)
    events = [old.serialize({"id": "a", "name": "c"})]
    running = rows(registry)
    events.append(Serializer(registry, "g", _messages("id"), register=True).serialize({"id": "b"}))
    assert running.parse(binary(*events)).to_pylist() == [
        {"id": "a", "name": "c"},
        {"id": "b", "name": None},
    ]


def _messages(*fields: str) -> Any:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    file = FileDescriptorProto(name="m.proto", package="m", syntax="proto3")
    message = file.message_type.add(name="M")
    for number, name in enumerate(fields, 1):
        message.field.add(
            name=name,
            number=number,
            type=FieldDescriptorProto.TYPE_STRING,
            label=FieldDescriptorProto.LABEL_OPTIONAL,
        )
    pool = DescriptorPool()
    pool.Add(file)
    return protobuf_schema(pool.FindMessageTypeByName("m.M"))


@pytest.mark.parametrize("codec", ["", GZIP])
def test_a_running_query_keeps_an_inner_field_that_a_later_message_drops(
    registry: SchemaRegistry, codec: str
) -> None:
    """Events of a version without the inner field were unreadable, for a new query too."""

    def value(number: str, **inner: str) -> dict[str, Any]:
        return {"id": number, "one": inner, "many": [inner, inner], "named": {"k": inner}}

    def row(number: str, **inner: str | None) -> dict[str, Any]:
        return {"id": number, "one": inner, "many": [inner, inner], "named": [("k", inner)]}

    chosen = {"codec": codec} if codec else {}
    registry.create_group("g", "Protobuf", "AllowAny")
    old = Serializer(registry, "g", _nested("a", "b"), register=True, **chosen)
    events = [old.serialize(value("1", a="x", b="y"))]
    running = rows(registry)
    new = Serializer(registry, "g", _nested("b", "c"), register=True, **chosen)
    events += [new.serialize(value("2", b="y", c="z")), old.serialize({"id": "3"})]
    absent: dict[str, Any] = {"id": "3", "one": None, "many": [], "named": []}
    assert running.parse(binary(*events)).to_pylist() == [
        row("1", a="x", b="y"),
        row("2", a=None, b="y"),
        absent,
    ]
    assert rows(registry).parse(binary(*events)).to_pylist() == [
        row("1", b="y", c=None),
        row("2", b="y", c="z"),
        absent,
    ]


def test_columns_of_a_message_that_contains_itself(registry: SchemaRegistry) -> None:
    from google.protobuf.descriptor_pb2 import DescriptorProto

    registry.create_group("g", "Protobuf")
    serializer = Serializer(registry, "g", protobuf_schema(DescriptorProto), register=True)
    event = serializer.serialize({"name": "a"})
    format_ = rows(registry, pa.schema([("name", pa.string())]))
    format_.check_reading()
    assert format_.parse(binary(event)).to_pylist() == [{"name": "a"}]


def _nested(*inner: str) -> Any:
    """Return the schema of a message with messages inside it, alone, in a list and in a map."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    file = FileDescriptorProto(name="m.proto", package="m", syntax="proto3")
    one = file.message_type.add(name="One")
    for name in inner:
        one.field.add(name=name, number=ord(name), type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    message = file.message_type.add(name="M")
    entry = message.nested_type.add(name="NamedEntry")
    entry.options.map_entry = True
    text: dict[str, Any] = {"type": Field.TYPE_STRING, "label": Field.LABEL_OPTIONAL}
    inside: dict[str, Any] = {"type": Field.TYPE_MESSAGE, "type_name": ".m.One"}
    entry.field.add(name="key", number=1, **text)
    entry.field.add(name="value", number=2, label=Field.LABEL_OPTIONAL, **inside)
    message.field.add(name="id", number=1, **text)
    message.field.add(name="one", number=2, label=Field.LABEL_OPTIONAL, **inside)
    message.field.add(name="many", number=3, label=Field.LABEL_REPEATED, **inside)
    pairs: dict[str, Any] = {"type": Field.TYPE_MESSAGE, "type_name": ".m.M.NamedEntry"}
    message.field.add(name="named", number=4, label=Field.LABEL_REPEATED, **pairs)
    pool = DescriptorPool()
    pool.Add(file)
    return protobuf_schema(pool.FindMessageTypeByName("m.M"))


@pytest.mark.parametrize("codec", ["", GZIP])
def test_a_running_query_keeps_an_inner_field_that_a_later_json_schema_drops(
    registry: SchemaRegistry, codec: str
) -> None:
    def version(*inner: str) -> Any:
        one = {"type": "object", "properties": {name: {"type": "string"} for name in inner}}
        return json_schema(
            {"type": "object", "properties": {"one": one, "many": {"type": "array", "items": one}}}, "M"
        )

    def value(**inner: str | None) -> dict[str, Any]:
        return {"one": inner, "many": [inner, inner]}

    chosen = {"codec": codec} if codec else {}
    registry.create_group("g", "Json", "AllowAny")
    old = Serializer(registry, "g", version("a", "b"), register=True, **chosen)
    events = [old.serialize(value(a="x", b="y"))]
    running = rows(registry)
    new = Serializer(registry, "g", version("b", "c"), register=True, **chosen)
    events.append(new.serialize(value(b="y", c="z")))
    assert running.parse(binary(*events)).to_pylist() == [value(a="x", b="y"), value(a=None, b="y")]
    assert rows(registry).parse(binary(*events)).to_pylist() == [value(b="y", c=None), value(b="y", c="z")]


def test_bad_events_are_found_and_the_others_keep_their_rows(registry: SchemaRegistry) -> None:
    serializer = Serializer(registry, "g", user(ID, NAME), register=True)
    good = serializer.serialize({"id": 1, "name": "Ann"})
    zipped = Serializer(registry, "g", user(ID, NAME), codec=GZIP, register=True)
    bad = [
        (b"", "no header"),
        (b"\x01\x00", "no header"),
        (b'{"id": 1}', "no header"),
        (b"\x01\x00\x00\x00\x63" + good[5:], "no encoding id 99"),
        (good[:-1], "ends in the middle"),
        (good + b"\0", "follow the last field"),
        (zipped.serialize({"id": 1, "name": ""})[:-4], "ends too early"),
    ]
    events = binary(good, *(event for event, _ in bad), good)
    found, unreadable = parse_events(rows(registry).parse, events)
    assert found.column("id").to_pylist() == [1, 1]
    assert [one.index for one in unreadable] == list(range(1, len(bad) + 1))
    for one, (_, words) in zip(unreadable, bad, strict=True):
        assert words in one.reason


def test_no_event_is_read_with_a_schema_of_another_group_of_the_name(registry: SchemaRegistry) -> None:
    old = Serializer(registry, "g", user(ID, AGE), register=True)
    reader = Deserializer(registry, "g")
    value = {"id": 1, "age": 2}
    assert reader.deserialize(old.serialize(value)) == value
    other = SchemaRegistry(registry.uri, namespace=registry.namespace)
    other.delete_group("g")
    new = Serializer(other, "g", user(AGE, ID), register=True)
    assert reader.deserialize(new.serialize(value)) == value
    assert reader.deserialize(old.serialize(value)) == value  # it knows the schema of the old group
    with pytest.raises(NotFoundError):
        Deserializer(other, "g").deserialize(old.serialize(value))


def test_a_job_does_not_write_with_the_schema_of_a_deleted_group(registry: SchemaRegistry) -> None:
    table = pa.RecordBatch.from_pylist([{"id": 1}])
    encode = rows(registry, table.schema, registry_register=True).encode
    encode(table)
    registry.delete_group("g")
    forget_encoders()
    events = encode(table)
    assert rows(registry).parse(events).to_pylist() == [{"id": 1}]


def test_a_version_that_the_columns_do_not_fit_is_unreadable(registry: SchemaRegistry) -> None:
    texts = avro_schema({"type": "record", "name": "User", "fields": [{"name": "id", "type": "string"}]})
    event = Serializer(registry, "g", texts, register=True).serialize({"id": "x"})
    Serializer(registry, "g", user(ID), register=True).serialize({"id": 1})
    with pytest.raises(UnreadableRowError, match=r"its schema is 'User': .*'id'"):
        rows(registry).parse(binary(event))


def test_columns_are_checked_before_anything_is_read(registry: SchemaRegistry) -> None:
    with pytest.raises(BadInputError, match="has no group 'g' in namespace"):
        rows(registry, pa.schema([("id", pa.int64())])).check_reading()
    registry.create_group("g", "Any", allow_multiple_types=True)
    with pytest.raises(BadInputError, match="has no schema yet"):
        rows(registry)
    registry.add_schema("g", user(ID, NAME))
    with pytest.raises(BadInputError, match="'nam'"):
        rows(registry, pa.schema([("nam", pa.string())])).check_reading()
    with pytest.raises(BadInputError, match="'id'"):
        rows(registry, pa.schema([("id", pa.bool_())])).check_reading()
    with pytest.raises(BadInputError, match=r"'more'"):
        rows(registry, pa.schema([("id", pa.int64()), ("more", pa.int64())])).check_writing()
    registry.add_schema("g", json_schema({"title": "Other", "type": "object"}))
    with pytest.raises(BadInputError, match=r"several types: User \(Avro\), Other \(Json\)"):
        rows(registry)


def test_options_are_checked(registry: SchemaRegistry) -> None:
    columns = pa.schema([("id", pa.int64())])
    for given, words in (
        ({"registry_group": "g"}, "'registry_uri' is missing"),
        ({"registry_uri": registry.uri}, "'registry_group' is missing"),
        (
            options(registry, registry_codec="zip"),
            "'registry_codec' is 'zip'; it is one of none, gzip, snappy",
        ),
        (options(registry, registry_format="xml"), "it is one of avro, json, protobuf"),
        (options(registry, registry_uri="localhost"), "write http://host:port"),
    ):
        with pytest.raises(BadInputError, match=words):
            row_format("pravega-registry", columns, given).check_reading()


def test_a_sink_adds_no_schema_that_the_policy_refuses(registry: SchemaRegistry) -> None:
    registry.create_group("g", "Avro", "Backward")
    registry.add_schema("g", user(ID))
    with pytest.raises(BadInputError, match=r"'more' is not in the Avro schema 'User'.*add the field"):
        rows(registry, pa.schema([("id", pa.int64()), ("more", pa.int64())])).check_writing()
    with pytest.raises(IncompatibleSchemaError, match="an added field needs a default"):
        registry.add_schema("g", user(ID, NAME))


def test_an_unreachable_registry_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
    given = {"registry_uri": uri, "registry_group": "g"}
    for call in ("check_reading", "check_writing"):
        with pytest.raises(RegistryUnavailableError, match=uri):
            getattr(row_format("pravega-registry", pa.schema([("id", pa.int64())]), given), call)()
