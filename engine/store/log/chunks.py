"""The bytes of tier 2: names and checksums of chunks, names of snapshots, and whose the folder is: the marker
of a store, and the life of it that writes and deletes there.

A chunk is an object that is written once and never changed. It contains bytes of one or more segments, one
piece after the other and nothing else. Its checksums are not in the object but in the log and in snapshots:
one CRC-32 for each block of 256 KiB, so that a read verifies what it fetched without fetching the rest. Every
checksum begins from a number that only this block of this chunk of this store has. A chunk in the place of
another one is therefore found as damage.

An object has a number that the log counts and the random tag of the life of the store that wrote it. A later
life never uses a name again, even where an upload of the earlier one completes after its process has ended.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from .checksum import crc32

BLOCK_BYTES = 256 * 1024
MARKER = "store"
"""The object that names the store to which the folder in tier 2 belongs."""
OWNER = "owner"
"""The object that names the life of the store that writes and deletes there: each life writes it once, and
stops when it has been replaced."""

_CHECKSUM = struct.Struct(">I")
_SALT = struct.Struct(">QQ")
_MARKER_TEXT = "pravega-lab tier 2, format 1, store "
_LIFE_TEXT = ", life "


Owner = tuple[bytes, str]
"""A store id, and a life of that store."""


class Chunk(NamedTuple):
    """A chunk as the log knows it: ``length`` in bytes, four bytes of ``checksums`` for each block."""

    number: int
    name: str
    length: int
    checksums: bytes


class Piece(NamedTuple):
    """Bytes of a segment, by the segment's id in the log: ``length`` bytes from ``offset`` on."""

    segment_id: int
    offset: int
    length: int


def chunk_name(number: int, life: str) -> str:
    """Return the name of a chunk. ``life`` is the tag of this life of the store."""
    return f"chunk-{number:012d}-{life}"


def snapshot_name(sequence: int, life: str) -> str:
    """Return the name in tier 2 of a snapshot of the state after group ``sequence``."""
    return f"snapshot-{sequence:012d}-{life}"


def is_chunk(name: str) -> bool:
    """Return whether an object is named like a chunk."""
    return _number_in(name, "chunk") is not None


def snapshot_sequence(name: str) -> int | None:
    """Return the sequence in the name of a snapshot in tier 2, None for other objects."""
    return _number_in(name, "snapshot")


def _number_in(name: str, kind: str) -> int | None:
    parts = name.split("-")
    if len(parts) != 3 or parts[0] != kind or not parts[1].isascii() or not parts[1].isdigit():
        return None
    number = int(parts[1])
    return number if parts[1] == f"{number:012d}" else None


def marker(store_id: bytes) -> bytes:
    """Return the content of the marker of a store."""
    return f"{_MARKER_TEXT}{store_id.hex()}\n".encode()


def store_in(content: bytes) -> bytes | None:
    """Return the store id in a marker, None if ``content`` is no whole marker."""
    text = content.decode(errors="replace")
    digits = text.removeprefix(_MARKER_TEXT).removesuffix("\n")
    if len(text) != len(_MARKER_TEXT) + len(digits) + 1 or len(digits) != 32:
        return None
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return None


def owner(store_id: bytes, life: str) -> bytes:
    """Return what a life of a store writes as `OWNER`."""
    return marker(store_id)[:-1] + f"{_LIFE_TEXT}{life}\n".encode()


def owner_in(content: bytes | None) -> Owner | None:
    """Return what `OWNER` names, None if ``content`` is missing or not whole."""
    named, _, rest = (content or b"").partition(_LIFE_TEXT.encode())
    store_id = store_in(named + b"\n")
    life = rest.decode(errors="replace").removesuffix("\n")
    return (store_id, life) if store_id is not None and content == owner(store_id, life) else None


def life_of(name: str) -> str:
    """Return the tag of the life that has written a chunk."""
    return name.rpartition("-")[2]


def checksums_of(data: bytes, store_id: bytes, number: int) -> bytes:
    """Return the checksums of a whole chunk."""
    view = memoryview(data)
    blocks = (view[start : start + BLOCK_BYTES] for start in range(0, len(data), BLOCK_BYTES))
    return b"".join(
        _CHECKSUM.pack(crc32(block, _salt(store_id, number, index))) for index, block in enumerate(blocks)
    )


def damaged_block(chunk: Chunk, first: int, data: bytes, store_id: bytes) -> int | None:
    """Return the index of the first block in ``data`` that is damaged, None if all are as they were written.

    ``data`` begins with block ``first`` and ends with a block, or with the chunk.
    """
    for index, block in blocks_of(first, data):
        size = min(BLOCK_BYTES, chunk.length - index * BLOCK_BYTES)
        found = _CHECKSUM.pack(crc32(block, _salt(store_id, chunk.number, index)))
        if len(block) != size or found != chunk.checksums[4 * index : 4 * index + 4]:
            return index
    return None


def blocks_of(first: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (index, bytes) of the blocks in ``data``, which begins with block ``first``."""
    for start in range(0, len(data), BLOCK_BYTES):
        yield first + start // BLOCK_BYTES, data[start : start + BLOCK_BYTES]


def _salt(store_id: bytes, number: int, index: int) -> int:
    return crc32(store_id + _SALT.pack(number, index))
