"""The names that a schema registry knows: serialization formats, compatibility policies, codecs."""

from __future__ import annotations

from typing import Any, NamedTuple

from pravega_lab.errors import BadInputError

#: The serialization format of Apache Avro; the schema is Avro's, in JSON.
AVRO = "Avro"
#: The serialization format of Protocol Buffers; the schema is a serialized ``FileDescriptorSet``.
PROTOBUF = "Protobuf"
#: The serialization format JSON; the schema is a JSON Schema.
JSON = "Json"
ANY, CUSTOM = "Any", "Custom"
FORMATS = (AVRO, PROTOBUF, JSON, ANY, CUSTOM)

ALLOW_ANY, DENY_ALL, ADVANCED = "AllowAny", "DenyAll", "Advanced"
BACKWARD, FORWARD, FULL = "Backward", "Forward", "Full"
BACKWARD_TRANSITIVE, FORWARD_TRANSITIVE = "BackwardTransitive", "ForwardTransitive"
FULL_TRANSITIVE = "FullTransitive"
POLICIES = (
    *(ALLOW_ANY, DENY_ALL, BACKWARD, FORWARD, BACKWARD_TRANSITIVE, FORWARD_TRANSITIVE, FULL),
    *(FULL_TRANSITIVE, ADVANCED),
)

#: The name of the codec that changes nothing.
NO_CODEC = ""
#: The name of Java's codec for gzip.
GZIP = "application/x-gzip"
SNAPPY = "application/x-snappy-framed"
"""The name of Java's codec for Snappy. In spite of it the body is one raw block, without a frame."""


class SerializationFormat(NamedTuple):
    """A format of `FORMATS`. ``custom_name`` is the user's name of the format ``Custom``, and empty else."""

    kind: str
    custom_name: str = ""

    @property
    def name(self) -> str:
        """Return the name that a version carries: that of the format, or the user's."""
        return self.custom_name or self.kind

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for the format in a schema and in a group's properties."""
        return {"serializationFormat": self.kind, "fullTypeName": self.name}

    @classmethod
    def of_json(cls, found: Any) -> SerializationFormat:
        """Return the format that an object stands for. Raises `BadInputError`."""
        kind = found.get("serializationFormat") if isinstance(found, dict) else None
        if kind not in FORMATS:
            raise BadInputError(f"the serialization format {kind!r} is not one of {', '.join(FORMATS)}")
        if kind != CUSTOM:
            return cls(kind)
        name = found.get("fullTypeName")
        if not isinstance(name, str) or not name:
            raise BadInputError("Custom name not supplied")
        return cls(kind, name)
