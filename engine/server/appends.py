"""The append stream of one connection: writers that were set up, blocks of events, acknowledgements.

Decides what an append may be (pravega.md D3, A11) and what its writer is told. Appends that came in one piece
of the TCP stream are one submission, and one acknowledgement per writer, so the cost is per block, never per
event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from pravega_lab.engine.server.handlers import Handlers
from pravega_lab.engine.server.replies import refusal
from pravega_lab.engine.store import errors as e
from pravega_lab.engine.store.operations import Append
from pravega_lab.engine.store.storage import Ticket
from pravega_lab.errors import ProtocolError
from pravega_lab.protocol import commands as c
from pravega_lab.protocol.frames import join_append_block

if TYPE_CHECKING:
    from pravega_lab.engine.server.connection import SegmentStoreProtocol


class Session:
    """A writer set up on this connection; a later set-up of the same writer replaces it."""

    __slots__ = ("acked", "last", "segment", "writer_id")

    def __init__(self, writer_id: UUID, segment: str, last: int) -> None:
        self.writer_id = writer_id
        self.segment = segment
        self.last = last  # the highest event number taken from this connection, or known at set-up
        self.acked = last  # the highest one the writer knows to be stored


class Pending(NamedTuple):
    """An append that is checked here and not yet by the storage."""

    session: Session
    operation: Append
    request_id: int


class Appends:
    """What one connection appends."""

    def __init__(self, connection: SegmentStoreProtocol) -> None:
        self._connection = connection
        self._store = connection.store
        self._sessions: dict[UUID, Session] = {}
        self._block: c.AppendBlock | None = None
        self._pending: list[Pending] = []

    def set_up(self, command: c.SetupAppend) -> None:
        """Register the writer; the answer waits until its last event number is safe (pravega.md D3, 1)."""
        ticket = self._store.storage.setup_append(command.segment, command.writer_id)
        [last] = ticket.results
        self._sessions[command.writer_id] = Session(command.writer_id, command.segment, last)
        reply = c.AppendSetup(command.request_id, command.segment, command.writer_id, last)
        self._connection.send_when(ticket, lambda _: reply)

    def begin_block(self, block: c.AppendBlock) -> None:
        """The events come ahead of their count; other requests may stand in between (pravega.md D3, 3)."""
        if self._block is not None:
            raise ProtocolError("a block of appends began inside another one")
        self._block = block

    def end_block(self, end: c.AppendBlockEnd) -> None:
        block, self._block = self._block, None
        data = join_append_block(block, end)
        if end.num_events <= 0:
            raise ProtocolError(f"an append of {end.num_events} events")
        self._take(end.writer_id, data, end.num_events, end.last_event_number, end.request_id)

    def conditional(self, command: c.ConditionalAppend | c.ConditionalBlockEnd, data: bytes) -> None:
        """An append that counts on the segment's length; a refusal uses up no event number (A11)."""
        expected = command.expected_offset
        self._take(command.writer_id, data, 1, command.event_number, command.request_id, expected)
        self.submit()

    def _take(
        self,
        writer_id: UUID,
        data: bytes,
        events: int,
        number: int,
        request_id: int,
        offset: int | None = None,
    ) -> None:
        session = self._sessions.get(writer_id)
        if session is None:
            raise ProtocolError(f"an append of writer {writer_id}, which was not set up")
        if number < session.last:
            raise ProtocolError(f"event {number} of writer {writer_id} after its event {session.last}")
        operation = Append(session.segment, data, events, writer_id, number, session.last, offset)
        session.last = number
        self._pending.append(Pending(session, operation, request_id))

    def submit(self) -> None:
        """Hand over what has been collected."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        try:
            self._submit(pending)
        except e.StorageError:
            for one in pending:  # all or none was refused: find out which
                self._submit_alone(one)

    def _submit(self, pending: list[Pending]) -> None:
        ticket = self._store.submit([p.operation for p in pending])
        size = sum(len(p.operation.data) for p in pending)
        self._store.throttle(self._connection, size)
        self._connection.when_synced(ticket, lambda done: self._acknowledge(pending, size, done))

    def _submit_alone(self, pending: Pending) -> None:
        try:
            self._submit([pending])
        except e.StorageError as error:
            self._refuse(pending, error)

    def _acknowledge(self, pending: list[Pending], size: int, ticket: Ticket) -> None:
        last = {p.session: (p, length) for p, length in zip(pending, ticket.results, strict=True)}
        for session, (append, length) in last.items():
            number = append.operation.event_number
            if (
                number > session.acked
            ):  # an equal number is upstream's quirk: stored again, and not acknowledged
                reply = c.DataAppended(session.writer_id, number, session.acked, append.request_id, length)
                session.acked = number
                self._connection.send(reply)
        self._store.release(size)

    def _refuse(self, pending: Pending, error: e.StorageError) -> None:
        session, operation, request_id = pending
        number = operation.event_number
        match error:
            case e.SegmentSealed():
                reply: c.Command = c.SegmentIsSealed(request_id, session.segment, "", number)
                self._connection.refuse(reply, "")
            case e.ConditionFailed():
                assert operation.expected_event_number is not None
                session.last = operation.expected_event_number
                self._connection.refuse(c.ConditionalCheckFailed(session.writer_id, number, request_id), "")
            case e.BadEventNumber():
                reply = c.InvalidEventNumber(session.writer_id, request_id, "", number)
                self._connection.close(str(error), last_words=reply)
            case e.NoSuchSegment():
                self._connection.refuse(refusal(error, request_id), "")
            case _:
                # A full disk may have room for the next append: without this one that would leave a gap.
                self._connection.close(str(error), last_words=refusal(error, request_id))


def set_up(connection: SegmentStoreProtocol, command: c.SetupAppend) -> None:
    """SetupAppend."""
    connection.appends.set_up(command)


def begin_block(connection: SegmentStoreProtocol, command: c.AppendBlock) -> None:
    """AppendBlock."""
    connection.appends.begin_block(command)


def end_block(connection: SegmentStoreProtocol, command: c.AppendBlockEnd) -> None:
    """AppendBlockEnd."""
    connection.appends.end_block(command)


def append_if(connection: SegmentStoreProtocol, command: c.ConditionalAppend) -> None:
    """ConditionalAppend: one event, stored with its header."""
    header = bytes(4) + len(command.event).to_bytes(4, "big")
    connection.appends.conditional(command, header + command.event)


def append_block_if(connection: SegmentStoreProtocol, command: c.ConditionalBlockEnd) -> None:
    """ConditionalBlockEnd: bytes as they are, counted as one event."""
    connection.appends.conditional(command, command.data)


HANDLERS: Handlers = {
    c.SetupAppend: set_up,
    c.AppendBlock: begin_block,
    c.AppendBlockEnd: end_block,
    c.ConditionalAppend: append_if,
    c.ConditionalBlockEnd: append_block_if,
}
