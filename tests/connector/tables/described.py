"""Descriptions of tables for tests."""

from __future__ import annotations

from typing import Any

from pravega_lab.connector.rows.formats import check_format
from pravega_lab.connector.tables.columns import parse_columns
from pravega_lab.connector.tables.description import Description


def describe(columns: str, format_name: str, **more: Any) -> Description:
    """Return a checked description; ``more`` are other attributes of `Description`."""
    made = Description(parse_columns(columns), check_format(format_name), **more)
    made.check()
    return made
