"""Reads and writes the fields that are neither of fixed size nor plain counted bytes (pravega.md D2).

Each form reads from ``data[at:end]`` and returns the value and the position after it. A count is checked
against the bytes that are left before anything is created, so no frame can cause more work than its size
allows.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.java_text import text_from_bytes, text_to_bytes
from pravega_lab.protocol.wire.commands import (
    NO_VERSION,
    AttributeUpdate,
    TableEntry,
    TableKey,
    TableSegmentOptions,
)

_I32 = struct.Struct(">i")
_I64 = struct.Struct(">q")
_U16 = struct.Struct(">H")
_TWO_I32 = struct.Struct(">ii")
_VERSION_AND_VALUE = struct.Struct(">qii")  # between a key that is not empty and its value
_ATTRIBUTE = struct.Struct(">16sBqq")
_OPTIONS = struct.Struct(">?iq")

EVENT_TYPE = 0

ITEMS_MAX = 10_000
"""Items of a list in one command. Reading a longer list would hold up every other connection of a store."""


class Form(NamedTuple):
    """The read and write functions of one kind of field."""

    read: Callable[[bytes, int, int], tuple[Any, int]]
    write: Callable[[Any], bytes]


def _unpack(layout: struct.Struct, data: bytes, at: int, end: int) -> tuple[Any, ...]:
    if at + layout.size > end:
        raise ProtocolError(
            f"the frame ends within a field: {layout.size} bytes are expected, {end - at} left"
        )
    return layout.unpack_from(data, at)


def _read_count(data: bytes, at: int, end: int, bytes_min: int) -> tuple[int, int]:
    (count,) = _unpack(_I32, data, at, end)
    at += 4
    if count > ITEMS_MAX:
        raise ProtocolError(f"a list has {count} items; the most is {ITEMS_MAX}. Send them in several lists")
    if count < 0 or count * bytes_min > end - at:
        raise ProtocolError(f"a list claims {count} items of at least {bytes_min} bytes; {end - at} are left")
    return count, at


def _read_piece(data: bytes, at: int, end: int, length: int) -> tuple[bytes, int]:
    if length < 0 or length > end - at:
        raise ProtocolError(f"a field claims {length} bytes; the frame has {end - at} left")
    return data[at : at + length], at + length


# ---- single values ------------------------------------------------------------------------------


def _read_rest(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    return data[at:end], end


def _read_optional_i64(data: bytes, at: int, end: int) -> tuple[int | None, int]:
    if end - at < _I64.size:
        return None, end
    return _unpack(_I64, data, at, end)[0], at + 8


def _write_optional_i64(value: int | None) -> bytes:
    return b"" if value is None else _I64.pack(value)


def _read_event(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    kind, length = _unpack(_TWO_I32, data, at, end)
    if kind != EVENT_TYPE:
        raise ProtocolError(f"an event begins with type {kind}; it must be {EVENT_TYPE}")
    return _read_piece(data, at + 8, end, length)


def _write_event(payload: bytes) -> bytes:
    return _TWO_I32.pack(EVENT_TYPE, len(payload)) + payload


def _read_options(data: bytes, at: int, end: int) -> tuple[TableSegmentOptions | None, int]:
    if end - at < _OPTIONS.size:
        return None, end
    return TableSegmentOptions(*_unpack(_OPTIONS, data, at, end)), at + _OPTIONS.size


def _write_options(options: TableSegmentOptions | None) -> bytes:
    if options is None:
        return b""
    return _OPTIONS.pack(options.sorted, options.key_length, options.rollover_size_bytes)


# ---- lists --------------------------------------------------------------------------------------


def _list_of(
    read_item: Callable[[bytes, int, int], tuple[Any, int]],
    write_item: Callable[[Any], bytes],
    bytes_min: int,
) -> Form:
    def read(data: bytes, at: int, end: int) -> tuple[Any, int]:
        count, at = _read_count(data, at, end, bytes_min)
        items = []
        for _ in range(count):
            item, at = read_item(data, at, end)
            items.append(item)
        return tuple(items), at

    def write(items: Any) -> bytes:
        return _I32.pack(len(items)) + b"".join(map(write_item, items))

    return Form(read, write)


def _read_i64(data: bytes, at: int, end: int) -> tuple[int, int]:
    return _unpack(_I64, data, at, end)[0], at + 8


def _read_text(data: bytes, at: int, end: int) -> tuple[str, int]:
    (length,) = _unpack(_U16, data, at, end)
    piece, at = _read_piece(data, at + 2, end, length)
    return text_from_bytes(piece), at


def _write_text(text: str) -> bytes:
    data = text_to_bytes(text)
    return _U16.pack(len(data)) + data


def _read_merged(data: bytes, at: int, end: int) -> tuple[tuple[str, int], int]:
    source, at = _read_text(data, at, end)
    offset, at = _read_i64(data, at, end)
    return (source, offset), at


def _write_merged(item: tuple[str, int]) -> bytes:
    return _write_text(item[0]) + _I64.pack(item[1])


def _read_key(data: bytes, at: int, end: int) -> tuple[TableKey, int]:
    """Read a key. Its leading size is redundant, and Java's is wrong for an empty key."""
    _, length = _unpack(_TWO_I32, data, at, end)
    key, at = _read_piece(data, at + 8, end, length)
    if not key:
        return TableKey(b"", NO_VERSION), at
    version, at = _read_i64(data, at, end)
    return TableKey(key, version), at


def _write_key(key: TableKey) -> bytes:
    data = key.key
    head = _TWO_I32.pack(4 + len(data) + 8, len(data)) + data
    return head + _I64.pack(key.version) if data else head  # Java writes no version after an empty key


def _read_entry(data: bytes, at: int, end: int) -> tuple[TableEntry, int]:
    """Read a key and its value. A list has thousands of them, so the usual entry is read in one go."""
    if at + _TWO_I32.size <= end:
        _, length = _TWO_I32.unpack_from(data, at)
        key_at = at + _TWO_I32.size
        key_end = key_at + length
        value_at = key_end + _VERSION_AND_VALUE.size
        if length > 0 and value_at <= end:
            version, _, length = _VERSION_AND_VALUE.unpack_from(data, key_end)
            value_end = value_at + length
            if value_at <= value_end <= end:
                return TableEntry(
                    TableKey(data[key_at:key_end], version), data[value_at:value_end]
                ), value_end
    return _read_other_entry(data, at, end)


def _read_other_entry(data: bytes, at: int, end: int) -> tuple[TableEntry, int]:
    """Read an entry with an empty key. Raises ProtocolError for one that the frame does not hold."""
    key, at = _read_key(data, at, end)
    _, length = _unpack(_TWO_I32, data, at, end)
    value, at = _read_piece(data, at + 8, end, length)
    return TableEntry(key, value), at


def _write_entry(entry: TableEntry) -> bytes:
    length = len(entry.value)
    return _write_key(entry.key) + _TWO_I32.pack(4 + length, length) + entry.value


def _read_attribute(data: bytes, at: int, end: int) -> tuple[AttributeUpdate, int]:
    attribute_id, kind, new, old = _unpack(_ATTRIBUTE, data, at, end)
    return AttributeUpdate(UUID(bytes=attribute_id), kind, new, old), at + _ATTRIBUTE.size


def _write_attribute(update: AttributeUpdate) -> bytes:
    return _ATTRIBUTE.pack(update.attribute_id.bytes, update.kind, update.new_value, update.old_value)


def _optional(form: Form) -> Form:
    def read(data: bytes, at: int, end: int) -> tuple[Any, int]:
        return (None, end) if end - at < _I32.size else form.read(data, at, end)

    def write(value: Any) -> bytes:
        return b"" if value is None else form.write(value)

    return Form(read, write)


REST = Form(_read_rest, lambda data: data)
FORMS: dict[str, Form] = {
    "rest": REST,
    "i64?": Form(_read_optional_i64, _write_optional_i64),
    "event": Form(_read_event, _write_event),
    "table options?": Form(_read_options, _write_options),
    "i64*": _list_of(_read_i64, _I64.pack, 8),
    "utf*": _list_of(_read_text, _write_text, 2),
    "merged*": _list_of(_read_merged, _write_merged, 10),
    "key*": _list_of(_read_key, _write_key, 8),
    "entry*": _list_of(_read_entry, _write_entry, 16),
    "attribute*?": _optional(_list_of(_read_attribute, _write_attribute, _ATTRIBUTE.size)),
}
LISTS = frozenset(kind for kind in FORMS if "*" in kind)
