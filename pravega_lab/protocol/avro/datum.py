"""One Avro value as bytes, written and read with Python values (schema-registry.md B3).

Values are None, bool, int, float, str, bytes, lists, and dictionaries for records and maps. Logical types are
not applied: a date is its number of days. Reading follows the reader's schema: its order, defaults, aliases.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.avro.resolution import (
    can_read,
    matching_branch,
    same_kind,
    written_fields,
)
from pravega_lab.protocol.avro.schema import MISSING, AvroSchema

_INT, _LONG = 1 << 31, 1 << 63
_VARINT_BYTES_MAX = 10
ITEMS_MAX = 1 << 24
"""Items of a block. Items of the type null take no bytes, so that their number is not bounded by the data."""


def write_datum(schema: AvroSchema, value: Any) -> bytes:
    """Return the bytes of a value.

    A value of a union is written as the first branch that it fits. Fields that a dictionary lacks get their
    default.

    Raises:
        BadInputError: The value does not fit. The message names the field.
    """
    out = bytearray()
    try:
        _write(out, schema, value, schema.short_name)
    except RecursionError:
        raise BadInputError("the value is nested too deeply") from None
    return bytes(out)


def read_datum(data: bytes | memoryview, writer: AvroSchema, reader: AvroSchema | None = None) -> Any:
    """Return the value that ``data`` begins with. What follows it is ignored.

    Args:
        reader: How to read it. None means as ``writer`` says.

    Raises:
        BadInputError: The data is none or ends too early, or ``reader`` cannot read ``writer``.
    """
    if reader is not None and not can_read(reader, writer):
        raise BadInputError(
            f"events of {writer.name or writer.kind} cannot be read as {reader.name or reader.kind}:"
            " a field has another type, or no default and is missing"
        )
    source = _Source(memoryview(data))
    try:
        return source.read(writer, reader or writer)
    except (IndexError, struct.error, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"{len(data)} bytes are no {writer.name or writer.kind}: {error}") from None


# Writing


def _write(out: bytearray, schema: AvroSchema, value: Any, where: str) -> None:
    match schema.kind:
        case "union":
            for number, part in enumerate(schema.parts):
                if _fits(part, value):
                    _write_long(out, number)
                    return _write(out, part, value, where)
            raise _misfit(schema, value, where)
        case "record" | "error":
            if not isinstance(value, Mapping):
                raise _misfit(schema, value, where)
            _write_record(out, schema, value, where)
        case "array" | "map":
            _write_items(out, schema, value, where)
        case "enum":
            if value not in schema.symbols:
                raise _misfit(schema, value, where)
            _write_long(out, schema.symbols.index(value))
        case _:
            if not _fits(schema, value):
                raise _misfit(schema, value, where)
            _WRITE[schema.kind](out, value)
    return None


def _write_record(out: bytearray, schema: AvroSchema, value: Mapping[str, Any], where: str) -> None:
    unknown = value.keys() - {field.name for field in schema.fields}
    if unknown:
        raise BadInputError(f"{where} has no field {min(map(str, unknown))!r}")
    for field in schema.fields:
        one = value.get(field.name, MISSING)
        if one is MISSING and field.default is MISSING:
            raise BadInputError(f"{where}.{field.name} is missing, and has no default")
        one = default_of(field.schema, field.default) if one is MISSING else one
        _write(out, field.schema, one, f"{where}.{field.name}")


def _write_items(out: bytearray, schema: AvroSchema, value: Any, where: str) -> None:
    if not _fits(schema, value):
        raise _misfit(schema, value, where)
    part = schema.parts[0]
    if value:
        _write_long(out, len(value))
    if schema.kind == "array":
        for number, one in enumerate(value):
            _write(out, part, one, f"{where}[{number}]")
    else:
        for key, one in value.items():
            _write_bytes(out, str(key).encode())
            _write(out, part, one, f"{where}[{key!r}]")
    out.append(0)


def _write_long(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def _write_bytes(out: bytearray, value: bytes) -> None:
    _write_long(out, len(value))
    out += value


_WRITE: dict[str, Callable[[bytearray, Any], Any]] = {
    "null": lambda out, value: None,
    "boolean": lambda out, value: out.append(value),
    "int": _write_long,
    "long": _write_long,
    "float": lambda out, value: out.extend(struct.pack("<f", value)),
    "double": lambda out, value: out.extend(struct.pack("<d", value)),
    "bytes": lambda out, value: _write_bytes(out, bytes(value)),
    "string": lambda out, value: _write_bytes(out, value.encode()),
    "fixed": lambda out, value: out.extend(value),
}


def _fits(schema: AvroSchema, value: Any) -> bool:
    """Return whether a value is of a type. Of a record, its fields have the right names."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match schema.kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            limit = _INT if schema.kind == "int" else _LONG
            return is_number and isinstance(value, int) and -limit <= value < limit
        case "float" | "double":
            return is_number
        case "string":
            return isinstance(value, str)
        case "bytes":
            return isinstance(value, bytes | bytearray | memoryview)
        case "fixed":
            return isinstance(value, bytes | bytearray) and len(value) == schema.size
        case "enum":
            return value in schema.symbols
        case "array":
            return isinstance(value, list | tuple)
        case "map":
            return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    if not isinstance(value, Mapping):
        return False
    names = {field.name for field in schema.fields}
    needed = {field.name for field in schema.fields if field.default is MISSING}
    return needed <= value.keys() <= names


def _misfit(schema: AvroSchema, value: Any, where: str) -> BadInputError:
    kinds = " or ".join(part.short_name for part in schema.parts) if schema.kind == "union" else schema.kind
    return BadInputError(f"{where}: {str(value)[:60]!r} ({type(value).__name__}) is no {kinds}")


def default_of(schema: AvroSchema, default: Any) -> Any:
    """Return the value of a default: bytes are written as text in JSON, one letter for each byte."""
    match schema.kind:
        case "union":
            return default_of(schema.parts[0], default)
        case "bytes" | "fixed":
            return default.encode("latin-1")
        case "float" | "double":
            return float(default)
        case "array":
            return [default_of(schema.parts[0], one) for one in default]
        case "map":
            return {key: default_of(schema.parts[0], one) for key, one in default.items()}
        case "record" | "error":
            return {f.name: default_of(f.schema, default.get(f.name, f.default)) for f in schema.fields}
    return default


# Reading


class _Source:
    """Bytes, read from the front."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def read(self, writer: AvroSchema, reader: AvroSchema) -> Any:
        if writer.kind == "union":
            number = self._long()
            if not 0 <= number < len(writer.parts):
                raise IndexError(f"a union has no branch {number}")
            return self.read(writer.parts[number], reader)
        if reader.kind == "union":
            branch = matching_branch(writer, reader)
            if branch is None:
                raise IndexError(f"no branch of the reader's union is a {writer.short_name}")
            return self.read(writer, branch)
        match writer.kind:
            case "record" | "error":
                return self._record(writer, reader)
            case "array":
                return [self.read(writer.parts[0], reader.parts[0]) for _ in self._items()]
            case "map":
                pairs = ((self._text(), self.read(writer.parts[0], reader.parts[0])) for _ in self._items())
                return dict(pairs)
            case "enum":
                return self._symbol(writer, reader)
            case "fixed":
                return bytes(self._take(writer.size))
        return _promoted(self._primitive(writer.kind), writer, reader)

    def _record(self, writer: AvroSchema, reader: AvroSchema) -> dict[str, Any]:
        if writer is reader:
            return {field.name: self.read(field.schema, field.schema) for field in writer.fields}
        found = written_fields(reader, writer)
        by_written = {id(found[field.name]): field for field in reader.fields if field.name in found}
        values: dict[str, Any] = {}
        for written in writer.fields:
            field = by_written.get(id(written))
            value = self.read(written.schema, written.schema if field is None else field.schema)
            if field is not None:
                values[field.name] = value
        return {
            field.name: values[field.name]
            if field.name in values
            else default_of(field.schema, field.default)
            for field in reader.fields
        }

    def _items(self) -> Any:
        """Yield once for each item of an array or a map."""
        while count := self._long():
            if count < 0:
                count = -count
                self._long()  # the size of the block in bytes
            if count > ITEMS_MAX:
                raise IndexError(f"a block of {count} items")
            for _ in range(count):
                yield None

    def _symbol(self, writer: AvroSchema, reader: AvroSchema) -> str:
        number = self._long()
        if not 0 <= number < len(writer.symbols):
            raise IndexError(f"{writer.name} has no symbol {number}")
        symbol = writer.symbols[number]
        if symbol in reader.symbols:
            return symbol
        if reader.default is MISSING:
            raise IndexError(f"the reader's {reader.name} has no symbol {symbol!r} and no default")
        return str(reader.default)

    def _primitive(self, kind: str) -> Any:
        match kind:
            case "null":
                return None
            case "boolean":
                byte = self._take(1)[0]
                if byte > 1:
                    raise IndexError(f"a boolean of {byte}")
                return bool(byte)
            case "int" | "long":
                return self._long()
            case "float":
                return struct.unpack("<f", self._take(4))[0]
            case "double":
                return struct.unpack("<d", self._take(8))[0]
            case "bytes":
                return bytes(self._take(self._long()))
        return self._text()

    def _text(self) -> str:
        return str(self._take(self._long()), "utf-8")

    def _long(self) -> int:
        found, shift = 0, 0
        while True:
            byte = self._take(1)[0]
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= 7 * _VARINT_BYTES_MAX:
                raise IndexError("an integer of more than 10 bytes")
        return (found >> 1) ^ -(found & 1)

    def _take(self, length: int) -> memoryview:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise IndexError("it ends in the middle of a value")
        taken = self._data[self._at : end]
        self._at = end
        return taken


def _promoted(value: Any, writer: AvroSchema, reader: AvroSchema) -> Any:
    if same_kind(writer, reader):
        return value
    match reader.kind:
        case "float" | "double":
            return float(value)
        case "string":
            return str(value, "utf-8")
        case "bytes":
            return value.encode()
    return value
