"""`SimulatedObjects`: a folder of tier 2 whose calls are slow, fail or take effect late, as the seed draws.

It may be full, and it may have an object that cannot be deleted.

It survives the process that uses it. `crash` decides what becomes of the calls that were under way: an upload
is lost, stays in part, is complete, or completes later, when another life of the store is running.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
from collections import Counter
from dataclasses import dataclass
from random import Random

from ...store.log.chunks import OWNER
from .faults import Faults

LATE_US_MAX = 3_000_000
UNLIMITED = 1 << 62


@dataclass
class TierConditions:
    """How tier 2 behaves from now on. Chances are per call."""

    call_us_min: int = 1_000
    call_us_max: int = 20_000
    slow_chance: float = 0.0
    slow_us_max: int = 3_000_000
    fail_chance: float = 0.0  # the call has no effect, and raises
    half_chance: float = 0.0  # an upload stores part of the object, and raises
    unheard_chance: float = 0.0  # the call has its effect, and raises
    owner_slow_chance: float | None = None  # None: owner and marker are found at once, and that never fails
    late_us_max: int = 0  # a list shows an object, or its removal, up to this much later

    def heal(self) -> None:
        """End all faults."""
        self.slow_chance = self.fail_chance = self.half_chance = self.unheard_chance = 0.0
        self.late_us_max = 0


class SimulatedObjects:
    """Implements `engine.server.tiers.objects.Objects` under a `SimulationLoop`."""

    def __init__(self, chance: Random, switch: Faults | None = None) -> None:
        self.conditions = TierConditions()
        self._switch = switch or Faults()
        self.faults: Counter[str] = Counter()
        self.objects: dict[str, bytes] = {}
        self.capacity_bytes = UNLIMITED
        self.undeletable: set[str] = set()
        self.parts: set[str] = set()  # what is left of uploads that there was no room for
        self.largest_bytes = 0  # of the largest of these uploads
        self._chance = chance
        self._mounted: dict[str, bytes] | None = None  # the objects while an empty folder is in their place
        self._under_way: dict[int, tuple[str, bytes]] = {}
        self._calls = 0
        self._listed: dict[str, float] = {}  # name -> when lists agree with what there is

    # -- engine.server.tiers.objects.Objects ---------------------------------------------------------------

    async def write(self, name: str, data: bytes) -> None:
        """See `Objects`."""
        slow_chance = self.conditions.owner_slow_chance if name == OWNER else self.conditions.slow_chance
        if slow_chance is None:
            self.objects[name] = data
            return
        self._calls += 1
        number = self._calls
        self._under_way[number] = (name, bytes(data))
        try:
            await self._take_time(slow_chance)
            self._strike("failed upload", self.conditions.fail_chance)
            if self._chance.random() < self.conditions.half_chance:
                length = self._chance.randrange(len(data) + 1)
                if self._happens("half an upload", name):
                    self._put(name, data[:length])
                    self._chance.random()  # a number that is drawn for nothing; seeds keep their meaning
                    raise OSError(errno.EIO, "tier 2: half an upload")
            self._check_room(name, data)
            self._put(name, bytes(data))
            self._strike("unheard upload", self.conditions.unheard_chance)
        finally:  # not reached by a process that is killed
            del self._under_way[number]

    async def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """See `Objects`."""
        await self._take_time()
        self._strike("failed tier read", self.conditions.fail_chance)
        return self._find(name)[start:end]

    async def size(self, name: str) -> int:
        """See `Objects`."""
        await self._take_time()
        self._strike("failed size", self.conditions.fail_chance)
        return len(self._find(name))

    async def look(self, name: str) -> bytes | None:
        """See `Objects`."""
        if self.conditions.owner_slow_chance is not None:
            await self._take_time()
            self._strike("failed look", self.conditions.fail_chance)
        return self.objects.get(name)

    async def names(self) -> list[str]:
        """See `Objects`. Objects that appeared or went a moment ago may be missing, or still be there."""
        await self._take_time()
        self._strike("failed list", self.conditions.fail_chance)
        now = asyncio.get_running_loop().time()
        late = {name for name, when in self._listed.items() if when > now}
        if late and not self._happens("late list", ", ".join(sorted(late))):
            late = set()
        return sorted(set(self.objects) ^ late)

    async def delete(self, name: str) -> None:
        """See `Objects`."""
        await self._take_time()
        self._strike("failed delete", self.conditions.fail_chance)
        if name in self.undeletable and self._happens("undeletable object", name):
            raise OSError(errno.EACCES, "tier 2: this object cannot be deleted", name)
        if self.objects.pop(name, None) is not None:
            self._change(name)
        self._strike("unheard delete", self.conditions.unheard_chance)

    # -- faults --------------------------------------------------------------------------------------------

    def crash(self) -> None:
        """Draw what becomes of the uploads that were under way. Called after their process was killed."""
        for name, data in self._under_way.values():
            outcome = self._chance.choice(("lost", "in part", "complete", "late"))
            if not self._happens(f"unfinished upload {outcome}", name):
                continue
            room = max(0, self._room_for(name))
            if outcome == "in part":
                self._put(name, data[: min(room, self._chance.randrange(len(data) + 1))])
            elif len(data) > room:
                continue
            elif outcome == "complete":
                self._put(name, data)
            elif outcome == "late":
                delay_s = self._chance.randint(0, LATE_US_MAX) / 1_000_000
                loop = asyncio.get_running_loop()
                late = (name, data, self.objects)
                loop.call_later(delay_s, self._put, *late, context=contextvars.Context())
        self._under_way.clear()

    def unmount(self) -> None:
        """Put an empty folder in the place of this one. What is under way ends there."""
        if self._mounted is None:
            self._mounted, self.objects = self.objects, {}

    def of_another_machine(self, chance: Random) -> SimulatedObjects:
        """Return the same folder as another machine sees it: a crash there leaves calls of this one alone."""
        other = SimulatedObjects(chance, self._switch)
        other.objects, other.conditions, other._listed = self.objects, self.conditions, self._listed
        return other

    def mount(self) -> None:
        """End `unmount`. What was written in the meantime is hidden."""
        if self._mounted is not None:
            self.objects, self._mounted = self._mounted, None

    def damage(self, name: str) -> None:
        """Flip one bit of an object."""
        data = bytearray(self.objects[name])
        data[self._chance.randrange(len(data))] ^= 1 << self._chance.randrange(8)
        self.objects[name] = bytes(data)

    def _room_for(self, name: str) -> int:
        """Return how long this object may be."""
        if self.capacity_bytes == UNLIMITED:
            return UNLIMITED
        return self.capacity_bytes - sum(len(data) for other, data in self.objects.items() if other != name)

    def _check_room(self, name: str, data: bytes) -> None:
        """Raise what a full file system raises. It may keep the part of the object that it has room for."""
        room = self._room_for(name)
        if len(data) <= room:
            return
        self.largest_bytes = max(self.largest_bytes, len(data))
        if self._happens("full tier", name):
            if room > 0 and self._chance.random() < 0.5:
                self._put(name, data[:room])
                self.parts.add(name)
            raise OSError(errno.ENOSPC, "tier 2: no space left", name)

    def _put(self, name: str, data: bytes, begun_in: dict[str, bytes] | None = None) -> None:
        """Store an object, late in the folder in which its upload was begun: another may be in its place."""
        objects = self.objects if begun_in is None else begun_in
        if name not in objects:
            self._change(name)
        objects[name] = bytes(data)
        self.parts.discard(name)

    def _change(self, name: str) -> None:
        late_s = self._chance.randint(0, self.conditions.late_us_max) / 1_000_000
        self._listed[name] = asyncio.get_running_loop().time() + late_s

    def _find(self, name: str) -> bytes:
        if name not in self.objects:
            raise FileNotFoundError(errno.ENOENT, "there is no such object", name)
        return self.objects[name]

    async def _take_time(self, slow_chance: float | None = None) -> None:
        delay_us = self._chance.randint(self.conditions.call_us_min, self.conditions.call_us_max)
        if self._chance.random() < (self.conditions.slow_chance if slow_chance is None else slow_chance):
            slow_us = self._chance.randint(1, self.conditions.slow_us_max)
            delay_us += slow_us if self._happens("slow tier", "") else 0
        await asyncio.sleep(delay_us / 1_000_000)

    def _strike(self, kind: str, chance: float) -> None:
        if chance and self._chance.random() < chance and self._happens(kind, ""):
            raise OSError(errno.EIO, f"tier 2: {kind}")

    def _happens(self, kind: str, about: str) -> bool:
        happens = self._switch.happens("tier 2", kind, about)
        self.faults[kind] += happens
        return happens
