"""The connections of a worker to the other workers: the worker with the higher index opens them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from ..driver.placement import WorkerSpec
from ..errors import FrameError
from ..wire.frames import Frame, Hello
from ..wire.links import Link


class Peers:
    """Connect a worker with the others.

    ``on_frame`` receives their frames, and ``on_lost(worker, why)`` their losses.
    """

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
        """Listen on a free port, and return it."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Link(self._greet, lambda _link, _why: None, greeted=False), host, 0
        )
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def link(self, worker: int) -> Link:
        """Return the link to another worker. `connect` must have ended."""
        return self._links[worker]

    async def connect(self, places: Sequence[tuple[str, int]]) -> None:
        """Connect with all workers, whose addresses are ``places``.

        The worker opens the connections to workers with lower indices, and waits for the others.
        """
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
        """Close the server and all links."""
        if self._server is not None:
            self._server.close()
        for link in self._links.values():
            link.close()
