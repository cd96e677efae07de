"""One TCP connection of the segment store: it decodes commands, calls their handlers and collects the
replies.

This module decides only when to close the connection and when to stop reading from it. It stops reading in
three cases: the peer does not read the replies (the transport pauses writing), the disk is slower than the
appends that arrive (`SegmentStore.throttle`), or earlier commands are still waiting. A connection therefore
holds at most one chunk of commands, one reply of a read and the transport's buffer, whatever its peer does.

The commands themselves are in ``appends``, ``reads``, ``segments`` and ``tables``.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.frames import FrameDecoder

from ..store.errors import StorageError
from ..store.storage.storage import Ticket
from .appends import Appends
from .dispatch import HANDLERS
from .reads import Reads
from .refusals import refusal
from .segment_store import SegmentStore

log = logging.getLogger(__name__)

LEAVING_APPENDS = frozenset((c.AppendBlockEnd, c.AppendBlock, c.KeepAlive))
"""Commands that do not end the submission which is being collected. Any other command is handled after it."""

REPLY_BYTES_MAX = 1 << 20
"""Bytes of replies that are collected before they are written to the transport."""


KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}
"""Seconds of silence before the first probe, seconds between probes, and probes before giving up."""


class SegmentStoreProtocol(asyncio.Protocol):
    """The asyncio protocol of one connection: wire commands over a `SegmentStore`."""

    def __init__(self, store: SegmentStore) -> None:
        self.store = store
        self.appends = Appends(self)
        self.reads = Reads(self)
        self.is_paused = False  # the peer does not read its replies
        self.is_throttled = False  # too many appended bytes wait for the disk
        self._decoder = FrameDecoder()
        self._backlog: deque[c.Command] = deque()
        self._replies: list[bytes] = []
        self._reply_bytes = 0
        self._is_broken = False  # the bytes after the backlog are no command
        self._is_ending = False  # no more commands are handled
        self._is_reading = True

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection (called by asyncio)."""
        self._transport = cast(asyncio.Transport, transport)
        self.store.connections[self] = None
        _notice_when_the_peer_vanishes(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop held reads and waiting commands (called by asyncio)."""
        self._is_ending = True
        self._backlog.clear()
        self._replies.clear()
        self.reads.drop_all()
        self.store.forget(self)

    def data_received(self, data: bytes) -> None:
        """Decode ``data`` and handle the commands that it completes (called by asyncio).

        After bytes that are no command, the connection handles the commands before them and closes.
        """
        try:
            commands = self._decoder.feed(data)
        except ProtocolError as error:
            log.info("closing a connection from %s: %s", self._peer(), error)
            commands, self._is_broken = self._decoder.salvaged, True
        self._backlog.extend(commands)
        self.work()

    def pause_writing(self) -> None:
        """Stop handling commands, because the peer does not read its replies (called by asyncio)."""
        self.is_paused = True

    def resume_writing(self) -> None:
        """Serve the reads that became ready in the meantime, and resume handling (called by asyncio)."""
        self.is_paused = False
        self.reads.serve_ready()
        self.work()

    # Commands in

    def work(self) -> None:
        """Handle the commands that have arrived, as far as peer and disk keep up."""
        backlog = self._backlog
        while backlog and not self._is_ending and not self.is_paused and not self.is_throttled:
            self._handle(backlog.popleft())
        self.appends.submit()
        if self._is_broken and not backlog:
            self.close()
        self._read_or_wait()

    def _handle(self, command: c.Command) -> None:
        handler = HANDLERS.get(type(command))
        if handler is None:
            return self.close(f"{type(command).__name__} is not a request that this server handles")
        if type(command) not in LEAVING_APPENDS:
            self.appends.submit()
        try:
            handler(self, command)
        except StorageError as error:
            self.refuse(refusal(error, getattr(command, "request_id", 0)), str(error))
        except ProtocolError as error:
            self.close(str(error))

    def _read_or_wait(self) -> None:
        wanted = not (self.is_paused or self.is_throttled or self._backlog or self._is_ending)
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
            self.store.loop.call_soon(self.flush)
        self._replies.append(data)
        self._reply_bytes += len(data)
        if self._reply_bytes >= REPLY_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        """Write the collected replies to the transport, in one piece."""
        if not self._replies:
            return
        replies, self._replies, self._reply_bytes = self._replies, [], 0
        self._transport.write(replies[0] if len(replies) == 1 else b"".join(replies))
        if self.is_paused:
            self._read_or_wait()

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

    def close(self, why: str = "", last_words: c.Command | None = None) -> None:
        """Handle no more commands, and close as soon as earlier ones are answered.

        ``why`` goes to the program's log; ``last_words`` is sent as the last reply.
        """
        if self._is_ending:
            return
        self._is_ending = True
        self._backlog.clear()
        if why:
            log.info("closing a connection from %s: %s", self._peer(), why)
        self.appends.submit()
        self.when_synced(self.store.storage.barrier(), lambda _: self._finish(last_words))

    def _finish(self, last_words: c.Command | None) -> None:
        if last_words is not None:
            self.send(last_words)
        self.flush()
        self._transport.close()

    def answer_held_reads(self) -> None:
        """Answer every held read with no data, because the server stops."""
        self.reads.answer_all()

    def abort(self) -> None:
        """Close at once, whatever is still to be sent."""
        self._transport.abort()

    def _peer(self) -> Any:
        return self._transport.get_extra_info("peername")


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
