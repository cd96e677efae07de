"""Java's versioned metadata format (pravega.md A14): compact numbers, formats of values, and envelopes.

An envelope is byte 0, a type id if there are several types, the version, and the revisions, each with its
length. An older reader skips the revisions that it does not know. ``Layout`` reads and writes the fields of
a dataclass by such revisions. What it does not understand is kept in ``Leftover``, so an object that is read
and written again has the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.java_text import text_from_bytes, text_to_bytes

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

FORMAT = 0
COMPACT_INT_END = 2**30
COMPACT_LONG_END = 2**62
COMPACT_SIGNED_END = 2**61

_LENGTH = struct.Struct(">i")


class Input:
    """A position in bytes. Every read raises ``ProtocolError`` if the bytes end too early."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        """Return the number of bytes left."""
        return len(self.data) - self.at

    def take(self, length: int) -> bytes:
        """Return the next ``length`` bytes."""
        if not 0 <= length <= self.left:
            raise ProtocolError(f"{length} bytes are expected at {self.at}, {self.left} are left")
        self.at += length
        return self.data[self.at - length : self.at]

    def rest(self) -> bytes:
        """Return all bytes left."""
        return self.take(self.left)


class Format(NamedTuple, Generic[T]):
    """The read and write functions of one kind of value."""

    read: Callable[[Input], T]
    write: Callable[[T], bytes]


# ---- single values ------------------------------------------------------------------------------


def _packed(layout: str) -> Format[Any]:
    packer = struct.Struct(layout)

    def read(data: Input) -> Any:
        return packer.unpack(data.take(packer.size))[0]

    return Format(read, packer.pack)


U8: Format[int] = _packed(">B")
I32: Format[int] = _packed(">i")
I64: Format[int] = _packed(">q")
U16: Format[int] = _packed(">H")
BOOL: Format[bool] = _packed(">?")
DOUBLE: Format[float] = _packed(">d")


def _read_text(data: Input) -> str:
    return text_from_bytes(data.take(U16.read(data)))


def _write_text(text: str) -> bytes:
    encoded = text_to_bytes(text)
    return U16.write(len(encoded)) + encoded


UTF: Format[str] = Format(_read_text, _write_text)
UUID_: Format[UUID] = Format(lambda data: UUID(bytes=data.take(16)), lambda value: value.bytes)


# ---- compact numbers: the first bits say how many bytes -----------------------------------------


def _read_compact_int(data: Input) -> int:
    first = data.take(1)
    kind = first[0] >> 6
    if kind < 2:
        return first[0]
    if kind == 2:
        return int.from_bytes(first + data.take(1), "big") & 0x3FFF
    return int.from_bytes(first + data.take(3), "big") & 0x3FFFFFFF


def _write_compact_int(value: int) -> bytes:
    _check_range(value, 0, COMPACT_INT_END)
    if value <= 0x7F:
        return value.to_bytes(1, "big")
    if value <= 0x3FFF:
        return (value | 0x8000).to_bytes(2, "big")
    return (value | 0xC0000000).to_bytes(4, "big")


def _read_compact_long(data: Input) -> int:
    first = data.take(1)
    size = 1 << (first[0] >> 6)  # 1, 2, 4 or 8 bytes
    return int.from_bytes(first + data.take(size - 1), "big") & (1 << 8 * size - 2) - 1


def _write_compact_long(value: int) -> bytes:
    _check_range(value, 0, COMPACT_LONG_END)
    power = next(power for power in range(4) if value >> (8 << power) - 2 == 0)
    size = 1 << power
    return (value | power << 8 * size - 2).to_bytes(size, "big")


def _read_compact_signed(data: Input) -> int:
    first = data.take(1)
    size = 1 << (first[0] >> 5 & 3)
    value = int.from_bytes(first + data.take(size - 1), "big") & (1 << 8 * size - 3) - 1
    return -value - 1 if first[0] & 0x80 else value


def _write_compact_signed(value: int) -> bytes:
    _check_range(value, -COMPACT_SIGNED_END, COMPACT_SIGNED_END)
    sign, value = (4, -value - 1) if value < 0 else (0, value)
    power = next(power for power in range(4) if value >> (8 << power) - 3 == 0)
    size = 1 << power
    return (value | (sign | power) << 8 * size - 3).to_bytes(size, "big")


def _check_range(value: int, low: int, end: int) -> None:
    if not low <= value < end:
        raise BadInputError(f"{value} has no compact form; it must be at least {low} and below {end}")


COMPACT_INT = Format(_read_compact_int, _write_compact_int)
COMPACT_LONG = Format(_read_compact_long, _write_compact_long)
COMPACT_SIGNED = Format(_read_compact_signed, _write_compact_signed)


# ---- collections --------------------------------------------------------------------------------


def _read_count(data: Input) -> int:
    count = COMPACT_INT.read(data)
    if count > data.left:  # each item has at least one byte
        raise ProtocolError(f"{count} items are claimed at {data.at}, {data.left} bytes are left")
    return count


def list_of(item: Format[T]) -> Format[tuple[T, ...]]:
    """Return the format of a list: its length, then its items."""

    def read(data: Input) -> tuple[T, ...]:
        return tuple(item.read(data) for _ in range(_read_count(data)))

    def write(values: tuple[T, ...]) -> bytes:
        return COMPACT_INT.write(len(values)) + b"".join(map(item.write, values))

    return Format(read, write)


def map_of(key: Format[K], value: Format[V]) -> Format[dict[K, V]]:
    """Return the format of a map: its size, then keys and values. The order of the bytes is kept."""

    def read(data: Input) -> dict[K, V]:
        return {key.read(data): value.read(data) for _ in range(_read_count(data))}

    def write(values: dict[K, V]) -> bytes:
        items = (key.write(k) + value.write(v) for k, v in values.items())
        return COMPACT_INT.write(len(values)) + b"".join(items)

    return Format(read, write)


def array_of(from_bytes: Callable[[bytes], T], to_bytes: Callable[[T], bytes]) -> Format[T]:
    """Return the format of a value that is stored as bytes with their length."""

    def read(data: Input) -> T:
        return from_bytes(data.take(_read_count(data)))

    def write(value: T) -> bytes:
        encoded = to_bytes(value)
        return COMPACT_INT.write(len(encoded)) + encoded

    return Format(read, write)


# ---- envelopes ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Envelope:
    """Version and revisions as they were read, and the bytes after the last one."""

    version: int
    revisions: tuple[tuple[int, bytes], ...]
    trailing: bytes = b""

    def to_bytes(self, type_id: int | None = None) -> bytes:
        """Return the encoded envelope, with a type id if there are several types."""
        kind = () if type_id is None else (type_id,)
        parts = [bytes((FORMAT, *kind, self.version, len(self.revisions)))]
        for revision, data in self.revisions:
            parts += [U8.write(revision), _LENGTH.pack(len(data)), data]
        return b"".join((*parts, self.trailing))

    @classmethod
    def from_bytes(cls, data: bytes) -> Envelope:
        """Return the envelope in ``data``, which has no type id. Raises ``ProtocolError``."""
        source = Input(data)
        found = cls.from_input(source)
        return replace(found, trailing=source.rest())

    @classmethod
    def from_input(cls, source: Input) -> Envelope:
        """Return the envelope at ``source``, which has no type id. The bytes after it stay in ``source``."""
        _check_format(source)
        return cls._read(source)

    @classmethod
    def from_typed_bytes(cls, data: bytes) -> tuple[int, Envelope]:
        """Return the type id and the envelope. Raises ``ProtocolError``."""
        source = Input(data)
        _check_format(source)
        type_id = U8.read(source)
        found = cls._read(source)
        return type_id, replace(found, trailing=source.rest())

    @classmethod
    def _read(cls, source: Input) -> Envelope:
        version, count = U8.read(source), U8.read(source)
        revisions = tuple((U8.read(source), source.take(I32.read(source))) for _ in range(count))
        return cls(version, revisions)


def _check_format(source: Input) -> None:
    found = U8.read(source)
    if found != FORMAT:
        raise ProtocolError(f"metadata begins with format {found}; only {FORMAT} is known")


@dataclass(frozen=True, slots=True)
class Leftover:
    """What a layout read without understanding it, and how many of its own revisions there were."""

    known: int | None = None  # None: all
    tails: tuple[bytes, ...] = ()  # bytes after the known fields, per revision
    unknown: tuple[tuple[int, bytes], ...] = ()
    trailing: bytes = b""


NOTHING_LEFT = Leftover()


class Layout:
    """The fields of a class by revision: ``{name: format}`` for revision 0, 1, and so on.

    A field may occur in several revisions, and the last one that is read counts. The fields of a revision
    that an older writer left out must have a default in the class. ``version`` is the version of the
    envelope.
    """

    def __init__(self, *revisions: Mapping[str, Format[Any]], version: int = 0) -> None:
        self.revisions = revisions
        self.version = version

    def read(self, envelope: Envelope) -> tuple[dict[str, Any], Leftover]:
        """Return the values by field name, and what was left over. Raises ``ProtocolError``."""
        if envelope.version != self.version:
            raise ProtocolError(f"metadata of version {envelope.version}; only {self.version} is known here")
        known = min(len(envelope.revisions), len(self.revisions))
        values: dict[str, Any] = {}
        tails = []
        for index in range(known):
            revision, data = envelope.revisions[index]
            if revision != index:
                raise ProtocolError(f"revision {revision} is at the place of revision {index}")
            source = Input(data)
            values |= {name: form.read(source) for name, form in self.revisions[index].items()}
            tails.append(source.rest())
        return values, self._leftover(envelope, known, tails)

    def _leftover(self, envelope: Envelope, known: int, tails: list[bytes]) -> Leftover:
        complete = known == len(self.revisions)
        unknown = envelope.revisions[known:]
        if complete and not unknown and not envelope.trailing and not any(tails):
            return NOTHING_LEFT
        return Leftover(None if complete else known, tuple(tails), unknown, envelope.trailing)

    def write(self, value: object, leftover: Leftover = NOTHING_LEFT) -> Envelope:
        """Return the envelope of ``value``, with what was left over when it was read."""
        known = len(self.revisions) if leftover.known is None else leftover.known
        tails = leftover.tails or (b"",) * known
        revisions = []
        for index, (fields, tail) in enumerate(zip(self.revisions[:known], tails, strict=True)):
            data = b"".join(form.write(getattr(value, name)) for name, form in fields.items())
            revisions.append((index, data + tail))
        return Envelope(self.version, (*revisions, *leftover.unknown), leftover.trailing)
