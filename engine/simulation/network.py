"""Connections in memory, with asyncio's transport interface and a network's faults.

Bytes of one direction keep their order; everything else is drawn: how they are split, how long each piece
travels, whether the connection is cut (each end learns of it at its own time, and what is still under way
when one end has given up arrives at the other), whether one direction ends early (half close).

All addresses are one machine: a listener is known by its port. What may go wrong, and how often, is
`Conditions`; `Network.faults` counts what did.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from pravega_lab.engine.simulation.process import Process, current_process
from pravega_lab.engine.simulation.traffic import Traffic
from pravega_lab.engine.simulation.transport import SimulatedTransport

if TYPE_CHECKING:
    from pravega_lab.engine.simulation.loop import SimulationLoop

FIRST_FREE_PORT = 40_000


@dataclass
class Conditions:
    """How the network behaves from now on. Chances are per piece of data, of connecting per attempt."""

    delay_us_min: int = 50
    delay_us_max: int = 1_000
    split_chance: float = 0.0
    piece_bytes_max: int = 65_536
    window_bytes: int = 65_536  # what is under way or unread in one direction; beyond it the sender keeps it
    stall_chance: float = 0.0
    stall_us_max: int = 3_000_000
    cut_chance: float = 0.0
    cut_notice_us_max: int = 4_000_000  # how late an end may learn that it is cut off
    half_close_chance: float = 0.0
    refuse_chance: float = 0.0

    def heal(self) -> None:
        """No more faults; delays stay."""
        self.split_chance = self.stall_chance = self.cut_chance = self.half_close_chance = (
            self.refuse_chance
        ) = 0.0


class SimulatedSocket:
    """What `Server.sockets` holds: a name."""

    def __init__(self, name: tuple[str, int]) -> None:
        self._name = name

    def getsockname(self) -> tuple[str, int]:
        return self._name


class SimulatedServer(asyncio.AbstractServer):
    """A listener; `close` refuses new connections and leaves the open ones."""

    def __init__(
        self, network: Network, factory: Callable[[], asyncio.BaseProtocol], name: tuple[str, int]
    ) -> None:
        self.factory = factory
        self.process = current_process()
        self._network = network
        self._name = name
        self._serving = True

    @property
    def sockets(self) -> tuple[SimulatedSocket, ...]:
        return (SimulatedSocket(self._name),) if self._serving else ()

    def close(self) -> None:
        if self._serving:
            self._serving = False
            self._network.forget_listener(self._name[1])

    async def wait_closed(self) -> None:
        """Nothing to wait for: closing is immediate."""

    def is_serving(self) -> bool:
        return self._serving

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._network.loop

    async def start_serving(self) -> None:
        """It listens from the start."""

    async def serve_forever(self) -> None:
        await self._network.loop.create_future()

    async def __aenter__(self) -> SimulatedServer:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Network:
    """All listeners and connections of one simulation."""

    def __init__(self, loop: SimulationLoop, chance: Random) -> None:
        self.loop = loop
        self.chance = chance
        self.conditions = Conditions()
        self.faults: Counter[str] = Counter()
        self.traffic = Traffic()
        self._listeners: dict[int, SimulatedServer] = {}
        self._transports: dict[int, SimulatedTransport] = {}
        self._next_port = FIRST_FREE_PORT
        self._next_connection = 0

    def delay_us(self) -> int:
        """One way, drawn."""
        return self.chance.randint(self.conditions.delay_us_min, self.conditions.delay_us_max)

    def strikes(self, kind: str, chance: float) -> bool:
        """Draw whether this fault happens here, and count it."""
        if chance and self.chance.random() < chance:
            self.faults[kind] += 1
            return True
        return False

    # -- listening and connecting --------------------------------------------------------------------------

    def listen(self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int) -> SimulatedServer:
        """Raises OSError when somebody listens on ``port`` already."""
        if port in self._listeners:
            raise OSError(98, f"cannot listen on ({host!r}, {port}): address already in use")
        if not port:
            port, self._next_port = self._next_port, self._next_port + 1
        server = SimulatedServer(self, factory, (host, port))
        self._listeners[port] = server
        return server

    def forget_listener(self, port: int) -> None:
        self._listeners.pop(port, None)

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[SimulatedTransport, asyncio.BaseProtocol]:
        """Raises ConnectionRefusedError when nobody listens, or the drawn fault says so."""
        await asyncio.sleep(self.delay_us() / 1_000_000)
        server = self._listeners.get(port)
        if server is None or self.strikes("refused", self.conditions.refuse_chance):
            await asyncio.sleep(self.delay_us() / 1_000_000)
            raise ConnectionRefusedError(111, f"Connect call failed ({host!r}, {port})")
        near, far = self._pair(server, (host, port))
        far.begin(server.factory)
        try:
            await asyncio.sleep(self.delay_us() / 1_000_000)
        except asyncio.CancelledError:
            near.abort()
            raise
        protocol = factory()
        near.adopt(protocol)
        return near, protocol

    def _pair(
        self, server: SimulatedServer, address: tuple[str, int]
    ) -> tuple[SimulatedTransport, SimulatedTransport]:
        self._next_connection += 1
        client = ("127.0.0.1", 50_000 + self._next_connection)
        near = SimulatedTransport(self, current_process(), client, address)
        far = SimulatedTransport(self, server.process, address, client)
        near.peer, far.peer = far, near
        near.number, far.number = 2 * self._next_connection, 2 * self._next_connection + 1
        for transport in (near, far):
            self._transports[transport.number] = transport
        return near, far

    # -- ends of connections -------------------------------------------------------------------------------

    def forget(self, transport: SimulatedTransport) -> None:
        """A transport tells that it is done."""
        self._transports.pop(transport.number, None)

    def connections(self) -> list[SimulatedTransport]:
        """Open ends, oldest first."""
        return list(self._transports.values())

    def process_died(self, process: Process) -> None:
        """Its listeners vanish and its peers see a reset: the kernel closes what a dead process had open."""
        for port, server in list(self._listeners.items()):
            if server.process is process:
                del self._listeners[port]
        for transport in self.connections():
            if transport.process is process:
                transport.die()
