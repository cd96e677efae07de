"""`check`: whether every event was carried once and the result is right, by the table that the events
came from.

The witnesses are independent of Spark: the client reads both streams, and pandas computes the expected
hours from the original table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pandas as pd

from pravega_lab.client import Stream
from pravega_lab.datasets import FlightEvents

HOUR_COLUMNS = ["hour", "origin", "departures", "delay_sum", "delay_mean", "cancelled"]


@dataclass(frozen=True)
class Verdict:
    """``events`` is how many flights were written. The other fields count what went wrong (0 is exact).

    ``lost``, ``doubled``: flights of the input stream, plus hours of the result, that are missing or there
    twice. ``wrong``: hours whose numbers differ. ``late``: rows that Spark dropped as late, over all runs.
    ``out_of_order``: flights of one key in another order than they were written.
    """

    events: int
    hours: int
    lost: int
    doubled: int
    wrong: int
    out_of_order: int
    late: int
    first_difference: str | None = None

    @property
    def exact(self) -> bool:
        """Return whether nothing is lost, doubled, wrong, late or out of order."""
        return not (self.lost or self.doubled or self.wrong or self.out_of_order or self.late)


def expected_hours(table: pd.DataFrame) -> pd.DataFrame:
    """Return the result by pandas: a row per hour and origin, columns ``HOUR_COLUMNS``, sorted."""
    hours = table.groupby(["time_hour", "origin"], as_index=False).agg(
        departures=("row", "size"),
        delay_sum=("delay_min", lambda delay: delay.sum(min_count=1)),
        delay_mean=("delay_min", "mean"),
        cancelled=("cancelled", "sum"),
    )
    hours["hour"] = hours["time_hour"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    return hours[HOUR_COLUMNS].sort_values(["hour", "origin"], ignore_index=True)


def read_json(stream: Stream) -> pd.DataFrame:
    """Return all events of a stream of JSON objects as a frame, in the order of reading."""
    rows: list[object] = []
    with stream.read() as batches:
        for batch in batches:
            rows.extend(json.loads(event) for event in batch.column("event").to_pylist())
    return pd.DataFrame(rows)


def check(flights: FlightEvents, read: pd.DataFrame, hours: pd.DataFrame, *, late: int) -> Verdict:
    """Compare what was read back with what was written.

    Args:
        flights: What was replayed.
        read: The input stream read back (``read_json``), the closing event included or not.
        hours: The output stream read back (``read_json``).
        late: Rows that Spark reported as dropped by the watermark.
    """
    read = read[read["row"] >= 0] if len(read) else pd.DataFrame({"row": [], "tail": [], "carrier": []})
    rows = read["row"].astype("int64")
    lost_rows = sorted(set(flights.table["row"]) - set(rows))
    doubled_rows = rows[rows.duplicated()].unique().tolist()
    expected = expected_hours(flights.table)
    found = hours if len(hours) else pd.DataFrame(columns=HOUR_COLUMNS)
    doubled_hours = found[found.duplicated(["hour", "origin"])]
    once = found.drop_duplicates(["hour", "origin"])
    both = expected.merge(once, on=["hour", "origin"], how="outer", suffixes=("", "_found"), indicator=True)
    missing = both[both["_merge"] == "left_only"]
    strange = both[both["_merge"] == "right_only"]
    wrong = _differing(both[both["_merge"] == "both"])
    first = _first_difference(lost_rows, doubled_rows, missing, doubled_hours, pd.concat([wrong, strange]))
    return Verdict(
        events=len(flights),
        hours=len(expected),
        lost=len(lost_rows) + len(missing),
        doubled=len(doubled_rows) + len(doubled_hours.drop_duplicates(["hour", "origin"])),
        wrong=len(wrong) + len(strange),
        out_of_order=_out_of_order(flights.table, read),
        late=late,
        first_difference=first,
    )


def _differing(both: pd.DataFrame) -> pd.DataFrame:
    differs = pd.Series(False, index=both.index)
    for column in HOUR_COLUMNS[2:]:
        left = both[column].astype("float64")
        right = both[f"{column}_found"].astype("float64")
        differs |= ~((left == right) | (left.isna() & right.isna()))
    return both[differs]


def _out_of_order(table: pd.DataFrame, read: pd.DataFrame) -> int:
    """Return how many flights were read after a later flight of the same routing key."""
    place = pd.Series(range(len(table)), index=table["row"].to_numpy())
    keys = read["tail"].where(read["tail"].notna(), read["carrier"])
    places = place.reindex(read["row"].astype("int64").to_numpy()).to_numpy()
    ordered = pd.DataFrame({"key": keys.to_numpy(), "place": places})
    seen_later = ordered.groupby("key")["place"].cummax() > ordered["place"]
    return int(seen_later.sum())


def _first_difference(
    lost_rows: list[int],
    doubled_rows: list[int],
    missing: pd.DataFrame,
    doubled_hours: pd.DataFrame,
    wrong: pd.DataFrame,
) -> str | None:
    if lost_rows:
        return f"flight of row {lost_rows[0]} is not in the input stream"
    if doubled_rows:
        return f"flight of row {doubled_rows[0]} is in the input stream twice"
    for what, frame in (("missing", missing), ("there twice", doubled_hours), ("wrong", wrong)):
        if len(frame):
            return f"hour {frame.iloc[0]['hour']} {frame.iloc[0]['origin']} is {what} in the result"
    return None
