"""Kappa+: files and then a live stream, counted by one job that fails in the middle."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pravega_lab.tutorials.kappa_plus import HISTORY, LIVE, history_then_live, truth
from pravega_lab.tutorials.streaming_and_batch import DAY_MS, MONTHS

DAYS, PER_DAY = 10, 100  # of each of the twelve files: a file is a batch of the job


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, found = tmp_path_factory.mktemp("year"), {}
    for number, name in enumerate(MONTHS):
        days = [number * DAYS + day for day in range(DAYS) for _ in range(PER_DAY)]
        at = [day * DAY_MS + n % PER_DAY for n, day in enumerate(days)]
        found[name] = folder / f"{name}.parquet"
        pq.write_table(pa.table({"at": at, "origin": ["EWR", "JFK"] * (len(at) // 2)}), found[name])
    return found


@pytest.mark.parametrize("fails_at_batch", [None, 6])
def test_in_event_time_order_every_closed_day_is_right(
    files: dict[str, Path], fails_at_batch: int | None
) -> None:
    history, live = [files[name] for name in HISTORY], files[LIVE]
    found, right = history_then_live(history, live, fails_at_batch=fails_at_batch), truth([*history, live])
    wrong = [day for day in right.index if found.days.get(day, 0) != right[day]]
    assert wrong == list(right.index[-2:]), "their windows are open: the bound is a day"
    assert found.failures == (fails_at_batch is not None)


def test_in_the_order_of_names_most_events_are_late(files: dict[str, Path]) -> None:
    history = [files[name] for name in sorted(HISTORY)]
    found = history_then_live(history, files[LIVE])
    assert 0 < found.departures < truth(history).sum() / 2
