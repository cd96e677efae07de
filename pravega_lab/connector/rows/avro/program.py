"""Compile the schema of the events and the wanted columns into the instructions of `kernels.decode_rows`.

Schema resolution: a column is a field of the reader's schema, if there is one, and is read from the writer's
field of the same name or of one of the reader's aliases (`sources`). Without such a field the reader's
default fills the column. Fields that no column wants are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pravega_lab.connector.rows.avro import operations
from pravega_lab.connector.rows.avro.arrow_types import reads
from pravega_lab.connector.rows.avro.schema import NOT_GIVEN, AvroField, AvroType
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.avro.resolution import sources

#: What the operation of a kind of value is, and how many slots it has.
_READ = {
    "int": (operations.LONG, 1),
    "long": (operations.LONG, 1),
    "bytes": (operations.BYTES, 2),
    "string": (operations.BYTES, 2),
    "boolean": (operations.BOOLEAN, 1),
    "double": (operations.DOUBLE, 1),
    "float": (operations.FLOAT, 1),
    "fixed": (operations.FIXED, 2),
    "enum": (operations.ENUM, 1),
}
_BITS = {"int8": 8, "int16": 16}


@dataclass
class Column:
    """A column as the kernels leave it: its Arrow type, its slots, and its children.

    ``avro`` is the type that was read, or None if every value is ``constant``. ``null`` is the slot of the
    nulls, or -1. ``level`` is that of the column, ``items`` that of the items of a list or map.
    """

    name: str
    type: Any
    level: int
    avro: AvroType | None = None
    reader: AvroType | None = None
    slot: int = -1
    null: int = -1
    items: int = -1
    constant: Any = None
    children: list[Column] = field(default_factory=list)


class Program:
    """Instructions and slots for the columns of an Arrow schema.

    Args:
        columns: The wanted columns, in their order.
        writer: The record with which the events were written.
        reader: A record whose names, aliases and defaults apply, or None.

    Raises:
        BadInputError: A column is neither in the writer's schema nor has it a default, or its type cannot be
            read from the type of the field. The message has the column, its type and the type of the field.
    """

    def __init__(self, columns: Any, writer: AvroType, reader: AvroType | None = None) -> None:
        self.code: list[list[int]] = []
        self.slot_levels: list[int] = []
        self.levels = 1
        self.columns = self._record(list(columns), writer, reader, 0, "")
        self._emit(operations.END)

    def _emit(self, op: int, a: int = 0, b: int = 0, level: int = 0) -> int:
        self.code.append([op, a, b, level, 0])
        return len(self.code) - 1

    def _slots(self, level: int, count: int = 1) -> int:
        self.slot_levels += [level] * count
        return len(self.slot_levels) - count

    def _level(self) -> int:
        self.levels += 1
        return self.levels - 1

    def _record(
        self, wanted: list[Any], writer: AvroType, reader: AvroType | None, level: int, above: str
    ) -> list[Column]:
        written_names = {field.name: field.name for field in writer.fields}
        source_of = written_names if reader is None else sources(reader.fields, written_names)
        read: dict[str, tuple[Any, AvroType | None]] = {}
        constants: dict[str, Column] = {}
        for column in wanted:
            declared = _declared(column.name, reader, above)
            source = source_of.get(column.name)
            if source is not None:
                read[source] = (column, declared.type if declared else None)
            elif declared is None or declared.default is NOT_GIVEN:
                raise _missing(f"{above}{column.name}", column.name, writer)
            else:
                constant = constant_of(column.type, declared.type, declared.default)
                constants[column.name] = Column(column.name, column.type, level, constant=constant)
        made: dict[str, Column] = {}
        for written in writer.fields:
            if written.name in read:
                column, declared_type = read[written.name]
                made[column.name] = self._read(
                    column.name, column.type, written.type, declared_type, level, f"{above}{column.name}"
                )
            else:
                self._skip(written.type)
        return [constants.get(column.name) or made[column.name] for column in wanted]

    def _read(
        self, name: str, kind: Any, avro: AvroType, reader: AvroType | None, level: int, path: str
    ) -> Column:
        """Emit the instructions that read one value into a column."""
        reader = reader.without_null[0] if reader and reader.without_null else None
        if avro.kind != "union":
            column = self._value(name, kind, avro, reader, level, path)
            if avro.kind == "null":
                column.null = self._slots(level)
                self._emit(operations.NULL, column.null, level=level)
            return column
        fitting = [part for part in avro.without_null if self._fits(kind, part)]
        if not fitting and avro.without_null:
            raise _unfit(path, kind, avro)
        first = fitting[0] if fitting else AvroType("null")
        self._emit(operations.UNION, b=len(avro.parts))
        table = [self._emit(operations.JUMP) for _ in avro.parts]
        null = self._slots(level)
        column = Column(name, kind, level)
        exits: list[int] = []
        for entry, part in zip(table, avro.parts, strict=True):
            self.code[entry][1] = len(self.code)
            if part.kind == "null":
                self._emit(operations.NULL, null, level=level)
            elif part is first:
                column = self._value(name, kind, part, reader, level, path)
            else:
                self._emit(operations.FAIL)
            exits.append(self._emit(operations.JUMP))
        for leave in exits:
            self.code[leave][1] = len(self.code)
        column.null = null
        return column

    @staticmethod
    def _fits(kind: Any, avro: AvroType) -> bool:
        import pyarrow.types as types

        nested = {"record": types.is_struct, "array": types.is_list, "map": types.is_map}
        return nested[avro.kind](kind) if avro.kind in nested else reads(avro, kind)

    def _value(
        self, name: str, kind: Any, avro: AvroType, reader: AvroType | None, level: int, path: str
    ) -> Column:
        column = Column(name, kind, level, avro, reader)
        if avro.kind == "null":
            return column
        if not self._fits(kind, avro):
            raise _unfit(path, kind, avro)
        if avro.kind == "record":
            record = reader if reader and reader.kind == "record" else None
            column.children = self._record(list(kind), avro, record, level, f"{path}.")
        elif avro.kind in ("array", "map"):
            self._items(column, kind, avro, reader, path)
        else:
            op, count = _READ[avro.kind]
            column.slot = self._slots(level, count)
            bits = _BITS.get(str(kind), 32 if avro.kind == "int" else 64)
            sizes = {"fixed": avro.size, "enum": len(avro.symbols), "boolean": 1, "float": 4, "double": 8}
            b = sizes.get(avro.kind, bits)
            self._emit(op, column.slot, b, level)
        return column

    def _items(self, column: Column, kind: Any, avro: AvroType, reader: AvroType | None, path: str) -> None:
        column.slot, column.items = self._slots(column.level), self._level()
        begin = self._emit(operations.ARRAY, column.slot, column.items, column.level)
        item = reader.parts[0] if reader and reader.kind == avro.kind else None
        if avro.kind == "map":
            if str(kind.key_type) != "string":
                raise _unfit(path, kind, avro)
            keys = self._value("key", kind.key_type, AvroType("string"), None, column.items, path)
            column.children = [keys]
        value = kind.item_type if avro.kind == "map" else kind.value_type
        column.children.append(self._read("item", value, avro.parts[0], item, column.items, f"{path}[]"))
        self._emit(operations.LOOP, begin, column.items)
        self.code[begin][4] = len(self.code)

    def _skip(self, avro: AvroType) -> None:
        if avro.kind in ("int", "long", "enum"):
            self._emit(operations.SKIP_LONG)
        elif avro.kind in ("bytes", "string"):
            self._emit(operations.SKIP_BYTES)
        elif avro.kind == "record":
            for inner in avro.fields:
                self._skip(inner.type)
        elif avro.kind == "union":
            self._emit(operations.UNION, b=len(avro.parts))
            table = [self._emit(operations.JUMP) for _ in avro.parts]
            exits = []
            for entry, part in zip(table, avro.parts, strict=True):
                self.code[entry][1] = len(self.code)
                self._skip(part)
                exits.append(self._emit(operations.JUMP))
            for leave in exits:
                self.code[leave][1] = len(self.code)
        elif avro.kind in ("array", "map"):
            items = self._level()
            begin = self._emit(operations.ARRAY, -1, items)
            if avro.kind == "map":
                self._emit(operations.SKIP_BYTES)
            self._skip(avro.parts[0])
            self._emit(operations.LOOP, begin, items)
            self.code[begin][4] = len(self.code)
        elif avro.kind != "null":
            size = {"boolean": 1, "float": 4, "double": 8}.get(avro.kind, avro.size)
            self._emit(operations.SKIP_FIXED, b=size)


def _declared(name: str, reader: AvroType | None, above: str) -> AvroField | None:
    """Return the field of the reader's schema for a column, or None without such a schema."""
    if reader is None:
        return None
    for found in reader.fields:
        if found.name == name:
            return found
    raise _missing(f"{above}{name}", name, reader)


def _missing(path: str, name: str, record: AvroType) -> BadInputError:
    names = [field.name for field in record.fields]
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'?" if near else f"It has: {', '.join(names) or 'no field'}"
    return BadInputError(f"column '{path}' is not in the Avro schema '{record.name}'. {hint}")


def _unfit(path: str, kind: Any, avro: AvroType) -> BadInputError:
    return BadInputError(
        f"column '{path}' is {kind}, and the Avro schema has {avro} there. "
        "Declare the column with the type of the schema, and cast it in the query"
    )


def constant_of(kind: Any, avro: AvroType, default: Any) -> Any:
    """Return a field's default, which is JSON, as an Arrow scalar of a column's type."""
    import pyarrow as pa

    return pa.scalar(_python(kind, avro.parts[0] if avro.kind == "union" else avro, default), kind)


def _python(kind: Any, avro: AvroType, value: Any) -> Any:
    import pyarrow as pa

    if value is None:
        return None
    if avro.kind == "union":
        avro = avro.parts[0]
    if avro.kind == "record":
        inner = {field.name: field.type for field in avro.fields}
        return {child.name: _python(child.type, inner[child.name], value.get(child.name)) for child in kind}
    if avro.kind == "array":
        return [_python(kind.value_type, avro.parts[0], item) for item in value]
    if avro.kind == "map":
        return [(key, _python(kind.item_type, avro.parts[0], item)) for key, item in value.items()]
    if avro.kind in ("bytes", "fixed"):
        data = value.encode("latin-1")
        if avro.logical == "decimal":
            from decimal import Decimal

            return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-avro.scale)
        return data
    if avro.logical:
        return pa.scalar(value, raw_type(avro)).cast(kind).as_py()
    return value


def raw_type(avro: AvroType) -> Any:
    """Return the Arrow type whose numbers are those of a date, time or timestamp of Avro."""
    import pyarrow as pa

    if avro.logical == "date":
        return pa.date32()
    unit = {"millis": "ms", "micros": "us", "nanos": "ns"}[avro.logical.rpartition("-")[2]]
    if avro.logical.startswith("time-"):
        return pa.time32("ms") if unit == "ms" else pa.time64(unit)
    return pa.timestamp(unit, None if avro.logical.startswith("local") else "UTC")
