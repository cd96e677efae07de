"""The synced state: what the groups on disk did. There are no conditions here, they were checked before.

A running store and recovery both use :meth:`Synced.apply`, so recovery restores exactly what was visible.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from sys import getsizeof
from typing import Any, TypeVar

from ..errors import NoSuchSegment
from ..log import operations as ops
from ..log.chunks import Chunk, Piece
from ..log.file_use import FileUse
from .segment import Change, Segment

Dirty = dict[Segment, None]

KEPT_ROOM_BYTES = 64 << 10

Key = TypeVar("Key")
Value = TypeVar("Value")


class Synced:
    """Segments, records, the number of runs of bytes in each log file, and the chunks in tier 2.

    ``log_bytes`` are the bytes of segments that are in the log. ``unmoved`` has, by id, every segment that
    may have some there. ``dead_chunks`` are to be deleted; the caller that deletes them empties the list.
    """

    def __init__(self) -> None:
        self.names: dict[str, Segment] = {}
        self.by_id: dict[int, Segment] = {}
        self.chunks: dict[int, Chunk] = {}
        self.next_chunk = 1
        self.dead_chunks: list[Chunk] = []
        self.log_bytes = 0
        self.unmoved: dict[int, Segment] = {}
        self.records: dict[str, bytes] = {}
        self.file_use = FileUse()
        self.deleted_bytes = self.deleted_events = 0  # of stream segments, since the process began
        self.on_append: Callable[[str, int, int, int], None] | None = None
        self.on_merge: Callable[[str, int, int, int, int], None] | None = None
        self._record_keys: list[str] | None = None
        self._applies: dict[type, Callable[[Change, int], None]] = {
            ops.CreateSegment: self._create,
            ops.Seal: self._seal,
            ops.Truncate: self._truncate,
            ops.Delete: self._delete,
            ops.Merge: self._merge,
            ops.SetAttribute: self._set_attribute,
            ops.SetPolicy: self._set_policy,
            ops.UpdateTable: self._update_table,
            ops.RemoveTableKeys: self._remove_keys,
            ops.PutRecord: self._put_record,
            ops.MoveToTier: self._move_to_tier,
        }

    def get(self, name: str) -> Segment:
        """Return the segment of that name. Raises NoSuchSegment."""
        segment = self.names.get(name)
        if segment is None:
            raise NoSuchSegment(name)
        return segment

    def apply(
        self, changes: Iterable[Change], now_ms: int, file: int, starts: dict[int, int], dirty: Dirty
    ) -> None:
        """Apply one submission.

        ``starts`` has, by segment id, the position in ``file`` of the segment's next bytes. It is advanced
        here. Changed segments are added to ``dirty``.
        """
        for change in changes:
            operation, segment, source = change
            if type(operation) is ops.Append:
                assert segment is not None
                self._append(operation, segment, now_ms, file, starts)
            else:
                self._applies[type(operation)](change, now_ms)
            for touched in (segment, source):
                if touched is not None:
                    touched.settle()
                    dirty[touched] = None

    def _append(
        self, op: ops.Append, segment: Segment, now_ms: int, file: int, starts: dict[int, int]
    ) -> None:
        length = len(op.data)
        if length:
            position = starts[segment.id]
            starts[segment.id] = position + length
            if segment.own_extents().add(segment.length, file, position, length):
                self.file_use.add(file)
                self.unmoved[segment.id] = segment
            segment.length += length
            self.log_bytes += length
        segment.event_count += op.event_count
        segment.last_modified_ms = now_ms
        if op.writer_id is not None:
            segment.set_attribute(op.writer_id, op.event_number)
        if self.on_append is not None:
            self.on_append(segment.name, length, op.event_count, now_ms)

    def _create(self, change: Change, now_ms: int) -> None:
        op, segment = _parts(change)
        segment.created_ms = segment.last_modified_ms = now_ms
        segment.scale_type, segment.target_rate = op.scale_type, op.target_rate
        self.names[segment.name] = self.by_id[segment.id] = segment

    def adopt(self, segment: Segment) -> None:
        """Add a segment as a snapshot describes it."""
        self.names[segment.name] = self.by_id[segment.id] = segment
        for file in segment.extents.files:
            self.file_use.add(file)
        log_bytes = segment.extents.log_bytes()
        if log_bytes:
            self.log_bytes += log_bytes
            self.unmoved[segment.id] = segment

    def _seal(self, change: Change, now_ms: int) -> None:
        _, segment = _parts(change)
        segment.is_sealed = True
        segment.last_modified_ms = now_ms

    def _truncate(self, change: Change, now_ms: int) -> None:
        op, segment = _parts(change)
        segment.start = op.offset
        segment.last_modified_ms = now_ms
        self._drop_below(segment, op.offset)

    def _delete(self, change: Change, now_ms: int) -> None:
        _, segment = _parts(change)
        self._remove(segment)
        if segment.table is None:
            self.deleted_bytes += segment.length
            self.deleted_events += segment.event_count
        self._drop_below(segment, segment.length)

    def _drop_below(self, segment: Segment, offset: int) -> None:
        files, log_bytes = segment.extents.drop_below(offset)
        self.log_bytes -= log_bytes
        self.file_use.release(files)
        self._find_dead_chunks()

    def _find_dead_chunks(self) -> None:
        used = self.file_use.files()
        for number in self.file_use.emptied_chunks:
            if number in self.chunks and -number not in used:
                self.dead_chunks.append(self.chunks.pop(number))
        self.file_use.emptied_chunks.clear()

    def _remove(self, segment: Segment) -> None:
        segment.is_deleted = True
        self.by_id.pop(segment.id, None)
        self.unmoved.pop(segment.id, None)
        if self.names.get(segment.name) is segment:
            del self.names[segment.name]

    def _merge(self, change: Change, now_ms: int) -> None:
        _, target = _parts(change)
        source = change.source
        assert source is not None
        self._remove(source)
        target.own_extents().join(source.extents, target.length)
        self.unmoved[target.id] = target
        target.length += source.length
        target.event_count += source.event_count
        target.last_modified_ms = now_ms
        target.remember_merged(source.name)
        # `settle` clears the names only in a pause of the target's appends, and there may be none.
        if target.next_merged:
            target.next_merged.pop(source.name, None)
        if self.on_merge is not None:
            age_ms = now_ms - source.created_ms
            self.on_merge(target.name, source.length, source.event_count, age_ms, now_ms)

    def _set_attribute(self, change: Change, now_ms: int) -> None:
        op, segment = _parts(change)
        segment.set_attribute(op.attribute_id, op.value)

    def _set_policy(self, change: Change, now_ms: int) -> None:
        op, segment = _parts(change)
        segment.scale_type, segment.target_rate = op.scale_type, op.target_rate

    def _update_table(self, change: Change, now_ms: int) -> None:
        op, segment = _parts(change)
        assert segment.table is not None
        for entry in op.entries:
            segment.length = segment.table.put(segment.length, entry.key, entry.value)
        segment.last_modified_ms = now_ms

    def _remove_keys(self, change: Change, now_ms: int) -> None:
        op, segment = _parts(change)
        assert segment.table is not None
        for removal in op.keys:
            segment.length += segment.table.remove(removal.key)
        segment.last_modified_ms = now_ms

    def _put_record(self, change: Change, now_ms: int) -> None:
        op = change.operation
        assert isinstance(op, ops.PutRecord)
        if op.value is None:
            if self.records.pop(op.key, None) is not None:
                self._record_keys = None
            return
        if op.key not in self.records:
            self._record_keys = None
        self.records[op.key] = op.value

    def _move_to_tier(self, change: Change, now_ms: int) -> None:
        op = change.operation
        assert isinstance(op, ops.MoveToTier)
        chunk, position = op.chunk, 0
        self.chunks[chunk.number] = chunk
        self.next_chunk = max(self.next_chunk, chunk.number + 1)
        for piece in op.pieces:
            segment = self.by_id.get(piece.segment_id)
            if segment is not None:  # else it was deleted, or its bytes belong to the target of a merge
                self._move_piece(segment, piece, -chunk.number, position)
            position += piece.length
        if -chunk.number not in self.file_use.files():
            self.file_use.emptied_chunks.append(chunk.number)
        self._find_dead_chunks()

    def _move_piece(self, segment: Segment, piece: Piece, file: int, position: int) -> None:
        before, now, log_bytes = segment.extents.move(piece.offset, piece.length, file, position)
        for one in now:  # before the release, so that no file seems to be empty in between
            self.file_use.add(one)
        self.file_use.release(before)
        self.log_bytes -= log_bytes

    def shrink(self) -> None:
        """Return the room that dicts keep for what was removed from them."""
        self.names, self.by_id = shrunk(self.names), shrunk(self.by_id)
        self.unmoved, self.records = shrunk(self.unmoved), shrunk(self.records)

    def records_with(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Yield the records whose key begins with ``prefix``, in the order of keys."""
        if self._record_keys is None:
            self._record_keys = sorted(self.records)
        keys = self._record_keys
        for index in range(bisect_left(keys, prefix), len(keys)):
            if not keys[index].startswith(prefix):
                return
            yield keys[index], self.records[keys[index]]


def shrunk(found: dict[Key, Value]) -> dict[Key, Value]:
    """Return ``found``, or a copy if it has much more room than it needs."""
    return dict(found) if getsizeof(found) > KEPT_ROOM_BYTES + 300 * len(found) else found


def _parts(change: Change) -> tuple[Any, Segment]:
    assert change.segment is not None
    return change.operation, change.segment
