"""`Process`: a simulated process, whose tasks and callbacks stop between two steps when it is killed.

A crash is not a cancellation: no ``finally`` block runs, and nothing is flushed. The loop therefore skips
every step, timer and callback of a dead process. A context variable says which process a task or callback
belongs to. Tasks and callbacks inherit it from their creator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

CURRENT: ContextVar[Process | None] = ContextVar("simulated_process", default=None)


class Process:
    """One life of a simulated process. A restart creates a new object."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self.name = name
        self.alive = True
        self._loop = loop
        self._context = copy_context()
        self._context.run(CURRENT.set, self)
        self._on_death: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"<process {self.name}{'' if self.alive else ', dead'}>"

    def context(self) -> Context:
        """Return a new context of this process, for a task or a callback."""
        return self._context.copy()

    def spawn(self, coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Start ``coro`` as a task of this process. The task stops when the process is killed."""
        return self._loop.create_task(coro, name=name or self.name, context=self.context())

    def run(self, function: Callable[..., T], *args: object) -> T:
        """Call ``function`` in this process: tasks and callbacks that it creates belong to it."""
        return self._context.copy().run(function, *args)

    def at_death(self, callback: Callable[[], None]) -> None:
        """Register a callback of the surrounding world, to call when the process is killed."""
        self._on_death.append(callback)

    def forget_at_death(self, callback: Callable[[], None]) -> None:
        """Remove a callback of `at_death`."""
        if callback in self._on_death:
            self._on_death.remove(callback)

    def kill(self) -> None:
        """End the process between two steps. None of its code runs again, ``finally`` blocks included."""
        if not self.alive:
            return
        self.alive = False
        for callback in tuple(self._on_death):
            callback()


def current_process() -> Process | None:
    """Return the process of the running step, or ``None`` in the surrounding world."""
    return CURRENT.get()


def owner_of(context: Context) -> Process | None:
    """Return the process of a context, or ``None``."""
    return context.get(CURRENT)
