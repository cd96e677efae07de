"""Provide `AsyncDeserializer`: events of a group as values."""

from __future__ import annotations

from typing import Any

from pravega_lab.client.registry.core import AsyncSchemaRegistry
from pravega_lab.client.registry.serializers import codecs
from pravega_lab.client.registry.serializers.formats import Format, format_of
from pravega_lab.errors import NotFoundError
from pravega_lab.protocol.registry.header import HEADER_BYTES, encoding_id_of
from pravega_lab.protocol.registry.names import NO_CODEC
from pravega_lab.protocol.registry.values import SchemaInfo

_LATEST = -1


class AsyncDeserializer:
    """Implements `sync.Deserializer` with asyncio, under the same contract."""

    def __init__(
        self,
        registry: AsyncSchemaRegistry,
        group: str,
        reader: SchemaInfo | None = None,
        *,
        with_header: bool = True,
    ) -> None:
        self._registry = registry
        self._group = group
        self._reader = reader
        self._with_header = with_header
        self._known: dict[int, tuple[Format, str]] = {}

    async def deserialize(self, event: bytes) -> Any:
        """Return the value of an event: of Avro and JSON as Python values, of Protobuf as a message."""
        number = encoding_id_of(event) if self._with_header else _LATEST
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = await self._look_up(number)
        format_, codec = known
        body = event[HEADER_BYTES:] if self._with_header else event
        return format_.read(codecs.decode(codec, body))

    async def _look_up(self, number: int) -> tuple[Format, str]:
        if number != _LATEST:
            found = await self._registry.encoding(self._group, number)
            return format_of(found.schema, self._reader), found.codec.name
        schemas = await self._registry.schemas(self._group)
        if not schemas:
            raise NotFoundError(f"group {self._group!r} has no schema with which its events could be read")
        return format_of(schemas[-1].schema, self._reader), NO_CODEC
