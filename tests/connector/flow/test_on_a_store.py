"""The same jobs on an ordinary loop, over sockets: the embedded store as a process, and a real Pravega."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pravega_lab.client.client import AsyncClient
from pravega_lab.connector.flow import (
    GroupSettings,
    PravegaConfig,
    PravegaReader,
    PravegaSegmentSource,
    PravegaSource,
    PravegaWriter,
)
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay
from tests.connector.flow.jobs import EVENTS, FREE, ROWS, in_order, numbered, until, write


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_pravega)])
def uri(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue("store" if request.param == "embedded" else "real_pravega")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("form", ["a", "b3", "c"])
def test_a_job_copies_a_stream_through_a_scale_and_a_failure(
    uri: str, scope_name: Callable[[], str], tmp_path: Path, form: str
) -> None:
    scope = scope_name()
    config = PravegaConfig(uri, scope)

    async def story() -> None:
        async with AsyncClient(uri) as client:
            into = await client.create_stream(f"{scope}/in", scaling=FREE)
            out = await client.create_stream(f"{scope}/out")
            settings = GroupSettings(config, "copy", ["in"], refresh_ms=100, read_timeout_ms=100)
            sources = {
                "a": lambda env: env.add_source(PravegaReader(settings, rows=ROWS)),
                "b3": lambda env: env.from_source(PravegaSource(settings, rows=ROWS)),
                "c": lambda env: env.from_source(PravegaSegmentSource(config, "in", rows=ROWS)),
            }
            env = StreamEnvironment("copy", parallelism=2)
            sources[form](env).key_by("k").sink_to(PravegaWriter(config, "out", events=EVENTS))
            job = Job(
                env.job_graph(),
                JobConfig(
                    CheckpointConfig(interval_ms=500, tolerable_failures=1000),
                    restart=FixedDelay(wait_ms=100),
                    folder=str(tmp_path),
                ),
            )
            await job.start()
            await write(into, numbered(0, 100))
            await into.split(0)
            await write(into, numbered(100, 200))
            await wait_for_checkpoint(job)
            job.fail_subtask(next(iter(job.master.executions)), RuntimeError("dies"))
            await write(into, numbered(200, 300))
            rows = await until(out, 300)
            await job.cancel()
            assert sorted(row["n"] for row in rows) == list(range(300))
            assert in_order(rows)

    asyncio.run(story())


def test_a_job_reads_two_streams_that_scale(uri: str, scope_name: Callable[[], str], tmp_path: Path) -> None:
    scope = scope_name()
    config = PravegaConfig(uri, scope)

    async def story() -> None:
        async with AsyncClient(uri) as client:
            inputs = [await client.create_stream(f"{scope}/{name}", scaling=FREE) for name in ("one", "two")]
            out = await client.create_stream(f"{scope}/out")
            both = numbered(0, 300), numbered(300, 600)
            rows = [[row | {"k": f"{n} {row['k']}"} for row in of] for n, of in enumerate(both)]
            env = StreamEnvironment("copy", parallelism=2)
            source = PravegaSegmentSource(config, ["one", "two"], rows=ROWS)
            env.from_source(source).key_by("k").sink_to(PravegaWriter(config, "out", events=EVENTS))
            checkpoints = CheckpointConfig(interval_ms=500, tolerable_failures=1000)
            settings = JobConfig(checkpoints, restart=FixedDelay(wait_ms=100), folder=str(tmp_path))
            job = Job(env.job_graph(), settings)
            await job.start()
            for first in (0, 100, 200):
                for stream, of_stream in zip(inputs, rows, strict=True):
                    await write(stream, of_stream[first : first + 100])
                    await stream.split((await stream.segments())[0].segment_id)
                await wait_for_checkpoint(job)
                job.fail_subtask(next(iter(job.master.executions)), RuntimeError("dies"))
            found = await until(out, 600)
            await job.cancel()
            assert sorted(row["n"] for row in found) == list(range(600))
            assert in_order(found)

    asyncio.run(story())


async def wait_for_checkpoint(job: Job) -> None:
    until_s = time.monotonic() + 60
    while job.latest_checkpoint is None:
        assert time.monotonic() < until_s, job.explain()
        await asyncio.sleep(0.05)
