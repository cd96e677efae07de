"""One TCP connection of the segment store: it decodes commands, calls their handlers and collects the
replies.

This module decides only when to close the connection and when to stop reading from it. It stops reading in
four cases: the peer does not read the replies (the transport pauses writing), the disk is slower than the
changes that arrive (`SegmentStore.throttle`), unfinished frames fill the room for them (`FrameRoom`), or
earlier commands are still waiting, for example for the connection's next turn (`Turns`). A connection
therefore holds at most one chunk of commands, one reply of a read and the transport's buffer, whatever its
peer does.

The commands themselves are in ``appends``, ``reads``, ``segments`` and ``tables``.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.frames import FrameDecoder

from ..store.errors import StorageError
from ..store.log.operations import Operation
from ..store.log_fields import log_fields
from ..store.security.tokens import BadTokenError, ExpiredTokenError
from ..store.storage.storage import Ticket
from .appends import Appends
from .dispatch import HANDLERS
from .limits.passes import is_one_ready
from .reads import Reads
from .refusals import refusal
from .security.requests import check_token
from .segment_store import SegmentStore

log = logging.getLogger(__name__)

LEAVING_APPENDS = frozenset((c.AppendBlockEnd, c.AppendBlock, c.KeepAlive))
"""Commands that do not end the submission which is being collected. Any other command is handled after it."""

LONG_CHANGES = frozenset((c.UpdateTableEntries, c.RemoveTableKeys, c.MergeSegmentsBatch))
"""Commands that may take milliseconds. They wait while enough changes wait for the disk."""

DECODED_AT_ONCE = 16
"""Commands that are decoded before the first of them is handled. A long list takes milliseconds to decode."""

REPLY_BYTES_MAX = 1 << 20
"""Bytes of replies that are collected before they are written to the transport."""

PIECE_BYTES = 256 << 10
"""Bytes that are written to the transport at once. The system takes milliseconds for the reply of a large
read, and others go first between its pieces.
"""

TOKEN_CHECK_FAILED, TOKEN_EXPIRED = 0, 1
"""Codes of AuthTokenCheckFailed."""

KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}
"""Seconds of silence before the first probe, seconds between probes, and probes before giving up."""


class SegmentStoreProtocol(asyncio.Protocol):
    """The asyncio protocol of one connection: wire commands over a `SegmentStore`."""

    def __init__(self, store: SegmentStore) -> None:
        self.store = store
        self.appends = Appends(self)
        self.reads = Reads(self)
        self._is_full = False  # the transport is, because the peer does not read its replies
        self.is_throttled = False  # too many changes wait for the disk
        self.lacks_room = False  # unfinished frames of all connections fill the room for them
        self._decoder = FrameDecoder()
        self._backlog: deque[c.Command] = deque()
        self._replies: list[bytes] = []
        self._unwritten: deque[memoryview] = deque()  # replies that are written in pieces
        self._reply_bytes = 0
        self._is_stranger = True  # no command has arrived
        self._is_visitor = True  # no request was handled
        self._is_broken = False  # the bytes after the backlog are no command
        self._is_ending = False  # no more commands are handled
        self._is_lost = False  # asyncio has closed the connection
        self._is_reading = True

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection (called by asyncio)."""
        self._transport = cast(asyncio.Transport, transport)
        if self.store.admit(self):
            _notice_when_the_peer_vanishes(transport)
        else:
            most = self.store.limits.connections
            why = f"the store serves {most} connections already (--max-connections); try again later"
            fields = log_fields("connection_refused", peer=self._peer())
            log.warning("a connection from %s is refused: %s", self._peer(), why, extra=fields)
            self._is_ending = True
            self._finish(c.ErrorMessage(0, "", why, c.ErrorCode.UNSPECIFIED))

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop held reads, waiting commands and unfinished frames (called by asyncio).

        The parts refer to the connection. It is cut off from them, so that its memory is free at once and
        not when the garbage collector looks for cycles.
        """
        self._is_ending = self._is_lost = True
        self._backlog.clear()
        self._replies.clear()
        self._unwritten.clear()
        self._decoder = FrameDecoder()
        self.reads.drop_all()
        self.store.forget(self)
        del self.appends, self.reads
        if hasattr(self._transport, "_read_ready_cb"):  # a bound method: asyncio's transport refers to itself
            self._transport._read_ready_cb = _read_nothing

    def data_received(self, data: bytes) -> None:
        """Decode ``data`` and handle the commands that it completes (called by asyncio).

        After bytes that are no command, the connection handles the commands before them and closes.
        """
        if self._is_ending:
            return
        store = self.store
        store.pieces_received += 1
        if is_one_ready(store.loop):
            store.is_handling_alone = True
            try:
                self._work_at_once(data)
            finally:
                store.is_handling_alone = False
                store.on_handled()
        else:
            self._work_at_once(data)

    def _decode(self, data: bytes = b"") -> None:
        """Decode some commands. The decoder keeps the bytes of the others."""
        try:
            commands = self._decoder.feed(data, DECODED_AT_ONCE)
        except ProtocolError as error:
            fields = log_fields("connection_closed", peer=self._peer())
            log.info("closing a connection from %s: %s", self._peer(), error, extra=fields)
            commands, self._is_broken = self._decoder.salvaged, True
        self._backlog.extend(commands)
        self.store.frames.note(self, self._decoder.buffered_bytes)
        if self._is_stranger and commands:
            self._is_stranger = False
            self.store.introduce(self)

    def pause_writing(self) -> None:
        """Stop handling commands, because the peer does not read its replies (called by asyncio)."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Serve the reads that became ready in the meantime, and resume handling (called by asyncio).

        The transport is about to look whether anything is left to write. A write that fails now would end the
        connection twice, so what waits is written in the connection's turn.
        """
        self._is_full = False
        if self._unwritten or self._has_more() or self.reads.has_ready:
            self.store.turns.wait(self)
        else:
            self.work()

    @property
    def is_paused(self) -> bool:
        """Return whether replies wait: for the peer to read earlier ones, or for a turn of the connection."""
        return self._is_full or bool(self._unwritten)

    # Commands in

    def work(self, commands: int | None = None) -> None:
        """Handle up to ``commands`` commands that have arrived, as far as peer and disk keep up.

        Without a number, the connection handles its share, and waits for its turn if there are more.
        """
        if self._is_lost:
            return
        if commands is None:
            self._work_at_once()
        else:
            self._work(commands)

    def _work_at_once(self, data: bytes = b"") -> None:
        """Handle a share of ``data`` and of what arrived before, and note how long that took."""
        turns, time = self.store.turns, self.store.loop.time
        began_s = time()
        share = turns.share(self)
        if data and share:
            self._decode(data)
        elif data:
            self._decoder.keep(data)
        self._work(share)
        turns.took(time() - began_s)

    def _work(self, commands: int) -> None:
        backlog, decoder = self._backlog, self._decoder
        turns, time = self.store.turns, self.store.loop.time
        left, until_s = commands, time() + turns.seconds
        if left and self._unwritten:
            self._write_on(until_s)
        if left and self.reads.has_ready and not self.is_paused:
            self.reads.serve_ready(until_s)
        while backlog or decoder.has_more:
            if self._is_ending or self.is_throttled or self.is_paused:
                break
            if not left or time() > until_s:
                turns.wait(self, is_brief=not commands)
                break
            if not backlog:
                self._decode()
                continue
            if type(backlog[0]) in LONG_CHANGES and self.store.has_enough:
                self.store.hold_back(self)
                break
            left -= 1
            self._handle(backlog.popleft())
        if (self._unwritten or self.reads.has_ready) and not self._is_full:
            turns.wait(self)
        self.appends.submit()
        if self._is_broken and not backlog:
            self.close()
        self._read_or_wait()

    def _has_more(self) -> bool:
        return bool(self._backlog) or self._decoder.has_more

    def _handle(self, command: c.Command) -> None:
        handler = HANDLERS.get(type(command))
        if handler is None:
            return self.close(f"{type(command).__name__} is not a request that this server handles")
        is_other = type(command) not in LEAVING_APPENDS
        if is_other:
            self.appends.submit()
        try:
            access = self.store.access
            if access is not None:
                check_token(access, command, self.store.now_ms())
            if is_other and self._is_visitor and type(command) is not c.Hello:
                self._is_visitor = False
                self.store.settle(self)
            handler(self, command)
        except StorageError as error:
            self.refuse(refusal(error, getattr(command, "request_id", 0)), str(error))
        except BadTokenError as error:
            self._refuse_token(command, error)
        except ProtocolError as error:
            self.close(str(error))

    def _read_or_wait(self) -> None:
        is_held_back = self._is_full or self._unwritten or self.is_throttled or self.lacks_room
        wanted = not (is_held_back or self._is_ending or self._has_more())
        if wanted == self._is_reading or self._transport.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    # Replies out

    def send(self, reply: c.Command) -> None:
        """Send ``reply`` together with the other replies of this turn of the loop."""
        if self._transport.is_closing():
            return
        try:
            data = encode(reply)
        except BadInputError as error:  # a page of a table may be larger than a frame
            request_id, segment = getattr(reply, "request_id", 0), getattr(reply, "segment", "")
            data = encode(c.ErrorMessage(request_id, segment, str(error)[:500], c.ErrorCode.ILLEGAL_ARGUMENT))
        if not self._replies:
            self.store.flush_soon(self)
        self._replies.append(data)
        self._reply_bytes += len(data)
        if self._reply_bytes >= REPLY_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        """Write the collected replies to the transport: in one piece, or the first of several."""
        if not self._replies:
            return
        replies, self._replies, self._reply_bytes = self._replies, [], 0
        data = replies[0] if len(replies) == 1 else b"".join(replies)
        if len(data) <= PIECE_BYTES and not self._unwritten:
            self._transport.write(data)
        else:
            self._unwritten.append(memoryview(data))
            if len(self._unwritten) == 1:
                self._write_piece()
            if not self._is_full:
                self.store.turns.wait(self)
        if self.is_paused:
            self._read_or_wait()

    def _write_on(self, until_s: float) -> None:
        time = self.store.loop.time
        while self._unwritten and not self._is_full and time() <= until_s:
            self._write_piece()

    def _write_piece(self) -> None:
        data = self._unwritten.popleft()
        if len(data) > PIECE_BYTES:
            self._unwritten.appendleft(data[PIECE_BYTES:])
        self._transport.write(data[:PIECE_BYTES])

    def change(self, operations: Sequence[Operation], reply: Callable[[Any], c.Command]) -> None:
        """Submit operations, and send ``reply(results)`` as soon as they are synced. Raises StorageError."""
        ticket = self.store.submit(operations)
        self.store.throttle(self, ticket.cost_bytes)
        self.when_synced(ticket, lambda done: self._answer(done, reply))

    def _answer(self, done: Ticket, reply: Callable[[Any], c.Command]) -> None:
        self.store.release(self, done.cost_bytes)
        self.send(reply(done.results))

    def send_when(self, ticket: Ticket, reply: Callable[[Any], c.Command]) -> None:
        """Send ``reply(results)`` as soon as the submission is synced."""
        self.when_synced(ticket, lambda done: self.send(reply(done.results)))

    def when_synced(self, ticket: Ticket, then: Callable[[Ticket], None]) -> None:
        """Call ``then`` as soon as the submission is synced, or cut the connection if the log failed."""
        ticket.add_done(lambda done: then(done) if done.failure is None else self.abort())

    def refuse(self, reply: c.Command | None, why: str) -> None:
        """Send a refusal as soon as everything that it may rest on is synced. None closes the connection."""
        if reply is None:
            self.close(why)
        else:
            self.when_synced(self.store.storage.barrier(), lambda _: self.send(reply))

    def _refuse_token(self, command: c.Command, error: BadTokenError) -> None:
        """Refuse a request for its token, in the way of the released server (access.md A5)."""
        is_expired = isinstance(error, ExpiredTokenError)
        if isinstance(command, c.SetupAppend) and is_expired:
            return self.close(str(error))
        code = TOKEN_EXPIRED if is_expired else TOKEN_CHECK_FAILED
        request_id: int = getattr(command, "request_id", 0)
        return self.send(c.AuthTokenCheckFailed(request_id, str(error), code))

    def close(self, why: str = "", last_words: c.Command | None = None) -> None:
        """Handle no more commands, and close as soon as earlier ones are answered.

        ``why`` goes to the program's log; ``last_words`` is sent as the last reply.
        """
        if self._is_ending:
            return
        self._is_ending = True
        self._backlog.clear()
        if why:
            fields = log_fields("connection_closed", peer=self._peer())
            log.info("closing a connection from %s: %s", self._peer(), why, extra=fields)
        self.appends.submit()
        self.when_synced(self.store.storage.barrier(), lambda _: self._finish(last_words))

    def dismiss(self, why: str) -> None:
        """Report the reason to the peer, and close. Commands that wait are not handled any more."""
        if not self._is_ending:
            fields = log_fields("connection_dismissed", peer=self._peer())
            log.warning("a connection from %s is closed: %s", self._peer(), why, extra=fields)
            self.close(last_words=c.ErrorMessage(0, "", why, c.ErrorCode.UNSPECIFIED))

    def _finish(self, last_words: c.Command | None) -> None:
        if last_words is not None:
            self.send(last_words)
        self.flush()
        for data in self._unwritten:
            self._transport.write(data)
        self._transport.close()

    def answer_held_reads(self) -> None:
        """Answer every held read with no data, because the server stops."""
        self.reads.answer_all()

    def abort(self) -> None:
        """Close at once, whatever is still to be sent."""
        self._transport.abort()

    def _peer(self) -> Any:
        return self._transport.get_extra_info("peername")


def _read_nothing() -> None:
    """Ignore that a connection which has ended was ready in the same pass of the loop."""


def _notice_when_the_peer_vanishes(transport: asyncio.BaseTransport) -> None:
    """Let the kernel probe a silent peer. Without probes, the held reads of a machine that lost its power
    would stay for ever.
    """
    own: socket.socket | None = transport.get_extra_info("socket")
    if own is not None:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEP_ALIVE.items():
            if hasattr(socket, option):
                own.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
