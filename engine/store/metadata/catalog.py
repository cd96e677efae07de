"""What the controller knows, in memory: scopes, streams, reader groups and transactions, built from the
records.

Changes come in only through ``apply`` and ``remove``, both while the store runs and when it starts again. A
restart therefore restores exactly what was there. The cost of a call does not grow with data that it does
not use.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pravega_lab.errors import ScopeNotFoundError, StreamNotFoundError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import SegmentRange, segment_name

from ..log.operations import CreateSegment
from . import records as rec
from .cuts import before
from .epochs import Epochs
from .states import StreamState, TransactionState

SYSTEM_SCOPE = "_system"
"""The scope of upstream's own streams. It is listed and has no streams here (pravega.md A1)."""


class StreamEntry:
    """A stream and everything that belongs to it."""

    def __init__(self, record: rec.StreamRecord) -> None:
        self.scope = record.scope
        self.name = record.stream
        self.epochs = Epochs()
        self.live_ids: list[int] = []  # segments that are not deleted by a truncation, oldest first
        self.truncation: rec.TruncationRecord | None = None
        self.recorded: list[rec.RetentionRecord] = []  # after the head, oldest first
        self.transactions: dict[int, rec.TransactionRecord] = {}
        self.open: dict[int, None] = {}
        self.committing: dict[int, None] = {}  # in the order of commit
        self.last_order = 0
        self.subscribers: dict[str, rec.SubscriberRecord] = {}
        self.writers: dict[str, rec.WriterRecord] = {}
        self.watermark: rec.WatermarkRecord | None = None
        self.set_record(record)

    def set_record(self, record: rec.StreamRecord) -> None:
        """Replace the record, and decode its configuration."""
        self.record = record
        self.config = pb.StreamConfig.FromString(record.config)

    @property
    def is_sealed(self) -> bool:
        """Return whether the stream is sealed."""
        return self.record.state is StreamState.SEALED

    @property
    def head(self) -> Mapping[int, int]:
        """Return the cut at which the stream begins."""
        if self.truncation is not None:
            return self.truncation.cut
        return {s.segment_id: 0 for s in self.epochs.epoch(0).segments}

    @property
    def scoped_name(self) -> str:
        """Return ``scope/stream``."""
        return f"{self.scope}/{self.name}"

    def segment_name(self, segment_id: int) -> str:
        """Return the full name of one of the stream's segments."""
        return segment_name(self.scope, self.name, segment_id)

    def segment_names(self, segment_ids: Iterable[int]) -> list[str]:
        """Return the full names of several segments, in the same order."""
        return [self.segment_name(i) for i in segment_ids]

    def creations(self, segments: Iterable[SegmentRange], *, fixed: bool = False) -> list[CreateSegment]:
        """Return the operations that create segments under the stream's scaling policy (``fixed``: under
        none).
        """
        return [self.creation(self.segment_name(s.segment_id), fixed=fixed) for s in segments]

    def creation(self, name: str, *, fixed: bool = False) -> CreateSegment:
        """Return the operation that creates a segment of the stream, or one for a transaction."""
        policy = self.config.scalingPolicy
        scale_type = 0 if fixed else int(policy.scaleType)
        return CreateSegment(name, scale_type=scale_type, target_rate=policy.targetRate if scale_type else 0)

    def set_transaction(self, record: rec.TransactionRecord) -> None:
        """Keep the record of a transaction, and list it under its present state."""
        txn = record.txn_id
        self.transactions[txn] = record
        self.open.pop(txn, None)
        self.committing.pop(txn, None)
        self.last_order = max(self.last_order, record.order)
        if record.state is TransactionState.OPEN:
            self.open[txn] = None
        elif record.state is TransactionState.COMMITTING:
            self.committing[txn] = None

    def own_records(self) -> Iterator[rec.Record]:
        """Yield every record that is removed when the stream is deleted."""
        yield from self.transactions.values()
        yield from self.subscribers.values()
        yield from self.writers.values()
        yield from self.recorded
        yield from (r for r in (self.truncation, self.watermark) if r is not None)
        for epoch in range(len(self.epochs)):
            yield rec.StreamEpochRecord(0, self.scope, self.name, self.epochs.record(epoch))
        yield self.record


class ScopeEntry:
    """A scope: its streams, reader groups and key-value tables by name. Names in lists are in order."""

    def __init__(self, record: rec.ScopeRecord) -> None:
        self.record = record
        self.streams: dict[str, StreamEntry] = {}
        self.stream_names: list[str] = []
        self.groups: dict[str, rec.GroupRecord] = {}
        self.tables: dict[str, rec.TableRecord] = {}
        self.table_names: list[str] = []
        self.is_ending = False  # it is being deleted in several steps, and nothing new may be created in it

    def add(self, stream: StreamEntry) -> None:
        """Add a stream."""
        self.streams[stream.name] = stream
        insort(self.stream_names, stream.name)

    def discard(self, name: str) -> None:
        """Remove a stream, if it is there."""
        if self.streams.pop(name, None) is not None:
            del self.stream_names[bisect_right(self.stream_names, name) - 1]

    def set_table(self, record: rec.TableRecord) -> None:
        """Keep the record of a key-value table."""
        if record.table not in self.tables:
            insort(self.table_names, record.table)
        self.tables[record.table] = record

    def discard_table(self, name: str) -> None:
        """Remove a key-value table, if it is there."""
        if self.tables.pop(name, None) is not None:
            del self.table_names[bisect_right(self.table_names, name) - 1]

    @property
    def is_empty(self) -> bool:
        """Return whether the scope has neither streams nor reader groups nor key-value tables."""
        return not self.streams and not self.groups and not self.tables


class Catalog:
    """All metadata, by name."""

    def __init__(self) -> None:
        self.scopes: dict[str, ScopeEntry] = {SYSTEM_SCOPE: ScopeEntry(rec.ScopeRecord(0, SYSTEM_SCOPE))}
        self.scope_names: list[str] = [SYSTEM_SCOPE]
        self.last_numbers: dict[tuple[str, ...], rec.NumberRecord] = {}
        self.last_table_numbers: dict[tuple[str, ...], rec.TableNumberRecord] = {}
        self.reserved_counters = 0

    def scope(self, name: str) -> ScopeEntry:
        """Return the scope of that name. Raises ``ScopeNotFoundError``."""
        found = self.scopes.get(name)
        if found is None:
            raise ScopeNotFoundError(f"there is no scope {name!r}; create it first")
        return found

    def accepts(self, scope: str) -> bool:
        """Return whether streams and reader groups can be created in a scope."""
        entry = self.scopes.get(scope)
        return entry is not None and not entry.is_ending

    def find(self, scope: str, stream: str) -> StreamEntry | None:
        """Return a stream, None if it does not exist."""
        entry = self.scopes.get(scope)
        return entry.streams.get(stream) if entry else None

    def stream(self, scope: str, stream: str) -> StreamEntry:
        """Return a stream. Raises ``StreamNotFoundError``."""
        found = self.find(scope, stream)
        if found is None:
            raise StreamNotFoundError(f"there is no stream {scope}/{stream}; create it first")
        return found

    def streams(self) -> Iterator[StreamEntry]:
        """Yield the streams of all scopes."""
        for scope in self.scopes.values():
            yield from scope.streams.values()

    def apply(self, record: rec.Record) -> None:
        """Make ``record`` the present state of the thing that it describes."""
        match record:
            case rec.ScopeRecord():
                self._apply_scope(record)
            case rec.NumberRecord():
                self.last_numbers[record.parts()] = record
            case rec.TableNumberRecord():
                self.last_table_numbers[record.parts()] = record
            case rec.TableRecord():
                self.scopes[record.scope].set_table(record)
            case rec.CounterRecord():
                self.reserved_counters = record.reserved
            case rec.GroupRecord():
                self.scopes[record.scope].groups[record.group] = record
            case rec.StreamRecord():
                self._apply_stream(record)
            case rec.OfStream():
                _apply_to(self.stream(record.scope, record.stream), record)

    def remove(self, record: rec.Record) -> None:
        """Forget the thing that ``record`` describes."""
        match record:
            case rec.ScopeRecord():
                del self.scopes[record.scope]
                self.scope_names.remove(record.scope)
            case rec.GroupRecord():
                self.scopes[record.scope].groups.pop(record.group, None)
            case rec.NumberRecord():
                self.last_numbers.pop(record.parts(), None)
            case rec.TableRecord():
                self.scopes[record.scope].discard_table(record.table)
            case rec.StreamRecord():
                self.scopes[record.scope].discard(record.stream)
            case rec.OfStream():
                _remove_from(self.find(record.scope, record.stream), record)

    def _apply_scope(self, record: rec.ScopeRecord) -> None:
        if record.scope not in self.scopes:
            self.scopes[record.scope] = ScopeEntry(record)
            insort(self.scope_names, record.scope)

    def _apply_stream(self, record: rec.StreamRecord) -> None:
        scope = self.scopes[record.scope]
        if record.stream in scope.streams:
            scope.streams[record.stream].set_record(record)
        else:
            scope.add(StreamEntry(record))


def _apply_to(stream: StreamEntry, record: rec.OfStream) -> None:
    match record:
        case rec.StreamEpochRecord():
            stream.epochs.add(record.epoch)
            stream.live_ids += sorted(s.segment_id for s in record.epoch.created)
        case rec.TransactionRecord():
            stream.set_transaction(record)
        case rec.TruncationRecord():
            stream.truncation = record
            _drop_deleted(stream, record)
        case rec.RetentionRecord():
            stream.recorded.append(record)
        case rec.SubscriberRecord():
            stream.subscribers[record.subscriber] = record
        case rec.WriterRecord():
            stream.writers[record.writer] = record
        case rec.WatermarkRecord():
            stream.watermark = record


def _remove_from(stream: StreamEntry | None, record: rec.OfStream) -> None:
    if stream is None:
        return
    match record:
        case rec.RetentionRecord():
            stream.recorded = [r for r in stream.recorded if r is not record]
        case rec.TransactionRecord():
            stream.transactions.pop(record.txn_id, None)
            stream.open.pop(record.txn_id, None)
        case rec.SubscriberRecord():
            stream.subscribers.pop(record.subscriber, None)
        case rec.WriterRecord():
            stream.writers.pop(record.writer, None)


def _drop_deleted(stream: StreamEntry, record: rec.TruncationRecord) -> None:
    candidates = stream.live_ids[: bisect_right(stream.live_ids, max(record.cut))]
    gone = dict.fromkeys(before(stream.epochs, record.cut, candidates))
    if gone:
        stream.live_ids = [i for i in stream.live_ids if i not in gone]


def segment_range(stream: StreamEntry, segment: SegmentRange) -> Mapping[str, Any]:
    """Return the fields of a ``pb.SegmentRange``, for the constructor of the message around it.

    Building a message here would take three times as long. Also, protobuf returns all free memory of the
    process to the system (``malloc_trim``) each time 10,000 messages have been freed.
    """
    info = {"scope": stream.scope, "stream": stream.name}
    segment_id = {"streamInfo": info, "segmentId": segment.segment_id}
    return {"segmentId": segment_id, "minKey": segment.low, "maxKey": segment.high}
