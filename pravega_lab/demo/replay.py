"""Replay a year of flights: a month per second, but a day in eight seconds around a snowstorm.

``plan`` decides which events are due when. ``replay`` writes them at those times. Every chunk is durable
before the next one is sent. So no reader sees an event while an event more than one chunk earlier in the
schedule is still on its way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pravega_lab.client import ScalingPolicy, Stream

if TYPE_CHECKING:
    from pravega_lab.datasets import FlightEvents

#: The first of the seven days that the replay slows down for, around a snowstorm on the 8th and 9th.
STORM_FIRST_DAY = "2013-02-06"
#: The last of these days.
STORM_LAST_DAY = "2013-02-12"
FAST_HOURS_PER_S = 365 * 24 / 12
SLOW_HOURS_PER_S = 24 / 8
FAST_CHUNK_HOURS = 6.0
SLOW_CHUNK_HOURS = 0.1

# Flights per second that one segment should carry while the replay is slow: the mornings bring more than
# 200, the nights none.
TARGET_EVENTS_PER_S = 120
#: How many times as fast as the clock the store decides about splits and merges, for a replay at speed 1. A
#: segment may split a second after it began, and merge after two (10 and 20 minutes of pravega.md A6).
SCALING_CLOCK = 600


@dataclass(frozen=True)
class Chunk:
    """Events ``start`` to ``stop`` of the schedule, due ``due_s`` seconds after the replay began.

    ``slow`` is whether they belong to the days around the storm.
    """

    start: int
    stop: int
    due_s: float
    slow: bool


def plan(table: pd.DataFrame, speed: float = 1.0) -> list[Chunk]:
    """Return when which flights are due. Chunks are in order, not empty, and cover the table.

    A month takes a second, but a day around the storm takes eight.

    Args:
        table: ``FlightEvents.table``, in the order of the schedule.
        speed: How many times as fast the replay is.
    """
    hours = _hours(table)
    days = table["time_hour"].dt.tz_convert(None).to_numpy().astype("datetime64[D]")
    slow = (days >= np.datetime64(STORM_FIRST_DAY)) & (days <= np.datetime64(STORM_LAST_DAY))
    # A new chunk wherever the bucket of the schedule, or the pace, changes.
    bucket = np.where(slow, np.floor(hours / SLOW_CHUNK_HOURS), np.floor(hours / FAST_CHUNK_HOURS) - 1e9)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(bucket)) + 1])
    stops = np.append(starts[1:], len(table))
    pace = np.where(slow[starts], SLOW_HOURS_PER_S, FAST_HOURS_PER_S) * speed
    # Time passes at the pace of the chunk that ends: hours since the previous chunk, divided by its pace.
    steps = np.diff(hours[starts], prepend=hours[0]) / np.concatenate([pace[:1], pace[:-1]])
    due = np.cumsum(steps)
    return [
        Chunk(int(start), int(stop), float(due_s), bool(slow[start]))
        for start, stop, due_s in zip(starts, stops, due, strict=True)
    ]


def _hours(table: pd.DataFrame) -> np.ndarray:
    """Return hours since the hour of the first flight, with the flights of each hour spread evenly over
    it.

    The timetable puts many departures on the full quarter. The rates by which a stream scales should not
    see that.
    """
    hour = table["time_hour"]
    began = (hour - hour.iloc[0]).dt.total_seconds().to_numpy() / 3600
    of_hour = table.groupby("time_hour", sort=False)["row"]
    return np.asarray(began + of_hour.cumcount().to_numpy() / of_hour.transform("size").to_numpy())


def replay(
    stream: Stream,
    flights: FlightEvents,
    chunks: list[Chunk],
    *,
    speed: float = 1.0,
) -> Iterator[Chunk]:
    """Write each chunk when it is due, and yield it when it is durable.

    The stream scales by itself while the replay is slow. Before and after that the number of segments is
    fixed, since a month per second would ask for thousands of segments. ``speed`` is that of the plan: the
    rate that one segment should carry grows with it.
    """
    storm = ScalingPolicy.by_event_rate(round(TARGET_EVENTS_PER_S * speed), factor=2, min_segments=1)
    began = time.monotonic()
    slow = False
    with stream.writer() as writer:
        for chunk in chunks:
            if chunk.slow != slow:
                slow = chunk.slow
                stream.update(scaling=storm if slow else ScalingPolicy.fixed(1))
            wait = began + chunk.due_s - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            elif slow:  # late: keep the pace, since a burst to catch up would look like load
                began -= wait
            part = flights.slice(chunk.start, chunk.stop)
            writer.write(part.events, part.keys)
            writer.flush()
            yield chunk
