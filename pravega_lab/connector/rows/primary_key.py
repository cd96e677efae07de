"""The primary key of rows gives their routing key, so that all changes of a row stay in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pravega_lab.connector.rows.changes.kinds import AFTER, BEFORE, DELETED, INSERTED, KIND_COLUMN
from pravega_lab.errors import BadInputError

SEPARATOR = "|"  # between the columns of a key; equal texts of different keys share a segment, nothing more

#: The column of the rows to write that gives their routing keys, and is no field of the events.
KEY_COLUMN = "_routing_key"


def hint_for_expression(name: str) -> str:
    """Return the way that works, as a sentence, if the name of a key column is an expression, else ""."""
    if not re.search(r"[^\w.`\- ]|\w \w", name):
        return ""
    return " An expression goes into option 'routing_key', in DuckDB's SQL"


def keys_of(batch: Any, primary_key: Sequence[str]) -> Any:
    """Return the routing keys of rows: the text of the primary key.

    Raises:
        BadInputError: A value is null.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [batch.column(name).cast(pa.string()) for name in primary_key]
    for name, column in zip(primary_key, texts, strict=True):
        if column.null_count:
            raise BadInputError(
                f"column '{name}' of the primary key is null in {column.null_count} of {len(column)} rows. "
                "Filter them out"
            )
    return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, SEPARATOR)


def with_kinds_of_one_key(batch: Any, keys: Any) -> Any:
    """Return rows in which an update of the primary key itself is a delete and an insert.

    Their events have different routing keys, so that one event cannot be both.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = batch.column(KIND_COLUMN)
    is_pair = np.zeros(len(kinds), bool)
    pairs = pc.and_(pc.equal(kinds[:-1], BEFORE), pc.equal(kinds[1:], AFTER))
    other = pc.not_equal(keys[:-1], keys[1:])
    is_pair[:-1] = pc.fill_null(pc.and_(pairs, other), False).to_numpy(zero_copy_only=False)
    if not is_pair.any():
        return batch
    kinds = pc.if_else(pa.array(is_pair), DELETED, kinds)
    kinds = pc.if_else(pa.array(np.roll(is_pair, 1)), INSERTED, kinds)
    return batch.set_column(batch.schema.get_field_index(KIND_COLUMN), KIND_COLUMN, kinds)
