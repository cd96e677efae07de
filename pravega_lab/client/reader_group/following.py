"""The state log of a group, followed from outside: nothing is written, set up, marked or registered.

At the end of the log one read waits at the store, so an entry is here a round trip after it was written.
Entries come as bytes with their places; what they say is for the reader of them (`observe.GroupTracker`).
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pravega_lab.client.connection import Connection, Reply
from pravega_lab.client.context import StreamContext
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.receiver import ReadReply
from pravega_lab.client.retry import TransientError
from pravega_lab.client.stores import Connections, check_reply
from pravega_lab.errors import (
    ProtocolError,
    RefusedError,
    StoreUnavailableError,
    StreamSealedError,
    TruncatedDataError,
)
from pravega_lab.protocol.commands import ReadSegment, SegmentIsSealed, SegmentIsTruncated
from pravega_lab.protocol.names import READER_GROUP_PREFIX, SegmentRange, split_scoped_name

if TYPE_CHECKING:
    from pravega_lab.client.client import AsyncClient
    from pravega_lab.client.face import Client

READ_BYTES = 1024 * 1024
_HEADER = struct.Struct(">ii")
_EVENT = 0


class LogEntry(NamedTuple):
    """What was appended at once: where it begins, the offset behind it, and its bytes."""

    begin: int
    end: int
    data: bytes


class LogPlace(NamedTuple):
    """Where a log is and how much of it, in bytes; ``round_trip_s`` of the question itself."""

    segment: str
    segment_id: int
    start_offset: int
    write_offset: int
    round_trip_s: float


class AsyncGroupLog:
    """See `GroupLog`. On the running loop."""

    def __init__(self, client: AsyncClient, group: str) -> None:
        scope, name = split_scoped_name(group)
        self._client = client
        self._context = self._context_of(f"{scope}/{READER_GROUP_PREFIX}{name}")
        self._streams: dict[str, StreamContext] = {}
        self._connections = Connections(client._stores)
        self._segment_id: int | None = None
        self._reading: asyncio.Task[Reply] | None = None
        self._at = 0  # where the next entry begins
        self._rest = b""  # what is there of it
        self._damage: ProtocolError | None = None

    def _context_of(self, stream: str) -> StreamContext:
        return StreamContext(stream, self._client._controller, self._client._stores)

    async def locate(self) -> LogPlace:
        context, loop = self._context, asyncio.get_running_loop()
        found = await context.controller.current_segments(context.name)
        if not found:
            raise StreamSealedError(f"{context.name} is sealed: its group is being deleted")
        segment_id = found[0].segment_id
        asked_s = loop.time()
        info = await context.info(segment_id)
        took_s = loop.time() - asked_s
        name = context.segment_name(segment_id)
        return LogPlace(name, segment_id, info.start_offset, info.write_offset, took_s)

    async def read_from(self, place: LogPlace, offset: int) -> None:
        await self._drop_read()
        self._segment_id, self._at, self._rest, self._damage = place.segment_id, offset, b"", None

    async def next(self, timeout_s: float) -> list[LogEntry]:
        if self._damage is not None:
            raise self._damage
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read(self._at + len(self._rest)))
        done, _ = await asyncio.wait({self._reading}, timeout=timeout_s)
        if not done:
            return []
        reading, self._reading = self._reading, None
        if reading is None or reading.cancelled():
            return []  # closed meanwhile
        try:
            reply = reading.result()
        except (TransientError, OSError) as error:
            self._forget()
            raise StoreUnavailableError(f"{self._context.name}: {error}") from error
        return await self._entries(reply)

    async def _read(self, offset: int) -> Reply:
        assert self._segment_id is not None, "read_from() comes first"
        context = self._context
        connection = await self._connection()
        name, token = context.segment_name(self._segment_id), await context.token(write=False)
        return await connection.ask(ReadSegment(name, offset, READ_BYTES, token, 0))

    async def _connection(self) -> Connection:
        assert self._segment_id is not None
        endpoint = await self._context.stores.endpoint(self._context.name, self._segment_id)
        return await self._connections.get(endpoint)

    async def _entries(self, reply: Reply) -> list[LogEntry]:
        if isinstance(reply, SegmentIsTruncated):
            raise TruncatedDataError(
                f"{self._context.name}: the log before {reply.start_offset} is gone", reply.start_offset
            )
        if isinstance(reply, SegmentIsSealed) or (isinstance(reply, ReadReply) and not reply.data):
            raise StreamSealedError(f"{self._context.name} was sealed or deleted: so was its group")
        try:
            check_reply(reply)
        except TransientError as error:
            self._forget()
            raise StoreUnavailableError(f"{self._context.name}: {error}") from error
        if not isinstance(reply, ReadReply):
            raise RefusedError(f"read of {self._context.name}: the store answered {reply}")
        return self._split(self._rest + bytes(reply.data))

    def _split(self, data: bytes) -> list[LogEntry]:
        """The whole entries in ``data``; what is left begins the next."""
        found, at = [], 0
        while len(data) - at >= _HEADER.size:
            kind, length = _HEADER.unpack_from(data, at)
            if kind != _EVENT or length < 0:
                self._damage = ProtocolError(
                    f"{self._context.name}: no entry begins at offset {self._at}, but "
                    f"{data[at : at + 32].hex()}"
                )
                break
            end = at + _HEADER.size + length
            if end > len(data):
                break
            entry = LogEntry(self._at, self._at + end - at, data[at + _HEADER.size : end])
            found.append(entry)
            at, self._at = end, entry.end
        self._rest = data[at:]
        return found

    def _forget(self) -> None:
        if self._segment_id is not None:
            self._context.stores.forget(self._context.name, self._segment_id)

    async def ranges(self, stream: str, segment_ids: Sequence[int]) -> list[SegmentRange]:
        if stream not in self._streams:
            self._streams[stream] = self._context_of(stream)
        return await self._streams[stream].ranges(segment_ids)

    async def _drop_read(self) -> None:
        """A read that waits at the store goes with its connection: another one would wait beside it."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None
            await self._connections.close()

    async def close(self) -> None:
        await self._drop_read()
        await self._connections.close()


class GroupLog:
    """The state log ``_RG<group>`` of a reader group, read by somebody who is no member.

    Asks the controller where the log is, and the segment store for its length and its bytes; nothing else.
    """

    def __init__(self, client: Client, group: str) -> None:
        self._core = loop_thread().run(_made(client._core, group))

    def locate(self) -> LogPlace:
        """Look where the log is now; may be called at any time, from any thread.

        Raises:
            StreamNotFoundError: There is no such group (any more).
            StreamSealedError: It is being deleted.
            StoreUnavailableError: No answer.
        """
        return loop_thread().run(self._core.locate())

    def read_from(self, place: LogPlace, offset: int) -> None:
        """The next entry wanted begins at ``offset``. Begin with it, and again after any error of `next`."""
        loop_thread().run(self._core.read_from(place, offset))

    def next(self, timeout_s: float) -> list[LogEntry]:
        """The next entries in order; none: nothing was written within ``timeout_s``.

        Raises:
            TruncatedDataError: Entries were dropped unread; ``resume_at`` is where the log begins now.
            StreamSealedError: The group was deleted meanwhile.
            ProtocolError: No entry begins here; those before were handed out.
            StoreUnavailableError: The connection was lost.
        """
        return loop_thread().run(self._core.next(timeout_s))

    def ranges(self, stream: str, segment_ids: Sequence[int]) -> list[SegmentRange]:
        """The keys of segments of ``scope/stream``, in the order asked, as the controller tells them.

        Raises:
            NotFoundError: It has no such stream or segment.
        """
        return loop_thread().run(self._core.ranges(stream, segment_ids))

    def close(self) -> None:
        """Give the connection back; may be called while `next` waits in another thread."""
        loop_thread().run(self._core.close())


async def _made(client: AsyncClient, group: str) -> AsyncGroupLog:
    return AsyncGroupLog(client, group)
