"""`SimulatedHandle` is what a loop schedules: a handle of asyncio that does not ask for the debug mode.

asyncio asks its loop at each handle whether debugging is on. In a simulation it never is, and nearly every
step of a run makes a handle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any


class SimulatedHandle(asyncio.TimerHandle):
    """A callback, at a time or soon. `asyncio.Handle._run` calls it.

    Args:
        when: The virtual time in seconds at which it is due; 0 for a callback that is not a timer.
        context: The context in which it runs, or None for a copy of the present one.
    """

    __slots__ = ()
    _context: Context

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        # All that asyncio's handles have.
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback: Callable[..., object] | None = callback
        self._args: Any = args
        self._cancelled = self._scheduled = False
        self._repr = self._source_traceback = None
        self._when = when

    def cancel(self) -> None:
        """Make the callback void. It is dropped when it is due, and time does not stop for it."""
        self._cancelled = True
        self._callback = self._args = None
