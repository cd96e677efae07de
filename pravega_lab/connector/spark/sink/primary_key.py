"""Checks of the primary key of typed rows in Spark. `connector.rows.primary_key` makes routing keys of it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from pravega_lab.connector.rows.changes.kinds import KIND_COLUMN
from pravega_lab.connector.rows.formats import FORMAT_METADATA
from pravega_lab.connector.rows.primary_key import KEY_COLUMN
from pravega_lab.connector.rows.typed_rows import is_reserved
from pravega_lab.errors import BadInputError


def check_primary_key(schema: Any, format_name: str, primary_key: Sequence[str]) -> None:
    """Refuse rows with kinds and no primary key, and a key that rows of a Spark ``schema`` do not have.

    Raises:
        BadInputError: One of these.
    """
    names = schema.fieldNames()
    if KIND_COLUMN in names:
        _check_kinds(schema, format_name, primary_key)
    for name in primary_key:
        if name not in names or is_reserved(name, format_name):
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
