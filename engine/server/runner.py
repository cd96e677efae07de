"""One running store without its sockets: storage, disk, controller and segment store on one event loop.

The same object runs under a real loop (``standalone``) and under the simulated one: time, ids, disk and loop
are arguments. It decides nothing. It calls the controller at the times that the controller asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from pravega_lab.portable.waiting import gather

from ..store.clock import JUMP_MS_MAX, StoreClock
from ..store.controller import Controller
from ..store.errors import DiskFull, StorageError
from ..store.log.disk import Disk
from ..store.log.files import DEFAULT_FILE_BYTES
from ..store.log.history import HISTORY_NAME, History, Stop, encode_history
from ..store.log_fields import log_fields
from ..store.metadata.metadata import Metadata
from ..store.metadata.replies import Answer, Waiting
from ..store.security.access_control import AccessControl
from ..store.security.passwords import User
from ..store.storage.recovery import open_storage
from ..store.storage.tiered import Tiered, leave_tier
from ..store.streams.writer_times import PERIOD_MS
from ..store.tiers.settings import TierSettings
from .limits.limits import Limits
from .pump import Pump, QuickDisk
from .segment_store import SegmentStore
from .tiers.loop import TierLoop
from .tiers.objects import Objects

log = logging.getLogger(__name__)

PAUSE_FACTOR = 3
"""How much longer the pause after a tick of the controller is than the tick."""

RETRY_MS = 1000
"""Pause before the next tick of the controller after the storage refused one, on a full disk for example."""


class StoreRunner:
    """A store on a disk. Call ``serve_controller``, then ``await run()`` until it is cancelled.

    Args:
        disk: Where the log is. Its contents are recovered here, before anything is served.
        loop: Runs the timers and collects replies.
        clock: Return milliseconds since 1970. The store's time follows it as `StoreClock` says.
        new_id: Return random ids: of the store, of transient segments, of reader groups.
        access: Who may do what. None: everybody may do everything.
        limits: What clients may take; None for the defaults.
        objects: The folder in tier 2, if segments move there, with the limits ``tier_settings``.

    Raises:
        CorruptStoreError: The log is damaged before its last group, or after a stop in order.
        TierMismatch: Segments have bytes in tier 2, and there are no ``objects``.
    """

    def __init__(
        self,
        disk: Disk,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], int],
        new_id: Callable[[], UUID],
        *,
        scaling_clock: int = 1,
        watermark_period_ms: int = PERIOD_MS,
        file_bytes: int = DEFAULT_FILE_BYTES,
        access: AccessControl | None = None,
        limits: Limits | None = None,
        objects: Objects | None = None,
        tier_settings: TierSettings | None = None,
    ) -> None:
        self.storage = open_storage(disk, new_store_id=new_id().bytes, file_bytes=file_bytes)
        self.limits = limits or Limits()
        self.storage.segments_max = self.limits.segments
        self._disk = disk
        self._wall = clock
        self._clock = StoreClock(self.storage.last_now_ms, _announce_jump)
        self.segment_store = SegmentStore(self.storage, loop, self.now_ms, new_id, self.limits, access)
        self.access = access
        self._loop = loop
        self._new_id = new_id
        self._scaling_clock = scaling_clock
        self._watermark_period_ms = watermark_period_ms
        self.pump = Pump(self.storage, disk)
        self.tier: TierLoop | None = None
        if objects is None:
            leave_tier(self.storage)
        else:
            self.tier = self._attach(objects, tier_settings or TierSettings(), new_id().hex[:8])
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: int | None = None
        self._is_refused = False  # what was due, by the storage
        self._paused_until_ms = 0  # after a long tick, so that clients have most of the time

    def _attach(self, objects: Objects, settings: TierSettings, life: str) -> TierLoop:
        store = self.segment_store
        tiered = Tiered(self.storage)
        tier = TierLoop(tiered, objects, settings, life, self.now_ms, self._loop, store.resume)
        store.chunk_reader = tier.reader
        store.is_behind = lambda: tier.mover.is_behind
        return tier

    def answer_promptly(self, quick: QuickDisk) -> None:
        """Write and answer what arrives alone in the turn of the loop in which it arrives, if ``quick`` can.

        The simulation leaves it as it is: each step has a turn there, so that anything may come between two.
        """
        pump, store = self.pump, self.segment_store
        store.flush_together()
        pump.on_syncing, pump.on_synced = store.expect_flush, store.flush
        pump.write_without_task(quick, self._loop)
        pump.is_about_to_move = lambda: store.is_handling_alone
        store.on_handled = pump.move_due

    def now_ms(self) -> int:
        """Return the time of day in ms, never earlier than the newest time in the log."""
        now_ms = self._clock.now_ms(self._wall(), int(self._loop.time() * 1000))
        last_ms = self.storage.last_now_ms
        return now_ms if now_ms > last_ms else last_ms

    # The controller

    def serve_controller(self, host: str, port: int) -> None:
        """Start the controller. ``host`` and ``port`` are where clients reach the segment store."""
        clocks = (self._scaling_clock, self._watermark_period_ms)
        self._controller = Controller(
            *(self.storage, self._new_id, host, port, *clocks),
            access=self.access,
            stream_segments_max=self.limits.stream_segments,
            operations_max=self.limits.turn_operations,
        )
        self._set_timer()

    @property
    def metadata(self) -> Metadata:
        """Return the metadata of the controller, which is served."""
        return self._controller.metadata

    def call(self, method: str, request: bytes, user: User | None = None) -> Answer | Waiting:
        """Decide one call of the controller; see `Controller.call`. Raises RpcError."""
        try:
            return self._controller.call(method, request, now_ms=self.now_ms(), user=user)
        finally:
            self._set_timer()

    def _set_timer(self, earliest_ms: int = 0) -> None:
        deadline_ms = self._controller.next_deadline_ms()
        earliest_ms = max(earliest_ms, self._paused_until_ms)
        if deadline_ms is not None and earliest_ms:
            deadline_ms = max(deadline_ms, earliest_ms)
        if self._timer is not None and deadline_ms == self._timer_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_ms = None, deadline_ms
        if deadline_ms is not None:
            delay_s = max(0, deadline_ms - self.now_ms()) / 1000
            self._timer = self._loop.call_later(delay_s, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now_ms, began_s = self.now_ms(), self._loop.time()
        try:
            self._controller.tick(now_ms)
        except StorageError as error:
            if not self._is_refused:
                log.warning(
                    "the storage refused what was due; the controller tries again every %d ms: %s",
                    RETRY_MS,
                    error,
                    extra=log_fields("tick_refused", retry_ms=RETRY_MS),
                )
            self._is_refused = True
            self._set_timer(now_ms + RETRY_MS)
        except Exception:
            log.exception(
                "the controller failed at what was due; it tries again in %d ms",
                RETRY_MS,
                extra=log_fields("tick_failed", retry_ms=RETRY_MS),
            )
            self._set_timer(now_ms + RETRY_MS)
        else:
            self._is_refused = False
            took_ms = int(1000 * (self._loop.time() - began_s))
            self._paused_until_ms = now_ms + (1 + PAUSE_FACTOR) * took_ms if took_ms else 0
            self._set_timer(now_ms + 1)

    # Running

    async def begin(self) -> None:
        """Report the torn tails that recovery cut, record them, and overwrite them with zeros.

        A store with tier 2 also records this life.

        To be awaited before ``run``. Without the zeros, the next recovery would find and report what is left
        of them again.

        Raises:
            OSError: The disk failed. Nothing may be served, and the process has to end.
        """
        cuts = self.storage.recovery.cuts
        for cut in cuts:
            log.warning(
                "%s: the last start of the store did not end in order. A group of the log that was not"
                " acknowledged to any client was cut off at offset %d: %d bytes.",
                *(cut.file, cut.offset, cut.length),
            )
        history = self.history_to_begin
        if not self._disk.files():  # the first log file is recorded, and this life with it
            self.storage.history = history
        elif history != self.storage.history:
            await self._record(history)
        for cut in cuts:
            await self._disk.write_group(cut.file, cut.offset, bytes(cut.length))

    @property
    def history_to_begin(self) -> History:
        """Return what is to be recorded before ``run``."""
        history = self.storage.history.with_cuts(self.storage.recovery.cuts)
        return history if self.tier is None else history.with_life(self.tier.mover.life)

    async def end(self) -> bool:
        """Record that the store was stopped in order. Return False if it was not: something is not on disk.

        To be awaited after the last ``drain``, when ``run`` has ended and nothing is served any more.
        """
        if not self._disk.is_reopened:
            return True
        place = self.storage.synced_place()
        if place is None:
            return False
        return await self._record(replace(self.storage.history, stop=Stop(*place)))

    async def _record(self, history: History) -> bool:
        try:
            await self._disk.write_file(HISTORY_NAME, encode_history(history))
        except DiskFull as error:
            log.warning("The file %r was not written, for lack of room: %s.", HISTORY_NAME, error)
            return False
        self.storage.history = history
        return True

    async def run(self) -> None:
        """Move groups to the disk, and segments to tier 2, until cancelled.

        Raises:
            OSError: A write or sync failed. Nothing more may be served, and the process has to end.
            TierMismatch: Tier 2 does not belong to this store. The process has to end.
        """
        try:
            if self.tier is None:
                await self.pump.run()
            else:
                await self._run_with_tier(self.tier)
        finally:
            if self._timer is not None:
                self._timer.cancel()

    async def _run_with_tier(self, tier: TierLoop) -> None:
        loops = [self._loop.create_task(loop) for loop in (self.pump.run(), tier.run())]
        try:
            await gather(*loops)
        finally:
            for one in loops:
                one.cancel()
            await gather(*loops, return_exceptions=True)

    async def drain(self, patience_s: float) -> bool:
        """Wait until everything submitted is on disk. Return False if a write failed or the time is over.

        On a full disk that may never happen. What is left was not acknowledged to anyone, so it may be
        dropped.
        """
        done: asyncio.Future[bool] = self._loop.create_future()
        waiting = self._loop.call_later(patience_s, _settle, done, False)
        self.storage.barrier().add_done(lambda ticket: _settle(done, ticket.failure is None))
        try:
            return await done
        finally:
            waiting.cancel()


def _announce_jump(jump_ms: int) -> None:
    log.warning(
        "The wall clock jumped by %+d s. The store's time follows a monotonic clock, and at most %d s of the"
        " jump count. Leases run on. Check the clock of this machine.",
        jump_ms // 1000,
        JUMP_MS_MAX // 1000,
    )


def _settle(done: asyncio.Future[bool], result: bool) -> None:
    if not done.done():
        done.set_result(result)
