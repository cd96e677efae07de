"""A connection that carries frames, on asyncio."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pravega_lab.engine.cluster import values
from pravega_lab.engine.cluster.errors import FrameError
from pravega_lab.engine.cluster.frames import Frame, FrameReader, Hello, Kind, encode

LINGER_S = 10.0
# A peer whose machine is gone says nothing: the kernel asks after 10 s of silence and gives up 15 s later.
_KEEPALIVE = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))


class Link(asyncio.Protocol):
    """``on_frame`` gets every frame, ``on_lost`` is told once why nothing comes any more; neither after
    `close`. What it raises as a FrameError ends the link.

    What is sent is never held back here: credit bounds it (`channels`), and calls are few.
    """

    def __init__(
        self, on_frame: Callable[[Link, Frame], None], on_lost: Callable[[Link, str], None], *, greeted: bool
    ) -> None:
        self._on_frame, self._on_lost = on_frame, on_lost
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._is_over = False
        self._why = ""
        self.hello: Hello | None = None
        if greeted:
            self._reader.greeted()

    def greeted(self, hello: Hello) -> None:
        """The other end has said who it is."""
        self.hello = hello
        self._reader.greeted()

    def take_over(
        self, on_frame: Callable[[Link, Frame], None], on_lost: Callable[[Link, str], None]
    ) -> None:
        """Others want to hear of it from now on."""
        self._on_frame, self._on_lost = on_frame, on_lost

    # -- asyncio.Protocol ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        _tune(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        try:
            for frame in self._reader.feed(data):
                self._on_frame(self, frame)
                if self._is_over:
                    return
        except FrameError as error:
            self.fail(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(self._why or (str(exc) if exc else "the connection was closed"))

    # -- sending -------------------------------------------------------------------------------------------

    @property
    def local_host(self) -> str:
        """The address of this end."""
        assert self._transport is not None
        host: str = self._transport.get_extra_info("sockname")[0]
        return host

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._is_over:
            self._transport.write(data)

    def call(self, name: str, *args: Any) -> None:
        self.send(encode(Kind.CALL, values.to_bytes((name, *args))))

    def fail(self, why: str) -> None:
        """Close it, and say so as if the other end had."""
        self._why = why
        if self._transport is not None:
            self._transport.abort()
        self._end(why)

    def close(self) -> None:
        """In order: what was sent still goes out; nobody is told."""
        self._is_over = True
        if self._transport is not None:
            self._transport.close()

    def finish(self) -> None:
        """As `close`, and whatever the other end still says is thrown away until it closes too: a socket that
        is closed over unread bytes takes what was sent last with it."""
        self._is_over = True
        transport = self._transport
        if transport is not None and not transport.is_closing():
            with suppress(OSError):  # it is gone already
                transport.write_eof()
            asyncio.get_running_loop().call_later(LINGER_S, transport.abort)

    def _end(self, why: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._on_lost(self, why)


def call_of(frame: Frame) -> tuple[str, tuple[Any, ...]]:
    """Name and arguments of a CALL.

    Raises:
        FrameError: it is none.
    """
    value = values.from_bytes(frame.body) if frame.kind is Kind.CALL else None
    if not isinstance(value, tuple) or not value or not isinstance(value[0], str):
        raise FrameError(f"{frame.kind.name} of {len(frame.body)} bytes where a call is expected")
    return value[0], value[1:]


def _tune(sock: socket.socket | None) -> None:
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
