"""Kappa+ of tutorial 13: eleven months of real flights in Parquet files, then the twelfth as a live stream.

One streaming job counts departures by day, and fails once in the middle. It runs under virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.engine.simulation.flow.steps import apart
from pravega_lab.engine.simulation.kernel.loop import SimulationLoop
from pravega_lab.tutorials.streaming_and_batch import DAY_MS, MONTHS, tell

if TYPE_CHECKING:
    import pandas as pd

HISTORY, LIVE = tuple(MONTHS)[:-1], "dec"
BATCH_ROWS, PAUSE_MS = 1_000, 10
LIVE_MS = 200  # between two batches of the live stream: it goes on arriving after the history has ended
QUIET_MS = 1_000  # after the last live event
BOUND_MS = DAY_MS


def write_year(table: pd.DataFrame, folder: Path) -> dict[str, Path]:
    """Write the flights of 2013 into a Parquet file per month, and return the files by the name of the month.

    ``table`` is that of `pravega_lab.datasets.flights`.

    Columns: ``at`` (int64), the scheduled hour in ms since 1970, and ``origin`` (string).
    """
    hours = table["time_hour"].dt
    months = hours.month.where(hours.year == 2013, 12)  # the last evening in New York is the next year in UTC
    at = table["time_hour"].astype("datetime64[ms, UTC]").astype("int64")
    found = {}
    for number, name in enumerate(MONTHS, 1):
        rows = months == number
        columns = {
            "at": pa.array(at[rows], pa.int64()),
            "origin": pa.array(table["origin"][rows], pa.string()),
        }
        found[name] = folder / f"{name}.parquet"
        pq.write_table(pa.table(columns), found[name])
    return found


def read_files(paths: Sequence[Path]) -> pa.Table:
    """Return the rows of Parquet files, one file after the other."""
    return pa.concat_tables([pq.read_table(path) for path in paths])


def truth(paths: Sequence[Path]) -> pd.Series[int]:
    """Return the departures by day (days since 1970), counted from the files alone."""
    days = pc.divide(read_files(paths)["at"], DAY_MS).to_pandas()
    counts: pd.Series[int] = days.value_counts().sort_index()
    return counts


@dataclass
class Counted:
    """What one run emitted: ``days`` has the departures by day, ``told`` how many results there were."""

    days: dict[int, int] = field(default_factory=dict)
    told: int = 0
    failures: int = 0

    @property
    def departures(self) -> int:
        """The number of departures in the results."""
        return sum(self.days.values())


class _FailsOnce(Operator):
    """Passes batches on, and raises at one of them, once in the life of the job."""

    def __init__(self, counted: Counted, at_batch: int | None) -> None:
        self._counted, self._at_batch, self._batches = counted, at_batch, 0

    def process_batch(self, batch: Batch, input: int) -> None:
        self._batches += 1
        if self._batches == self._at_batch and not self._counted.failures:
            self._counted.failures += 1
            raise RuntimeError("the machine is gone")
        self.context.output.emit(batch)


def history_then_live(history: Sequence[Path], live: Path, *, fails_at_batch: int | None = None) -> Counted:
    """Count departures by day and origin, first from files in the order given, then from a live stream.

    Args:
        history: Parquet files.
        live: A Parquet file whose rows arrive as an endless stream.
        fails_at_batch: Which batch of the history fails, once.
    """
    counted = Counted()
    stored, coming = read_files(history), read_files([live])
    env = StreamEnvironment("departures")
    strategy = WatermarkStrategy("at", out_of_orderness_ms=BOUND_MS)
    files = RowsSource(stored, batch_rows=BATCH_ROWS, pause_ms=lambda: PAUSE_MS)
    forever = Boundedness.CONTINUOUS_UNBOUNDED
    arriving = RowsSource(coming, batch_rows=BATCH_ROWS, pause_ms=lambda: LIVE_MS, boundedness=forever)
    past = env.from_source(files, strategy, name="history", uid="history")
    past = past.transform("machine", lambda: _FailsOnce(counted, fails_at_batch))
    both = past.union(env.from_source(arriving, strategy, name="live", uid="live")).key_by("origin")
    daily = both.window(TumblingWindows(DAY_MS)).aggregate(count(), column="n")
    results: dict[tuple[str, int], int] = {}

    def told(row: Row, _: str) -> None:
        counted.told += 1
        results[row["origin"], row["window_start"] // DAY_MS] = row["n"]

    tell(daily, told)
    _run(env, max(PAUSE_MS * len(stored), LIVE_MS * len(coming)) // BATCH_ROWS + QUIET_MS)
    for (_, day), n in results.items():
        counted.days[day] = counted.days.get(day, 0) + n
    return counted


def _run(env: StreamEnvironment, for_ms: int) -> None:
    loop = SimulationLoop("kappa plus")  # type: ignore[abstract]  # no outside in here
    names = iter(range(1_000_000))
    config = JobConfig(CheckpointConfig(interval_ms=200), restart=FixedDelay(wait_ms=10))
    job = Job(
        env.job_graph(),
        config,
        files=MemoryFiles(),
        now_ms=lambda: loop.now_us // 1000,
        unique_id=lambda: f"{next(names):012d}",
    )

    async def story() -> None:
        await job.start()
        await asyncio.sleep(for_ms / 1000)
        await job.cancel()

    def simulate() -> None:
        try:
            loop.run_until_complete(story())
        finally:
            loop.dispose()

    apart(simulate)
