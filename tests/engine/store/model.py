"""The storage as a plain dictionary, to compare with: no log, no two states, no files."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pravega_lab.engine.store import errors
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.storage.storage import Storage


class Refused(Exception):
    """The model refuses with an error of this class."""

    def __init__(self, kind: type[errors.StorageError]) -> None:
        super().__init__(kind.__name__)
        self.kind = kind


@dataclass
class ModelSegment:
    is_table: bool
    data: bytearray = field(default_factory=bytearray)
    length: int = 0
    start: int = 0
    is_sealed: bool = False
    events: int = 0
    attributes: dict[UUID, int] = field(default_factory=dict)
    table: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)


class Model:
    def __init__(self) -> None:
        self.segments: dict[str, ModelSegment] = {}
        self.records: dict[str, bytes] = {}

    def submit(self, operations: tuple[ops.Operation, ...]) -> list[Any]:
        """All or none, the slow and sure way."""
        tried = copy.deepcopy(self)
        results = [tried.apply(operation) for operation in operations]
        self.segments, self.records = tried.segments, tried.records
        return results

    def get(self, name: str) -> ModelSegment:
        if name not in self.segments:
            raise Refused(errors.NoSuchSegment)
        return self.segments[name]

    def apply(self, op: Any) -> Any:
        return getattr(self, "_" + type(op).__name__.lower())(op)

    def _open(self, name: str, is_table: bool) -> ModelSegment:
        segment = self.get(name)
        if segment.is_sealed:
            raise Refused(errors.SegmentSealed)
        if segment.is_table != is_table:
            raise Refused(errors.WrongKind)
        return segment

    def _createsegment(self, op: ops.CreateSegment) -> None:
        if op.segment in self.segments:
            raise Refused(errors.SegmentExists)
        self.segments[op.segment] = ModelSegment(op.is_table)

    def _append(self, op: ops.Append) -> int:
        segment = self._open(op.segment, False)
        if op.expected_offset not in (None, segment.length):
            raise Refused(errors.ConditionFailed)
        if op.writer_id is not None:
            if op.event_number <= segment.attributes.get(op.writer_id, ops.NO_VALUE):
                raise Refused(errors.BadEventNumber)
            segment.attributes[op.writer_id] = op.event_number
        segment.data += op.data
        segment.length += len(op.data)
        segment.events += op.event_count
        return segment.length

    def _seal(self, op: ops.Seal) -> int:
        segment = self.get(op.segment)
        if segment.is_sealed:
            raise Refused(errors.SegmentSealed)
        segment.is_sealed = True
        return segment.length

    def _truncate(self, op: ops.Truncate) -> None:
        segment = self.get(op.segment)
        if not segment.start <= op.offset <= segment.length:
            raise Refused(errors.SegmentTruncated)
        if segment.is_table:
            raise Refused(errors.WrongKind)
        segment.start = op.offset

    def _delete(self, op: ops.Delete) -> None:
        if op.must_be_empty and self.get(op.segment).table:
            raise Refused(errors.TableNotEmpty)
        self.get(op.segment)
        del self.segments[op.segment]

    def _merge(self, op: ops.Merge) -> int:
        target, source = self.segments.get(op.target), self.segments.get(op.source)
        if source is None and target is not None and op.source in target.merged:
            return target.length
        if source is None or target is None:
            raise Refused(errors.NoSuchSegment)
        if source.is_table or target.is_table:
            raise Refused(errors.WrongKind)
        if target.is_sealed:
            raise Refused(errors.SegmentSealed)
        if source.start or source is target:
            raise Refused(errors.SegmentTruncated)
        del self.segments[op.source]
        target.data += source.data
        target.length += source.length
        target.events += source.events
        target.merged.add(op.source)
        return target.length

    def _setattribute(self, op: ops.SetAttribute) -> None:
        segment = self.get(op.segment)
        if segment.is_sealed:
            raise Refused(errors.SegmentSealed)
        if op.expected not in (None, segment.attributes.get(op.attribute_id, ops.NO_VALUE)):
            raise Refused(errors.AttributeMismatch)
        segment.attributes[op.attribute_id] = op.value

    def _checkversions(self, segment: ModelSegment, entries: Any) -> None:
        wanted = [entry for entry in entries if entry.version != ops.NO_VERSION]
        if any(entry.version >= 0 and entry.key not in segment.table for entry in wanted):
            raise Refused(errors.KeyMissing)
        for entry in wanted:
            if segment.table.get(entry.key, (b"", ops.NOT_EXISTS))[1] != entry.version:
                raise Refused(errors.BadVersion)

    def _updatetable(self, op: ops.UpdateTable) -> tuple[int, ...]:
        segment = self._open(op.segment, True)
        self._checkversions(segment, op.entries)
        versions = []
        for key, value, _ in op.entries:
            versions.append(segment.length)
            segment.table[key] = (value, segment.length)
            segment.length += 17 + len(key) + len(value)
        return tuple(versions)

    def _removetablekeys(self, op: ops.RemoveTableKeys) -> None:
        segment = self._open(op.segment, True)
        self._checkversions(segment, op.keys)
        for key, _ in op.keys:
            segment.table.pop(key, None)
            segment.length += 17 + len(key)

    def _putrecord(self, op: ops.PutRecord) -> None:
        if op.value is None:
            self.records.pop(op.key, None)
        else:
            self.records[op.key] = op.value

    # Both as comparable values

    def picture(self) -> Any:
        return self.records, {
            name: (
                segment.is_table,
                segment.is_sealed,
                segment.start,
                segment.length,
                segment.events,
                segment.attributes,
                bytes(segment.data[segment.start :]),
                segment.table,
            )
            for name, segment in self.segments.items()
        }


def picture(storage: Storage) -> Any:
    """What the storage shows, in the model's form."""
    segments = {}
    for name in storage.segments():
        info = storage.info(name)
        data, table = b"", {}
        if info.is_table:
            page, _ = storage.table_entries(name, 0, 10_000)
            table = {entry.key: (entry.value, entry.version) for entry in page}
        else:
            data = storage.read(name, info.start_offset, info.length).data
        attributes = dict(storage._synced.get(name).attributes)
        segments[name] = (
            info.is_table,
            info.is_sealed,
            info.start_offset,
            info.length,
            info.event_count,
            attributes,
            data,
            table,
        )
    return dict(storage.records()), segments
