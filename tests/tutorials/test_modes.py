"""The jobs of tutorial 13, and its pictures."""

from __future__ import annotations

import pytest

from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.operators.operator import RuntimeMode
from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.streaming_and_batch import (
    BATCH,
    BY_NAME,
    BY_TIME,
    DAYS,
    PER_DAY,
    STREAMING,
    figure_1,
    people_per_city,
    priced_orders,
    year_in_batch,
    year_then_live,
)
from pravega_lab.tutorials.streaming_and_batch_pictures import figure_1_picture, year_picture


def test_figure_1_touches_state_as_it_comes_or_key_by_key() -> None:
    streaming, batch = figure_1(STREAMING), figure_1(BATCH)
    assert [(t.key, t.old, t.new, t.emitted) for t in streaming] == [
        ("a", 5, 6, [("a", 6)]),
        ("b", 4, 5, [("b", 5)]),
        ("a", 6, 7, [("a", 7)]),
    ]
    assert [(t.key, t.old, t.new, t.emitted) for t in batch] == [
        ("a", 5, 6, []),
        ("a", 6, 7, [("a", 7)]),
        ("b", 4, 5, [("b", 5)]),
    ]
    drawn = figure_1_picture(streaming, batch)
    assert drawn.svg.count("(a, 7)</text>") == drawn.svg.count("(b, 5)</text>") == 2
    assert drawn.svg.count("(a, 6)</text>") == 1
    assert "- a: the state goes from 5 to 6; emitted: nothing" in drawn.words


def test_retractions_count_right_in_streaming_mode_only() -> None:
    changes = people_per_city(STREAMING)
    now: dict[str, int] = {}
    for kind, city, people in changes:
        if kind in ("-U", "-D"):
            assert now.pop(city) == people
        else:
            assert city not in now
            now[city] = people
    assert now == {"Rome": 2, "Oslo": 1}
    with pytest.raises(JobFailedError, match="run the program in streaming mode"):
        people_per_city(BATCH)
    assert sum(people for _, _, people in people_per_city(BATCH, as_changelog=False)) == 7


def test_a_year_is_complete_in_event_time_order_and_in_batch() -> None:
    year = year_then_live(BY_TIME)
    per_day = {day: n for day, n in year.days.items() if day < DAYS}
    assert per_day == year_in_batch() == dict.fromkeys(range(DAYS), PER_DAY)
    assert (year.late, year.live_days) == (0, 10)
    assert year.open_most < 6


def test_by_name_the_watermark_runs_ahead_of_what_is_read() -> None:
    year = year_then_live(BY_NAME)
    below = sum(day < reached for day, reached in zip(year.read, year.watermarks(1), strict=True))
    assert year.late == below == DAYS * PER_DAY - year.counted > 1_000
    drawn = year_picture("By name", year)
    assert drawn.words[1].startswith(f"{below} of 1460 events")


@pytest.mark.parametrize(("bound_days", "late"), [(363, 4), (364, 0)])
def test_a_bound_wide_enough_loses_nothing_and_keeps_all_open(bound_days: int, late: int) -> None:
    year = year_then_live(BY_NAME, bound_days)
    assert year.late == late
    assert year.open_most >= DAYS
    assert year.live_days == 0


def test_a_side_input_has_to_be_waited_for() -> None:
    mode, orders = priced_orders(RuntimeMode.AUTOMATIC, waits=False)
    assert mode is STREAMING
    assert 0 < sum(row["price"] == 0 for row in orders) < 12
    _, waited = priced_orders(RuntimeMode.AUTOMATIC, waits=True)
    assert [row["order"] for row in waited] == [*range(40)]
    assert all(row["price"] for row in waited)
    with pytest.raises(BadInputError, match="'orders' never ends"):
        priced_orders(BATCH, waits=True)
