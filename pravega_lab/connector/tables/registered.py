"""Descriptions from a schema registry: the columns of a stream are those of the newest schema of its group.

The group has the name of the stream, in the namespace of its scope, as with Pravega's own connectors. What a
registry does not know, such as a watermark, is in the store (`descriptions`).

Source: flink.md 12.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pravega_lab.client.values import NO_VERSION
from pravega_lab.connector.rows.registry.lookup import CODECS, KINDS, word_of
from pravega_lab.connector.rows.registry.registry_rows import REGISTRY
from pravega_lab.connector.rows.registry.schemas import columns_of, schema_of
from pravega_lab.connector.rows.typed_rows import check_fields
from pravega_lab.connector.tables.columns import Column, arrow_schema, columns_of_arrow
from pravega_lab.connector.tables.description import Description
from pravega_lab.connector.tables.descriptions import Descriptions
from pravega_lab.errors import BadInputError, NotFoundError
from pravega_lab.protocol.registry.names import NO_CODEC

if TYPE_CHECKING:
    from pravega_lab.client.registry import SchemaRegistry


class RegisteredDescriptions:
    """The descriptions of a store, with the columns that a registry has.

    A stream that the store describes in another format than ``pravega-registry`` is not looked up. A group
    without a schema, with schemas of several types, or with one that has no columns describes nothing: the
    table then has the columns of the source.

    Args:
        stored: The descriptions in the store.
        registry: The client of the registry.
    """

    def __init__(self, stored: Descriptions, registry: SchemaRegistry) -> None:
        self._stored = stored
        self.registry = registry

    def get(self, scope: str, stream: str) -> Description | None:
        """Return the description of a stream, or None if neither the store nor the registry has one.

        Raises:
            RegistryUnavailableError: The registry does not answer. The message has its address.
            BadInputError: As for `StoredDescriptions.get` and `newest`.
        """
        found = self._stored.get(scope, stream)
        if found is not None and (found.format != REGISTRY or not self._is_here(found)):
            return found
        options = {} if found is None else dict(found.options)
        columns = self.newest(scope, stream, options)
        if columns is None:
            return found
        base = Description((), REGISTRY) if found is None else found
        return replace(base, columns=columns, options={"registry_uri": self.registry.uri, **options})

    def newest(
        self, scope: str, stream: str, options: Mapping[str, str] | None = None
    ) -> tuple[Column, ...] | None:
        """Return the columns of the newest schema of the group of a stream, or None if there is none.

        Args:
            options: Options of the format that name another group or namespace.

        Raises:
            ReservedFieldError: A field has the name of a metadata column.
        """
        namespace, group = _group(scope, stream, options or {})
        try:
            found = self.registry.in_namespace(namespace).schemas(group)
        except NotFoundError:
            return None
        try:
            columns = columns_of_arrow(columns_of(found[0].schema)) if len(found) == 1 else None
        except BadInputError:
            return None
        if columns is not None:
            fields = (column.name for column in columns)
            check_fields(fields, REGISTRY, f"the newest schema of group '{group}' in namespace '{namespace}'")
        return columns

    def register(self, scope: str, stream: str, description: Description) -> None:
        """Add a schema of the columns of a table to its group, which is made if it is missing.

        Raises:
            IncompatibleSchemaError: The policy of the group does not allow the schema.
            BadInputError: The format of the group has no type for a column.
        """
        options = description.options
        kind = word_of("registry_format", options.get("registry_format", "avro"), KINDS)
        codec = word_of("registry_codec", options.get("registry_codec", "none"), CODECS)
        namespace, group = _group(scope, stream, options)
        schema = schema_of(arrow_schema(description.columns), kind, group)
        registry = self.registry.in_namespace(namespace)
        registry.create_group(group, schema.format)
        registry.add_schema(group, schema)
        if codec != NO_CODEC:
            registry.add_codec(group, codec)

    def version(self, scope: str, stream: str) -> int:
        """Return the version of what the store has about a stream."""
        return self._stored.version(scope, stream)

    def put(self, scope: str, stream: str, description: Description, version: int = NO_VERSION) -> None:
        """Set the description of a stream that exists. The address of this registry is not a part of it."""
        self._stored.put(scope, stream, self._without_address(description), version)

    def announce(self, scope: str, stream: str, description: Description, version: int) -> None:
        """Set the description of a stream that is created next. Raises `ConditionFailedError`."""
        self._stored.announce(scope, stream, self._without_address(description), version)

    def _without_address(self, description: Description) -> Description:
        if description.format != REGISTRY or not self._is_here(description):
            return description
        others = {name: value for name, value in description.options.items() if name != "registry_uri"}
        return replace(description, options=others)

    def remove(self, scope: str, stream: str) -> None:
        """Forget the description of a stream, if it has one. Its group stays."""
        self._stored.remove(scope, stream)

    def drop(self, scope: str, stream: str) -> None:
        """Forget the description of a stream that is to be deleted, and delete its group.

        The group stays if the store describes the stream in another format or with another group.
        """
        if self._has_own_group(scope, stream):
            self.registry.in_namespace(scope).delete_group(stream)
        self._stored.drop(scope, stream)

    def groups(self, scope: str) -> list[str]:
        """Return the names of the groups that the registry has for a scope."""
        return list(self.registry.in_namespace(scope).list_groups())

    def remove_scope(self, scope: str) -> None:
        """Forget the descriptions of all streams of a scope, and delete its groups."""
        registry = self.registry.in_namespace(scope)
        for group in self.groups(scope):
            registry.delete_group(group)
        self._stored.remove_scope(scope)

    def _has_own_group(self, scope: str, stream: str) -> bool:
        try:
            found = self._stored.get(scope, stream)
        except BadInputError:  # the description is of an earlier stream, so the group may be of any
            return False
        if found is None:
            return True
        own = (scope, stream)
        return found.format == REGISTRY and self._is_here(found) and _group(*own, found.options) == own

    def _is_here(self, description: Description) -> bool:
        return description.options.get("registry_uri", self.registry.uri) == self.registry.uri


def _group(scope: str, stream: str, options: Mapping[str, str]) -> tuple[str, str]:
    """Return namespace and group of a stream."""
    return options.get("registry_namespace", scope), options.get("registry_group", stream)
