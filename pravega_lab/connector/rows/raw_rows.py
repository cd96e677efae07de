"""Rows of one column, which is the event itself, as bytes or as text."""

from __future__ import annotations

from typing import Any

from pravega_lab.connector.rows.parsing import as_text
from pravega_lab.errors import BadInputError


class RawRows:
    """Hands on events as the one column of an Arrow schema.

    Raises:
        BadInputError: The schema has not exactly one column of type binary or string.
    """

    def __init__(self, schema: Any) -> None:
        import pyarrow.types as types

        kinds = [field.type for field in schema]
        if len(kinds) != 1 or not (types.is_binary(kinds[0]) or types.is_string(kinds[0])):
            found = ", ".join(f"{field.name} {field.type}" for field in schema) or "none"
            raise BadInputError(
                f"format 'raw' has one column of type binary or string, not {found}. "
                "Name the format of the rows, such as 'json'"
            )
        self._schema = schema

    def check_reading(self) -> None:
        """Do nothing: what can be written can be read."""

    def check_writing(self) -> None:
        """Do nothing: what can be read can be written."""

    def parse(self, events: Any) -> Any:
        """Return the events as rows.

        Raises:
            UnreadableRowError: The column is text, and an event is not UTF-8.
        """
        import pyarrow as pa

        column = as_text(events) if pa.types.is_string(self._schema.field(0).type) else events
        return pa.RecordBatch.from_arrays([column.cast(self._schema.field(0).type)], schema=self._schema)

    def encode(self, rows: Any) -> Any:
        """Return the rows as events. A row without a value stays null."""
        import pyarrow as pa

        return rows.column(0).cast(pa.binary())
