"""One epoch of workers as the driver has it: they come, work, and when one is lost all of them end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pravega_lab.engine.cluster.errors import WorkerLostError, WorkersNotStartedError
from pravega_lab.engine.cluster.frames import Hello
from pravega_lab.engine.cluster.launching import Launched
from pravega_lab.engine.cluster.links import Link


@dataclass(frozen=True)
class WorkerInfo:
    """A worker that has come."""

    index: int
    epoch: int
    pid: int
    host: str


class Epoch:
    """``on_over`` is told once, when no more is to be had of it."""

    def __init__(self, number: int, workers: int, on_over: Callable[[Epoch, WorkerLostError], None]) -> None:
        self.number, self.workers = number, workers
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_over = False
        self.launched: Launched | None = None
        self._on_over = on_over
        self._links: dict[int, Link] = {}
        self._ready: set[int] = set()
        self._came: dict[int, Hello] = {}

    @property
    def infos(self) -> list[WorkerInfo]:
        """Who has come, by index."""
        came = sorted(self._came.items())
        return [WorkerInfo(index, self.number, hello.pid, hello.host) for index, hello in came]

    def expects(self, worker: int) -> bool:
        """Has it not come yet, and may it?"""
        return not self.is_over and worker < self.workers and worker not in self._came

    def came(self, link: Link, hello: Hello) -> None:
        """A worker says hello; when all have, they are told of each other."""
        self._links[hello.worker], self._came[hello.worker] = link, hello
        if len(self._came) == self.workers:
            places = [(hello.host, hello.port) for _, hello in sorted(self._came.items())]
            for index in range(self.workers):
                self._links[index].call("peers", places)

    def is_ready(self, worker: int) -> None:
        """A worker has its connections."""
        self._ready.add(worker)
        if len(self._ready) == self.workers and not self.ready.done():
            self.ready.set_result(None)

    def call(self, worker: int, name: str, *args: Any) -> None:
        if not self.is_over:
            self._links[worker].call(name, *args)

    def not_started(self, timeout_s: float) -> WorkersNotStartedError:
        """What to say when time is up."""
        return WorkersNotStartedError(
            f"{len(self._came)} of {self.workers} workers came within {timeout_s:g} s: other jobs may hold "
            "the slots (a streaming query takes them for as long as a batch runs); stop those, or ask for "
            "fewer workers=, or raise start_timeout_s="
        )

    def lost(self, why: str) -> None:
        """A worker is gone: those that are left end too."""
        self.end(WorkerLostError(f"{why}; epoch {self.number} of {self.workers} workers ends"))

    def worker_lost(self, worker: int, why: str) -> None:
        """Its connection to the driver ended."""
        who = self._came[worker]
        self.lost(f"worker {worker} (pid {who.pid} on {who.host}) is gone: {why}")

    def end(self, error: WorkerLostError) -> None:
        """No call of its workers counts any more, whatever they still do."""
        if self.is_over:
            return
        self.is_over = True
        if not self.ready.done():
            self.ready.set_exception(error)
            self.ready.exception()  # somebody may be waiting, or nobody
        for link in self._links.values():
            link.call("end")
            link.finish()
        self._on_over(self, error)
