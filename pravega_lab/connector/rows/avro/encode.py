"""Arrow columns into Avro events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pravega_lab.connector.rows.avro import operations
from pravega_lab.connector.rows.avro.arrow_types import reads
from pravega_lab.connector.rows.avro.loops import loops_for
from pravega_lab.connector.rows.avro.program import raw_type
from pravega_lab.connector.rows.avro.schema import AvroType, parse_schema
from pravega_lab.errors import BadInputError

#: The most bytes of the number or branch of one value, and of the two of an array.
_VALUE_BYTES = 22


class AvroEncoder:
    """Encodes rows, each as one datum of Avro's binary encoding.

    Args:
        schema: The schema of the events: its JSON as text or values, or a parsed one.
        columns: The Arrow schema of the rows.

    Raises:
        BadInputError: A field that cannot be null has no column, a column has no field, or a field cannot
            contain the type of its column.
    """

    def __init__(self, schema: str | bytes | Mapping[str, Any] | AvroType, columns: Any) -> None:
        import pyarrow as pa

        self._schema = parse_schema(schema)
        self._columns = pa.schema(columns)
        names = [field.name for field in self._schema.fields]
        for name in self._columns.names:
            if name not in names:
                raise BadInputError(
                    f"column '{name}' is not in the Avro schema '{self._schema.name}', which has "
                    f"{', '.join(names)}. Drop the column, or add the field"
                )
        self.encode(pa.RecordBatch.from_pylist([], self._columns))

    def encode(self, rows: Any) -> Any:
        """Return the rows of a record batch as an Arrow array of binary with one event per row.

        Raises:
            BadInputError: A value is null where the schema has no null, or is no symbol of an enum.
        """
        import numpy as np
        import pyarrow as pa

        writer = _Columns()
        writer.record(self._schema, dict(zip(rows.schema.names, rows.columns, strict=True)), 0, "", None)
        writer.emit(operations.END)
        sizes = [len(values) for values in writer.values]
        base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        empty = np.zeros(0, np.int64)
        values = np.concatenate([*writer.values, empty])
        data = np.concatenate([*writer.data, np.zeros(1, np.uint8)])
        room = len(data) + int(base[-1]) * _VALUE_BYTES + rows.num_rows * (len(writer.code) + _VALUE_BYTES)
        out, offsets = np.empty(room, np.uint8), np.zeros(rows.num_rows + 1, np.int64)
        counts = np.zeros(writer.levels, np.int64)
        program = np.array(writer.code, np.int64)
        loops = loops_for(rows.num_rows)
        loops.encode_rows(
            loops.view(data), values, base, program, counts, np.zeros_like(counts), out, offsets
        )
        if offsets[-1] >= 1 << 31:
            raise BadInputError("the events of one batch have more than 2 GiB. Write smaller batches")
        payload = pa.py_buffer(out[: offsets[-1]].copy())
        buffers = [None, pa.py_buffer(offsets.astype(np.int32)), payload]
        return pa.Array.from_buffers(pa.binary(), rows.num_rows, buffers)


class _Columns:
    """The instructions and the values of `operations.encode_rows` for the columns of one batch."""

    def __init__(self) -> None:
        self.code: list[list[int]] = []
        self.values: list[Any] = []
        self.data: list[Any] = []
        self.levels = 1
        self._data_bytes = 0

    def emit(self, op: int, a: int = 0, b: int = 0, level: int = 0) -> int:
        self.code.append([op, a, b, level, 0])
        return len(self.code) - 1

    def _slot(self, values: Any) -> int:
        import numpy as np

        self.values.append(np.ascontiguousarray(values, np.int64))
        return len(self.values) - 1

    def record(self, avro: AvroType, columns: dict[str, Any], level: int, above: str, mask: Any) -> None:
        """Emit the fields of a record. ``mask`` says which rows exist, or is None if all do."""
        for field in avro.fields:
            path = f"{above}{field.name}"
            column = columns.get(field.name)
            if column is not None:
                self.value(field.type, column, level, path, mask)
            elif any(part.kind == "null" for part in field.type.parts if field.type.kind == "union"):
                nulls = [part.kind for part in field.type.parts].index("null")
                self.emit(operations.LITERAL, nulls << 1)
            else:
                raise BadInputError(
                    f"the Avro schema has field '{path}', which is {field.type} and cannot be null, and the "
                    "rows have no such column. Add it, or make the field a union with null"
                )

    def value(self, avro: AvroType, column: Any, level: int, path: str, mask: Any) -> None:
        """Emit one value of a column, whose array has as many items as its level."""
        import numpy as np

        valid = column.is_valid().to_numpy(zero_copy_only=False)
        exists = valid if mask is None else valid & mask
        if avro.kind != "union":
            if not (valid if mask is None else valid | ~mask).all():
                raise BadInputError(
                    f"column '{path}' has a null, and the Avro schema has {avro} there. Filter the nulls "
                    "out, or make the field a union with null"
                )
            self._plain(avro, column, level, path, exists)
            return
        kinds = [part.kind for part in avro.parts]
        fitting = [i for i, part in enumerate(avro.parts) if _fits(column.type, part)]
        if not fitting:
            raise _unfit(path, column.type, avro)
        if "null" not in kinds:
            self.emit(operations.LITERAL, fitting[0] << 1)
            self.value(avro.parts[fitting[0]], column, level, path, mask)
            return
        nulls = self._slot(np.logical_not(valid))
        branch = self.emit(operations.NULLABLE, nulls, fitting[0] << 8 | kinds.index("null"), level)
        if kinds[fitting[0]] != "null":
            self._plain(avro.parts[fitting[0]], column, level, path, exists)
        self.code[branch][4] = len(self.code)

    def _plain(self, avro: AvroType, column: Any, level: int, path: str, exists: Any) -> None:
        import numpy as np
        import pyarrow as pa

        if not _fits(column.type, avro):
            raise _unfit(path, column.type, avro)
        if avro.kind == "record":
            names = [field.name for field in column.type]
            children = {name: column.field(index) for index, name in enumerate(names)}
            self.record(avro, children, level, f"{path}.", exists)
        elif avro.kind in ("array", "map"):
            self._items(avro, column, level, path, exists)
        elif avro.kind == "null":
            return
        elif avro.logical == "decimal":
            self._decimals(avro, column, level)
        elif avro.kind in ("bytes", "string", "fixed"):
            offsets = np.frombuffer(column.buffers()[1] or b"\0\0\0\0", np.int32)
            offsets = offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)
            lengths = np.diff(offsets) if len(column) else np.zeros(0, np.int64)
            if avro.kind == "fixed" and (lengths[exists] != avro.size).any():
                raise BadInputError(
                    f"column '{path}' has values that are not of the {avro.size} bytes of {avro}"
                )
            self._texts(offsets[:-1], lengths, column.buffers()[2], avro.kind == "fixed", level)
        elif avro.kind == "enum":
            indices = pa.compute.index_in(column, pa.array(avro.symbols, pa.string()))
            known = indices.is_valid().to_numpy(zero_copy_only=False)
            if (exists & ~known).any():
                text = column.filter(pa.array(exists & ~known))[0].as_py()
                raise BadInputError(f"column '{path}' has '{text}', which is no symbol of {avro}")
            self.emit(operations.LONG, self._slot(indices.fill_null(0).to_numpy()), level=level)
        else:
            self._number(avro, column, level)

    def _number(self, avro: AvroType, column: Any, level: int) -> None:
        import numpy as np
        import pyarrow as pa

        if avro.logical:
            raw = raw_type(avro)
            if pa.types.is_timestamp(raw):  # the numbers count from the epoch, with a zone and without
                column = column.cast(pa.timestamp(raw.unit, column.type.tz), safe=False)
            elif not pa.types.is_integer(column.type):
                column = column.cast(raw, safe=False)
            column = column.view(pa.int32() if raw.bit_width == 32 else pa.int64())
        op = {"boolean": operations.BOOLEAN, "double": operations.DOUBLE, "float": operations.FLOAT}
        if avro.kind == "boolean":
            column = column.cast(pa.int8())
        elif avro.kind in op:
            column = column.cast(pa.float64() if avro.kind == "double" else pa.float32())
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        if avro.kind == "double":
            values = np.ascontiguousarray(values).view(np.int64)
        elif avro.kind == "float":
            values = np.ascontiguousarray(values).view(np.uint32)
        self.emit(op.get(avro.kind, operations.LONG), self._slot(values), level=level)

    def _texts(self, starts: Any, lengths: Any, data: Any, is_fixed: bool, level: int) -> None:
        import numpy as np

        slot = self._slot(starts + self._data_bytes)
        self._slot(lengths)
        bytes_ = np.frombuffer(data or b"", np.uint8)
        self.data.append(bytes_)
        self._data_bytes += len(bytes_)
        self.emit(operations.FIXED if is_fixed else operations.BYTES, slot, level=level)

    def _decimals(self, avro: AvroType, column: Any, level: int) -> None:
        """Emit decimals as big-endian integers with as many bytes as the precision needs."""
        import numpy as np

        size = avro.size or ((10**column.type.precision).bit_length() + 8) // 8
        little = np.frombuffer(column.buffers()[1] or b"", np.uint8).reshape(-1, 16)
        little = little[column.offset : column.offset + len(column)]
        big = np.ascontiguousarray(np.flip(little, 1))
        if size > 16:
            sign = np.where(big[:, :1] > 127, np.uint8(255), np.uint8(0))
            big = np.concatenate([np.repeat(sign, size - 16, axis=1), big], axis=1)
        big = np.ascontiguousarray(big[:, -size:])
        starts = np.arange(len(big), dtype=np.int64) * size
        self._texts(starts, np.full(len(big), size, np.int64), big.tobytes(), avro.kind == "fixed", level)

    def _items(self, avro: AvroType, column: Any, level: int, path: str, exists: Any) -> None:
        import numpy as np
        import pyarrow as pa

        offsets = np.frombuffer(column.buffers()[1] or b"\0\0\0\0", np.int32)
        offsets = offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)
        slot = self._slot(offsets[:-1])
        self._slot(np.diff(offsets) if len(column) else np.zeros(0, np.int64))
        items, self.levels = self.levels, self.levels + 1
        begin = self.emit(operations.ARRAY, slot, items, level)
        values = column.items if pa.types.is_map(column.type) else column.values
        used = np.zeros(len(values) + 1, np.int64)  # +1 where a list begins, -1 where it ends
        np.add.at(used, offsets[:-1][exists], 1)
        np.add.at(used, offsets[1:][exists], -1)
        mask = np.cumsum(used)[:-1] > 0
        if pa.types.is_map(column.type):
            self.value(AvroType("string"), column.keys, items, f"{path}[]", mask)
        self.value(avro.parts[0], values, items, f"{path}[]", mask)
        self.emit(operations.LOOP, begin, items)
        self.code[begin][4] = len(self.code)


def _fits(kind: Any, avro: AvroType) -> bool:
    """Return whether every value of an Arrow type is a value of an Avro type, which may be wider."""
    import pyarrow.types as types

    if avro.kind == "null":
        return bool(types.is_null(kind))
    nested = {"record": types.is_struct, "array": types.is_list, "map": types.is_map}
    if avro.kind in nested:
        return bool(nested[avro.kind](kind))
    if types.is_decimal128(kind):
        fits = kind.scale == avro.scale and kind.precision <= avro.precision
        return avro.logical == "decimal" and fits
    if avro.logical and not types.is_integer(kind):
        return reads(avro, kind)
    return avro.kind in _WRITTEN_TO.get(str(kind), ())


_WRITTEN_TO = {
    "bool": ("boolean",),
    "float": ("float", "double"),
    "double": ("double",),
    **dict.fromkeys(("int8", "int16", "int32"), ("int", "long", "float", "double")),
    "int64": ("long", "double"),
    "string": ("string", "enum"),
    "binary": ("bytes", "fixed"),
}


def _unfit(path: str, kind: Any, avro: AvroType) -> BadInputError:
    return BadInputError(
        f"column '{path}' is {kind}, and the Avro schema has {avro} there, which cannot contain it. "
        "Cast the column to the type of the schema"
    )
