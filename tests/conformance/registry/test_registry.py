"""What Python's client and Java's serializers see of a registry, the same on ours and on a released one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pravega_lab.client.registry import (
    AVRO,
    GZIP,
    JSON,
    NO_CODEC,
    PROTOBUF,
    SNAPPY,
    CodecType,
    Compatibility,
    Deserializer,
    Direction,
    SchemaInfo,
    SchemaRegistry,
    SerializationFormat,
    Serializer,
    VersionInfo,
    avro_schema,
    json_schema,
    protobuf_schema,
)
from pravega_lab.errors import (
    BadInputError,
    ConditionFailedError,
    IncompatibleSchemaError,
    NotFoundError,
    RefusedError,
)
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.registry.header import encoding_id_of
from tests.conformance.registry.released import JavaPeer


def user(*more: dict[str, Any], id_type: str = "long", name: str = "User") -> SchemaInfo:
    fields = [{"name": "id", "type": id_type}, {"name": "name", "type": "string"}, *more]
    return avro_schema({"type": "record", "name": name, "namespace": "demo", "fields": fields})


MAIL = {"name": "mail", "type": ["null", "string"], "default": None}
AGE = {"name": "age", "type": "int"}
PERSON = json_schema({"title": "Person", "type": "object", "properties": {"id": {"type": "integer"}}})
INFO = protobuf_schema(pb.StreamInfo)


def test_groups(registry: SchemaRegistry) -> None:
    assert registry.list_groups() == {}
    names = ["scope/stream.v1", "ä b", "%2F?&=+", "plain"]
    for name in names:
        assert registry.create_group(name, JSON, properties={"owner": name})
    assert not registry.create_group("plain", AVRO, "Full")  # it exists, and stays as it is
    found = registry.list_groups()
    assert set(found) == set(names)
    assert {group: one.properties["owner"] for group, one in found.items()} == dict(
        zip(names, names, strict=True)
    )
    assert found["plain"] == registry.group_properties("plain")
    registry.delete_group("plain")
    registry.delete_group("plain")
    with pytest.raises(NotFoundError):
        registry.group_properties("plain")
    assert SchemaRegistry(registry.uri, namespace=f"{registry.namespace} other").list_groups() == {}


@pytest.mark.parametrize("serialization_format", [JSON, PROTOBUF, "Any"])
def test_only_avro_groups_are_created_with_a_policy_that_compares(
    registry: SchemaRegistry, serialization_format: str
) -> None:
    with pytest.raises(BadInputError):
        registry.create_group("g", serialization_format, "Backward")
    assert registry.create_group("g", serialization_format, "DenyAll")


def test_versions_and_ids(registry: SchemaRegistry) -> None:
    registry.create_group("g", "Any", allow_multiple_types=True)
    schemas = [user(), PERSON, INFO, user(MAIL)]
    ids = [("demo.User", AVRO, 0), ("Person", JSON, 0), (INFO.type, PROTOBUF, 0), ("demo.User", AVRO, 1)]
    added = [registry.add_schema("g", one) for one in schemas]
    assert added == [VersionInfo(*one, number) for number, one in enumerate(ids)]
    assert [registry.add_schema("g", one) for one in schemas] == added
    assert [registry.find_version("g", one) for one in schemas] == added
    assert registry.find_version("g", user(AGE)) is None
    assert [one.version for one in registry.versions("g")] == added
    assert [one.version for one in registry.versions("g", "demo.User")] == [added[0], added[3]]
    assert [one.version for one in registry.schemas("g", "demo.User")] == [added[3]]
    assert registry.schemas("g", "nothing") == registry.versions("g", "nothing") == []
    assert [registry.schema("g", number) for number in range(4)] == schemas
    assert registry.groups_with(user()) == {"g": added[0]}
    registry.delete_schema("g", 3)
    assert registry.find_version("g", user(MAIL)) is None
    assert registry.schema("g", 3) == user(MAIL)
    with pytest.raises(NotFoundError):
        registry.schema("g", 9)


def test_spellings_of_one_schema_are_one_version(registry: SchemaRegistry) -> None:
    registry.create_group("g", AVRO)
    text = '{ "fields": [], "name": "R",\n "type": "record", "doc": "x" }'
    registry.add_schema("g", avro_schema(text))
    again = registry.add_schema("g", avro_schema({"type": "record", "name": "R", "doc": "x", "fields": []}))
    assert again.id == 0
    assert registry.schema("g", 0).data == text.encode()
    assert registry.add_schema("g", avro_schema({"type": "record", "name": "R", "fields": []})).id == 1


@pytest.mark.parametrize(
    ("policy", "accepted"),
    [
        ("AllowAny", "optional required widened narrowed"),
        ("DenyAll", ""),
        ("Backward", "optional widened"),
        ("Forward", "optional required narrowed"),
        ("Full", "optional"),
        ("BackwardTransitive", "optional widened"),
        ("ForwardTransitive", "optional required narrowed"),
        ("FullTransitive", "optional"),
    ],
)
def test_evolution_is_allowed_and_refused(registry: SchemaRegistry, policy: str, accepted: str) -> None:
    """A first version, then one change of it at a time."""
    changes = {
        "optional": user(MAIL),
        "required": user(AGE),
        "widened": user(id_type="double"),
        "narrowed": user(id_type="int"),
    }
    for name, schema in changes.items():
        registry.create_group(name, AVRO, policy)
        registry.add_schema(name, user())
        is_accepted = name in accepted.split()
        assert registry.is_valid(name, schema) is is_accepted, name
        if is_accepted:
            assert registry.add_schema(name, schema).version == 1
        else:
            with pytest.raises(IncompatibleSchemaError, match=f"its policy is {policy}"):
                registry.add_schema(name, schema)


def test_a_transitive_policy_compares_with_all_versions(registry: SchemaRegistry) -> None:
    """The newest schema reads the latest one, and the first one does not fit."""
    oldest = user({**AGE, "type": "string"})
    newest = user({**AGE, "default": 1})
    for policy, is_valid in (("Backward", True), ("BackwardTransitive", False)):
        registry.create_group(policy, AVRO)
        for schema in (oldest, user()):
            registry.add_schema(policy, schema)
        assert registry.is_valid(policy, newest, policy) is is_valid


def test_an_advanced_policy_begins_at_a_version(registry: SchemaRegistry) -> None:
    registry.create_group("g", AVRO)
    versions = [registry.add_schema("g", one) for one in (user(id_type="string"), user(), user(MAIL))]
    wide = user(MAIL, id_type="double")
    since = [Compatibility("Advanced", Direction("BackwardTill", till)) for till in versions]
    assert [registry.is_valid("g", wide, one) for one in since] == [False, True, True]
    registry.set_compatibility("g", since[1])
    assert registry.group_properties("g").compatibility == since[1]
    assert registry.add_schema("g", wide).version == 3
    both = Compatibility("Advanced", Direction("Backward"), Direction("ForwardTransitive"))
    assert not registry.is_valid("g", user(AGE), both)


def test_a_policy_is_changed_on_a_condition(registry: SchemaRegistry) -> None:
    registry.create_group("g", AVRO, "Backward")
    registry.set_compatibility("g", "Full", previous="Backward")
    with pytest.raises(ConditionFailedError):
        registry.set_compatibility("g", "AllowAny", previous="Backward")
    assert registry.group_properties("g").compatibility.policy == "Full"
    registry.add_schema("g", user())
    registry.set_compatibility("g", "DenyAll")
    assert [one.compatibility.policy for one in registry.history("g")] == ["Full"]
    with pytest.raises(NotFoundError):
        registry.set_compatibility("nope", "Full")


def test_can_read(registry: SchemaRegistry) -> None:
    registry.create_group("g", AVRO, "Backward")
    registry.add_schema("g", user())
    assert registry.can_read("g", user(MAIL))
    assert not registry.can_read("g", user(AGE))
    registry.set_compatibility("g", "AllowAny")
    assert registry.can_read("g", user(AGE))


def test_what_is_no_schema_of_the_group_is_refused(registry: SchemaRegistry) -> None:
    registry.create_group("g", AVRO, "AllowAny")
    registry.add_schema("g", user())
    with pytest.raises(IncompatibleSchemaError, match="takes Avro schemas"):
        registry.add_schema("g", PERSON)
    with pytest.raises(IncompatibleSchemaError, match="it has one type"):
        registry.add_schema("g", user(name="Order"))
    broken = SchemaInfo("demo.User", SerializationFormat(AVRO), b'{"x": 1}')
    for call in (registry.add_schema, registry.find_version, registry.can_read):
        with pytest.raises(BadInputError, match="Unable to parse schema"):
            call("g", broken)
    wrong = SchemaInfo("demo.Other", SerializationFormat(AVRO), user().data)
    with pytest.raises(BadInputError, match="Type mismatch"):
        registry.add_schema("g", wrong)
    with pytest.raises(NotFoundError):
        registry.add_schema("nope", user())


def test_codecs_and_encodings(registry: SchemaRegistry) -> None:
    registry.create_group("g", AVRO)
    first, second = registry.add_schema("g", user()), registry.add_schema("g", user(MAIL))
    assert registry.codecs("g") == []
    registry.add_codec("g", GZIP)
    registry.add_codec("g", CodecType("mine", {"level": "3"}))
    registry.add_codec("g", GZIP)
    assert registry.codecs("g") == [CodecType(GZIP), CodecType("mine", {"level": "3"})]
    asked = [(first, NO_CODEC), (second, GZIP), (second, NO_CODEC), (first, NO_CODEC), (second, GZIP)]
    assert [registry.encoding_id("g", *one) for one in asked] == [0, 1, 2, 0, 1]
    found = registry.encoding("g", 1)
    assert (found.schema, found.version, found.codec) == (user(MAIL), second, CodecType(GZIP))
    with pytest.raises(RefusedError, match="has no codec 'zstd'"):
        registry.encoding_id("g", first, "zstd")
    with pytest.raises(NotFoundError):
        registry.encoding_id("g", VersionInfo("demo.User", AVRO, 7, 7))
    with pytest.raises(NotFoundError):
        registry.encoding("g", 9)
    registry.delete_group("g")
    with pytest.raises(NotFoundError):
        registry.encoding("g", 1)


@pytest.mark.parametrize("codec", [NO_CODEC, GZIP, SNAPPY])
def test_events_of_each_format(registry: SchemaRegistry, codec: str) -> None:
    cases: list[tuple[SchemaInfo, Any]] = [
        (user(MAIL), {"id": 150, "name": "Ann", "mail": None}),
        (PERSON, {"id": 150, "more": [1, "ü"]}),
        (INFO, pb.StreamInfo(scope="s", stream="t", accessOperation=pb.StreamInfo.READ)),
    ]
    for schema, value in cases:
        group = schema.format.name
        event = Serializer(registry, group, schema, codec=codec, register=True).serialize(value)
        assert encoding_id_of(event) == 0
        found = Deserializer(registry, group).deserialize(event)
        if schema is INFO:
            assert found.SerializeToString() == value.SerializeToString()
        else:
            assert found == value


def test_events_of_several_versions_and_codecs_are_read_with_one_schema(registry: SchemaRegistry) -> None:
    registry.create_group("g", AVRO, "Backward")
    old = Serializer(registry, "g", user(), register=True).serialize({"id": 1, "name": "Ann"})
    new = Serializer(registry, "g", user(MAIL), codec=GZIP, register=True)
    events = [old, new.serialize({"id": 2, "name": "Bob", "mail": "b@c"}), old]
    plain, mine = Deserializer(registry, "g"), Deserializer(registry, "g", user(MAIL, id_type="double"))
    assert [plain.deserialize(one).get("mail", "-") for one in events] == ["-", "b@c", "-"]
    assert [mine.deserialize(one) for one in events[:2]] == [
        {"id": 1.0, "name": "Ann", "mail": None},
        {"id": 2.0, "name": "Bob", "mail": "b@c"},
    ]
    with pytest.raises(NotFoundError):
        plain.deserialize(b"\x01\x00\x00\x00\x09" + old[5:])
    with pytest.raises(BadInputError, match="ends in the middle"):
        plain.deserialize(old[:-1])


def test_a_serializer_registers_nothing_unless_it_is_told_to(registry: SchemaRegistry) -> None:
    registry.create_group("g", AVRO)
    with pytest.raises(NotFoundError, match="register=True"):
        Serializer(registry, "g", user()).serialize({"id": 1, "name": "Ann"})
    assert registry.versions("g") == []
    with pytest.raises(NotFoundError):
        Serializer(registry, "nope", user()).serialize({"id": 1, "name": "Ann"})
    assert set(registry.list_groups()) == {"g"}


def test_json_and_protobuf_without_a_header(registry: SchemaRegistry) -> None:
    for schema, value in ((PERSON, {"id": 1}), (INFO, {"scope": "s"})):
        writer = Serializer(registry, schema.type, schema, register=True, with_header=False)
        event = writer.serialize(value)
        found = Deserializer(registry, schema.type, with_header=False).deserialize(event)
        assert found == value if schema is PERSON else found.scope == "s"
    with pytest.raises(BadInputError, match="need their header"):
        Serializer(registry, "g", user(), with_header=False)


# With Java


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy"])
def test_python_reads_what_java_writes(registry: SchemaRegistry, java: JavaPeer, codec: str) -> None:
    found = {}
    for kind in (AVRO, JSON, PROTOBUF):
        event = bytes.fromhex(java.ask("write", kind, kind, codec))
        found[kind] = Deserializer(registry, kind).deserialize(event)
    assert found[AVRO] == {"id": 150, "name": "Ann", "mail": "a@b"}
    assert found[JSON] == {"id": 150, "name": "Ann"}
    assert (found[PROTOBUF].id, found[PROTOBUF].name) == (150, "Ann")


@pytest.mark.parametrize("codec", [NO_CODEC, GZIP, SNAPPY])
def test_java_reads_what_python_writes(registry: SchemaRegistry, java: JavaPeer, codec: str) -> None:
    values = {
        AVRO: {"id": 7, "name": "Bob", "mail": None},
        JSON: {"id": 7, "name": "Bob"},
        PROTOBUF: {"id": 7},
    }
    schemas = {AVRO: user(MAIL), JSON: PERSON}
    java.ask("write", PROTOBUF, PROTOBUF, "none")
    schemas[PROTOBUF] = registry.schema(PROTOBUF, 0)
    expected = {AVRO: values[AVRO], JSON: values[JSON], PROTOBUF: {"id": "7"}}
    for kind, value in values.items():
        event = Serializer(registry, kind, schemas[kind], codec=codec, register=True).serialize(value)
        assert json.loads(java.ask("read", kind, kind, event.hex())) == expected[kind]


def test_java_and_python_share_versions_and_encoding_ids(registry: SchemaRegistry, java: JavaPeer) -> None:
    from_java = bytes.fromhex(java.ask("write", AVRO, "g", "gzip"))
    serializer = Serializer(registry, "g", user(MAIL), codec=GZIP, register=True)
    from_python = serializer.serialize({"id": 150, "name": "Ann", "mail": "a@b"})
    assert encoding_id_of(from_python) == encoding_id_of(from_java)
    assert len(registry.versions("g")) == 1
    assert java.ask("history", "g") == "0 demo.User AllowAny;"
    assert java.ask("groups") == "{g=Avro}"
    registry.create_group("more", JSON)
    assert java.ask("groups") == "{g=Avro, more=Json}"
    assert java.ask("write", AVRO, "more", "none").startswith("ERROR SerializationMismatchException")
    assert java.ask("history", "nope").startswith("ERROR ResourceNotFoundException")
