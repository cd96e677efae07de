"""(c): the watermarks of a job that reads a stream which was scaled. No row is late because of the scales."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.values import TAIL
from pravega_lab.connector.flow import PravegaSegmentSource
from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.hybrid import HybridSource
from pravega_lab.engine.flow.source.sources import Source
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import EVENTS, IN, ROWS, Rows, config_of, job_of, numbered, streams

KEYS, SIZE = 20, 20
HISTORY = [{**row, "n": row["n"] - 200} for row in numbered(0, 200, keys=KEYS)]
with_history = pytest.mark.parametrize("history", [[], HISTORY], ids=["alone", "after a history"])


class Collect(Operator):
    """Puts rows into a list of the test."""

    def __init__(self, into: list[Row]) -> None:
        self._into = into

    def process_batch(self, batch: Batch, input: int) -> None:
        self._into += batch.rows


def windows(
    world: SimulatedPravega,
    readers: int,
    got: Rows,
    *,
    ends: bool = False,
    idle_after_ms: int | None = None,
    history: Sequence[Row] = (),
) -> JobGraph:
    """Rows of each window, counted by event time. ``history`` is read before the stream."""
    source: Source[Any, Any] = PravegaSegmentSource(
        config_of(world), IN, end=TAIL if ends else None, rows=ROWS, batch_bytes=1_000
    )
    if history:
        source = HybridSource(RowsSource(history), source)
    env = StreamEnvironment("windows", parallelism=readers)
    strategy = WatermarkStrategy("n", idle_after_ms=idle_after_ms)
    keyed = env.from_source(source, strategy, uid="source").key_by("k")
    counted = keyed.window(TumblingWindows(SIZE)).aggregate(count()).uid("windows")
    counted.transform("collect", lambda: Collect(got)).set_parallelism(1).uid("collect")
    return env.job_graph()


async def scaled(client: AsyncClient) -> AsyncStream:
    """1000 rows, whose times ascend. One half of the keys is scaled five times, the other never."""
    into, _ = await streams(client, 4)
    for generation in range(5):
        await write_in_order(into, generation * 200, generation * 200 + 200)
        scaled = sorted((s for s in await into.segments() if s.low < 0.5), key=lambda s: s.low)
        if len(scaled) > 1:
            await into.merge([segment.segment_id for segment in scaled])
        elif generation < 4:
            await into.split(scaled[0].segment_id)
    return into


async def write_in_order(stream: AsyncStream, first: int, last: int) -> None:
    """Write with a new writer. After a merge, an older one sends first what it had for one old segment."""
    rows = numbered(first, last, keys=KEYS)
    async with stream.writer() as writer:
        await writer.write([EVENTS.serialize(row) for row in rows], [row["k"] for row in rows])


def total(got: Rows) -> int:
    return sum(row["value"] for row in got)


@pytest.mark.parametrize("ends", [False, True], ids=["sealed", "cut"])
@pytest.mark.parametrize("readers", [1, 2, 3])
@pytest.mark.pravega_seeds(2)
def test_no_row_of_a_scaled_backlog_is_late(
    pravega_simulation: SimulatedPravega, readers: int, ends: bool
) -> None:
    world, got = pravega_simulation, Rows()

    async def story() -> None:
        async with world.client() as client:
            into = await scaled(client)
            await into.seal()
            job = job_of(world, windows(world, readers, got, ends=ends))
            await job.start()
            await job.wait()

    world.run(story())
    assert total(got) == 1000


@pytest.mark.parametrize("readers", [2, 3])
@pytest.mark.pravega_seeds(2)
def test_no_row_of_a_scaled_backlog_is_late_after_a_history(
    pravega_simulation: SimulatedPravega, readers: int
) -> None:
    """A `HybridSource` passed on no limits of watermarks."""
    world, got = pravega_simulation, Rows()

    async def story() -> None:
        async with world.client() as client:
            into = await scaled(client)
            await into.seal()
            job = job_of(world, windows(world, readers, got, history=HISTORY))
            await job.start()
            await job.wait()

    world.run(story())
    assert total(got) == 1200


@with_history
@pytest.mark.pravega_seeds(2)
def test_event_time_goes_on_while_the_stream_does(
    pravega_simulation: SimulatedPravega, history: list[Row]
) -> None:
    world, got = pravega_simulation, Rows()

    async def story() -> None:
        async with world.client() as client:
            into = await scaled(client)
            await into.merge([segment.segment_id for segment in await into.segments()])
            job = job_of(world, windows(world, 2, got, history=history))
            await job.start()
            await asyncio.sleep(1)
            await into.split((await into.segments())[0].segment_id)  # each part has keys
            for first in range(1000, 3000, 100):
                await write_in_order(into, first, first + 100)
                await asyncio.sleep(0.5)
            await job.cancel()

    world.run(story())
    assert total(got) > 2500, "windows close before the stream ends"
    assert {row["value"] for row in got} == {SIZE // KEYS}, "no window missed a row"


@with_history
@pytest.mark.pravega_seeds(3)
def test_no_row_is_late_after_failures_and_a_savepoint(
    pravega_simulation: SimulatedPravega, history: list[Row]
) -> None:
    world, got, files = pravega_simulation, Rows(), MemoryFiles()

    async def story() -> None:
        async with world.client() as client:
            into = await scaled(client)
            first = job_of(world, windows(world, 2, got, history=history), files=files)
            await first.start()
            await asyncio.sleep(world.chance.random())
            first.fail_subtask(SubtaskId("source", world.chance.randrange(2)), RuntimeError("dies"))
            await asyncio.sleep(world.chance.random())
            path = await first.stop_with_savepoint("savepoint", drain=False)
            await into.seal()
            graph = windows(world, 3, got, history=history)
            second = job_of(world, graph, files=files, restore_from=path)
            await second.start()
            await second.wait()

    world.run(story())
    counts = {(row["k"], row["window_start"]): row["value"] for row in got}
    assert len(counts) == 1000 + len(history)
    assert set(counts.values()) == {SIZE // KEYS}
