"""The text of a schema as Avro's Java library prints it: schemas are equal if these texts are.

Members have a fixed order, a type is written out at its first use and named afterwards, and a name is short
inside its own namespace. Source: schema-registry.md B1.
"""

from __future__ import annotations

import json
from typing import Any

from pravega_lab.protocol.avro.schema import MISSING, NAMED, RECORDS, AvroField, AvroSchema


def normal_form(schema: AvroSchema) -> str:
    """Return the text of a schema."""
    return json.dumps(_value(schema, "", set()), separators=(",", ":"), ensure_ascii=False)


def _value(schema: AvroSchema, namespace: str, written: set[str]) -> Any:
    if schema.kind == "union":
        return [_value(part, namespace, written) for part in schema.parts]
    if schema.kind in ("array", "map"):
        member = "items" if schema.kind == "array" else "values"
        return {"type": schema.kind, member: _value(schema.parts[0], namespace, written), **schema.props}
    if schema.kind not in NAMED:
        return {"type": schema.kind, **schema.props} if schema.props else schema.kind
    if schema.name in written:
        return schema.short_name if schema.namespace == namespace else schema.name
    written.add(schema.name)
    found: dict[str, Any] = {"type": schema.kind, "name": schema.short_name}
    if schema.namespace != namespace:
        found["namespace"] = schema.namespace
    if schema.doc is not None:
        found["doc"] = schema.doc
    if schema.kind in RECORDS:
        found["fields"] = [_field(one, schema.namespace, written) for one in schema.fields]
    elif schema.kind == "enum":
        found["symbols"] = list(schema.symbols)
        if schema.default is not MISSING:
            found["default"] = schema.default
    else:
        found["size"] = schema.size
    found |= schema.props
    if schema.aliases:
        found["aliases"] = [_relative(alias, schema.namespace) for alias in schema.aliases]
    return found


def _field(one: AvroField, namespace: str, written: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": one.name, "type": _value(one.schema, namespace, written)}
    if one.doc is not None:
        found["doc"] = one.doc
    if one.default is not MISSING:
        found["default"] = one.default
    if one.order != "ascending":
        found["order"] = one.order
    if one.aliases:
        found["aliases"] = list(one.aliases)
    return found | one.props


def _relative(name: str, namespace: str) -> str:
    space, _, short = name.rpartition(".")
    return short if space == namespace else name
