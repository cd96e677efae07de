"""Avro schemas as the rest of the package works on them: records of a fixed depth, with logical types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.avro import schema as avro
from pravega_lab.protocol.avro.schema import AvroSchema

NOT_GIVEN = avro.MISSING
DECIMAL_DIGITS_MAX = 38  # of Arrow's and Spark's decimals


@dataclass(frozen=True)
class AvroField:
    """A field of a record. ``default`` is the JSON of its default, or `NOT_GIVEN`."""

    name: str
    type: AvroType
    default: Any = NOT_GIVEN
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class AvroType:
    """A type of a schema.

    ``kind`` is one of Avro's primitive types, or fixed, enum, array, map, union or record. ``parts`` are the
    branches of a union, or the one type of the items of an array and of the values of a map.
    """

    kind: str
    name: str = ""
    logical: str = ""
    size: int = 0
    precision: int = 0
    scale: int = 0
    symbols: tuple[str, ...] = ()
    default_symbol: str | None = None
    parts: tuple[AvroType, ...] = ()
    fields: tuple[AvroField, ...] = ()

    def __str__(self) -> str:
        if self.kind == "union":
            return f"union of {', '.join(map(str, self.parts))}"
        if self.kind in ("array", "map"):
            return f"{self.kind} of {self.parts[0]}"
        name = f" {self.name}" if self.name else ""
        return f"{self.kind}{name}" + (f" ({self.logical})" if self.logical else "")

    @property
    def without_null(self) -> tuple[AvroType, ...]:
        """The branches that are not null; the type itself if it is no union."""
        parts = self.parts if self.kind == "union" else (self,)
        return tuple(part for part in parts if part.kind != "null")


def parse_schema(schema: str | bytes | Mapping[str, Any] | AvroType) -> AvroType:
    """Return the record that a schema declares, from its JSON as text or as values.

    Raises:
        BadInputError: The text is no JSON, it is no Avro schema, it is not a record, or it refers to itself.
    """
    if isinstance(schema, AvroType):
        return schema
    text = schema if isinstance(schema, (str, bytes)) else json.dumps(schema)
    found = _converted(avro.parse_schema(text), ())
    if found.kind != "record":
        raise BadInputError(
            f"the Avro schema is {found}, and the columns of a row are the fields of a record. "
            "Write a schema of type record"
        )
    return found


def _converted(schema: AvroSchema, above: tuple[str, ...]) -> AvroType:
    """Return a type with its logical type. ``above`` are the records that contain it."""
    kind = "record" if schema.kind in avro.RECORDS else schema.kind
    if kind == "record":
        if schema.name in above:
            raise BadInputError(
                f"record '{schema.name}' of the Avro schema contains itself, and columns have a fixed depth. "
                "Read the events as format 'raw'"
            )
        above = (*above, schema.name)
    plain = AvroType(
        kind,
        schema.name,
        size=schema.size,
        symbols=schema.symbols,
        default_symbol=None if schema.default is NOT_GIVEN else schema.default,
        parts=tuple(_converted(part, above) for part in schema.parts),
        fields=tuple(
            AvroField(field.name, _converted(field.schema, above), field.default, field.aliases)
            for field in schema.fields
        ),
    )
    return _with_logical(plain, schema.props)


_LOGICAL = {
    "int": ("date", "time-millis"),
    "long": (
        *("time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos"),
        *("local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"),
    ),
    "bytes": ("decimal",),
    "fixed": ("decimal",),
}


def _with_logical(plain: AvroType, props: Mapping[str, Any]) -> AvroType:
    """Return a type with its logical type. Avro demands that one which is unknown or unfit is ignored."""
    logical = props.get("logicalType")
    if logical not in _LOGICAL.get(plain.kind, ()):
        return plain
    precision, scale = int(props.get("precision", 0)), int(props.get("scale", 0))
    if logical == "decimal" and not 0 <= scale <= precision <= DECIMAL_DIGITS_MAX:
        return plain
    return replace(plain, logical=str(logical), precision=precision, scale=scale)
