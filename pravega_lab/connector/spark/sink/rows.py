"""The rows that the sink takes: columns ``event`` and ``routing_key``, or the typed rows of a format.

Typed rows may have a column ``_routing_key``, which is the key of the event and not a part of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from pravega_lab.connector.rows.changes.kinds import KIND_COLUMN
from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.rows.key_expression import EXPRESSION_OPTION, check_expression, keys_by
from pravega_lab.connector.rows.primary_key import (
    KEY_COLUMN,
    hint_for_expression,
    keys_of,
    with_kinds_of_one_key,
)
from pravega_lab.connector.rows.typed_rows import check_sink_column, is_reserved
from pravega_lab.connector.spark.sink.primary_key import check_primary_key
from pravega_lab.connector.spark.source.rows import arrow_schema
from pravega_lab.connector.spark.tables import OF_THE_SOURCE
from pravega_lab.errors import BadInputError


def check_rows(
    schema: Any,
    format_name: str | None = None,
    key_column: str | None = None,
    format_options: Mapping[str, Any] | None = None,
    primary_key: Sequence[str] = (),
    stored: bool = False,
    field_columns: Sequence[str] = (),
    key_expression: str | None = None,
) -> None:
    """Refuse rows that cannot become events, of a Spark ``schema``.

    Args:
        key_column: The column of typed rows that is also the routing key.
        format_options: The options of the format.
        primary_key: The columns of typed rows that identify a row, and give the routing key.
        stored: Whether the rows go to a table of the session catalog, which may leave columns null.
        key_expression: An expression of the columns that gives the routing key.
        field_columns: Columns that are fields also if their names look like misspelt ones of metadata.

    Raises:
        BadInputError: Column ``event`` is missing, or a column has an unknown name or the wrong type; or the
            format cannot contain the rows.
    """
    if format_name:
        for name in schema.fieldNames():
            check_sink_column(name, field_columns)
        _check_typed(schema, format_name, format_options)
        check_primary_key(schema, format_name, primary_key)
        if key_column is not None:
            _check_key(schema, key_column)
        if key_expression is not None:
            _check_expression(schema, key_expression)
    else:
        _check_plain(schema, stored)


def without_source_columns(batch: Any) -> Any:
    """Return rows of a table of the session catalog without the columns that only the source fills.

    Raises:
        BadInputError: One of these columns has a value, which would be lost.
    """
    found = [name for name in batch.schema.names if name in OF_THE_SOURCE]
    for name in found:
        if batch.column(name).null_count < batch.num_rows:
            raise BadInputError(
                f"column '{name}' is filled by the source and cannot be written. Leave it out: "
                "INSERT INTO t (event) …"
            )
    return batch.drop_columns(found) if found else batch


def _check_plain(schema: Any, stored: bool) -> None:
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    if stored:
        types = {name: found for name, found in types.items() if name not in OF_THE_SOURCE}
    allowed = {"event": ("binary", "string"), "routing_key": ("string",)}
    if "event" not in types:
        raise BadInputError(
            f"the rows to write have no column 'event', but {', '.join(types) or 'none'}. "
            f"Select the value to write AS event, and its key AS routing_key. Or name the format in which "
            "these columns become an event, such as .option('format', 'json')"
        )
    for name, found in types.items():
        if name not in allowed:
            raise BadInputError(f"a sink takes columns event and routing_key, not '{name}'. Select those two")
        if found not in allowed[name]:
            raise BadInputError(
                f"column '{name}' is {found}; a sink takes {' or '.join(allowed[name])}. Cast it"
            )


def _check_typed(schema: Any, format_name: str, format_options: Mapping[str, Any] | None) -> None:
    for field in schema.fields:
        found = field.dataType.simpleString()
        if field.name == KEY_COLUMN and found != "string":
            raise BadInputError(f"column '{KEY_COLUMN}' is {found}, and a routing key is a string. Cast it")
        if is_reserved(field.name, format_name) and field.name not in (KEY_COLUMN, KIND_COLUMN):
            raise BadInputError(
                f"column '{field.name}' cannot be written: it has the name of a metadata column of the "
                f"source. Drop it, or rename it. The routing key is in column '{KEY_COLUMN}'"
            )
    columns = [field for field in arrow_schema(schema) if field.name != KEY_COLUMN]
    if not any(field.name != KIND_COLUMN for field in columns):
        raise BadInputError("the rows to write have no column beside the routing key. Select at least one")
    row_format(format_name, columns, format_options).check_writing()


def _check_key(schema: Any, name: str) -> None:
    """Refuse a key column that the rows do not have. Both errors begin as in Flink (flink.md 11.2)."""
    names = schema.fieldNames()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        way = hint_for_expression(name)
        hint = f"Did you mean '{near[0]}'?" if near and not way else f"The rows have: {', '.join(names)}"
        raise BadInputError(f"Key field '{name}' not found. {hint}{way and '.' + way}")
    found = schema[name].dataType.simpleString()
    if found != "string":
        raise BadInputError(f"Key field must be of string type, and '{name}' is {found}. Cast it")
    _refuse_two_keys(names, "routing_key_column", name)


def _check_expression(schema: Any, expression: str) -> None:
    import pyarrow as pa

    _refuse_two_keys(schema.fieldNames(), EXPRESSION_OPTION, expression)
    rows = pa.schema([field for field in arrow_schema(schema) if field.name != KIND_COLUMN])
    check_expression(expression, rows)


def _refuse_two_keys(names: Sequence[str], option: str, value: str) -> None:
    if KEY_COLUMN in names:
        raise BadInputError(
            f"the rows have column '{KEY_COLUMN}', and option '{option}' is '{value}'. Both give "
            "the routing key. Leave one of them out"
        )


def in_plain_types(batch: Any) -> Any:
    """Return rows whose texts and bytes have offsets of 32 bits, which the formats expect, and times in UTC.

    Spark writes 64 bits under ``spark.sql.execution.arrow.useLargeVarTypes``, and timestamps in the time zone
    of the session. As texts, in events and in keys, these would depend on the session, and the texts of Arrow
    leave out the seconds of an offset, which old times have.
    """
    import pyarrow as pa

    wanted = pa.schema([pa.field(field.name, _plain(field.type)) for field in batch.schema])
    return batch if wanted.types == batch.schema.types else batch.cast(wanted)


def _plain(kind: Any) -> Any:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_large_string(kind):
        return pa.string()
    if types.is_large_binary(kind):
        return pa.binary()
    if types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if types.is_map(kind):
        return pa.map_(_plain(kind.key_type), kind.item_field.with_type(_plain(kind.item_type)))
    if types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    return kind


def _check_texts(batch: Any, names: Sequence[str]) -> None:
    """Refuse texts that no reader of the events takes. Spark makes them by a cast of binary to string."""
    import pyarrow as pa

    for name in names:
        try:
            batch.column(name).validate(full=True)
        except pa.ArrowInvalid:
            raise BadInputError(
                f"column '{name}' has a text that is not UTF-8, as cast(… AS string) makes it of binary. "
                f"Filter such rows out by is_valid_utf8({name}), or repair them by make_valid_utf8({name})"
            ) from None


def arrays(
    batch: Any,
    format_name: str | None = None,
    key_column: str | None = None,
    format_options: Mapping[str, Any] | None = None,
    primary_key: Sequence[str] = (),
    key_expression: str | None = None,
) -> tuple[Any, Any | None]:
    """Return the events as an Arrow array of binary, and the keys as one of text, or ``None`` without keys.

    The values of ``key_column`` are keys and stay in the events, and so do those of ``primary_key`` and the
    columns of ``key_expression``. Column ``_routing_key`` is not in them.

    Raises:
        BadInputError: An event is null, or a value of the primary key. Or a text is not UTF-8, in a column
            other than ``event``, whose bytes are written as they are.
    """
    import pyarrow as pa

    batch = in_plain_types(batch)
    names = batch.schema.names
    _check_texts(batch, [name for name in names if format_name or name != "event"])
    key = KEY_COLUMN if format_name else "routing_key"
    keys = batch.column(key) if key in names else None
    if format_name and primary_key:
        keys = keys_of(batch, primary_key)
        rows = batch if KIND_COLUMN not in names else with_kinds_of_one_key(batch, keys)
        events = row_format(format_name, rows.schema, format_options).encode(rows)
        if KIND_COLUMN in names:  # an update is two rows and one event
            events, keys = events.drop_null(), keys.filter(events.is_valid())
    elif format_name and (key_column or key_expression):
        keys = keys_by(key_expression, batch) if key_expression else batch.column(key_column)
        events = row_format(format_name, batch.schema, format_options).encode(batch)
    elif format_name:
        rows = batch if keys is None else batch.drop_columns([key])
        events = row_format(format_name, rows.schema, format_options).encode(rows)
    else:
        events = batch.column("event")
    if events.null_count:
        raise BadInputError(_of_nulls(events, format_name))
    return events.cast(pa.binary()), keys


def _of_nulls(events: Any, format_name: str | None) -> str:
    found = f"{events.null_count} of {len(events)} rows"
    if format_name is None:
        return f"{found} have a null event. Filter them out"
    return (
        f"{found} are null in their only column, which format {format_name!r} cannot write. Filter them out"
    )
