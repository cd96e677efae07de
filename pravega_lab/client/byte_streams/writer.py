"""Provide `AsyncByteWriter`. `sync.ByteWriter` states the contract.

Pieces are numbered. After a lost connection the store reports the number of the last piece that it has, so
none is lost or doubled (pravega.md A11).
"""

from __future__ import annotations

import asyncio

from pravega_lab.client.byte_streams.segment import check_not_scaled, writable_segment
from pravega_lab.client.connection.connection import Connection, ConnectionLostError
from pravega_lab.client.context import StreamContext
from pravega_lab.client.definite import uncertain
from pravega_lab.client.segment_stores import Connections, changing, check_reply
from pravega_lab.client.values import MIB
from pravega_lab.errors import BadInputError, Definite, PravegaError, RefusedError, StreamSealedError
from pravega_lab.portable.closing import ClosedByAsyncWith
from pravega_lab.protocol.wire.commands import (
    AppendBlockEnd,
    AppendSetup,
    DataAppended,
    InvalidEventNumber,
    SegmentIsSealed,
    SetupAppend,
)

PIECE_BYTES = 1 * MIB


class AsyncByteWriter(ClosedByAsyncWith):
    """Implements `sync.ByteWriter` with asyncio, under the same contract."""

    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self._connections = Connections(context.stores)
        self._writer_id = context.new_id()
        self._number = 0  # of the last piece
        self._set_up_on: Connection | None = None
        self._segment_id: int | None = None
        self._turn = asyncio.Lock()
        self._is_closed = False

    async def write(self, data: bytes) -> int:
        """Append bytes, and return their number when they are durable."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise BadInputError(f"data of type {type(data).__name__}: a byte stream takes bytes")
        self._check_open()
        view = memoryview(data)
        if not view.c_contiguous:
            raise BadInputError("data is a memoryview with gaps: write its tobytes()")
        view = view.cast("B")
        async with self._turn:
            for at in range(0, len(view), PIECE_BYTES):
                try:
                    await self._append(bytes(view[at : at + PIECE_BYTES]))
                except PravegaError as error:
                    if not at or error.definite is not Definite.NO:
                        raise
                    stored = (
                        f"The first {at} of {len(view)} bytes had been stored before: write only the others"
                    )
                    raise uncertain(error, stored) from error
        return len(view)

    async def tail(self) -> int:
        """Return the offset after the last byte."""
        return (await self._context.info(await self._segment())).write_offset

    async def truncate(self, offset: int) -> None:
        """Drop the bytes before ``offset``."""
        if not isinstance(offset, int):
            raise BadInputError(f"truncate({offset!r}): an offset is a whole number of bytes")
        segment_id = await self._segment()
        info = await self._context.info(segment_id)
        if not info.start_offset <= offset <= info.write_offset:  # a released controller accepts a later one
            raise BadInputError(
                f"{self._context.name}: truncate at {offset}; it has the bytes from {info.start_offset} to "
                f"{info.write_offset}"
            )
        if offset > info.start_offset:
            await self._context.controller.truncate_stream(self._context.name, {segment_id: offset})

    async def seal(self) -> None:
        """Seal the stream: its readers come to an end."""
        await self._context.controller.seal_stream(self._context.name)

    async def close(self) -> None:
        """Close the connection. What is written afterwards is refused."""
        self._is_closed = True
        await self._connections.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise PravegaError(f"the writer of {self._context.name} is closed")

    async def _segment(self) -> int:
        if self._segment_id is None:
            self._segment_id = await writable_segment(self._context)
        return self._segment_id

    async def _append(self, piece: bytes) -> None:
        segment_id = await self._segment()
        self._number += 1
        what = f"append to {self._context.name}"

        async def attempt() -> None:
            try:
                await self._append_once(segment_id, piece)
            except Exception:
                self._set_up_on = None
                self._context.stores.forget(self._context.name, segment_id)
                raise

        await changing(what, self._context.retry_for_s, self._context.chance, attempt)

    async def _append_once(self, segment_id: int, piece: bytes) -> None:
        endpoint = await self._context.stores.endpoint(self._context.name, segment_id)
        self._check_open()  # another task may have closed it since: it would open the connection again
        connection = await self._connections.get(endpoint)
        if self._set_up_on is not connection:
            name = self._context.segment_name(segment_id)
            token = await self._context.token(write=True)
            reply = check_reply(await connection.ask(SetupAppend(0, self._writer_id, name, token)))
            if not isinstance(reply, AppendSetup):
                raise RefusedError(f"{self._context.name}: the store answered {reply}")
            self._set_up_on = connection
            if reply.last_event_number >= self._number:
                return  # an earlier attempt reached the store
        reply = check_reply(
            await connection.ask(AppendBlockEnd(self._writer_id, 0, piece, 1, self._number, 0))
        )
        if isinstance(reply, SegmentIsSealed):
            await check_not_scaled(self._context, segment_id)
            raise StreamSealedError(f"stream {self._context.name} is sealed: it can be read, not written")
        if isinstance(reply, InvalidEventNumber):
            raise ConnectionLostError(f"{self._context.name}: an earlier connection's append still arrives")
        if not isinstance(reply, DataAppended):
            raise RefusedError(f"append to {self._context.name}: the store answered {reply}")
