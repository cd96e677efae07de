"""Follow the state log of a group from outside: nothing is written, set up, marked or registered.

At the end of the log one read waits at the store, so an entry arrives one round trip after it was written.
Entries are bytes with their positions. `observe.GroupTracker` decodes them.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pravega_lab.client.connection.connection import Connection, Reply
from pravega_lab.client.connection.receiver import ReadReply
from pravega_lab.client.connection.retry import TransientError
from pravega_lab.client.context import StoreAccess, StreamContext
from pravega_lab.client.loop_thread import keep_to_this_process, loop_thread
from pravega_lab.client.segment_stores import Connections, check_reply
from pravega_lab.errors import (
    ProtocolError,
    RefusedError,
    StoreUnavailableError,
    StreamSealedError,
    TruncatedDataError,
)
from pravega_lab.portable.waiting import cancel_all, wait
from pravega_lab.protocol.names import READER_GROUP_PREFIX, SegmentRange, split_scoped_name
from pravega_lab.protocol.wire.commands import ReadSegment, SegmentIsSealed, SegmentIsTruncated

if TYPE_CHECKING:
    from pravega_lab.client.reader_group.opening import HasStoreAccess

READ_BYTES = 1024 * 1024
_HEADER = struct.Struct(">ii")
_EVENT = 0


class LogEntry(NamedTuple):
    """Holds one entry of the log: where it begins, the offset after it, and its bytes."""

    begin: int
    end: int
    data: bytes


class LogPlace(NamedTuple):
    """Says where a log is and how long, in bytes; ``round_trip_s`` is the time that the answer took."""

    segment: str
    segment_id: int
    start_offset: int
    write_offset: int
    round_trip_s: float


class AsyncGroupLog:
    """Implements `GroupLog` with asyncio, on the running loop, under the same contract."""

    def __init__(self, client: StoreAccess, group: str) -> None:
        scope, name = split_scoped_name(group)
        self._client = client
        self._context = self._context_of(f"{scope}/{READER_GROUP_PREFIX}{name}")
        self._streams: dict[str, StreamContext] = {}
        self._connections = Connections(client._stores)
        self._segment_id: int | None = None
        self._reading: asyncio.Task[Reply] | None = None
        self._at = 0  # where the next entry begins
        self._rest = b""  # the bytes of it that have arrived
        self._damage: ProtocolError | None = None

    def _context_of(self, stream: str) -> StreamContext:
        return StreamContext(stream, self._client._controller, self._client._stores)

    async def locate(self) -> LogPlace:
        """Look up where the log is now."""
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
        """Continue at the entry at ``offset``."""
        await self._drop_read()
        self._segment_id, self._at, self._rest, self._damage = place.segment_id, offset, b"", None

    async def next(self, timeout_s: float) -> list[LogEntry]:
        """Return the next entries in order; none if nothing was written within ``timeout_s``."""
        if self._damage is not None:
            raise self._damage
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read(self._at + len(self._rest)))
        done, _ = await wait({self._reading}, timeout=timeout_s)
        if not done:
            return []
        reading, self._reading = self._reading, None
        if reading is None or reading.cancelled():
            return []  # closed while waiting
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
        """Return the whole entries in ``data``, and keep the rest for the next call."""
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
        """Return the key ranges of segments of ``scope/stream``, in the order of the argument."""
        if stream not in self._streams:
            self._streams[stream] = self._context_of(stream)
        return await self._streams[stream].ranges(segment_ids)

    async def _drop_read(self) -> None:
        """Cancel a read that waits at the store, and close its connection, so that the store drops it."""
        if self._reading is not None:
            await cancel_all(self._reading)
            self._reading = None
            await self._connections.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._drop_read()
        await self._connections.close()


class GroupLog:
    """Reads the state log ``_RG<group>`` of a reader group without being a member.

    Asks the controller where the log is, and the segment store for its length and its bytes; nothing else.
    """

    def __init__(self, client: HasStoreAccess, group: str) -> None:
        self._core = loop_thread().run(_made(client._core, group))
        keep_to_this_process(self)

    def locate(self) -> LogPlace:
        """Look where the log is now; may be called at any time, from any thread.

        Raises:
            StreamNotFoundError: There is no such group (any more).
            StreamSealedError: It is being deleted.
            StoreUnavailableError: No answer.
        """
        return loop_thread().run(self._core.locate())

    def read_from(self, place: LogPlace, offset: int) -> None:
        """Continue at the entry at ``offset``. Call it first, and again after any error of `next`."""
        loop_thread().run(self._core.read_from(place, offset))

    def next(self, timeout_s: float) -> list[LogEntry]:
        """Return the next entries in order; none if nothing was written within ``timeout_s``.

        Raises:
            TruncatedDataError: Entries were dropped unread; ``resume_at`` is where the log begins now.
            StreamSealedError: The group was deleted.
            ProtocolError: No entry begins here. The entries before it were returned.
            StoreUnavailableError: The connection was lost.
        """
        return loop_thread().run(self._core.next(timeout_s))

    def ranges(self, stream: str, segment_ids: Sequence[int]) -> list[SegmentRange]:
        """Return the key ranges of segments of ``scope/stream``, in the order of the argument.

        Raises:
            NotFoundError: The controller knows no such stream or segment.
        """
        return loop_thread().run(self._core.ranges(stream, segment_ids))

    def close(self) -> None:
        """Close the connection. May be called while `next` waits in another thread."""
        loop_thread().run(self._core.close())


async def _made(client: StoreAccess, group: str) -> AsyncGroupLog:
    return AsyncGroupLog(client, group)
