"""`SimulatedDisk`: a disk in memory whose writes are slow, torn or failing, as drawn from the seed.

It survives the process that writes to it. `crash` simulates a power failure. Of every write that had not
returned, any subset of its 512-byte sectors stays. A file that was being created is complete or missing. A
removal may be undone. Every write that had returned stays.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from ...store.errors import DiskFull
from ...store.log.disk import Record
from ...store.log.format import SECTOR_BYTES
from ...store.log.history import Cut
from .faults import Faults

CRASHING_WRITE_US_MAX = 100_000


@dataclass(slots=True)  # a name that is mistyped is refused
class DiskConditions:
    """How the disk behaves from now on. Chances are per call."""

    write_us_min: int = 100
    write_us_max: int = 3_000
    slow_chance: float = 0.0
    slow_us_max: int = 2_000_000
    create_us_max: int = 0  # a log file may take this much longer than a group: all of it is written
    fail_chance: float = 0.0
    crash_chance: float = 0.0  # the power fails while this write is in progress
    capacity_bytes: int = 1 << 40

    def heal(self) -> None:
        """End all faults, and provide enough room."""
        self.slow_chance = self.fail_chance = self.crash_chance = 0.0
        self.capacity_bytes = 1 << 40


@dataclass(eq=False)
class _Write:
    """A write in progress: into a file (``offset`` 0 or more), or of a whole file (``offset`` -1)."""

    name: str
    offset: int
    data: bytes | bytearray


class SimulatedDisk:
    """Implements `engine.store.disk.Disk` under a `SimulationLoop`."""

    caches_reads = False
    is_reopened = True

    def __init__(self, chance: Random, switch: Faults | None = None) -> None:
        self.conditions = DiskConditions()
        self._switch = switch or Faults()
        self.faults: Counter[str] = Counter()
        self.on_power_cut: Callable[[], None] = lambda: None
        self._chance = chance
        self._files: dict[str, bytearray] = {}
        self._deleted: dict[str, bytearray] = {}  # removals that are not synced yet
        self._under_way: list[_Write] = []

    # -- engine.store.disk.Disk ----------------------------------------------------------------------------

    async def create(self, name: str, size: int, header: bytes, record: Record | None = None) -> None:
        """See `Disk`. The record takes no time of its own."""
        if self.conditions.create_us_max:
            await asyncio.sleep(self._chance.randint(0, self.conditions.create_us_max) / 1_000_000)
        await self._make(name, bytearray(header.ljust(size, b"\0")))
        if record is not None:
            self._files[record[0]] = bytearray(record[1])

    async def write_group(self, name: str, offset: int, data: bytes) -> None:
        """See `Disk`. Raises OSError when a drawn fault fails the sync; some of the sectors are
        written then.
        """
        size = len(self._files.get(name, b"")) or offset + len(data)
        if offset + len(data) > size:
            raise AssertionError(f"a group of {len(data)} bytes at {offset} leaves {name}: {size}")
        write = _Write(name, offset, bytes(data))
        await self._take_time(write)
        if name not in self._files:
            raise OSError(errno.ESTALE, "the file was removed while it was written", name)
        if self._is_drawn(self.conditions.fail_chance) and self._happens("failed sync", name):
            self._tear(write)
            raise OSError(errno.EIO, "the sync failed", name)
        self._files[name][offset : offset + len(data)] = write.data

    async def write_file(self, name: str, data: bytes) -> None:
        """See `Disk`."""
        await self._make(name, bytearray(data))

    def read(self, name: str, offset: int, length: int) -> bytes:
        """See `Disk`."""
        if name not in self._files:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", name)
        return bytes(self._files[name][offset : offset + length])

    def files(self) -> dict[str, int]:
        """See `Disk`."""
        return {name: len(self._files[name]) for name in sorted(self._files)}

    def delete(self, name: str) -> None:
        """See `Disk`."""
        if name in self._files:
            self._deleted[name] = self._files.pop(name)

    # -- faults --------------------------------------------------------------------------------------------

    def crash(self) -> None:
        """Draw which unfinished writes stay. Called after the process that wrote was killed."""
        for write in self._under_way:
            if write.offset >= 0:
                self._tear(write)
            elif self._chance.random() < 0.5:
                self._files[write.name] = bytearray(write.data)
        self._under_way.clear()
        for name, data in self._deleted.items():
            is_drawn = name not in self._files and self._chance.random() < 0.3
            if is_drawn and self._happens("removal forgotten", name):
                self._files[name] = data
        self._deleted.clear()

    def forget_removals(self) -> None:
        """Make all removals permanent, as a sync of the folder does."""
        self._deleted.clear()

    def flip(self, name: str, offset: int, bits: int) -> None:
        """Invert bits of one byte."""
        self._files[name][offset] ^= bits

    def zero(self, name: str, offset: int, length: int) -> None:
        """Lose what is written there: zeros are in its place."""
        end = min(offset + length, len(self._files[name]))
        self._files[name][offset:end] = bytes(end - offset)

    def zero_cuts(self, cuts: Iterable[Cut]) -> None:
        """Overwrite the torn tails that recovery cut, as a store does before it writes groups. It takes no
        time.
        """
        for cut in cuts:
            self.zero(cut.file, cut.offset, cut.length)

    def put(self, name: str, data: bytes) -> None:
        """Create or replace a file. It takes no time."""
        self._files[name] = bytearray(data)

    def cut(self, name: str, length: int) -> None:
        """Cut a file to ``length`` bytes."""
        del self._files[name][length:]

    def copy_files(self) -> dict[str, bytes]:
        """Return the content of all files."""
        return {name: bytes(data) for name, data in self._files.items()}

    def replace_files(self, files: dict[str, bytes]) -> None:
        """Make these the files of the disk."""
        self._files = {name: bytearray(data) for name, data in files.items()}
        self._deleted.clear()

    def _tear(self, write: _Write) -> None:
        """Write a drawn subset of the sectors. None and all are drawn as often as a mixture."""
        share = self._chance.choice((0.0, 0.5, 0.9, 1.0))
        tears = 0.0 < share < 1.0 and self._switch.happens("disk", "torn", write.name)
        self.faults["torn"] += tears  # also by 0: the journal has the counts
        if 0.0 < share < 1.0 and not tears:
            share = 0.0
        if write.name not in self._files:
            return
        file, start, end = self._files[write.name], write.offset, write.offset + len(write.data)
        for sector in range(start - start % SECTOR_BYTES, end, SECTOR_BYTES):
            if self._chance.random() < share:
                low, high = max(sector, start), min(sector + SECTOR_BYTES, end)
                file[low:high] = write.data[low - start : high - start]

    async def _make(self, name: str, data: bytearray) -> None:
        used = sum(len(file) for other, file in self._files.items() if other != name)
        if used + len(data) > self.conditions.capacity_bytes and self._happens("full", name):
            raise DiskFull(errno.ENOSPC, f"no room for {len(data)} bytes", name)
        await self._take_time(_Write(name, -1, data))
        self._files[name] = data
        # One thread makes files, so an earlier write whose caller was cancelled cannot come after this one.
        self._under_way = [write for write in self._under_way if write.name != name or write.offset >= 0]
        self._deleted.clear()  # the folder was synced

    async def _take_time(self, write: _Write) -> None:
        self._under_way.append(write)
        delay_us = self._chance.randint(self.conditions.write_us_min, self.conditions.write_us_max)
        if self._is_drawn(self.conditions.slow_chance):
            slow_us = self._chance.randint(1, self.conditions.slow_us_max)
            delay_us += slow_us if self._happens("slow write", write.name) else 0
        if self._is_drawn(self.conditions.crash_chance):
            # time in which a reader may see data that is not durable
            longer_us = delay_us + self._chance.randint(1, CRASHING_WRITE_US_MAX)
            cut_us = self._chance.randint(longer_us // 2, longer_us)
            if self._happens("crash in a write", write.name):
                delay_us = longer_us
                self._cut_power_after(cut_us)
        await asyncio.sleep(delay_us / 1_000_000)
        self._under_way = [other for other in self._under_way if other is not write]

    def _cut_power_after(self, delay_us: int) -> None:
        # The power failure must happen even if the writing process dies first, so the timer belongs to no
        # process.
        loop = asyncio.get_running_loop()
        loop.call_later(delay_us / 1_000_000, self.on_power_cut, context=contextvars.Context())

    def _is_drawn(self, chance: float) -> bool:
        return bool(chance) and self._chance.random() < chance

    def _happens(self, kind: str, about: str) -> bool:
        happens = self._switch.happens("disk", kind, about)
        self.faults[kind] += happens
        return happens
