"""How committing transactions get into their stream: merged, or merged through a rolling transaction (A10).

A transaction writes to segments named after its epoch: the number of the active segment, the epoch of the
transaction. If the active epoch still is that one (or a duplicate of it), each is merged into the active
segment of the same number. Otherwise the epoch of the transaction is made anew for them, between what was
active and what takes over from it. A batch is one change: all of its transactions commit, wholly, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from pravega_lab.engine.store import records as rec
from pravega_lab.engine.store.catalog import StreamEntry
from pravega_lab.engine.store.epochs import Epoch, EpochRecord, Ranges, rolling_epochs
from pravega_lab.engine.store.metadata import Change
from pravega_lab.engine.store.operations import Merge, Seal
from pravega_lab.engine.store.states import TransactionAct, TransactionState, after_transaction
from pravega_lab.protocol.names import SegmentRange, number_of, segment_id, transaction_segment_name

BATCH_MAX = 100
"""Transactions per pass (A10)."""

Length = Callable[[str], int]

MERGES_MAX = 10_000
"""Merges per pass: with many segments a pass takes fewer transactions, so that others get their turn."""


def parents(txn_epoch: Epoch, segments: Iterable[SegmentRange]) -> list[SegmentRange]:
    """The segments that a transaction of ``txn_epoch`` names as its own, for those that are active."""
    epoch = txn_epoch.epoch
    return [SegmentRange(segment_id(epoch, number_of(s.segment_id)), s.low, s.high) for s in segments]


def parents_of(stream: StreamEntry, txn_id: int) -> list[SegmentRange]:
    """The same for a transaction of old: the numbers of its epoch never change."""
    epoch = stream.epochs.epoch(txn_id >> 96)
    return parents(epoch, epoch.segments)


def segment_names(stream: StreamEntry, txn_id: int, named: Sequence[SegmentRange]) -> list[str]:
    """Full names of the transaction's own segments."""
    txn = UUID(int=txn_id)
    return [transaction_segment_name(stream.segment_name(p.segment_id), txn) for p in named]


def next_batch(stream: StreamEntry, length: Length, now_ms: int) -> Change:
    """The change that commits the next transactions in order, all of the lowest epoch.

    With them go the times that their writers noted (A12). ``length``: of a segment when all is applied that
    was submitted; 0 for one that is not there yet.
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
    """The segments into which the transactions are merged."""
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
    """For each writer the newest time it noted with a commit, and how far the segments go with that one."""
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
