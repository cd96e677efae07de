"""`SimulatedTransport`: one end of a simulated connection, with flow control, half close and abort.

It implements asyncio's `Transport`. Each end sends in its own direction. Bytes for which the window has no
room wait in the write buffer. Above its limit, the buffer pauses the writing protocol, as a socket does.
Pieces travel with drawn delays and arrive in order.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextvars import Context
from random import Random
from typing import Protocol, cast

from .conditions import Conditions
from .process import Process
from .traffic import FRAMES, FrameCounter, Traffic
from .virtual_time import VirtualTimeLoop

HIGH_WATER_BYTES = 65_536
LOW_WATER_BYTES = 16_384


class Carrier(Protocol):
    """The part of the network that one end of a connection needs."""

    loop: VirtualTimeLoop
    chance: Random
    conditions: Conditions
    faults: Counter[str]
    traffic: Traffic

    def delay_us(self) -> int:
        """Draw how long a piece travels in one direction."""

    def stall_us(self) -> int:
        """Draw how much longer a piece travels than usual."""

    def strikes(self, kind: str, chance: float) -> bool:
        """Draw whether a fault happens here, and count it."""

    def forget(self, transport: SimulatedTransport) -> None:
        """Remove a closed transport."""


class SimulatedTransport(asyncio.Transport):
    """One end of a connection. `Network.connect` creates both ends."""

    peer: SimulatedTransport
    number: int

    def __init__(
        self, network: Carrier, process: Process | None, name: tuple[str, int], peer_name: tuple[str, int]
    ) -> None:
        super().__init__({"sockname": name, "peername": peer_name})
        self.process = process
        self._network = network
        self._loop = network.loop
        # An end without a process gets an empty context. Otherwise arriving data would be a step of the
        # sender's process, and be dropped when that process dies.
        self._context = process.context() if process else Context()
        self._protocol: asyncio.BaseProtocol | None = None
        # sending
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._outstanding_bytes = 0  # in transit, or arrived and not read
        self._arrives_us = 0
        self._high, self._low = HIGH_WATER_BYTES, LOW_WATER_BYTES
        self._writing_paused = False
        self._eof_asked = False
        self._sends_nothing = False  # the connection was cut, or the end was sent
        # receiving
        self._arrived: deque[bytes] = deque()  # b"" is the end
        self._frames = FrameCounter()
        self._reading = False
        # the end
        self._closing = False
        self._lost = False

    def __repr__(self) -> str:
        return f"<connection end {self.number}, {'closing' if self._closing else 'open'}>"

    # -- set-up by the network -----------------------------------------------------------------------------

    def begin(self, factory: Callable[[], asyncio.BaseProtocol]) -> None:
        """Create and greet the protocol of the accepting end, in the process that listens."""
        self._soon(self._begin, factory)

    def _begin(self, factory: Callable[[], asyncio.BaseProtocol]) -> None:
        if not self._lost:
            self.adopt(factory())

    def adopt(self, protocol: asyncio.BaseProtocol) -> None:
        """Greet the protocol, then pass it the data that has already arrived."""
        self._protocol = protocol
        self._reading = True
        protocol.connection_made(self)
        self._soon(self._drain_arrived)

    def _soon(self, callback: Callable[..., object], *args: object) -> None:
        self._loop.call_soon(callback, *args, context=self._context)

    # -- writing -------------------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data must be bytes-like, not {type(data).__name__}")
        if self._eof_asked:
            raise RuntimeError("Cannot call write() after write_eof()")
        if not data or self._closing or self._lost:
            return
        self._unsent.append(bytes(data))
        self._unsent_bytes += len(data)
        self._send()
        if self._unsent_bytes > self._high and not self._writing_paused:
            self._writing_paused = True
            cast(asyncio.Protocol, self._protocol).pause_writing()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        if self._closing or self._eof_asked:
            return
        self._eof_asked = True
        self._send()

    def can_write_eof(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        high = (4 * low if low is not None else HIGH_WATER_BYTES) if high is None else high
        low = high // 4 if low is None else low
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._high, self._low = high, low

    def _send(self) -> None:
        """Send what the window has room for. Faults of this direction are drawn here, piece by piece."""
        conditions = self._network.conditions
        while self._unsent and self._outstanding_bytes < conditions.window_bytes and not self._sends_nothing:
            room = conditions.window_bytes - self._outstanding_bytes
            piece = self._next_piece(min(conditions.piece_bytes_max, room))
            self._post(piece)
            if self._network.strikes("cut", conditions.cut_chance):
                self._network_cut()
            elif self._network.strikes("half-close", conditions.half_close_chance):
                self._post_end()
        if self._sends_nothing:
            self._unsent.clear()
            self._unsent_bytes = 0
        elif not self._unsent and (self._eof_asked or self._closing):
            self._post_end()
        self._after_sending()

    def _after_sending(self) -> None:
        if self._writing_paused and self._unsent_bytes <= self._low and not self._lost:
            self._writing_paused = False
            cast(asyncio.Protocol, self._protocol).resume_writing()
        if self._closing and not self._unsent:
            self._lose(None)

    def _next_piece(self, bytes_max: int) -> bytes:
        head = self._unsent.popleft()
        size = min(len(head), bytes_max)
        if size > 1 and self._network.strikes("split", self._network.conditions.split_chance):
            size = self._network.chance.randrange(1, size)
        if size < len(head):
            self._unsent.appendleft(head[size:])
            head = head[:size]
        self._unsent_bytes -= size
        return head

    def _post(self, piece: bytes) -> None:
        delay_us = self._network.delay_us() + self._network.stall_us()
        self._outstanding_bytes += len(piece)
        self._arrives_us = max(self._arrives_us, self._loop.now_us + delay_us)
        self._loop.call_at_us(self._arrives_us, self.peer._arrive, piece, context=self.peer._context)

    def _post_end(self) -> None:
        if not self._sends_nothing:
            self._sends_nothing = True
            self._post(b"")

    def _taken(self, n_bytes: int) -> None:
        """Note that the peer has read so many bytes, and send more."""
        self._outstanding_bytes -= n_bytes
        if self._unsent and not self._lost:
            self._soon(self._send_more)

    def _send_more(self) -> None:
        if not self._lost:
            self._send()

    # -- reading -------------------------------------------------------------------------------------------

    def _arrive(self, piece: bytes) -> None:
        if self._lost or self._closing:
            if piece and not self._network_knows_reset():
                self._reset_peer()
            return
        self._network.traffic.carried[FRAMES] += self._frames.ended_in(piece)
        self._arrived.append(piece)
        self._drain_arrived()

    def _network_knows_reset(self) -> bool:
        return self.peer._lost or self.peer._sends_nothing

    def _drain_arrived(self) -> None:
        while self._arrived and self._reading and not self._closing and not self._lost:
            piece = self._arrived.popleft()
            if piece:
                self.peer._taken(len(piece))
            try:
                self._hand_over(piece)
            except Exception as error:  # as in asyncio, an error of the protocol ends its connection
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        message = f"{type(self._protocol).__name__} failed on data received"
        self._loop.call_exception_handler({"message": message, "exception": error, "transport": self})
        self.abort()

    def _hand_over(self, piece: bytes) -> None:
        """Pass one piece to the protocol. An empty piece is the end of the peer's direction."""
        protocol = self._protocol
        if not piece:
            self._end_arrived()
        elif isinstance(protocol, asyncio.BufferedProtocol):
            while piece:
                buffer = memoryview(protocol.get_buffer(len(piece)))
                size = min(len(buffer), len(piece))
                buffer[:size] = piece[:size]
                protocol.buffer_updated(size)
                piece = piece[size:]
        else:
            cast(asyncio.Protocol, protocol).data_received(piece)

    def _end_arrived(self) -> None:
        self._reading = False
        if not cast(asyncio.Protocol, self._protocol).eof_received():
            self.close()

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._reading and not self._closing:
            self._reading = True
            self._soon(self._drain_arrived)

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    # -- the end -------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Send what is buffered, then the end. The protocol then receives `connection_lost(None)`."""
        if not self._closing and not self._lost:
            self._closing = True
            self._soon(self._send_more)

    def abort(self) -> None:
        """Drop what is buffered; the peer sees a reset."""
        if not self._lost:
            self._unsent.clear()
            self._unsent_bytes = 0
            self._closing = True
            self._reset_peer()
            self._lose(None)

    def is_closing(self) -> bool:
        return self._closing

    def _lose(self, error: Exception | None) -> None:
        if self._lost:
            return
        self._lost = self._closing = self._sends_nothing = True
        self._network.forget(self)
        if self._protocol is not None:
            self._soon(self._protocol.connection_lost, error)

    def reset(self) -> None:
        """Break this end, as the network does when the connection is gone."""
        self._lose(ConnectionResetError(104, "Connection reset by peer"))

    def _reset_peer(self) -> None:
        """Reset the peer after a delay. Data in transit to it may arrive before, or be lost."""
        self._sends_nothing = True
        self._loop.call_at_us(
            self._loop.now_us + self._network.delay_us(), self.peer.reset, context=self.peer._context
        )

    def _network_cut(self) -> None:
        """Cut the connection. Each end notices it after its own delay, and nothing sent from now
        on arrives.
        """
        notice_us_max = self._network.conditions.cut_notice_us_max
        for end in (self, self.peer):
            end._sends_nothing = True
            notice_us = self._network.chance.randint(1, notice_us_max)
            self._loop.call_at_us(self._loop.now_us + notice_us, end.reset, context=end._context)

    def cut(self) -> None:
        """Cut this connection now, for a scenario. Drawn cuts do the same."""
        self._network.faults["cut"] += 1
        self._network_cut()

    def die(self) -> None:
        """End this side because its process was killed. The peer sees an end or a reset."""
        self._lost = self._closing = True
        self._network.forget(self)
        if self._network.chance.random() < 0.5:
            self._post_end()
        else:
            self._reset_peer()

    # -- the rest of the interface -------------------------------------------------------------------------

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return cast(asyncio.BaseProtocol, self._protocol)
