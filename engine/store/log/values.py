"""Small values as bytes, for log entries and snapshots.

A value is None, a bool, an int of 64 bits, a str, bytes, a UUID, or a tuple of values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

Value = Any  # None | bool | int | str | bytes | UUID | tuple[Value, ...]

_INT = struct.Struct(">cq")
_SIZED = struct.Struct(">cI")
_LENGTH = struct.Struct(">I")
_LONG = struct.Struct(">q")


def encode(value: Value) -> bytes:
    """Return the bytes of ``value``. Raises TypeError for other types."""
    return b"".join(encode_parts(value))


def encode_parts(value: Value) -> list[bytes]:
    """Return the bytes of ``value`` in pieces, without a copy of large ones. Raises TypeError as `encode`."""
    parts: list[bytes] = []
    _encode(value, parts.append)
    return parts


def tuple_head(length: int) -> bytes:
    """Return what precedes the encoded items of a tuple of ``length`` items."""
    return _SIZED.pack(b"t", length)


def _encode(value: Value, add: Callable[[bytes], None]) -> None:
    kind = type(value)
    if kind is int:
        add(_INT.pack(b"i", value))
    elif kind in (bytes, bytearray, memoryview):
        add(_SIZED.pack(b"b", len(value)))
        add(value)
    elif kind is str:
        text = value.encode()
        add(_SIZED.pack(b"s", len(text)))
        add(text)
    elif isinstance(value, tuple):
        add(_SIZED.pack(b"t", len(value)))
        for item in value:
            if type(item) is bytes:  # most items: a call for each would take twice the time
                add(_SIZED.pack(b"b", len(item)))
                add(item)
            elif type(item) is int:
                add(_INT.pack(b"i", item))
            else:
                _encode(item, add)
    elif isinstance(value, UUID):
        add(b"u" + value.bytes)
    elif value is None or kind is bool:
        add({None: b"n", True: b"y", False: b"f"}[value])
    else:
        raise TypeError(f"{kind.__name__} cannot be a value of the log")


def decode(data: bytes | memoryview, offset: int = 0) -> tuple[Value, int]:
    """Return the value at ``offset`` and the offset after it.

    Raises ValueError for bytes that are no value.
    """
    tag = data[offset]
    offset += 1
    if tag == 0x69:  # i
        return _LONG.unpack_from(data, offset)[0], offset + 8
    if tag == 0x75:  # u
        return UUID(bytes=bytes(data[offset : offset + 16])), offset + 16
    if tag in _CONSTANTS:
        return _CONSTANTS[tag], offset
    if tag not in b"bst":
        raise ValueError(f"a value of the log cannot begin with byte {tag}")
    (length,) = _LENGTH.unpack_from(data, offset)
    return _decode_sized(tag, data, offset + 4, length)


_CONSTANTS = {ord("n"): None, ord("y"): True, ord("f"): False}


def _decode_sized(tag: int, data: bytes | memoryview, offset: int, length: int) -> tuple[Value, int]:
    if tag == 0x74:  # t
        items = []
        for _ in range(length):
            item, offset = decode(data, offset)
            items.append(item)
        return tuple(items), offset
    piece = bytes(data[offset : offset + length])
    return (piece.decode() if tag == 0x73 else piece), offset + length
