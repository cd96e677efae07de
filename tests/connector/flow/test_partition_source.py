"""(d): the partition source, and (c) for comparison, on a stream that is split and merged."""

from __future__ import annotations

import pytest

from pravega_lab.connector.flow import PravegaPartitionSource, PravegaSegmentSource
from pravega_lab.engine.flow.batch import Row
from pravega_lab.testing.simulated import SimulatedPravega
from tests.connector.flow.jobs import (
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


def first_out_of_order(rows: list[Row]) -> tuple[Row, int] | None:
    """The first row that is older than one of its key before it, and the number of that one."""
    newest: dict[str, int] = {}
    for row in rows:
        if row["n"] < newest.get(row["k"], -1):
            return row, newest[row["k"]]
        newest[row["k"]] = row["n"]
    return None


@pytest.mark.parametrize("form", ["c", "d"])
def test_a_split_and_a_merge(pravega_simulation: SimulatedPravega, form: str) -> None:
    world = pravega_simulation

    async def story() -> None:
        config = config_of(world)
        async with world.client() as client:
            into, out = await streams(client)
            await write(into, numbered(0, 100))
            parts = await into.split(0)
            await write(into, numbered(100, 200))
            await into.merge([part.segment_id for part in parts])
            await write(into, numbered(200, 300))
            source: PravegaSegmentSource | PravegaPartitionSource = (
                PravegaSegmentSource(config, "in", rows=ROWS, batch_bytes=200)
                if form == "c"
                else PravegaPartitionSource(config, "in", rows=ROWS, batch_bytes=200, discovery_ms=100)
            )
            job = job_of(world, copying(config, source))
            await job.start()
            rows = await until(out, 300)
            await job.cancel()
        assert sorted(row["n"] for row in rows) == list(range(300)), "nothing is lost or doubled"
        found = first_out_of_order(rows)
        if form == "c":
            assert found is None
            assert in_order(rows)
        else:
            assert found is not None
            row, behind = found
            assert row["n"] < behind

    world.run(story())
