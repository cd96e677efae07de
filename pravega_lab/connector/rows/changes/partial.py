"""The envelopes of Canal and Maxwell, which have only the changed columns of the row before an update.

Canal: ``{"data": [row, …], "old": [{…}, …], "type": "UPDATE", …}``, whose values are texts. Maxwell:
``{"data": row, "old": {…}, "type": "update", …}``. A column that ``old`` does not name was not changed, and
one that it names may have been null. Statements that change tables, and the marks of a bootstrap, are no
rows.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from pravega_lab.connector.rows.changes import kinds
from pravega_lab.connector.rows.changes.envelopes import encode_partial
from pravega_lab.connector.rows.changes.kinds import KIND_COLUMN, Changes, moments, rows_of
from pravega_lab.connector.rows.json_rows import JsonRows
from pravega_lab.connector.rows.parsing import UnreadableRowError, beyond_range
from pravega_lab.errors import BadInputError

#: The metadata columns, those of Flink's formats, and their types in Spark.
CANAL_METADATA = {
    KIND_COLUMN: "string",
    "_database": "string",
    "_table": "string",
    "_pk_names": "array<string>",
    "_ingestion_timestamp": "timestamp",
}
MAXWELL_METADATA = {
    KIND_COLUMN: "string",
    "_database": "string",
    "_table": "string",
    "_primary_key_columns": "array<string>",
    "_ingestion_timestamp": "timestamp",
}
_MEMBERS = {
    "_database": "database",
    "_table": "table",
    "_pk_names": "pkNames",
    "_primary_key_columns": "primary_key_columns",
    "_ingestion_timestamp": "ts",
}


class _PartialRows:
    """What Canal and Maxwell have in common."""

    METADATA: ClassVar[dict[str, str]]
    OPERATIONS: ClassVar[dict[str, int]]
    IGNORED: ClassVar[tuple[str, ...]]
    IS_LIST: ClassVar[bool]
    UNIT: ClassVar[str]

    def __init__(self, schema: Any) -> None:
        import pyarrow as pa

        self._schema = pa.schema(list(schema))
        self._fields = [field for field in self._schema if field.name not in self.METADATA]
        JsonRows(self._fields)  # so that an error names a column without the envelope
        self._typed = JsonRows(self._envelope(self._fields))

    def _envelope(self, fields: Any) -> Any:
        import pyarrow as pa

        row = pa.struct(fields)
        data = pa.list_(row) if self.IS_LIST else row
        kinds_of = {"ts": pa.int64(), "pkNames": pa.list_(pa.string())}
        kinds_of["primary_key_columns"] = pa.list_(pa.string())
        wanted = [_MEMBERS[name] for name in self._schema.names if name in _MEMBERS and name in self.METADATA]
        members = [(name, kinds_of.get(name, pa.string())) for name in wanted]
        return pa.schema([("data", data), ("old", data), ("type", pa.string()), *members])

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

        is_event = pc.greater(pc.binary_length(events), 0).to_numpy(zero_copy_only=False)
        index = np.flatnonzero(is_event)
        envelope = self._parsed(events.take(pa.array(index)))
        names = pa.array([*self.OPERATIONS, *self.IGNORED], pa.string())
        found = pc.index_in(envelope.column("type"), names)
        if found.null_count:
            unknown = envelope.column("type").filter(found.is_null())[0].as_py()
            raise UnreadableRowError(
                f"its member 'type' is {unknown!r}, not one of {', '.join(self.OPERATIONS)}"
            )
        is_change = found.to_numpy() < len(self.OPERATIONS)
        kept = pa.array(np.flatnonzero(is_change))
        envelope, index = envelope.take(kept), index[is_change]
        operations = np.array(list(self.OPERATIONS.values()), np.int64)[found.to_numpy()[is_change]]
        if envelope.column("data").null_count:
            raise UnreadableRowError("its member 'data' is null or absent")
        data, old, of = self._rows(envelope, operations)
        changes = Changes(
            index[of],
            operations[of],
            self._before(events, index[of], operations[of], data, old, of),
            kinds.children(data, len(self._fields)),
            self._metadata(envelope, of),
        )
        return rows_of(changes, self._schema)

    def _parsed(self, events: Any) -> Any:
        import pyarrow as pa

        if not len(events):
            return pa.RecordBatch.from_pylist([], self._typed.schema)
        return self._typed.parse(events)

    def _rows(self, envelope: Any, operations: Any) -> tuple[Any, Any, Any]:
        """Return the rows after the changes, the parts of those before, and the change of each row."""
        import numpy as np

        data, old = envelope.column("data"), envelope.column("old")
        is_update = operations == kinds.UPDATE
        if (old.is_null().to_numpy(zero_copy_only=False) & is_update).any():
            raise UnreadableRowError("its member 'old' is null or absent")
        return data, old, np.arange(len(data))

    def _before(self, events: Any, index: Any, operations: Any, data: Any, old: Any, of: Any) -> list[Any]:
        """Return the columns before the changes: those that ``old`` names, and of the others the same."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._fields:
            return []
        is_update = operations == kinds.UPDATE
        named = [column.is_valid().to_numpy(zero_copy_only=False).copy() for column in old.flatten()]
        # Arrow does not distinguish null from absent. Only events with a null are asked one by one.
        has_null = pc.match_substring(events, b"null").to_numpy(zero_copy_only=False)
        begins = np.flatnonzero(np.concatenate([[True], of[1:] != of[:-1]])) if len(of) else of
        first = np.zeros(len(of), np.int64)
        first[begins] = begins
        first = np.maximum.accumulate(first) if len(of) else first
        for row in np.flatnonzero(is_update & has_null[index]):
            parts = json.loads(events[int(index[row])].as_py())["old"]
            part = parts[int(row - first[row])] if self.IS_LIST else parts
            for column, field in zip(named, self._fields, strict=True):
                column[row] = field.name in part
        return [
            pc.if_else(pa.array(is_named & is_update), was, now)
            for is_named, was, now in zip(named, old.flatten(), data.flatten(), strict=True)
        ]

    def _metadata(self, envelope: Any, of: Any) -> dict[str, Any]:
        import pyarrow as pa

        found = {}
        for name in self._schema.names:
            if name in self.METADATA and name in _MEMBERS:
                column = envelope.column(_MEMBERS[name]).take(pa.array(of))
                found[name] = moments(column, self.UNIT) if name == "_ingestion_timestamp" else column
        return found

    def encode(self, rows: Any) -> Any:
        """Return the envelopes of rows, by column ``_row_kind``; without it every row is an insert."""
        return encode_partial(rows, is_list=self.IS_LIST)


class MaxwellRows(_PartialRows):
    """Parses and encodes change rows of one Arrow schema, whose columns may be some of `MAXWELL_METADATA`.

    Raises:
        BadInputError: The schema has a type that JSON cannot contain.
    """

    METADATA = MAXWELL_METADATA
    OPERATIONS: ClassVar[dict[str, int]] = {
        "insert": kinds.INSERT,
        "bootstrap-insert": kinds.INSERT,
        "update": kinds.UPDATE,
        "delete": kinds.DELETE,
    }
    IGNORED = (
        *("bootstrap-start", "bootstrap-complete"),
        *(f"{what}-{kind}" for kind in ("table", "database") for what in ("create", "alter", "drop")),
        *("table-create", "table-alter", "table-drop", "database-create", "database-alter", "database-drop"),
    )
    IS_LIST = False
    UNIT = "s"


class CanalRows(_PartialRows):
    """Parses and encodes change rows of one Arrow schema, whose columns may be some of `CANAL_METADATA`.

    Values are texts, which are converted to the types of the columns, or have their types in JSON.

    Raises:
        BadInputError: The schema has a nested type, or one that JSON cannot contain.
    """

    METADATA = CANAL_METADATA
    OPERATIONS: ClassVar[dict[str, int]] = {
        "INSERT": kinds.INSERT,
        "UPDATE": kinds.UPDATE,
        "DELETE": kinds.DELETE,
    }
    IGNORED = ("CREATE", "ALTER", "ERASE", "QUERY", "TRUNCATE", "RENAME", "CINDEX", "DINDEX")
    IS_LIST = True
    UNIT = "ms"

    def __init__(self, schema: Any) -> None:
        import pyarrow as pa
        import pyarrow.types as types

        super().__init__(schema)
        for field in self._fields:
            if types.is_nested(field.type):
                raise BadInputError(
                    f"column '{field.name}' is {field.type}, which format 'canal-json' cannot contain. "
                    "Declare it as string"
                )
        self._texts = JsonRows(self._envelope([pa.field(field.name, pa.string()) for field in self._fields]))

    def _parsed(self, events: Any) -> Any:
        import pyarrow as pa

        if not len(events):
            return pa.RecordBatch.from_pylist([], self._typed.schema)
        try:
            batch = self._texts.parse(events)
        except UnreadableRowError:
            return self._typed.parse(events)
        for name in ("data", "old"):
            place = batch.schema.get_field_index(name)
            batch = batch.set_column(place, name, self._converted(batch.column(name)))
        return batch

    def _converted(self, lists: Any) -> Any:
        """Return the rows of a list column with their texts converted."""
        import pyarrow as pa

        texts = lists.values.flatten() if self._fields else []
        columns = [_from_text(text, field) for text, field in zip(texts, self._fields, strict=True)]
        valid = lists.values.is_null()
        rows = (
            pa.StructArray.from_arrays(columns, fields=self._fields, mask=valid)
            if self._fields
            else lists.values
        )
        kind = pa.list_(pa.struct(self._fields))
        buffers = lists.buffers()[:2]
        return pa.Array.from_buffers(kind, len(lists), buffers, offset=lists.offset, children=[rows])

    def _rows(self, envelope: Any, operations: Any) -> tuple[Any, Any, Any]:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        data, old = envelope.column("data"), envelope.column("old")
        is_update = operations == kinds.UPDATE
        counts = pc.list_value_length(data).to_numpy()
        olds = pc.fill_null(pc.list_value_length(old), 0).to_numpy()
        if ((counts != olds) & is_update).any():
            raise UnreadableRowError("its members 'data' and 'old' do not have the same number of rows")
        of = np.repeat(np.arange(len(counts)), counts)
        first = np.cumsum(olds) - olds
        place = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = pa.array(first[of] + place, mask=~is_update[of])
        rows, olds = data.flatten(), old.flatten().take(places)
        if rows.null_count or (olds.is_null().to_numpy(zero_copy_only=False) & is_update[of]).any():
            raise UnreadableRowError("its member 'data' or 'old' has a null in place of a row")
        return rows, olds, of


def _from_text(texts: Any, field: Any) -> Any:
    """Return texts as values of a column, as JSON has them.

    Raises:
        UnreadableRowError: A text is no value of the type.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    try:
        if not (types.is_timestamp(field.type) and field.type.tz):
            values = texts.cast(field.type)
            if types.is_floating(field.type) and (found := beyond_range(texts, values)) is not None:
                raise UnreadableRowError(f"column '{field.name}' is {field.type}: {found} is too large")
            return values
        try:
            return pc.assume_timezone(texts.cast(pa.timestamp(field.type.unit)), "UTC")
        except pa.ArrowInvalid:  # they have a zone
            return texts.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnreadableRowError(f"column '{field.name}': {error}") from None
