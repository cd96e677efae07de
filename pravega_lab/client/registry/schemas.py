"""Make a `SchemaInfo` of what a program has: a text, a dictionary, a message class."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.avro.schema import parse_schema
from pravega_lab.protocol.registry.names import AVRO, JSON, PROTOBUF, SerializationFormat
from pravega_lab.protocol.registry.values import SchemaInfo

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.message import Message


def avro_schema(schema: str | Mapping[str, Any], properties: Mapping[str, str] | None = None) -> SchemaInfo:
    """Return an Avro schema from its JSON text or its values. Raises `BadInputError`."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    parsed = parse_schema(text)
    return SchemaInfo(parsed.name or parsed.kind, SerializationFormat(AVRO), text.encode(), properties or {})


def json_schema(
    schema: str | Mapping[str, Any], type: str = "", properties: Mapping[str, str] | None = None
) -> SchemaInfo:
    """Return a JSON Schema from its text or its values.

    Args:
        type: The name of what it describes, by default its title.

    Raises:
        BadInputError: The text is no JSON object.
    """
    text = schema if isinstance(schema, str) else json.dumps(schema)
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BadInputError(f"no JSON Schema: {error}") from None
    if not isinstance(found, dict):
        raise BadInputError("no JSON Schema: it is no object")
    return SchemaInfo(
        type or str(found.get("title", "")), SerializationFormat(JSON), text.encode(), properties or {}
    )


def protobuf_schema(
    message: type[Message] | Descriptor, properties: Mapping[str, str] | None = None
) -> SchemaInfo:
    """Return the schema of a message class, or of its descriptor, with all files that it needs."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    descriptor: Any = getattr(message, "DESCRIPTOR", message)
    files: dict[str, FileDescriptor] = {}

    def add(file: FileDescriptor) -> None:
        if file.name not in files:
            for needed in file.dependencies:
                add(needed)
            files[file.name] = file

    add(descriptor.file)
    found = FileDescriptorSet()
    # The file of the message first: the registry takes the type from there.
    for file in [descriptor.file, *(f for f in files.values() if f is not descriptor.file)]:
        proto = FileDescriptorProto()
        file.CopyToProto(proto)
        found.file.append(proto)
    data = found.SerializeToString(deterministic=True)
    return SchemaInfo(descriptor.full_name, SerializationFormat(PROTOBUF), data, properties or {})
