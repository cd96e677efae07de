"""Write an event above 8 MiB: assemble it in a transient segment, and merge that as a whole.

The store chooses the name of the transient segment. The segment of a failed attempt is deleted. A merge whose
answer was lost is asked for again: the store remembers the sources that it merged.

Source: pravega.md A11, E7.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from pravega_lab.client.connection.connection import Connection, ConnectionLostError
from pravega_lab.client.connection.retry import Retries, TransientError
from pravega_lab.client.context import NO_TOKEN, StreamContext
from pravega_lab.client.framing.events import position_of
from pravega_lab.client.framing.values import HEADER
from pravega_lab.client.segment_stores import Connections, check_reply
from pravega_lab.client.values import MIB
from pravega_lab.errors import (
    AppendUnknownError,
    Definite,
    EventTooLargeError,
    RefusedError,
    SegmentNotFoundError,
    StreamSealedError,
)
from pravega_lab.protocol.wire.commands import (
    AppendSetup,
    ConditionalBlockEnd,
    ConditionalCheckFailed,
    CreateTransientSegment,
    DataAppended,
    DeleteSegment,
    InvalidEventNumber,
    MergeSegments,
    SegmentCreated,
    SegmentIsSealed,
    SegmentsMerged,
    SetupAppend,
)

LARGE_EVENT_BYTES_MAX = 1024 * MIB
PIECE_BYTES = 8 * MIB
DELETE_S = 1.0  # at most this long does a failed or cancelled call wait for the deletion


class _GoneError(Exception):
    """Raised when the target was sealed or deleted before the merge: a successor takes the event."""


class LargeEventWriter:
    """Writes one event at a time, on connections of its own."""

    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self._connections = Connections(context.stores)
        self._writer_id = context.new_id()

    async def write(self, event: bytes, key: str | None) -> None:
        """Write an event. It is durable, and visible as a whole, when this returns.

        Raises:
            EventTooLargeError: It has more than 1 GiB.
            BadInputError: The key holds half a character.
            StreamSealedError: The stream is sealed. Nothing was written.
            AppendUnknownError: The answer to the merge was lost, and the segment is gone since.
        """
        if len(event) > LARGE_EVENT_BYTES_MAX:
            raise EventTooLargeError(
                f"an event of {len(event)} bytes: a large event has at most {LARGE_EVENT_BYTES_MAX} (1 GiB)"
            )
        position = position_of(key, self._context.chance)
        retries, gone = self._retries(), self._retries()
        tried: int | None = None
        try:
            while True:
                segment_id = await self._owner_of(position)
                if segment_id != tried:
                    gone.start_over()
                tried = segment_id
                try:
                    return await self._write_to(segment_id, event, retries)
                except (_GoneError, SegmentNotFoundError, TransientError, OSError) as error:
                    failure = error
                self._context.stores.forget(self._context.name, segment_id)
                is_gone = isinstance(failure, _GoneError | SegmentNotFoundError)
                await (gone if is_gone else retries).pause(failure)
        finally:
            await self._connections.close()

    def _retries(self) -> Retries:
        return Retries(f"write to {self._context.name}", self._context.retry_for_s, self._context.chance)

    async def _owner_of(self, position: float) -> int:
        segments = await self._context.controller.current_segments(self._context.name)
        if not segments:
            raise StreamSealedError(f"stream {self._context.name} is sealed: it can be read, not written")
        return next(segment.segment_id for segment in segments if segment.owns(position))

    async def _write_to(self, segment_id: int, event: bytes, retries: Retries) -> None:
        target = self._context.segment_name(segment_id)
        connection = await self._connection(segment_id)
        token = await self._context.token(write=True)
        reply = check_reply(await connection.ask(CreateTransientSegment(0, self._writer_id, target, token)))
        if not isinstance(reply, SegmentCreated):
            raise RefusedError(f"large event for {target}: the store answered {reply}")
        source = reply.segment
        try:
            await self._fill(segment_id, source, event, retries)
            await self._merge(segment_id, target, source)
        except GeneratorExit:  # the loop is gone
            raise
        except BaseException:  # a cancellation too: no other program would delete the segment
            with suppress(Exception):  # the store that fails here deletes nothing
                async with asyncio.timeout(DELETE_S):
                    await self._context.stores.ask_once(
                        self._context.name, segment_id, DeleteSegment(0, source, NO_TOKEN)
                    )
            raise

    async def _connection(self, segment_id: int) -> Connection:
        endpoint = await self._context.stores.endpoint(self._context.name, segment_id)
        return await self._connections.get(endpoint)

    async def _fill(self, segment_id: int, source: str, event: bytes, retries: Retries) -> None:
        """Append the event in pieces. A new connection continues after the last piece that is stored.

        A store closes the connection of a writer whose token has expired, and a large event may take longer.
        """
        while True:
            try:
                connection = await self._connection(segment_id)
                n_stored = await self._set_up(connection, source)
                for at in range(n_stored * PIECE_BYTES, HEADER.size + len(event), PIECE_BYTES):
                    await self._append(connection, at, event)
                    retries.start_over()
                return
            except (TransientError, OSError) as error:
                failure = error
            self._context.stores.forget(self._context.name, segment_id)
            await retries.pause(failure)

    async def _set_up(self, connection: Connection, source: str) -> int:
        """Prepare the connection for pieces, and return the number of those that are stored."""
        token = await self._context.token(write=True)
        reply = check_reply(await connection.ask(SetupAppend(0, self._writer_id, source, token)))
        if not isinstance(reply, AppendSetup):
            raise RefusedError(f"large event: the store answered {reply}")
        return max(0, reply.last_event_number)

    async def _append(self, connection: Connection, at: int, event: bytes) -> None:
        """Append the piece that begins at ``at`` of the event with its header. The first has number 1."""
        begin, end = max(0, at - HEADER.size), at + PIECE_BYTES - HEADER.size
        piece = event[begin:end] if at else HEADER.pack(0, len(event)) + event[:end]
        request = ConditionalBlockEnd(self._writer_id, at // PIECE_BYTES + 1, at, piece, 0)
        reply = check_reply(await connection.ask(request))
        if isinstance(reply, ConditionalCheckFailed | InvalidEventNumber):
            raise ConnectionLostError("a piece that an earlier connection sent has arrived only now")
        if not isinstance(reply, DataAppended):
            raise RefusedError(f"large event: the store answered {reply}")

    async def _merge(self, segment_id: int, target: str, source: str) -> None:
        what, request = f"merge into {target}", MergeSegments(0, target, source, NO_TOKEN)
        try:
            reply, is_repeated = await self._context.stores.change(
                what, self._context.name, segment_id, request
            )
        except SegmentNotFoundError as error:
            raise _gone(target, error.definite is Definite.UNKNOWN) from error
        if isinstance(reply, SegmentIsSealed):
            raise _gone(target, is_repeated)
        if not isinstance(reply, SegmentsMerged):
            refused = RefusedError(f"{what}: the store answered {reply}")
            refused.definite = Definite.UNKNOWN if is_repeated else Definite.NO
            raise refused


def _gone(target: str, is_repeated: bool) -> Exception:
    if not is_repeated:
        return _GoneError(target)
    return AppendUnknownError(
        f"the answer to the merge into {target} was lost, and the segment was sealed or deleted "
        "since: look for the event before you write it again"
    )
