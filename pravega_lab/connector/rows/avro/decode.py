"""Avro events into Arrow columns.

`AvroDecoder` is a pure function of its arguments and the events: it keeps no event, reads no file and knows
no registry. A caller whose events carry a header passes its length as ``header_bytes``, and decodes events of
several schemas with one decoder for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pravega_lab.connector.rows.avro.arrow_types import arrow_schema_of
from pravega_lab.connector.rows.avro.flat import flat_steps
from pravega_lab.connector.rows.avro.flat_kernels import BLOCK_ROWS, SCRATCH_ROWS
from pravega_lab.connector.rows.avro.loops import loops_for
from pravega_lab.connector.rows.avro.operations import REASONS
from pravega_lab.connector.rows.avro.program import Column, Program, raw_type
from pravega_lab.connector.rows.avro.schema import AvroType, parse_schema
from pravega_lab.connector.rows.parsing import UnreadableRowError


class AvroDecoder:
    """Decodes events, each of which is one datum of Avro's binary encoding, into columns.

    Args:
        writer: The schema with which the events were written: its JSON as text or values, or a parsed one.
        columns: The Arrow schema of the wanted columns. None means all fields of ``reader`` or ``writer``.
        reader: The schema with which they are read, for aliases and for defaults of fields that the writer
            did not have yet. None means that every column is a field of ``writer``.
        header_bytes: How many bytes of each event come before the datum.
        may_be_followed: Whether bytes may follow the datum. They are ignored then.

    Raises:
        BadInputError: A schema is none, or a column cannot be read with it. The message names the column.
    """

    def __init__(
        self,
        writer: str | bytes | Mapping[str, Any] | AvroType,
        columns: Any = None,
        reader: str | bytes | Mapping[str, Any] | AvroType | None = None,
        *,
        header_bytes: int = 0,
        may_be_followed: bool = False,
    ) -> None:
        import numpy as np
        import pyarrow as pa

        written = parse_schema(writer)
        wanted = None if reader is None else parse_schema(reader)
        self.schema = arrow_schema_of(wanted or written) if columns is None else pa.schema(columns)
        self._header_bytes, self._may_be_followed = header_bytes, may_be_followed
        self._made = Program(self.schema, written, wanted)
        self._program = np.array(self._made.code, np.int64)
        self._slot_levels = np.array(self._made.slot_levels, np.int64)
        steps = flat_steps(self._made.code)
        self._steps = None if steps is None else np.array(steps, np.int64).reshape(-1, 5)

    def decode(self, events: Any) -> Any:
        """Return a record batch of ``schema`` with one row per event, in the order of ``events``.

        Args:
            events: An Arrow array of binary, without nulls. It may be a slice.

        Raises:
            UnreadableRowError: An event is not exactly one datum of the writer's schema. The message is that
                of the first one. No row is returned; `parsing.parse_events` finds all such events.
        """
        import numpy as np
        import pyarrow as pa

        offsets = np.frombuffer(events.buffers()[1], np.int32)[
            events.offset : events.offset + len(events) + 1
        ]
        data = np.frombuffer(events.buffers()[2] or b"", np.uint8)
        starts, ends = offsets[:-1] + np.int32(self._header_bytes), offsets[1:]
        built = self._flat(data, starts, ends) or self._nested(data, starts, ends)
        try:
            columns = [built.column(column) for column in self._made.columns]
        except (pa.ArrowInvalid, OverflowError) as error:
            raise UnreadableRowError(str(error)) from None
        if not columns:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(events), pa.struct([])))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _flat(self, data: Any, starts: Any, ends: Any) -> _Builder | None:
        """Decode column after column. Return None if values are nested, or if an event is damaged."""
        import numpy as np

        if self._steps is None:
            return None
        rows, loops = len(starts), loops_for(len(starts))
        out = np.empty((len(self._slot_levels), rows), np.int64)
        scratch = np.zeros((SCRATCH_ROWS, BLOCK_ROWS), np.int64)
        followed = self._may_be_followed
        if not loops.decode_columns(loops.view(data), starts, ends, self._steps, out, scratch, followed):
            return None
        base = np.arange(len(out) + 1, dtype=np.int64) * rows
        return _Builder(data, out.reshape(-1), base, np.full(self._made.levels, rows, np.int64))

    def _nested(self, data: Any, starts: Any, ends: Any) -> _Builder:
        """Decode row after row."""
        import numpy as np

        counts = np.zeros(self._made.levels, np.int64)
        counts[0] = len(starts)
        if self._made.levels > 1:
            self._run(data, starts, ends, np.zeros(0, np.int64), np.zeros(0, np.int64), counts, False)
        sizes = counts[self._slot_levels]
        base = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=base[1:])
        out = np.zeros(base[-1], np.int64)
        self._run(data, starts, ends, out, base, np.zeros_like(counts), True)
        return _Builder(data, out, base, counts)

    def _run(
        self, data: Any, starts: Any, ends: Any, out: Any, base: Any, counts: Any, is_writing: bool
    ) -> None:
        import numpy as np

        loops, left = loops_for(len(starts)), np.zeros(len(counts), np.int64)
        row, reason = loops.decode_rows(
            *(loops.view(data), starts, ends, self._program, out, base, counts, left),
            *(is_writing, self._may_be_followed),
        )
        if row >= 0:
            raise UnreadableRowError(f"it is no datum of its Avro schema: {REASONS[reason]}")


class _Builder:
    """Arrow arrays of what the kernel has left in the slots."""

    def __init__(self, data: Any, out: Any, base: Any, counts: Any) -> None:
        self._data, self._out, self._base, self._counts = data, out, base, counts

    def _slot(self, slot: int) -> Any:
        return self._out[self._base[slot] : self._base[slot + 1]]

    def column(self, column: Column) -> Any:
        """Return the array of a column."""
        import pyarrow as pa

        count = int(self._counts[column.level])
        if column.avro is None:
            return (
                pa.nulls(count, column.type) if column.constant is None else pa.repeat(column.constant, count)
            )
        if column.avro.kind == "null":
            return pa.nulls(count, column.type)
        nulls = self._slot(column.null) if column.null >= 0 else None
        if column.avro.kind == "record":
            return self._struct(column, count, nulls)
        if column.avro.kind in ("array", "map"):
            return self._list(column, nulls)
        if column.avro.kind in ("bytes", "string", "fixed"):
            return self._bytes(column, nulls)
        made = self._numbers(column, nulls)
        if nulls is not None and nulls.any():
            made = _masked(made, nulls)
        return made

    def _numbers(self, column: Column, nulls: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        avro, values = column.avro, self._slot(column.slot)
        assert avro is not None
        if avro.kind == "boolean":
            bits = np.packbits(values.astype(np.uint8), bitorder="little")
            return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
        if avro.kind == "enum":
            return _symbols(column, values, nulls)
        if avro.kind == "double":
            return pa.array(values.view(np.float64), column.type)
        if avro.kind == "float":
            floats = values.astype(np.uint32).view(np.float32)
            return pa.array(floats, pa.float32()).cast(column.type)
        if avro.logical and not pa.types.is_integer(column.type):
            raw = raw_type(avro)
            narrow = values.astype(np.int32) if raw.bit_width == 32 else values
            found = pa.Array.from_buffers(raw, len(values), [None, pa.py_buffer(narrow)])
            return _with_zone(found, column.type)
        return pa.array(values.astype(column.type.to_pandas_dtype(), copy=False), column.type)

    def _bytes(self, column: Column, nulls: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        starts, lengths = self._slot(column.slot), self._slot(column.slot + 1)
        if pa.types.is_decimal(column.type):
            return self._decimals(column, starts, lengths, nulls)
        ends = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(lengths, out=ends[1:])
        if ends[-1] >= 1 << 31:
            raise UnreadableRowError("the texts of the batch have more than 2 GiB")
        payload = np.empty(ends[-1], np.uint8)
        loops = loops_for(len(starts))
        loops.gather(loops.view(self._data), starts, ends, payload)
        buffers = [_validity(nulls), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(payload)]
        found = pa.Array.from_buffers(column.type, len(starts), buffers)
        if pa.types.is_string(column.type):
            found.validate(full=True)
        return found

    def _decimals(self, column: Column, starts: Any, lengths: Any, nulls: Any) -> Any:
        """Return decimals of big-endian integers, which Arrow keeps as 16 little-endian bytes."""
        import numpy as np
        import pyarrow as pa

        if len(lengths) and (int(lengths.max()) > 16 or (nulls is None and int(lengths.min()) < 1)):
            raise UnreadableRowError("a decimal has no byte, or more than 16")
        padded = self._data if len(self._data) else np.zeros(1, np.uint8)
        first = padded[np.minimum(starts, len(padded) - 1)]
        sign = np.where((lengths > 0) & (first > 127), np.uint8(255), np.uint8(0))
        found = np.empty((len(starts), 16), np.uint8)
        for place in range(16):
            at = np.clip(starts + lengths - 1 - place, 0, len(padded) - 1)
            found[:, place] = np.where(place < lengths, padded[at], sign)
        buffers = [_validity(nulls), pa.py_buffer(found)]
        made = pa.Array.from_buffers(column.type, len(starts), buffers)
        made.validate(full=True)
        return made

    def _struct(self, column: Column, count: int, nulls: Any) -> Any:
        import pyarrow as pa

        children = [self.column(child) for child in column.children]
        return pa.Array.from_buffers(column.type, count, [_validity(nulls)], children=children)

    def _list(self, column: Column, nulls: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        ends = self._slot(column.slot)
        offsets = np.zeros(len(ends) + 1, np.int32)
        offsets[1:] = np.maximum.accumulate(ends)  # a null has left 0
        children = [self.column(child) for child in column.children]
        if len(children) == 2:
            pairs = pa.struct([column.type.key_field, column.type.item_field])
            count = int(self._counts[column.items])
            children = [pa.Array.from_buffers(pairs, count, [None], children=children)]
        buffers = [_validity(nulls), pa.py_buffer(offsets)]
        return pa.Array.from_buffers(column.type, len(ends), buffers, children=children)


def _validity(nulls: Any) -> Any:
    """Return the validity bitmap of an Arrow array, or None if no value is null."""
    import numpy as np
    import pyarrow as pa

    if nulls is None or not nulls.any():
        return None
    return pa.py_buffer(np.packbits(nulls == 0, bitorder="little"))


def _masked(array: Any, nulls: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    buffers = [_validity(nulls), *array.buffers()[1:]]
    if pa.types.is_string(array.type):  # symbols
        return pc.if_else(pa.array(nulls == 0), array, None)
    return pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)


def _symbols(column: Column, values: Any, nulls: Any) -> Any:
    """Return the symbols of an enum as text; one that the reader does not know is the reader's default."""
    import pyarrow as pa

    avro, reader = column.avro, column.reader
    assert avro is not None
    symbols: list[str | None] = list(avro.symbols)
    if reader is not None and reader.kind == "enum":
        symbols = [symbol if symbol in reader.symbols else reader.default_symbol for symbol in symbols]
    found = pa.array(symbols, pa.string()).take(pa.array(values))
    if (
        found.null_count
        and (
            found.is_null().to_numpy(zero_copy_only=False) & ((nulls if nulls is not None else 0) == 0)
        ).any()
    ):
        raise UnreadableRowError("an enum has a symbol that the reader's schema does not know")
    return found


def _with_zone(array: Any, kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):  # a cast between zone and no zone would convert the clock
        array = array.cast(pa.timestamp(array.type.unit)) if array.type.tz is None else array
        return array.cast(pa.timestamp(kind.unit, array.type.tz)).view(pa.int64()).view(kind)
    return array.cast(kind)
