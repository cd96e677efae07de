"""Deletes streams: what is small in one change, what is large in several, so that others go on in between.

A large stream is visible while it is being deleted, without its oldest segments. A call that was cut off by a
crash leaves it like this, and deleting it again completes the work.
"""

from __future__ import annotations

from collections.abc import Generator

from pravega_lab.protocol.names import MARK_PREFIX

from ..log.operations import Delete, Seal
from ..metadata import records as rec
from ..metadata.catalog import Catalog, StreamEntry
from ..metadata.metadata import Change, Metadata
from ..metadata.states import StreamAct, TransactionState, after_stream
from ..transactions.transactions import Transactions

OPERATIONS_MAX = 200
"""Segments and records that are changed before others have a turn, by default."""

Turns = Generator[None, int, int]
"""Yields after each part of the work, receives the time of the next part, and returns the last time."""

_ENDED = (TransactionState.COMMITTED, TransactionState.ABORTED)


class Removals:
    """Seals and deletes streams, with ``operations_max`` segments and records in a change at most."""

    def __init__(self, metadata: Metadata, transactions: Transactions, operations_max: int) -> None:
        self.operations_max = operations_max
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._transactions = transactions

    def size(self, stream: StreamEntry) -> int:
        """Return how many segments, and records of transactions, are deleted with the stream."""
        return len(stream.live_ids) + self._open_segments(stream) + len(stream.transactions)

    def seal(self, stream: StreamEntry, now_ms: int) -> Turns:
        """Finish commits in progress, abort open transactions, and seal. A sealed stream stays as it is.

        Source: pravega.md A8.
        """
        while not stream.is_sealed and self._open_segments(stream) > self.operations_max:
            change = Change()
            most = max(1, self.operations_max // len(stream.epochs.active.segments))
            self._transactions.add_aborts_of(change, stream, most, now_ms)
            self._metadata.commit_what_is_left(change, now_ms=now_ms)
            now_ms = yield
        if stream.is_sealed or self._is_gone(stream):
            return now_ms
        self._transactions.finish_commits(stream, now_ms)
        change = Change()
        self._transactions.add_aborts(change, stream, now_ms)
        change.do(Seal(stream.segment_name(s.segment_id)) for s in stream.epochs.active.segments)
        state = after_stream(stream.scoped_name, stream.record.state, StreamAct.SEAL)
        change.write(rec.StreamRecord(now_ms, stream.scope, stream.name, stream.record.config, state))
        self._metadata.commit_what_is_left(change, now_ms=now_ms)
        return now_ms

    def delete(self, stream: StreamEntry, now_ms: int) -> Turns:
        """Delete a sealed stream with its segments and records, and its mark stream."""
        while not self._is_gone(stream) and self.size(stream) > self.operations_max:
            if not self._delete_some(stream, now_ms):
                break
            now_ms = yield
        if self._is_gone(stream):
            return now_ms
        change = Change()
        self.add_deletion(change, stream, now_ms)
        self._metadata.commit_what_is_left(change, now_ms=now_ms)
        return now_ms

    def _delete_some(self, stream: StreamEntry, now_ms: int) -> bool:
        """Delete the oldest segments, and after them the records of ended transactions.

        Return False if there are none.
        """
        change = Change()
        deleted = stream.live_ids[: self.operations_max]
        change.do(Delete(name) for name in stream.segment_names(deleted))
        ended = [t for t in stream.transactions.values() if t.state in _ENDED]
        change.remove(*ended[: self.operations_max - len(deleted)])
        if not deleted and not change.removed:
            return False
        self._metadata.commit_what_is_left(change, now_ms=now_ms)
        stream.live_ids = stream.live_ids[len(deleted) :]
        return True

    def add_deletion(self, change: Change, stream: StreamEntry, now_ms: int) -> None:
        """Add to ``change`` the deletion of ``stream`` and its mark stream. Only the highest segment number
        of both is kept.

        Source: pravega.md A4.
        """
        mark = self._catalog.find(stream.scope, MARK_PREFIX + stream.name)
        last_number = stream.epochs.last_number
        self._add_removal(change, stream)
        if mark is not None:
            last_number = max(last_number, mark.epochs.last_number)
            self._add_removal(change, mark)
        former = self._catalog.last_numbers.get((stream.scope, MARK_PREFIX + stream.name))
        if former is not None:  # the mark stream was deleted on its own, or by an earlier release
            last_number = max(last_number, former.last_number)
            change.remove(former)
        change.write(rec.NumberRecord(now_ms, stream.scope, stream.name, last_number))

    def _add_removal(self, change: Change, stream: StreamEntry) -> None:
        open_segments = self._transactions.open_segments(stream)
        change.do(Delete(name) for name in [*open_segments, *stream.segment_names(stream.live_ids)])
        change.remove(*stream.own_records())

    def _open_segments(self, stream: StreamEntry) -> int:
        return len(stream.open) * len(stream.epochs.active.segments)

    def _is_gone(self, stream: StreamEntry) -> bool:
        return self._catalog.find(stream.scope, stream.name) is not stream
