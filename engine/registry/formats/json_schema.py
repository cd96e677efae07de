"""JSON Schema: an object whose well-known keywords have the right shape, of any draft.

The released registry checks little more: it takes what one of its two parsers reads. Members are compared
without regard to their order.
"""

from __future__ import annotations

import json
from typing import Any

from pravega_lab.errors import BadInputError

TYPES = {"array", "boolean", "integer", "null", "number", "object", "string", "any"}
_OF_NAMES = ("properties", "patternProperties", "definitions", "$defs")
_SCHEMAS = ("additionalProperties", "not", "contains", "propertyNames", "additionalItems")
_LISTS = ("allOf", "anyOf", "oneOf")


def normal_json(data: bytes) -> bytes:
    """Return a schema with sorted members and without spaces. Raises `BadInputError`."""
    try:
        schema = json.loads(data)
        if not isinstance(schema, dict):
            raise ValueError("a JSON Schema is an object")
        _check(schema, "")
        return json.dumps(schema, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"Unable to parse schema: {error}") from None


def _check(schema: Any, where: str) -> None:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise ValueError(f"{where or 'the schema'} is {schema!r} and no schema")
    types = schema.get("type", [])
    for one in types if isinstance(types, list) else [types]:
        if not isinstance(one, dict) and one not in TYPES:  # a dict: draft 3 allows schemas here
            raise ValueError(f"{where}/type: there is no type {one!r}")
    for member in _OF_NAMES:
        inner = schema.get(member, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{where}/{member} is no object")
        for name, part in inner.items():
            _check(part, f"{where}/{member}/{name}")
    for member in _SCHEMAS:
        if member in schema:
            _check(schema[member], f"{where}/{member}")
    for member in _LISTS:
        inner = schema.get(member, [])
        if not isinstance(inner, list):
            raise ValueError(f"{where}/{member} is no list")
        for number, part in enumerate(inner):
            _check(part, f"{where}/{member}/{number}")
    items = schema.get("items", [])
    for part in items if isinstance(items, list) else [items]:
        _check(part, f"{where}/items")
