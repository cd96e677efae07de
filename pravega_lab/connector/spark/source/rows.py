"""The rows of the source: their columns, the check of a user's schema, and Arrow batches of rows.

Spark checks only the first batch of a task against the schema and accepts later ones without a check
(spark.md 1.1). All batches are therefore built with one constant schema. The columns ``scope`` and ``stream``
have the same value in every row of a stream, so they are built once and sliced.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from pravega_lab.connector.rows.pointers import event_pointers
from pravega_lab.errors import BadInputError

#: The columns of the official Spark connector, in its order.
SCHEMA = "event binary, scope string, stream string, segment_id bigint, offset bigint"
METADATA_SCHEMAS = {
    "StreamInfo": "head_stream_cut string, tail_stream_cut string",
    "Streams": "scope_name string, stream_name string",
}
_TYPES = {
    "event": "binary",
    "scope": "string",
    "stream": "string",
    "segment_id": "bigint",
    "offset": "bigint",
    "event_pointer": "binary",
}


def check_schema(schema: Any, wanted: dict[str, str] | None = None) -> None:
    """Refuse a schema with columns that the source does not have.

    Raises:
        BadInputError: A column has an unknown name (the message suggests the nearest) or a wrong type.
    """
    types = _TYPES if wanted is None else wanted
    for field in schema.fields:
        if field.name not in types:
            near = difflib.get_close_matches(field.name, types, n=1, cutoff=0.5)
            hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(types)}"
            raise BadInputError(f"format('pravega') has no column '{field.name}'. {hint}")
        found = field.dataType.simpleString()
        if found != types[field.name]:
            raise BadInputError(
                f"column '{field.name}' of format('pravega') is {types[field.name]}, not {found}. "
                f"Read it as {types[field.name]} and cast it in the query"
            )


def metadata_types(table: str) -> dict[str, str]:
    """Return the column names and types of a metadata table."""
    return dict(column.split() for column in METADATA_SCHEMAS[table].split(", "))


def arrow_schema(schema: Any) -> Any:
    """Return the Arrow schema that Spark expects for its ``schema``.

    Raises:
        BadInputError: A column has a type that Arrow does not have.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except PySparkException:
        for field in schema.fields:
            try:
                to_arrow_schema(StructType([field]), timezone="UTC")
            except PySparkException:
                raise BadInputError(
                    f"column '{field.name}' is {field.dataType.simpleString()}, which no event can contain. "
                    "Cast it to string"
                ) from None
        raise


class RowBuilder:
    """Turns the client's batches (event, segment_id, offset) of one stream into rows of one schema."""

    def __init__(self, schema: Any, scoped_stream: str) -> None:
        self._schema = schema
        self._stream = scoped_stream
        scope, stream = scoped_stream.split("/")
        self._names = {"scope": scope, "stream": stream}
        self._constants: dict[str, Any] = {}

    def rows(self, batch: Any) -> Any:
        """Return one batch as a record batch of rows."""
        import pyarrow as pa

        columns = [self._column(name, batch) for name in self._schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, name: str, batch: Any) -> Any:
        if name == "event_pointer":
            return event_pointers(self._stream, batch)
        if name not in self._names:
            return batch.column(name)
        import pyarrow as pa

        kept = self._constants.get(name)
        if kept is None or len(kept) < batch.num_rows:
            kept = self._constants[name] = pa.repeat(
                pa.scalar(self._names[name], pa.string()), batch.num_rows
            )
        return kept.slice(0, batch.num_rows)


def rows_of(schema: Any, scoped_stream: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of all ``batches`` of one stream, batch after batch."""
    builder = RowBuilder(schema, scoped_stream)
    for batch in batches:
        yield builder.rows(batch)
