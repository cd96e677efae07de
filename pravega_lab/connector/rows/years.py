"""The years that a text of ISO 8601 can have: 0 to 9999, in four digits.

Spark and Arrow have dates and times far outside of them. Arrow writes these as texts that no reader takes,
and beyond the year 32767 as another year or as words.
"""

from __future__ import annotations

from typing import Any

from pravega_lab.errors import BadInputError

#: Days since 1970 of the first and the last day.
FIRST_DAY, LAST_DAY = -719_528, 2_932_896
_DAY_S = 86_400
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def check_years(name: str, column: Any) -> None:
    """Refuse dates and times whose year has no text of four digits.

    Args:
        name: The column, for the message.
        column: An Arrow array of dates or timestamps. An array of another type passes.

    Raises:
        BadInputError: A value is outside of the years 0 to 9999.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    kind = column.type
    if types.is_date32(kind):
        first, last, number = FIRST_DAY, LAST_DAY, pa.int32()
    elif types.is_timestamp(kind):
        per_day = _DAY_S * _PER_SECOND[kind.unit]
        first, last, number = FIRST_DAY * per_day, (LAST_DAY + 1) * per_day - 1, pa.int64()
    else:
        return
    found = pc.min_max(column.cast(number)).as_py()
    if found["min"] is not None and (found["min"] < first or found["max"] > last):
        raise BadInputError(
            f"column '{name}' has a {'date' if types.is_date(kind) else 'time'} outside of the years 0 to "
            "9999, which no text of ISO 8601 contains. Filter such rows out, or use format 'avro'"
        )
