"""`StoreProcess`: the store as a simulated process, with the production code on simulated disk, network and
clock.

It is killed without warning and restarted from its disk. As a real store, it ends when a write to its log
fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

from pravega_lab.portable.waiting import FIRST_COMPLETED, wait

from ...server.connection import SegmentStoreProtocol
from ...server.runner import StoreRunner
from ...store.admin.rules import problems_of
from ...store.log.history import HISTORY_NAME, encode_history
from ...store.metadata.replies import Answer, Outcome, RpcError
from ...store.security.access_control import AccessControl
from ...store.security.passwords import User
from ...store.storage.recovery import open_storage
from ...store.streams.writer_times import PERIOD_MS
from ...store.tiers.settings import TierSettings
from ..kernel.disk import SimulatedDisk
from ..kernel.journal import Journal
from ..kernel.links import ControllerPort
from ..kernel.loop import SimulationLoop
from ..kernel.objects import SimulatedObjects
from ..kernel.process import Process
from .tier import rebuild_from

HOST, PORT = "127.0.0.1", 12345
WALL_START_MS = 1_700_000_000_000
FILE_BYTES = 16 * 1024


class StoreProcess:
    """Starts, kills and restarts a store, one life at a time. ``runner`` is that of the current life."""

    def __init__(self, loop: SimulationLoop, journal: Journal) -> None:
        self.disk = SimulatedDisk(loop.random("disk"), loop.faults)
        self.port = ControllerPort()
        self.runner: StoreRunner | None = None
        self.process: Process | None = None
        self.lives = 0
        self.file_bytes = FILE_BYTES
        self.scaling_clock = 1
        self.watermark_period_ms = PERIOD_MS
        self.objects: SimulatedObjects | None = None  # tier 2, if segments move there
        self.tier_settings = TierSettings()
        self.user: User | None = None  # who makes all calls of the controller
        self.access_control: Callable[[], AccessControl] | None = None  # of a store that demands tokens
        self.on_start: Callable[[StoreRunner], None] | None = None  # called in each life, before it serves
        self.rebuild_chance = 0.0  # how often a start takes the snapshot from tier 2
        self._loop = loop
        self._journal = journal
        self._chance = loop.random("store")
        self._clock_offset_ms = 0
        self._running: asyncio.Task[None] | None = None
        self._power_cut = asyncio.Event()
        self.disk.on_power_cut = self._power_cut.set

    async def start(self, clock_skew_ms: int = 0) -> None:
        """Recover from the disk and serve. ``clock_skew_ms`` shifts the wall clock of this life."""
        self.lives += 1
        if self.objects is not None:
            self.objects.mount()
        is_drawn = self.objects is not None and self._chance.random() < self.rebuild_chance
        if self.objects is not None and is_drawn and self._loop.faults.happens("tier 2", "rebuild"):
            rebuilt = await rebuild_from(self.disk, self.objects)
            self.objects.faults["rebuild"] += rebuilt
            self._journal.add("world", "rebuild", rebuilt=rebuilt)
        process = self.process = self._loop.spawn_process(f"store.{self.lives}")
        self._journal.add("world", "start", life=self.lives, clock_skew_ms=clock_skew_ms)
        await process.spawn(self._serve(process, clock_skew_ms), name="store starts")

    def set_clock(self, jump_ms: int) -> None:
        """Let the wall clock of the machine jump, for this life and those after it."""
        self._clock_offset_ms += jump_ms

    async def _serve(self, process: Process, clock_skew_ms: int) -> None:
        loop, chance = self._loop, self._chance

        def clock() -> int:
            return WALL_START_MS + clock_skew_ms + self._clock_offset_ms + loop.now_us // 1000

        def new_id() -> UUID:
            return UUID(int=chance.getrandbits(128), version=4)

        settings: dict[str, Any] = {
            "scaling_clock": self.scaling_clock,
            "watermark_period_ms": self.watermark_period_ms,
            "file_bytes": self.file_bytes,
        }
        if self.access_control is not None:
            settings["access"] = self.access_control()
        if self.objects is not None:
            settings |= {"objects": self.objects, "tier_settings": self.tier_settings}
        runner = self.runner = StoreRunner(self.disk, loop, clock, new_id, **settings)
        begin_at_once(runner, self.disk)
        if self.on_start is not None:
            self.on_start(runner)
        self._running = process.spawn(runner.run(), name="store")
        await loop.create_server(lambda: SegmentStoreProtocol(runner.segment_store), HOST, PORT)
        runner.serve_controller(HOST, PORT)

        async def serve(method: str, request: bytes) -> bytes:
            return await answer(runner, method, request, self.user)

        self.port.open(process, serve)

    async def ends_within(self, timeout_s: float | None) -> bool:
        """Wait, and return whether the store has ended: a write to its log failed, or the power failed.

        None waits without a limit.
        """
        assert self._running is not None
        self._power_cut.clear()
        cut = self._loop.create_task(self._power_cut.wait(), name="power cut")
        await wait([self._running, cut], timeout=timeout_s, return_when=FIRST_COMPLETED)
        cut.cancel()
        if not self._running.done():
            return self._power_cut.is_set()
        error = self._running.exception()
        if not isinstance(error, OSError):
            raise AssertionError(f"the store ended by itself: {error!r}") from error
        return True

    def crash(self) -> None:
        """Kill the process. Unfinished writes to the disk are torn."""
        if self.process is not None and self.process.alive:
            self.process.kill()
            self.disk.crash()
            if self.objects is not None:
                self.objects.crash()
            self._journal.add("world", "crash", life=self.lives)

    def problems(self) -> list[str]:
        """Return what is wrong with the state that the disk holds after a crash, by the rules of `verify`."""
        return problems_of(open_storage(self.disk, file_bytes=self.file_bytes))


def begin_at_once(runner: StoreRunner, disk: SimulatedDisk) -> None:
    """Do what `StoreRunner.begin` does, in no time."""
    cuts = runner.storage.recovery.cuts
    if runner.tier is not None:
        runner.storage.history = runner.history_to_begin
        if disk.files():
            disk.put(HISTORY_NAME, encode_history(runner.storage.history))
    disk.zero_cuts(cuts)


async def answer(runner: StoreRunner, method: str, request: bytes, user: User | None = None) -> bytes:
    """Carry out one call of the controller, as ``server/grpc.py`` does. Raises RpcError."""
    outcome: Outcome
    found = runner.call(method, request, user)
    if isinstance(found, Answer):
        return found.payload
    settled: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    found.add_done(lambda outcome: None if settled.done() else settled.set_result(outcome))
    outcome = await settled
    if isinstance(outcome, RpcError):
        raise outcome
    return outcome.payload
