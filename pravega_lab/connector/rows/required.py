"""Values that a schema does not allow to be null: ``NOT NULL`` columns, and parts of structs, lists and maps.

Spark's JVM takes a schema at its word: it fails without a message, or takes the null for a value.
"""

from __future__ import annotations

from typing import Any


def optional(kind: Any) -> Any:
    """Return an Arrow type with parts that may all be null. The keys of maps never are."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_list(kind):
        return pa.list_(_optional_field(kind.value_field))
    if types.is_map(kind):
        return pa.map_(kind.key_type, _optional_field(kind.item_field))
    if types.is_struct(kind):
        return pa.struct([_optional_field(field) for field in kind])
    return kind


def _optional_field(field: Any) -> Any:
    return field.with_type(optional(field.type)).with_nullable(True)


def with_type(column: Any, kind: Any) -> Any:
    """Return an array of `optional` type as one of type ``kind``, also if a part is null that may not be.

    Args:
        column: The array, which is no slice and has no maps.
        kind: The type.
    """
    import pyarrow as pa
    import pyarrow.types as types

    if column.type == kind:
        return column
    nulls = column.is_null() if column.null_count else None
    if types.is_list(kind):
        values = with_type(column.values, kind.value_type)
        return pa.ListArray.from_arrays(column.offsets, values, kind, mask=nulls)
    parts = [with_type(part, field.type) for part, field in zip(column.flatten(), kind, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=nulls)


def has_required(field: Any) -> bool:
    """Return whether a field of Arrow, or a part of its type, may not be null."""
    return not (field.nullable and field.type == optional(field.type))


def missing(field: Any, column: Any, name: str = "") -> str | None:
    """Return the name of a value that is null in an array of ``field`` and may not be, None if there is none.

    The parts of a null are no values.
    """
    import pyarrow.types as types

    kind, name = field.type, name or field.name
    if not field.nullable and column.null_count:
        return name
    if kind == optional(kind):
        return None
    there = column.drop_null() if column.null_count else column
    if types.is_struct(kind):
        parts = [(part, f"{name}.{part.name}") for part in kind]
        values = there.flatten()
    elif types.is_map(kind):
        parts, values = [(kind.item_field, f"{name}[]")], [there.items]
    else:
        parts, values = [(kind.value_field, f"{name}[]")], [there.flatten()]
    found = (missing(part, value, path) for (part, path), value in zip(parts, values, strict=True))
    return next((path for path in found if path is not None), None)
