"""A model of the storage, as simple as possible: dictionaries and byte strings, no log and no disk.

It is the oracle of the storage scenario. `submit` has the results that `Storage.submit` should have: one per
operation, or `Refused` with nothing applied. Source: pravega.md A11, A13, D5 and the contracts in
`store/log/operations.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from ...store.log import operations as ops

TABLE_ENTRY_HEADER_BYTES = 17


class Refused(Exception):
    """Raised when the model refuses. Nothing of the submission is applied."""


@dataclass
class ModelSegment:
    """Holds a segment of the model."""

    generation: int  # number of segments created before; distinguishes two of the same name
    is_table: bool
    data: bytes = b""
    start: int = 0
    sealed: bool = False
    events: int = 0
    writers: dict[Any, int] = field(default_factory=dict)
    merged: list[str] = field(default_factory=list)
    table: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    table_bytes: int = 0


class StorageModel:
    """The state of the storage after some submissions."""

    def __init__(self) -> None:
        self.segments: dict[str, ModelSegment] = {}
        self.records: dict[str, bytes] = {}
        self.created = 0
        self._applies: dict[type, Callable[[Any], Any]] = {
            ops.CreateSegment: self._create,
            ops.Append: self._append,
            ops.Seal: self._seal,
            ops.Truncate: self._truncate,
            ops.Delete: self._delete,
            ops.Merge: self._merge,
            ops.UpdateTable: self._update,
            ops.RemoveTableKeys: self._remove,
            ops.PutRecord: self._put,
        }

    def submit(self, operations: Sequence[ops.Operation]) -> list[Any]:
        """Apply the operations and return their results in order. Raises `Refused` with nothing applied."""
        before = deepcopy((self.segments, self.records, self.created))
        try:
            return [self._applies[type(operation)](operation) for operation in operations]
        except Refused:
            self.segments, self.records, self.created = before
            raise

    def replay(self, operations: Sequence[ops.Operation]) -> None:
        """Apply operations that are known to be accepted."""
        for operation in operations:
            self._applies[type(operation)](operation)

    def content(self) -> dict[str, Any]:
        """Return the whole state as a value that is equal to `content_of` of an equal storage."""
        return {
            "records": dict(sorted(self.records.items())),
            "segments": {name: self._content(self.segments[name]) for name in sorted(self.segments)},
        }

    def _content(self, segment: ModelSegment) -> dict[str, Any]:
        length = segment.table_bytes if segment.is_table else len(segment.data)
        held = dict(sorted(segment.table.items())) if segment.is_table else segment.data[segment.start :]
        writers = dict(sorted(segment.writers.items()))
        return {
            "length": length,
            "start": segment.start,
            "sealed": segment.sealed,
            "held": held,
            "writers": writers,
            "merged": sorted(set(segment.merged)),
        }

    # -- one method per operation --------------------------------------------------------------------------

    def _find(self, name: str, *, table: bool | None = None, is_open: bool = False) -> ModelSegment:
        segment = self.segments.get(name)
        if segment is None or (is_open and segment.sealed) or table not in (None, segment.is_table):
            raise Refused(name)
        return segment

    def _create(self, op: ops.CreateSegment) -> None:
        if op.segment in self.segments:
            raise Refused(op.segment)
        self.segments[op.segment] = ModelSegment(self.created, op.is_table)
        self.created += 1

    def _append(self, op: ops.Append) -> int:
        segment = self._find(op.segment, table=False, is_open=True)
        if op.expected_offset not in (None, len(segment.data)):
            raise Refused("offset")
        if op.writer_id is not None:
            last = segment.writers.get(op.writer_id, ops.NO_VALUE)
            if op.expected_event_number not in (None, last) or op.event_number <= last:
                raise Refused("event number")
            segment.writers[op.writer_id] = op.event_number
        segment.data += op.data
        segment.events += op.event_count
        return len(segment.data)

    def _seal(self, op: ops.Seal) -> int:
        segment = self._find(op.segment, is_open=True)
        segment.sealed = True
        return segment.table_bytes if segment.is_table else len(segment.data)

    def _truncate(self, op: ops.Truncate) -> None:
        segment = self._find(op.segment, table=False)
        if not segment.start <= op.offset <= len(segment.data):
            raise Refused("truncate")
        segment.start = op.offset

    def _delete(self, op: ops.Delete) -> None:
        if op.must_be_empty and self._find(op.segment).table:
            raise Refused("not empty")
        self._find(op.segment)
        del self.segments[op.segment]

    def _merge(self, op: ops.Merge) -> int:
        target, source = self.segments.get(op.target), self.segments.get(op.source)
        if source is None and target is not None and op.source in target.merged:
            return len(target.data)
        target = self._find(op.target, table=False, is_open=True)
        source = self._find(op.source, table=False)
        if source is target or source.start:
            raise Refused("merge")
        del self.segments[op.source]
        target.data += source.data
        target.merged.append(op.source)
        return len(target.data)

    def _update(self, op: ops.UpdateTable) -> tuple[int, ...]:
        segment = self._find(op.segment, table=True, is_open=True)
        self._check_versions(segment, op.entries)
        versions = []
        for entry in op.entries:
            versions.append(segment.table_bytes)
            segment.table[entry.key] = (entry.value, segment.table_bytes)
            segment.table_bytes += TABLE_ENTRY_HEADER_BYTES + len(entry.key) + len(entry.value)
        return tuple(versions)

    def _remove(self, op: ops.RemoveTableKeys) -> None:
        segment = self._find(op.segment, table=True, is_open=True)
        self._check_versions(segment, op.keys)
        for removal in op.keys:
            segment.table.pop(removal.key, None)
            segment.table_bytes += TABLE_ENTRY_HEADER_BYTES + len(removal.key)

    def _check_versions(
        self, segment: ModelSegment, entries: Sequence[ops.TableUpdate | ops.TableRemoval]
    ) -> None:
        for entry in entries:
            _, version = segment.table.get(entry.key, (b"", ops.NOT_EXISTS))
            if entry.version not in (ops.NO_VERSION, version):
                raise Refused("version")

    def _put(self, op: ops.PutRecord) -> None:
        if op.value is None:
            self.records.pop(op.key, None)
        else:
            self.records[op.key] = op.value


def content_of(storage: Any, writers: Sequence[Any]) -> dict[str, Any]:
    """Return the state of a storage in the shape of `StorageModel.content`."""
    return {
        "records": dict(storage.records()),
        "segments": {name: _segment_of(storage, name, writers) for name in sorted(storage.segments())},
    }


def _segment_of(storage: Any, name: str, writers: Sequence[Any]) -> dict[str, Any]:
    info = storage.info(name)
    held: Any
    if info.is_table:
        entries, _ = storage.table_entries(name, 0, 1_000_000)
        held = {entry.key: (entry.value, entry.version) for entry in sorted(entries)}
    else:
        held = storage.read(name, info.start_offset, info.length).data
        if info.start_offset + len(held) < info.length:
            storage.read(
                name, info.start_offset + len(held), 1
            )  # a read ends where damage begins: this raises
    known = {w: storage.attribute(name, w) for w in writers if storage.attribute(name, w) != ops.NO_VALUE}
    shown = {"length": info.length, "start": info.start_offset, "sealed": info.is_sealed}
    merged = sorted(storage._synced.get(name).merged)
    return {**shown, "held": held, "writers": dict(sorted(known.items())), "merged": merged}
