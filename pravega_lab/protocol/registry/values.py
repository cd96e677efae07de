"""Groups, schemas, codecs and encodings as values, with the JSON that stands for them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.registry.compatibility import Compatibility
from pravega_lab.protocol.registry.names import NO_CODEC, SerializationFormat
from pravega_lab.protocol.registry.versions import VersionInfo


@dataclass(frozen=True, slots=True)
class GroupProperties:
    """What a group is created with.

    Attributes:
        format: Format of all its schemas. ``Any`` takes schemas of every format.
        compatibility: Which new schemas it takes.
        allow_multiple_types: Whether its schemas may describe different types.
        properties: The user's own texts.
    """

    format: SerializationFormat
    compatibility: Compatibility
    allow_multiple_types: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for the properties."""
        return {
            "serializationFormat": self.format.to_json(),
            "compatibility": self.compatibility.to_json(),
            "allowMultipleTypes": self.allow_multiple_types,
            "properties": dict(self.properties),
        }

    @classmethod
    def of_json(cls, found: Any) -> GroupProperties:
        """Return the properties that an object stands for. Raises `BadInputError`."""
        if not isinstance(found, dict):
            raise BadInputError("group properties cannot be null")
        if found.get("serializationFormat") is None:
            raise BadInputError("serialization format cannot be null")
        format_ = SerializationFormat.of_json(found["serializationFormat"])
        compatibility = Compatibility.of_json(found.get("compatibility"))
        multiple = found.get("allowMultipleTypes")
        if not isinstance(multiple, bool):
            raise BadInputError("is allow multiple type cannot be null")
        return cls(format_, compatibility, multiple, texts(found, "properties"))


@dataclass(frozen=True, slots=True)
class SchemaInfo:
    """A schema.

    Attributes:
        type: The name of what it describes. The registry completes an empty name for Avro and Protobuf.
        format: The serialization format.
        data: The schema: UTF-8 text of Avro and JSON Schema, a serialized ``FileDescriptorSet`` of Protobuf.
        properties: The user's own texts.
    """

    type: str
    format: SerializationFormat
    data: bytes
    properties: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for the schema."""
        return {
            "type": self.type,
            "serializationFormat": self.format.to_json(),
            "schemaData": base64.b64encode(self.data).decode(),
            "properties": dict(self.properties),
        }

    @classmethod
    def of_json(cls, found: Any) -> SchemaInfo:
        """Return the schema that an object stands for. Raises `BadInputError`."""
        if not isinstance(found, dict):
            raise BadInputError("schema info cannot be null")
        kind = found.get("type")
        if not isinstance(kind, str):
            raise BadInputError("SchemaInfo type cannot be null")
        if found.get("serializationFormat") is None:
            raise BadInputError("SchemaInfo serialization format cannot be null")
        format_ = SerializationFormat.of_json(found["serializationFormat"])
        return cls(kind, format_, _bytes(found.get("schemaData")), texts(found, "properties"))


class SchemaWithVersion(NamedTuple):
    """Holds a schema and its place in the group."""

    schema: SchemaInfo
    version: VersionInfo

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for both."""
        return {"schemaInfo": self.schema.to_json(), "versionInfo": self.version.to_json()}

    @classmethod
    def of_json(cls, found: Any) -> SchemaWithVersion:
        """Return what an object stands for. Raises `BadInputError`."""
        found = found if isinstance(found, dict) else {}
        return cls(SchemaInfo.of_json(found.get("schemaInfo")), VersionInfo.of_json(found.get("versionInfo")))


@dataclass(frozen=True, slots=True)
class CodecType:
    """A codec that encodings of a group may use. The empty name stands for no codec."""

    name: str = NO_CODEC
    properties: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for the codec."""
        return {"name": self.name, "properties": dict(self.properties)}

    @classmethod
    def of_json(cls, found: Any) -> CodecType:
        """Return the codec that an object stands for. Raises `BadInputError`."""
        name = found.get("name") if isinstance(found, dict) else None
        if not isinstance(name, str):
            raise BadInputError("CodecType.name cannot be null")
        return cls(name, texts(found, "properties"))


@dataclass(frozen=True, slots=True)
class EncodingInfo:
    """What an encoding id stands for: a version of a schema, and a codec."""

    schema: SchemaInfo
    version: VersionInfo
    codec: CodecType

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for the encoding."""
        return {
            "schemaInfo": self.schema.to_json(),
            "versionInfo": self.version.to_json(),
            "codecType": self.codec.to_json(),
        }

    @classmethod
    def of_json(cls, found: Any) -> EncodingInfo:
        """Return the encoding that an object stands for. Raises `BadInputError`."""
        schema, version = SchemaWithVersion.of_json(found)
        return cls(schema, version, CodecType.of_json(found.get("codecType")))


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """One schema of a group's history.

    Attributes:
        schema, version: The schema and its place in the group.
        compatibility: The policy that held when the schema was added.
        timestamp_ms: When it was added, in ms since 1970.
        text: The schema in a form for people.
    """

    schema: SchemaInfo
    version: VersionInfo
    compatibility: Compatibility
    timestamp_ms: int
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for the record."""
        return {
            "schemaInfo": self.schema.to_json(),
            "versionInfo": self.version.to_json(),
            "compatibility": self.compatibility.to_json(),
            "timestamp": self.timestamp_ms,
            "schemaString": self.text,
        }

    @classmethod
    def of_json(cls, found: Any) -> HistoryRecord:
        """Return the record that an object stands for. Raises `BadInputError`."""
        schema, version = SchemaWithVersion.of_json(found)
        compatibility = Compatibility.of_json(found.get("compatibility"))
        return cls(
            schema, version, compatibility, int(found["timestamp"]), str(found.get("schemaString", ""))
        )


def texts(found: Mapping[str, Any], member: str) -> dict[str, str]:
    """Return a member that maps texts to texts; missing and null are empty. Raises `BadInputError`."""
    given = found.get(member)
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise BadInputError(f"{member}: give an object whose members are texts")
    return dict(given)


def _bytes(encoded: Any) -> bytes:
    if not isinstance(encoded, str):
        raise BadInputError("schema data cannot be null")
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInputError(f"schemaData: Failed to decode as base64: {error}") from None
