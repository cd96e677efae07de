"""The connection to the controller in a simulation: encoded requests and replies, late, refused or lost.

gRPC polls in a thread and cannot run under virtual time. The simulation therefore carries the same bytes that
``server/grpc.py`` carries over a network. As with gRPC, the caller cannot distinguish a lost reply from a
request that never arrived: both are UNAVAILABLE.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pravega_lab.client.controller.link import ControllerCallError

from ...store.metadata.replies import RpcError
from .network import Network
from .process import Process
from .traffic import ANSWERS, REQUESTS

Serve = Callable[[str, bytes], Awaitable[bytes]]


@dataclass(slots=True)  # a name that is mistyped is refused
class ControllerPort:
    """The address of the controller. The world changes it when a store starts or dies."""

    process: Process | None = None
    serve: Serve | None = None
    lost_request_chance: float = 0.0
    lost_answer_chance: float = 0.0

    def open(self, process: Process, serve: Serve) -> None:
        """Let the controller of ``process`` reply from now on, until the process dies."""
        self.process, self.serve = process, serve

    def heal(self) -> None:
        """End all faults."""
        self.lost_request_chance = self.lost_answer_chance = 0.0


class SimulatedControllerLink:
    """A `ControllerLink` over the simulated network."""

    def __init__(self, network: Network, port: ControllerPort) -> None:
        self._network = network
        self._port = port
        self._closed = False

    async def call(self, method: str, request: bytes) -> bytes:
        """See `ControllerLink.call`."""
        if self._closed:
            raise ControllerCallError("CANCELLED", "the channel was closed")
        await self._travel()
        process, serve = self._port.process, self._port.serve
        lost = self._network.strikes("lost request", self._port.lost_request_chance)
        if process is None or serve is None or not process.alive or lost:
            await self._travel()
            raise ControllerCallError("UNAVAILABLE", "failed to connect to all addresses")
        carried = self._network.traffic.carried
        carried[REQUESTS] += 1
        answer = await self._ask(process, serve, method, request)
        await self._travel()
        if self._network.strikes("lost answer", self._port.lost_answer_chance):
            raise ControllerCallError("UNAVAILABLE", "connection reset by peer")
        carried[ANSWERS] += 1
        if isinstance(answer, RpcError):
            raise ControllerCallError(answer.code_name, answer.details)
        return answer

    async def _ask(self, process: Process, serve: Serve, method: str, request: bytes) -> bytes | RpcError:
        """Run the call in the store's process. The caller sees its death as a broken connection."""
        answered: asyncio.Future[bytes | RpcError] = asyncio.get_running_loop().create_future()

        async def handle() -> None:
            try:
                answer: bytes | RpcError = await serve(method, request)
            except RpcError as error:
                answer = error
            if not answered.done():
                answered.set_result(answer)

        def died() -> None:
            if not answered.done():
                answered.set_result(RpcError("UNAVAILABLE", "Socket closed"))

        process.at_death(died)
        process.spawn(handle(), name=f"call {method}")
        try:
            return await answered
        finally:
            process.forget_at_death(died)

    async def _travel(self) -> None:
        await asyncio.sleep(self._network.delay_us() / 1_000_000)

    async def close(self) -> None:
        """See `ControllerLink.close`."""
        self._closed = True
