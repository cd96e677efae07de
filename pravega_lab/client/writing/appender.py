"""Append to one segment in numbered blocks, several in flight, and send them again after a lost connection.

The store keeps the number of the last event of each writer id (pravega.md A11) and reports it after a
reconnect. Events up to that number are acknowledged, and the rest is sent again under the same numbers, so
no event is lost or duplicated. After a seal the same request says exactly which blocks are in the segment.
The other blocks go to its successors, in order.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from typing import Any, NamedTuple, Protocol

from pravega_lab.client.connection.connection import Connection, ConnectionLostError, Listener, Reply
from pravega_lab.client.connection.retry import Retries, TransientError
from pravega_lab.client.context import StreamContext
from pravega_lab.client.framing.values import Run
from pravega_lab.client.segment_stores import Connections, check_reply
from pravega_lab.client.values import KIB, MIB
from pravega_lab.errors import PravegaError, SegmentNotFoundError
from pravega_lab.portable.waiting import cancel_all
from pravega_lab.protocol.wire.commands import (
    AppendBlockEnd,
    AppendSetup,
    DataAppended,
    InvalidEventNumber,
    SegmentIsSealed,
    SetupAppend,
)

BLOCK_BYTES = 1 * MIB  # of whole events; one large event may exceed it
IN_FLIGHT_BYTES_MAX = 4 * MIB  # per segment
FULL_ENOUGH_BYTES = 256 * KIB  # a later block waits for this much, or for acknowledgements
JOIN_BYTES_MAX = 64 * KIB  # below this one write is cheaper than three
_HEAD = struct.Struct(
    ">ii16sii"
)  # type, payload length, writer id, size of whole events (in the block: none), length
_FOOT = struct.Struct(">iqq")  # events, last event number, request id
_HEAD_PAYLOAD_BYTES = _HEAD.size - 8
_CANCELLED = (
    "the task that sends was cancelled, as asyncio.run() cancels all tasks when its main coroutine ends. "
    "Flush or close the writer before that"
)


class Ticket:
    """Counts the events of one call of ``write``: those not acknowledged yet, and those stored."""

    __slots__ = ("number", "remaining", "stored")

    def __init__(self) -> None:
        self.number = 0
        self.remaining = 0
        self.stored = 0


class Chunk(NamedTuple):
    """Holds framed events of one call that go to one segment."""

    run: Run
    ticket: Ticket


class Block(NamedTuple):
    """Holds the content of one append. Its numbers and bytes never change after it was sent."""

    chunks: list[Chunk]
    data: memoryview
    n_events: int
    last_event_number: int


class Owner(Protocol):
    """Describes the object that an appender reports to."""

    context: StreamContext

    @property
    def connections(self) -> Connections:
        """Return the connections for the appends. Appenders of other writers may share them."""
        ...

    def acknowledged(self, chunk: Chunk) -> None:
        """Note that the events of the chunk are durable."""

    def has_room(self, appender: SegmentAppender) -> None:
        """Put what was collected for the appender, which may send now or has been acknowledged more."""

    async def sealed(self, appender: SegmentAppender) -> None:
        """Handle a seal of the segment. `SegmentAppender.take_back` returns what it did not store."""

    def failed(self, error: Exception) -> None:
        """Note that the appender stopped because of an error."""


class SegmentAppender:
    """Queues and sends the appends to one segment. `put` never waits; the owner limits unacknowledged bytes.

    Args:
        segment_id: The segment whose store receives the appends.
        name: The name of the segment on the wire. A transaction's segment differs from its parent's.
    """

    def __init__(self, owner: Owner, segment_id: int, name: str) -> None:
        self.segment_id = segment_id
        self._owner = owner
        self._name = name
        self._writer_id = owner.context.new_id()
        self._pending: deque[Chunk] = deque()
        self._pending_bytes = 0
        self._in_flight: deque[Block] = deque()
        self._in_flight_bytes = 0
        self._last_event_number = 0
        self._connection: Connection | None = None  # while appends can be sent
        self._request_id = 0
        self._set_up: asyncio.Future[int] | None = None
        self._ended: asyncio.Future[None] | None = None
        self._has_work = asyncio.Event()
        self._retries = Retries(f"append to {name}", owner.context.retry_for_s, owner.context.chance)
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._is_synchronized = False  # on the present connection
        self._n_refused = 0  # of the blocks in flight: the store refused the first
        self._is_decided = False  # the segment has ended, and it has none of the blocks in flight

    @property
    def name(self) -> str:
        """Return the segment's name on the wire."""
        return self._name

    @property
    def is_idle(self) -> bool:
        """Return whether all events that were put are acknowledged."""
        return not self._in_flight and not self._pending

    @property
    def in_doubt(self) -> list[Chunk]:
        """Return the chunks that were sent and may be stored, although they are not acknowledged."""
        blocks = [] if self._is_decided else list(self._in_flight)[self._n_refused :]
        return [chunk for block in blocks for chunk in block.chunks]

    def put(self, chunk: Chunk) -> None:
        """Queue events after all events that were put before."""
        self._pending.append(chunk)
        self._pending_bytes += len(chunk.run.frames)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
            # Without work and connection only the client refers to it. A client that is dropped then, or is
            # left open at the end of the program, may take it along without a word of asyncio's.
            self._task._log_destroy_pending = False  # type: ignore[attr-defined]
        self._has_work.set()
        self._pump()

    def take_back(self) -> list[Chunk]:
        """Remove and return all chunks that are not acknowledged, in order."""
        chunks = [chunk for block in self._in_flight for chunk in block.chunks] + list(self._pending)
        self._in_flight.clear()
        self._pending.clear()
        self._pending_bytes = self._in_flight_bytes = 0
        return chunks

    def drop_pending(self) -> None:
        """Forget what was not sent, because an error has ended the writer."""
        self._pending.clear()
        self._pending_bytes = 0

    async def stop(self) -> None:
        """End the task. Unacknowledged events may or may not be stored."""
        self._is_stopped = True
        if self._task is not None and self._task is not asyncio.current_task():
            await cancel_all(self._task)

    # sending

    def _pump(self) -> None:
        while self._connection is not None and self._pending and self._may_send():
            self._send(self._connection, self._next_block())

    def _continue(self) -> None:
        self._owner.has_room(self)
        self._pump()

    def _may_send(self) -> bool:
        if not self._in_flight:
            return True
        return self._pending_bytes >= FULL_ENOUGH_BYTES and self._in_flight_bytes < IN_FLIGHT_BYTES_MAX

    def _next_block(self) -> Block:
        chunks = [self._pending.popleft()]
        n_bytes = len(chunks[0].run.frames)
        while self._pending and n_bytes + len(self._pending[0].run.frames) <= BLOCK_BYTES:
            n_bytes += len(self._pending[0].run.frames)
            chunks.append(self._pending.popleft())
        data, n_events = chunks[0].run.frames, chunks[0].run.n_events
        if len(chunks) > 1:
            data = memoryview(b"".join([chunk.run.frames for chunk in chunks]))
            n_events = sum(chunk.run.n_events for chunk in chunks)
        self._last_event_number += n_events
        block = Block(chunks, data, n_events, self._last_event_number)
        self._pending_bytes -= n_bytes
        self._in_flight_bytes += n_bytes
        self._in_flight.append(block)
        return block

    def _send(self, connection: Connection, block: Block) -> None:
        n_bytes = len(block.data)
        payload_bytes = _HEAD_PAYLOAD_BYTES + n_bytes + _FOOT.size
        head = _HEAD.pack(AppendBlockEnd.code, payload_bytes, self._writer_id.bytes, 0, n_bytes)
        foot = _FOOT.pack(block.n_events, block.last_event_number, self._request_id)
        if n_bytes <= JOIN_BYTES_MAX:
            connection.write_joined((head, block.data, foot))
        else:
            connection.write(head, block.data, foot)

    # replies

    def _replied(self, reply: Reply) -> None:
        if isinstance(reply, DataAppended):
            self._acknowledge(reply.event_number)
            self._continue()
        elif isinstance(reply, AppendSetup):
            if self._set_up is not None and not self._set_up.done():
                self._set_up.set_result(reply.last_event_number)
        elif isinstance(reply, SegmentIsSealed):
            self._end(None)
        elif isinstance(reply, InvalidEventNumber):
            self._end(
                ConnectionLostError(f"{self._name}: an earlier connection's appends were still arriving")
            )
        else:
            self._n_refused = int(self._is_synchronized)  # an earlier connection may have stored it
            self._end(_error_in(reply))

    def _acknowledge(self, event_number: int) -> None:
        while self._in_flight and self._in_flight[0].last_event_number <= event_number:
            block = self._in_flight.popleft()
            self._in_flight_bytes -= len(block.data)
            self._retries.start_over()
            for chunk in block.chunks:
                self._owner.acknowledged(chunk)

    def _end(self, error: Exception | None) -> None:
        """End the session: without an error the segment is sealed, else the connection is unusable."""
        self._connection = None
        if error is not None and self._set_up is not None and not self._set_up.done():
            self._set_up.set_exception(error)
        if self._ended is not None and not self._ended.done():
            if error is None:
                self._ended.set_result(None)
            else:
                self._ended.set_exception(error)

    # the session

    async def _run(self) -> None:
        try:
            await self._append_until_sealed()
            await self._owner.sealed(self)
        except asyncio.CancelledError:
            if not self._is_stopped:
                self._owner.failed(PravegaError(f"append to {self._name}: {_CANCELLED}"))
            raise
        except Exception as error:
            self._owner.failed(error)

    async def _append_until_sealed(self) -> None:
        context = self._owner.context
        while True:
            await self._wait_for_work()
            try:
                await self._session()
                self._is_decided = True
                return
            except SegmentNotFoundError:
                # The segment was sealed, then truncated: its successors take the events as after a seal.
                self._is_decided = self._is_synchronized
                return
            except (TransientError, OSError) as error:
                failure = error
            context.stores.forget(context.name, self.segment_id)
            await self._retries.pause(failure)

    async def _wait_for_work(self) -> None:
        if not self._pending and not self._in_flight:
            self._retries.start_over()
            self._has_work.clear()
            await self._has_work.wait()

    async def _session(self) -> None:
        """Append on one connection. Return when the segment is sealed and its events are acknowledged."""
        self._is_synchronized = False
        context = self._owner.context
        endpoint = await context.stores.endpoint(context.name, self.segment_id)
        connection = await self._owner.connections.get(endpoint)
        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        self._request_id = connection.listen(Listener(self._replied, self._end))
        try:
            await self._synchronize(connection)
            self._is_synchronized, self._n_refused = True, 0
            for block in self._in_flight:
                self._send(connection, block)
            self._connection = connection
            self._continue()
            await self._ended
            await self._synchronize(connection)
        finally:
            self._connection = None
            connection.forget(self._request_id)
            if self._ended.done() and not self._ended.cancelled():
                self._ended.exception()

    async def _synchronize(self, connection: Connection) -> None:
        """Ask for the last event in the segment, and acknowledge all events up to it."""
        token = await self._owner.context.token(write=True)
        self._set_up = asyncio.get_running_loop().create_future()
        try:
            connection.send(SetupAppend(self._request_id, self._writer_id, self._name, token))
            self._acknowledge(await self._set_up)
        finally:
            self._set_up = None


def _error_in(reply: Any) -> Exception:
    try:
        check_reply(reply)
    except (PravegaError, TransientError) as error:
        return error
    return ConnectionLostError(f"{type(reply).__name__} is no answer to an append")
