"""Turns of connections: one with many commands lets the others go first, however many it has sent, and many
connections together take no longer in a pass of the loop than one does.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

FIRST_COMMANDS = 16
"""Commands that a connection may handle as they arrive while others wait for their turn.

Most clients never send more at once, so they wait for no connection that does.
"""


class Worker(Protocol):
    """A connection with commands to handle."""

    def work(self, commands: int | None = None) -> None:
        """Handle up to ``commands`` commands that have arrived, None for as many as `Turns.share` says."""


class Turns:
    """The connections that wait for a turn, in the order of their turns.

    A connection is *brief* until it has had its first commands handled and has more. Brief ones go first. In
    each pass of the loop, as many brief ones as the time of one turn allows have a turn, and one other. What
    arrives is handled in the pass in which it arrives, until that has taken the time of a turn.

    Args:
        loop: Where the turns are scheduled (``call_soon``).
        commands: How many commands a turn allows.
        seconds: How long a turn may last, apart from its last command.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, commands: int, seconds: float) -> None:
        self.commands = commands
        self.seconds = seconds
        self._loop = loop
        self._brief: dict[Worker, None] = {}
        self._waiting: dict[Worker, None] = {}
        self._is_scheduled = False
        self._left_s = seconds  # for what arrives in this pass

    def share(self, worker: Worker) -> int:
        """Return how many commands ``worker`` may handle now, 0 if it has to wait for its turn."""
        if worker in self._waiting or worker in self._brief or self._left_s < 0:
            return 0
        return min(FIRST_COMMANDS, self.commands) if self._waiting else self.commands

    def took(self, seconds: float) -> None:
        """Note how long a connection handled what arrived. Others wait for the next pass if that was long."""
        self._left_s -= seconds
        if self._left_s < self.seconds / 2:
            self._schedule()

    def wait(self, worker: Worker, *, is_brief: bool = False) -> None:
        """Give ``worker`` a turn after those that wait already. Its `Worker.work` is called then.

        ``is_brief``: it has not handled any command since it last waited for more.
        """
        if worker not in self._waiting:
            if is_brief:
                self._brief[worker] = None
            elif worker not in self._brief:
                self._waiting[worker] = None
        self._schedule()

    def forget(self, worker: Worker) -> None:
        """Forget a connection that has ended."""
        self._brief.pop(worker, None)
        self._waiting.pop(worker, None)

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._is_scheduled = False
        self._left_s = self.seconds
        brief_until_s = self._loop.time() + self.seconds
        while self._brief and self._loop.time() <= brief_until_s:
            worker = next(iter(self._brief))
            del self._brief[worker]
            worker.work(min(FIRST_COMMANDS, self.commands) if self._waiting else self.commands)
        if self._waiting:
            worker = next(iter(self._waiting))
            del self._waiting[worker]
            worker.work(self.commands)
        if self._waiting or self._brief:
            self._schedule()
