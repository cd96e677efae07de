"""`VirtualTimeLoop` is the virtual clock, the one part of the loop that all of the kernel needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

from .faults import Faults


class VirtualTimeLoop(asyncio.AbstractEventLoop):
    """An event loop whose clock is a number of microseconds that only the loop moves."""

    now_us: int
    faults: Faults

    def call_at_us(
        self, when_us: int, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call ``callback(*args)`` when the clock shows ``when_us``, in virtual microseconds."""
        raise NotImplementedError
