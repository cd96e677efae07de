"""The groups of a registry, in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pravega_lab.protocol.registry.compatibility import Compatibility
from pravega_lab.protocol.registry.names import NO_CODEC
from pravega_lab.protocol.registry.values import CodecType, GroupProperties, SchemaInfo, SchemaWithVersion
from pravega_lab.protocol.registry.versions import VersionInfo

from .formats.normal import Normal
from .records import CODEC, CREATED, ENCODING, ENDED, GROUP, KINDS, SCHEMA, Record, parse_key, record


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """A schema of a group. A deleted one is hidden, and still found by id, version and encoding."""

    schema: SchemaInfo
    version: VersionInfo
    compatibility: Compatibility
    timestamp_ms: int
    digest: str
    is_deleted: bool = False

    @property
    def with_version(self) -> SchemaWithVersion:
        """Return the schema and its version."""
        return SchemaWithVersion(self.schema, self.version)

    @property
    def identity(self) -> tuple[str, str, str]:
        """Return what no two visible schemas of a group share."""
        return self.version.format_name, self.version.type, self.digest

    def to_json(self) -> dict[str, Any]:
        """Return the value of the schema's record."""
        return {
            "schema": self.schema.to_json(),
            "version": self.version.to_json(),
            "compatibility": self.compatibility.to_json(),
            "timestamp": self.timestamp_ms,
            "digest": self.digest,
            "deleted": self.is_deleted,
        }

    @classmethod
    def of_json(cls, found: Any) -> StoredSchema:
        """Return the schema of a record."""
        return cls(
            SchemaInfo.of_json(found["schema"]),
            VersionInfo.of_json(found["version"]),
            Compatibility.of_json(found["compatibility"]),
            *(found["timestamp"], found["digest"], found["deleted"]),
        )


class Ended(NamedTuple):
    """A deleted group, by its number, and the encoding id with which the next group of its name begins."""

    number: int
    next_encoding: int


@dataclass(eq=False, slots=True)
class Group:
    """A group. ``number`` is its own among all groups ever created, from 1.

    ``first_encoding`` is the id of its first encoding. It is 0 unless an earlier group had the same name.
    """

    number: int
    namespace: str
    name: str
    properties: GroupProperties
    first_encoding: int = 0
    schemas: list[StoredSchema] = field(default_factory=list)
    codecs: dict[str, CodecType] = field(default_factory=dict)
    encodings: list[tuple[VersionInfo, str]] = field(default_factory=list)
    by_identity: dict[tuple[str, str, str], int] = field(default_factory=dict)
    by_encoding: dict[tuple[VersionInfo, str], int] = field(default_factory=dict)

    def visible(self, type_: str | None = None) -> list[StoredSchema]:
        """Return the schemas that are not deleted, of one type or of all, in the order of their ids."""
        return [s for s in self.schemas if not s.is_deleted and type_ in (None, s.version.type)]

    def latest(self, type_: str | None = None) -> list[StoredSchema]:
        """Return the last visible schema of each type and format, in the order of their ids."""
        last = {(s.version.format_name, s.version.type): s for s in self.visible(type_)}
        return sorted(last.values(), key=lambda s: s.version.id)

    def find(self, format_name: str, normal: Normal) -> StoredSchema | None:
        """Return the visible schema that is the same."""
        number = self.by_identity.get((format_name, normal.type, digest_of(normal.data)))
        return None if number is None else self.schemas[number]

    def by_version(self, format_name: str, type_: str, version: int) -> StoredSchema | None:
        """Return a schema by its version, deleted or not."""
        wanted = (type_, format_name, version)
        return next((s for s in self.schemas if s.version[:3] == wanted), None)

    def codec(self, name: str) -> CodecType | None:
        """Return a codec of the group. No codec at all is one too."""
        return CodecType() if name == NO_CODEC else self.codecs.get(name)

    @property
    def next_encoding(self) -> int:
        """Return the id of the next encoding."""
        return self.first_encoding + len(self.encodings)

    def encoding(self, number: int) -> tuple[VersionInfo, str] | None:
        """Return the version and the codec of an encoding id."""
        is_known = self.first_encoding <= number < self.next_encoding
        return self.encodings[number - self.first_encoding] if is_known else None

    # Records of changes

    def to_record(self, properties: GroupProperties | None = None) -> Record:
        """Return the group's record, with other ``properties`` if some are given."""
        value = {
            "namespace": self.namespace,
            "name": self.name,
            "properties": (properties or self.properties).to_json(),
            "first_encoding": self.first_encoding,
        }
        return record(GROUP, self.number, value=value)

    def schema_record(self, stored: StoredSchema) -> Record:
        """Return the record of a schema."""
        return record(SCHEMA, self.number, stored.version.id, value=stored.to_json())

    def removals(self) -> Iterator[Record]:
        """Yield the removal of every record of the group, and what it leaves if it has encoding ids."""
        yield record(GROUP, self.number)
        for kind, count in ((SCHEMA, self.schemas), (CODEC, self.codecs), (ENCODING, self.encodings)):
            yield from (record(kind, self.number, number) for number in range(len(count)))
        if self.next_encoding:
            value = {"namespace": self.namespace, "name": self.name, "next_encoding": self.next_encoding}
            yield record(ENDED, self.number, value=value)


class State:
    """All groups. ``created`` counts the groups that were ever created.

    ``ended`` has the last deleted group of each namespace and name that has none now.
    """

    def __init__(self, records: Iterable[tuple[str, bytes]] = ()) -> None:
        self.groups: dict[tuple[str, str], Group] = {}
        self.ended: dict[tuple[str, str], Ended] = {}
        self.created = 0
        self._by_number: dict[int, Group] = {}
        order = {kind: number for number, kind in enumerate(KINDS)}
        found = [(*parse_key(key), value) for key, value in records]
        for kind, numbers, value in sorted(found, key=lambda one: (order[one[0]], one[1])):
            self._put(kind, numbers, json.loads(value))

    def apply(self, records: Iterable[Record]) -> None:
        """Apply the records of a change."""
        for key, value in records:
            kind, numbers = parse_key(key)
            if value is not None:
                self._put(kind, numbers, json.loads(value))
            elif kind == GROUP:
                group = self._by_number.pop(numbers[0])
                del self.groups[group.namespace, group.name]

    def of_namespace(self, namespace: str) -> list[Group]:
        """Return the groups of a namespace in the order of their creation."""
        return [group for group in self._by_number.values() if group.namespace == namespace]

    def _put(self, kind: str, numbers: tuple[int, ...], value: Any) -> None:
        if kind == CREATED:
            self.created = value
        elif kind == GROUP:
            self._put_group(numbers[0], value)
        elif kind == ENDED:
            self.ended[value["namespace"], value["name"]] = Ended(numbers[0], value["next_encoding"])
        else:
            group = self._by_number[numbers[0]]
            if kind == SCHEMA:
                _put_schema(group, StoredSchema.of_json(value))
            elif kind == CODEC:
                codec = CodecType.of_json(value)
                group.codecs[codec.name] = codec
            else:
                encoding = (VersionInfo.of_json(value["version"]), value["codec"])
                group.by_encoding[encoding] = group.next_encoding
                group.encodings.append(encoding)

    def _put_group(self, number: int, value: Any) -> None:
        properties = GroupProperties.of_json(value["properties"])
        known = self._by_number.get(number)
        if known is not None:
            known.properties = properties
            return
        first_encoding = value.get("first_encoding", 0)
        group = Group(number, value["namespace"], value["name"], properties, first_encoding)
        self._by_number[number] = self.groups[group.namespace, group.name] = group
        self.ended.pop((group.namespace, group.name), None)


def _put_schema(group: Group, stored: StoredSchema) -> None:
    number = stored.version.id
    if number == len(group.schemas):
        group.schemas.append(stored)
    else:
        group.schemas[number] = stored
    if stored.is_deleted:
        group.by_identity.pop(stored.identity, None)
    else:
        group.by_identity[stored.identity] = number


def digest_of(data: bytes) -> str:
    """Return the digest by which schemas are compared."""
    return hashlib.sha256(data).hexdigest()
