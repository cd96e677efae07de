"""Columns of the schemas in a registry, and schemas of columns."""

from __future__ import annotations

import json
from typing import Any

from pravega_lab.client.registry.schemas import avro_schema, json_schema
from pravega_lab.connector.rows.avro.arrow_types import arrow_schema_of, avro_json_of
from pravega_lab.connector.rows.protobuf.arrow_types import arrow_schema_of as arrow_schema_of_message
from pravega_lab.connector.rows.protobuf.descriptors import message_class
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.registry.names import AVRO, JSON, PROTOBUF
from pravega_lab.protocol.registry.values import SchemaInfo


def columns_of(schema: SchemaInfo) -> Any:
    """Return the Arrow schema of the columns that a schema describes.

    Raises:
        BadInputError: It describes no columns, or a type for which there is none.
    """
    if schema.format.kind == AVRO:
        return arrow_schema_of(schema.data)
    if schema.format.kind == JSON:
        return _columns_of_json(schema)
    if schema.format.kind == PROTOBUF:
        return arrow_schema_of_message(message_class(schema.data, schema.type).DESCRIPTOR)
    raise BadInputError(
        f"format 'pravega-registry' reads Avro, JSON and Protobuf; '{schema.type}' is {schema.format.name}"
    )


def schema_of(columns: Any, kind: str, name: str) -> SchemaInfo:
    """Return a schema of the format ``kind`` for columns.

    Raises:
        BadInputError: A column is of a type that the format does not have, or ``kind`` is Protobuf.
    """
    if kind == AVRO:
        return avro_schema(avro_json_of(columns))
    if kind == JSON:
        properties = {field.name: _json_type(field.type, field.name) for field in columns}
        return json_schema({"type": "object", "properties": properties}, name)
    raise BadInputError("a schema of Protobuf is not made from columns. Add it to the registry first")


def _columns_of_json(schema: SchemaInfo) -> Any:
    import pyarrow as pa

    found = json.loads(schema.data)
    properties = found.get("properties")
    if not isinstance(properties, dict) or not properties:
        raise BadInputError(
            f"the JSON Schema '{schema.type}' has no properties. Add .schema(…) with the columns of its rows"
        )
    return pa.schema([pa.field(name, _arrow_type(part, name)) for name, part in properties.items()])


def _arrow_type(part: Any, where: str) -> Any:
    import pyarrow as pa

    part = part if isinstance(part, dict) else {}
    kinds = part.get("type")
    named = [one for one in (kinds if isinstance(kinds, list) else [kinds]) if one != "null"]
    kind = named[0] if len(named) == 1 else None
    if kind == "string":
        by_format = {"date": pa.date32(), "date-time": pa.timestamp("us", "UTC")}
        return by_format.get(part.get("format", ""), pa.string())
    if kind == "array":
        return pa.list_(_arrow_type(part.get("items"), f"{where}[]"))
    if kind == "object" and isinstance(part.get("properties"), dict):
        inner = part["properties"].items()
        return pa.struct([pa.field(name, _arrow_type(one, f"{where}.{name}")) for name, one in inner])
    simple = {"boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}
    if kind not in simple:
        raise BadInputError(
            f"property '{where}' of the JSON Schema has type {kinds!r}, for which there is no column. Add"
            " .schema(…) with the columns that you want"
        )
    return simple[kind]


def _json_type(kind: Any, where: str) -> dict[str, Any]:
    import pyarrow.types as types

    if types.is_boolean(kind):
        return {"type": "boolean"}
    if types.is_integer(kind):
        return {"type": "integer"}
    if types.is_floating(kind) or types.is_decimal(kind):
        return {"type": "number"}
    if types.is_date(kind):
        return {"type": "string", "format": "date"}
    if types.is_timestamp(kind):
        return {"type": "string", "format": "date-time"}
    if types.is_string(kind):
        return {"type": "string"}
    if types.is_list(kind):
        return {"type": "array", "items": _json_type(kind.value_type, f"{where}[]")}
    if types.is_struct(kind):
        inner = {field.name: _json_type(field.type, f"{where}.{field.name}") for field in kind}
        return {"type": "object", "properties": inner}
    raise BadInputError(f"column '{where}' is {kind}, for which JSON has no type. Cast it to string")
