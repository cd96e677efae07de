"""Rows in the columns of their table. Spark itself does that in batch jobs and never in streaming queries.

Columns are found by their names. The rows of formats without names are written in the order of the table.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import Any

from pravega_lab.connector.rows.typed_rows import SINK_COLUMNS
from pravega_lab.connector.tables.columns import arrow_schema, parse_columns, sql_type
from pravega_lab.errors import BadInputError


@lru_cache
def _of_table(columns: str) -> Any:
    return arrow_schema(parse_columns(columns))


def check_columns(rows: Any, columns: str) -> None:
    """Refuse rows of an Arrow schema that do not fit into the ``columns`` of a table.

    Raises:
        BadInputError: The table lacks a column of the rows, or has it as a type to which it is not converted.
    """
    table = _of_table(columns)
    for field in rows:
        if field.name in SINK_COLUMNS and field.name not in table.names:
            continue
        if field.name not in table.names:
            near = difflib.get_close_matches(field.name.lower(), table.names, n=1, cutoff=0.5)
            hint = f"Did you mean '{near[0]}'?" if near else f"It has: {', '.join(table.names)}"
            raise BadInputError(f"the table has no column '{field.name}'. {hint}")
        wanted = table.field(field.name).type
        if not _converts(field.type, wanted):
            raise BadInputError(
                f"column '{field.name}' of the rows is {sql_type(field.type)}, and the table has "
                f"{sql_type(wanted)} there. Cast it"
            )


def in_columns(rows: Any, columns: str) -> Any:
    """Return a batch of checked rows in the columns of a table. What the rows lack is null.

    Raises:
        BadInputError: A number is too large for its column.
    """
    import pyarrow as pa

    table = _of_table(columns)
    more = [field for field in rows.schema if field.name not in table.names]
    wanted = pa.schema([*table, *more])
    if rows.schema.equals(wanted):
        return rows
    found = []
    for field in wanted:
        if field.name not in rows.schema.names:
            found.append(pa.nulls(rows.num_rows, field.type))
            continue
        try:
            found.append(rows.column(field.name).cast(field.type))
        except pa.ArrowInvalid as error:
            kind = sql_type(field.type)
            raise BadInputError(f"column '{field.name}' of the table is {kind}: {error}") from None
    return pa.RecordBatch.from_arrays(found, schema=wanted)


def _converts(found: Any, wanted: Any) -> bool:
    """Return whether values of an Arrow type become those of another one, or are refused one by one."""
    import pyarrow.types as types

    if types.is_struct(found) and types.is_struct(wanted):
        parts = list(zip(found, wanted, strict=False))
        return found.num_fields == wanted.num_fields and all(
            one.name == other.name and _converts(one.type, other.type) for one, other in parts
        )
    if types.is_list(found) and types.is_list(wanted):
        return _converts(found.value_type, wanted.value_type)
    if types.is_map(found) and types.is_map(wanted):
        return _converts(found.key_type, wanted.key_type) and _converts(found.item_type, wanted.item_type)
    if types.is_integer(found):
        return bool(types.is_integer(wanted) or types.is_floating(wanted))
    return bool(found == wanted or (types.is_float32(found) and types.is_float64(wanted)))
