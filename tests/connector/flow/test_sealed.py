"""A sealed stream, or an end cut, ends the source: end of data, final checkpoint, finished (FLIP-147)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pravega_lab.client.values import TAIL
from pravega_lab.connector.flow import (
    GroupSettings,
    PravegaReader,
    PravegaSegmentSource,
    PravegaSource,
    PravegaTransactionalSink,
    PravegaWriter,
)
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.batch_mode import BatchRunner, resolve_mode
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.operators.operator import RuntimeMode
from pravega_lab.engine.flow.source.sources import Source
from pravega_lab.engine.flow.subtask_states import SubtaskState
from pravega_lab.protocol.stream_cut import StreamCut
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import (
    EVENTS,
    FREE,
    OUT,
    ROWS,
    config_of,
    copying,
    in_order,
    job_of,
    numbered,
    streams,
    until,
    write,
)

Make = Callable[[SimulatedPravega, tuple[StreamCut, ...]], Any]
ENDS_WITHIN_S = 60.0
ENDLESS = "test/endless"


def settings_of(world: SimulatedPravega, end: tuple[StreamCut, ...] = ()) -> GroupSettings:
    return GroupSettings(
        config_of(world), "group", ["in"], end=end, refresh_ms=100, read_timeout_ms=100, batch_bytes=200
    )


def legacy(world: SimulatedPravega, end: tuple[StreamCut, ...] = ()) -> PravegaReader:
    return PravegaReader(settings_of(world, end), rows=ROWS)


def induced(world: SimulatedPravega, end: tuple[StreamCut, ...] = ()) -> PravegaSource:
    return PravegaSource(settings_of(world, end), rows=ROWS)


def segments(world: SimulatedPravega, end: tuple[StreamCut, ...] = ()) -> PravegaSegmentSource:
    return PravegaSegmentSource(config_of(world), "in", end=end or None, rows=ROWS, batch_bytes=200)


FORMS = [pytest.param(legacy, id="a"), pytest.param(induced, id="b3"), pytest.param(segments, id="c")]


async def ends(job: Job) -> None:
    async with asyncio.timeout(ENDS_WITHIN_S):
        await job.wait()


def numbers(rows: list[Row]) -> list[int]:
    return sorted(row["n"] for row in rows)


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds(3)
def test_a_sealed_stream_ends_the_job(pravega_simulation: SimulatedPravega, make: Make) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            job = job_of(world, copying(config_of(world), make(world, ())))
            await job.start()
            await write(into, numbered(0, 60))
            await into.split((await into.segments())[0].segment_id)
            await write(into, numbered(60, 100))
            await into.seal()
            await ends(job)
            rows = await until(out, 100)
            assert numbers(rows) == list(range(100))
            assert in_order(rows)

    world.run(story())


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds("0")
def test_a_stream_that_was_sealed_before_the_job_ends_it(
    pravega_simulation: SimulatedPravega, make: Make
) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            await write(into, numbered(0, 30))
            await into.merge([segment.segment_id for segment in await into.segments()])
            await into.seal()
            # More readers than segments: some of them never have anything to read.
            job = job_of(world, copying(config_of(world), make(world, ()), readers=3))
            await job.start()
            await ends(job)
            assert numbers(await until(out, 30)) == list(range(30))

    world.run(story())


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds("0")
def test_an_end_cut_ends_the_job(pravega_simulation: SimulatedPravega, make: Make) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            await write(into, numbered(0, 40))
            end = await into.tail()
            await write(into, numbered(40, 60))
            job = job_of(world, copying(config_of(world), make(world, (end,))))
            await job.start()
            await ends(job)
            assert numbers(await until(out, 40)) == list(range(40))

    world.run(story())


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds(3)
def test_failures_while_the_stream_ends_lose_and_double_nothing(
    pravega_simulation: SimulatedPravega, make: Make
) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            job = job_of(world, copying(config_of(world), make(world, ())))
            await job.start()
            await write(into, numbered(0, 60))
            await into.seal()
            for _ in range(6):
                await asyncio.sleep(world.chance.random() * 0.6)
                subtask = world.chance.choice(job.graph.subtasks())
                if job.master.executions[subtask].state is SubtaskState.RUNNING:
                    job.fail_subtask(subtask, RuntimeError("dies"))
            await ends(job)
            rows = await until(out, 60)
            assert numbers(rows) == list(range(60))
            assert in_order(rows)

    world.run(story())


# -- beside an endless source -------------------------------------------------------------------------------


def beside_an_endless_source(world: SimulatedPravega, source: Any) -> JobGraph:
    config = config_of(world)
    env = StreamEnvironment("two sources", parallelism=2)
    ending = (
        env.from_source(source, uid="ends", name="ends")
        if isinstance(source, Source)
        else env.add_source(source, uid="ends", name="ends")
    )
    other = PravegaSegmentSource(config, ENDLESS, rows=ROWS, batch_bytes=200)
    both = ending.union(env.from_source(other, uid="endless", name="endless"))
    both.key_by("k").sink_to(PravegaWriter(config, OUT, events=EVENTS), uid="sink", name="sink")
    return env.job_graph()


async def until_finished(job: Job, vertex: str) -> None:
    ids = [id for id in job.graph.subtasks() if id.vertex == vertex]
    async with asyncio.timeout(ENDS_WITHIN_S):
        while any(job.master.executions[id].state is not SubtaskState.FINISHED for id in ids):
            await asyncio.sleep(0.05)


async def until_checkpoint_after(job: Job, number: int) -> int:
    async with asyncio.timeout(ENDS_WITHIN_S):
        while job.latest_checkpoint is None or job.latest_checkpoint.checkpoint_id <= number:
            await asyncio.sleep(0.05)
    return job.latest_checkpoint.checkpoint_id


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds("0")
def test_a_source_ends_beside_one_that_does_not(pravega_simulation: SimulatedPravega, make: Make) -> None:
    world = pravega_simulation

    async def story() -> None:
        files = MemoryFiles()
        async with world.client() as client:
            into, out = await streams(client, 2)
            endless = await client.create_stream(ENDLESS, scaling=FREE)
            job = job_of(world, beside_an_endless_source(world, make(world, ())), files=files)
            await job.start()
            await write(into, numbered(0, 40))
            await write(endless, numbered(100, 120))
            await into.seal()
            await until_finished(job, "ends")
            number = await until_checkpoint_after(job, 0)
            await write(endless, numbered(120, 140))
            number = await until_checkpoint_after(job, number + 1)

            job.fail_subtask(SubtaskId("sink", 0), RuntimeError("dies"))
            await write(endless, numbered(140, 160))
            number = await until_checkpoint_after(job, number)

            job.master.fail_globally(RuntimeError("the whole job"))
            await until_finished(job, "ends")
            await write(endless, numbered(160, 180))
            number = await until_checkpoint_after(job, number)
            await job.cancel()

            # The ended stream is not needed any more, not even by a job that resumes.
            await into.delete()
            latest = job.latest_checkpoint
            assert latest is not None
            graph = beside_an_endless_source(world, make(world, ()))
            again = job_of(world, graph, files=files, restore_from=latest.path)
            await again.start()
            await write(endless, numbered(180, 200))
            rows = await until(out, 140)
            await until_checkpoint_after(again, number + 1)
            await again.cancel()
            assert numbers(rows) == [*range(40), *range(100, 200)]
            assert in_order([row for row in rows if row["n"] >= 100])

    world.run(story())


# -- without checkpoints of the job -------------------------------------------------------------------------


def to_the_tail(world: SimulatedPravega, end: tuple[StreamCut, ...]) -> PravegaSegmentSource:
    return PravegaSegmentSource(config_of(world), "in", end=TAIL, rows=ROWS, batch_bytes=200)


@pytest.mark.parametrize(
    "make",
    [pytest.param(induced, id="b3"), pytest.param(segments, id="c"), pytest.param(to_the_tail, id="c, tail")],
)
@pytest.mark.pravega_seeds("0")
def test_batch_execution_reads_a_sealed_stream_to_its_end(
    pravega_simulation: SimulatedPravega, make: Make
) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            await write(into, numbered(0, 30))
            # Two readers have the predecessors, and no checkpoint says that their records arrived.
            await into.merge([segment.segment_id for segment in await into.segments()])
            await write(into, numbered(30, 60))
            await into.seal()
            env = StreamEnvironment("batch", parallelism=2)
            rows = env.from_source(make(world, (await into.tail(),)), uid="source")
            rows.sink_to(PravegaTransactionalSink(config_of(world), OUT, events=EVENTS), parallelism=1)
            graph = env.job_graph()
            assert resolve_mode(graph, RuntimeMode.AUTOMATIC) is RuntimeMode.BATCH
            async with asyncio.timeout(ENDS_WITHIN_S):
                await BatchRunner(graph).run()
            found = await until(out, 60)
            assert numbers(found) == list(range(60))
            assert in_order(found)

    world.run(story())


@pytest.mark.parametrize("make", FORMS[1:])
@pytest.mark.pravega_seeds("0")
def test_a_job_without_checkpoints_ends_too(pravega_simulation: SimulatedPravega, make: Make) -> None:
    world = pravega_simulation

    async def story() -> None:
        found: list[Row] = []
        async with world.client() as client:
            into, _ = await streams(client, 2)
            await write(into, numbered(0, 30))
            await into.merge([segment.segment_id for segment in await into.segments()])
            await write(into, numbered(30, 60))
            await into.seal()
            env = StreamEnvironment("no checkpoints", parallelism=2)
            rows = env.from_source(make(world, ()), uid="source")
            rows.map(lambda row: found.append(row) or row)
            job = Job(
                env.job_graph(),
                JobConfig(checkpoints=None),
                files=MemoryFiles(),
                now_ms=lambda: int(world.now_s * 1000),
            )
            await job.start()
            await ends(job)
            assert numbers(found) == list(range(60))

    world.run(story())
