"""Tables as sources and sinks of the engine: rows, the kinds of their changes, and event times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pravega_lab.client.connection.access import AccessOptions
from pravega_lab.connector.flow.events import EventRows, RowEvents
from pravega_lab.connector.rows.changes.kinds import KIND_COLUMN, KINDS
from pravega_lab.connector.rows.formats import FORMAT_METADATA
from pravega_lab.connector.rows.key_expression import EXPRESSION_OPTION, keys_by
from pravega_lab.connector.rows.primary_key import keys_of, with_kinds_of_one_key
from pravega_lab.connector.tables.description import KEY_OPTION, Description
from pravega_lab.connector.tables.durations import milliseconds
from pravega_lab.engine.flow.batch import Batch, Row, RowKind
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.errors import BadInputError


def watermarks_of(description: Description) -> WatermarkStrategy | None:
    """Return how a table's rows give watermarks, None if the table has none."""
    if description.watermark is None:
        return None
    column, delay = description.watermark
    return WatermarkStrategy(partial(event_time_ms, column), milliseconds(delay) or 0)


def event_time_ms(column: str, row: Row) -> int:
    """Return a row's event time: a timestamp, or a number of milliseconds since 1970.

    Raises:
        BadInputError: The value is neither.
    """
    value = row[column]
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1000)
    if not isinstance(value, int):
        raise BadInputError(
            f"column '{column}' gives the watermark, and a row has {value!r} there. Use a timestamp, or a "
            "number of milliseconds since 1970, and filter rows without one"
        )
    return value


@dataclass(frozen=True)
class TableRows(EventRows):
    """Turns events into a table's rows, a batch at a time. Formats of changes give each row its kind."""

    description: Description = field(kw_only=True)
    access: AccessOptions | None = None

    def _rows(self, scoped_stream: str, events: pa.RecordBatch) -> Batch:
        builder = self.description.typed_rows(scoped_stream, self.access, with_kinds=True)
        batch = builder.rows(events)
        builder.report()
        if batch is None:
            batch = pa.RecordBatch.from_pylist([], self.description.arrow_schema(with_kinds=True))
        if KIND_COLUMN not in batch.schema.names:
            return Batch.of_arrow(batch)
        kinds = pc.index_in(batch.column(KIND_COLUMN), pa.array(KINDS)).to_numpy().astype(np.int8)
        return Batch.of_arrow(batch.drop_columns([KIND_COLUMN]), None, kinds)


@dataclass(frozen=True)
class TableEvents(RowEvents):
    """Turns rows into a table's events.

    The primary key gives the routing key, or option ``routing_key_column`` or ``routing_key`` does.
    """

    description: Description = field(kw_only=True)
    access: AccessOptions | None = None

    def of(self, batch: Batch) -> tuple[Sequence[bytes], Sequence[str] | None]:
        """Return the events of a batch and their keys (None for random routing), in order.

        Raises:
            BadInputError: A row lacks a column, has a value of another type, or takes something back in a
                format that cannot say so.
        """
        schema = self.description.arrow_schema(with_kinds=True)
        writer = self.description.row_format(self.access, with_kinds=True)
        kinds = np.zeros(batch.num_rows, np.int8) if batch.kinds is None else batch.kinds
        if KIND_COLUMN not in schema.names and (kinds != RowKind.INSERT).any():
            raise BadInputError(
                f"a row updates or deletes another, and format '{self.description.format}' has only inserts. "
                f"Use one of {', '.join(FORMAT_METADATA)}"
            )
        arrow = _with_kinds(batch, kinds, schema)
        keys = self._routing_keys(arrow)
        if keys is not None and KIND_COLUMN in schema.names:
            arrow = with_kinds_of_one_key(arrow, keys)
        events = writer.encode(arrow)
        wanted = events.is_valid()  # an update is one event, at its second row
        texts = None if keys is None else keys.filter(wanted).to_pylist()
        return events.filter(wanted).to_pylist(), texts

    def _routing_keys(self, rows: pa.RecordBatch) -> Any:
        if self.description.primary_key:
            return keys_of(rows, self.description.primary_key)
        if expression := self.description.option(EXPRESSION_OPTION):
            return keys_by(expression, rows)
        column = self.description.option(KEY_OPTION)
        return None if column is None else keys_of(rows, [column])


def _with_kinds(batch: Batch, kinds: npt.NDArray[np.int8], schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows with the columns of ``schema``. A column for the kind of a row is made of ``kinds``."""
    fields = pa.schema([field for field in schema if field.name != KIND_COLUMN])
    found = _columns(batch, fields)
    kind = pa.array(KINDS, pa.string()).take(pa.array(kinds))
    columns = [kind if name == KIND_COLUMN else found.column(name) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _columns(batch: Batch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows as Arrow: as they are if the columns have these types, otherwise value by value."""
    if batch.is_arrow:
        names = [name for name in batch.arrow.schema.names if name != KIND_COLUMN]
        if sorted(names) == sorted(schema.names):
            found = batch.arrow.select(schema.names)
            if found.schema.types == schema.types:
                return found
    rows = [{name: value for name, value in row.items() if name != KIND_COLUMN} for row in batch.rows]
    return _arrow(rows, schema)


def _arrow(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    for row in rows:
        if missing := [name for name in schema.names if name not in row]:
            raise BadInputError(
                f"a row has no column '{missing[0]}', which the table has. It has: {', '.join(row)}"
            )
        if other := [name for name in row if name not in schema.names]:
            raise BadInputError(
                f"a row has column '{other[0]}', which the table has not. The table has: "
                f"{', '.join(schema.names)}"
            )
    return pa.RecordBatch.from_arrays([_column(rows, field) for field in schema], schema=schema)


def _column(rows: list[Row], field: pa.Field) -> pa.Array:
    """Return the values of a column.

    Raises:
        BadInputError: A value is of another type. Arrow would make 1 of 1.5, and of 1e300 infinity.
    """
    values = [row[field.name] for row in rows]
    try:
        if pa.types.is_integer(field.type):
            cut = [value for value in values if isinstance(value, float | np.floating) and value % 1]
            if cut:
                raise pa.ArrowInvalid(f"{cut[0]!r} is no whole number")
        array = pa.array(values, field.type)
        if pa.types.is_float32(field.type):
            whole = pa.array(values, pa.float64())
            large = whole.filter(pc.and_(pc.is_inf(array), pc.invert(pc.is_inf(whole))))
            if len(large):
                raise pa.ArrowInvalid(f"{large[0].as_py()} is too large")
        return array
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise BadInputError(
            f"column '{field.name}' of the table is {field.type}, and a row has another value there: {error}"
        ) from error
