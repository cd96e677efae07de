"""One running store without its sockets: storage, disk, controller and segment store on one event loop.

The same object runs under a real loop (``standalone``) and under the simulated one: time, ids, disk and loop
are arguments. It decides nothing. It calls the controller at the times that the controller asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from uuid import UUID

from ..store.controller import Controller
from ..store.errors import StorageError
from ..store.log.disk import Disk
from ..store.log.files import DEFAULT_FILE_BYTES
from ..store.metadata.replies import Answer, Waiting
from ..store.storage.recovery import open_storage
from ..store.streams.writer_times import PERIOD_MS
from .pump import Pump
from .segment_store import SegmentStore

log = logging.getLogger(__name__)

RETRY_MS = 1000
"""Pause before the next tick of the controller after the storage refused one, on a full disk for example."""


class StoreRunner:
    """A store on a disk. Call ``serve_controller``, then ``await run()`` until it is cancelled.

    Args:
        disk: Where the log is. Its contents are recovered here, before anything is served.
        loop: Runs the timers and collects replies.
        clock: Return milliseconds since 1970. Where this time goes back, the store's time stands still.
        new_id: Return random ids: of the store, of transient segments, of reader groups.

    Raises:
        CorruptStoreError: The log is damaged before its last group.
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
    ) -> None:
        self.storage = open_storage(disk, new_store_id=new_id().bytes, file_bytes=file_bytes)
        self._wall = clock
        self.segment_store = SegmentStore(self.storage, loop, self.now_ms, new_id)
        self._loop = loop
        self._new_id = new_id
        self._scaling_clock = scaling_clock
        self._watermark_period_ms = watermark_period_ms
        self._pump = Pump(self.storage, disk)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: int | None = None

    def now_ms(self) -> int:
        """Return the time of day in ms, never earlier than the newest time in the log."""
        return max(self.storage.last_now_ms, self._wall())

    # The controller

    def serve_controller(self, host: str, port: int) -> None:
        """Start the controller. ``host`` and ``port`` are where clients reach the segment store."""
        clocks = (self._scaling_clock, self._watermark_period_ms)
        self._controller = Controller(self.storage, self._new_id, host, port, *clocks)
        self._set_timer()

    def call(self, method: str, request: bytes) -> Answer | Waiting:
        """Decide one call of the controller; see `Controller.call`. Raises RpcError."""
        try:
            return self._controller.call(method, request, now_ms=self.now_ms())
        finally:
            self._set_timer()

    def _set_timer(self, earliest_ms: int = 0) -> None:
        deadline_ms = self._controller.next_deadline_ms()
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
        now_ms = self.now_ms()
        try:
            self._controller.tick(now_ms)
        except StorageError as error:
            log.warning(
                "the storage refused what was due; the controller tries again in %d ms: %s", RETRY_MS, error
            )
            self._set_timer(now_ms + RETRY_MS)
        except Exception:
            log.exception("the controller failed at what was due; it tries again in %d ms", RETRY_MS)
            self._set_timer(now_ms + RETRY_MS)
        else:
            self._set_timer(now_ms + 1)

    # Running

    async def run(self) -> None:
        """Move groups to the disk until cancelled.

        Raises:
            OSError: A write or sync failed. Nothing more may be served, and the process has to end.
        """
        try:
            await self._pump.run()
        finally:
            if self._timer is not None:
                self._timer.cancel()

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


def _settle(done: asyncio.Future[bool], result: bool) -> None:
    if not done.done():
        done.set_result(result)
