"""The loop that moves segments to tier 2: it carries out the steps of a `Mover`, one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
from collections.abc import Callable, Sequence

from pravega_lab.portable.waiting import wait_for

from ...store.errors import CorruptStoreError, StoreFailed, StoreFull, TierMismatch
from ...store.log.chunks import MARKER, OWNER, Chunk, Piece, checksums_of, is_chunk, marker, owner_in
from ...store.log_fields import log_fields
from ...store.storage.storage import Ticket
from ...store.storage.tiered import Tiered
from ...store.tiers.cache import BlockCache
from ...store.tiers.mover import (
    Attach,
    Delete,
    List,
    Mover,
    Step,
    StoreSnapshot,
    TakeOver,
    Upload,
    WriteMarker,
)
from ...store.tiers.settings import TierSettings
from .objects import Objects, check_folder, take_folder
from .reads import ChunkReader

log = logging.getLogger(__name__)

POLL_S = 0.25
SILENT_S = 30.0
"""A step that takes longer makes the health of the store degraded. It may be a call that hangs."""
ADVICE = (
    "What has not moved stays in the log. The store reads --tier2-options and credentials when it starts: if"
    " they are wrong or have expired, start the store again with the right ones"
)
MISSING = (
    "at least %d chunks that segments need are missing in tier 2, %r for example: they were deleted there, or"
    " tier 2 was replaced by an older copy. Reads that need them fail. Restore them from a copy: the command"
    " 'pravega-lab admin verify' with --tier2 names them all"
)
LOOKED_FOR_MAX = 100
"""Objects that a list does not show are looked for one by one. A late list may lack many."""
READ_BYTES_MAX = 1 << 20
"""Bytes of the log that are read in one turn of the event loop."""


class TierLoop:
    """Tier 2 of one running store. Call ``await run()`` until it is cancelled.

    Args:
        tiered: The storage. Its reads find bytes of tier 2 from now on.
        objects: The folder in tier 2.
        settings: The limits.
        life: A tag that no other life of this store has.
        now_ms: Return the time in ms.
        loop: Where reads from tier 2 wait.
        resume: Called when bytes have left the log, so that appends may no longer have to wait.
    """

    def __init__(
        self,
        tiered: Tiered,
        objects: Objects,
        settings: TierSettings,
        life: str,
        now_ms: Callable[[], int],
        loop: asyncio.AbstractEventLoop,
        resume: Callable[[], None],
    ) -> None:
        self.mover = Mover(tiered, settings, life)
        cache = BlockCache(settings.cache_bytes, tiered.store_id)
        self.reader = ChunkReader(tiered, objects, cache, loop)
        tiered.storage.read_chunk = cache.read
        self.tiered = tiered
        self.written_bytes = 0  # bytes of segments, those of uploads that were tried again too
        self._objects = objects
        self._now_ms = now_ms
        self._resume = resume
        self._logged_kind = ""  # of the latest failure in the log
        self._is_recording = False  # the step waits for the log of the store, and not for tier 2

    async def run(self) -> None:
        """Move until cancelled. A failure of tier 2 is logged, and the step is tried again later.

        Raises:
            TierMismatch: The folder in tier 2 does not belong to this store, or another one with the same id
                has taken it. The process has to end.
        """
        try:
            while True:
                if not await self.step():
                    await asyncio.sleep(POLL_S)
        finally:
            self.reader.close()

    async def step(self) -> bool:
        """Carry out the next step. Return False if there is none at this time, or if it failed."""
        step = self.mover.next_step(self._now_ms())
        if step is None:
            return False
        failures = self.mover.failures
        silence = asyncio.get_running_loop().call_later(SILENT_S, self._note_silence, step)
        try:
            await self._do(step)
        except TierMismatch:
            raise
        except (StoreFull, StoreFailed):  # of the log, whose health and lines say so
            self.mover.failed(step, self._now_ms(), is_in_log=True)
            return False
        except Exception as error:
            self._log_failure(step, error)
            self.mover.failed(step, self._now_ms())
            return False
        finally:
            silence.cancel()
        if failures and not self.mover.failures:
            fields = log_fields("tier2_recovered")
            log.warning("tier 2 works again, after %d failures", failures, extra=fields)
        return True

    def _log_failure(self, step: Step, error: Exception) -> None:
        kind = type(error).__name__
        if self.mover.failures and kind == self._logged_kind:
            return
        self._logged_kind = kind
        if isinstance(step, Upload) and isinstance(error, CorruptStoreError):
            log.error("nothing moves to tier 2 any more: %s", error, extra=log_fields("log_damaged"))
            return
        log.warning(
            "tier 2 failed, and is tried again (%s: %s): %s. %s",
            *(type(step).__name__, kind, str(error).rstrip("."), ADVICE),
            extra=log_fields("tier2_failed"),
        )

    def _note_silence(self, step: Step) -> None:
        if self._is_recording:
            return
        log.warning(
            "tier 2 has not finished a step for %g s (%s); no other begins", SILENT_S, type(step).__name__
        )
        self.mover.unanswered()

    async def _do(self, step: Step) -> None:
        mover, objects = self.mover, self._objects
        if not isinstance(step, Attach | WriteMarker | TakeOver):
            await self._check_folder()  # what is written or deleted in another folder is not done
        match step:
            case Attach():
                try:
                    content: bytes | None = await objects.read(MARKER)
                except FileNotFoundError:
                    content = None
                taken_by = owner_in(await objects.look(OWNER))
                names = await objects.names()
                mover.attached(content, taken_by, names, self._now_ms())
                await self._look_for_missing(names)
            case WriteMarker():
                await objects.write(MARKER, step.data)
                mover.marked()
            case TakeOver():
                await take_folder(objects, self.tiered, step.data)
                mover.taken()
            case Upload():
                await self._upload(step)
            case StoreSnapshot():
                while (data := step.snapshot.draw()) is None:
                    await asyncio.sleep(0)
                await self._write(step.name, data)
                await self._check_folder()
                if await objects.read(step.name) != data:
                    raise OSError(f"the snapshot {step.name!r} is not as it was written")
                mover.snapshot_stored(step)
            case Delete():
                for name in step.names:
                    await objects.delete(name)
                    mover.deleted(name)
            case List():
                names = await objects.names()
                await self._check_folder()  # the objects of another store are not to be deleted
                mover.listed(names, self._now_ms())
                await self._look_for_missing(names)

    async def _look_for_missing(self, listed: Sequence[str]) -> None:
        """Report what has to be in tier 2 and is not, as after a restore of tier 2 from an older copy.

        A list may be late, so what is not in it is looked for by its name.
        """
        found = set(listed)
        missing: list[str] = []
        for name in [name for name in self.mover.needed if name not in found][:LOOKED_FOR_MAX]:
            try:
                await self._objects.size(name)
            except FileNotFoundError:
                missing.append(name)
        if missing and await self._objects.look(MARKER) == marker(self.tiered.store_id):
            self.mover.missing(missing)
            if chunks := [name for name in missing if is_chunk(name)]:
                log.error(MISSING, len(chunks), chunks[0], extra=log_fields("tier2_missing"))

    async def _check_folder(self) -> None:
        try:
            await check_folder(self._objects, self.tiered)
        except OSError:
            self.mover.lost()
            raise

    async def _upload(self, step: Upload) -> None:
        pieces, data = await self._gather(step)
        if pieces:
            checksums = checksums_of(data, self.tiered.store_id, step.number)
            await self._write(step.name, data)
            self.written_bytes += len(data)
            # Before the size is compared: if the folder changes once, before or after this check, the
            # check fails or the chunk is missing.
            await self._check_folder()
            if await self._objects.size(step.name) != len(data):
                raise OSError(f"the chunk {step.name!r} is not as long as what was written")
            chunk = Chunk(step.number, step.name, len(data), checksums)
            self._is_recording = True
            try:
                await _synced(self.tiered.submit_move(chunk, pieces, now_ms=self._now_ms()))
            finally:
                self._is_recording = False
        self.mover.moved()
        self._resume()

    async def _write(self, name: str, data: bytes) -> None:
        """Write an object. If there is no room for it, delete what there is of it: a snapshot, without which
        nothing else can be deleted, may need that room.
        """
        try:
            await self._objects.write(name, data)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                with contextlib.suppress(Exception):
                    await self._objects.delete(name)
            raise

    async def _gather(self, step: Upload) -> tuple[list[Piece], bytes]:
        """Return the pieces that are still in the log, and their bytes."""
        pieces: list[Piece] = []
        parts: list[bytes] = []
        turn = 0
        for piece in step.pieces:
            found: list[bytes] | None = []
            for start in range(0, piece.length, READ_BYTES_MAX):
                size = min(READ_BYTES_MAX, piece.length - start)
                data = self.tiered.read(Piece(piece.segment_id, piece.offset + start, size))
                if data is None:
                    found = None
                    break
                assert found is not None
                found.append(data)
                turn += size
                if turn >= READ_BYTES_MAX:
                    turn = 0
                    await asyncio.sleep(0)
            if found is not None:
                pieces.append(piece)
                parts += found
        return pieces, b"".join(parts)


async def _synced(ticket: Ticket) -> None:
    """Wait until a submission is on disk. Raises StoreFailed if its write failed."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ticket.add_done(lambda _: None if done.done() else done.set_result(None))
    await done
    if ticket.failure is not None:
        raise StoreFailed("A write to the log failed. Restart the store.") from ticket.failure


async def attach_early(tier: TierLoop, timeout_s: float) -> None:
    """Look at tier 2 before anything is served, so that a folder of another store is refused at the start.

    A tier that does not answer in time is no error: the loop tries again.

    Raises:
        TierMismatch: The folder in tier 2 does not belong to this store.
    """
    if isinstance(tier.mover.next_step(0), Attach):
        try:
            await wait_for(tier.step(), timeout_s)
        except TimeoutError:
            log.warning("tier 2 has not answered for %g s; the store serves what is in its log", timeout_s)
