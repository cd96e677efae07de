"""Provide `AsyncByteReader`. `sync.ByteReader` states the contract."""

from __future__ import annotations

import asyncio

from pravega_lab.client.byte_streams.segment import check_not_scaled, readable_segment
from pravega_lab.client.connection.connection import Reply
from pravega_lab.client.connection.receiver import ReadReply
from pravega_lab.client.connection.retry import retrying
from pravega_lab.client.context import StreamContext
from pravega_lab.client.segment_stores import Connections, check_reply
from pravega_lab.client.values import MIB, SegmentInfo, check_timeout
from pravega_lab.errors import BadInputError, PravegaError, RefusedError, TruncatedDataError
from pravega_lab.portable.closing import ClosedByAsyncWith
from pravega_lab.portable.waiting import cancel_all, wait
from pravega_lab.protocol.wire.commands import ReadSegment, SegmentIsSealed, SegmentIsTruncated

READ_BYTES_MAX = 2 * MIB


class AsyncByteReader(ClosedByAsyncWith):
    """Implements `sync.ByteReader` with asyncio, under the same contract."""

    def __init__(self, context: StreamContext, offset: int = 0) -> None:
        self._context = context
        self._connections = Connections(context.stores)
        self._segment_id: int | None = None
        self._turn = asyncio.Lock()
        self._reading: asyncio.Task[bytes] | None = None  # which outlives the call whose time is over
        self._reading_at = 0
        self._offset = 0
        self._is_closed = False
        self.seek(offset)

    @property
    def offset(self) -> int:
        """Return where the next read begins."""
        return self._offset

    def seek(self, offset: int) -> None:
        """Move to an offset, in bytes from the beginning of the stream."""
        if not isinstance(offset, int) or offset < 0:
            raise BadInputError(f"seek({offset!r}): an offset is 0 or more; head() and tail() are the bounds")
        self._offset = offset

    async def head(self) -> int:
        """Return the offset of the first byte that was not truncated."""
        return (await self._info()).start_offset

    async def tail(self) -> int:
        """Return the offset after the last byte."""
        return (await self._info()).write_offset

    async def read(self, size: int = READ_BYTES_MAX, timeout_s: float | None = None) -> bytes | None:
        """Return the next bytes, ``b""`` at the end of a sealed stream, None if none come in time."""
        if not isinstance(size, int) or size < 1:
            raise BadInputError(f"read({size!r}): ask for 1 byte or more")
        check_timeout(timeout_s)
        waiting = asyncio.timeout(None if timeout_s == 0 else timeout_s)
        try:
            async with waiting, self._turn:
                if timeout_s == 0 and await self._is_at_tail():
                    return None
                data = await self._next(min(size, READ_BYTES_MAX), may_end_before=timeout_s is not None)
                if self._offset == self._reading_at:  # else another task called seek() since
                    self._offset += len(data)
                return data
        except TimeoutError:
            if not waiting.expired():
                raise
        return None

    async def _is_at_tail(self) -> bool:
        info = await self._info()
        return self._offset == info.write_offset and not info.is_sealed

    async def _next(self, size: int, *, may_end_before: bool) -> bytes:
        """Return bytes at the offset. A call whose time is over before leaves its read to the next call."""
        if self._reading is not None and self._reading_at != self._offset:
            await self._drop_read()
        if self._reading is None:
            self._reading_at = self._offset
        if self._reading is None and not may_end_before:
            return await self._read(self._offset, size)
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read(self._offset, size))
        reading = self._reading
        if not reading.done():  # a wait takes a step, in which a time limit may end it
            await wait({reading})
        self._reading = None
        if reading.cancelled():
            raise self._closed()
        return reading.result()[:size]

    async def _drop_read(self) -> None:
        """Cancel the read that waits at the store."""
        reading, self._reading = self._reading, None
        if reading is not None:
            await cancel_all(reading)

    def put_back(self, data: bytes | None) -> None:
        """Take back the bytes that `read` returned last, to return them again."""
        self._offset -= len(data or b"")

    async def close(self) -> None:
        """Close the connection. A read that waits raises."""
        self._is_closed = True
        await self._drop_read()
        await self._connections.close()

    async def _segment(self) -> int:
        if self._segment_id is None:
            self._segment_id = await readable_segment(self._context)
        return self._segment_id

    async def _info(self) -> SegmentInfo:
        return await self._context.info(await self._segment())

    async def _read(self, offset: int, size: int) -> bytes:
        context = self._context
        info = await self._info()
        if offset > info.write_offset:
            raise BadInputError(f"{context.name}: read at {offset}; the stream ends at {info.write_offset}")
        while True:
            what = f"read of {context.name}"
            reply = await retrying(what, context.retry_for_s, context.chance, lambda: self._ask(offset, size))
            if isinstance(reply, SegmentIsTruncated):
                raise TruncatedDataError(
                    f"{context.name}: the bytes from {offset} to {reply.start_offset} were truncated; "
                    "seek to head()",
                    reply.start_offset,
                )
            if isinstance(reply, SegmentIsSealed):
                continue  # sealed while the read was held
            if not isinstance(reply, ReadReply):
                raise RefusedError(f"{what} at {offset}: the store answered {type(reply).__name__}")
            data = bytes(reply.data[:size])
            if data:
                return data
            if reply.end_of_segment:
                await check_not_scaled(context, await self._segment())
                return data
            await self._info()  # raises if the segment was deleted

    def _closed(self) -> PravegaError:
        return PravegaError(
            f"the reader of {self._context.name} is closed: byte_reader({self._offset}) returns another one, "
            "which continues here"
        )

    async def _ask(self, offset: int, size: int) -> Reply:
        context, segment_id = self._context, await self._segment()
        endpoint = await context.stores.endpoint(context.name, segment_id)
        if self._is_closed:  # since the call began: it would open the connection again
            raise self._closed()
        connection = await self._connections.get(endpoint)
        token = await context.token(write=False)
        name = context.segment_name(segment_id)
        try:
            return check_reply(await connection.ask(ReadSegment(name, offset, size, token, 0)))
        except asyncio.CancelledError:
            connection.close()  # with the read that the store holds
            raise
        except Exception:
            context.stores.forget(context.name, segment_id)
            raise
