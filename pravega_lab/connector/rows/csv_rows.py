"""Rows as lines of comma-separated values, one per event and without a header.

Values are in the order of the schema. An empty value is null, and ``""`` is an empty text.
"""

from __future__ import annotations

import re
from typing import Any

from pravega_lab.connector.rows.parsing import UnreadableRowError, as_text, beyond_range, joined
from pravega_lab.connector.rows.years import check_years
from pravega_lab.errors import BadInputError


class CsvRows:
    """Parses and encodes rows of one Arrow schema as comma-separated values.

    Raises:
        BadInputError: The schema has a type that a value of CSV cannot contain.
    """

    def __init__(self, schema: Any) -> None:
        import pyarrow.types as types

        for field in schema:
            if types.is_nested(field.type) or types.is_binary(field.type) or types.is_duration(field.type):
                raise BadInputError(
                    f"column '{field.name}' is {field.type}, which format 'csv' cannot contain. "
                    "Declare it as string, or use format 'json'"
                )
        self._schema = schema

    def check_reading(self) -> None:
        """Do nothing: what can be written can be read."""

    def check_writing(self) -> None:
        """Do nothing: what can be read can be written."""

    def parse(self, events: Any) -> Any:
        """Return one row per event.

        Raises:
            UnreadableRowError: An event is not one line with a value of the right type for each column.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = as_text(events)
        if pc.min(pc.binary_length(events)).as_py() == 0:
            raise UnreadableRowError("it is empty")
        if pc.any(pc.equal(pc.bit_wise_and(pc.count_substring(texts, '"'), 1), 1)).as_py():
            raise UnreadableRowError("a quotation mark is not closed")
        # A line break inside quotation marks belongs to a value. Such an event is parsed by itself.
        if len(events) > 1 and pc.any(pc.match_substring(texts, "\n")).as_py():
            raise UnreadableRowError("it has a line break")
        # Without a line break at the end, the parser takes an empty value after a quoted one as quoted too.
        text = joined(events).to_pybytes() + b"\n"
        try:
            table = _table(text, self._schema)
        except pa.ArrowInvalid as error:
            raise UnreadableRowError(self._reason(str(error))) from None
        if table.num_rows != len(events):
            raise UnreadableRowError("it has more than one line")
        self._refuse_overflow(table, text)
        return table.combine_chunks().to_batches()[0]

    def _refuse_overflow(self, table: Any, text: bytes) -> None:
        """Refuse numbers beyond the range of their column, of which the parser makes infinity.

        Raises:
            UnreadableRowError: There is such a number.
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as types

        endless = [
            field.name
            for field in self._schema
            if types.is_floating(field.type) and pc.any(pc.is_inf(table[field.name])).as_py()
        ]
        if not endless:
            return
        as_texts = [
            field.with_type(pa.string()) if field.name in endless else field for field in self._schema
        ]
        texts = _table(text, pa.schema(as_texts))
        for name in endless:
            if (found := beyond_range(texts[name], table[name])) is not None:
                kind = self._schema.field(name).type
                raise UnreadableRowError(f"column '{name}' is {kind}: {found} is too large")

    def _reason(self, text: str) -> str:
        """Return the words of the parser with the name and the type of the column in place of its number."""
        text = text.removeprefix("CSV parse error: ").replace("Row #1: ", "")
        if found := re.match(r"In CSV column #(\d+): (?:CSV conversion error to [^:]*: )?", text):
            field = self._schema.field(int(found[1]))
            return f"column '{field.name}' is {field.type}: {text[found.end() :].partition('. If ')[0]}"
        return text

    def encode(self, rows: Any) -> Any:
        """Return one line per row. Texts are quoted. A row of one column that is null stays null.

        Raises:
            BadInputError: A date or a time has a year that a text cannot contain.
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as types

        values = []
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            check_years(name, column)
            text = column if types.is_string(column.type) else column.cast(pa.string())
            if types.is_string(column.type):
                escaped = pc.replace_substring(text, '"', '""')
                text = pc.binary_join_element_wise('"', escaped, '"', "")
            values.append(pc.fill_null(text, ""))
        if len(values) == 1:  # An empty event would be no line.
            return pc.if_else(rows.column(0).is_valid(), values[0], None).cast(pa.binary())
        return pc.binary_join_element_wise(*values, ",").cast(pa.binary())


def _table(text: bytes, schema: Any) -> Any:
    """Return lines as a table with the types of a schema. Raises `ArrowInvalid`."""
    import pyarrow as pa
    import pyarrow.csv as csv

    return csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=schema.names),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
