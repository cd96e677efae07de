"""The append stream of one connection: writers that were set up, blocks of events, and acknowledgements.

This module decides which appends are legal (pravega.md D3, A11) and what their writers receive. Appends that
arrive in one piece of the TCP stream are one submission, with one acknowledgement per writer. The cost is
therefore per piece and not per event.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol
from uuid import UUID

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.frames import join_append_block

from ..store import errors as e
from ..store.log.operations import Append
from ..store.storage.storage import Ticket
from .handlers import Connection, Handlers
from .refusals import refusal
from .security.requests import expiry


class Session:
    """A writer that was set up on this connection. A later set-up of the same writer replaces it."""

    __slots__ = ("acked", "expires_s", "last", "segment", "writer_id")

    def __init__(self, writer_id: UUID, segment: str, last: int, expires_s: float | None) -> None:
        self.writer_id = writer_id
        self.segment = segment
        self.last = last  # the highest event number received on this connection, or known at set-up
        self.acked = last  # the highest event number that was acknowledged to the writer
        self.expires_s = expires_s  # when the writer's token expires, in seconds since 1970


class Pending(NamedTuple):
    """An append that was checked here and has not been submitted to the storage yet."""

    session: Session
    operation: Append
    request_id: int


class Appends:
    """Handles the appends of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._store = connection.store
        self._sessions: dict[UUID, Session] = {}
        self._block: c.AppendBlock | None = None
        self._pending: list[Pending] = []

    def set_up(self, command: c.SetupAppend) -> None:
        """Register a writer. The reply waits until the writer's last event number is synced.

        Source: pravega.md D3-1.
        """
        if command.writer_id not in self._sessions and len(self._sessions) >= self._store.limits.writers:
            most = self._store.limits.writers
            return self._connection.dismiss(
                f"it set up {most} writers (--max-writers); use another connection for more"
            )
        ticket = self._store.storage.setup_append(command.segment, command.writer_id)
        [last] = ticket.results
        expires_s = expiry(self._store.access, command.token)
        self._sessions[command.writer_id] = Session(command.writer_id, command.segment, last, expires_s)
        reply = c.AppendSetup(command.request_id, command.segment, command.writer_id, last)
        self._connection.send_when(ticket, lambda _: reply)
        return None

    def begin_block(self, block: c.AppendBlock) -> None:
        """Keep a block of events until its end arrives. Other requests may arrive in between.

        Source: pravega.md D3-3.
        """
        if self._block is not None:
            raise ProtocolError("a block of appends begins inside another block")
        self._block = block

    def end_block(self, end: c.AppendBlockEnd) -> None:
        """Collect the events of a block, or of this command alone, for the next submission.

        Raises:
            ProtocolError: The block is malformed, belongs to another writer, or the writer was not set up.
        """
        block, self._block = self._block, None
        data = join_append_block(block, end)
        if end.num_events <= 0:
            raise ProtocolError(f"an append claims {end.num_events} events; it must hold at least 1")
        self._take(end.writer_id, data, end.num_events, end.last_event_number, end.request_id)

    def conditional(self, command: c.ConditionalAppend | c.ConditionalBlockEnd, data: bytes) -> None:
        """Submit an append that requires a certain length of the segment, or none if that is negative.

        A refused append uses up no event number (pravega.md A11).
        """
        expected = command.expected_offset if command.expected_offset >= 0 else None
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
            raise ProtocolError(f"writer {writer_id} appends without a set-up on this connection")
        if session.expires_s is not None and self._store.now_ms() > session.expires_s * 1000:
            # As upstream: the writer connects again, and requests another token before.
            return self._connection.close(f"the token of writer {writer_id} has expired")
        if number < session.last:
            raise ProtocolError(f"writer {writer_id} sends event {number} after its event {session.last}")
        operation = Append(session.segment, data, events, writer_id, number, session.last, offset)
        session.last = number
        return self._pending.append(Pending(session, operation, request_id))

    def submit(self) -> None:
        """Submit the appends that have been collected. All are refused or none, so refusals are retried one
        by one.
        """
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        try:
            self._submit(pending)
        except e.StorageError:
            for one in pending:  # the storage refused all of them because of one
                self._submit_alone(one)

    def _submit(self, pending: list[Pending]) -> None:
        ticket = self._store.submit([p.operation for p in pending])
        self._store.throttle(self._connection, ticket.cost_bytes)
        self._connection.when_synced(ticket, lambda done: self._acknowledge(pending, done))

    def _submit_alone(self, pending: Pending) -> None:
        try:
            self._submit([pending])
        except e.StorageError as error:
            self._refuse(pending, error)

    def _acknowledge(self, pending: list[Pending], ticket: Ticket) -> None:
        if len(pending) == 1:
            self._acknowledge_one(pending[0], ticket.results[0])
        else:
            last = {p.session: (p, length) for p, length in zip(pending, ticket.results, strict=True)}
            for append, length in last.values():
                self._acknowledge_one(append, length)
        self._store.release(self._connection, ticket.cost_bytes)

    def _acknowledge_one(self, append: Pending, length: int) -> None:
        session, operation, request_id = append
        number = operation.event_number
        # As upstream, an append with the number of the last one is stored and not acknowledged.
        if number > session.acked:
            reply = c.DataAppended(session.writer_id, number, session.acked, request_id, length)
            session.acked = number
            self._connection.send(reply)

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
                # A full disk may have room for the next append, which would then follow a gap.
                self._connection.close(str(error), last_words=refusal(error, request_id))


class AppendConnection(Connection, Protocol):
    """What the handlers of appends need of their connection."""

    @property
    def appends(self) -> Appends:
        """Return the append stream of this connection."""


def set_up(connection: AppendConnection, command: c.SetupAppend) -> None:
    """Handle SetupAppend."""
    connection.appends.set_up(command)


def begin_block(connection: AppendConnection, command: c.AppendBlock) -> None:
    """Handle AppendBlock."""
    connection.appends.begin_block(command)


def end_block(connection: AppendConnection, command: c.AppendBlockEnd) -> None:
    """Handle AppendBlockEnd."""
    connection.appends.end_block(command)


def append_if(connection: AppendConnection, command: c.ConditionalAppend) -> None:
    """Handle ConditionalAppend: store one event with its header."""
    header = bytes(4) + len(command.event).to_bytes(4, "big")
    connection.appends.conditional(command, header + command.event)


def append_block_if(connection: AppendConnection, command: c.ConditionalBlockEnd) -> None:
    """Handle ConditionalBlockEnd: store the bytes as they are and count them as one event."""
    connection.appends.conditional(command, command.data)


HANDLERS: Handlers = {
    c.SetupAppend: set_up,
    c.AppendBlock: begin_block,
    c.AppendBlockEnd: end_block,
    c.ConditionalAppend: append_if,
    c.ConditionalBlockEnd: append_block_if,
}
