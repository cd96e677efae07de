"""A connection that carries frames, on asyncio."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..errors import FrameError
from . import values
from .frames import Frame, FrameReader, Kind, encode

LINGER_S = 10.0
GREETING_S_MAX = 30.0
"""How long a connection may take to prove who it is. A worker unpacks its job in this time."""
SILENT_S_MAX = 25.0
LOOK_S = 2.5
# A lost machine sends nothing: the kernel probes after 10 s of silence and gives up 15 s later. It does not
# probe while it waits for the acknowledgement of data, for which it waits about 15 minutes, so `Link` looks.
# TCP_USER_TIMEOUT would also give up a machine whose process is busy and reads nothing.
_KEEPALIVE = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
_TCP_INFO = struct.Struct("=8B13I")  # Linux's ``struct tcp_info``, as far as it is read
_RETRANSMITS, _LAST_ACK_MS = 2, 20


class Link(asyncio.Protocol):
    """Send and receive frames on a connection.

    ``on_made(link)`` is called when it is connected. ``on_frame(link, frame)`` receives every frame. If it
    raises a FrameError, the link ends. ``on_lost(link, why)`` is called once, when nothing more can arrive.
    None of them is called after `close`.

    The link does not hold back what is sent: credit bounds records (`channels`), and calls are few.
    """

    def __init__(
        self,
        on_frame: Callable[[Link, Frame], None],
        on_lost: Callable[[Link, str], None],
        *,
        on_made: Callable[[Link], None] | None = None,
    ) -> None:
        self._on_frame, self._on_lost = on_frame, on_lost
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._is_over = False
        self._why = ""
        self._on_made = on_made
        self._deadline: asyncio.TimerHandle | None = None

    def greeted(self) -> None:
        """Accept long frames, and wait without a limit: the other end has proved who it is."""
        self._reader.greeted()
        self._stop_waiting()

    def take_over(
        self, on_frame: Callable[[Link, Frame], None], on_lost: Callable[[Link, str], None]
    ) -> None:
        """Replace the callbacks."""
        self._on_frame, self._on_lost = on_frame, on_lost

    # -- asyncio.Protocol ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the options of the socket."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        sock = transport.get_extra_info("socket")
        if _is_tcp(sock):
            _tune(sock)
            self._look(sock)
        late = f"the other end did not prove within {GREETING_S_MAX:g} s who it is"
        self._deadline = asyncio.get_running_loop().call_later(GREETING_S_MAX, self.fail, late)
        if self._on_made is not None:
            self._on_made(self)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look(self, sock: socket.socket) -> None:
        """Look from time to time, until the end, whether the other machine acknowledges what was sent."""
        if self._is_over:
            return
        silent_s = _silence_ms(sock) / 1000
        if silent_s >= SILENT_S_MAX:
            self.fail(f"the other machine has acknowledged nothing for {silent_s:.0f} s")
        else:
            asyncio.get_running_loop().call_later(LOOK_S, self._look, sock)

    def data_received(self, data: bytes) -> None:
        """Pass complete frames on."""
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
        """Report the end of the connection."""
        self._end(self._why or (str(exc) if exc else "the connection was closed"))

    # -- sending -------------------------------------------------------------------------------------------

    @property
    def local_host(self) -> str:
        """Return the address of this end."""
        assert self._transport is not None
        host: str = self._transport.get_extra_info("sockname")[0]
        return host

    def send(self, data: bytes) -> None:
        """Send encoded frames. Does nothing after the end."""
        if self._transport is not None and not self._is_over:
            self._transport.write(data)

    def call(self, name: str, *args: Any) -> None:
        """Send a CALL."""
        self.send(encode(Kind.CALL, values.to_bytes((name, *args))))

    def fail(self, why: str) -> None:
        """Abort the connection, and report its loss with this reason."""
        self._why = why
        if self._transport is not None:
            self._transport.abort()
        self._end(why)

    def close(self) -> None:
        """Close the connection after everything was sent, without calling ``on_lost``."""
        self._is_over = True
        self._stop_waiting()
        if self._transport is not None:
            self._transport.close()

    def finish(self) -> None:
        """Close this direction after everything was sent, and discard what the other end still sends.

        A socket that is closed with unread bytes would lose what was sent last.
        """
        self._is_over = True
        transport = self._transport
        if transport is not None and not transport.is_closing():
            with suppress(OSError):  # it is gone already
                transport.write_eof()
            asyncio.get_running_loop().call_later(LINGER_S, transport.abort)

    def _end(self, why: str) -> None:
        self._stop_waiting()
        if not self._is_over:
            self._is_over = True
            self._on_lost(self, why)


def call_of(frame: Frame) -> tuple[str, tuple[Any, ...]]:
    """Return the name and arguments of a CALL.

    Raises:
        FrameError: the frame is not a CALL.
    """
    value = values.from_bytes(frame.body) if frame.kind is Kind.CALL else None
    if not isinstance(value, tuple) or not value or not isinstance(value[0], str):
        raise FrameError(f"{frame.kind.name} of {len(frame.body)} bytes where a call is expected")
    return value[0], value[1:]


def _is_tcp(sock: socket.socket | None) -> bool:
    return sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6)


def _silence_ms(sock: socket.socket) -> int:
    """Return for how long the other machine has acknowledged nothing of what was sent again, or 0.

    It is 0 where the system does not say it. A machine whose process is busy answers that it has no room, and
    then nothing counts as sent again.
    """
    if sys.platform != "linux":
        return 0
    info = _TCP_INFO.unpack(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size))
    return int(info[_LAST_ACK_MS]) if info[_RETRANSMITS] else 0


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
