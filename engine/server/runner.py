"""One running store without its sockets: storage, disk, controller, segment store's front, on one loop.

The same object serves under a real loop (``standalone``) and under the simulated one: time, ids, disk
and loop are handed in. It decides nothing; it calls the controller when that asked to be called.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from uuid import UUID

from pravega_lab.engine.server.pump import Pump
from pravega_lab.engine.server.segment_store import SegmentStore
from pravega_lab.engine.store.answers import Answer, Waiting
from pravega_lab.engine.store.controller import Controller
from pravega_lab.engine.store.disk import Disk
from pravega_lab.engine.store.errors import StorageError
from pravega_lab.engine.store.files import DEFAULT_FILE_BYTES
from pravega_lab.engine.store.recovery import open_storage
from pravega_lab.engine.store.writer_times import PERIOD_MS

log = logging.getLogger(__name__)

RETRY_MS = 1000
"""After a tick that the storage refused (a full disk) the controller is called again this much later."""


class StoreRunner:
    """A store on a disk. ``serve_controller`` first, then ``await run()`` until it is cancelled.

    Args:
        disk: Where the log lies; what is on it is recovered here, before anything is served.
        loop: Runs the timers and collects replies.
        clock: Milliseconds since 1970; time that goes back stands still.
        new_id: Random ids: of the store, of transient segments, of reader groups.

    Raises:
        CorruptStoreError: The log is damaged in its middle.
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
        """Time of day, never before what the log has seen."""
        return max(self.storage.last_now_ms, self._wall())

    # The controller

    def serve_controller(self, host: str, port: int) -> None:
        """Bring the controller up; ``host`` and ``port`` are where clients reach the segment store."""
        clocks = (self._scaling_clock, self._watermark_period_ms)
        self._controller = Controller(self.storage, self._new_id, host, port, *clocks)
        self._set_timer()

    def call(self, method: str, request: bytes) -> Answer | Waiting:
        """One call of the controller. Raises RpcError."""
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
            log.warning("the controller tries again in %d ms: %s", RETRY_MS, error)
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
            OSError: A write or sync failed; nothing more may be served, and the process has to end.
        """
        try:
            await self._pump.run()
        finally:
            if self._timer is not None:
                self._timer.cancel()

    async def drain(self, patience_s: float) -> bool:
        """Wait until all that was submitted is on disk; False if that failed, or did not come in time.

        On a full disk it may never come. Nobody was told of what is left, so it may be dropped.
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
