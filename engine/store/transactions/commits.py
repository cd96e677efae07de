"""How committing transactions enter their stream: by a merge, or through a rolling transaction.

A transaction writes to segments named after its epoch: the number of the active segment, and the epoch of
the transaction. If the active epoch is still that one, or a duplicate of it, each segment is merged into the
active segment of the same number. Otherwise the epoch of the transaction is duplicated for them, between the
active epoch and a duplicate of the active epoch that continues. A batch is one change: either all of its
transactions commit, or none.

Source: pravega.md A10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from pravega_lab.protocol.names import SegmentRange, number_of, segment_id, transaction_segment_name

from ..log.operations import Merge, Seal
from ..metadata import records as rec
from ..metadata.catalog import StreamEntry
from ..metadata.epochs import Epoch, EpochRecord, Ranges, rolling_epochs
from ..metadata.metadata import Change
from ..metadata.states import TransactionAct, TransactionState, after_transaction

BATCH_MAX = 100
"""Transactions per pass (pravega.md A10)."""

Length = Callable[[str], int]

MERGES_MAX = 1000
"""Merges per pass. With many segments a pass takes fewer transactions, so other streams are not delayed."""


def parents(txn_epoch: Epoch, segments: Iterable[SegmentRange]) -> list[SegmentRange]:
    """Return the segments that a transaction of ``txn_epoch`` names as its own, for active ``segments``."""
    epoch = txn_epoch.epoch
    return [SegmentRange(segment_id(epoch, number_of(s.segment_id)), s.low, s.high) for s in segments]


def parents_of(stream: StreamEntry, txn_id: int) -> list[SegmentRange]:
    """Return the same for an existing transaction: the numbers of its epoch never change."""
    epoch = stream.epochs.epoch(txn_id >> 96)
    return parents(epoch, epoch.segments)


def segment_names(stream: StreamEntry, txn_id: int, named: Sequence[SegmentRange]) -> list[str]:
    """Return the full names of the transaction's own segments."""
    txn = UUID(int=txn_id)
    return [transaction_segment_name(stream.segment_name(p.segment_id), txn) for p in named]


def next_batch(stream: StreamEntry, length: Length, now_ms: int) -> Change:
    """Return the change that commits the next transactions in order, all of the lowest epoch.

    The times that their writers noted are part of it (pravega.md A12). ``length`` returns the length of a
    segment when everything submitted is applied, 0 for a segment that does not exist yet.
    """
    waiting = [stream.transactions[txn] for txn in stream.committing]
    txn_epoch = stream.epochs.epoch(min(t.epoch for t in waiting))
    most = max(1, min(BATCH_MAX, MERGES_MAX // len(txn_epoch.segments)))
    chosen = [t for t in waiting if t.epoch == txn_epoch.epoch][:most]
    change = Change()
    if stream.epochs.active.reference_epoch == txn_epoch.reference_epoch:
        into = stream.epochs.active.segments
        _merge(change, stream, chosen, into)
    else:
        into = _roll(change, stream, chosen, txn_epoch, now_ms)
    change.write(*_noted_times(stream, chosen, into, length, now_ms))
    change.write(*(replace(t, state=_merged(t), now_ms=now_ms) for t in chosen))
    return change


def _roll(
    change: Change, stream: StreamEntry, chosen: list[rec.TransactionRecord], txn_epoch: Epoch, now_ms: int
) -> Ranges:
    """Add the two epochs of a rolling transaction, and return the segments into which transactions are
    merged.
    """
    active = stream.epochs.active
    again, after = rolling_epochs(active, txn_epoch, now_ms=now_ms)
    change.do(stream.creations(again.created, fixed=True))
    _merge(change, stream, chosen, again.created)
    change.do(_seals(stream, again.created))
    change.do(stream.creations(after.created))
    change.do(_seals(stream, active.segments))
    change.write(_record(stream, again, now_ms), _record(stream, after, now_ms))
    return again.created


def _merge(change: Change, stream: StreamEntry, chosen: list[rec.TransactionRecord], into: Ranges) -> None:
    targets = {number_of(s.segment_id): stream.segment_name(s.segment_id) for s in into}
    for record in chosen:
        named = parents_of(stream, record.txn_id)
        sources = segment_names(stream, record.txn_id, named)
        change.do(Merge(targets[number_of(p.segment_id)], s) for p, s in zip(named, sources, strict=True))


def _noted_times(
    stream: StreamEntry, chosen: list[rec.TransactionRecord], into: Ranges, length: Length, now_ms: int
) -> list[rec.WriterRecord]:
    """Return, for each writer, the latest time noted with a commit, and the ends of the segments after it."""
    ends = {s.segment_id: length(stream.segment_name(s.segment_id)) for s in into}
    by_number = {number_of(segment): segment for segment in ends}
    found = dict(stream.writers)
    for record in chosen:
        named = parents_of(stream, record.txn_id)
        for parent, source in zip(named, segment_names(stream, record.txn_id, named), strict=True):
            ends[by_number[number_of(parent.segment_id)]] += length(source)
        before = found.get(record.writer)
        is_noted = record.writer and record.timestamp != rec.NO_TIME
        if is_noted and (before is None or record.timestamp >= before.timestamp):
            times = (record.writer, record.timestamp, dict(ends))
            found[record.writer] = rec.WriterRecord(now_ms, stream.scope, stream.name, *times)
    return [writer for name, writer in found.items() if writer is not stream.writers.get(name)]


def _seals(stream: StreamEntry, segments: Ranges) -> list[Seal]:
    return [Seal(stream.segment_name(s.segment_id)) for s in segments]


def _record(stream: StreamEntry, epoch: EpochRecord, now_ms: int) -> rec.StreamEpochRecord:
    return rec.StreamEpochRecord(now_ms, stream.scope, stream.name, epoch)


def _merged(record: rec.TransactionRecord) -> TransactionState:
    return after_transaction(f"transaction {UUID(int=record.txn_id)}", record.state, TransactionAct.MERGE)
