"""Provide `AsyncByteReader`. `sync.ByteReader` states the contract."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from pravega_lab.client.byte_streams.segment import readable_segment
from pravega_lab.client.connection.connection import Reply
from pravega_lab.client.connection.receiver import ReadReply
from pravega_lab.client.connection.retry import retrying
from pravega_lab.client.context import StreamContext
from pravega_lab.client.segment_stores import Connections, check_reply
from pravega_lab.client.values import MIB, SegmentInfo
from pravega_lab.errors import BadInputError, RefusedError, TruncatedDataError
from pravega_lab.protocol.wire.commands import ReadSegment, SegmentIsSealed, SegmentIsTruncated

READ_BYTES_MAX = 2 * MIB


class AsyncByteReader:
    """Implements `sync.ByteReader` with asyncio, under the same contract."""

    def __init__(self, context: StreamContext, offset: int = 0) -> None:
        self._context = context
        self._connections = Connections(context.stores)
        self._segment_id: int | None = None
        self._offset = 0
        self.seek(offset)

    @property
    def offset(self) -> int:
        """Return where the next read begins."""
        return self._offset

    def seek(self, offset: int) -> None:
        """Move to an offset, in bytes from the beginning of the stream."""
        if offset < 0:
            raise BadInputError(f"seek({offset}): an offset is 0 or more; head() and tail() are the bounds")
        self._offset = offset

    async def head(self) -> int:
        """Return the offset of the first byte that was not truncated."""
        return (await self._info()).start_offset

    async def tail(self) -> int:
        """Return the offset after the last byte."""
        return (await self._info()).write_offset

    async def read(self, size: int = READ_BYTES_MAX, timeout_s: float | None = None) -> bytes | None:
        """Return the next bytes, ``b""`` at the end of a sealed stream, None if none come in time."""
        if size < 1:
            raise BadInputError(f"read({size}): ask for 1 byte or more")
        try:
            async with asyncio.timeout(timeout_s):
                return await self._read(min(size, READ_BYTES_MAX))
        except TimeoutError:
            return None

    def put_back(self, data: bytes | None) -> None:
        """Take back the bytes that `read` returned last, to return them again."""
        self._offset -= len(data or b"")

    async def close(self) -> None:
        """Close the connection."""
        await self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _segment(self) -> int:
        if self._segment_id is None:
            self._segment_id = await readable_segment(self._context)
        return self._segment_id

    async def _info(self) -> SegmentInfo:
        return await self._context.info(await self._segment())

    async def _read(self, size: int) -> bytes:
        context = self._context
        info = await self._info()
        if self._offset > info.write_offset:
            raise BadInputError(
                f"{context.name}: read at {self._offset}; the stream ends at {info.write_offset}"
            )
        while True:
            what = f"read of {context.name}"
            reply = await retrying(what, context.retry_for_s, context.chance, lambda: self._ask(size))
            if isinstance(reply, SegmentIsTruncated):
                raise TruncatedDataError(
                    f"{context.name}: the bytes from {self._offset} to {reply.start_offset} were truncated; "
                    "seek to head()",
                    reply.start_offset,
                )
            if isinstance(reply, SegmentIsSealed):
                continue  # sealed while the read was held
            if not isinstance(reply, ReadReply):
                raise RefusedError(f"{what} at {self._offset}: the store answered {type(reply).__name__}")
            data = bytes(reply.data[:size])
            if data or reply.end_of_segment:
                self._offset += len(data)
                return data
            await self._info()  # raises if the segment was deleted

    async def _ask(self, size: int) -> Reply:
        context, segment_id = self._context, await self._segment()
        connection = await self._connections.get(await context.stores.endpoint(context.name, segment_id))
        token = await context.token(write=False)
        name = context.segment_name(segment_id)
        try:
            return check_reply(await connection.ask(ReadSegment(name, self._offset, size, token, 0)))
        except asyncio.CancelledError:
            connection.close()  # with the read that the store holds
            raise
        except Exception:
            context.stores.forget(context.name, segment_id)
            raise
