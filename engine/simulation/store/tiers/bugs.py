"""Planted bugs of tier 2, which the checkers must find. Production code never reaches this module."""

from __future__ import annotations

import contextlib
from typing import Any

from ....server.tiers import loop, objects
from ....server.tiers.loop import TierLoop
from ....server.tiers.rebuild import rebuild
from ....store.log import chunks
from ....store.log.chunks import Chunk, checksums_of, chunk_name
from ....store.log.history import History
from ....store.storage.segment import Extents
from ....store.tiers import mover
from ....store.tiers.mover import Delete, Mover, Upload
from .. import tier
from ..planting import Replacement, bug
from .copies import KEPT


@bug("recorded-before-uploaded", "tiers", "logged: segment")
def _recorded_before_uploaded() -> list[Replacement]:
    """The move of a chunk is in the log before the chunk is in tier 2."""

    async def hasty(self: TierLoop, step: Upload) -> None:
        pieces, data = await self._gather(step)
        if pieces:
            checksums = checksums_of(data, self.tiered.store_id, step.number)
            chunk = Chunk(step.number, step.name, len(data), checksums)
            await loop._synced(self.tiered.submit_move(chunk, pieces, now_ms=self._now_ms()))
            await self._objects.write(step.name, data)
        self.mover.moved()
        self._resume()

    return [(TierLoop, "_upload", hasty)]


@bug("failed-upload-recorded", "tiers", "logged: segment")
def _failed_upload_recorded() -> list[Replacement]:
    """An upload that raised counts as done."""

    async def deaf(self: TierLoop, step: Upload) -> None:
        pieces, data = await self._gather(step)
        if pieces:
            checksums = checksums_of(data, self.tiered.store_id, step.number)
            with contextlib.suppress(OSError):
                await self._objects.write(step.name, data)
            chunk = Chunk(step.number, step.name, len(data), checksums)
            await loop._synced(self.tiered.submit_move(chunk, pieces, now_ms=self._now_ms()))
        self.mover.moved()
        self._resume()

    return [(TierLoop, "_upload", deaf)]


@bug("folder-unchecked", "mounts", "")
def _folder_unchecked() -> list[Replacement]:
    """The store does not look whether the folder in tier 2 is still its own."""

    async def trusting(objects: Any, store_id: bytes) -> None:
        return

    return [(loop, "check_folder", trusting)]


@bug("copies-share-tier", "copies", KEPT)
def _copies_share_tier() -> list[Replacement]:
    """A store does not look whether another one with its id has taken tier 2."""

    async def check_marker(where: Any, tiered: Any) -> None:
        if await where.look(chunks.MARKER) != chunks.marker(tiered.store_id):
            raise OSError("another folder")

    def look_away(found: Any, tiered: Any) -> None:
        return

    return [
        (loop, "check_folder", check_marker),
        (objects, "check_owner", look_away),
        (mover, "check_owner", look_away),
        (mover, "life_of", lambda name: "00000000"),
    ]


@bug("restored-keeps-lives", "copies", KEPT)
def _restored_keeps_lives() -> list[Replacement]:
    """A backup that is restored has the lives of its store, so it may change tier 2 while that store runs."""
    return [(History, "without_lives", lambda self: self)]


@bug("others-chunks-swept", "copies", KEPT)
def _others_chunks_swept() -> list[Replacement]:
    """A store deletes chunks of another one with its id, which has lost tier 2 to it a moment ago."""
    return [(mover, "life_of", lambda name: "00000000")]


@bug("names-used-again", "tiers", "logged: segment")
def _names_used_again() -> list[Replacement]:
    """Every life of a store gives its chunks the same names, so a late upload replaces a later chunk."""
    return [(mover, "chunk_name", lambda number, life: chunk_name(number, "same"))]


@bug("other-lives-swept", "tiers", "logged: segment")
def _other_lives_swept() -> list[Replacement]:
    """The sweep takes the chunks of earlier lives for unfinished uploads."""
    right = Mover.listed

    def greedy(self: Mover, names: Any, now_ms: int) -> None:
        right(self, names, now_ms)
        self._doom([name for name in names if name.startswith("chunk-") and not name.endswith(self.life)])

    return [(Mover, "listed", greedy)]


@bug("orphans-kept", "tiers", "tier 2 is tidy")
def _orphans_kept() -> list[Replacement]:
    """Unfinished uploads are never deleted."""
    return [
        (mover, "is_chunk", lambda name: False),
        (Mover, "failed", _failed_without_doom),
    ]


def _failed_without_doom(self: Mover, step: Any, now_ms: int) -> None:
    self._pass = None
    self._retry_ms = now_ms + mover.RETRY_MS_MIN
    self._failures += 1


@bug("never-freed-first", "full-tier", "tier 2 is tidy")
def _never_freed_first() -> list[Replacement]:
    """After a failed upload the next one is tried, and nothing is deleted before."""
    return [(Mover, "_free", lambda self, now_ms: None)]


@bug("uploads-free-alone", "full-tier", "tier 2 is tidy")
def _uploads_free_alone() -> list[Replacement]:
    """A snapshot that there is no room for is tried again, and nothing is deleted before."""
    right = Mover.failed

    def failed(self: Mover, step: Any, now_ms: int, **where: bool) -> None:
        right(self, step, now_ms, **where)
        self._unwritten = Upload if isinstance(step, Upload) else None

    return [(Mover, "failed", failed)]


@bug("freed-before-snapshot", "full-tier", "tier 2 is whole")
def _freed_before_snapshot() -> list[Replacement]:
    """A full tier gets room from chunks that its latest snapshot still needs."""
    right = Mover._free

    def at_once(self: Mover, now_ms: int) -> Any:
        if self._unwritten is not None and self._doomed:
            return Delete(list(self._doomed))
        return right(self, now_ms)

    return [(Mover, "_free", at_once)]


@bug("undeletable-keeps-others", "full-tier", "tier 2 is tidy")
def _undeletable_keeps_others() -> list[Replacement]:
    """Deletions begin with the same object each time, also with one that cannot be deleted."""
    right = Mover.failed

    def failed(self: Mover, step: Any, now_ms: int, **where: bool) -> None:
        before = dict(self._doomed)
        right(self, step, now_ms, **where)
        if isinstance(step, Delete):
            self._doomed = before

    return [(Mover, "failed", failed)]


@bug("part-left-in-full-tier", "full-tier", "tier 2 is tidy")
def _part_left() -> list[Replacement]:
    """What there is of an upload without room is left until the next snapshot is stored."""

    async def write(self: TierLoop, name: str, data: bytes) -> None:
        await self._objects.write(name, data)

    return [(TierLoop, "_write", write)]


@bug("name-of-failed-upload-used-again", "full-tier", "")
def _name_of_failed_upload() -> list[Replacement]:
    """A failed upload is tried again under its name, which is still among those to delete."""
    right = Mover.failed

    def failed(self: Mover, step: Any, now_ms: int, **where: bool) -> None:
        right(self, step, now_ms, **where)
        if isinstance(step, Upload):
            self._number = step.number - 1

    return [(Mover, "failed", failed)]


@bug("cut-piece-from-its-start", "tiers", "")
def _cut_piece() -> list[Replacement]:
    """The bytes of a run that a chunk does not cover are looked for at the beginning of the run."""
    right = Extents.move

    def wrong(self: Extents, offset: int, length: int, file: int, position: int) -> Any:
        starts = dict(zip(self.offsets, self.positions, strict=True))
        found = right(self, offset, length, file, position)
        for index, start in enumerate(self.offsets):
            if self.files[index] > 0 and start not in starts:
                self.positions[index] = self.positions[index] - (start - max(s for s in starts if s < start))
        return found

    return [(Extents, "move", wrong)]


@bug("rebuilt-without-log", "tiers", "")
def _rebuilt_without_log() -> list[Replacement]:
    """A rebuilt store begins at the snapshot in tier 2 and ignores what is left of the log."""

    async def careless(disk: Any, objects: Any) -> Any:
        for name in disk.files():
            disk.delete(name)
        return await rebuild(disk, objects)

    return [(tier, "rebuild", careless)]
