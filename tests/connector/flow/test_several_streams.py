"""(c) over several streams: each has its own splits, start and end, and its part of a savepoint."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.values import HEAD, TAIL, Edge
from pravega_lab.connector.flow import PravegaConfig, PravegaSegmentSource
from pravega_lab.connector.flow.bounds import bounds_of, resolved
from pravega_lab.connector.flow.segments.plan import SegmentPlan
from pravega_lab.connector.flow.segments.splits import (
    SegmentSplit,
    SegmentState,
    SegmentStateSerializer,
    SplitsSerializer,
)
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import IllegalStateError, JobFailedError, RestoreError
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.state import plain_values
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import (
    FREE,
    ROWS,
    Rows,
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

BOTH = ("test/in", "test/more")
ONE = pytest.mark.pravega_seeds("0")


def source_of(world: SimulatedPravega, *names: str, **options: Any) -> PravegaSegmentSource:
    return PravegaSegmentSource(config_of(world), names or BOTH, rows=ROWS, batch_bytes=200, **options)


async def more_stream(client: AsyncClient, name: str = "test/more") -> AsyncStream:
    """A second input."""
    return await client.create_stream(name, scaling=FREE)


def more(first: int, last: int, stream: int = 1) -> Rows:
    """Rows that no other stream has: keys and numbers are others."""
    return [{"k": f"{stream} {row['k']}", "n": stream * 1000 + row["n"]} for row in numbered(first, last)]


def check(found: Rows, *wanted: Rows) -> None:
    """Each row once, those of a key in their order."""
    assert sorted(row["n"] for row in found) == sorted(row["n"] for rows in wanted for row in rows)
    assert in_order(found)


# -- bounds --------------------------------------------------------------------------------------------------

CUT_IN, CUT_MORE = StreamCut("test/in", {0: 10}), StreamCut("test/more", {0: 20})


def test_an_edge_is_of_every_stream_and_a_cut_of_its_own() -> None:
    assert bounds_of(BOTH, TAIL, "start") == {"test/in": TAIL, "test/more": TAIL}
    assert bounds_of(BOTH, UNBOUNDED, "end") == {"test/in": UNBOUNDED, "test/more": UNBOUNDED}
    assert bounds_of(BOTH, CUT_MORE, "start") == {"test/more": CUT_MORE}
    assert bounds_of(BOTH, [CUT_MORE, CUT_IN], "start") == {"test/in": CUT_IN, "test/more": CUT_MORE}
    assert bounds_of(BOTH, [], "end") == {}


@pytest.mark.parametrize(
    ("ends", "is_bounded"),
    [(None, False), ([], False), (CUT_IN, False), ([CUT_IN, CUT_MORE], True), (TAIL, True)],
)
def test_it_is_bounded_when_each_stream_is(
    ends: StreamCut | Edge | Sequence[StreamCut] | None, is_bounded: bool
) -> None:
    source = PravegaSegmentSource(PravegaConfig(), BOTH, end=ends)
    assert (source.boundedness is Boundedness.BOUNDED) is is_bounded


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        ([], {}, "reads no stream"),
        (["in", "more", "test/in"], {}, "test/in is named twice"),
        (BOTH, {"start": [CUT_IN, StreamCut("test/third", {0: 1})]}, "start has a cut of stream test/third"),
        ("in", {"end": CUT_MORE}, "end has a cut of stream test/more, and the source reads test/in"),
        (BOTH, {"end": [CUT_IN, CUT_IN]}, "end has two cuts of stream test/in"),
        (BOTH, {"start": [HEAD, CUT_IN]}, "start has <Edge.HEAD: 'head'>, which is not a position"),
        (BOTH, {"start": [UNBOUNDED]}, "start has a cut of stream UNBOUNDED"),
        (BOTH, {"start": "head"}, "start has 'head', which is not a position"),
    ],
)
def test_what_cannot_be_is_refused_when_the_source_is_made(names: Any, options: Any, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        PravegaSegmentSource(PravegaConfig(default_scope="test"), names, **options)
    with pytest.raises(IllegalStateError, match="'in' names no scope"):
        resolved(PravegaConfig(), ["test/more", "in"])


# -- plan and state ------------------------------------------------------------------------------------------


def split(stream: str, segment_id: int, offset: int = 0, low: float = 0.0, high: float = 1.0) -> SegmentSplit:
    return SegmentSplit(stream, segment_id, low, high, offset)


def test_segments_of_one_id_in_two_streams_are_two_splits() -> None:
    """Each waits for what comes before it in its own stream, and for nothing else."""
    plan = SegmentPlan([split("s/a", 0), split("s/b", 0), split("s/a", 1), split("s/b", 1)])
    assert plan.assignments((0, 1)) == {0: [split("s/a", 0)], 1: [split("s/b", 0)]}
    plan.finished(1, split("s/b", 0), [split("s/b", 1)])
    assert plan.is_read_by(("s/a", 0), 0)
    assert not plan.is_read_by(("s/b", 0), 1)
    assert plan.assignments((0, 1)) == {1: [split("s/b", 1)]}
    assert plan.snapshot(1) == [split("s/a", 1)]
    assert [s.split_id for s in (split("s/a", 0), split("s/b", 0))] == ["s/a/0.#epoch.0", "s/b/0.#epoch.0"]


def test_the_state_of_one_stream_is_laid_out_as_ever_and_that_of_several_names_them() -> None:
    splits = [split("s/a", 0, 17), split("s/b", 3)]
    one, several = SegmentStateSerializer(["s/a"]), SegmentStateSerializer(["s/a", "s/b"])
    kept = plain_values.to_bytes([("s/a", 0, 0.0, 1.0, 17, None)])
    assert one.to_bytes(SegmentState(splits[:1], ("s/a",))) == kept == SplitsSerializer().to_bytes(splits[:1])
    assert (one.version, several.version) == (1, 2)
    assert one.from_bytes(1, kept) == SegmentState(splits[:1], ("s/a",))
    assert several.from_bytes(1, kept) == SegmentState(splits[:1], None)
    for begun in (("s/a", "s/b"), None):
        state = SegmentState(splits, begun)
        data = several.to_bytes(state)
        assert several.from_bytes(2, data) == one.from_bytes(2, data) == state


# -- jobs ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_both_scale_and_subtasks_die(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            beside = await more_stream(client)
            job = job_of(world, copying(config_of(world), source_of(world)))
            await job.start()
            for round in range(6):
                rows = numbered(round * 25, round * 25 + 25)
                await write(into, rows)
                await write(beside, more(round * 25, round * 25 + 25))
                # The one splits while the other merges: their segments come to have the same numbers.
                await scale(into if round % 2 == 0 else beside, is_split=True)
                if round:
                    await scale(beside if round % 2 == 0 else into, is_split=False)
                await asyncio.sleep(world.chance.random())
                if round % 2 == 1:
                    vertex = next(iter(job.master.executions)).vertex
                    job.fail_subtask(SubtaskId(vertex, world.chance.randrange(2)), RuntimeError("dies"))
                if round == 4:
                    await world.restart_store()
            await until(out, 300)
            await asyncio.sleep(2)
            found = await read(out)
            await job.cancel()
        check(found, numbered(0, 150), more(0, 150))

    world.run(story())


async def scale(stream: AsyncStream, *, is_split: bool) -> None:
    active = await stream.segments()
    if is_split:
        await stream.split(active[0].segment_id)
    else:
        await stream.merge([active[0].segment_id, active[1].segment_id])


@pytest.mark.slow
@ONE
def test_each_begins_and_ends_where_its_cuts_say(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            beside = await more_stream(client)
            await write(into, numbered(0, 40))
            begin = await into.tail()
            await into.merge([0, 1])
            await write(into, numbered(40, 80))
            await write(beside, more(0, 30))
            ends = [await into.tail(), await beside.tail()]
            await write(into, numbered(80, 100))
            await beside.split(0)
            await write(beside, more(30, 60))
            bounded = source_of(world, start=[begin], end=ends)
            job = job_of(world, copying(config_of(world), bounded))
            await job.start()
            await job.wait()
            check(await read(out), numbered(40, 80), more(0, 30))

    world.run(story())


@ONE
def test_one_ends_and_the_other_goes_on(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client)
            beside = await more_stream(client)
            await write(into, numbered(0, 30))
            end = await into.tail()
            job = job_of(world, copying(config_of(world), source_of(world, end=[end])))
            await job.start()
            await write(into, numbered(30, 60))
            await write(beside, more(0, 30))
            await beside.split(0)
            await until(out, 60)
            await write(beside, more(30, 60))
            await until(out, 90)
            await asyncio.sleep(2)
            await job.cancel()
            check(await read(out), numbered(0, 30), more(0, 60))

    world.run(story())


# -- savepoints ----------------------------------------------------------------------------------------------


async def saved(job: Job, out: AsyncStream, n_rows: int) -> str:
    """Run it until so many rows are there, and stop it."""
    await job.start()
    await until(out, n_rows)
    return await job.stop_with_savepoint("savepoint", drain=False)


def job_with(
    world: SimulatedPravega,
    files: MemoryFiles,
    source: PravegaSegmentSource,
    restore_from: str | None = None,
    **parallelism: int,
) -> Job:
    graph = copying(config_of(world), source, **parallelism)
    return job_of(world, graph, files=files, restore_from=restore_from)


async def to_the_end(job: Job) -> None:
    await job.start()
    await job.wait()


@pytest.mark.parametrize("before", [BOTH, BOTH[:1]], ids=["two", "one"])
def test_a_savepoint_goes_on_with_more_streams(
    pravega_simulation: SimulatedPravega, before: tuple[str, ...]
) -> None:
    """One of a single stream has the layout that has no names: its splits say which it was."""
    world, files = pravega_simulation, MemoryFiles()

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 3)
            beside, third = await more_stream(client), await more_stream(client, "test/third")
            for stream, rows in ((into, numbered(0, 40)), (beside, more(0, 40)), (third, more(0, 40, 2))):
                await write(stream, rows)
                await stream.split(0)  # so that there are segments that are read when the savepoint is taken
            path = await saved(job_with(world, files, source_of(world, *before)), out, 40 * len(before))
            for stream in (into, beside):
                await stream.split((await stream.segments())[0].segment_id)
            await write(into, numbered(40, 80))
            await write(beside, more(40, 80))
            source = source_of(world, "test/third", *BOTH)
            job = job_with(world, files, source, path, readers=3, writers=1)
            await job.start()
            await until(out, 200)
            await asyncio.sleep(1)
            vertex = next(iter(job.master.executions)).vertex
            job.fail_subtask(SubtaskId(vertex, 0), RuntimeError("dies"))
            await write(third, more(40, 50, 2))
            await until(out, 210)
            await asyncio.sleep(2)
            await job.cancel()
            check(await read(out), numbered(0, 80), more(0, 80), more(0, 50, 2))

    world.run(story())


@ONE
@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        (BOTH, BOTH[:1], RestoreError),
        (BOTH[:1], BOTH[1:], JobFailedError),  # what has no names is known when the readers have it
        (BOTH[:1], ("test/more", "test/third"), JobFailedError),
    ],
    ids=["fewer", "another", "others"],
)
def test_a_savepoint_of_a_stream_that_is_not_read_is_refused(
    pravega_simulation: SimulatedPravega,
    before: tuple[str, ...],
    after: tuple[str, ...],
    error: type[Exception],
) -> None:
    world, files = pravega_simulation, MemoryFiles()
    missing = next(name for name in before if name not in after)
    words = f"a position in stream {missing}, and the source reads {', '.join(after)}"

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client)
            beside = await more_stream(client)
            await more_stream(client, "test/third")
            await write(into, numbered(0, 40))
            await write(beside, more(0, 40))
            path = await saved(job_with(world, files, source_of(world, *before)), out, 40 * len(before))
            job = job_with(world, files, source_of(world, *after), path)
            with pytest.raises(error, match=words):
                await to_the_end(job)
            check(await read(out), numbered(0, 40), more(0, 40) if before == BOTH else [])

    world.run(story())


@ONE
def test_a_savepoint_that_does_not_say_its_stream_is_refused_for_several(
    pravega_simulation: SimulatedPravega,
) -> None:
    world, files = pravega_simulation, MemoryFiles()

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client)
            await more_stream(client)
            await write(into, numbered(0, 40))
            await into.seal()
            graph = copying(config_of(world), source_of(world, "test/in"))
            first = job_of(
                world, graph, files=files, interval_ms=100_000
            )  # no checkpoint before the savepoint
            await first.start()
            await asyncio.sleep(2)
            path = await first.stop_with_savepoint("savepoint", drain=False)
            await until(out, 40)
            kept = MemoryFiles()  # a job deletes the savepoint that it has claimed
            kept.data.update(files.data)
            await to_the_end(job_with(world, files, source_of(world, "test/in"), path))
            several = job_with(world, kept, source_of(world), path)
            await several.start()
            with pytest.raises(JobFailedError, match="read to its end, and does not say which"):
                await several.wait()
            check(await read(out), numbered(0, 40))

    world.run(story())
