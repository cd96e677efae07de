"""The synced state as the bytes of a snapshot file. Recovery then need not read the whole log."""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Any, NamedTuple
from uuid import UUID
from zlib import crc32

from ..errors import CorruptStoreError, check_version
from ..log import values
from ..log.chunks import Chunk
from .fixed_table import new_table
from .segment import Extents, Segment
from .synced_state import Synced
from .table import Table

_HEADER = struct.Struct(">8sIQ")
SNAPSHOT_VERSION = 1
"""The version of the format of snapshots, as `LOG_VERSION` is that of log files."""

_NAME = b"PLSNAP"
_MAGIC = _NAME + b"%02d" % SNAPSHOT_VERSION
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


class SnapshotHead(NamedTuple):
    """What a snapshot contains besides the synced state.

    ``next_id``: the next segment's id. ``first_file``: the file in which the log continues, 0 if no log
    follows. ``store_id``: that of the store, if it uses tier 2, else empty.
    """

    next_id: int
    last_now_ms: int
    first_file: int
    store_id: bytes = b""


def encode_snapshot(synced: Synced, head: SnapshotHead) -> bytes:
    """Return the whole synced state."""
    segments = tuple(_segment(segment) for segment in synced.names.values())
    body: tuple[Any, ...] = (*head[:3], tuple(synced.records.items()), segments)
    if head.store_id:
        body += (head.store_id, synced.next_chunk, tuple(map(tuple, synced.chunks.values())))
    return _framed(values.encode(body))


def _framed(body: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, crc32(body), len(body)) + body


def without_log(data: bytes) -> bytes:
    """Return a valid snapshot with ``first_file`` 0, for a store of which no log is left."""
    (next_id, last_now_ms, _, *rest), _ = values.decode(data[_HEADER.size :])
    return _framed(values.encode((next_id, last_now_ms, 0, *rest)))


def decode_snapshot(name: str, data: bytes, synced: Synced) -> SnapshotHead:
    """Fill ``synced`` and return the rest of the snapshot.

    Raises:
        StoreVersionError: Another release wrote the snapshot, in a format that this one does not read.
        CorruptStoreError: The snapshot is damaged.
    """
    version = data[len(_NAME) : len(_MAGIC)]
    if data.startswith(_NAME) and version.isdigit():
        check_version(name, int(version), SNAPSHOT_VERSION)
    body = data[_HEADER.size :]
    if len(data) < _HEADER.size or _HEADER.unpack_from(data) != (_MAGIC, crc32(body), len(body)):
        raise CorruptStoreError(
            f"The snapshot {name!r} of the store is damaged at offset 0 (checksum). Log files before"
            " it may have been deleted: restore the folder from a copy,"
            " or begin a new store in another folder."
        )
    (next_id, last_now_ms, first_file, records, segments, *of_tier), _ = values.decode(body)
    synced.records.update(records)
    for fields in segments:
        synced.adopt(_restore(fields))
    if not of_tier:
        return SnapshotHead(next_id, last_now_ms, first_file)
    store_id, synced.next_chunk, chunks = of_tier
    synced.chunks.update((fields[0], Chunk(*fields)) for fields in chunks)
    return SnapshotHead(next_id, last_now_ms, first_file, store_id)


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
        table = new_table(table_fields[0])
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
