"""The synced state as the bytes of a snapshot file. Recovery then need not read the whole log."""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Any
from uuid import UUID
from zlib import crc32

from ..errors import CorruptStoreError
from ..log import values
from .segment import Extents, Segment
from .synced_state import Synced
from .table import Table

_HEADER = struct.Struct(">8sIQ")
_MAGIC = b"PLSNAP01"
_ATTRIBUTE = struct.Struct(">16sq")
_NUMBERS = (
    "id",
    "created_ms",
    "last_modified_ms",
    "scale_type",
    "target_rate",
    "start",
    "length",
    "event_count",
    "is_sealed",
)


def encode_snapshot(synced: Synced, next_id: int, last_now_ms: int, first_file: int) -> bytes:
    """Return the whole synced state.

    ``next_id``: the next segment's id. ``first_file``: where the log continues.
    """
    segments = tuple(_segment(segment) for segment in synced.names.values())
    body = values.encode((next_id, last_now_ms, first_file, tuple(synced.records.items()), segments))
    return _HEADER.pack(_MAGIC, crc32(body), len(body)) + body


def decode_snapshot(name: str, data: bytes, synced: Synced) -> tuple[int, int, int]:
    """Fill ``synced`` and return (next segment id, last now_ms, first file to replay).

    Raises:
        CorruptStoreError: The snapshot is damaged.
    """
    body = data[_HEADER.size :]
    if len(data) < _HEADER.size or _HEADER.unpack_from(data) != (_MAGIC, crc32(body), len(body)):
        raise CorruptStoreError(
            f"The snapshot {name!r} of the store is damaged at offset 0 (checksum). Log files before"
            " it may have been deleted: restore the folder from a copy,"
            " or begin a new store in another folder."
        )
    (next_id, last_now_ms, first_file, records, segments), _ = values.decode(body)
    synced.records.update(records)
    for fields in segments:
        segment = _restore(fields)
        synced.names[segment.name] = segment
        for file in segment.extents.files:
            synced.file_use.add(file)
    return next_id, last_now_ms, first_file


def _segment(segment: Segment) -> tuple[Any, ...]:
    extents = segment.extents
    columns = (extents.offsets, extents.files, extents.positions, extents.lengths)
    attributes = b"".join(_ATTRIBUTE.pack(key.bytes, value) for key, value in segment.attributes.items())
    return (
        segment.name,
        tuple(getattr(segment, name) for name in _NUMBERS),
        attributes,
        tuple(segment.merged),
        tuple(_column_bytes(column) for column in columns),
        None if segment.table is None else _table(segment.table),
    )


def _table(table: Table) -> tuple[Any, ...]:
    entries = tuple((item.version, item.key, item.value) for item in table.entries_from(0, len(table.values)))
    return table.key_length, entries


def _restore(fields: tuple[Any, ...]) -> Segment:
    name, numbers, attributes, merged, columns, table_fields = fields
    table = None
    if table_fields is not None:
        table = Table(table_fields[0])
        for version, key, value in table_fields[1]:
            table.put(version, key, value)
    segment = Segment(0, name, table)
    for field, value in zip(_NUMBERS, numbers, strict=True):
        setattr(segment, field, value)
    segment.attributes = {UUID(bytes=key): value for key, value in _ATTRIBUTE.iter_unpack(attributes)}
    segment.merged = dict.fromkeys(merged)
    segment.extents = _extents(columns)
    return segment


def _extents(columns: tuple[bytes, ...]) -> Extents:
    extents = Extents()
    for column, data in zip(
        (extents.offsets, extents.files, extents.positions, extents.lengths), columns, strict=True
    ):
        column.frombytes(data)
        if sys.byteorder == "big":
            column.byteswap()
    return extents


def _column_bytes(column: array[int]) -> bytes:
    if sys.byteorder == "big":
        column = array("q", column)
        column.byteswap()
    return column.tobytes()
