"""The envelope of Debezium: ``{"before": row, "after": row, "op": "u", "ts_ms": …, "source": {…}}``.

The same may be the member ``payload`` of an object that has its schema too. An empty event is a tombstone and
no row. As in Flink, ``c`` and ``r`` insert, and an update and a delete need the row before them.
"""

from __future__ import annotations

from typing import Any

from pravega_lab.connector.rows.changes import kinds
from pravega_lab.connector.rows.changes.envelopes import encode_debezium
from pravega_lab.connector.rows.changes.kinds import KIND_COLUMN, Changes, moments, rows_of
from pravega_lab.connector.rows.json_rows import JsonRows
from pravega_lab.connector.rows.parsing import UnreadableRowError

_OPERATIONS = {"c": kinds.INSERT, "r": kinds.INSERT, "u": kinds.UPDATE, "d": kinds.DELETE}
_SOURCE = {
    "_source_timestamp": "ts_ms",
    "_source_database": "db",
    "_source_schema": "schema",
    "_source_table": "table",
}
#: The metadata columns, those of Flink's format, and their types in Spark.
METADATA = {
    KIND_COLUMN: "string",
    "_ingestion_timestamp": "timestamp",
    "_source_timestamp": "timestamp",
    "_source_database": "string",
    "_source_schema": "string",
    "_source_table": "string",
}


class DebeziumRows:
    """Parses and encodes change rows of one Arrow schema, whose columns may be some of `METADATA`.

    Raises:
        BadInputError: The schema has a type that JSON cannot contain.
    """

    def __init__(self, schema: Any) -> None:
        import pyarrow as pa

        self._schema = pa.schema(list(schema))
        fields = [field for field in self._schema if field.name not in METADATA]
        self._count = len(fields)
        JsonRows(fields)  # so that an error names a column without the envelope
        row = pa.struct(fields)
        source = pa.struct([("ts_ms", pa.int64()), *((n, pa.string()) for n in ("db", "schema", "table"))])
        members = [("before", row), ("after", row), ("op", pa.string()), ("ts_ms", pa.int64())]
        if set(_SOURCE) & set(self._schema.names):
            members.append(("source", source))
        self._flat = JsonRows(pa.schema(members))
        self._wrapped = JsonRows(pa.schema([*members, ("payload", pa.struct(members))]))

    def check_reading(self) -> None:
        """Do nothing: what can be written can be read."""

    def check_writing(self) -> None:
        """Do nothing: what can be read can be written."""

    def parse(self, events: Any) -> Any:
        """Return the rows of the changes, with the index of each row's event in column `EVENT_INDEX`.

        Raises:
            UnreadableRowError: An event is no change with rows of the schema.
        """
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        is_change = pc.greater(pc.binary_length(events), 0).to_numpy(zero_copy_only=False)
        index = np.flatnonzero(is_change)
        envelope = self._envelopes(events.take(pa.array(index)))
        operations = pc.index_in(envelope["op"], pa.array(list(_OPERATIONS), pa.string()))
        if operations.null_count:
            unknown = envelope["op"].filter(operations.is_null())[0].as_py()
            raise UnreadableRowError(f"its member 'op' is {unknown!r}, not one of {', '.join(_OPERATIONS)}")
        made = np.array(list(_OPERATIONS.values()))[operations.to_numpy()]
        for name, without in (("before", kinds.INSERT), ("after", kinds.DELETE)):
            missing = envelope[name].is_null().to_numpy(zero_copy_only=False) & (made != without)
            if missing.any():
                raise UnreadableRowError(
                    f"its member '{name}' is null. Let the database record the row before an update or a "
                    "delete, such as by REPLICA IDENTITY FULL in PostgreSQL"
                )
        columns = {name: kinds.children(envelope[name], self._count) for name in ("before", "after")}
        changes = Changes(index, made, **columns, metadata=self._metadata(envelope))
        return rows_of(changes, self._schema)

    def _envelopes(self, events: Any) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not len(events):
            batch = pa.RecordBatch.from_pylist([], self._flat.schema)
        elif not pc.any(pc.match_substring(events, b'"payload"')).as_py():
            batch = self._flat.parse(events)
        else:
            batch = self._wrapped.parse(events)
            payload = batch.column("payload")
            inner = dict(zip([field.name for field in payload.type], payload.flatten(), strict=True))
            is_wrapped = payload.is_valid()
            return {name: pc.if_else(is_wrapped, inner[name], batch.column(name)) for name in inner}
        return dict(zip(batch.schema.names, batch.columns, strict=True))

    def _metadata(self, envelope: dict[str, Any]) -> dict[str, Any]:
        import pyarrow.compute as pc

        found = {"_ingestion_timestamp": moments(envelope["ts_ms"], "ms")}
        if "source" in envelope:
            for name, member in _SOURCE.items():
                value = pc.struct_field(envelope["source"], member)
                found[name] = moments(value, "ms") if member == "ts_ms" else value
        return found

    def encode(self, rows: Any) -> Any:
        """Return the envelopes of rows, by column ``_row_kind``; without it every row is an insert."""
        return encode_debezium(rows)
