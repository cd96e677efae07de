"""The plan of the replay: every flight once, in order, at its pace; and the verdict finds what is wrong."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from pravega_lab.datasets import FlightEvents, flights
from pravega_lab.demo.replay import STORM_FIRST_DAY, STORM_LAST_DAY, plan
from pravega_lab.demo.run import around_the_storm
from pravega_lab.demo.verdict import check, expected_hours
from pravega_lab.errors import BadInputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def year() -> FlightEvents:
    return flights()


@pytest.fixture(scope="module")
def storm(year: FlightEvents) -> FlightEvents:
    return year.between(STORM_FIRST_DAY, STORM_LAST_DAY)


def test_the_year_is_whole_and_in_the_order_of_the_schedule(year: FlightEvents) -> None:
    assert len(year) == 336_776 == len(year.events) == len(year.keys)
    assert sorted(year.table["row"]) == list(range(336_776))
    order = year.table[["time_hour", "scheduled", "row"]]
    assert order.equals(order.sort_values(["time_hour", "scheduled", "row"]))
    assert int(year.table["cancelled"].sum()) == 8_255
    assert int(year.table["tail_number"].isna().sum()) == 2_512


def test_an_event_is_the_flight_and_its_key_the_tail_number_or_the_carrier(year: FlightEvents) -> None:
    without = year.table["tail_number"].isna().to_numpy()
    for place in (0, int(np.flatnonzero(without)[0]), len(year) - 1):
        event, row = json.loads(year.events[place].as_py()), year.table.iloc[place]
        assert event["row"] == row["row"]
        assert event["hour"] == row["time_hour"].strftime("%Y-%m-%dT%H:%M:%SZ")
        assert year.keys[place].as_py() == (row["carrier"] if without[place] else row["tail_number"])


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(BadInputError, match="from 1 to 336,776"):
        flights(0)


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_the_plan_covers_the_year_at_its_pace(year: FlightEvents, speed: float) -> None:
    chunks = plan(year.table, speed)
    assert [c.start for c in chunks] == [0, *(c.stop for c in chunks[:-1])]
    assert chunks[-1].stop == len(year)
    assert all(c.stop > c.start for c in chunks)
    due = [c.due_s for c in chunks]
    assert due == sorted(due)
    slow = [c for c in chunks if c.slow]
    # Seven days of eight seconds, less the hours before the first and after the last departure.
    assert slow[-1].due_s - slow[0].due_s == pytest.approx(56 / speed, abs=2 / speed)
    # Eleven months and three weeks, a month a second.
    assert due[-1] - 56 / speed == pytest.approx(11.77 / speed, abs=0.7 / speed)


@pytest.mark.parametrize("events", [100, 6_099, 20_000, 336_776])
def test_a_short_demo_has_the_storm_in_it(year: FlightEvents, storm: FlightEvents, events: int) -> None:
    part = around_the_storm(year, events)
    assert len(part) == events
    common = set(part.table["row"]) & set(storm.table["row"])
    assert len(common) == min(events, len(storm))


def read_back(part: FlightEvents) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What a perfect run reads back."""
    return pd.DataFrame([json.loads(e) for e in part.events.to_pylist()]), expected_hours(part.table)


def test_a_perfect_run_is_exact(storm: FlightEvents) -> None:
    verdict = check(storm, *read_back(storm), late=0)
    assert verdict.exact
    assert verdict.first_difference is None


def test_each_fault_is_found(storm: FlightEvents) -> None:
    read, hours = read_back(storm)
    assert check(storm, read.drop(index=7), hours, late=0).lost == 1
    assert check(storm, pd.concat([read, read.iloc[[3]]]), hours, late=0).doubled == 1
    assert check(storm, read, hours.drop(index=5), late=0).lost == 1
    assert check(storm, read, pd.concat([hours, hours.iloc[[5]]]), late=0).doubled == 1
    assert check(storm, read, hours, late=2).exact is False
    for column in ("departures", "delay_sum", "delay_mean", "cancelled"):
        changed = hours.copy()
        changed.loc[11, column] += 1
        verdict = check(storm, read, changed, late=0)
        assert (verdict.wrong, verdict.exact) == (1, False)
        assert verdict.first_difference is not None
    strange = hours.copy()
    strange.loc[0, "hour"] = "1999-01-01T00:00:00Z"
    assert check(storm, read, strange, late=0).wrong == 1


def test_flights_of_one_key_in_another_order_are_found(storm: FlightEvents) -> None:
    read, hours = read_back(storm)
    same_key = read.index[read["tail"] == read["tail"].value_counts().index[0]]
    swapped = read.copy()
    swapped.loc[[same_key[0], same_key[1]]] = read.loc[[same_key[1], same_key[0]]].to_numpy()
    assert check(storm, read, hours, late=0).out_of_order == 0
    assert check(storm, swapped, hours, late=0).out_of_order == 1


def test_nothing_read_back_means_all_lost(storm: FlightEvents) -> None:
    verdict = check(storm, pd.DataFrame(), pd.DataFrame(), late=0)
    assert verdict.lost == len(storm) + len(expected_hours(storm.table))
