"""Jobs over a simulated Pravega that the tests of the connector share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.values import HEAD, TAIL, ScalingPolicy
from pravega_lab.connector.flow import EventRows, PravegaConfig, PravegaWriter, RowEvents
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay, RestartStrategy
from pravega_lab.engine.flow.source.sources import Source, SourceFunction
from pravega_lab.testing.simulated import SimulatedPravega

FREE = ScalingPolicy.by_event_rate(1_000_000_000, 2, 1)  # any number of segments, none by itself
ROWS = EventRows(json.loads)
EVENTS = RowEvents(lambda row: json.dumps(row).encode(), "k")
IN, OUT = "test/in", "test/out"
Rows = list[Row]


@lru_cache(maxsize=1)
def config_of(world: SimulatedPravega) -> PravegaConfig:
    numbers = count()  # two clients of one name would draw the same ids of writers

    def connect(who: str) -> AsyncClient:
        return world.client(f"{who} {next(numbers)}")

    return PravegaConfig(
        world.uri, "test", connect=connect, clock_ms=lambda: int(world.now_s * 1000) + 1_000_000
    )


async def streams(client: AsyncClient, segments: int = 1) -> tuple[AsyncStream, AsyncStream]:
    """Input of some segments, which may be scaled, and output of one."""
    found = await client.create_stream(IN, scaling=ScalingPolicy.fixed(segments))
    await found.update(scaling=FREE)
    return found, await client.create_stream(OUT)


async def write(stream: AsyncStream, rows: Iterable[Row]) -> None:
    rows = list(rows)
    await stream.write([json.dumps(row).encode() for row in rows], [row["k"] for row in rows])


def numbered(first: int, last: int, keys: int = 5) -> Rows:
    """Rows with keys in turn, and numbers that ascend."""
    return [{"k": f"k{n % keys}", "n": n} for n in range(first, last)]


async def read(stream: AsyncStream) -> Rows:
    """All that is there."""
    found: Rows = []
    async with stream.read(HEAD, TAIL) as batches:
        async for batch in batches:
            found += [json.loads(event) for event in batch.column(0).to_pylist()]
    return found


async def until(stream: AsyncStream, n_rows: int, within_s: float = 120.0) -> Rows:
    """Wait until so many rows are there."""
    async with asyncio.timeout(within_s):
        while len(found := await read(stream)) < n_rows:
            await asyncio.sleep(0.2)
    return found


def in_order(rows: Rows) -> bool:
    """Does each key's number ascend?"""
    last: dict[str, int] = {}
    for row in rows:
        if row["n"] <= last.get(row["k"], -1):
            return False
        last[row["k"]] = row["n"]
    return True


def copying(
    config: PravegaConfig, source: Source[Any, Any] | SourceFunction, readers: int = 2, writers: int = 2
) -> JobGraph:
    """Source, by key, exactly once into `OUT`."""
    env = StreamEnvironment("copy", parallelism=readers)
    if isinstance(source, Source):
        rows = env.from_source(source, uid="source")
    else:
        rows = env.add_source(source, uid="source")
    by_key = rows.key_by("k")
    by_key.sink_to(PravegaWriter(config, OUT, events=EVENTS), uid="sink", parallelism=writers)
    return env.job_graph()


def job_of(
    world: SimulatedPravega,
    graph: JobGraph,
    *,
    files: MemoryFiles | None = None,
    restore_from: str | None = None,
    interval_ms: int = 300,
    restart: RestartStrategy | None = None,
    allow_non_restored_state: bool = False,
) -> Job:
    names = iter(range(10**9))
    clock: Callable[[], int] = lambda: int(world.now_s * 1000)  # noqa: E731
    restart = restart or FixedDelay(wait_ms=100)
    config = JobConfig(CheckpointConfig(interval_ms=interval_ms), restart=restart, claim=True)
    return Job(
        graph,
        replace(config, allow_non_restored_state=allow_non_restored_state),
        restore_from=restore_from,
        files=files or MemoryFiles(),
        now_ms=clock,
        unique_id=lambda: f"{world.seed}-{next(names):08x}",
    )
