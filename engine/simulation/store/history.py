"""`History`: a journal folded into what the checkers ask for, such as writes, reads, transactions and epochs.

The payload of an event is its identity: ``<source>|<key>|<n>|<padding>``. The source is one life of a writer
or a transaction, and n counts per source and key. The key ``-`` means that the event had no key.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from pravega_lab.protocol.names import epoch_of

from ..kernel.journal import Entry, Journal

KEYLESS = "-"


class Segment(NamedTuple):
    """A segment of an epoch. It owns the keys in (low, high]; the first segment owns 0.0 too."""

    segment_id: int
    low: float
    high: float

    def owns(self, position: float) -> bool:
        return self.low < position <= self.high or (position == 0.0 == self.low)

    def overlaps(self, other: Segment) -> bool:
        return self.low < other.high and other.low < self.high


class Place(NamedTuple):
    """The position of a stored event."""

    segment_id: int
    offset: int


@dataclass
class Stored:
    """The content of a segment at the end of the run."""

    start: int
    sealed: bool
    events: list[tuple[int, str]]


@dataclass(frozen=True)
class Policy:
    """The retention policy of the run: ages in ms, or bytes."""

    by_time: bool
    minimum: int
    maximum: int
    period_ms: int


@dataclass(frozen=True)
class Survey:
    """What the storage contained at one moment: start and length of each segment."""

    seq: int
    time_us: int
    segments: dict[int, tuple[int, int]]


Releases = dict[str, list[tuple[int, dict[int, int]]]]
"""For each group, the place in the journal and the cut of each release."""


@dataclass
class Transaction:
    """A transaction as its clients saw it. ``*_seq`` are places in the journal."""

    name: str
    txn_id: str
    events: dict[str, list[str]] = field(default_factory=dict)  # per key, in order
    commit_seq: int | None = None  # when commit was called
    committing_seq: int | None = None  # when the call of commit returned
    committed_seq: int | None = None
    aborted_seq: int | None = None

    @property
    def epoch(self) -> int:
        """The epoch in which the transaction was created: the first 32 bits of its id (pravega.md A10)."""
        return int(self.txn_id.replace("-", "")[:8], 16)

    def all_events(self) -> list[str]:
        """Return the events of all keys."""
        return [event for events in self.events.values() for event in events]


@dataclass
class Reader:
    """Holds what one life of a reader did."""

    who: str
    positions: dict[int, int] | None = None
    begin_seq: int = 0
    reads: list[tuple[int, Place, str]] = field(default_factory=list)  # seq, place, event
    came_to_the_end: bool = False
    came_to_the_tail: bool = False
    was_truncated: bool = False  # the next data of the reader was truncated


@dataclass
class TableOp:
    """A get or put of a table. ``done_seq`` is the place of its reply in the journal."""

    op: str
    kind: str  # "get" or "put"
    seq: int
    value: str | None = None
    expected: int = 0
    done_seq: int | None = None
    version: int | None = None
    refused: bool = False


def key_of(event: str) -> str:
    """Return the routing key of an event, or `KEYLESS`."""
    return event.split("|")[1]


def source_of(event: str) -> str:
    """Return the life of a writer or the transaction that wrote an event."""
    return event.split("|")[0]


class History:
    """The facts of a journal. The journal is folded on construction."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.written: dict[tuple[str, str], list[str]] = {}  # (source, key) -> events in order of writing
        self.write_seq: dict[str, int] = {}
        self.acked_seq: dict[str, int] = {}
        self.transactions: dict[str, Transaction] = {}
        self.readers: dict[str, Reader] = {}
        self.table_ops: dict[str, TableOp] = {}
        self.table_end: tuple[str | None, int] | None = None
        self.truncations = 0
        self.epochs: dict[int, list[Segment]] = {}
        self.successors: dict[int, list[tuple[Segment, list[int]]]] = {}
        self.stored: dict[int, Stored] = {}
        self.policy: Policy | None = None
        self.surveys: list[Survey] = []
        self.archive: dict[Place, str] = {}  # every event that a survey saw
        self.first_seen_us: dict[Place, int] = {}
        self.write_us: dict[str, int] = {}
        self.sealed_us: int | None = None
        self.heads: list[dict[int, int]] = []
        self.subscribing: dict[str, int] = {}
        self.subscribed: dict[str, int] = {}
        self.asked: Releases = {}
        self.released: Releases = {}
        for entry in journal.entries:
            fold = getattr(self, "_" + entry.what.replace("-", "_"), None)
            if fold is not None:
                fold(entry, **entry.about)
        self.ranges = {s.segment_id: s for segments in self.epochs.values() for s in segments}
        self.stored_segments = dict(self.stored)
        self._archived: dict[int, list[tuple[Place, str]]] = {}
        for place, event in self.archive.items():
            self._archived.setdefault(place.segment_id, []).append((place, event))
        self._archive()
        self.places: dict[str, list[Place]] = {}
        for segment_id, stored in self.stored.items():
            for offset, event in stored.events:
                self.places.setdefault(event, []).append(Place(segment_id, offset))

    def _archive(self) -> None:
        """Add truncated events as readers and surveys saw them.

        Without retention, a truncated event was always read before.
        """
        for place, event in self.archive.items():
            stored = self.stored.get(place.segment_id)
            if stored is None or place.offset < stored.start:
                kept = stored or self.stored.setdefault(place.segment_id, Stored(1 << 62, True, []))
                kept.events.append((place.offset, event))
        if self.archive:
            for stored in self.stored.values():
                stored.events.sort()
            return
        starts = {segment_id: stored.start for segment_id, stored in self.stored.items()}
        for reader in self.readers.values() if self.truncations else ():
            for _, place, event in reader.reads:
                if place.offset < starts.get(place.segment_id, place.offset + 1):
                    stored = self.stored.setdefault(place.segment_id, Stored(0, True, []))
                    if (place.offset, event) not in stored.events:
                        stored.events.append((place.offset, event))
        for stored in self.stored.values():
            stored.events.sort()

    # -- questions -----------------------------------------------------------------------------------------

    def lineage(self, position: float) -> list[int]:
        """Return the segments that owned this point of the key space, oldest first."""
        owners: list[int] = []
        for epoch in sorted(self.epochs):
            owner = next((s.segment_id for s in self.epochs[epoch] if s.owns(position)), None)
            if owner is not None and owners[-1:] != [owner]:
                owners.append(owner)
        return owners

    def along(self, segment_ids: Iterable[int]) -> list[str]:
        """Return the events of these segments, segment after segment."""
        return [event for s in segment_ids if s in self.stored for _, event in self.stored[s].events]

    def predecessors(self, segment_id: int) -> list[int]:
        """Return the segments of the epoch before that overlap the segment's range."""
        epoch = epoch_of(segment_id)
        own = next((s for s in self.epochs.get(epoch, []) if s.segment_id == segment_id), None)
        if own is None or epoch == 0:
            return []
        return [s.segment_id for s in self.epochs.get(epoch - 1, []) if s.overlaps(own)]

    def survey_pairs(self) -> Iterable[tuple[Survey, Survey]]:
        """Return each survey with the one before it."""
        return pairwise(self.surveys)

    def archive_of(self, segment_id: int) -> list[tuple[Place, str]]:
        """Return the events of a segment that a survey saw, in order."""
        return self._archived.get(segment_id, [])

    @staticmethod
    def latest_release(releases: Releases, group: str, before_seq: int) -> dict[int, int] | None:
        """Return the last cut that a group released before a place in the journal."""
        return next((cut for seq, cut in reversed(releases.get(group, [])) if seq < before_seq), None)

    # -- folds, one per kind of line -----------------------------------------------------------------------

    def _write(self, entry: Entry, key: str, events: list[str]) -> None:
        self.written.setdefault((entry.who, key), []).extend(events)
        for event in events:
            self.write_seq[event] = entry.seq
            self.write_us[event] = entry.time_us

    def _acked(self, entry: Entry, events: list[str]) -> None:
        for event in events:
            self.acked_seq[event] = entry.seq

    def _txn_begin(self, entry: Entry, txn: str, id: str) -> None:
        self.transactions[txn] = Transaction(txn, id)

    def _txn_write(self, entry: Entry, txn: str, key: str, events: list[str]) -> None:
        self.transactions[txn].events.setdefault(key, []).extend(events)
        for event in events:
            self.write_seq[event] = entry.seq
            self.write_us[event] = entry.time_us

    def _txn_commit(self, entry: Entry, txn: str) -> None:
        if self.transactions[txn].commit_seq is None:  # a later life may commit again
            self.transactions[txn].commit_seq = entry.seq

    def _txn_committing(self, entry: Entry, txn: str) -> None:
        if self.transactions[txn].committing_seq is None:
            self.transactions[txn].committing_seq = entry.seq

    def _txn_committed(self, entry: Entry, txn: str) -> None:
        self.transactions[txn].committed_seq = entry.seq

    def _txn_aborted(self, entry: Entry, txn: str) -> None:
        self.transactions[txn].aborted_seq = entry.seq

    def _reading(self, entry: Entry, positions: dict[str, int] | None) -> None:
        at = None if positions is None else {int(segment): offset for segment, offset in positions.items()}
        self.readers[entry.who] = Reader(entry.who, at, entry.seq)

    def _read(self, entry: Entry, segment: int, offset: int, event: str) -> None:
        reader = self.readers.setdefault(entry.who, Reader(entry.who))
        reader.reads.append((entry.seq, Place(segment, offset), event))

    def _read_all(self, entry: Entry) -> None:
        self.readers[entry.who].came_to_the_end = True

    def _read_truncated(self, entry: Entry) -> None:
        self.readers[entry.who].was_truncated = True

    def _read_to_tail(self, entry: Entry) -> None:
        self.readers[entry.who].came_to_the_tail = True

    def _table_get(self, entry: Entry, op: str) -> None:
        self.table_ops[op] = TableOp(op, "get", entry.seq)

    def _table_got(self, entry: Entry, op: str, value: str | None, version: int) -> None:
        done = self.table_ops[op]
        done.value, done.version, done.done_seq = value, version, entry.seq

    def _table_put(self, entry: Entry, op: str, value: str, expected: int) -> None:
        self.table_ops[op] = TableOp(op, "put", entry.seq, value, expected)

    def _table_put_ok(self, entry: Entry, op: str, version: int) -> None:
        self.table_ops[op].version, self.table_ops[op].done_seq = version, entry.seq

    def _table_put_refused(self, entry: Entry, op: str) -> None:
        self.table_ops[op].refused, self.table_ops[op].done_seq = True, entry.seq

    def _table(self, entry: Entry, value: str | None, version: int) -> None:
        self.table_end = (value, version)

    def _truncate(self, entry: Entry, positions: dict[str, int]) -> None:
        self.truncations += 1

    def _epoch(self, entry: Entry, epoch: int, segments: list[list[Any]]) -> None:
        self.epochs[epoch] = [Segment(*segment) for segment in segments]

    def _successors(self, entry: Entry, segment: int, successors: list[list[Any]]) -> None:
        self.successors[segment] = [(Segment(s, low, high), before) for s, low, high, before in successors]

    def _stored(self, entry: Entry, segment: int, start: int, sealed: bool, events: list[list[Any]]) -> None:
        self.stored[segment] = Stored(start, sealed, [(offset, event) for offset, event in events])

    def _retention(self, entry: Entry, by_time: bool, minimum: int, maximum: int, period_ms: int) -> None:
        self.policy = Policy(by_time, minimum, maximum, period_ms)

    def _survey(
        self, entry: Entry, segments: dict[str, list[int]], events: dict[str, list[list[Any]]]
    ) -> None:
        found = {int(s): (start, length) for s, (start, length) in segments.items()}
        self.surveys.append(Survey(entry.seq, entry.time_us, found))
        for segment, new in events.items():
            for offset, event in new:
                place = Place(int(segment), offset)
                self.archive[place] = event
                self.first_seen_us[place] = entry.time_us

    def _sealed(self, entry: Entry) -> None:
        self.sealed_us = entry.time_us

    def _head(self, entry: Entry, positions: dict[str, int]) -> None:
        self.heads.append(_cut(positions))

    def _subscribing(self, entry: Entry, group: str) -> None:
        self.subscribing.setdefault(group, entry.seq)

    def _subscribed(self, entry: Entry, group: str) -> None:
        self.subscribed.setdefault(group, entry.seq)

    def _release(self, entry: Entry, group: str, positions: dict[str, int]) -> None:
        self.asked.setdefault(group, []).append((entry.seq, _cut(positions)))

    def _released(self, entry: Entry, group: str, positions: dict[str, int]) -> None:
        self.released.setdefault(group, []).append((entry.seq, _cut(positions)))


def _cut(positions: dict[str, int]) -> dict[int, int]:
    return {int(segment): offset for segment, offset in positions.items()}
