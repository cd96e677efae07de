"""The synced state as the bytes of a snapshot file. Recovery then need not read the whole log.

A snapshot names the store and the group that it belongs to: in the place of another one it would be a state
that the store never had, or would hide groups of the log. The header of version 1 does not have that number.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID
from zlib import crc32

from ..errors import CorruptStoreError, check_version
from ..log import operations as ops
from ..log import values
from ..log.chunks import Chunk
from .fixed_table import new_table
from .segment import Change, Extents, Segment
from .synced_state import Synced
from .table import Table

_HEADER = struct.Struct(">8sIII")
"""Name and version, checksum of the body, what `identity_of` returns, length of the body modulo 2**32.
Version 1 has a length of 64 bits in place of the last two.
"""

SNAPSHOT_VERSION = 2
"""The version of the format of snapshots, as `LOG_VERSION` is that of log files."""

_NAME = b"PLSNAP"
_MAGIC = _NAME + b"%02d" % SNAPSHOT_VERSION
_SEQUENCE = struct.Struct(">Q")
_LENGTH_MODULUS = 1 << 32
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
    follows. ``store_id``: that of the store, if it uses tier 2, else empty. ``identity``: what `identity_of`
    returns for the store and the last group, None in a snapshot of an older release.
    """

    next_id: int
    last_now_ms: int
    first_file: int
    store_id: bytes = b""
    identity: int | None = None


def identity_of(store_id: bytes, sequence: int) -> int:
    """Return the number that only a snapshot of the state after group ``sequence`` of this store has."""
    return crc32(store_id + _SEQUENCE.pack(sequence))


def encode_snapshot(synced: Synced, head: SnapshotHead) -> bytes:
    """Return the whole synced state."""
    drawing = Drawing(synced, head)
    while not drawing.is_done:
        drawing.draw()
    return drawing.finish()


DRAWN_AT_ONCE = 200


class Drawing:
    """A snapshot of the synced state as it is now, of which some segments are encoded at a time.

    Groups are applied in between, each after `keep_before`.
    """

    def __init__(self, synced: Synced, head: SnapshotHead) -> None:
        self._head = head
        self._tier: tuple[Any, ...] = ()
        if head.store_id:
            self._tier = (head.store_id, synced.next_chunk, tuple(map(tuple, synced.chunks.values())))
        self._keys, self._values = list(synced.records), list(synced.records.values())
        self._records: list[bytes] = []
        self._segments: dict[Segment, bytes] = dict.fromkeys(synced.names.values(), b"")  # b"": not yet
        self._synced = synced
        self._left = iter(list(self._segments))
        self._is_done = False

    @property
    def is_done(self) -> bool:
        """Return whether nothing is left to encode."""
        return self._is_done

    def keep_before(self, changes: Iterable[Change]) -> None:
        """Encode the segments that are about to change or to be deleted, as far as they are not yet."""
        for operation, segment, source in changes:
            for changed in (segment, source):
                if changed is not None:
                    self._keep(changed)
            if isinstance(operation, ops.MoveToTier):
                for piece in operation.pieces:
                    moved = self._synced.by_id.get(piece.segment_id)
                    if moved is not None:
                        self._keep(moved)

    def _keep(self, segment: Segment) -> None:
        if self._segments.get(segment) == b"":
            self._segments[segment] = values.encode(_segment(segment))

    def draw(self) -> None:
        """Encode some of the records, or of the segments."""
        at = len(self._records) * DRAWN_AT_ONCE
        if at < len(self._keys):
            end = at + DRAWN_AT_ONCE
            pairs = zip(self._keys[at:end], self._values[at:end], strict=True)
            self._records.append(b"".join(map(values.encode, pairs)))
            return
        for count, segment in enumerate(self._left, 1):
            self._keep(segment)
            if count == DRAWN_AT_ONCE:
                return
        self._is_done = True

    def finish(self) -> bytes:
        """Return the bytes of the snapshot."""
        records = (values.tuple_head(len(self._keys)), *self._records)
        segments = (values.tuple_head(len(self._segments)), *self._segments.values())
        head, tier = map(values.encode, self._head[:3]), map(values.encode, self._tier)
        fields = values.tuple_head(5 + len(self._tier))
        assert self._head.identity is not None
        return _framed(b"".join((fields, *head, *records, *segments, *tier)), self._head.identity)


def _framed(body: bytes, identity: int) -> bytes:
    return _HEADER.pack(_MAGIC, crc32(body), identity, len(body) % _LENGTH_MODULUS) + body


def without_log(data: bytes, store_id: bytes, sequence: int) -> bytes:
    """Return a valid snapshot with ``first_file`` 0, for a store of which no log is left."""
    (next_id, last_now_ms, _, *rest), _ = values.decode(data[_HEADER.size :])
    return _framed(values.encode((next_id, last_now_ms, 0, *rest)), identity_of(store_id, sequence))


def check_identity(name: str, head: SnapshotHead, store_id: bytes, sequence: int) -> None:
    """Refuse a snapshot that was written by another store, or for another group than its name says.

    Raises:
        CorruptStoreError: It is in the place of another one.
    """
    is_ours = head.identity is None or head.identity == identity_of(store_id, sequence)
    if is_ours and head.store_id in (b"", store_id):
        return
    raise CorruptStoreError(
        f"The snapshot {name!r} is not the state of this store after group {sequence}: it was renamed, copied"
        f" from another store, or damaged. Give the file its own name again, or restore"
        " the folder from a copy."
    )


def decode_snapshot(name: str, data: bytes, synced: Synced) -> SnapshotHead:
    """Fill ``synced`` and return the rest of the snapshot.

    Raises:
        StoreVersionError: Another release wrote the snapshot, in a format that this one does not read.
        CorruptStoreError: The snapshot is damaged.
    """
    version = data[len(_NAME) : len(_MAGIC)]
    is_first = version == b"01"
    if data.startswith(_NAME) and version.isdigit():
        check_version(name, int(version), SNAPSHOT_VERSION, oldest=1)
    body = data[_HEADER.size :]
    is_right, identity = False, 0
    if len(data) >= _HEADER.size:
        magic, checksum, identity, length = _HEADER.unpack_from(data)
        is_right = magic in (_MAGIC, _NAME + b"01") and crc32(body) == checksum
        is_right = is_right and length == len(body) % _LENGTH_MODULUS and not (is_first and identity)
    if not is_right:
        raise CorruptStoreError(
            f"The snapshot {name!r} of the store is damaged at offset 0 (checksum). Log files before"
            " it may have been deleted: restore the folder from a copy,"
            " or begin a new store in another folder."
        )
    (next_id, last_now_ms, first_file, records, segments, *of_tier), _ = values.decode(body)
    synced.records.update(records)
    for fields in segments:
        synced.adopt(_restore(fields))
    store_id = b""
    if of_tier:
        store_id, synced.next_chunk, chunks = of_tier
        synced.chunks.update((fields[0], Chunk(*fields)) for fields in chunks)
    return SnapshotHead(next_id, last_now_ms, first_file, store_id, None if is_first else identity)


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
    for key, value in _ATTRIBUTE.iter_unpack(attributes):
        segment.set_attribute(UUID(bytes=key), value)
    if merged:
        segment.merged = dict.fromkeys(merged)
    if columns[0]:
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
