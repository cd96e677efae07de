"""Provide the client of a schema registry, and serializers that write and read events with its encodings.

`SchemaRegistry` is for synchronous programs, `AsyncSchemaRegistry` for asyncio. Both work with the registry
of the embedded store and with a released Pravega schema registry 0.6.0. Source: schema-registry.md A1 to A3.

User programs, rows, tables and the lab import it. It imports connections and the protocol.
"""

from pravega_lab.client.registry.core import AsyncSchemaRegistry
from pravega_lab.client.registry.schemas import avro_schema, json_schema, protobuf_schema
from pravega_lab.client.registry.serializers.deserializer import AsyncDeserializer
from pravega_lab.client.registry.serializers.serializer import AsyncSerializer
from pravega_lab.client.registry.sync import Deserializer, SchemaRegistry, Serializer
from pravega_lab.protocol.registry.compatibility import Compatibility, Direction
from pravega_lab.protocol.registry.names import (
    AVRO,
    GZIP,
    JSON,
    NO_CODEC,
    PROTOBUF,
    SNAPPY,
    SerializationFormat,
)
from pravega_lab.protocol.registry.values import (
    CodecType,
    EncodingInfo,
    GroupProperties,
    HistoryRecord,
    SchemaInfo,
    SchemaWithVersion,
)
from pravega_lab.protocol.registry.versions import VersionInfo

__all__ = [
    "AVRO",
    "GZIP",
    "JSON",
    "NO_CODEC",
    "PROTOBUF",
    "SNAPPY",
    "AsyncDeserializer",
    "AsyncSchemaRegistry",
    "AsyncSerializer",
    "CodecType",
    "Compatibility",
    "Deserializer",
    "Direction",
    "EncodingInfo",
    "GroupProperties",
    "HistoryRecord",
    "SchemaInfo",
    "SchemaRegistry",
    "SchemaWithVersion",
    "SerializationFormat",
    "Serializer",
    "VersionInfo",
    "avro_schema",
    "json_schema",
    "protobuf_schema",
]
