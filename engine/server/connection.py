"""One TCP connection of the segment store: bytes in, commands to their handlers, replies out in one piece.

Decides only what concerns the connection as such: what closes it, and when it stops reading. Three things
stop it: its peer does not read the replies (the transport pauses writing), the disk is slower than the
appends that came in (`SegmentStore.throttle`), or commands are left over from before. So a connection holds
at most one chunk of commands, one reply of a read and the transport's buffer, whatever its peer does.

What a command means is in ``appends``, ``reads``, ``segments`` and ``tables``.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pravega_lab.engine.server.appends import Appends
from pravega_lab.engine.server.handlers import Handlers
from pravega_lab.engine.server.reads import Reads
from pravega_lab.engine.server.replies import ILLEGAL_ARGUMENT, refusal
from pravega_lab.engine.store.errors import StorageError
from pravega_lab.engine.store.storage import Ticket
from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol import commands as c
from pravega_lab.protocol.codec import encode
from pravega_lab.protocol.frames import FrameDecoder

if TYPE_CHECKING:
    from pravega_lab.engine.server.segment_store import SegmentStore

log = logging.getLogger(__name__)

VERSION_HIGH, VERSION_LOW = 16, 5
"""What a released 0.13.0 announces; more would invite commands that it does not know (pravega.md D1)."""

LEAVING_APPENDS = frozenset((c.AppendBlockEnd, c.AppendBlock, c.KeepAlive))
"""Commands that may stand between appends of one submission; any other comes behind those before it."""

REPLY_BYTES_MAX = 1 << 20
"""Replies that are collected before they are handed to the transport, which says when it is enough."""


KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}
"""Seconds of silence before the peer's machine is asked, between such questions, and how many."""


class SegmentStoreProtocol(asyncio.Protocol):
    """Wire commands over a `SegmentStore`; one instance per connection."""

    def __init__(self, store: SegmentStore) -> None:
        self.store = store
        self.appends = Appends(self)
        self.reads = Reads(self)
        self.is_paused = False  # the peer does not read
        self.is_throttled = False  # the disk is behind
        self._decoder = FrameDecoder()
        self._backlog: deque[c.Command] = deque()
        self._replies: list[bytes] = []
        self._reply_bytes = 0
        self._is_broken = False  # the bytes after the backlog are no commands
        self._is_ending = False  # nothing more is handled
        self._is_reading = True

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.store.connections[self] = None
        _notice_when_the_peer_vanishes(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_ending = True
        self._backlog.clear()
        self._replies.clear()
        self.reads.drop_all()
        self.store.forget(self)

    def data_received(self, data: bytes) -> None:
        try:
            commands = self._decoder.feed(data)
        except ProtocolError as error:
            log.info("closing a connection from %s: %s", self._peer(), error)
            commands, self._is_broken = self._decoder.salvaged, True
        self._backlog.extend(commands)
        self.work()

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        self.reads.serve_ready()
        self.work()

    # Commands in

    def work(self) -> None:
        """Handle what has come, as far as peer and disk keep up."""
        backlog = self._backlog
        while backlog and not self._is_ending and not self.is_paused and not self.is_throttled:
            self._handle(backlog.popleft())
        self.appends.submit()
        if self._is_broken and not backlog:
            self.close()
        self._read_or_wait()

    def _handle(self, command: c.Command) -> None:
        handler = self.store.handlers.get(type(command))
        if handler is None:
            return self.close(f"{type(command).__name__} is no request of this server")
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
        """Send ``reply`` with all others of this turn of the loop."""
        if self._transport.is_closing():
            return
        try:
            data = encode(reply)
        except BadInputError as error:  # a page of a table that no frame can hold
            request_id, segment = getattr(reply, "request_id", 0), getattr(reply, "segment", "")
            data = encode(c.ErrorMessage(request_id, segment, str(error)[:500], ILLEGAL_ARGUMENT))
        if not self._replies:
            self.store.loop.call_soon(self.flush)
        self._replies.append(data)
        self._reply_bytes += len(data)
        if self._reply_bytes >= REPLY_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        """Hand the collected replies to the transport, in one piece."""
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
        """Call ``then`` as soon as the submission is synced; if the log failed, nothing is told any more."""
        ticket.add_done(lambda done: then(done) if done.failure is None else self.abort())

    def refuse(self, reply: c.Command | None, why: str) -> None:
        """Send a refusal, or close without one, once everything it may rest on is synced."""
        if reply is None:
            self.close(why)
        else:
            self.when_synced(self.store.storage.barrier(), lambda _: self.send(reply))

    def close(self, why: str = "", last_words: c.Command | None = None) -> None:
        """Handle nothing more; close when what was taken before is answered."""
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

    def abort(self) -> None:
        """Close at once, whatever is still to be sent."""
        self._transport.abort()

    def _peer(self) -> Any:
        return self._transport.get_extra_info("peername")


def _notice_when_the_peer_vanishes(transport: asyncio.BaseTransport) -> None:
    """Without a word, as a machine does that loses its power: its held reads would stay for ever."""
    own: socket.socket | None = transport.get_extra_info("socket")
    if own is not None:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEP_ALIVE.items():
            if hasattr(socket, option):
                own.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def hello(connection: SegmentStoreProtocol, command: c.Hello) -> None:
    """Answer with our versions; a client that shares none of them is greeted and closed (pravega.md D1)."""
    ours = c.Hello(VERSION_HIGH, VERSION_LOW)
    if command.low <= VERSION_HIGH and command.high >= VERSION_LOW:
        connection.send(ours)
    else:
        connection.close(f"its versions {command.low} to {command.high} are not ours", last_words=ours)


def keep_alive(connection: SegmentStoreProtocol, command: c.KeepAlive) -> None:
    """Echo it."""
    connection.send(command)


HANDLERS: Handlers = {c.Hello: hello, c.KeepAlive: keep_alive}
