"""The formats: a value as the body of an event, and a body as a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from pravega_lab.client.registry.serializers.messages import message_class
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.avro.datum import read_datum, write_datum
from pravega_lab.protocol.avro.schema import parse_schema
from pravega_lab.protocol.registry.names import AVRO, JSON, PROTOBUF
from pravega_lab.protocol.registry.values import SchemaInfo


class Format(Protocol):
    """Writes and reads bodies of one schema."""

    def write(self, value: Any) -> bytes:
        """Return the body of a value. Raises `BadInputError`."""

    def read(self, body: bytes) -> Any:
        """Return the value of a body, after which zeros may follow. Raises `BadInputError`."""


class AvroFormat:
    """Avro's binary encoding. ``reader`` replaces the schema when it reads."""

    def __init__(self, schema: SchemaInfo, reader: SchemaInfo | None = None) -> None:
        self._writer = parse_schema(schema.data)
        self._reader = None if reader is None else parse_schema(reader.data)

    def write(self, value: Any) -> bytes:
        """Return the datum."""
        return write_datum(self._writer, value)

    def read(self, body: bytes) -> Any:
        """Return the value of the datum. What follows it is ignored."""
        return read_datum(body, self._writer, self._reader)


class JsonFormat:
    """JSON text. The schema is not applied: neither the registry nor Java's serializer do."""

    def write(self, value: Any) -> bytes:
        """Return the text without spaces."""
        try:
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise BadInputError(f"a {type(value).__name__} is no JSON value: {error}") from None

    def read(self, body: bytes) -> Any:
        """Return the value of the text."""
        try:
            return json.loads(body.rstrip(b"\0"))
        except (ValueError, RecursionError) as error:
            raise BadInputError(f"{len(body)} bytes are no JSON: {error}") from None


class ProtobufFormat:
    """Messages of Protobuf. A value is a message, or a dictionary with its fields."""

    def __init__(self, schema: SchemaInfo) -> None:
        self._class = message_class(schema.data, schema.type)

    def write(self, value: Any) -> bytes:
        """Return the encoded message."""
        from google.protobuf.json_format import ParseDict, ParseError
        from google.protobuf.message import EncodeError, Message

        try:
            if isinstance(value, Mapping):
                value = ParseDict(dict(value), self._class())
            if (
                not isinstance(value, Message)
                or value.DESCRIPTOR.full_name != self._class.DESCRIPTOR.full_name
            ):
                name = self._class.DESCRIPTOR.full_name
                raise BadInputError(f"a {type(value).__name__} is no {name}: give a message or a dictionary")
            return value.SerializeToString()
        except (ParseError, EncodeError) as error:
            raise BadInputError(f"no {self._class.DESCRIPTOR.full_name}: {error}") from None

    def read(self, body: bytes) -> Any:
        """Return the message."""
        from google.protobuf.message import DecodeError

        try:
            return self._class.FromString(body)
        except DecodeError:
            pass
        try:
            return self._class.FromString(body.rstrip(b"\0"))  # of a buffer that Java compressed
        except DecodeError as error:
            name = self._class.DESCRIPTOR.full_name
            raise BadInputError(f"{len(body)} bytes are no {name}: {error}") from None


def format_of(schema: SchemaInfo, reader: SchemaInfo | None = None) -> Format:
    """Return the format of a schema. Raises `BadInputError` for one that has no serializer here."""
    if reader is not None and (reader.format.kind, schema.format.kind) != (AVRO, AVRO):
        raise BadInputError("a schema to read with is for Avro only")
    match schema.format.kind:
        case kind if kind == AVRO:
            return AvroFormat(schema, reader)
        case kind if kind == JSON:
            return JsonFormat()
        case kind if kind == PROTOBUF:
            return ProtobufFormat(schema)
    raise BadInputError(
        f"there is no serializer of the format {schema.format.name!r}: take Avro, Json, Protobuf"
    )
