"""`Network`: connections in memory, with asyncio's transport interface and the faults of a network.

The bytes of one direction keep their order. Everything else is drawn: how they are divided into pieces, how
long each piece travels, whether the connection is cut, and whether one direction ends early (half close).
After a cut each end notices it at its own time, and data that is in transit when one end closes still arrives
at the other.

All addresses are on one machine, so the port alone identifies a listener. `Conditions` has the chances of
faults, and `Network.faults` counts those that happened.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random

from .conditions import Conditions
from .process import Process, current_process
from .traffic import Traffic
from .transport import SimulatedTransport
from .virtual_time import VirtualTimeLoop

FIRST_FREE_PORT = 40_000


class SimulatedSocket:
    """An element of `Server.sockets`, which has nothing but a name."""

    def __init__(self, name: tuple[str, int]) -> None:
        self._name = name

    def getsockname(self) -> tuple[str, int]:
        """Return host and port."""
        return self._name


class SimulatedServer(asyncio.AbstractServer):
    """A listener. `close` refuses new connections and leaves open ones alone."""

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
        """Return at once: closing is immediate."""

    def is_serving(self) -> bool:
        return self._serving

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._network.loop

    async def start_serving(self) -> None:
        """Do nothing: the server listens from the start."""

    async def serve_forever(self) -> None:
        await self._network.loop.create_future()

    async def __aenter__(self) -> SimulatedServer:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Network:
    """All listeners and connections of one simulation."""

    def __init__(self, loop: VirtualTimeLoop, chance: Random) -> None:
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
        """Draw how long a piece travels in one direction."""
        return self.chance.randint(self.conditions.delay_us_min, self.conditions.delay_us_max)

    def stall_us(self) -> int:
        """Draw how much longer a piece travels than usual: 0 in most cases."""
        stall_chance = self.conditions.stall_chance
        if not stall_chance or self.chance.random() >= stall_chance:
            return 0
        stall_us = self.chance.randint(1, self.conditions.stall_us_max)
        if not self.loop.faults.happens("network", "stall"):
            return 0
        self.faults["stall"] += 1
        return stall_us

    def strikes(self, kind: str, chance: float) -> bool:
        """Draw whether this fault happens here, and count it."""
        if chance and self.chance.random() < chance and self.loop.faults.happens("network", kind):
            self.faults[kind] += 1
            return True
        return False

    # -- listening and connecting --------------------------------------------------------------------------

    def listen(self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int) -> SimulatedServer:
        """Return a server that listens on ``port``, or on a free port for 0. Raises OSError if the port is in
        use.
        """
        if port in self._listeners:
            raise OSError(98, f"cannot listen on ({host!r}, {port}): address already in use")
        if not port:
            port, self._next_port = self._next_port, self._next_port + 1
        server = SimulatedServer(self, factory, (host, port))
        self._listeners[port] = server
        return server

    def forget_listener(self, port: int) -> None:
        """Remove a closed listener."""
        self._listeners.pop(port, None)

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[SimulatedTransport, asyncio.BaseProtocol]:
        """Open a connection. Raises ConnectionRefusedError if no server listens, or when a drawn fault
        refuses.
        """
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
        """Remove a closed transport."""
        self._transports.pop(transport.number, None)

    def connections(self) -> list[SimulatedTransport]:
        """Return the open ends, oldest first."""
        return list(self._transports.values())

    def process_died(self, process: Process) -> None:
        """Close what a dead process had open, as a kernel does: its listeners vanish and its peers see a
        reset.
        """
        for port, server in list(self._listeners.items()):
            if server.process is process:
                del self._listeners[port]
        for transport in self.connections():
            if transport.process is process:
                transport.die()
