"""`Oddities`: rare behaviour of users' code and of storage libraries.

An enumerator takes its time for a snapshot, awaits a future that is cancelled, or cannot be created. A
storage library raises errors that are no ``OSError``.

A separate random generator draws whether a run has oddities, and which. A run without them is the same as if
they did not exist.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from random import Random
from typing import TypeVar

from pravega_lab.errors import PravegaError

from ..kernel.faults import Faults

T = TypeVar("T")
IN_RUNS = 0.25
SNAPSHOT_S_MAX = 1.0


class OddStorageError(Exception):
    """Raised by an imagined storage library whose errors have a base class of their own."""


class Oddities:
    """The oddities of one run. ``are_drawn`` says whether it has any. `heal` ends them."""

    def __init__(self, chance: Random, switch: Faults) -> None:
        self._chance, self._switch = chance, switch
        self.are_drawn = self._chance.random() < IN_RUNS
        self.faults: Counter[str] = Counter()
        self._slow = self._chance.choice((0.0, 0.1, 0.5)) if self.are_drawn else 0.0
        self._aborted = self._chance.choice((0.0, 0.1)) if self.are_drawn else 0.0
        self._storage = self._chance.choice((0.0, 0.005, 0.02)) if self.are_drawn else 0.0
        self._creation = self._chance.choice((0.0, 0.2)) if self.are_drawn else 0.0

    def heal(self) -> None:
        """End all oddities."""
        self._slow = self._aborted = self._storage = self._creation = 0.0

    def _happens(self, chance: float, what: str) -> bool:
        happens = chance > 0 and self._chance.random() < chance and self._switch.happens("oddities", what)
        self.faults[what] += happens
        return happens

    def at_creation(self) -> None:
        """Raise, if drawn, what an enumerator raises that cannot be created."""
        if self._happens(self._creation, "enumerator not created"):
            raise PravegaError("the enumerator cannot be created")

    def at_snapshot(self, state: T) -> T | Awaitable[T]:
        """Return the state of an enumerator; or, if drawn, an awaitable that is slow or is cancelled."""
        if self._happens(self._slow, "slow snapshot"):
            return self._slowly(state, self._chance.random() * SNAPSHOT_S_MAX)
        if self._happens(self._aborted, "aborted future"):
            future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            future.cancel()
            return future
        return state

    async def _slowly(self, state: T, delay_s: float) -> T:
        await asyncio.sleep(delay_s)
        return state

    def at_storage(self, path: str) -> OddStorageError | None:
        """Return the error of a call to the storage library, None if the call succeeds."""
        if self._happens(self._storage, "odd storage error"):
            return OddStorageError(f"the bucket does not answer: {path}")
        return None
