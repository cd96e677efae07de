"""The validated state: every condition of every operation, checked and applied before the disk is
written.

There is one method per operation. Each checks everything first and then changes the ``next_`` fields, so a
refused operation changes nothing. :meth:`Validated.apply_all` extends this to several operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import (
    AttributeMismatch,
    BadEventNumber,
    ConditionFailed,
    NoSuchSegment,
    SegmentExists,
    SegmentSealed,
    SegmentTruncated,
    TableNotEmpty,
    WrongKind,
)
from ..log import operations as ops
from .fixed_table import new_table
from .segment import Change, Saved, Segment
from .table import Table, check_length

Checked = tuple[Any, Change | None]
"""The result of an operation, and its change. The change is None for a merge that was done before."""


class Validated:
    """Names and ids of segments as they will be once everything queued is synced."""

    def __init__(self) -> None:
        self.names: dict[str, Segment] = {}
        self.next_id = 1
        self._checks: dict[type, Callable[[Any], Checked]] = {
            ops.Append: self.append,
            ops.CreateSegment: self.create,
            ops.Seal: self.seal,
            ops.Truncate: self.truncate,
            ops.Delete: self.delete,
            ops.Merge: self.merge,
            ops.SetAttribute: self.set_attribute,
            ops.SetPolicy: self.set_policy,
            ops.UpdateTable: self.update_table,
            ops.RemoveTableKeys: self.remove_keys,
            ops.PutRecord: self.put_record,
            ops.MoveToTier: self.move_to_tier,
        }

    def apply(self, operation: ops.Operation) -> Checked:
        """Check one operation and apply it. Raises a StorageError, with nothing applied."""
        return self._checks[type(operation)](operation)

    def apply_all(self, operations: Sequence[ops.Operation]) -> list[Checked]:
        """Check and apply several operations, all or none.

        Each sees the earlier ones. Raises a StorageError.
        """
        before: dict[str, tuple[Segment, Saved] | None] = {}
        checked: list[Checked] = []
        try:
            for operation in operations:
                for name in names_of(operation):
                    if name not in before:
                        segment = self.names.get(name)
                        before[name] = None if segment is None else (segment, segment.save())
                checked.append(self.apply(operation))
        except Exception:
            for name, found in reversed(before.items()):
                self._restore(name, found)
            raise
        return checked

    def _restore(self, name: str, before: tuple[Segment, Saved] | None) -> None:
        if before is None:
            self.names.pop(name, None)
        else:
            segment, saved = before
            self.names[name] = segment
            segment.restore(saved)

    def get(self, name: str) -> Segment:
        """Return the segment of that name. Raises NoSuchSegment."""
        segment = self.names.get(name)
        if segment is None:
            raise NoSuchSegment(name)
        return segment

    def _open(self, name: str) -> Segment:
        segment = self.get(name)
        if segment.next_sealed:
            raise SegmentSealed(name, segment.next_length)
        return segment

    def _open_events(self, name: str) -> Segment:
        segment = self._open(name)
        if segment.table is not None:
            raise WrongKind(name, is_table=True)
        return segment

    def _open_table(self, name: str) -> tuple[Segment, Table]:
        segment = self._open(name)
        if segment.table is None:
            raise WrongKind(name, is_table=False)
        return segment, segment.table

    def append(self, op: ops.Append) -> Checked:
        """Add bytes at the end, with the writer's event number (pravega.md A11)."""
        segment = self._open_events(op.segment)
        length = segment.next_length
        if op.expected_offset is not None and op.expected_offset != length:
            raise ConditionFailed(op.segment, op.expected_offset, length)
        if op.writer_id is not None:
            last = segment.next_attribute(op.writer_id, ops.NO_VALUE)
            expected = op.expected_event_number
            if last != expected if expected is not None else op.event_number <= last:
                raise BadEventNumber(op.segment, op.event_number, last)
            segment.set_next_attribute(op.writer_id, op.event_number)
        length += len(op.data)
        segment.next_length = length
        segment.pending += 1
        return length, Change(op, segment)

    def create(self, op: ops.CreateSegment) -> Checked:
        """Create a segment under a new name. Its id is never used again."""
        if op.segment in self.names:
            raise SegmentExists(op.segment)
        segment = Segment(self.next_id, op.segment, new_table(op.key_length) if op.is_table else None)
        self.next_id += 1
        self.names[op.segment] = segment
        return None, self._change(op, segment)

    def seal(self, op: ops.Seal) -> Checked:
        """Seal the segment."""
        segment = self._open(op.segment)
        segment.next_sealed = True
        return segment.next_length, self._change(op, segment)

    def truncate(self, op: ops.Truncate) -> Checked:
        """Move the start of the segment forward, at most to its end."""
        segment = self.get(op.segment)
        if not segment.next_start <= op.offset <= segment.next_length:
            raise SegmentTruncated(op.segment, segment.next_start, op.offset)
        if segment.table is not None:
            raise WrongKind(op.segment, is_table=True)
        segment.next_start = op.offset
        return None, self._change(op, segment)

    def delete(self, op: ops.Delete) -> Checked:
        """Delete the segment. Its name can be used again."""
        segment = self.get(op.segment)
        if op.must_be_empty and segment.table is not None and segment.table.next_count:
            raise TableNotEmpty(op.segment, segment.table.next_count)
        del self.names[op.segment]
        return None, self._change(op, segment)

    def merge(self, op: ops.Merge) -> Checked:
        """Append the source to the target (pravega.md D5)."""
        target = self.names.get(op.target)
        source = self.names.get(op.source)
        if (
            source is None
            and target is not None
            and (op.source in target.next_merged or op.source in target.merged)
        ):
            return target.next_length, None
        if source is None:
            raise NoSuchSegment(op.source)
        target = self.get(op.target)
        self._check_mergeable(target, source)
        del self.names[op.source]
        target.merge_next(op.source)
        target.next_length += source.next_length
        source.next_sealed = True
        source.pending += 1
        target.pending += 1
        return target.next_length, Change(op, target, source)

    def _check_mergeable(self, target: Segment, source: Segment) -> None:
        for segment in (target, source):
            if segment.table is not None:
                raise WrongKind(segment.name, is_table=True)
        if target.next_sealed:
            raise SegmentSealed(source.name, target.next_length)
        if source.next_start or source is target:
            raise SegmentTruncated(source.name, source.next_start, 0)

    def set_attribute(self, op: ops.SetAttribute) -> Checked:
        """Set an attribute, or compare and set it."""
        segment = self._open(op.segment)
        if op.expected is not None:
            value = segment.next_attribute(op.attribute_id, ops.NO_VALUE)
            if value != op.expected:
                raise AttributeMismatch(op.segment, op.expected, value)
        segment.set_next_attribute(op.attribute_id, op.value)
        return None, self._change(op, segment)

    def set_policy(self, op: ops.SetPolicy) -> Checked:
        """Keep the policy, also of a sealed segment."""
        return None, self._change(op, self.get(op.segment))

    def update_table(self, op: ops.UpdateTable) -> Checked:
        """Check all conditions, then put all entries (pravega.md A13)."""
        segment, table = self._open_table(op.segment)
        table.check_sizes(op.segment, op.entries)
        table.check_versions(op.segment, op.entries)
        check_length(op.segment, op.expected_length, segment.next_length)
        versions, segment.next_length = table.update_ahead(segment.next_length, op.entries)
        return tuple(versions), self._change(op, segment)

    def remove_keys(self, op: ops.RemoveTableKeys) -> Checked:
        """Check all conditions, then remove all keys."""
        segment, table = self._open_table(op.segment)
        table.check_sizes(op.segment, op.keys)
        table.check_versions(op.segment, op.keys)
        check_length(op.segment, op.expected_length, segment.next_length)
        segment.next_length = table.remove_ahead(segment.next_length, op.keys)
        return None, self._change(op, segment)

    def put_record(self, op: ops.PutRecord) -> Checked:
        """Keep a record, without any condition."""
        return None, Change(op)

    def move_to_tier(self, op: ops.MoveToTier) -> Checked:
        """Move bytes, without any condition: pieces that are gone when the move is applied are skipped."""
        return None, Change(op)

    def _change(self, op: ops.Operation, segment: Segment) -> Change:
        segment.pending += 1
        return Change(op, segment)


def names_of(operation: ops.Operation) -> tuple[str, ...]:
    """Return the names of the segments that an operation changes."""
    if type(operation) is ops.Append:
        return (operation.segment,)
    if isinstance(operation, ops.Merge):
        return operation.target, operation.source
    return () if isinstance(operation, ops.PutRecord | ops.MoveToTier) else (operation.segment,)
