"""Kappa+: files and then a live stream, counted by one job that fails in the middle."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pravega_lab.tutorials.kappa_plus import LIVE, history_then_live, truth
from pravega_lab.tutorials.streaming_and_batch import DAY_MS, MONTHS

DAYS, PER_DAY = 10, 100  # of each of the twelve files: a file is a batch of the job


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("year")
    (folder / "history").mkdir()
    for number, name in enumerate(MONTHS):
        days = [number * DAYS + day for day in range(DAYS) for _ in range(PER_DAY)]
        at = [day * DAY_MS + n % PER_DAY for n, day in enumerate(days)]
        path = folder / ("dec.parquet" if name == LIVE else f"history/{name}.parquet")
        pq.write_table(pa.table({"at": at, "origin": ["EWR", "JFK"] * (len(at) // 2)}), path)
    return folder / "history", folder / "dec.parquet"


@pytest.mark.parametrize("fails_at", [(), (6,), (6, 7)])
def test_in_event_time_order_every_closed_day_is_right(year: tuple[Path, Path], fails_at: tuple[int]) -> None:
    found, right = history_then_live(*year, order_by="at", fails_at=fails_at), truth(*year)
    wrong = [day for day in right.index if found.days.get(day, 0) != right[day]]
    assert wrong == list(right.index[-2:]), "their windows are open: the bound is a day"
    assert found.failures == len(fails_at)


def test_in_the_order_of_names_most_events_are_late(year: tuple[Path, Path]) -> None:
    found, right = history_then_live(*year), truth(*year)
    assert 0 < found.departures < right.sum() / 2
