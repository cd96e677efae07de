"""What the format asks a registry: the schema of an encoding id, the latest one, the id to write with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pravega_lab.client.registry import SchemaRegistry
from pravega_lab.errors import BadInputError, NotFoundError
from pravega_lab.protocol.registry.names import AVRO, GZIP, JSON, NO_CODEC, PROTOBUF, SNAPPY
from pravega_lab.protocol.registry.values import EncodingInfo, SchemaInfo, SchemaWithVersion

CODECS = {"none": NO_CODEC, "gzip": GZIP, "snappy": SNAPPY}
KINDS = {"avro": AVRO, "json": JSON, "protobuf": PROTOBUF}
KEPT_S = 10.0
"""How long a worker of Spark writes with what it knows. Then it asks again: a group may be replaced. A batch
job always asks."""


@dataclass(frozen=True)
class GroupAddress:
    """A group of a registry, and how to get there, without secrets. Hashable.

    Attributes:
        access: Items of `AccessOptions`.
    """

    uri: str
    namespace: str
    group: str
    access: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def _registry(self) -> SchemaRegistry:
        return SchemaRegistry(self.uri, namespace=self.namespace, **dict(self.access))

    def encoding(self, encoding_id: int) -> EncodingInfo | None:
        """Return what an encoding id stands for, None if the group does not have it."""
        try:
            return self._registry.encoding(self.group, encoding_id)
        except NotFoundError:
            return None

    def latest(self) -> list[SchemaWithVersion]:
        """Return the latest schema of each type.

        Raises:
            BadInputError: There is no such group.
        """
        try:
            return self._registry.schemas(self.group)
        except NotFoundError:
            raise BadInputError(
                f"the schema registry at {self.uri} has no group '{self.group}' in namespace"
                f" '{self.namespace}'. Create it, or name it with options 'registry_group' and"
                " 'registry_namespace'"
            ) from None

    def only_latest(self) -> SchemaInfo:
        """Return the latest schema of a group with one type.

        Raises:
            BadInputError: There is no such group, or it has no schema, or several types.
        """
        found = self.latest()
        if not found:
            raise BadInputError(
                f"group '{self.group}' at {self.uri} has no schema yet. Add one, or let a sink add it with"
                " option 'registry_register'"
            )
        if len(found) > 1:
            types = ", ".join(f"{one.version.type} ({one.version.format_name})" for one in found)
            raise BadInputError(
                f"group '{self.group}' at {self.uri} has schemas of several types: {types}. Rows have one"
            )
        return found[0].schema

    def register(self, schema: SchemaInfo, codec: str) -> None:
        """Add a schema and a codec, and the group if it is missing."""
        self._registry.create_group(self.group, schema.format)
        self._registry.add_schema(self.group, schema)
        if codec != NO_CODEC:
            self._registry.add_codec(self.group, codec)

    def encoding_id(self, schema: SchemaInfo, codec: str) -> int:
        """Return the encoding id of a schema of the group.

        Raises:
            BadInputError: The group does not have the schema, or RefusedError: the codec.
        """
        version = self._registry.find_version(self.group, schema)
        if version is None:
            raise BadInputError(f"group '{self.group}' at {self.uri} has lost the schema of '{schema.type}'")
        return self._registry.encoding_id(self.group, version, codec)


class Kept:
    """Values that are made again after some seconds, by key."""

    def __init__(self, kept_s: float = KEPT_S) -> None:
        self._kept_s = kept_s
        self._values: dict[Any, tuple[float, Any]] = {}

    def get(self, key: Any) -> Any:
        """Return the value of a key, None if there is none or it is too old."""
        made_s, value = self._values.get(key, (0.0, None))
        return value if value is not None and time.monotonic() - made_s < self._kept_s else None

    def clear(self) -> None:
        """Drop all values."""
        self._values.clear()

    def put(self, key: Any, value: Any) -> None:
        """Keep a value."""
        self._values[key] = (time.monotonic(), value)


def word_of(option: str, given: str, words: Mapping[str, str]) -> str:
    """Return what a word of an option stands for. Raises `BadInputError`, which lists the words."""
    if given.lower() not in words:
        raise BadInputError(f"option '{option}' is '{given}'; it is one of {', '.join(words)}")
    return words[given.lower()]
