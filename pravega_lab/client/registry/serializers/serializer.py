"""Provide `AsyncSerializer`: values as events of a group."""

from __future__ import annotations

import asyncio
from typing import Any

from pravega_lab.client.registry.core import AsyncSchemaRegistry
from pravega_lab.client.registry.serializers import codecs
from pravega_lab.client.registry.serializers.formats import format_of
from pravega_lab.errors import BadInputError, NotFoundError
from pravega_lab.protocol.registry.header import encode_header
from pravega_lab.protocol.registry.names import AVRO, NO_CODEC
from pravega_lab.protocol.registry.values import SchemaInfo
from pravega_lab.protocol.registry.versions import VersionInfo


class AsyncSerializer:
    """Implements `sync.Serializer` with asyncio, under the same contract."""

    def __init__(
        self,
        registry: AsyncSchemaRegistry,
        group: str,
        schema: SchemaInfo,
        *,
        codec: str = NO_CODEC,
        register: bool = False,
        with_header: bool = True,
    ) -> None:
        codecs.check(codec)
        if not with_header and (codec != NO_CODEC or schema.format.kind == AVRO):
            raise BadInputError("events of Avro, and events under a codec, need their header: readers ask it")
        self._registry = registry
        self._group = group
        self._schema = schema
        self._format = format_of(schema)
        self._codec = codec
        self._registers = register
        self._with_header = with_header
        self._prefix: bytes | None = None
        self._asking = asyncio.Lock()

    async def serialize(self, value: Any) -> bytes:
        """Return the event of a value. The first call asks the registry for the encoding id."""
        body = codecs.encode(self._codec, self._format.write(value))
        if self._prefix is None:
            async with self._asking:
                if self._prefix is None:
                    self._prefix = await self._header()
        return self._prefix + body

    async def _header(self) -> bytes:
        version = await self._version()
        if not self._with_header:
            return b""
        return encode_header(await self._registry.encoding_id(self._group, version, self._codec))

    async def _version(self) -> VersionInfo:
        if self._registers:
            await self._registry.create_group(self._group, self._schema.format)
            version = await self._registry.add_schema(self._group, self._schema)
            if self._codec != NO_CODEC:
                await self._registry.add_codec(self._group, self._codec)
            return version
        found = await self._registry.find_version(self._group, self._schema)
        if found is None:
            raise NotFoundError(
                f"group {self._group!r} has no such schema of {self._schema.type!r}: add it by"
                f" add_schema({self._group!r}, …), or give register=True"
            )
        return found
