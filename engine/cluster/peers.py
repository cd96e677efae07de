"""The connections of a worker to the other workers: one to each, dialled by the one with the higher index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from pravega_lab.engine.cluster.errors import FrameError
from pravega_lab.engine.cluster.frames import Frame, Hello
from pravega_lab.engine.cluster.links import Link
from pravega_lab.engine.cluster.placement import WorkerSpec


class Peers:
    """``on_frame`` gets what they send, ``on_lost`` who is gone and why."""

    def __init__(
        self,
        spec: WorkerSpec,
        index: int,
        on_frame: Callable[[Link, Frame], None],
        on_lost: Callable[[int, str], None],
    ) -> None:
        self._spec, self._index = spec, index
        self._on_frame, self._on_lost = on_frame, on_lost
        self._links: dict[int, Link] = {}
        self._changed = asyncio.Event()
        self._server: asyncio.Server | None = None

    async def listen(self, host: str) -> int:
        """Returns the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Link(self._greet, lambda _link, _why: None, greeted=False), host, 0
        )
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def link(self, worker: int) -> Link:
        """To another worker; `connect` has ended."""
        return self._links[worker]

    async def connect(self, places: Sequence[tuple[str, int]]) -> None:
        """To everybody: dial those with a lower index, wait for the others. ``places``: of all workers."""
        loop, spec = asyncio.get_running_loop(), self._spec
        for worker, (host, port) in enumerate(places[: self._index]):
            make = partial(Link, self._on_frame, self._lost(worker), greeted=True)
            _, link = await loop.create_connection(make, host, port)
            link.send(Hello(spec.token, spec.epoch, self._index, 0, 0, "").encode())
            self._links[worker] = link
        while len(self._links) < len(places) - 1:
            self._changed.clear()
            await self._changed.wait()

    def _greet(self, link: Link, frame: Frame) -> None:
        hello = Hello.decode(frame, self._spec.token)
        if hello.epoch != self._spec.epoch or not self._index < hello.worker < self._spec.workers:
            raise FrameError(f"HELLO of worker {hello.worker} of epoch {hello.epoch}, who is not expected")
        link.greeted(hello)
        link.take_over(self._on_frame, self._lost(hello.worker))
        self._links[hello.worker] = link
        self._changed.set()

    def _lost(self, worker: int) -> Callable[[Link, str], None]:
        return lambda _link, why: self._on_lost(worker, why)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for link in self._links.values():
            link.close()
