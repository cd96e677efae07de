"""Watermarks that sources derive from the time windows of their reader group."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pravega_lab.client.client import AsyncClient
from pravega_lab.connector.flow import EventRows, GroupSettings, PravegaReader, PravegaSource, PravegaWriter
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.errors import BadInputError
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import EVENTS, IN, OUT, ROWS, config_of, job_of, read, streams

Make = Callable[[GroupSettings], PravegaReader | PravegaSource]
TIMED = EventRows(ROWS.deserialize, timestamp="at")
FORMS = [
    pytest.param(lambda s: PravegaReader(s, rows=TIMED), id="a"),
    pytest.param(lambda s: PravegaSource(s, rows=TIMED), id="b3"),
]
SIZE_MS, ROUNDS, PER_ROUND = 1_000, 60, 8


def counting(settings: GroupSettings, make: Make) -> JobGraph:
    """Rows of each second and key, counted by event time."""
    env, source = StreamEnvironment("count", parallelism=2), make(settings)
    rows = (
        env.add_source(source, uid="source")
        if isinstance(source, PravegaReader)
        else env.from_source(source, uid="source")
    )
    counted = (
        rows.key_by("k").window(TumblingWindows(SIZE_MS), late_tag="late").aggregate(count(), column="n")
    )
    counted.sink_to(PravegaWriter(settings.config, OUT, events=EVENTS), uid="sink")
    return env.job_graph()


async def write_with_times(client: AsyncClient) -> None:
    """A second of event time in each second, its times in any order, and noted after it."""
    stream = client.stream(IN)
    async with stream.writer() as writer:
        for second in range(ROUNDS):
            times = [1000 * second + (371 * n) % 1000 for n in range(PER_ROUND)]
            rows = [{"k": f"k{n % 4}", "at": at} for n, at in enumerate(times)]
            await writer.write([EVENTS.serialize(row) for row in rows], [row["k"] for row in rows])  # type: ignore[misc]
            await writer.note_time(1000 * second + 999)
            if second == ROUNDS // 3:
                await stream.split(0)
            await asyncio.sleep(1)


@pytest.mark.slow
@pytest.mark.parametrize("make", FORMS)
@pytest.mark.pravega_seeds(2)
def test_windows_close_by_what_writers_noted_and_miss_nothing(
    pravega_simulation: SimulatedPravega, make: Make
) -> None:
    world = pravega_simulation

    async def story() -> None:
        settings = GroupSettings(
            config_of(world), "group", ["in"], refresh_ms=100, read_timeout_ms=100, watermark_interval_ms=500
        )
        async with world.client() as client:
            _, out = await streams(client, 2)
            job = job_of(world, counting(settings, make), interval_ms=1_000)
            await job.start()
            writing = asyncio.create_task(write_with_times(client))
            await asyncio.sleep(ROUNDS / 2)
            job.fail_subtask(SubtaskId("source", world.chance.randrange(2)), RuntimeError("dies"))
            await writing
            await asyncio.sleep(30)
            found = await read(out)
            await job.cancel()
        closed = max(row["window_end"] for row in found) // SIZE_MS
        assert closed >= ROUNDS // 2, "windows close while the stream goes on"
        counts = {(row["k"], row["window_start"] // SIZE_MS): row["n"] for row in found}
        assert len(counts) == len(found), "each window was told once"
        assert counts == {(f"k{k}", second): PER_ROUND // 4 for k in range(4) for second in range(closed)}

    world.run(story())


@pytest.mark.pravega_seeds("0")
def test_bad_intervals_and_two_streams_are_refused(pravega_simulation: SimulatedPravega) -> None:
    config = config_of(pravega_simulation)
    with pytest.raises(BadInputError, match="a positive number"):
        GroupSettings(config, "group", ["in"], watermark_interval_ms=0)
    with pytest.raises(BadInputError, match="of one stream"):
        GroupSettings(config, "group", ["in", "other"], watermark_interval_ms=100)
