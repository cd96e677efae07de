"""(a) and (b3): a reader group whose checkpoints place the barriers, exactly once, and which checkpoints each
restores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.client.reader_group.values import BatchRead
from pravega_lab.connector.flow import GroupSettings, PravegaReader, PravegaSource
from pravega_lab.connector.flow.reader_group.settings import checkpoint_name, parse_checkpoint_id, reader_id
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import RestoreError
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.errors import BadInputError
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

Make = Callable[[GroupSettings], PravegaReader | PravegaSource]
FORMS = [
    pytest.param(lambda s: PravegaReader(s, rows=ROWS), id="a"),
    pytest.param(lambda s: PravegaSource(s, rows=ROWS), id="b3"),
]


def settings_of(world: SimulatedPravega) -> GroupSettings:
    return GroupSettings(
        config_of(world), "group", ["in"], refresh_ms=100, read_timeout_ms=100, batch_bytes=200
    )


class Panic(BaseException):
    """What an extension in Rust raises."""


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.parametrize("error", [Panic, SystemExit])
@pytest.mark.pravega_seeds("0")
def test_a_read_that_fails_with_an_odd_error_restarts_the_job(
    pravega_simulation: SimulatedPravega,
    make: Make,
    error: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reader used to wait for the next read, which never came."""
    world, reads, right = pravega_simulation, count(), AsyncReader.read_batch

    async def read_batch(self: AsyncReader, *args: Any, **options: Any) -> BatchRead:
        if next(reads) == 3:
            raise error("boom")
        return await right(self, *args, **options)

    monkeypatch.setattr(AsyncReader, "read_batch", read_batch)

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            await write(into, numbered(0, 40))
            job = job_of(world, copying(config_of(world), make(settings_of(world))))
            await job.start()
            await until(out, 40)
            rows = await read(out)
            await job.cancel()
            assert sorted(row["n"] for row in rows) == list(range(40))

    world.run(story())


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds(3)
def test_failures_and_scales_lose_and_double_nothing(
    pravega_simulation: SimulatedPravega, make: Make
) -> None:
    world = pravega_simulation

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            job = job_of(world, copying(config_of(world), make(settings_of(world))))
            await job.start()
            for round in range(4):
                await write(into, numbered(round * 30, round * 30 + 30))
                active = await into.segments()
                if round % 2 == 0:
                    await into.split(active[0].segment_id)
                else:
                    await into.merge([active[0].segment_id, active[1].segment_id])
                await asyncio.sleep(0.5 + world.chance.random())
                vertex = next(iter(job.master.executions)).vertex
                job.fail_subtask(SubtaskId(vertex, world.chance.randrange(2)), RuntimeError("dies"))
            await until(out, 120)
            await asyncio.sleep(2)
            rows = await read(out)
            await job.cancel()
            assert sorted(row["n"] for row in rows) == list(range(120))
            assert in_order(rows)

    world.run(story())


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds("0")
def test_a_savepoint_resumes_with_another_parallelism(
    pravega_simulation: SimulatedPravega, make: Make
) -> None:
    world = pravega_simulation

    async def story() -> None:
        files = MemoryFiles()
        async with world.client() as client:
            into, out = await streams(client, 3)
            settings = settings_of(world)
            first = job_of(world, copying(config_of(world), make(settings)), files=files)
            await first.start()
            await write(into, numbered(0, 60))
            await asyncio.sleep(0.3)
            path = await first.trigger_savepoint("savepoint")
            await first.cancel()
            committed = len(await read(out))
            await write(into, numbered(60, 100))
            graph = copying(config_of(world), make(settings), readers=3)
            second = job_of(world, graph, files=files, restore_from=path)
            await second.start()
            rows = await until(out, 100)
            await second.cancel()
            assert committed <= 60
            assert sorted(row["n"] for row in rows) == list(range(100))

    world.run(story())


@pytest.mark.pravega_seeds("0")
def test_stop_with_savepoint_stops_the_new_form(pravega_simulation: SimulatedPravega) -> None:
    world = pravega_simulation

    async def story() -> None:
        files = MemoryFiles()
        async with world.client() as client:
            into, out = await streams(client)
            settings = settings_of(world)
            job = job_of(world, copying(config_of(world), PravegaSource(settings, rows=ROWS)), files=files)
            await job.start()
            await write(into, numbered(0, 40))
            await job.stop_with_savepoint("savepoint", drain=False)
            before = len(await read(out))
            graph = copying(config_of(world), PravegaSource(settings, rows=ROWS))
            again = job_of(world, graph, files=files, restore_from="savepoint")
            await again.start()
            rows = await until(out, 40)
            await again.cancel()
            assert before <= 40
            assert sorted(row["n"] for row in rows) == list(range(40))

    world.run(story())


@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds("0")
def test_a_read_that_awaits_a_cancelled_future_restarts_the_job(
    pravega_simulation: SimulatedPravega, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source used to read nothing more, and no error said so."""
    world, reads, right = pravega_simulation, count(), AsyncReader.read_batch

    async def read_batch(self: AsyncReader, *args: Any, **options: Any) -> BatchRead:
        if next(reads) == 2:
            raise asyncio.CancelledError
        return await right(self, *args, **options)

    monkeypatch.setattr(AsyncReader, "read_batch", read_batch)

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client)
            job = job_of(world, copying(config_of(world), make(settings_of(world))))
            await job.start()
            await write(into, numbered(0, 40))
            rows = await until(out, 40)
            await job.cancel()
            assert sorted(row["n"] for row in rows) == list(range(40))

    world.run(story())


@pytest.mark.parametrize(("taken", "given"), [(0, 1), (1, 0)], ids=["a-to-b3", "b3-to-a"])
@pytest.mark.pravega_seeds("0")
def test_a_savepoint_of_the_other_form_is_refused(
    pravega_simulation: SimulatedPravega, taken: int, given: int
) -> None:
    world = pravega_simulation
    forms: list[Make] = [lambda s: PravegaReader(s, rows=ROWS), lambda s: PravegaSource(s, rows=ROWS)]

    async def story() -> None:
        files = MemoryFiles()
        async with world.client() as client:
            into, _ = await streams(client)
            settings = settings_of(world)
            job = job_of(world, copying(config_of(world), forms[taken](settings)), files=files)
            await job.start()
            await write(into, numbered(0, 20))
            await asyncio.sleep(0.5)
            await job.trigger_savepoint("savepoint")
            await job.cancel()
            graph = copying(config_of(world), forms[given](settings))
            other = job_of(world, graph, files=files, restore_from="savepoint")
            words = "legacy reader in master hook" if taken == 0 else "resume with the source"
            with pytest.raises(RestoreError, match=words):
                await other.start()

    world.run(story())


def test_names_of_checkpoints_and_readers() -> None:
    assert parse_checkpoint_id(checkpoint_name(17)) == 17
    for name in ("PVG-CHK-", "PVG-CHK-x", "17", "3e0c-automatic"):
        with pytest.raises(BadInputError, match="invalid Pravega checkpoint name"):
            parse_checkpoint_id(name)
    assert reader_id("source: in -> map[3]#7") == "source-in-map-3-7"
    assert len(reader_id("x" * 300)) == 255
