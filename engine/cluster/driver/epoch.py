"""One epoch of workers in the driver: they connect and work, and when one is lost, all of them end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import WorkerLostError, WorkersNotStartedError
from ..wire.frames import Hello
from ..wire.links import Link
from .launching import Launched

EXIT_S = 0.2
"""How long the epoch waits for the launcher to report how the process of a lost worker ended."""


@dataclass(frozen=True)
class WorkerInfo:
    """Describe a worker that has connected."""

    index: int
    epoch: int
    pid: int
    host: str


class Epoch:
    """Track the workers of one epoch. ``on_over`` is called once, when the epoch has ended."""

    def __init__(self, number: int, workers: int, on_over: Callable[[Epoch, WorkerLostError], None]) -> None:
        self.number, self.workers = number, workers
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_over = False
        self.launched: Launched | None = None
        self._on_over = on_over
        self._links: dict[int, Link] = {}
        self._ready: set[int] = set()
        self._came: dict[int, Hello] = {}
        self._missing = ""

    @property
    def infos(self) -> list[WorkerInfo]:
        """Return the workers that have connected, by index."""
        came = sorted(self._came.items())
        return [WorkerInfo(index, self.number, hello.pid, hello.host) for index, hello in came]

    def expects(self, worker: int) -> bool:
        """Return whether this worker may connect and has not done so."""
        return not self.is_over and worker < self.workers and worker not in self._came

    def came(self, link: Link, hello: Hello) -> None:
        """Note that a worker has connected. When all have, send each the addresses of all."""
        self._links[hello.worker], self._came[hello.worker] = link, hello
        if len(self._came) == self.workers:
            places = [(hello.host, hello.port) for _, hello in sorted(self._came.items())]
            for index in range(self.workers):
                self._links[index].call("peers", places)

    def is_ready(self, worker: int) -> None:
        """Note that a worker is connected with all other workers."""
        self._ready.add(worker)
        if len(self._ready) == self.workers and not self.ready.done():
            self.ready.set_result(None)

    def call(self, worker: int, name: str, *args: Any) -> None:
        """Send a call to a worker, unless the epoch has ended."""
        if not self.is_over:
            self._links[worker].call(name, *args)

    def not_started(self, timeout_s: float, advice: str) -> WorkersNotStartedError:
        """Return the error for workers that did not connect within ``timeout_s``."""
        return WorkersNotStartedError(
            f"{len(self._came)} of {self.workers} workers came within {timeout_s:g} s: {advice}"
        )

    def lost(self, why: str) -> None:
        """End the epoch because a worker is lost."""
        reasons = f"{self._missing}; {why}" if self._missing else why
        self.end(WorkerLostError(f"{reasons}; epoch {self.number} of {self.workers} workers ends"))

    def worker_lost(self, worker: int, why: str) -> None:
        """End the epoch because a worker's connection to the driver has ended.

        It ends a moment later, because the launcher will soon report how the process ended.
        """
        if self._missing or self.is_over:
            return
        who = self._came[worker]
        self._missing = f"worker {worker} (pid {who.pid} on {who.host}) is gone: {why}"
        asyncio.get_running_loop().call_later(EXIT_S, self._worker_lost)

    def _worker_lost(self) -> None:
        missing, self._missing = self._missing, ""
        self.lost(missing)

    def end(self, error: WorkerLostError) -> None:
        """End the epoch: no message of its workers counts any more."""
        if self.is_over:
            return
        self.is_over = True
        if not self.ready.done():
            self.ready.set_exception(error)
            self.ready.exception()  # mark it as retrieved: it is possible that nothing waits for it
        for link in self._links.values():
            link.call("end")
            link.finish()
        self._on_over(self, error)
