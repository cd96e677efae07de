"""A simulated process: what it started stops between two steps when it is killed, and not a line later.

A crash is no cancellation: no ``finally`` runs, nothing is flushed. So the loop skips every step, timer and
callback that belongs to a dead process. What belongs to whom is a context variable, which tasks and
callbacks inherit from whoever made them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pravega_lab.engine.simulation.loop import SimulationLoop

T = TypeVar("T")

_CURRENT: ContextVar[Process | None] = ContextVar("simulated_process", default=None)


class Process:
    """One life of a simulated process; a restart is a new object."""

    def __init__(self, loop: SimulationLoop, name: str) -> None:
        self.name = name
        self.alive = True
        self._loop = loop
        self._context = copy_context()
        self._context.run(_CURRENT.set, self)
        self._on_death: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"<process {self.name}{'' if self.alive else ', dead'}>"

    def context(self) -> Context:
        """A context of this process, for a task or a callback of its own."""
        return self._context.copy()

    def spawn(self, coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Start ``coro`` as a task of this process; it dies with it."""
        return self._loop.create_task(coro, name=name or self.name, context=self.context())

    def run(self, function: Callable[..., T], *args: object) -> T:
        """Call ``function`` as this process: what it starts belongs to it."""
        return self._context.copy().run(function, *args)

    def at_death(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the process is killed: what the world around it does then."""
        self._on_death.append(callback)

    def forget_at_death(self, callback: Callable[[], None]) -> None:
        """Take back `at_death`."""
        if callback in self._on_death:
            self._on_death.remove(callback)

    def kill(self) -> None:
        """End the process between two steps. No code of it runs again, ``finally`` blocks included."""
        if not self.alive:
            return
        self.alive = False
        for callback in tuple(self._on_death):
            callback()


def current_process() -> Process | None:
    """The process that the running step belongs to; ``None`` for the world around the processes."""
    return _CURRENT.get()


def owner_of(context: Context) -> Process | None:
    """The process whose context this is."""
    return context.get(_CURRENT)
