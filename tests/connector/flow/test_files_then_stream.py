"""Parquet files and then a Pravega stream as one source: exactly once through failures and scales."""

from __future__ import annotations

import asyncio
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pravega_lab.connector.flow import PravegaSegmentSource
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.source.hybrid import HybridSource
from pravega_lab.engine.flow.source.parquet import ParquetSource
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import (
    ROWS,
    config_of,
    copying,
    job_of,
    numbered,
    read,
    streams,
    until,
    write,
)


@pytest.mark.slow
def test_files_and_then_a_stream_that_scales_lose_and_double_nothing(
    pravega_simulation: SimulatedPravega,
) -> None:
    world, files, buffer = pravega_simulation, MemoryFiles(), io.BytesIO()
    pq.write_table(pa.Table.from_pylist(numbered(0, 60)), buffer, row_group_size=10)
    files.data["history/0.parquet"] = buffer.getvalue()

    async def story() -> None:
        async with world.client() as client:
            into, out = await streams(client, 2)
            await write(into, numbered(60, 100))  # the stream continues where the files end
            history = ParquetSource("history", batch_rows=2, pause_ms=lambda: 40, files=files)
            live = PravegaSegmentSource(config_of(world), "test/in", rows=ROWS, batch_bytes=200)
            job = job_of(world, copying(config_of(world), HybridSource(history, live)), files=files)
            await job.start()
            vertex = next(iter(job.master.executions)).vertex
            for first in (100, 130, 160, 190):
                await asyncio.sleep(0.4)
                job.fail_subtask(SubtaskId(vertex, world.chance.randrange(2)), RuntimeError("dies"))
                await write(into, numbered(first, first + 30))
                active = await into.segments()
                if len(active) < 3:
                    await into.split(active[0].segment_id)
                else:
                    await into.merge([active[0].segment_id, active[1].segment_id])
            await until(out, 220)
            await asyncio.sleep(2)
            rows = await read(out)
            await job.cancel()
            assert sorted(row["n"] for row in rows) == list(range(220))

    world.run(story())
