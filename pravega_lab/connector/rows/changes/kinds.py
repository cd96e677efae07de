"""The kinds of rows, and changes as rows: an update becomes two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.connector.rows.parsing import EVENT_INDEX

KIND_COLUMN = "_row_kind"
INSERTED, BEFORE, AFTER, DELETED = KINDS = ("+I", "-U", "+U", "-D")
INSERT, UPDATE, DELETE = 0, 1, 2


@dataclass(frozen=True)
class Changes:
    """Changes of a table, in order.

    Attributes:
        events: For each change, the index of its event, as a numpy array.
        operations: `INSERT`, `UPDATE` or `DELETE`, as a numpy array.
        before: The columns before the change, as Arrow arrays. Those of an insert are not used.
        after: The columns after the change. Those of a delete are not used.
        metadata: Further columns by name, with one value per change.
    """

    events: Any
    operations: Any
    before: Sequence[Any]
    after: Sequence[Any]
    metadata: Mapping[str, Any]


def rows_of(changes: Changes, schema: Any) -> Any:
    """Return a record batch with the columns of ``schema`` and `EVENT_INDEX`, and a row or two per change."""
    import numpy as np
    import pyarrow as pa

    operations = changes.operations
    is_update = operations == UPDATE
    change = np.repeat(np.arange(len(operations)), np.where(is_update, 2, 1))
    is_first = np.ones(len(change), bool)
    is_first[1:] = change[1:] != change[:-1]
    kind = np.where(operations == DELETE, 3, 0)[change]
    kind = np.where(is_update[change], np.where(is_first, 1, 2), kind)
    place = pa.array(np.where((kind == 1) | (kind == 3), change, change + len(operations)))
    named = iter(zip(changes.before, changes.after, strict=True))
    columns = []
    for field in schema:
        if field.name == KIND_COLUMN:
            columns.append(pa.array(KINDS, pa.string()).take(pa.array(kind)))
        elif field.name in changes.metadata:
            columns.append(changes.metadata[field.name].take(pa.array(change)).cast(field.type))
        else:
            columns.append(pa.concat_arrays([*next(named)]).take(place))
    index = pa.array(changes.events[change], pa.int64())
    fields = [*schema, pa.field(EVENT_INDEX, pa.int64())]
    return pa.RecordBatch.from_arrays([*columns, index], schema=pa.schema(fields))


def children(array: Any, count: int) -> list[Any]:
    """Return the fields of an array of structs, null where the struct is; or ``count`` arrays of no field."""
    return array.flatten() if count else []


def moments(numbers: Any, unit: str) -> Any:
    """Return numbers since 1970 as timestamps."""
    import pyarrow as pa

    return numbers.cast(pa.timestamp(unit, "UTC")).cast(pa.timestamp("us", "UTC"))
