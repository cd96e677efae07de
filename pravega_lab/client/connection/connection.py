"""Exchange frames with a segment store over one connection: hello, requests and their replies, appends.

Every frame but Hello and KeepAlive carries a request id, and the sender of the request receives the replies
to its id. A connection that is silent while a listener waits is probed with KeepAlive, then closed.
Source: pravega.md D1 to D5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast

from pravega_lab.client.connection.dialer import Dialer, Endpoint
from pravega_lab.client.connection.joined_writes import JoinedWrites
from pravega_lab.client.connection.receiver import FrameReceiver, ReadReply
from pravega_lab.client.connection.retry import TransientError
from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.wire import codec
from pravega_lab.protocol.wire.commands import AuthTokenCheckFailed, Command, Hello, KeepAlive, ReadSegment

WIRE_VERSION = 16  # of the released 0.13.0
WIRE_VERSION_OLDEST = 5
PROBE_AFTER_S = 15.0
CONNECT_S = 5.0
# A released server that refuses the token of a read answers with the read's offset in place of its id; ids
# from here on are no offsets of anything.
FIRST_ID = 2**62
READS_KEPT_MAX = 64
TOKEN_EXPIRED = 1

Reply: TypeAlias = Command | ReadReply


class ConnectionLostError(TransientError):
    """Raised when the connection ended before the reply arrived. The request may have taken effect."""


class Listener(NamedTuple):
    """Receives the replies to one request id, or the error after which no more will come."""

    replied: Callable[[Reply], None]
    lost: Callable[[Exception], None]


async def open_connection(endpoint: Endpoint, dialer: Dialer) -> Connection:
    """Connect and exchange hellos. Raises ``OSError``, ``ConnectionLostError`` or ``TlsError``."""
    connection = Connection(endpoint)
    try:
        async with asyncio.timeout(CONNECT_S):
            await dialer.connect(lambda: connection, endpoint)
            connection.send(Hello(WIRE_VERSION, WIRE_VERSION_OLDEST))
            await connection.greeted
    except BaseException as error:
        connection.close()
        if isinstance(error, TimeoutError):
            raise ConnectionLostError(f"{endpoint}: no hello within {CONNECT_S:g} s") from error
        raise
    return connection


class Connection(asyncio.BufferedProtocol):
    """Exchanges frames with a segment store. ``close`` may be called any time; it notifies listeners once."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.is_open = True
        self._loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport | JoinedWrites | None = None
        self._receiver = FrameReceiver()
        self._unsent: list[bytes] = []  # requests of this iteration of the loop
        self._listeners: dict[int, Listener] = {}
        self._last_id = FIRST_ID
        self._reads: dict[int, int] = {}  # request id to offset, of reads with a token
        self._heard_s = self._opened_s = self._loop.time()
        self._probed_s: float | None = None  # when the last probe was sent
        self._probe: asyncio.TimerHandle | None = None

    # requests

    def listen(self, listener: Listener) -> int:
        """Return a new request id whose replies go to ``listener`` until `forget`."""
        self._last_id += 1
        self._listeners[self._last_id] = listener
        if self._probe is None and self.is_open:
            self._probed_s = None
            self._probe = self._loop.call_later(PROBE_AFTER_S, self._check_alive)
        return self._last_id

    def forget(self, request_id: int) -> None:
        """Drop replies to this id from now on."""
        self._listeners.pop(request_id, None)

    async def ask(self, request: Command) -> Reply:
        """Send one request (its ``request_id`` is set here) and wait for its one reply."""
        reply: asyncio.Future[Reply] = self._loop.create_future()
        request_id = self.listen(Listener(_setter(reply), _failer(reply)))
        try:
            self.send(replace(cast(Any, request), request_id=request_id))
            return await reply
        finally:
            self.forget(request_id)

    async def ask_all(self, requests: Sequence[Command]) -> list[Reply]:
        """Send many requests at once, without a task for each. Raises ``ConnectionLostError``."""
        replies: dict[int, Reply] = {}
        done: asyncio.Future[None] = self._loop.create_future()

        def replied(reply: Reply) -> None:
            replies[cast(Any, reply).request_id] = reply
            if len(replies) == len(requests) and not done.done():
                done.set_result(None)

        listener = Listener(replied, _failer(done))
        ids = [self.listen(listener) for _ in requests]
        try:
            for request_id, request in zip(ids, requests, strict=True):
                self.send(replace(cast(Any, request), request_id=request_id))
            if requests:
                await done
        finally:
            for request_id in ids:
                self.forget(request_id)
        return [replies[request_id] for request_id in ids]

    def send(self, command: Command) -> None:
        """Send a frame, with all others of this turn of the loop. Raises ``ConnectionLostError``."""
        self._check_open()
        if not self._unsent:
            self._loop.call_soon(self._flush)
        if isinstance(command, ReadSegment) and command.token:
            self._remember(command)
        self._unsent.append(codec.encode(command))

    def write(self, *parts: bytes | memoryview) -> None:
        """Send encoded bytes at once; large ones are not joined first. Raises ``ConnectionLostError``."""
        transport = self._check_open()
        self._flush()
        for part in parts:
            transport.write(part)

    def write_joined(self, parts: Sequence[bytes | memoryview]) -> None:
        """Write small parts as `write` does, but together with others of this turn of the loop."""
        transport = self._check_open()
        if self._unsent:
            self._flush()
        transport.writelines(parts)

    def flush_joined(self) -> None:
        """Send what `write_joined` has kept for the end of this turn of the loop."""
        if isinstance(self._transport, JoinedWrites):
            self._transport.flush()

    def _check_open(self) -> asyncio.Transport | JoinedWrites:
        if self._transport is None or not self.is_open:
            raise ConnectionLostError(f"{self.endpoint}: the connection is closed")
        return self._transport

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if unsent and self._transport is not None and self.is_open:
            self._transport.write(b"".join(unsent))

    def close(self, reason: Exception | None = None) -> None:
        """Close at once, without waiting for what is unsent."""
        has_lost_loop = self._loop.is_closed()
        if has_lost_loop:
            self._listeners.clear()  # what waits for replies has ended with the loop
        self._end(reason or ConnectionLostError(f"{self.endpoint}: closed on this side"))
        if has_lost_loop:
            self._transport = None  # its socket ends with it: it needs the loop to close
        elif self._transport is not None:
            self._transport.abort()

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if transport.get_extra_info("socket") is not None:  # a simulated network has pieces of its own
            self._transport = JoinedWrites(self._transport, self._loop)
        if not self.is_open:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receiver.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._received(self._receiver.received, nbytes)

    def data_received(self, data: bytes) -> None:
        """Receive bytes from a transport that knows plain protocols only."""
        self._received(self._receiver.feed, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(ConnectionLostError(f"{self.endpoint}: connection lost ({exc or 'closed by the store'})"))
        self._receiver.close()

    # handling replies

    def _received(self, take: Callable[[Any], list[Reply]], what: int | bytes) -> None:
        self._heard_s = self._loop.time()
        try:
            for reply in take(what):
                self._dispatch(reply)
        except ProtocolError as error:
            self.close(error)

    def _dispatch(self, reply: Reply) -> None:
        if isinstance(reply, Hello):
            self._greet(reply)
        elif not isinstance(reply, KeepAlive):
            listener = self._listeners.get(reply.request_id)  # type: ignore[union-attr]
            if listener is not None:
                listener.replied(reply)
            elif isinstance(reply, AuthTokenCheckFailed):
                self._refuse_reads(reply)

    def _remember(self, read: ReadSegment) -> None:
        if len(self._reads) >= READS_KEPT_MAX:
            self._reads = {key: at for key, at in self._reads.items() if key in self._listeners}
        self._reads[read.request_id] = read.offset

    def _refuse_reads(self, reply: AuthTokenCheckFailed) -> None:
        """Refuse the read at the offset that the reply has in place of an id.

        If several reads are at that offset, all of them try again.
        """
        meant = [i for i, at in self._reads.items() if at == reply.request_id and i in self._listeners]
        if len(meant) > 1:
            reply = replace(reply, error_code=TOKEN_EXPIRED)
        for request_id in meant:
            self._listeners[request_id].replied(replace(reply, request_id=request_id))

    def _greet(self, hello: Hello) -> None:
        if hello.low > WIRE_VERSION or hello.high < WIRE_VERSION_OLDEST:
            raise ProtocolError(
                f"{self.endpoint} speaks wire versions {hello.low} to {hello.high}, "
                f"this client {WIRE_VERSION_OLDEST} to {WIRE_VERSION}"
            )
        if not self.greeted.done():
            self.greeted.set_result(None)

    def _check_alive(self) -> None:
        self._probe = None
        if not self._listeners or not self.is_open:
            return
        # uvloop's clock has whole milliseconds: an answer may have the time of its probe.
        if self._probed_s is not None and self._heard_s < self._probed_s:
            self.close(ConnectionLostError(f"{self.endpoint}: silent for {PROBE_AFTER_S:g} s"))
            return
        self._probed_s = self._loop.time()
        self.send(KeepAlive())
        self._probe = self._loop.call_later(PROBE_AFTER_S, self._check_alive)

    def _end(self, error: Exception) -> None:
        if not self.is_open:
            return
        self.is_open = False
        if isinstance(error, ConnectionLostError):
            error.unnoticed_s = min(self._loop.time() - self._heard_s, 2 * PROBE_AFTER_S)
            error.worked_s = self._heard_s - self._opened_s
        if self._probe is not None:
            self._probe.cancel()
        _failer(self.greeted)(error)
        if not self.greeted.cancelled():  # the hello timed out if it is cancelled
            self.greeted.exception()  # retrieved, because no task may wait for it
        listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener.lost(error)


def _setter(future: asyncio.Future[Reply]) -> Callable[[Reply], None]:
    def put(reply: Reply) -> None:
        if not future.done():
            future.set_result(reply)

    return put


def _failer(future: asyncio.Future[Any]) -> Callable[[Exception], None]:
    def put(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    return put
