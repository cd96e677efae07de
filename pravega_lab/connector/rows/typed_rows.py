"""Typed rows of a batch of events: the fields that a format parses, and metadata of the event.

A column with the name of a metadata column is metadata, and every other column is a field of the row. Spark's
source, tables in Arrow and tables of the engine share this, so that all of them read the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pravega_lab.connector.rows.changes.kinds import KIND_COLUMN
from pravega_lab.connector.rows.formats import FORMAT_METADATA, FORMAT_OPTIONS, row_format
from pravega_lab.connector.rows.misspelt import misspelt
from pravega_lab.connector.rows.parsing import Unreadable, UnreadableRowError, parse_events, placed
from pravega_lab.connector.rows.pointers import event_pointers
from pravega_lab.connector.rows.primary_key import KEY_COLUMN
from pravega_lab.connector.rows.required import has_required, missing
from pravega_lab.errors import BadInputError, CorruptRowError

#: What becomes of an event that is no row of the schema: the reader fails, the event is dropped and counted,
#: or its bytes are in column ``_corrupt`` and its fields are null.
FAIL, DROP, KEEP = "fail", "drop", "keep"
CORRUPT = "_corrupt"
#: The option with the columns that are fields although their names look like misspelt ones of metadata.
FIELDS_OPTION = "field_columns"
#: Metadata columns: type, and column of the client's batches, or None where it is the same for all of them.
METADATA = {
    "_scope": ("string", None),
    "_stream": ("string", None),
    "_segment_id": ("bigint", "segment_id"),
    "_offset": ("bigint", "offset"),
    "_event": ("binary", "event"),
    "_event_pointer": ("binary", None),
    CORRUPT: ("binary", None),
}
#: Columns that a sink takes and that are no fields, the kind in formats of changes only.
SINK_COLUMNS = {KIND_COLUMN, KEY_COLUMN}
SHOWN_BYTES = 60
OTHER_NAME = "rename the field, or take it from the bytes in column _event"
_log = logging.getLogger(__name__)


class ReservedFieldError(BadInputError):
    """Raised when a schema of events has a field with the name of a metadata column."""


def known_metadata(format_name: str) -> dict[str, str]:
    """Return the metadata columns of a format, with their types in Spark."""
    return {name: kind for name, (kind, _) in METADATA.items()} | FORMAT_METADATA.get(format_name, {})


def is_reserved(name: str, format_name: str) -> bool:
    """Return whether no field of a row may have a name, in capital or small letters."""
    return name.lower() in known_metadata(format_name).keys() | SINK_COLUMNS


def check_metadata(name: str, found: str, format_name: str, field_columns: Sequence[str] = ()) -> None:
    """Refuse a column with a reserved name that the format does not have, or has as another type.

    A column with any other name is a field of the row. If the name is a misspelt one of metadata, the column
    is refused too, because a field that the events do not have is null. A format with a schema of its own
    finds such columns itself.

    Args:
        name: The column.
        found: Its type in Spark.
        format_name: The format of the events.
        field_columns: Columns that are fields of the row also if their names look misspelt.

    Raises:
        BadInputError: The message names the column and says what to do.
    """
    known = known_metadata(format_name)
    for field in field_columns:
        if is_reserved(field, format_name):
            raise BadInputError(
                f"option '{FIELDS_OPTION}' names '{field}', which is metadata of the events. A field of the "
                f"events with this name is no column: {OTHER_NAME}"
            )
    if not is_reserved(name, format_name):
        has_schema = format_name in FORMAT_OPTIONS
        meant = None if has_schema or name in field_columns else misspelt(name, {*known, *SINK_COLUMNS})
        if meant is not None:
            raise BadInputError(
                f"column '{name}' is no metadata of the events. Did you mean '{meant}'? If the events have a "
                f"field '{name}', set option '{FIELDS_OPTION}' to '{name}'"
            )
        return
    if name in known:
        if found != known[name]:
            raise BadInputError(
                f"column '{name}' is {known[name]}, not {found}, because it is metadata of the events. Cast "
                f"it in the query. A field of the events with this name is no column: {OTHER_NAME}"
            )
    elif name.lower() in known:
        raise BadInputError(
            f"column '{name}' differs only in capital letters from the metadata column '{name.lower()}'. "
            f"Write '{name.lower()}'. A field of the events with this name is no column: {OTHER_NAME}"
        )
    elif name.lower() == KIND_COLUMN:
        owners = " and ".join(FORMAT_METADATA)
        raise BadInputError(
            f"column '{name}' is metadata of changes, and format '{format_name}' has no '{KIND_COLUMN}'. It "
            f"belongs to format {owners}. Choose one of them, or rename the column"
        )
    else:
        raise BadInputError(
            f"column '{name}' cannot be read: it is the routing key that a sink takes, and Pravega does not "
            "keep routing keys. Leave it out. A field of the events with this name is no column: "
            f"{OTHER_NAME}"
        )


def check_sink_column(name: str, field_columns: Sequence[str] = ()) -> None:
    """Refuse a column to write with a misspelt name of one that a sink takes. It would become a field.

    Raises:
        BadInputError: The message names the column that was meant.
    """
    meant = None if name in field_columns else misspelt(name, SINK_COLUMNS)
    if meant is not None:
        raise BadInputError(
            f"column '{name}' would be a field of the events. Did you mean '{meant}'? If it is a field, set "
            f"option '{FIELDS_OPTION}' to '{name}'"
        )


def check_fields(names: Iterable[str], format_name: str, where: str) -> None:
    """Refuse fields of a schema of events, such as one of a registry, that have the names of metadata.

    Args:
        names: The names of the fields.
        format_name: The format of the events.
        where: What has the fields, for the message.

    Raises:
        ReservedFieldError: The message names the field and says what to do.
    """
    for name in names:
        if is_reserved(name, format_name):
            raise ReservedFieldError(
                f"{where} has field '{name}', and a column with that name is metadata. Rename the field, or "
                "name the columns to read without it, by .schema(…) of a reader or of a Table"
            )


def check_corrupt(corrupt_rows: str, names: Sequence[str]) -> None:
    """Refuse columns that contradict the choice for events that do not parse.

    Raises:
        BadInputError: Column ``_corrupt`` is missing or would always be null.
    """
    if corrupt_rows == KEEP and CORRUPT not in names:
        raise BadInputError(
            f"option 'corrupt_rows' is 'keep', and the schema has no column '{CORRUPT} binary' for the bytes "
            "of events that do not parse. Add it"
        )
    if corrupt_rows != KEEP and CORRUPT in names:
        raise BadInputError(
            f"the schema has column '{CORRUPT}', and option 'corrupt_rows' is '{corrupt_rows}'. "
            "Add .option('corrupt_rows', 'keep') to fill it"
        )


def fields_of(schema: Any, format_name: str) -> Any:
    """Return the columns that the format fills: fields of the row, and metadata of the format."""
    import pyarrow as pa

    of_format = FORMAT_METADATA.get(format_name, {})
    return pa.schema([f for f in schema if f.name in of_format or f.name not in METADATA])


class TypedRows:
    """Turns the client's batches (event, segment_id, offset) of one stream into typed rows.

    Args:
        format_name: The format of the events.
        format_options: Its options, as `row_format` takes them.
        schema: The Arrow schema of the rows.
        scoped_stream: ``scope/stream``.
        corrupt_rows: What becomes of events that do not parse: `FAIL`, `DROP` or `KEEP`.

    Attributes:
        dropped: How many events have been dropped.
    """

    def __init__(
        self,
        format_name: str,
        format_options: Mapping[str, Any] | None,
        schema: Any,
        scoped_stream: str,
        corrupt_rows: str = FAIL,
    ) -> None:
        fields = fields_of(schema, format_name)
        self._schema = schema
        self._stream = scoped_stream
        self._format_name = format_name
        self._corrupt_rows = corrupt_rows
        # The number of rows is that of the events, but for changes.
        wanted = len(fields) or format_name in FORMAT_METADATA
        self._format = row_format(format_name, fields, format_options) if wanted else None
        self._required = [field for field in fields if has_required(field)]
        self.dropped = 0

    def all_rows(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the rows of all batches, and say in the log at the end how many events were dropped.

        Raises:
            CorruptRowError: As `rows`.
        """
        for batch in batches:
            rows = self.rows(batch)
            if rows is not None:
                yield rows
        self.report()

    def report(self) -> None:
        """Say in the log how many events have been dropped, if any."""
        if self.dropped:
            _log.warning("dropped %d events of %s that are no rows", self.dropped, self._stream)

    def rows(self, batch: Any) -> Any:
        """Return the rows of one batch as a record batch, or None if every event was dropped.

        Raises:
            CorruptRowError: An event does not parse, and such events are not to be dropped or kept.
        """
        import pyarrow as pa

        if not batch.num_rows:
            return None
        parsed, index, unreadable = None, None, list[Unreadable]()
        if self._format is not None:
            parsed, unreadable = parse_events(self._parse, batch.column("event"))
            self._count(batch, unreadable)
            keeps = self._corrupt_rows == KEEP
            parsed, index = placed(parsed, batch.num_rows, unreadable, with_unreadable=keeps)
        if index is not None:
            batch = batch.take(index)
        if not batch.num_rows:
            return None
        is_bad = self._is_bad(index, unreadable)
        columns = [self._column(field, batch, parsed, is_bad) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _parse(self, events: Any) -> Any:
        """Return the rows of events. Raises `UnreadableRowError` if one lacks a value that it must have."""
        rows = self._format.parse(events)  # type: ignore[union-attr]
        for field in self._required:
            if (name := missing(field, rows.column(field.name))) is not None:
                raise UnreadableRowError(f"'{name}' is NOT NULL, and the event has no value there")
        return rows

    def _count(self, batch: Any, unreadable: list[Unreadable]) -> None:
        """Refuse or count the unreadable events, under the user's choice."""
        if unreadable and self._corrupt_rows == FAIL:
            raise CorruptRowError(self._words(batch, unreadable[0]))
        if unreadable and self._corrupt_rows == DROP:
            if not self.dropped:
                _log.warning("dropped: %s", self._words(batch, unreadable[0]))
            self.dropped += len(unreadable)

    def _is_bad(self, index: Any, unreadable: list[Unreadable]) -> Any:
        """Return which rows are those of unreadable events, or None if none is."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not unreadable or self._corrupt_rows != KEEP:
            return None
        return pc.is_in(index, pa.array([event.index for event in unreadable], pa.int64()))

    def _column(self, field: Any, batch: Any, parsed: Any, is_bad: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if field.name == CORRUPT:
            if is_bad is None:
                return pa.nulls(batch.num_rows, pa.binary())
            return pc.if_else(is_bad, batch.column("event").cast(pa.binary()), None)
        if field.name == "_event_pointer":
            return event_pointers(self._stream, batch)
        if field.name in METADATA:
            source = METADATA[field.name][1]
            if source is not None:
                return batch.column(source)
            scope, stream = self._stream.split("/")
            value = pa.scalar(scope if field.name == "_scope" else stream, pa.string())
            return pa.repeat(value, batch.num_rows)
        if parsed is None:  # No event of this batch parsed.
            return pa.nulls(batch.num_rows, field.type)
        column = parsed.column(field.name)
        column = column if column.type == field.type else column.cast(field.type)
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

    def _words(self, batch: Any, event: Unreadable) -> str:
        data = batch.column("event")[event.index].as_py()
        segment_id = batch.column("segment_id")[event.index].as_py()
        offset = batch.column("offset")[event.index].as_py()
        shown = f"{data[:SHOWN_BYTES]!r}{'…' if len(data) > SHOWN_BYTES else ''}"
        return (
            f"the event at offset {offset} of segment {segment_id} of {self._stream} is no row of format "
            f"'{self._format_name}': {event.reason}. It begins with {shown}. Change the schema, or choose "
            f"option 'corrupt_rows': '{DROP}' leaves such events out and counts them, '{KEEP}' puts their "
            f"bytes into column {CORRUPT}"
        )
