"""Check a schema by its format, complete its type, and bring it into the form that is compared."""

from __future__ import annotations

from typing import NamedTuple

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.registry.names import ANY, AVRO, JSON, PROTOBUF
from pravega_lab.protocol.registry.values import SchemaInfo

from .avro_schema import normal_avro
from .json_schema import normal_json
from .protobuf_schema import normal_protobuf, text_of_descriptors


class Normal(NamedTuple):
    """A schema that was checked.

    Attributes:
        type: Its type, completed from the schema.
        data: Bytes that are equal for schemas that are the same.
    """

    type: str
    data: bytes


def normalise(schema: SchemaInfo) -> Normal:
    """Check a schema.

    Raises:
        BadInputError: It is none of its format, or describes another type than it says.
    """
    match schema.format.kind:
        case kind if kind == AVRO:
            return Normal(*normal_avro(schema.type, schema.data))
        case kind if kind == JSON:
            return Normal(schema.type, normal_json(schema.data))
        case kind if kind == PROTOBUF:
            return Normal(*normal_protobuf(schema.type, schema.data))
        case kind if kind == ANY:
            raise BadInputError("Invalid Serialization Format.")
    return Normal(schema.type, schema.data)


def text_of(schema: SchemaInfo) -> str:
    """Return a stored schema for people: its text, or the descriptors of Protobuf as JSON."""
    if schema.format.kind == PROTOBUF:
        return text_of_descriptors(schema.data)
    return schema.data.decode("utf-8", "replace")
