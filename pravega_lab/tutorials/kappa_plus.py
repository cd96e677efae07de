"""Kappa+ of tutorial 13: eleven months of real flights in Parquet files, then the twelfth, live.

One streaming job counts departures by day, and fails once in the middle. The live month is a Pravega stream
in an embedded store, to which another program writes. All of it runs under virtual time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count as numbers
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pravega_lab.client.client import AsyncClient
from pravega_lab.connector.flow import EventRows, PravegaConfig, PravegaSegmentSource
from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.elements import Watermark
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.source.hybrid import HybridSource
from pravega_lab.engine.flow.source.parquet import ParquetSource
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.engine.simulation.flow.steps import apart
from pravega_lab.testing import SimulatedPravega
from pravega_lab.tutorials.streaming_and_batch import DAY_MS, MONTHS, tell

if TYPE_CHECKING:
    import pandas as pd

HISTORY, LIVE = tuple(MONTHS)[:-1], "dec"
BATCH_ROWS, PAUSE_MS = 1_000, 10
LIVE_STREAM = "flights/december"
LIVE_MS = 200  # between two writes into it, of so many rows
QUIET_MS = 3_000  # after the last live event, and for what failures repeat
BOUND_MS = DAY_MS


def write_year(table: pd.DataFrame, folder: Path) -> tuple[Path, Path]:
    """Write the flights of 2013 into Parquet files, and return the folder of the history and the live file.

    The folder has a file per month, from January to November. December is in the other file. ``table`` is
    that of `pravega_lab.datasets.flights`.

    Columns: ``at`` (int64), the scheduled hour in ms since 1970, and ``origin`` (string).
    """
    hours = table["time_hour"].dt
    months = hours.month.where(hours.year == 2013, 12)  # the last evening in New York is the next year in UTC
    at = table["time_hour"].astype("datetime64[ms, UTC]").astype("int64")
    history, live = folder / "history", folder / f"{LIVE}.parquet"
    history.mkdir()
    for number, name in enumerate(MONTHS, 1):
        rows = months == number
        columns = {
            "at": pa.array(at[rows], pa.int64()),
            "origin": pa.array(table["origin"][rows], pa.string()),
        }
        pq.write_table(pa.table(columns), live if name == LIVE else history / f"{name}.parquet")
    return history, live


def read_files(paths: Sequence[Path]) -> pa.Table:
    """Return the rows of Parquet files, one file after the other."""
    return pa.concat_tables([pq.read_table(path) for path in paths])


def truth(folder: Path, live: Path) -> pd.Series[int]:
    """Return the departures by day (days since 1970), counted from the files alone."""
    days = pc.divide(read_files([*folder.glob("*.parquet"), live])["at"], DAY_MS).to_pandas()
    counts: pd.Series[int] = days.value_counts().sort_index()
    return counts


@dataclass
class Counted:
    """What one run emitted.

    ``days`` has the departures by day, and ``emitted`` says how many results there were. ``event_time`` has a
    pair (departures read, days since 1970) for each watermark that reached the windows.
    """

    days: dict[int, int] = field(default_factory=dict)
    emitted: int = 0
    failures: int = 0
    event_time: list[tuple[int, float]] = field(default_factory=list)

    @property
    def departures(self) -> int:
        """The number of departures in the results."""
        return sum(self.days.values())


class _Machine(Operator):
    """Passes batches on, notes event time, and raises at some of them, each once in the life of the job."""

    def __init__(self, counted: Counted, fails_at: Sequence[int]) -> None:
        self._counted, self._fails_at, self._batches = counted, fails_at, 0
        self._read = 0

    def process_batch(self, batch: Batch, input: int) -> None:
        self._batches += 1
        if self._batches in self._fails_at[self._counted.failures :]:
            self._counted.failures += 1
            raise RuntimeError("the machine is gone")
        self._read += batch.num_rows
        self.context.output.emit(batch)

    def process_watermark(self, watermark: Watermark) -> Any:
        self._counted.event_time.append((self._read, watermark.timestamp_ms / DAY_MS))
        return super().process_watermark(watermark)


def history_then_live(
    folder: Path, live: Path, *, order_by: str | None = None, fails_at: Sequence[int] = ()
) -> Counted:
    """Count departures by day and origin, first from files, then from a live stream, in one job.

    Args:
        folder: A folder of Parquet files. Without ``order_by`` they are read in the order of their names.
        live: A Parquet file. Another program writes its rows into a Pravega stream, which the job reads after
            the history.
        order_by: The column by which the file source orders row groups.
        fails_at: At which batches the machine fails, each once, counted since its last start.
    """
    counted = Counted()
    stored, history = MemoryFiles(), sorted(folder.glob("*.parquet"))
    stored.data |= {str(path): path.read_bytes() for path in history}
    world = SimulatedPravega(seed=13)
    files = ParquetSource(
        folder, order_by=order_by, batch_rows=BATCH_ROWS, pause_ms=lambda: PAUSE_MS, files=stored
    )
    arriving = PravegaSegmentSource(_config(world), LIVE_STREAM, rows=EventRows(json.loads))
    env = StreamEnvironment("departures")
    strategy = WatermarkStrategy("at", out_of_orderness_ms=BOUND_MS)
    departures = env.from_source(
        HybridSource(files, arriving), strategy, name="history, then live", uid="all"
    )
    checked = departures.transform("machine", lambda: _Machine(counted, fails_at)).key_by("origin")
    daily = checked.window(TumblingWindows(DAY_MS)).aggregate(count(), column="n")
    results: dict[tuple[str, int], int] = {}

    def told(row: Row, _: str) -> None:
        counted.emitted += 1
        results[row["origin"], row["window_start"] // DAY_MS] = row["n"]

    tell(daily, told)
    rows = sum(pq.read_metadata(path).num_rows for path in history)
    _run(world, env, read_files([live]), PAUSE_MS * rows // BATCH_ROWS)
    for (_, day), n in results.items():
        counted.days[day] = counted.days.get(day, 0) + n
    return counted


def _config(world: SimulatedPravega) -> PravegaConfig:
    names = numbers()  # two clients of one name would draw the same ids of writers

    def connect(who: str) -> AsyncClient:
        return world.client(f"{who} {next(names)}")

    return PravegaConfig(world.uri, "flights", connect=connect, clock_ms=lambda: int(world.now_s * 1000))


def _run(world: SimulatedPravega, env: StreamEnvironment, live: pa.Table, history_ms: int) -> None:
    names = numbers()
    config = JobConfig(CheckpointConfig(interval_ms=200), restart=FixedDelay(wait_ms=10))
    job = Job(
        env.job_graph(),
        config,
        files=MemoryFiles(),
        now_ms=lambda: int(world.now_s * 1000),
        unique_id=lambda: f"{next(names):012d}",
    )

    async def story() -> None:
        async with world.client("airport") as client:
            stream = await client.create_stream(LIVE_STREAM)
            await job.start()
            await asyncio.sleep(history_ms / 1000)
            for first in range(0, len(live), BATCH_ROWS):
                rows = live.slice(first, BATCH_ROWS).to_pylist()
                await stream.write([json.dumps(row).encode() for row in rows], "departures")
                await asyncio.sleep(LIVE_MS / 1000)
            await asyncio.sleep(QUIET_MS / 1000)
        await job.cancel()

    apart(lambda: world.run(story()))
