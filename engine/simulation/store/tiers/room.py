"""How much room there is in a simulated tier 2 that may be full."""

from __future__ import annotations

import asyncio

from ....store.log.chunks import MARKER, OWNER
from ...kernel.loop import SimulationLoop
from ...kernel.objects import UNLIMITED
from ..store_process import StoreProcess
from ..tier import latest_snapshot

PAUSES_S = (0.05, 0.2, 1.0)


class Room:
    """Limits tier 2 of a store, first at random, and from `heal` on to what the store needs.

    Then there is room for the objects that the store may not delete yet, for the bytes in the log, for one
    more upload, and for a drawn number of bytes. There is none for objects that the store may delete, and
    none for what is left of uploads that did not fit.

    It also notes when the latest snapshot needs a chunk that is not there.
    """

    def __init__(self, loop: SimulationLoop, store: StoreProcess, problems: list[str]) -> None:
        assert store.objects is not None
        self._objects = store.objects
        self._store = store
        self._problems = problems
        self._chance = loop.random("room")
        self._spare_bytes = self._chance.choice((0, store.tier_settings.chunk_bytes))
        self._is_fair = False
        self._checked: set[str] = set()  # the names at the last look at the latest snapshot

    def heal(self) -> None:
        """From now on there is always room for what is needed."""
        self._is_fair = True
        self._objects.parts.clear()  # it may have been impossible to delete them

    async def run(self) -> None:
        """Set the limit again and again, until cancelled."""
        while True:
            self._check_snapshot()
            if self._is_fair:
                self._limit_to_need()
            else:
                self._limit()
            await asyncio.sleep(PAUSES_S[0] if self._is_fair else self._chance.choice(PAUSES_S))

    def _limit(self) -> None:
        objects, chance = self._objects, self._chance
        used = sum(map(len, objects.objects.values()))
        objects.capacity_bytes = chance.choice((UNLIMITED, used, used + chance.randint(0, 5_000)))
        deletable = sorted(objects.objects.keys() - {MARKER, OWNER})
        if deletable and chance.random() < 0.1:
            objects.undeletable = {chance.choice(deletable)}

    def _limit_to_need(self) -> None:
        objects, runner = self._objects, self._store.runner
        if runner is None or runner.tier is None:
            return
        mover = runner.tier.mover
        garbage = {name for name, number in mover._doomed.items() if number <= mover._stored_sequence}
        garbage = (garbage | objects.parts) - objects.undeletable
        needed = sum(len(data) for name, data in objects.objects.items() if name not in garbage)
        log_bytes = runner.tier.tiered.log_bytes
        objects.capacity_bytes = needed + log_bytes + objects.largest_bytes + self._spare_bytes

    def _check_snapshot(self) -> None:
        names = set(self._objects.objects)
        if names == self._checked or self._problems:
            return
        self._checked = names
        latest = latest_snapshot(self._objects)
        if latest is None:
            return
        sequence, state = latest
        missing = sorted({chunk.name for chunk in state.chunks.values()} - names)
        if missing:
            self._problems.append(f"tier 2 is whole: the snapshot after group {sequence} needs {missing}")
