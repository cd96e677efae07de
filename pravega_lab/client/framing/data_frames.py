"""Take events and routing keys out of the columns of a data frame.

A data frame is anything with named columns: pandas, Polars, or Arrow's tables and record batches. None of
these packages is imported here.
"""

from __future__ import annotations

from typing import Any

from pravega_lab.errors import BadInputError

EVENT = "event"
ROUTING_KEY = "routing_key"


def is_data_frame(values: Any) -> bool:
    """Return whether ``values`` has named columns."""
    return hasattr(type(values), "column_names") or hasattr(type(values), "columns")


def columns_of(events: Any, keys: Any) -> tuple[Any, Any]:
    """Return the columns ``event`` and ``routing_key`` of a data frame, and anything else as it is.

    A data frame without the column ``routing_key`` takes ``keys`` as other events do.

    Raises:
        BadInputError: The data frame has other columns, is lazy, or its keys are passed twice.
    """
    if not is_data_frame(events):
        return events, keys
    kind = type(events)
    if hasattr(kind, "collect"):
        raise BadInputError(
            f"a {kind.__module__.split('.')[0]} {kind.__name__} holds no rows yet: collect it into a data "
            'frame of pandas or Polars first, or write it from Spark with format("pravega")'
        )
    names = [*(events.column_names if hasattr(kind, "column_names") else events.columns)]
    other = [name for name in names if name not in (EVENT, ROUTING_KEY)]
    if EVENT not in names or other or len(set(names)) < len(names):
        raise BadInputError(
            f"a data frame of events has the column '{EVENT}' and may have '{ROUTING_KEY}'; this one has "
            f"{names}. Encode all that belongs to an event in '{EVENT}', and select these columns"
        )
    if ROUTING_KEY not in names:
        return events[EVENT], keys
    if keys is not None:
        raise BadInputError(
            f"keys={keys!r:.80}: the data frame has a column '{ROUTING_KEY}'. Pass the keys once"
        )
    return events[EVENT], events[ROUTING_KEY]
