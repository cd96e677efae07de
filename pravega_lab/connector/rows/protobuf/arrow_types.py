"""Which Arrow types the fields of a message have, and which types a column may have for them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from pravega_lab.errors import BadInputError

TIMESTAMP = "google.protobuf.Timestamp"
#: From the types of fields to the types that a column may have too.
WIDER = {
    "int32": ("int64",),
    "float": ("double",),
    "decimal128(20, 0)": ("int64",),
}


def arrow_schema_of(message: Any) -> Any:
    """Return the Arrow schema of the columns that a message has.

    ``uint32`` is int64, ``uint64`` is decimal(20, 0), enums are strings, and ``google.protobuf.Timestamp`` is
    a timestamp with microseconds in UTC.

    Args:
        message: The descriptor of the message.

    Raises:
        BadInputError: The message contains itself.
    """
    import pyarrow as pa

    return pa.schema(
        [pa.field(field.name, field_type(field, (message.full_name,))) for field in message.fields]
    )


def field_type(field: Any, above: tuple[str, ...] = ()) -> Any:
    """Return the Arrow type of a field; ``above`` are the messages that contain it."""
    import pyarrow as pa

    if is_map(field):
        entry = field.message_type.fields_by_name
        return pa.map_(field_type(entry["key"], above), field_type(entry["value"], above))
    one = _value_type(field, above)
    return pa.list_(one) if field.is_repeated else one


def is_map(field: Any) -> bool:
    """Return whether a field is a map."""
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _value_type(field: Any, above: tuple[str, ...]) -> Any:
    import pyarrow as pa

    kind = field.type
    if field.message_type:
        name = field.message_type.full_name
        if name == TIMESTAMP:
            return pa.timestamp("us", "UTC")
        if name in above:
            raise BadInputError(
                f"message '{name}' contains itself, by field '{field.name}', and columns have a fixed depth. "
                "Name the other columns in .schema(…)"
            )
        inner = field.message_type.fields
        return pa.struct([pa.field(child.name, field_type(child, (*above, name))) for child in inner])
    plain = {
        **dict.fromkeys((field.TYPE_INT32, field.TYPE_SINT32, field.TYPE_SFIXED32), pa.int32()),
        **dict.fromkeys((field.TYPE_UINT32, field.TYPE_FIXED32), pa.int64()),
        **dict.fromkeys((field.TYPE_INT64, field.TYPE_SINT64, field.TYPE_SFIXED64), pa.int64()),
        **dict.fromkeys((field.TYPE_UINT64, field.TYPE_FIXED64), pa.decimal128(20, 0)),
        field.TYPE_DOUBLE: pa.float64(),
        field.TYPE_FLOAT: pa.float32(),
        field.TYPE_BOOL: pa.bool_(),
        field.TYPE_STRING: pa.string(),
        field.TYPE_ENUM: pa.string(),
        field.TYPE_BYTES: pa.binary(),
    }
    return plain[kind]


def check_columns(columns: Any, message: Any, above: str = "", *, may_lack: bool = False) -> None:
    """Refuse columns that are no fields of a message, or have another type.

    Args:
        columns: The fields of an Arrow schema or of a struct.
        message: The descriptor of the message.
        above: The path of the struct, with a dot at its end.
        may_lack: Accept columns that are no fields of the message or of one inside it.

    Raises:
        BadInputError: The message names the column, and what was expected and found.
    """
    fields = message.fields_by_name
    for column in columns:
        if may_lack and column.name not in fields:
            continue
        if column.name not in fields:
            near = get_close_matches(column.name, list(fields), n=1, cutoff=0.5)
            hint = f"Did you mean '{near[0]}'?" if near else f"It has: {', '.join(fields)}"
            raise BadInputError(
                f"column '{above}{column.name}' is no field of message '{message.full_name}'. {hint}"
            )
        _check(f"{above}{column.name}", column.type, fields[column.name], may_lack)


def _check(path: str, kind: Any, field: Any, may_lack: bool) -> None:
    import pyarrow.types as types

    message = field.message_type
    if may_lack and is_map(field) and types.is_map(kind):
        pair = [kind.key_field.with_name("key"), kind.item_field.with_name("value")]
        check_columns(pair, message, f"{path}.", may_lack=True)
        return
    if message and message.full_name != TIMESTAMP and not is_map(field):
        inner = kind.value_type if types.is_list(kind) and field.is_repeated else kind
        if types.is_list(kind) == field.is_repeated and types.is_struct(inner):
            check_columns(list(inner), message, f"{path}.", may_lack=may_lack)
            return
    expected = field_type(field, (field.containing_type.full_name,))
    if not _is_same(kind, expected) and str(kind) not in WIDER.get(str(expected), ()):
        raise BadInputError(
            f"column '{path}' is {kind}, and the message has {expected} there. "
            "Declare the column with that type, and cast it in the query"
        )


def _is_same(kind: Any, expected: Any) -> bool:
    """Compare types, without the names of items of lists and maps and of time zones."""
    import pyarrow.types as types

    if types.is_list(kind) and types.is_list(expected):
        return _is_same(kind.value_type, expected.value_type)
    if types.is_map(kind) and types.is_map(expected):
        keys = _is_same(kind.key_type, expected.key_type)
        return keys and _is_same(kind.item_type, expected.item_type)
    if types.is_struct(kind) and types.is_struct(expected):
        names = [field.name for field in kind] == [field.name for field in expected]
        return names and all(_is_same(a.type, b.type) for a, b in zip(kind, expected, strict=True))
    if types.is_timestamp(kind) and types.is_timestamp(expected):
        return bool(kind.unit == expected.unit) and (kind.tz is None) == (expected.tz is None)
    return bool(kind == expected)
