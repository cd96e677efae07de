"""`World`: a store, applications that use it, and faults between them, in one event loop.

Everything is drawn from the seed: the applications, the behaviour of network and disk, and when the store and
the applications are killed. After a while all faults end and the applications finish. The stream is sealed,
the readers read to its end, and the store is killed once more. The content of the recovered store goes into
the journal, for the checkers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.values import RetentionPolicy, ScalingPolicy
from pravega_lab.errors import NotFoundError, RefusedError
from pravega_lab.portable.waiting import wait
from pravega_lab.protocol.names import (
    parent_of,
    parse_segment_name,
    segment_name,
    split_scoped_name,
    table_segment_name,
)

from ...store.storage.storage import Storage
from ..kernel.journal import Journal
from ..kernel.links import SimulatedControllerLink
from ..kernel.loop import SimulationLoop
from .apps import STREAM, TABLE, TABLE_KEY, App
from .store_process import HOST, PORT, WALL_START_MS, StoreProcess
from .tier import audit, read_whole, rebuild_from
from .tiers.room import Room

FINISH_WITHIN_S = 400.0
EVENT_HEADER_BYTES = 8


class Survey(Protocol):
    """Notes what the storage contains, until the stream is sealed and read."""

    async def run(self) -> None:
        """Look again and again, until cancelled."""

    def look(self) -> None:
        """Look now."""


class UnfinishedError(AssertionError):
    """Raised when an application is not finished long after all faults ended."""


class World:
    """The world of one run. Applications are added before `run`."""

    def __init__(self, loop: SimulationLoop, journal: Journal) -> None:
        self.loop = loop
        self.journal = journal
        self.store = StoreProcess(loop, journal)
        self.network = loop.network
        self.chance = loop.random("world")
        self.apps: list[App] = []
        self.until_end: list[App] = []  # applications that finish at the end of the stream
        self.trouble_s = 3.0
        self.scaling = ScalingPolicy.fixed(1)
        self.retention: RetentionPolicy | None = None
        self.linger_s = 0.0  # how long the stream stays open after all applications have finished
        self.clock_skews_ms: tuple[int, ...] = (0, 0, 5_000, -1_000)  # of one life
        self.survey: Survey | None = None
        self.room: Room | None = None  # of a tier 2 that may be full
        self.may_be_truncated = False
        self.store_life_s_max: float | None = None
        self.app_life_s_max: float | None = None
        self.crashes: Counter[str] = Counter()
        self.problems: list[str] = []  # what the world itself found
        self._calm = False
        self._store_keeper: asyncio.Task[None] | None = None

    @property
    def faults(self) -> Counter[str]:
        """The number of faults so far, by kind."""
        of_tier: Counter[str] = Counter() if self.store.objects is None else self.store.objects.faults
        return self.network.faults + self.store.disk.faults + self.crashes + of_tier

    def client(self, who: str) -> AsyncClient:
        """Return a client with its own link and random generator, and with the time of the loop."""
        link = SimulatedControllerLink(self.network, self.store.port)
        uri, chance = f"tcp://{HOST}:{PORT}", self.loop.random(who)
        user = self.store.user
        credentials = None if user is None else (user.name, "password")

        def clock_ms() -> int:
            return WALL_START_MS + self.loop.now_us // 1000

        return AsyncClient(uri, link=link, clock_ms=clock_ms, chance=chance, credentials=credentials)

    async def run(self, segments: int, trouble: Callable[[], None]) -> None:
        """Run the whole scenario, until the journal is complete. ``trouble`` is called after the set-up."""
        await self.store.start()
        async with self.client("setup") as client:
            stream = await client.create_stream(STREAM, scaling=ScalingPolicy.fixed(segments))
            # The policy allows merges down to one segment.
            await stream.update(scaling=self.scaling, retention=self.retention)
            await client.table(TABLE).create()
        trouble()
        self.keep_to_plan()
        surveying = None if self.survey is None else asyncio.ensure_future(self.survey.run())
        limiting = None if self.room is None else asyncio.ensure_future(self.room.run())
        keeping = [self.loop.create_task(self._keep(app), name=f"keep {app.name}") for app in self.apps]
        following = [
            self.loop.create_task(self._keep(app), name=f"keep {app.name}") for app in self.until_end
        ]
        store = self._store_keeper = self.loop.create_task(self._keep_store(), name="keep store")
        await asyncio.sleep(self.trouble_s)
        self._heal()
        await self._finish(keeping)
        if self.linger_s:
            await asyncio.sleep(self.linger_s)
        async with self.client("sealer") as client:
            await client.stream(STREAM).seal()
        self.journal.add("world", "sealed")
        await self._finish(following)
        if surveying is not None:
            surveying.cancel()
        store.cancel()
        await self._empty_the_log()
        if limiting is not None:
            limiting.cancel()
        self.store.crash()
        await self.store.start()
        await self._write_down()
        self.store.crash()

    def keep_to_plan(self) -> None:
        """Leave out the applications and the rounds of work that the plan of this run leaves out."""
        plan, cast = self.loop.faults.plan, self.loop.faults.cast
        for apps in (self.apps, self.until_end):
            apps[:] = [app for app in apps if app.name not in plan.without]
            for app in apps:
                app.rounds = plan.rounds(app.rounds)
                cast.append(app.name)

    async def _empty_the_log(self) -> None:
        """With tier 2: wait until everything is there. Then the log may be lost, in some of the runs."""
        objects, runner = self.store.objects, self.store.runner
        if objects is None or runner is None:
            return
        self.problems += await audit(runner, objects)
        self.store.rebuild_chance = 0.0
        if not self.problems and self.chance.random() < 0.5 and self._happens("log lost"):
            self.journal.add("world", "log lost")
            self.store.crash()
            for name in self.store.disk.files():
                self.store.disk.delete(name)
            await rebuild_from(self.store.disk, objects)

    def _heal(self) -> None:
        self._calm = True
        self.network.conditions.heal()
        self.store.port.heal()
        self.store.disk.conditions.heal()
        if self.store.objects is not None:
            self.store.objects.conditions.heal()
            self.store.objects.mount()
        if self.room is not None:
            self.room.heal()
        self.journal.add("world", "healed")

    async def _finish(self, tasks: list[asyncio.Task[None]]) -> None:
        if not tasks:
            return
        _, pending = await wait(tasks, timeout=FINISH_WITHIN_S)
        if self._store_keeper is not None and self._store_keeper.done():
            self._store_keeper.result()
        for task in tasks:
            if task in pending:
                raise UnfinishedError(
                    f"{task.get_name()}: not done {FINISH_WITHIN_S:g} s after all was well. Waiting:\n"
                    f"{self.loop.waiting()}"
                )
            await task

    # -- who is killed when --------------------------------------------------------------------------------

    async def _keep_store(self) -> None:
        """Kill the store at random times and start it again, also after its disk failed."""
        while True:
            ended = await self.store.ends_within(self._draw_life_s(self.store_life_s_max))
            if not ended and self._calm:
                ended = await self.store.ends_within(None)
            if not ended and not self._happens("store crash"):
                self.chance.randint(0, 1_500_000)
                self.chance.choice(self.clock_skews_ms)
                continue
            self.crashes["store crash"] += not ended
            if self.survey is not None:
                self.survey.look()
            self.store.crash()
            await asyncio.sleep(self.chance.randint(0, 1_500_000) / 1_000_000)
            skew_ms = self.chance.choice(self.clock_skews_ms)
            skews = skew_ms != 0 and self._happens("clock skew", f"{skew_ms} ms")
            await self.store.start(clock_skew_ms=skew_ms if skews else 0)

    async def _keep(self, app: App) -> None:
        """Run one life of an application after another, until it is done."""
        while not app.is_done:
            process = self.loop.spawn_process(app.name)
            life = process.spawn(app.run(), name=app.name)
            while True:
                done, _ = await wait([life], timeout=self._draw_life_s(self.app_life_s_max))
                if not done and self._calm:
                    done, _ = await wait([life])
                if done or self._happens("application crash", app.who, part=app.name):
                    break
                self.chance.randint(0, 1_000_000)
            if done:
                life.result()
                continue
            process.kill()
            self.crashes["application crash"] += 1
            self.journal.add(app.who, "killed")
            await asyncio.sleep(self.chance.randint(0, 1_000_000) / 1_000_000)

    def _happens(self, kind: str, about: str = "", *, part: str = "world") -> bool:
        return self.loop.faults.happens(part, kind, about)

    def _draw_life_s(self, life_s_max: float | None) -> float | None:
        if self._calm or life_s_max is None:
            return None
        return self.chance.randint(0, int(life_s_max * 1_000_000)) / 1_000_000

    # -- what is left --------------------------------------------------------------------------------------

    async def _write_down(self) -> None:
        """Write epochs and successors of the controller and bytes of the storage into the journal."""
        async with self.client("auditor") as client:
            stream = client.stream(STREAM)
            ids: dict[int, None] = {}
            for epoch in range(1_000_000):
                try:
                    segments = await stream.epoch_segments(epoch)
                except (NotFoundError, RefusedError):
                    break
                ranges = [[s.segment_id, s.low, s.high] for s in segments]
                self.journal.add("world", "epoch", epoch=epoch, segments=ranges)
                ids.update(dict.fromkeys(s.segment_id for s in segments))
            for segment in ids:
                found = await stream.successors(segment)
                after = [
                    [f.segment.segment_id, f.segment.low, f.segment.high, list(f.predecessors)] for f in found
                ]
                self.journal.add("world", "successors", segment=segment, successors=after)
                await self._write_down_segment(segment)
            if self.retention is not None:
                head = (await stream.head()).positions
                self.journal.add("world", "head", positions={str(s): o for s, o in sorted(head.items())})
        self._write_down_table()

    async def _write_down_segment(self, segment_id: int) -> None:
        assert self.store.runner is not None
        storage = self.store.runner.storage
        name = segment_name(*split_scoped_name(STREAM), segment_id)
        if not storage.exists(name):
            return
        info = storage.info(name)
        data = await read_whole(self.store.runner, name)
        events = events_in(data, info.start_offset)
        about = {"start": info.start_offset, "sealed": info.is_sealed, "events": events}
        self.journal.add("world", "stored", segment=segment_id, **about)

    def _write_down_table(self) -> None:
        assert self.store.runner is not None
        storage, name = self.store.runner.storage, table_segment_name(*split_scoped_name(TABLE))
        [found] = storage.table_get(name, [TABLE_KEY]) if storage.exists(name) else [None]
        value, version = (found.value.decode(), found.version) if found else (None, -1)
        self.journal.add("world", "table", value=value, version=version)


def segments_of(storage: Storage) -> Iterator[tuple[int, str]]:
    """Yield id and name of each segment of the stream, those of transactions left out."""
    for name in storage.segments():
        if name.startswith(f"{STREAM}/") and parent_of(name) is None:
            yield parse_segment_name(name).segment_id, name


def events_in(data: bytes, start: int) -> list[list[int | str]]:
    """Return [offset, event] of each event in a segment's bytes. An incomplete event is shown as torn."""
    events: list[list[int | str]] = []
    at = 0
    while at < len(data):
        kind, length = (int.from_bytes(data[at + n : at + n + 4], "big") for n in (0, 4))
        payload = data[at + EVENT_HEADER_BYTES : at + EVENT_HEADER_BYTES + length]
        whole = kind == 0 and len(payload) == length
        events.append([start + at, payload.decode(errors="replace") if whole else "torn|-|0|"])
        at += EVENT_HEADER_BYTES + length if whole else len(data)
    return events
