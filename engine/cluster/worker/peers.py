"""The connections of a worker to the other workers: the worker with the higher index opens them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ..driver.placement import WorkerSpec
from ..errors import FrameError
from ..wire.frames import Frame, Hello
from ..wire.greeting import Guest, accepting
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
        self._server = await loop.create_server(lambda: accepting(self._spec.token, self._greet), host, 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def link(self, worker: int) -> Link:
        """Return the link to another worker. `connect` must have ended."""
        return self._links[worker]

    async def connect(self, places: Sequence[tuple[str, int]]) -> None:
        """Connect with all workers, whose addresses are ``places``.

        The worker opens the connections to workers with lower indices, and waits for the others.
        """
        spec = self._spec
        for worker, (host, port) in enumerate(places[: self._index]):
            guest = Guest(spec.token, self._on_frame, self._lost(worker))
            self._links[worker] = await guest.dial(host, port)
            await guest.introduce(Hello(spec.epoch, self._index, 0, 0, ""))
        while len(self._links) < len(places) - 1:
            self._changed.clear()
            await self._changed.wait()

    def _greet(self, link: Link, hello: Hello) -> None:
        if hello.epoch != self._spec.epoch or not self._index < hello.worker < self._spec.workers:
            raise FrameError(f"HELLO of worker {hello.worker} of epoch {hello.epoch}, who is not expected")
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
