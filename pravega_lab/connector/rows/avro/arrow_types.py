"""Which Arrow type an Avro type has, which Avro type an Arrow type gets, and which of them fit each other."""

from __future__ import annotations

import json
import re
from typing import Any

from pravega_lab.connector.rows.avro.schema import AvroType, parse_schema
from pravega_lab.errors import BadInputError

#: The Avro kinds from which a column of an Arrow type is read, apart from decimals, dates and times. Avro
#: promotes int to long, and both to float and double.
READ_FROM: dict[str, tuple[str, ...]] = {
    "bool": ("boolean",),
    "int8": ("int",),
    "int16": ("int",),
    "int32": ("int",),
    "int64": ("int", "long"),
    "float": ("float", "int", "long"),
    "double": ("double", "float", "int", "long"),
    "string": ("string", "bytes", "enum"),
    "binary": ("bytes", "string", "fixed"),
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def arrow_schema_of(schema: str | bytes | AvroType) -> Any:
    """Return the Arrow schema of the columns that an Avro record has.

    Timestamps have microseconds. A union of null and one other type is that type; enums are strings.

    Raises:
        BadInputError: The schema is none, or has a union of several types, for which Arrow has no column.
    """
    import pyarrow as pa

    fields = parse_schema(schema).fields
    return pa.schema([_field(field.name, field.type, f"field '{field.name}'") for field in fields])


def _field(name: str, avro: AvroType, where: str) -> Any:
    import pyarrow as pa

    nullable = avro.kind == "null" or any(part.kind == "null" for part in avro.parts if avro.kind == "union")
    return pa.field(name, _arrow(avro, where), nullable)


def _arrow(avro: AvroType, where: str) -> Any:
    import pyarrow as pa

    if avro.kind == "union":
        if len(avro.without_null) != 1:
            raise BadInputError(f"{where} is a {avro}, for which there is no column. Leave it out")
        return _arrow(avro.without_null[0], where)
    if avro.kind == "record":
        return pa.struct([_field(f.name, f.type, f"{where}.{f.name}") for f in avro.fields])
    if avro.kind == "array":
        return pa.list_(_field("element", avro.parts[0], f"{where}[]"))
    if avro.kind == "map":
        return pa.map_(pa.string(), _field("value", avro.parts[0], f"{where}[]"))
    if avro.logical == "decimal":
        return pa.decimal128(avro.precision, avro.scale)
    if avro.logical == "date":
        return pa.date32()
    if avro.logical.startswith("time-"):
        return pa.time64("us")
    if avro.logical:
        return pa.timestamp("us", None if avro.logical.startswith("local") else "UTC")
    plain = {
        "null": pa.null(),
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "bytes": pa.binary(),
        "fixed": pa.binary(),
    }
    return plain.get(avro.kind, pa.string())


def reads(avro: AvroType, kind: Any) -> bool:
    """Return whether a column of the plain Arrow type ``kind`` can be read from an Avro type."""
    import pyarrow.types as types

    if types.is_decimal128(kind):
        fits = kind.scale == avro.scale and kind.precision >= avro.precision
        return avro.logical == "decimal" and fits
    if types.is_date32(kind):
        return avro.logical == "date"
    if types.is_timestamp(kind):
        return "timestamp-" in avro.logical
    if types.is_time64(kind):
        return avro.logical.startswith("time-")
    return avro.kind in READ_FROM.get(str(kind), ())


def avro_json_of(schema: Any) -> str:
    """Return the Avro schema of rows with the columns of an Arrow schema, as JSON.

    Every column is a union of null and its type with the default null, so that the same columns have the same
    schema wherever they come from, and a column that is added later can be read from earlier events. Types
    are those of Flink's Avro format, with timestamps in microseconds.

    Raises:
        BadInputError: A type has no Avro type.
    """
    return json.dumps(_record(schema, "record", set()), separators=(",", ":"))


def _record(fields: Any, name: str, used: set[str]) -> dict[str, Any]:
    """Return a record. Its name is made unique among the names that are ``used``."""
    while name in used:
        name += "_"
    used.add(name)
    for field in fields:
        if not _NAME.fullmatch(field.name):
            raise BadInputError(
                f"column '{field.name}' cannot be a field of Avro, whose names have ASCII letters, digits "
                "and _, without a digit in front. Rename the column, or use format 'json'"
            )
    made = [
        {"name": f.name, "type": ["null", _avro(f.name, f.type, f"{name}_{f.name}", used)], "default": None}
        for f in fields
    ]
    return {"type": "record", "name": name, "fields": made}


def _avro(name: str, kind: Any, record: str, used: set[str]) -> Any:
    import pyarrow.types as types

    if types.is_struct(kind):
        return _record(kind, record, used)
    if types.is_list(kind):
        return {"type": "array", "items": ["null", _avro(f"{name}[]", kind.value_type, record, used)]}
    if types.is_map(kind) and types.is_string(kind.key_type):
        return {"type": "map", "values": ["null", _avro(f"{name}[]", kind.item_type, record, used)]}
    if types.is_decimal128(kind):
        sizes = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **sizes}
    if types.is_date32(kind):
        return {"type": "int", "logicalType": "date"}
    if types.is_time64(kind):
        return {"type": "long", "logicalType": "time-micros"}
    if types.is_timestamp(kind):
        return {"type": "long", "logicalType": f"{'' if kind.tz else 'local-'}timestamp-micros"}
    found = _PLAIN.get(str(kind))
    if found is None:
        raise BadInputError(
            f"column '{name}' is {kind}, which format 'avro' cannot contain. "
            "Declare it as string, and convert it in the query"
        )
    return found


_PLAIN = {
    "bool": "boolean",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
}
