"""Decide how long to retry and how long to pause in between. Every call that asks a store uses it.

It uses only the running loop's clock, and draws pauses from the ``Random`` of its caller, so that a simulated
run repeats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

from pravega_lab.errors import StoreFullError, StoreUnavailableError

T = TypeVar("T")

PAUSE_S_MIN = 0.02
PAUSE_S_MAX = 1.0
FIRST_CONTACT_S = 5.0  # the retry budget for a store that never answered
FIRST_ANSWER_S = 10.0  # the time limit of a first call that gets no answer


class TransientError(Exception):
    """Raised when an attempt failed for a reason that may pass: a lost connection, a moved segment."""

    unnoticed_s = 0.0
    """Seconds for which the failure may have gone unnoticed. They do not count as time of retrying."""
    worked_s = 0.0
    """Seconds for which the connection that was lost had worked."""


class FullError(TransientError):
    """Raised when the store has no room now. It accepts the request when there is room again."""


class Retries:
    """Holds the retry budget of one operation: growing pauses until the time is over.

    ``advice`` returns what the caller can do when no attempt succeeded, or "" if nothing special is known.
    """

    def __init__(
        self, what: str, budget_s: float, chance: Random, advice: Callable[[], str] = lambda: ""
    ) -> None:
        self._advice = advice
        self._what = what
        self._budget_s = budget_s
        self._chance = chance
        self._pause_s = PAUSE_S_MIN
        self._end: float | None = None

    def start_over(self) -> None:
        """Restore the full budget after progress."""
        self._end, self._pause_s = None, PAUSE_S_MIN

    async def pause(self, error: Exception) -> None:
        """Wait before the next attempt.

        Raises:
            StoreUnavailableError, StoreFullError: There will be none.
        """
        now = asyncio.get_running_loop().time()
        if getattr(error, "worked_s", 0.0) > self._budget_s:
            self.start_over()  # earlier failures are of an outage that is over: a read may wait for days
        if self._end is None:
            self._end = now + self._budget_s
        else:
            self._end += getattr(error, "unnoticed_s", 0.0)
        pause_s = self._pause_s * (0.5 + self._chance.random())
        if now + pause_s > self._end and isinstance(error, FullError):
            raise StoreFullError(f"{self._what}, tried for {self._budget_s:g} s: {error}") from error
        if now + pause_s > self._end:
            raise StoreUnavailableError(
                f"{self._what}: no success within {self._budget_s:g} s, last: {error}. "
                f"{self._advice() or 'Check that the store runs and can be reached, then try again.'}"
            ) from error
        self._pause_s = min(self._pause_s * 2, PAUSE_S_MAX)
        await asyncio.sleep(pause_s)


async def retrying(what: str, budget_s: float, chance: Random, attempt: Callable[[], Awaitable[T]]) -> T:
    """Return the result of the first ``attempt`` without a ``TransientError`` or ``OSError``."""
    retries = Retries(what, budget_s, chance)
    while True:
        try:
            return await attempt()
        except (TransientError, OSError) as error:
            failure = error
        await retries.pause(failure)
