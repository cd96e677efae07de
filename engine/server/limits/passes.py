"""A loop whose passes are short: it looks at some of the ready sockets, and at the others in the next pass.

A client that others must not hold up waits for several passes: its request is received, written to the disk,
and answered. With thousands of ready sockets, each of these passes would be as long as all of them take.
"""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import socket
from typing import Any

READY_AT_ONCE = 32
"""Ready sockets of one pass. Linux reports the others first in the next one."""
ACCEPTED_AT_ONCE = 16
"""Connections that are accepted in one pass."""
WAITING_CONNECTIONS = 1024
"""Connections that the system keeps until they are accepted."""


class _Few:
    """An ``epoll`` that reports only some of the ready sockets at once."""

    def __init__(self, all_of_them: select.epoll) -> None:
        self._all = all_of_them
        self.poll_all = all_of_them.poll
        self.is_one_ready = False

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[tuple[int, int]]:
        ready = self.poll_all(timeout, min(maxevents, READY_AT_ONCE) if maxevents > 0 else READY_AT_ONCE)
        self.is_one_ready = len(ready) == 1
        return ready

    def __getattr__(self, name: str) -> Any:
        return getattr(self._all, name)


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop with short passes. Where the system has no epoll, it is the loop of asyncio."""
    if not hasattr(select, "epoll"):
        return asyncio.new_event_loop()
    return _ShortPasses()


class _ShortPasses(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        selector: Any = selectors.EpollSelector()
        self.few = selector._selector = _Few(selector._selector)
        super().__init__(selector)


def is_one_ready(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether one socket alone is ready in this pass of the loop, as far as the loop knows."""
    return isinstance(loop, _ShortPasses) and loop.few.is_one_ready


def wait_in_the_system(server: asyncio.Server) -> None:
    """Let connections wait in the system that a server with a small ``backlog`` has not accepted yet."""
    for listening in server.sockets:
        with socket.socket(fileno=os.dup(listening.fileno())) as same:
            same.listen(WAITING_CONNECTIONS)
