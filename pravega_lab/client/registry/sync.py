"""Provide `SchemaRegistry`, `Serializer` and `Deserializer`: the registry for synchronous programs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Unpack

from pravega_lab.client.connection.access import AccessOptions
from pravega_lab.client.registry.core import TIMEOUT_S, AsyncSchemaRegistry
from pravega_lab.client.registry.serializers.deserializer import AsyncDeserializer
from pravega_lab.client.registry.serializers.serializer import AsyncSerializer
from pravega_lab.client.sync.core import run
from pravega_lab.protocol.registry.compatibility import Compatibility
from pravega_lab.protocol.registry.names import ALLOW_ANY, NO_CODEC, SerializationFormat
from pravega_lab.protocol.registry.values import (
    CodecType,
    EncodingInfo,
    GroupProperties,
    HistoryRecord,
    SchemaInfo,
    SchemaWithVersion,
)
from pravega_lab.protocol.registry.versions import VersionInfo


class SchemaRegistry:
    """The client of a schema registry.

    Every call raises `RegistryUnavailableError` with the address of the registry if there is no answer in
    time, `NotFoundError` if there is no such group, schema or encoding, and `AccessDeniedError`. Threads may
    share a registry.

    Args:
        uri: ``http://host:port``, or ``https://host:port`` with TLS.
        namespace: Groups are looked up and created in it. Pravega's connectors use the scope.
        timeout_s: The limit of each call, in seconds.
        access: See `AccessOptions`.

    Raises:
        BadInputError: The address is malformed, or credentials would cross the network in clear.
    """

    def __init__(
        self, uri: str, *, namespace: str = "", timeout_s: float = TIMEOUT_S, **access: Unpack[AccessOptions]
    ) -> None:
        self._core = AsyncSchemaRegistry(uri, namespace=namespace, timeout_s=timeout_s, **access)
        self.uri = self._core.uri
        self.namespace = namespace

    def in_namespace(self, namespace: str) -> SchemaRegistry:
        """Return a client of the same registry for the groups of another namespace, such as a scope."""
        made = copy.copy(self)
        made._core, made.namespace = self._core.in_namespace(namespace), namespace
        return made

    def list_groups(self) -> dict[str, GroupProperties]:
        """Return the groups of the namespace with their properties."""
        return run(self._core.list_groups())

    def create_group(
        self,
        group: str,
        serialization_format: str | SerializationFormat,
        compatibility: str | Compatibility = ALLOW_ANY,
        *,
        allow_multiple_types: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> bool:
        """Create a group and return True, or False if it existed, whatever its properties.

        Args:
            serialization_format: ``Avro``, ``Protobuf``, ``Json`` or ``Any``, or a custom one.
            compatibility: A policy, ``Backward`` for example. Groups of other formats than Avro take
                ``AllowAny`` and ``DenyAll`` only.
            allow_multiple_types: Whether the group takes schemas of several types. Each type is compared with
                its own earlier schemas.
            properties: Names and values of your own, which `group_properties` returns.
        """
        return run(
            self._core.create_group(
                group,
                serialization_format,
                compatibility,
                allow_multiple_types=allow_multiple_types,
                properties=properties,
            )
        )

    def delete_group(self, group: str) -> None:
        """Delete a group with its schemas. A group that does not exist is fine."""
        run(self._core.delete_group(group))

    def group_properties(self, group: str) -> GroupProperties:
        """Return the properties of a group."""
        return run(self._core.group_properties(group))

    def set_compatibility(
        self, group: str, compatibility: str | Compatibility, previous: str | Compatibility | None = None
    ) -> None:
        """Change the policy of a group, on the condition that it is ``previous`` if that is given.

        Raises:
            ConditionFailedError: It is another one.
        """
        run(self._core.set_compatibility(group, compatibility, previous))

    def history(self, group: str) -> list[HistoryRecord]:
        """Return the schemas of a group with the policies and times of their addition, oldest first."""
        return run(self._core.history(group))

    def add_schema(self, group: str, schema: SchemaInfo) -> VersionInfo:
        """Add a schema and return its version. A schema that is there already keeps its version.

        Raises:
            IncompatibleSchemaError: The policy of the group does not allow it, or it is of another format.
            BadInputError: It is none of its format, or describes another type than it says.
        """
        return run(self._core.add_schema(group, schema))

    def schemas(self, group: str, schema_type: str | None = None) -> list[SchemaWithVersion]:
        """Return the latest schema of each type, or of one type. An unknown type has none."""
        return run(self._core.schemas(group, schema_type))

    def versions(self, group: str, schema_type: str | None = None) -> list[SchemaWithVersion]:
        """Return all schemas that are not deleted, of all types or of one, oldest first."""
        return run(self._core.versions(group, schema_type))

    def find_version(self, group: str, schema: SchemaInfo) -> VersionInfo | None:
        """Return the version of a schema, None if the group does not have it."""
        return run(self._core.find_version(group, schema))

    def schema(self, group: str, schema_id: int) -> SchemaInfo:
        """Return a schema by its id, also a deleted one."""
        return run(self._core.schema(group, schema_id))

    def delete_schema(self, group: str, schema_id: int) -> None:
        """Hide a schema. It is still found by its id, and by the encoding ids of events."""
        run(self._core.delete_schema(group, schema_id))

    def is_valid(
        self, group: str, schema: SchemaInfo, compatibility: str | Compatibility | None = None
    ) -> bool:
        """Return whether a group would take a schema, under its policy or under another one."""
        return run(self._core.is_valid(group, schema, compatibility))

    def can_read(self, group: str, schema: SchemaInfo) -> bool:
        """Return whether a schema reads the events of a group, as far as its policy promises that."""
        return run(self._core.can_read(group, schema))

    def groups_with(self, schema: SchemaInfo) -> dict[str, VersionInfo]:
        """Return the version of a schema in each group of the namespace that has it."""
        return run(self._core.groups_with(schema))

    def codecs(self, group: str) -> list[CodecType]:
        """Return the codecs of a group. No codec at all is always allowed, and not among them."""
        return run(self._core.codecs(group))

    def add_codec(self, group: str, codec: str | CodecType) -> None:
        """Add a codec. One that is there keeps its properties."""
        run(self._core.add_codec(group, codec))

    def encoding_id(self, group: str, version: VersionInfo, codec: str = NO_CODEC) -> int:
        """Return the id that events of a version and a codec begin with. The first call makes it.

        Raises:
            RefusedError: The group does not have the codec.
        """
        return run(self._core.encoding_id(group, version, codec))

    def encoding(self, group: str, encoding_id: int) -> EncodingInfo:
        """Return what an encoding id stands for. It never changes, so it is asked for once."""
        return run(self._core.encoding(group, encoding_id))

    def __repr__(self) -> str:
        return f"SchemaRegistry({self.uri!r}, namespace={self.namespace!r})"


class Serializer:
    """Writes values as events of a group: the header with the encoding id, and the encoded value.

    Args:
        schema: Of the values; see `avro_schema`, `json_schema` and `protobuf_schema`.
        codec: Name of the codec that compresses the value: ``NO_CODEC``, ``GZIP`` or ``SNAPPY``.
        register: Add the schema and the codec to the group if they are missing, and create the group
            with the policy ``AllowAny`` if there is none. Otherwise the first value raises `NotFoundError`.
        with_header: False leaves the header out. Java refuses that for Avro, and together with a codec.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        group: str,
        schema: SchemaInfo,
        *,
        codec: str = NO_CODEC,
        register: bool = False,
        with_header: bool = True,
    ) -> None:
        self._core = AsyncSerializer(
            registry._core, group, schema, codec=codec, register=register, with_header=with_header
        )

    def serialize(self, value: Any) -> bytes:
        """Return the event of a value. The first call asks the registry for the encoding id.

        Args:
            value: For Avro and JSON a dictionary or any other value of the schema. For Protobuf a message, or
                a dictionary with its fields.

        Raises:
            BadInputError: The value is none of the schema. The message names the field.
        """
        return run(self._core.serialize(value))


class Deserializer:
    """Reads events of a group, of any of its versions and codecs.

    Args:
        reader: Avro only: the schema with which values are read, with its aliases and defaults. None: each
            event is read with the schema with which it was written.
        with_header: False: events have no header, and are of the latest schema of the group.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        group: str,
        reader: SchemaInfo | None = None,
        *,
        with_header: bool = True,
    ) -> None:
        self._core = AsyncDeserializer(registry._core, group, reader, with_header=with_header)

    def deserialize(self, event: bytes) -> Any:
        """Return the value of an event: of Avro and JSON as Python values, of Protobuf as a message.

        Raises:
            BadInputError: The event has no header, or is no value of its schema.
            NotFoundError: The group has no such encoding id.
        """
        return run(self._core.deserialize(event))
