"""Where the event times of records come from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from pravega_lab.engine.flow.batch import NO_TIMESTAMP, Batch, Row
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.errors import BadInputError


@pytest.mark.parametrize(
    ("values", "times"),
    [
        ([5, 7], [5, 7]),
        ([5.9, 7.0], [5, 7]),
        ([2**62 + 1, None], [2**62 + 1, NO_TIMESTAMP]),
        ([None], [NO_TIMESTAMP]),
        ([0.5, None], [0, NO_TIMESTAMP]),
        ([datetime(1970, 1, 1, 0, 0, 2), None], [2000, NO_TIMESTAMP]),
        ([datetime(1970, 1, 1, 1, 0, 0, 7000, timezone(timedelta(hours=1)))], [7]),
        ([date(1970, 1, 2)], [86_400_000]),
    ],
)
def test_the_event_times_of_a_column_are_milliseconds(values: list[Any], times: list[int]) -> None:
    batch = WatermarkStrategy("at").assign(Batch.of_rows([{"at": value} for value in values]))
    assert batch.timestamps is not None
    assert batch.timestamps.tolist() == times


@pytest.mark.parametrize("value", ["2020-01-01", True, [5]])
def test_a_column_of_something_else_is_refused(value: Any) -> None:
    with pytest.raises(BadInputError, match="'at' gives the event times, and its values are of the type"):
        WatermarkStrategy("at").assign(Batch.of_rows([{"at": value}]))


@pytest.mark.parametrize(
    ("timestamp", "message"),
    [
        (lambda row: row["when"], r"KeyError: 'when'\).*the row is {'at': 1}"),
        (lambda row: None, "TypeError.*must return ms since 1970"),
        (lambda row: datetime(2020, 1, 1, tzinfo=UTC), "TypeError.*must return ms since 1970"),
        (lambda row: 2**70, "OverflowError"),
        (lambda row: float("nan"), "ValueError"),
    ],
)
def test_a_function_that_gives_no_event_time_is_named_with_its_row(
    timestamp: Callable[[Row], Any], message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        WatermarkStrategy(timestamp).assign(Batch.of_rows([{"at": 1}]))
