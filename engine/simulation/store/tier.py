"""Tier 2 in a simulated world: what is drawn for it, how a store is rebuilt from it, and the audit."""

from __future__ import annotations

import asyncio
from random import Random

from ...server.runner import StoreRunner
from ...server.tiers.rebuild import rebuild
from ...store.errors import CorruptStoreError, NotAtHand
from ...store.log.chunks import MARKER, OWNER, is_chunk, snapshot_sequence
from ...store.storage.snapshot import decode_snapshot
from ...store.storage.synced_state import Synced
from ...store.tiers.settings import TierSettings
from ..kernel.disk import SimulatedDisk
from ..kernel.objects import SimulatedObjects

TIDY_WITHIN_S = 120.0
PAUSE_S = 0.5


def draw_settings(chance: Random) -> TierSettings:
    """Draw limits that make segments of a few hundred bytes move."""
    return TierSettings(
        chunk_bytes=chance.choice((150, 1000, 5000)),
        after_ms=chance.choice((50, 300, 2000)),
        backlog_bytes=chance.choice((300, 2000, 1 << 30)),
        cache_bytes=chance.choice((1, 2000, 1 << 20)),
        sweep_ms=chance.choice((1000, 5000)),
    )


def draw_tier_trouble(objects: SimulatedObjects, chance: Random) -> None:
    """Draw how tier 2 behaves."""
    conditions = objects.conditions
    if chance.random() < 0.85:
        conditions.slow_chance = chance.choice((0.0, 0.1, 0.4))
        conditions.fail_chance = chance.choice((0.0, 0.1, 0.4, 0.9))
        conditions.half_chance = chance.choice((0.0, 0.2))
        conditions.unheard_chance = chance.choice((0.0, 0.2))
        conditions.late_us_max = chance.choice((0, 0, 2_000_000))


async def rebuild_from(disk: SimulatedDisk, objects: SimulatedObjects) -> bool:
    """Delete the snapshots on the disk, and take the latest one from tier 2.

    Return False, with nothing deleted, if tier 2 has none yet.
    """
    if latest_snapshot(objects) is None:
        return False
    for name in disk.files():
        if name.startswith("snapshot-"):
            disk.delete(name)
    disk.forget_removals()
    while True:
        try:
            await rebuild(disk, objects)
            return True
        except CorruptStoreError:  # the list is late: a store that rebuilds waits until it is not
            objects.conditions.late_us_max = 0
            await asyncio.sleep(PAUSE_S)
        except OSError:
            await asyncio.sleep(PAUSE_S)


def latest_snapshot(objects: SimulatedObjects) -> tuple[int, Synced] | None:
    """Return sequence and content of the latest snapshot that can be read, None if there is none."""
    found: tuple[int, Synced] | None = None
    for name, data in objects.objects.items():
        sequence, state = snapshot_sequence(name), Synced()
        if sequence is None or (found is not None and sequence < found[0]):
            continue
        try:
            decode_snapshot(name, data, state)
        except CorruptStoreError:
            continue
        found = sequence, state
    return found


async def read_whole(runner: StoreRunner, name: str) -> bytes:
    """Return all bytes of a segment, from its start on, wherever they are."""
    info = runner.storage.info(name)
    parts: list[bytes] = []
    at = info.start_offset
    while True:
        try:
            read = runner.storage.read(name, at, info.length - at)
        except NotAtHand as need:
            await _fetch(runner, need)
            continue
        parts.append(read.data)
        at += len(read.data)
        if at >= info.length:
            return b"".join(parts)


async def _fetch(runner: StoreRunner, need: NotAtHand) -> None:
    fetched: asyncio.Future[CorruptStoreError | None] = asyncio.get_running_loop().create_future()
    assert runner.segment_store.chunk_reader is not None
    runner.segment_store.chunk_reader.fetch(need, fetched.set_result)
    failure = await fetched
    if failure is not None:
        raise failure


async def audit(runner: StoreRunner, objects: SimulatedObjects) -> list[str]:
    """Wait until everything has moved, and return what is wrong then.

    Tier 2 must contain the chunks in use, a snapshot without bytes in the log, the marker, the owner and
    nothing else. While an object cannot be deleted, everything else must become tidy.
    """
    problems = await _tidy(runner, objects)
    if objects.undeletable and not problems:
        objects.undeletable.clear()
        problems = await _tidy(runner, objects)
    return problems


async def _tidy(runner: StoreRunner, objects: SimulatedObjects) -> list[str]:
    assert runner.tier is not None
    tiered = runner.tier.tiered
    expected = tiered.sequence
    for _ in range(int(TIDY_WITHIN_S / PAUSE_S)):
        await asyncio.sleep(PAUSE_S)
        latest = latest_snapshot(objects)
        alive = {chunk.name for chunk in tiered.chunks()}
        others = sorted(objects.objects.keys() - alive - {MARKER, OWNER} - objects.undeletable)
        is_tidy = len([name for name in others if snapshot_sequence(name) is not None]) == len(others) == 1
        is_complete = latest is not None and latest[0] >= expected and not latest[1].log_bytes
        if is_tidy and is_complete and alive <= objects.objects.keys() and not tiered.log_bytes:
            return []
    stray = [name for name in others if is_chunk(name)]
    missing = sorted(alive - objects.objects.keys())
    return [
        f"tier 2 is tidy: {TIDY_WITHIN_S:g} s after all was well, {tiered.log_bytes} bytes are in the log;"
        f" in tier 2, no segment needs {stray}, {missing} are missing, other objects are {others}"
    ]
