"""Turns of connections: one with many commands lets the others go first, however many it has sent."""

from __future__ import annotations

import asyncio
from typing import Protocol

FIRST_COMMANDS = 16
"""Commands that a connection may handle as they arrive while others wait for their turn.

Most clients never send more at once, so they never wait.
"""


class Worker(Protocol):
    """A connection with commands to handle."""

    def work(self, commands: int | None = None) -> None:
        """Handle up to ``commands`` commands that have arrived, None for as many as `Turns.share` says."""


class Turns:
    """The connections that have more commands than one turn allows, in the order of their turns.

    One of them has its turn in each pass of the loop. What other connections receive is handled in the same
    pass.

    Args:
        loop: Where the turns are scheduled (``call_soon``).
        commands: How many commands a turn allows.
        seconds: How long a turn may last, apart from its last command.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, commands: int, seconds: float) -> None:
        self.commands = commands
        self.seconds = seconds
        self._loop = loop
        self._waiting: dict[Worker, None] = {}
        self._is_scheduled = False

    def share(self, worker: Worker) -> int:
        """Return how many commands ``worker`` may handle now, 0 if it waits for its turn."""
        if not self._waiting:
            return self.commands
        return 0 if worker in self._waiting else min(FIRST_COMMANDS, self.commands)

    def wait(self, worker: Worker) -> None:
        """Give ``worker`` a turn after those that wait already. Its `Worker.work` is called then."""
        self._waiting[worker] = None
        self._schedule()

    def forget(self, worker: Worker) -> None:
        """Forget a connection that has ended."""
        self._waiting.pop(worker, None)

    def _schedule(self) -> None:
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._is_scheduled = False
        if self._waiting:
            worker = next(iter(self._waiting))
            del self._waiting[worker]
            worker.work(self.commands)
        self._schedule()
