"""The primary key of typed rows: it gives the routing key, so that all changes of a row stay in order."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from pravega_lab.connector.rows.changes.kinds import AFTER, BEFORE, DELETED, INSERTED, KIND_COLUMN
from pravega_lab.connector.rows.formats import FORMAT_METADATA
from pravega_lab.errors import BadInputError

KEY_COLUMN = "_routing_key"
SEPARATOR = "|"  # between the columns of a key; equal texts of different keys share a segment, nothing more


def check_primary_key(schema: Any, format_name: str, primary_key: Sequence[str]) -> None:
    """Refuse rows with kinds and no primary key, and a key that rows of a Spark ``schema`` do not have.

    Raises:
        BadInputError: One of these.
    """
    names = schema.fieldNames()
    if KIND_COLUMN in names:
        _check_kinds(schema, format_name, primary_key)
    for name in primary_key:
        if name not in names or name.startswith("_"):
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"Did you mean '{near[0]}'?" if near else f"The rows have: {', '.join(names)}"
            raise BadInputError(
                f"option 'primary_key' names '{name}', which is no column of the rows. {hint}"
            )
        found = schema[name].dataType.simpleString()
        if found.startswith(("array", "map", "struct", "binary")):
            raise BadInputError(
                f"column '{name}' of the primary key is {found}. Choose columns with plain values"
            )
    if primary_key and KEY_COLUMN in names:
        raise BadInputError(
            f"the rows have column '{KEY_COLUMN}', and option 'primary_key' is '{','.join(primary_key)}'. "
            "Both give the routing key. Leave one of them out"
        )


def _check_kinds(schema: Any, format_name: str, primary_key: Sequence[str]) -> None:
    if format_name not in FORMAT_METADATA:
        raise BadInputError(
            f"the rows have column '{KIND_COLUMN}', and events of format '{format_name}' have no row kind. "
            f"Choose one of {', '.join(FORMAT_METADATA)}, or drop the column if every row is an insert"
        )
    found = schema[KIND_COLUMN].dataType.simpleString()
    if found != "string":
        raise BadInputError(f"column '{KIND_COLUMN}' is {found}, and a row kind is a string. Cast it")
    if not primary_key:
        raise BadInputError(
            f"the rows have column '{KIND_COLUMN}' and no primary key, so the changes of a row could be read "
            "in another order. Add .option('primary_key', '<columns that identify a row>')"
        )


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
