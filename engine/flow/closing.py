"""Close enumerators and master hooks, whose errors must not keep the job from recovering or ending."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from pravega_lab.portable.waiting import cancellations

from .calling import call
from .cancelling import ends_program

CLOSING_S = 60.0  # time limit, as in Flink
_log = logging.getLogger(__name__)


async def close_in_time(close: Callable[[], Awaitable[None] | None], what: str) -> None:
    """Call ``close`` and wait for it for at most `CLOSING_S`. What it raises is logged, and no more.

    Source: Flink's `RecreateOnResetOperatorCoordinator` (its closing timeout).
    """
    asked = cancellations()
    try:
        async with asyncio.timeout(CLOSING_S):
            await call(close)
    except BaseException as error:
        if cancellations() > asked or ends_program(error):
            raise
        _log.warning("%s did not close cleanly", what, exc_info=error)
