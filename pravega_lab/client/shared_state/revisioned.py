"""Provide `AsyncRevisionedStream`: one segment as a log with conditional appends, a mark, and truncation.

It is made for small shared states. An append whose answer was lost is looked up by its writer and event
number, so it is in the log once, and the caller learns whether it is. The mark has no such number: whether it
was moved cannot be found out after a lost answer if it is elsewhere than expected.

Source: reader-groups.md C1.
"""

from __future__ import annotations

import asyncio
import struct
from typing import NamedTuple
from uuid import UUID

from pravega_lab.client.connection.connection import Connection, ConnectionLostError, Reply
from pravega_lab.client.connection.receiver import ReadReply
from pravega_lab.client.connection.retry import Retries, TransientError
from pravega_lab.client.context import NO_TOKEN, StreamContext
from pravega_lab.client.segment_stores import NOT_DONE, Connections, check_reply
from pravega_lab.client.values import EVENT_BYTES_MAX, MIB
from pravega_lab.errors import (
    BadInputError,
    ConditionUnknownError,
    Definite,
    EventTooLargeError,
    PravegaError,
    ProtocolError,
    RefusedError,
    StreamSealedError,
    TruncatedDataError,
)
from pravega_lab.portable.closing import ClosedByAsyncWith
from pravega_lab.protocol.wire.commands import (
    AppendBlockEnd,
    AppendSetup,
    ConditionalAppend,
    ConditionalCheckFailed,
    DataAppended,
    GetSegmentAttribute,
    InvalidEventNumber,
    ReadSegment,
    SegmentAttribute,
    SegmentAttributeUpdated,
    SegmentIsSealed,
    SegmentIsTruncated,
    SegmentTruncated,
    SetupAppend,
    TruncateSegment,
    UpdateSegmentAttribute,
)

MARK = UUID("7df9a874-246c-c9d6-9397-cdd19ead68c5")
NO_MARK = -(2**63)
READ_BYTES = 2 * MIB
_HEADER = struct.Struct(">ii")
_EVENT = 0


class Revision(NamedTuple):
    """Names a position in a log. Revisions of one segment compare by position.

    ``event_at_offset`` counts the updates within one entry, as Java does. Between entries it is 0.
    """

    segment: str
    offset: int
    event_at_offset: int = 0

    def to_text(self) -> str:
        """Return Java's form, ``scope/stream/0.#epoch.0:offset:event``."""
        return f"{self.segment}:{self.offset}:{self.event_at_offset}"

    @classmethod
    def from_text(cls, text: str) -> Revision:
        """Read what `to_text` or Java wrote. Raises `BadInputError`."""
        try:
            segment, offset, event = text.rsplit(":", 2)
            return cls(segment, int(offset), int(event))
        except ValueError:
            raise BadInputError(f"{text!r} is no revision; one looks like s/x/0.#epoch.0:0:0") from None


class Entry(NamedTuple):
    """Holds the bytes of one append, and the revision after it."""

    revision: Revision
    data: bytes


class AsyncRevisionedStream(ClosedByAsyncWith):
    """Implements `sync.RevisionedStream` with asyncio, under the same contract."""

    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self._connections = Connections(context.stores)
        self._writer_id = context.new_id()
        self._event_number = 0
        self._set_up_on: Connection | None = None
        self._segment_id: int | None = None
        self._writing = asyncio.Lock()

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    # positions

    async def segment_id(self) -> int:
        """Return the id of the log's segment: the one with key 0.0."""
        if self._segment_id is None:
            found = await self._context.controller.current_segments(self._context.name)
            if not found:
                raise StreamSealedError(f"{self._context.name} is sealed: it takes no more updates")
            self._segment_id = found[0].segment_id
        return self._segment_id

    async def oldest(self) -> Revision:
        """Return where the first remaining entry begins."""
        return await self._at((await self._context.info(await self.segment_id())).start_offset)

    async def latest(self) -> Revision:
        """Return the revision after the last entry."""
        return await self._at((await self._context.info(await self.segment_id())).write_offset)

    async def _at(self, offset: int) -> Revision:
        return Revision(self._context.segment_name(await self.segment_id()), offset)

    async def _check(self, revision: Revision) -> None:
        """Raise `BadInputError` for what is no revision of this log: its offset would mean something else."""
        if not isinstance(revision, Revision):
            raise BadInputError(f"{revision!r} is no revision; Revision.from_text() reads one from text")
        segment = self._context.segment_name(await self.segment_id())
        if revision.segment != segment:
            raise BadInputError(
                f"{revision.to_text()} is a revision of another log, or of a stream that was deleted and "
                f"created again: this log is {segment}. oldest() and latest() return its revisions"
            )
        if revision.offset < 0:
            raise BadInputError(f"{revision.to_text()}: the offset of a revision is 0 or more")

    # reading

    async def read_from(self, revision: Revision) -> list[Entry]:
        """Return all entries from ``revision`` to the present end."""
        end = await self._end_after(revision)
        data = bytearray()
        while revision.offset + len(data) < end:
            data += await self._read(revision.offset + len(data), end)
        return list(_entries(revision, bytes(data)))

    async def read_some(self, revision: Revision) -> list[Entry]:
        """Return the first entries from ``revision``, none at the end. Continue after the last entry."""
        end = await self._end_after(revision)
        data = b""
        while revision.offset + len(data) < end:
            data += await self._read(revision.offset + len(data), end)
            if _whole(data):
                return list(_entries(revision, data[: _whole(data)]))
        return list(_entries(revision, data))  # empty, or cut off

    async def _end_after(self, revision: Revision) -> int:
        """Return the present end of the log, if ``revision`` is one of this log and was not truncated."""
        await self._check(revision)
        info = await self._context.info(await self.segment_id())
        if revision.offset < info.start_offset:
            raise self._truncated(revision.offset, info.start_offset)
        return info.write_offset

    async def _read(self, offset: int, end: int) -> bytes:
        name = self._context.segment_name(await self.segment_id())
        request = ReadSegment(name, offset, min(end - offset, READ_BYTES), NO_TOKEN, 0)
        reply = await self._ask(request)
        if isinstance(reply, SegmentIsTruncated):
            raise self._truncated(offset, reply.start_offset)
        if not isinstance(reply, ReadReply) or not reply.data:
            raise RefusedError(f"read of {name} at {offset}: the store answered {type(reply).__name__}")
        return bytes(reply.data[: end - offset])

    def _truncated(self, offset: int, start_offset: int) -> TruncatedDataError:
        return TruncatedDataError(
            f"{self._context.name}: entries from offset {offset} on were truncated; the first left is at "
            f"{start_offset}",
            start_offset,
        )

    # appending

    async def append_if_at(self, revision: Revision, data: bytes) -> Revision | None:
        """Append if the log ends at ``revision``. Return the new end, or None if the log has grown."""
        await self._check(revision)
        async with self._writing:
            return await self._append(data, revision.offset)

    async def append(self, data: bytes) -> None:
        """Append wherever the log ends."""
        async with self._writing:
            await self._append(data, None)

    async def _append(self, data: bytes, expected: int | None) -> Revision | None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise BadInputError(f"data of type {type(data).__name__}: an entry of a log is bytes")
        if len(data) > EVENT_BYTES_MAX:
            raise EventTooLargeError(f"an entry of {len(data)} bytes; a log takes {EVENT_BYTES_MAX} at most")
        retries = Retries(f"append to {self._context.name}", self._context.retry_for_s, self._context.chance)
        self._event_number += 1
        repeated = False
        try:
            while True:
                try:
                    return await self._append_once(data, expected, repeated)
                except (TransientError, OSError) as error:
                    failure = error
                repeated |= not isinstance(failure, NOT_DONE)
                self._set_up_on = None
                self._context.stores.forget(self._context.name, await self.segment_id())
                await retries.pause(failure)
        except PravegaError as error:
            if repeated:  # refused now, as a sealed log does, but an earlier attempt may have happened
                error.definite = Definite.UNKNOWN
            raise

    async def _append_once(self, data: bytes, expected: int | None, repeated: bool) -> Revision | None:
        end = (expected or 0) + _HEADER.size + len(data)
        connection = await self._connection()
        if self._set_up_on is not connection and await self._set_up(connection):
            return await self._at(end)  # an earlier attempt reached the store
        number, writer = self._event_number, self._writer_id
        if expected is None:
            framed = _HEADER.pack(_EVENT, len(data)) + data
            reply = await connection.ask(AppendBlockEnd(writer, 0, framed, 1, number, 0))
        else:
            reply = await connection.ask(ConditionalAppend(writer, number, expected, data, 0))
        if isinstance(reply, ConditionalCheckFailed):
            is_mine = repeated and await self._arrived_late(connection, expected)
            return await self._at(end) if is_mine else None
        if isinstance(reply, InvalidEventNumber):
            raise ConnectionLostError(f"{self._context.name}: an earlier connection's append still arrives")
        if isinstance(reply, DataAppended):
            return await self._at(end)
        raise self._refused("append", reply)

    async def _connection(self) -> Connection:
        endpoint = await self._context.stores.endpoint(self._context.name, await self.segment_id())
        return await self._connections.get(endpoint)

    async def _set_up(self, connection: Connection) -> bool:
        """Prepare the connection. Return whether the append with the present number is in the log already."""
        name = self._context.segment_name(await self.segment_id())
        token = await self._context.token(write=True)
        reply = await connection.ask(SetupAppend(0, self._writer_id, name, token))
        if not isinstance(reply, AppendSetup):
            raise self._refused("append", reply)
        self._set_up_on = connection
        return reply.last_event_number >= self._event_number

    async def _arrived_late(self, connection: Connection, expected: int | None) -> bool:
        """Return whether it was an earlier attempt that made the log grow beyond ``expected``.

        A store refuses an append because of one that is not durable yet, and reports the event numbers of
        durable ones only. When the log has durably grown, the number of the append at ``expected`` is known.
        """
        info = await self._context.info(await self.segment_id())
        if expected is None or info.write_offset == expected:
            raise ConnectionLostError(f"{self._context.name}: the append that was faster is not durable yet")
        return info.write_offset > expected and await self._set_up(connection)

    # mark and truncation

    async def mark(self) -> Revision | None:
        """Return the revision that was marked last, None if none was."""
        name = self._context.segment_name(await self.segment_id())
        reply = await self._ask(GetSegmentAttribute(0, name, MARK, NO_TOKEN))
        if not isinstance(reply, SegmentAttribute):
            raise self._refused("mark", reply)
        return None if reply.value == NO_MARK else await self._at(reply.value)

    async def set_mark(self, revision: Revision | None, expected: Revision | None) -> bool:
        """Move the mark if it is at ``expected`` now, and return whether it was. None is no mark."""
        for at in (revision, expected):
            if at is not None:
                await self._check(at)
        segment_id = await self.segment_id()
        name = self._context.segment_name(segment_id)
        after, before = (NO_MARK if at is None else at.offset for at in (revision, expected))
        request = UpdateSegmentAttribute(0, name, MARK, after, before, NO_TOKEN)
        what = f"set the mark of {self._context.name}"
        reply, repeated = await self._context.stores.change(what, self._context.name, segment_id, request)
        if not isinstance(reply, SegmentAttributeUpdated):
            raise self._refused("set the mark", reply)
        if not reply.success and repeated:
            found = await self.mark()
            raise ConditionUnknownError(
                f"{what} to {revision and revision.to_text()}: it was to be at"
                f" {expected and expected.to_text()}, and is at {found and found.to_text()}. The answer to an"
                " earlier attempt was lost, so this call or another program may have moved the mark. Read it,"
                " then decide again",
                found,
            )
        return reply.success

    async def truncate(self, revision: Revision) -> None:
        """Drop the entries before ``revision``."""
        await self._check(revision)
        name = self._context.segment_name(await self.segment_id())
        reply = await self._ask(TruncateSegment(0, name, revision.offset, NO_TOKEN))
        if not isinstance(reply, SegmentTruncated | SegmentIsTruncated):
            raise self._refused("truncate", reply)

    async def _ask(self, request: ReadSegment | GetSegmentAttribute | TruncateSegment) -> Reply:
        return await self._context.stores.ask(self._context.name, await self.segment_id(), request)

    def _refused(self, what: str, reply: Reply) -> Exception:
        check_reply(reply)
        if isinstance(reply, SegmentIsSealed):
            return StreamSealedError(f"{what}: {self._context.name} is sealed or deleted")
        return RefusedError(f"{what}, {self._context.name}: the store answered {reply}")


def _whole(data: bytes) -> int:
    """Return the length of the whole entries at the beginning of ``data``, in bytes."""
    at = 0
    while len(data) - at >= _HEADER.size:
        end = at + _HEADER.size + max(0, _HEADER.unpack_from(data, at)[1])
        if end > len(data):
            break
        at = end
    return at


def _entries(begin: Revision, data: bytes) -> list[Entry]:
    found, at = [], 0
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise ProtocolError(f"{begin.segment}: an entry is cut off at {begin.offset + at}")
        kind, length = _HEADER.unpack_from(data, at)
        end = at + _HEADER.size + length
        if kind != _EVENT or length < 0 or end > len(data):
            raise ProtocolError(f"{begin.segment}: no entry begins at {begin.offset + at}")
        revision = Revision(begin.segment, begin.offset + end)
        found.append(Entry(revision, data[at + _HEADER.size : end]))
        at = end
    return found
