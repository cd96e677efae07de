"""The formats of rows, by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from pravega_lab.connector.rows.csv_rows import CsvRows
from pravega_lab.connector.rows.json_rows import JsonRows
from pravega_lab.connector.rows.parsing import RowFormat
from pravega_lab.connector.rows.raw_rows import RawRows
from pravega_lab.errors import BadInputError

FORMATS: dict[str, Callable[[Any], RowFormat]] = {"json": JsonRows, "csv": CsvRows, "raw": RawRows}


def check_format(name: str) -> str:
    """Return the name of a format in lower case.

    Raises:
        BadInputError: There is no such format. The message suggests the nearest name.
    """
    lower = name.lower()
    if lower not in FORMATS:
        near = get_close_matches(lower, FORMATS, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(FORMATS)}"
        raise BadInputError(f"there is no format '{name}' of rows. {hint}")
    return lower


def row_format(name: str, schema: Any) -> RowFormat:
    """Return the format ``name`` of rows with the columns of an Arrow ``schema``.

    Raises:
        BadInputError: There is no such format, or it cannot contain a type of the schema.
    """
    return FORMATS[check_format(name)](schema)
