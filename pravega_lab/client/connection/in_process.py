"""Stores in the same process and on the same event loop, by address: in a browser there are no sockets.

The program that runs such a store adds it here. A client whose address is that of one speaks to it in memory,
with the bytes that it would send over a network.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

HIGH_WATER_BYTES = 1 << 20
Factory = Callable[[], asyncio.BaseProtocol]


class StoreHere(Protocol):
    """Describes a store in this process."""

    async def call(self, method: str, request: bytes) -> bytes:
        """Answer a call of the controller. Raises `client.controller.link.ControllerCallError`."""
        ...

    def new_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol of the store's end of a new connection."""
        ...


_stores: dict[tuple[str, int], StoreHere] = {}


def add(host: str, port: int, store: StoreHere) -> None:
    """Let clients find a store at an address."""
    _stores[host, port] = store


def remove(host: str, port: int) -> None:
    """Refuse new connections to an address."""
    _stores.pop((host, port), None)


def find(host: str, port: int) -> StoreHere | None:
    """Return the store at an address, None if that is not in this process."""
    return _stores.get((host, port))


def connect(factory: Factory, store: StoreHere) -> None:
    """Connect a protocol with a store."""
    near, far = _End(), _End()
    near.peer, far.peer = far, near
    far.adopt(store.new_protocol())
    near.adopt(factory())


class _End(asyncio.Transport):
    """One end of a connection in memory. Bytes arrive in a later turn of the loop, in order."""

    peer: _End

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 0), "sockname": ("127.0.0.1", 0)})
        self._loop = asyncio.get_running_loop()
        self._protocol: Any = None
        self._arrived: deque[bytes] = deque()
        self._waiting_bytes = 0  # arrived, and not passed to the protocol
        self._is_reading, self._is_closing, self._is_lost = True, False, False
        self._is_full = False  # the protocol was asked to pause writing

    def adopt(self, protocol: asyncio.BaseProtocol) -> None:
        """Greet the protocol."""
        self._protocol = protocol
        protocol.connection_made(self)
        self._loop.call_soon(self._deliver)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing or not len(data):
            return
        self.peer._arrived.append(bytes(data))
        self.peer._waiting_bytes += len(data)
        self._loop.call_soon(self.peer._deliver)
        if self.peer._waiting_bytes > HIGH_WATER_BYTES and not self._is_full:
            self._is_full = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        for data in list_of_data:
            self.write(data)

    def get_write_buffer_size(self) -> int:
        return self.peer._waiting_bytes

    def _deliver(self) -> None:
        while self._arrived and self._is_reading and not self._is_lost and self._protocol is not None:
            piece = self._arrived.popleft()
            self._waiting_bytes -= len(piece)
            if isinstance(self._protocol, asyncio.BufferedProtocol):
                _fill(self._protocol, piece)
            else:
                cast(asyncio.Protocol, self._protocol).data_received(piece)
        if self.peer._is_full and self._waiting_bytes <= HIGH_WATER_BYTES // 2:
            self.peer._is_full = False
            self.peer._protocol.resume_writing()
        if not self._arrived and self.peer._is_closing:
            self._lose()

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._loop.call_soon(self._deliver)

    def is_reading(self) -> bool:
        return self._is_reading and not self._is_closing

    def close(self) -> None:
        """Close this end; the peer gets what was written, and then loses the connection."""
        self._lose()
        self._loop.call_soon(self.peer._deliver)

    def abort(self) -> None:
        """Close both ends; what has not arrived is dropped."""
        self.peer._arrived.clear()
        self.close()

    def is_closing(self) -> bool:
        return self._is_closing

    def _lose(self) -> None:
        if not self._is_lost:
            self._is_lost = self._is_closing = True
            self._loop.call_soon(self._protocol.connection_lost, None)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return cast(asyncio.BaseProtocol, self._protocol)


def _fill(protocol: asyncio.BufferedProtocol, piece: bytes) -> None:
    while piece:
        buffer = memoryview(protocol.get_buffer(len(piece)))
        size = min(len(buffer), len(piece))
        buffer[:size] = piece[:size]
        protocol.buffer_updated(size)
        piece = piece[size:]
