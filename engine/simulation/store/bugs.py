"""Planted bugs of store and client, which the checkers must find. Production code never reaches this module.

A bug replaces one piece of the store or the client while its `planted` block runs. Tests plant each and run
seeds until one fails. ``pravega-lab simulate --bug NAME`` does the same.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from pravega_lab.client.reading.lineage import Lineage
from pravega_lab.client.writing.appender import SegmentAppender
from pravega_lab.client.writing.appends import Appends

from ...server import runner
from ...server.connection import SegmentStoreProtocol
from ...server.reads import Reads
from ...store.log import format as log
from ...store.log.operations import Delete, Merge
from ...store.metadata import epochs
from ...store.metadata.metadata import Metadata
from ...store.metadata.records import CounterRecord
from ...store.storage import recovery
from ...store.storage.segment import Extents
from ...store.storage.storage import Group, Storage
from ...store.storage.synced_state import Dirty, Synced
from ...store.storage.table import Table
from ...store.storage.validated_state import Validated
from ...store.streams import segment_calls
from ...store.streams.streams import StreamCalls
from ...store.transactions import commits
from ...store.transactions.transactions import Transactions
from .clocks import bugs as clock_bugs
from .conditions import bugs as condition_bugs
from .damage import bugs as damage_bugs
from .key_values import bugs as key_value_bugs
from .planting import BUGS, Replacement
from .planting import bug as _bug
from .retention import bugs as retention_bugs
from .tiers import bugs as tier_bugs
from .tokens import bugs as token_bugs

__all__ = [
    "BUGS",
    "clock_bugs",
    "condition_bugs",
    "damage_bugs",
    "key_value_bugs",
    "retention_bugs",
    "tier_bugs",
    "token_bugs",
]

# -- log and segment store -----------------------------------------------------------------------------------


@_bug("ack-before-sync", "writers", "nothing acknowledged is lost")
def _ack_before_sync() -> list[Replacement]:
    """Replies are sent when the storage has accepted a submission, not when it is on disk."""
    return [(SegmentStoreProtocol, "when_synced", lambda self, ticket, then: then(ticket))]


@_bug("torn-tail-accepted", "log", "")
def _torn_tail() -> list[Replacement]:
    """Recovery does not check checksums, and accepts a torn group."""
    return [(log, "group_is_valid", lambda group, salt: True)]


@_bug("unsynced-shown", "writers", "readers saw what is stored")
def _unsynced_shown() -> list[Replacement]:
    """Reads show a group as soon as its write to the disk has begun."""
    take = Storage.take_group

    def take_and_show(self: Storage) -> Group | None:
        group = take(self)
        if group is None:
            return None
        if group.data:
            self._files.remember(group.file_id, group.offset, group.data)
        dirty: Dirty = {}
        for queued in group.queued:
            self._synced.apply(queued.changes, queued.now_ms, group.file_id, group.starts, dirty)
        for segment in dirty:
            for watcher in tuple(segment.watchers.values()):
                watcher()
        return group

    def only_acknowledge(self: Storage, group: Group) -> None:
        self._in_flight = None
        for queued in group.queued:
            queued.ticket.complete()

    return [(Storage, "take_group", take_and_show), (Storage, "group_synced", only_acknowledge)]


@_bug("writers-forgotten", "writers", "nothing is doubled")
def _writers_forgotten() -> list[Replacement]:
    """After a restart the store has forgotten the last event number of each writer."""
    right = recovery.open_storage

    def forgetful(*args: Any, **options: Any) -> Storage:
        storage = right(*args, **options)
        for segment in storage._synced.names.values():
            segment.attributes = {}
        return storage

    return [(runner, "open_storage", forgetful)]


@_bug("sealed-is-silent", "writers", "UnfinishedError")
def _sealed_is_silent() -> list[Replacement]:
    """A read that waits when its segment is sealed never gets a reply."""
    right = Reads._reply_to_held

    def silent(self: Reads, request: Any) -> Any:
        reply = right(self, request)
        return reply if getattr(reply, "data", b"") else None

    return [(Reads, "_reply_to_held", silent)]


@_bug("versions-unchecked", "table", "table is linearizable")
def _versions_unchecked() -> list[Replacement]:
    """A conditional update of a table succeeds whatever the version of the key is."""
    return [(Table, "check_versions", lambda self, segment, entries: None)]


@_bug("merge-copies-twice", "transactions", "nothing is doubled")
def _merge_copies_twice() -> list[Replacement]:
    """The bytes of a merged segment are appended to its target twice."""
    apply, check = Synced._merge, Validated.merge

    def apply_twice(self: Synced, change: Any, now_ms: int) -> None:
        again = Extents()
        again.join(change.source.extents, 0)
        apply(self, change, now_ms)
        change.segment.own_extents().join(again, change.segment.length)
        change.segment.length += change.source.length

    def check_twice(self: Validated, op: Any) -> Any:
        change: Any
        result, change = check(self, op)
        if change is not None:
            change.segment.next_length += change.source.next_length
        return result, change

    return [(Synced, "_merge", apply_twice), (Validated, "merge", check_twice)]


# -- controller ----------------------------------------------------------------------------------------------


@_bug("answer-before-sync", "transactions", "transactions all or nothing")
def _answer_before_sync() -> list[Replacement]:
    """The controller replies before its records are on disk."""

    def at_once(self: Metadata, outcome: Any, *, of_storage: bool = False) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return [(Metadata, "release", at_once)]


@_bug("range-off-by-one", "writers", "epochs cover the key space")
def _range_off_by_one() -> list[Replacement]:
    """The first new segment of a scale ends one double too early."""
    right = epochs.scaled_epoch

    def off(*args: Any, **options: Any) -> Any:
        record = right(*args, **options)
        first, *others = record.created
        first = dataclasses.replace(first, high=math.nextafter(first.high, 0.0))
        return dataclasses.replace(record, created=(first, *others))

    return [(segment_calls, "scaled_epoch", off)]


@_bug("commit-in-part", "transactions", "transactions all or nothing")
def _commit_in_part() -> list[Replacement]:
    """The last segment of a transaction is not merged."""
    right = commits._merge

    def in_part(change: Any, *args: Any) -> None:
        before = len(change.operations)
        right(change, *args)
        if len(change.operations) > before + 1:
            change.operations.pop()

    return [(commits, "_merge", in_part)]


@_bug("rolling-ignored", "transactions", "nothing is invented")
def _rolling_ignored() -> list[Replacement]:
    """A transaction of an old epoch is merged into the segments that are active now."""

    def merge_anywhere(change: Any, stream: Any, chosen: Any, txn_epoch: Any, now_ms: int) -> Any:
        active = [stream.segment_name(s.segment_id) for s in stream.epochs.active.segments]
        for record in chosen:
            named = commits.parents_of(stream, record.txn_id)
            sources = commits.segment_names(stream, record.txn_id, named)
            change.do(Merge(active[n % len(active)], source) for n, source in enumerate(sources))
        return txn_epoch.segments

    return [(commits, "_roll", merge_anywhere)]


@_bug("newest-first", "full", "transactions in order of commit")
def _newest_first() -> list[Replacement]:
    """Of several transactions that wait for their commit, the newest is committed first, one per pass."""
    right = commits.next_batch

    def newest_first(stream: Any, length: Any, now_ms: int) -> Any:
        kept, stream.committing = stream.committing, dict(list(stream.committing.items())[-1:])
        try:
            return right(stream, length, now_ms)
        finally:
            stream.committing = kept

    return [(commits, "next_batch", newest_first)]


# -- what the rules of `pravega-lab admin verify` find -------------------------------------------------------


@_bug("aborted-segments-left", "transactions", "the store is sound: segments belong to something")
def _aborted_segments_left() -> list[Replacement]:
    """An abort does not delete the segments of its transaction."""
    right = Transactions._add_abort

    def leave(self: Transactions, change: Any, *args: Any) -> None:
        before = list(change.operations)
        right(self, change, *args)
        change.operations[:] = before

    return [(Transactions, "_add_abort", leave)]


@_bug("truncated-segments-left", "writers", "the store is sound: segments belong to something")
def _truncated_segments_left() -> list[Replacement]:
    """A truncation does not delete the segments that are wholly before its cut."""
    right = StreamCalls.add_truncation

    def leave(self: StreamCalls, change: Any, *args: Any) -> None:
        first = len(change.operations)
        right(self, change, *args)
        added = change.operations[first:]
        change.operations[first:] = [op for op in added if not isinstance(op, Delete)]

    return [(StreamCalls, "add_truncation", leave)]


@_bug("counters-unreserved", "transactions", "the store is sound: transactions are whole")
def _counters_unreserved() -> list[Replacement]:
    """The counters of transactions are reserved in memory only, and the next life uses them again."""
    right = Metadata.commit

    def forgetful(self: Metadata, change: Any, *, now_ms: int) -> None:
        for record in [r for r in change.written if isinstance(r, CounterRecord)]:
            change.written.remove(record)
            self.catalog.apply(record)
        right(self, change, now_ms=now_ms)

    return [(Metadata, "commit", forgetful)]


# -- client --------------------------------------------------------------------------------------------------


@_bug("new-writer-on-reconnect", "writers", "nothing is doubled")
def _new_writer() -> list[Replacement]:
    """After a reconnect all unacknowledged events are sent under a new writer id."""
    right = SegmentAppender._synchronize

    async def again(self: SegmentAppender, connection: Any) -> None:
        self._writer_id = self._owner.context.new_id()
        await right(self, connection)

    return [(SegmentAppender, "_synchronize", again)]


@_bug("sealed-means-stored", "writers", "nothing acknowledged is lost")
def _sealed_means_stored() -> list[Replacement]:
    """When a segment turns out to be sealed, the unacknowledged events sent to it count as acknowledged."""
    right = SegmentAppender.take_back

    def forget(self: SegmentAppender) -> Any:
        for block in self._in_flight:
            for chunk in block.chunks:
                self._owner.acknowledged(chunk)
        self._in_flight.clear()
        return right(self)

    return [(SegmentAppender, "take_back", forget)]


@_bug("rerouted-backwards", "writers", "order per key")
def _rerouted_backwards() -> list[Replacement]:
    """The events that a sealed segment did not accept go to its successors in reverse order."""
    right = SegmentAppender.take_back
    return [(SegmentAppender, "take_back", lambda self: right(self)[::-1])]


@_bug("flushed-while-collected", "singles", "nothing acknowledged is lost")
def _flushed_while_collected() -> list[Replacement]:
    """A flush waits for the events that were routed, and not for those that were only collected."""

    async def leave(self: Appends) -> None: ...

    return [(Appends, "_empty_buffer", leave)]


@_bug("collected-overtake", "singles", "order per key")
def _collected_overtake() -> list[Replacement]:
    """After a seal, collected events are routed before the earlier events that the segment did not accept."""
    right = SegmentAppender.take_back

    def take_back_late(self: SegmentAppender) -> Any:
        if isinstance(self._owner, Appends):
            self._owner.collect()
        return right(self)

    return [(SegmentAppender, "take_back", take_back_late)]


@_bug("successors-at-once", "writers", "readers in order")
def _successors_at_once() -> list[Replacement]:
    """A segment may be read before its predecessors are."""
    return [(Lineage, "_find_blockers", lambda self, new: None)]
