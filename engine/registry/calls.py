"""What each call of the registry does: it reads the state, and returns an answer and the records to keep.

A call changes nothing by itself. Source: schema-registry.md A1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.registry.compatibility import Compatibility
from pravega_lab.protocol.registry.names import ALLOW_ANY, ANY, AVRO, DENY_ALL
from pravega_lab.protocol.registry.values import (
    CodecType,
    EncodingInfo,
    GroupProperties,
    HistoryRecord,
    SchemaInfo,
)
from pravega_lab.protocol.registry.versions import VersionInfo

from .compatibility import accepts, reads_group
from .formats.normal import normalise, text_of
from .records import CODEC, CREATED, ENCODING, ENDED, Record, record
from .requests import Answer, RefusedRequestError, Request, json_answer
from .state import Group, State, StoredSchema, digest_of

PAGE_MAX = 1000
NAME_LETTERS_MAX = 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a registry keeps. What exceeds it is refused with 507."""

    groups: int = 10_000
    of_group: int = 10_000
    """Schemas of a group, also its codecs and its encodings."""


class Decision(NamedTuple):
    """An answer, and the records to keep before it is sent."""

    answer: Answer
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What a call works with.

    Attributes:
        state: The groups.
        request: The request, with the decoded parts of its path in ``parts``.
        is_visible: Whether the caller may see a group (namespace, name).
    """

    state: State
    request: Request
    parts: Mapping[str, str]
    namespace: str
    now_ms: int
    limits: Limits
    is_visible: Callable[[str, str], bool]

    @property
    def group(self) -> Group:
        """Return the group that the path names."""
        found = self.state.groups.get((self.namespace, self.parts["group"]))
        if found is None:
            raise RefusedRequestError(404)
        return found


def ping(context: Context) -> Decision:
    """Answer that the registry is there."""
    return Decision(Answer(200))


def list_groups(context: Context) -> Decision:
    """List the groups of a namespace, a page at a time."""
    query = context.request.query
    token, limit = _whole(query, "continuationToken", 0), min(_whole(query, "limit", PAGE_MAX, 1), PAGE_MAX)
    groups = context.state.of_namespace(context.namespace)
    later = [g for g in groups if g.number > token and context.is_visible(g.namespace, g.name)][:limit]
    found = {group.name: group.properties.to_json() for group in later}
    last = later[-1].number if later else token
    return Decision(json_answer({"groups": found, "continuationToken": str(last)}))


def create_group(context: Context) -> Decision:
    """Create a group."""
    found, state = context.request.json(), context.state
    name = found.get("groupName")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_LETTERS_MAX:
        raise BadInputError(f"groupName: give a text of 1 to {NAME_LETTERS_MAX} letters")
    properties = GroupProperties.of_json(found.get("groupProperties"))
    if properties.format.kind != AVRO and properties.compatibility.policy not in (ALLOW_ANY, DENY_ALL):
        raise BadInputError(
            f"a group of {properties.format.name} schemas takes the policies {ALLOW_ANY} and {DENY_ALL} only,"
            f" not {properties.compatibility.policy}: the registry compares Avro schemas alone"
        )
    if (context.namespace, name) in state.groups:
        raise RefusedRequestError(409)
    _check_count(len(state.groups), context.limits.groups, "groups of the registry")
    ended = state.ended.get((context.namespace, name))
    group = Group(state.created + 1, context.namespace, name, properties)
    removals: tuple[Record, ...] = ()
    if ended is not None:
        group.first_encoding, removals = ended.next_encoding, (record(ENDED, ended.number),)
    created = record(CREATED, value=group.number)
    return Decision(Answer(201), (created, group.to_record(), *removals))


def get_group(context: Context) -> Decision:
    """Return the properties of a group."""
    return Decision(json_answer(context.group.properties.to_json()))


def delete_group(context: Context) -> Decision:
    """Delete a group with its schemas. A group that does not exist is fine."""
    group = context.state.groups.get((context.namespace, context.parts["group"]))
    return Decision(Answer(204), () if group is None else tuple(group.removals()))


def get_history(context: Context) -> Decision:
    """Return every visible schema with the policy under which it was added."""
    history = [
        HistoryRecord(s.schema, s.version, s.compatibility, s.timestamp_ms, text_of(s.schema)).to_json()
        for s in context.group.visible(context.request.query.get("type"))
    ]
    return Decision(json_answer({"history": history}))


def set_compatibility(context: Context) -> Decision:
    """Change the policy of a group, if it is ``previousCompatibility`` where that is given."""
    group, found = context.group, context.request.json()
    wanted = Compatibility.of_json(found.get("compatibility"))
    previous = found.get("previousCompatibility")
    if previous is not None and Compatibility.of_json(previous) != group.properties.compatibility:
        raise RefusedRequestError(409)
    properties = replace(group.properties, compatibility=wanted)
    return Decision(Answer(200), (group.to_record(properties),))


# Schemas


def get_schemas(context: Context) -> Decision:
    """Return the latest schema of each type."""
    latest = context.group.latest(context.request.query.get("type"))
    return Decision(json_answer({"schemas": [s.with_version.to_json() for s in latest]}))


def get_versions(context: Context) -> Decision:
    """Return all visible schemas."""
    visible = context.group.visible(context.request.query.get("type"))
    return Decision(json_answer({"schemas": [s.with_version.to_json() for s in visible]}))


def add_schema(context: Context) -> Decision:
    """Add a schema and return its version. A schema that is there already keeps its version."""
    group, schema = context.group, SchemaInfo.of_json(context.request.json())
    normal = normalise(schema)
    same = group.find(schema.format.name, normal)
    if same is not None:
        return Decision(json_answer(same.version.to_json(), 201))
    schema = replace(schema, type=normal.type)
    _check_format(group, schema)
    if not accepts(group, schema, group.properties.compatibility):
        raise RefusedRequestError(409)
    _check_count(len(group.schemas), context.limits.of_group, "schemas of the group")
    name = schema.format.name
    number = sum(s.version[:2] == (schema.type, name) for s in group.schemas)
    version = VersionInfo(schema.type, name, number, len(group.schemas))
    policy, digest = group.properties.compatibility, digest_of(normal.data)
    stored = StoredSchema(schema, version, policy, context.now_ms, digest)
    return Decision(json_answer(version.to_json(), 201), (group.schema_record(stored),))


def find_version(context: Context) -> Decision:
    """Return the version of a schema."""
    group, schema = context.group, SchemaInfo.of_json(context.request.json())
    found = group.find(schema.format.name, normalise(schema))
    if found is None:
        raise RefusedRequestError(404)
    return Decision(json_answer(found.version.to_json()))


def validate(context: Context) -> Decision:
    """Return whether a group would take a schema, under its policy or under another one."""
    group, found = context.group, context.request.json()
    schema, policy = SchemaInfo.of_json(found.get("schemaInfo")), found.get("compatibility")
    schema = replace(schema, type=normalise(schema).type)
    _check_format(group, schema)
    wanted = group.properties.compatibility if policy is None else Compatibility.of_json(policy)
    return Decision(json_answer({"valid": accepts(group, schema, wanted)}))


def can_read(context: Context) -> Decision:
    """Return whether a schema reads what is in a group."""
    schema = SchemaInfo.of_json(context.request.json())
    schema = replace(schema, type=normalise(schema).type)
    return Decision(json_answer({"compatible": reads_group(context.group, schema)}))


def get_schema(context: Context) -> Decision:
    """Return a schema by its id or its version, also a deleted one."""
    return Decision(json_answer(_named_schema(context).schema.to_json()))


def delete_schema(context: Context) -> Decision:
    """Hide a schema. A hidden one stays hidden."""
    found, group = _named_schema(context), context.group
    if found.is_deleted:
        return Decision(Answer(204))
    return Decision(Answer(204), (group.schema_record(replace(found, is_deleted=True)),))


def references(context: Context) -> Decision:
    """Return the version of a schema in each group that has it."""
    schema = SchemaInfo.of_json(context.request.json())
    normal, name = normalise(schema), schema.format.name
    groups = context.state.of_namespace(context.namespace)
    found = {
        group.name: same.version.to_json()
        for group in groups
        if context.is_visible(group.namespace, group.name) and (same := group.find(name, normal)) is not None
    }
    return Decision(json_answer({"groups": found}))


# Codecs and encodings


def get_codecs(context: Context) -> Decision:
    """Return the codecs of a group."""
    codecs = [codec.to_json() for codec in context.group.codecs.values()]
    return Decision(json_answer({"codecTypes": codecs}))


def add_codec(context: Context) -> Decision:
    """Add a codec. One that is there keeps its properties."""
    group, codec = context.group, CodecType.of_json(context.request.json())
    if group.codec(codec.name) is not None:
        return Decision(Answer(201))
    _check_count(len(group.codecs), context.limits.of_group, "codecs of the group")
    return Decision(Answer(201), (record(CODEC, group.number, len(group.codecs), value=codec.to_json()),))


def get_encoding_id(context: Context) -> Decision:
    """Return the encoding id of a version and a codec, a new one at the first time."""
    group, found = context.group, context.request.json()
    version, codec = VersionInfo.of_json(found.get("versionInfo")), found.get("codecType")
    if not isinstance(codec, str):
        raise BadInputError("codecType cannot be null: give the name of a codec, or '' for none")
    if not 0 <= version.id < len(group.schemas):
        raise RefusedRequestError(404)
    if group.codec(codec) is None:
        raise RefusedRequestError(412, f"codec {codec} not registered")
    known = group.by_encoding.get((version, codec))
    if known is not None:
        return Decision(json_answer({"encodingId": known}))
    count = len(group.encodings)
    _check_count(count, context.limits.of_group, "encodings of the group")
    value = {"version": version.to_json(), "codec": codec}
    kept = record(ENCODING, group.number, count, value=value)
    return Decision(json_answer({"encodingId": group.next_encoding}), (kept,))


def get_encoding(context: Context) -> Decision:
    """Return what an encoding id stands for."""
    group, number = context.group, _number(context.parts["id"])
    found = None if number is None else group.encoding(number)
    if found is None:
        raise RefusedRequestError(404)
    version, name = found
    codec = group.codec(name)
    assert codec is not None
    return Decision(json_answer(EncodingInfo(group.schemas[version.id].schema, version, codec).to_json()))


def _named_schema(context: Context) -> StoredSchema:
    group, parts = context.group, context.parts
    number = _number(parts["id"] if "id" in parts else parts["version"])
    found: StoredSchema | None = None
    if number is not None and "id" in parts:
        found = group.schemas[number] if number < len(group.schemas) else None
    elif number is not None:
        found = group.by_version(parts["format"], parts["type"], number)
    if found is None:
        raise RefusedRequestError(404)
    return found


def _check_format(group: Group, schema: SchemaInfo) -> None:
    if group.properties.format.kind not in (ANY, schema.format.kind):
        raise RefusedRequestError(417, schema.format.name)


def _check_count(count: int, limit: int, what: str) -> None:
    if count >= limit:
        raise RefusedRequestError(507, f"the {what} are {count}, and more are not kept. Delete some.")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else None


def _whole(query: Mapping[str, str], name: str, default: int, least: int = 0) -> int:
    text = query.get(name, "")
    if not text:
        return default
    number = _number(text)
    if number is None or number < least:
        raise BadInputError(f"{name}: {text!r} is no whole number from {least}, as this registry returned it")
    return number


Call = Callable[[Context], Decision]
