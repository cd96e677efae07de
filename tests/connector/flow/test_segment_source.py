"""(c): segments as splits, through scales of stream and job, and failures; exactly once, in order."""

from __future__ import annotations

import asyncio

from pravega_lab.connector.flow import PravegaSegmentSource
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import (
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
