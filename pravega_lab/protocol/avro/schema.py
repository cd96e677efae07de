"""Parse an Avro schema, as strictly as Avro's own parser in Java does (schema-registry.md B1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.errors import BadInputError

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
RECORDS = ("record", "error")
NAMED = (*RECORDS, "enum", "fixed")
MISSING: Any = object()
"""In place of a default that is not there: a default may be None."""

_RESERVED = {"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"}
_OF_FIELD = {"default", "doc", "name", "order", "type", "aliases"}
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_INT_MAX, _LONG_MAX = (1 << 31) - 1, (1 << 63) - 1


@dataclass(eq=False, slots=True)
class AvroField:
    """A field of a record. ``default`` is a JSON value, or `MISSING`."""

    name: str
    schema: AvroSchema
    default: Any = MISSING
    aliases: tuple[str, ...] = ()
    doc: str | None = None
    order: str = "ascending"
    props: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class AvroSchema:
    """One type of a schema. A record may contain itself.

    Attributes:
        kind: One of `PRIMITIVES` and `NAMED`, or ``array``, ``map`` or ``union``.
        name: The full name of a named type, else empty.
        aliases: Full names.
        parts: The items of an array, the values of a map, the branches of a union.
    """

    kind: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    fields: list[AvroField] = field(default_factory=list)
    parts: list[AvroSchema] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    default: Any = MISSING
    size: int = 0
    doc: str | None = None
    props: dict[str, Any] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """Return the part of the full name before the last dot."""
        return self.name.rpartition(".")[0]

    @property
    def short_name(self) -> str:
        """Return the part of the name after the last dot, or the kind of a type without a name."""
        return self.name.rpartition(".")[2] or self.kind


def parse_schema(text: str | bytes) -> AvroSchema:
    """Return the schema that a JSON text describes.

    Raises:
        BadInputError: It is no JSON, or no Avro schema. The message names the place.
    """
    try:
        given = json.loads(text)
        return _Parser().schema(given, "")
    except RecursionError:
        raise BadInputError("the Avro schema is nested too deeply") from None
    except ValueError as error:
        raise BadInputError(f"no Avro schema: {error}") from None


class _Parser:
    def __init__(self) -> None:
        self.names: dict[str, AvroSchema] = {}

    def schema(self, given: Any, namespace: str) -> AvroSchema:
        if isinstance(given, str):
            return self._by_name(given, namespace)
        if isinstance(given, list):
            return self._union([self.schema(part, namespace) for part in given])
        if not isinstance(given, dict):
            raise ValueError(f"{given!r} is no type")
        kind = given.get("type")
        if not isinstance(kind, str):
            raise ValueError(f"a type without the member 'type': {str(given)[:80]}")
        if kind in PRIMITIVES:
            return AvroSchema(kind, props=_rest(given, _RESERVED))
        if kind in NAMED:
            return self._named(kind, given, namespace)
        if kind in ("array", "map"):
            member = "items" if kind == "array" else "values"
            if member not in given:
                raise ValueError(f"the type {kind} needs the member {member!r}")
            return AvroSchema(
                kind, parts=[self.schema(given[member], namespace)], props=_rest(given, _RESERVED)
            )
        return self._by_name(kind, namespace)

    def _by_name(self, name: str, namespace: str) -> AvroSchema:
        if name in PRIMITIVES:
            return AvroSchema(name)
        found = self.names.get(_full(name, namespace))
        if found is None:
            raise ValueError(f"the type {name!r} is not defined before its use")
        return found

    def _union(self, parts: list[AvroSchema]) -> AvroSchema:
        seen: set[str] = set()
        for part in parts:
            key = part.name or part.kind
            if part.kind == "union" or key in seen:
                raise ValueError(f"a union contains {key!r} twice, or another union")
            seen.add(key)
        return AvroSchema("union", parts=parts)

    def _named(self, kind: str, given: dict[str, Any], outer: str) -> AvroSchema:
        name = given.get("name")
        if not isinstance(name, str):
            raise ValueError(f"the type {kind} needs a name")
        given_space = given.get("namespace")
        space = given_space if isinstance(given_space, str) else outer
        full = _full(name, space)
        _check_name(full.rpartition(".")[2])
        if full in self.names or full in PRIMITIVES:
            raise ValueError(f"the type {full!r} is defined twice")
        namespace = full.rpartition(".")[0]
        aliases = tuple(_full(alias, namespace) for alias in _texts(given, "aliases"))
        props = _rest(given, _RESERVED | ({"default"} if kind == "enum" else set()))
        found = AvroSchema(kind, full, aliases, doc=_text(given, "doc"), props=props)
        self.names[full] = found
        if kind in RECORDS:
            self._fields(found, given.get("fields"), namespace)
        elif kind == "enum":
            _enum(found, given)
        else:
            size = given.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise ValueError(f"{full}: the size {size!r} of a fixed is no length")
            found.size = size
        return found

    def _fields(self, record: AvroSchema, given: Any, namespace: str) -> None:
        if not isinstance(given, list):
            raise ValueError(f"{record.name}: a record needs the member 'fields', a list")
        names: set[str] = set()
        for one in given:
            if not isinstance(one, dict) or not isinstance(one.get("name"), str) or "type" not in one:
                raise ValueError(f"{record.name}: a field needs a name and a type: {str(one)[:80]}")
            name = one["name"]
            _check_name(name)
            if name in names:
                raise ValueError(f"{record.name}: there are two fields {name!r}")
            names.add(name)
            schema = self.schema(one["type"], namespace)
            default = one.get("default", MISSING)
            if default is not MISSING and not is_default(schema, default):
                raise ValueError(f"{record.name}.{name}: the default {default!r} is no {schema.short_name}")
            order = str(one.get("order", "ascending")).lower()
            if order not in ("ascending", "descending", "ignore"):
                raise ValueError(f"{record.name}.{name}: the order {order!r} is unknown")
            aliases = tuple(_texts(one, "aliases"))
            record.fields.append(
                AvroField(name, schema, default, aliases, _text(one, "doc"), order, _rest(one, _OF_FIELD))
            )


def _enum(found: AvroSchema, given: dict[str, Any]) -> None:
    if not isinstance(given.get("symbols"), list):
        raise ValueError(f"{found.name}: an enum needs the member 'symbols', a list")
    found.symbols = tuple(_texts(given, "symbols"))
    for symbol in found.symbols:
        _check_name(symbol)
    if len(set(found.symbols)) < len(found.symbols):
        raise ValueError(f"{found.name}: a symbol occurs twice")
    found.default = given.get("default", MISSING)
    if found.default is not MISSING and found.default not in found.symbols:
        raise ValueError(f"{found.name}: the default {found.default!r} is no symbol of it")


def is_default(schema: AvroSchema, value: Any) -> bool:
    """Return whether a JSON value can be the default of a field of this type."""
    match schema.kind:
        case "union":
            return bool(schema.parts) and is_default(
                schema.parts[0], value
            )  # of the first branch, as in Java
        case "array":
            return isinstance(value, list) and all(is_default(schema.parts[0], one) for one in value)
        case "map":
            return isinstance(value, dict) and all(is_default(schema.parts[0], v) for v in value.values())
        case "record" | "error":
            return isinstance(value, dict) and all(
                is_default(one.schema, value.get(one.name, one.default)) for one in schema.fields
            )
    return value is not MISSING and _IS_DEFAULT[schema.kind](value)


def _is_integer(limit: int) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, int) and not isinstance(value, bool) and -limit - 1 <= value <= limit
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_IS_DEFAULT: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "int": _is_integer(_INT_MAX),
    "long": _is_integer(_LONG_MAX),
    **dict.fromkeys(("float", "double"), lambda value: _is_number(value) or value in _NOT_FINITE),
    **dict.fromkeys(("bytes", "string", "enum", "fixed"), _is_text),
}


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _check_name(name: str) -> None:
    letters = name.replace("_", "a")
    if not letters or not letters[0].isalpha() or not letters.isalnum():
        raise ValueError(f"the name {name!r} has to be letters, digits and '_', without a digit in front")


def _rest(given: dict[str, Any], known: set[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in known}


def _text(given: dict[str, Any], member: str) -> str | None:
    found = given.get(member)
    return found if isinstance(found, str) else None


def _texts(given: dict[str, Any], member: str) -> list[str]:
    found = given.get(member) or []
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError(f"{member!r} has to be a list of texts")
    return found
