"""The job of tutorial 10: sales per shop and second, in pages, stopped with a savepoint and resumed.

Engine, client and store run in a simulated world, so the numbers are the same on every machine.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import count as numbers
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.stream import AsyncStream
from pravega_lab.connector.flow import (
    EventRows,
    PravegaConfig,
    PravegaSegmentSource,
    PravegaWriter,
    RowEvents,
)
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.history import History
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.state.handles import ListMode
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.engine.simulation.flow.steps import apart
from pravega_lab.observe.job.observer import JobObserver
from pravega_lab.testing.simulated import SimulatedPravega

IN, OUT = "shops/sales", "shops/counts"
SHOPS = ("north", "south")
SALE_EVERY_MS, WINDOW_MS = 100, 1000  # event time
SALES_BEFORE, SALES = 36, 60
READ_WITHIN_S = 2.0  # virtual; more than enough to read what has been written
PAGE = 5  # counts

Counts = dict[tuple[int, str], list[int]]  # second and shop -> their counts, in order of emission


class Pages(Operator):
    """Packs five counts into one event; the rest leaves when the operator finishes."""

    def initialize_state(self) -> None:
        self._rows = self.context.lists.of("page", ListMode.SPLIT)

    def process_batch(self, batch: Batch, input: int) -> None:
        for row in batch.rows:
            self._rows.append([row["window_start"] // WINDOW_MS, row["shop"], row["sales"]])
            if len(self._rows) == PAGE:
                self._emit()

    def finish(self) -> None:
        if self._rows:
            self._emit()

    def _emit(self) -> None:
        self.context.output.row({"page": json.dumps(list(self._rows))})
        self._rows.clear()


@dataclass
class Stopped:
    """What a job had emitted when it was stopped, and finally, after another job resumed from its savepoint.

    ``observer`` observed the stopped job, and ``savepoint`` is the folder.
    """

    observer: JobObserver
    at_the_stop: Counts = field(default_factory=dict)
    in_the_end: Counts = field(default_factory=dict)
    savepoint: str = ""


def sales(first: int, last: int) -> list[dict[str, Any]]:
    """Return sales, one every 100 ms of event time, shops in turn."""
    return [{"shop": SHOPS[n % 2], "n": n, "at": n * SALE_EVERY_MS} for n in range(first, last)]


def stopped(
    drain: bool,
    *,
    resumed: bool = True,
    history: History | None = None,
    sales_before: int = SALES_BEFORE,
    seed: int = 0,
) -> Stopped:
    """Count 36 sales, stop with a savepoint, write the rest of 60, and resume from the savepoint to the end.

    Args:
        drain: Whether the stop drains.
        resumed: Whether another job resumes.
        history: The history of the stopped job: `History(drain_before_flip_147=True)` is the old order.
        sales_before: How many sales come before the stop.
    """
    world = SimulatedPravega(seed)
    story = _Story(world).tell(drain, resumed, history or History(), sales_before)
    return apart(lambda: world.run(story))


def never_stopped(*, seed: int = 0) -> Counts:
    """Return what all 60 sales give in a job that is not stopped before its end."""
    world = SimulatedPravega(seed)
    return apart(lambda: world.run(_Story(world).tell_whole()))


class _Story:
    def __init__(self, world: SimulatedPravega) -> None:
        self._world = world
        self._clients, self._names = numbers(), numbers()
        self._config = PravegaConfig(world.uri, connect=self._connect, clock_ms=self._now_ms)
        self._files = MemoryFiles()
        self.observer = JobObserver(self._graph(), seed=world.seed)

    def _now_ms(self) -> int:
        return int(self._world.now_s * 1000)

    def _connect(self, who: str) -> AsyncClient:
        return self._world.client(f"{who} {next(self._clients)}")

    async def tell(self, drain: bool, resumed: bool, history: History, sales_before: int) -> Stopped:
        async with self._connect("outside") as client:
            into, out = await client.create_stream(IN), await client.create_stream(OUT)
            told = Stopped(self.observer)
            await _write(into, 0, sales_before)
            told.savepoint = await self._live(1, drain=drain, history=history)
            self.observer.close()
            told.at_the_stop = await _read(out)
            if resumed:
                await _write(into, sales_before, SALES)
                await self._live(2, drain=True, restore_from=told.savepoint)
            told.in_the_end = await _read(out)
        return told

    async def tell_whole(self) -> Counts:
        async with self._connect("outside") as client:
            into, out = await client.create_stream(IN), await client.create_stream(OUT)
            await _write(into, 0, SALES)
            await self._live(1, drain=True)
            return await _read(out)

    async def _live(
        self, life: int, *, drain: bool, restore_from: str | None = None, history: History | None = None
    ) -> str:
        job = Job(
            self._graph(),
            JobConfig(
                CheckpointConfig(interval_ms=400),
                folder="checkpoints",
                history=history or History(),
                sample_interval_ms=50,
            ),
            restore_from=restore_from,
            files=self._files,
            observer=self.observer if life == 1 else None,
            now_ms=self._now_ms,
            unique_id=lambda: f"{next(self._names):08x}",
            job_id=f"life-{life}",
        )
        await job.start()
        await asyncio.sleep(READ_WITHIN_S)
        return await job.stop_with_savepoint(f"savepoints/{life}", drain=drain)

    def _graph(self) -> JobGraph:
        env = StreamEnvironment("sales", chaining=False)
        source = PravegaSegmentSource(self._config, IN, rows=EventRows(json.loads))
        rows = env.from_source(source, WatermarkStrategy("at"), uid="sales", name="sales")
        windows = rows.key_by("shop").window(TumblingWindows(WINDOW_MS)).aggregate(count(), column="sales")
        pages = windows.uid("windows").transform("pages", Pages).uid("pages")
        events = RowEvents(lambda row: row["page"].encode())
        pages.sink_to(PravegaWriter(self._config, OUT, events=events), uid="counts", name="counts")
        return env.job_graph()


async def _write(into: AsyncStream, first: int, last: int) -> None:
    rows = sales(first, last)
    await into.write([json.dumps(row).encode() for row in rows], [str(row["shop"]) for row in rows])


async def _read(out: AsyncStream) -> Counts:
    found: Counts = {}
    async with out.read() as batches:
        async for batch in batches:
            for event in batch.column("event").to_pylist():
                for second, shop, sold in json.loads(event):
                    found.setdefault((second, shop), []).append(sold)
    return dict(sorted(found.items()))


def counted(counts: Counts) -> int:
    """Return how many sales are in the counts."""
    return sum(sum(said) for said in counts.values())


def said_twice(counts: Counts) -> list[int]:
    """Return the seconds in which a shop has more than one count."""
    return sorted(Counter(second for (second, _), said in counts.items() if len(said) > 1))
