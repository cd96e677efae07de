"""Typed rows of the source: events parsed into the columns of the user's schema, with option ``format``.

A column whose name begins with ``_`` is metadata of the event, and every other column is a field of the row.
Spark passes on only the columns of the user's schema, so fields that it leaves out are not parsed.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Iterator
from typing import Any

from pravega_lab.connector.rows.formats import FORMAT_METADATA, row_format
from pravega_lab.connector.rows.parsing import Unreadable, parse_events, placed
from pravega_lab.connector.rows.registry.registry_rows import REGISTRY, registry_columns
from pravega_lab.connector.spark.options import DROP, FAIL, KEEP, PravegaOptions
from pravega_lab.connector.spark.source.pointers import event_pointers
from pravega_lab.connector.spark.source.rows import arrow_schema
from pravega_lab.errors import BadInputError, CorruptRowError

CORRUPT = "_corrupt"
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
SHOWN_BYTES = 60
_log = logging.getLogger(__name__)


def default_schema(options: PravegaOptions) -> Any:
    """Return the columns that the options give a format without a schema of the user's.

    Raises:
        BadInputError: Only the user can know the columns.
    """
    if options.format == "raw":
        return "event binary"
    if options.format == REGISTRY:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(registry_columns(options.format_options))
    if options.format == "avro" and options.avro_schema:
        from pyspark.sql.pandas.types import from_arrow_schema

        from pravega_lab.connector.rows.avro.arrow_types import arrow_schema_of

        return from_arrow_schema(arrow_schema_of(options.avro_reader_schema or options.avro_schema))
    if options.format == "protobuf":
        from pyspark.sql.pandas.types import from_arrow_schema

        from pravega_lab.connector.rows.protobuf import arrow_types
        from pravega_lab.connector.rows.protobuf.protobuf_rows import class_of

        message = class_of(options.protobuf_descriptor, options.protobuf_message)
        return from_arrow_schema(arrow_types.arrow_schema_of(message.DESCRIPTOR))
    known = ", or .option('avro_schema', …)" if options.format == "avro" else ""
    raise BadInputError(
        f"format '{options.format}' needs the columns of its rows. Add "
        f".schema('id bigint, name string'), with names and types of your rows{known}"
    )


def check_typed_schema(options: PravegaOptions, schema: Any) -> None:
    """Refuse a schema that the format or the metadata of events cannot fill.

    Raises:
        BadInputError: A type is none of the format's, a metadata column is unknown or has another type, or
            column ``_corrupt`` and option ``corrupt_rows`` contradict each other.
    """
    for field in schema.fields:
        if field.name.startswith("_"):
            _check_metadata(field.name, field.dataType.simpleString(), str(options.format))
    names = schema.fieldNames()
    # A query of the catalog asks for the columns that it needs.
    if options.corrupt_rows == KEEP and CORRUPT not in names and not options.in_catalog:
        raise BadInputError(
            f"option 'corrupt_rows' is 'keep', and the schema has no column '{CORRUPT} binary' for the bytes "
            "of events that do not parse. Add it"
        )
    if options.corrupt_rows != KEEP and CORRUPT in names:
        raise BadInputError(
            f"the schema has column '{CORRUPT}', and option 'corrupt_rows' is '{options.corrupt_rows}'. "
            "Add .option('corrupt_rows', 'keep') to fill it"
        )
    fields = _fields(arrow_schema(schema), str(options.format))
    if fields or options.format == "raw":
        row_format(str(options.format), fields, options.format_options).check_reading()


def _check_metadata(name: str, found: str, format_name: str) -> None:
    known = {column: kind for column, (kind, _) in METADATA.items()}
    known |= FORMAT_METADATA.get(format_name, {})
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(known)}"
        owners = [other for other, columns in FORMAT_METADATA.items() if name in columns]
        hint = f"It belongs to format {' and '.join(owners)}" if owners else hint
        raise BadInputError(f"columns that begin with _ are metadata, and there is no '{name}'. {hint}")
    if found != known[name]:
        raise BadInputError(f"column '{name}' is {known[name]}, not {found}. Cast it in the query")


def _fields(schema: Any, format_name: str) -> Any:
    """Return the columns that the format fills: fields of the row, and metadata of the format."""
    import pyarrow as pa

    of_format = FORMAT_METADATA.get(format_name, {})
    return pa.schema([f for f in schema if f.name in of_format or not f.name.startswith("_")])


class TypedRows:
    """Turns the client's batches (event, segment_id, offset) of one stream into typed rows.

    Args:
        options: The format, and what becomes of events that do not parse.
        schema: The Arrow schema of the rows.
        scoped_stream: ``scope/stream``.
    """

    def __init__(self, options: PravegaOptions, schema: Any, scoped_stream: str) -> None:
        fields = _fields(schema, str(options.format))
        self._schema = schema
        self._stream = scoped_stream
        self._format_name = str(options.format)
        self._corrupt_rows = options.corrupt_rows
        # The number of rows is that of the events, but for changes.
        wanted = len(fields) or options.format in FORMAT_METADATA
        self._format = row_format(self._format_name, fields, options.format_options) if wanted else None
        self.dropped = 0

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
            parsed, unreadable = parse_events(self._format.parse, batch.column("event"))
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


def typed_rows(
    options: PravegaOptions, schema: Any, scoped_stream: str, batches: Iterable[Any]
) -> Iterator[Any]:
    """Yield the typed rows of all ``batches`` of one stream, and say at the end how many were dropped.

    Raises:
        CorruptRowError: An event does not parse, and such events are not to be dropped or kept.
    """
    builder = TypedRows(options, schema, scoped_stream)
    for batch in batches:
        rows = builder.rows(batch)
        if rows is not None:
            yield rows
    if builder.dropped:
        _log.warning("dropped %d events of %s that are no rows", builder.dropped, scoped_stream)
