"""Rows with a kind as the envelopes of Debezium, Canal and Maxwell.

A row before an update that is followed by the row after it becomes one event of an update. Of a lone one, the
row before becomes a delete and the row after an insert, as Flink writes all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pravega_lab.connector.rows.changes.kinds import AFTER, BEFORE, DELETED, KIND_COLUMN, KINDS
from pravega_lab.connector.rows.json_rows import objects
from pravega_lab.errors import BadInputError


def encode_debezium(rows: Any) -> Any:
    """Return an event for each row, with the members before, after and op; null for a row in the next event.

    Raises:
        BadInputError: A row kind is unknown or null.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts, is_delete, follows = _changes(rows)
    before = pc.if_else(pa.array(follows >= 0), texts.take(pa.array(follows, mask=follows < 0)), texts)
    old = pc.if_else(pa.array((follows >= 0) | is_delete), before, "null")
    new = pc.if_else(pa.array(is_delete), "null", texts)
    operation = pc.if_else(pa.array(is_delete), "d", pc.if_else(pa.array(follows >= 0), "u", "c"))
    joined = pc.binary_join_element_wise(
        *('{"before":', old, ',"after":', new, ',"op":"', operation, '"}', "")
    )
    return pc.if_else(pa.array(_is_event(follows)), joined, None).cast(pa.binary())


def encode_partial(rows: Any, *, is_list: bool) -> Any:
    """Return an event for each row, with the members data, old and type; null for a row in the next event.

    Data and old are lists for Canal, and objects for Maxwell.

    Raises:
        BadInputError: A row kind is unknown or null.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts, is_delete, follows = _changes(rows)
    names = ("INSERT", "UPDATE", "DELETE") if is_list else ("insert", "update", "delete")
    is_update = pa.array(follows >= 0)
    begin, end = ("[", "]") if is_list else ("", "")
    old = texts.take(pa.array(follows, mask=follows < 0))
    member = pc.binary_join_element_wise(f',"old":{begin}', pc.fill_null(old, ""), end, "")
    member = pc.if_else(is_update, member, "")
    name = pc.if_else(pa.array(is_delete), names[2], pc.if_else(is_update, names[1], names[0]))
    joined = pc.binary_join_element_wise(
        *(f'{{"data":{begin}', texts, end, member, ',"type":"', name, '"}', "")
    )
    return pc.if_else(pa.array(_is_event(follows)), joined, None).cast(pa.binary())


def _changes(rows: Any) -> tuple[Any, Any, Any]:
    """Return the JSON of each row, whether it is deleted, and the row before each update, or -1."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    names: Sequence[str] = [name for name in rows.schema.names if name != KIND_COLUMN]
    texts = objects(names, [rows.column(name) for name in names])
    kinds = np.zeros(rows.num_rows, np.int64)
    if KIND_COLUMN in rows.schema.names:
        found = pc.index_in(rows.column(KIND_COLUMN), pa.array(KINDS, pa.string()))
        if found.null_count:
            unknown = rows.column(KIND_COLUMN).filter(found.is_null())[0].as_py()
            raise BadInputError(
                f"column '{KIND_COLUMN}' has {unknown!r}, and a row kind is one of {', '.join(KINDS)}"
            )
        kinds = found.to_numpy()
    is_before, is_after = kinds == KINDS.index(BEFORE), kinds == KINDS.index(AFTER)
    follows = np.full(len(kinds), -1)
    pairs = np.flatnonzero(is_before[:-1] & is_after[1:])
    follows[pairs + 1] = pairs
    return texts, is_before | (kinds == KINDS.index(DELETED)), follows


def _is_event(follows: Any) -> Any:
    """Return which rows begin an event: all but the rows before an update, which are in the event of it."""
    import numpy as np

    found = np.ones(len(follows), bool)
    found[follows[follows >= 0]] = False
    return found
