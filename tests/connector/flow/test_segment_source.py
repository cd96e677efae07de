"""(c): segments as splits, through scales of stream and job, and failures; exactly once, in order."""

from __future__ import annotations

import asyncio

import pytest

from pravega_lab.client.reading.event_source import SegmentSource
from pravega_lab.client.values import TAIL
from pravega_lab.connector.flow import PravegaSegmentSource
from pravega_lab.connector.flow.segments.source import SegmentReader
from pravega_lab.connector.flow.segments.split_reader import SplitReader
from pravega_lab.connector.flow.segments.splits import (
    SegmentSplit,
    SplitsFinished,
    SplitsRemoval,
    SplitsReturned,
    from_event,
    to_event,
)
from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import (
    IN,
    ROWS,
    config_of,
    copying,
    in_order,
    job_of,
    numbered,
    read,
    streams,
    until,
    write,
)


def segment_source(world: SimulatedPravega) -> PravegaSegmentSource:
    return PravegaSegmentSource(config_of(world), "test/in", rows=ROWS, batch_bytes=200)


def test_a_split_and_a_merge_keep_the_order_of_each_key(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client)
            job = job_of(world, copying(config_of(world), segment_source(world)))
            await job.start()
            await write(into, numbered(0, 50))
            two = await into.split(0, 3)
            await write(into, numbered(50, 100))
            await into.merge([two[0].segment_id, two[1].segment_id])
            await write(into, numbered(100, 150))
            rows = await until(out, 150)
            await job.cancel()
            assert sorted(row["n"] for row in rows) == list(range(150))
            assert in_order(rows)

    world.run(story())


def test_failures_lose_and_double_nothing(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            job = job_of(world, copying(config_of(world), segment_source(world)))
            await job.start()
            for round in range(5):
                await write(into, numbered(round * 30, round * 30 + 30))
                active = await into.segments()
                if round % 2 == 0:
                    await into.split(active[0].segment_id)
                else:
                    await into.merge([active[0].segment_id, active[1].segment_id])
                await asyncio.sleep(world.chance.random())
                vertex = next(iter(job.master.executions)).vertex
                job.fail_subtask(SubtaskId(vertex, world.chance.randrange(2)), RuntimeError("dies"))
            rows = await until(out, 150)
            await asyncio.sleep(2)
            rows = await read(out)
            await job.cancel()
            assert sorted(row["n"] for row in rows) == list(range(150))
            assert in_order(rows)

    world.run(story())


def test_a_savepoint_goes_on_with_another_parallelism(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        files = MemoryFiles()
        async with world.client() as client:
            into, out = await streams(client, 3)
            first = job_of(world, copying(config_of(world), segment_source(world)), files=files)
            await first.start()
            await write(into, numbered(0, 60))
            await asyncio.sleep(0.3)
            await into.split(1)
            path = await first.stop_with_savepoint("savepoint", drain=False)
            await write(into, numbered(60, 100))
            graph = copying(config_of(world), segment_source(world), readers=3, writers=1)
            second = job_of(world, graph, files=files, restore_from=path)
            await second.start()
            rows = await until(out, 100)
            await second.cancel()
            assert sorted(row["n"] for row in rows) == list(range(100))
            assert in_order(rows)

    world.run(story())


class Collect(Operator):
    """Puts rows into a list of the test."""

    def __init__(self, into: list[Row]) -> None:
        self._into = into

    def process_batch(self, batch: Batch, input: int) -> None:
        self._into += batch.rows


@pytest.mark.parametrize("readers", [1, 2])
def test_no_row_is_late_because_another_segment_is_read_first(
    pravega_simulation: SimulatedPravega, readers: int
) -> None:
    world = pravega_simulation
    got: list[Row] = []

    async def story() -> None:
        async with world.client() as client:
            into, _ = await streams(client, 4)
            await write(into, numbered(0, 400, keys=20))
            source = PravegaSegmentSource(config_of(world), IN, end=TAIL, rows=ROWS, batch_bytes=2_000)
            env = StreamEnvironment("windows", parallelism=readers)
            keyed = env.from_source(source, WatermarkStrategy("n")).key_by("k")
            counted = keyed.window(TumblingWindows(20)).aggregate(count())
            counted.transform("collect", lambda: Collect(got)).set_parallelism(1)
            job = job_of(world, env.job_graph())
            await job.start()
            await job.wait()

    world.run(story())
    assert sum(row["value"] for row in got) == 400


class Output:
    """A `ReaderOutput` that keeps the names of released splits."""

    def __init__(self) -> None:
        self.released: list[str] = []

    def release_split(self, split_id: str) -> None:
        self.released.append(split_id)


@pytest.mark.pravega_seeds("0")
def test_a_segment_that_was_given_away_holds_back_no_watermark(pravega_simulation: SimulatedPravega) -> None:
    world, output, told = pravega_simulation, Output(), list[object]()

    async def story() -> None:
        async with world.client() as client:
            into, _ = await streams(client, 2)
            splits = [SegmentSplit(IN, s.segment_id, s.low, s.high) for s in await into.segments()]
            subtask = Subtask()
            setattr(subtask, "send_source_event", told.append)  # noqa: B010
            reader = SegmentReader(config_of(world), [IN], ROWS, subtask)
            reader.add_splits(splits)
            reader.handle_source_event(to_event(SplitsRemoval((splits[0],))))
            assert [from_event(event) for event in told] == [SplitsReturned((splits[0],))]
            reader.handle_source_event(to_event(SplitsFinished((splits[0],))))
            reader.poll_next(output)  # type: ignore[arg-type]
            assert output.released == [splits[0].split_id]
            reader.forget(splits[1].key)
            reader.add_splits([splits[1]])  # it came back at once
            reader.poll_next(output)  # type: ignore[arg-type]
            assert output.released == [splits[0].split_id]
            await reader.close()

    world.run(story())


class Subtask:
    """A `ReaderContext`."""

    subtask_index, parallelism, task_name, is_checkpointing = 0, 1, "source[0]#0", True

    def now_ms(self) -> int:
        return 0

    def send_split_request(self) -> None:
        raise AssertionError

    def send_source_event(self, event: object) -> None:
        raise AssertionError


@pytest.mark.pravega_seeds("0")
def test_a_segment_that_is_left_while_another_is_being_closed_is_closed_too(
    pravega_simulation: SimulatedPravega, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = pravega_simulation
    closed: list[int] = []
    close = SegmentSource.close

    async def slowly(source: SegmentSource) -> None:
        await asyncio.sleep(1)
        await close(source)
        closed.append(source.segment_id)

    async def story() -> None:
        async with world.client() as client:
            into, _ = await streams(client, 2)
            splits = [SegmentSplit(IN, s.segment_id, s.low, s.high) for s in await into.segments()]
            reader = SplitReader(config_of(world), [IN], ROWS, Subtask())
            reader.add_splits(splits)
            reader.leave(splits[0].key)
            available = asyncio.ensure_future(reader.available())
            await asyncio.sleep(0.5)
            reader.leave(splits[1].key)
            await available
            assert sorted(closed) == [0, 1]
            await reader.close()
            assert len(closed) == 2

    monkeypatch.setattr(SegmentSource, "close", slowly)
    world.run(story())
