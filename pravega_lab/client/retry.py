"""How long to go on trying, and how long to pause in between. Shared by every call that asks a store.

Only the running loop's clock is used, and pauses are drawn from the ``Random`` handed in, so that a
simulated run repeats.
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
FIRST_CONTACT_S = 5.0  # a store that never answered is given up after this
FIRST_ANSWER_S = 10.0  # one that takes a call and says nothing is given this long


class TransientError(Exception):
    """This attempt failed in a way that another one may not: a lost connection, a moved segment."""


class FullError(TransientError):
    """The store has no room now; it takes this again when there is."""


class Retries:
    """The budget of one operation: pauses that grow, until the time is over."""

    def __init__(self, what: str, budget_s: float, chance: Random) -> None:
        self._what = what
        self._budget_s = budget_s
        self._chance = chance
        self._pause_s = PAUSE_S_MIN
        self._end: float | None = None

    def start_over(self) -> None:
        """There was progress: the full budget again."""
        self._end, self._pause_s = None, PAUSE_S_MIN

    async def pause(self, error: Exception) -> None:
        """Wait before the next attempt.

        Raises:
            StoreUnavailableError, StoreFullError: There will be none.
        """
        now = asyncio.get_running_loop().time()
        if self._end is None:
            self._end = now + self._budget_s
        pause_s = self._pause_s * (0.5 + self._chance.random())
        if now + pause_s > self._end and isinstance(error, FullError):
            raise StoreFullError(f"{self._what}, tried for {self._budget_s:g} s: {error}") from error
        if now + pause_s > self._end:
            raise StoreUnavailableError(
                f"{self._what}: no success within {self._budget_s:g} s, last: {error}. "
                "Check that the store runs and can be reached, then try again."
            ) from error
        self._pause_s = min(self._pause_s * 2, PAUSE_S_MAX)
        await asyncio.sleep(pause_s)


async def retrying(what: str, budget_s: float, chance: Random, attempt: Callable[[], Awaitable[T]]) -> T:
    """The result of the first ``attempt`` that does not end in a ``TransientError`` or ``OSError``."""
    retries = Retries(what, budget_s, chance)
    while True:
        try:
            return await attempt()
        except (TransientError, OSError) as error:
            failure = error
        await retries.pause(failure)
