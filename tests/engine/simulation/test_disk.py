"""The simulated disk: finished writes survive a crash, and unfinished ones may be torn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from pravega_lab.engine.simulation.kernel.disk import SimulatedDisk
from pravega_lab.engine.simulation.kernel.loop import SimulationLoop
from pravega_lab.engine.store.errors import DiskFull
from pravega_lab.engine.store.log.format import SECTOR_BYTES


def run(main: Coroutine[Any, Any, Any]) -> None:
    loop = SimulationLoop(1)
    loop.run_until_complete(main)
    loop.dispose()


async def crash_during(disk: SimulatedDisk, work: Coroutine[Any, Any, None]) -> None:
    process = asyncio.get_running_loop().spawn_process("store")  # type: ignore[attr-defined]
    process.spawn(work)
    await asyncio.sleep(0.000_01)
    process.kill()
    disk.crash()
    await asyncio.sleep(1)


def test_what_was_awaited_stays() -> None:
    async def main() -> None:
        disk = SimulatedDisk(Random(1))
        await disk.create("log", 4096, b"head")
        await disk.write_group("log", 1000, b"x" * 2000)
        await disk.write_file("snapshot", b"state")
        disk.crash()
        assert disk.read("log", 0, 4) == b"head"
        assert disk.read("log", 1000, 2000) == b"x" * 2000
        assert disk.files() == {"log": 4096, "snapshot": 5}

    run(main())


def test_a_crash_keeps_any_subset_of_the_sectors_under_way() -> None:
    async def main() -> None:
        outcomes = set()
        for seed in range(60):
            disk = SimulatedDisk(Random(seed))
            await disk.create("log", 3 * SECTOR_BYTES, b"")
            await crash_during(disk, disk.write_group("log", 100, b"x" * (2 * SECTOR_BYTES)))
            data = disk.read("log", 0, 3 * SECTOR_BYTES)
            assert data[:100] == bytes(100)
            assert data[100 + 2 * SECTOR_BYTES :] == bytes(SECTOR_BYTES - 100)
            parts = (
                data[100:SECTOR_BYTES],
                data[SECTOR_BYTES : 2 * SECTOR_BYTES],
                data[2 * SECTOR_BYTES :][:100],
            )
            assert all(part in (b"x" * len(part), bytes(len(part))) for part in parts)
            outcomes.add(tuple(part[0] for part in parts))
        assert len(outcomes) == 8

    run(main())


def test_a_file_that_was_being_made_is_whole_or_not_there() -> None:
    async def main() -> None:
        found = set()
        for seed in range(20):
            disk = SimulatedDisk(Random(seed))
            await crash_during(disk, disk.write_file("snapshot", b"x" * 2000))
            found.add(disk.files().get("snapshot"))
        assert found == {None, 2000}

    run(main())


def test_a_removal_may_be_forgotten_until_the_folder_is_synced() -> None:
    async def main() -> None:
        came_back = 0
        for seed in range(20):
            disk = SimulatedDisk(Random(seed))
            await disk.write_file("a", b"1")
            disk.delete("a")
            disk.crash()
            came_back += "a" in disk.files()
            disk.delete("a")
            await disk.write_file("b", b"2")
            disk.crash()
            assert "a" not in disk.files()
        assert 0 < came_back < 20

    run(main())


def test_full_and_failing() -> None:
    async def main() -> None:
        disk = SimulatedDisk(Random(1))
        disk.conditions.capacity_bytes = 1000
        await disk.create("log", 600, b"")
        with pytest.raises(DiskFull):
            await disk.create("more", 600, b"")
        disk.conditions.fail_chance = 1.0
        with pytest.raises(OSError, match="sync failed"):
            await disk.write_group("log", 0, b"x")
        disk.conditions.heal()
        await disk.create("more", 600, b"")
        assert disk.faults["full"] == disk.faults["failed sync"] == 1

    run(main())
