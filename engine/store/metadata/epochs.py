"""The epochs of one stream: which segments were active when, and which segments succeed which
(pravega.md A4, A5).

Whether an epoch may begin is decided in ``streams.scaling``. This module keeps the decisions and answers
questions about them. An epoch is stored as its difference from the previous one, so a record is as large as
its scale.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pravega_lab.errors import SegmentNotFoundError
from pravega_lab.protocol.names import SegmentRange, epoch_of, number_of, segment_id

Ranges = tuple[SegmentRange, ...]
"""Segments in the order of their keys, none overlapping another."""


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """The difference between an epoch and the previous one: segments sealed and segments created.

    ``reference_epoch`` differs from ``epoch`` only in the duplicates that a rolling transaction makes
    (pravega.md A10).
    """

    epoch: int
    reference_epoch: int
    sealed: tuple[int, ...]
    created: Ranges
    created_ms: int


@dataclass(frozen=True, slots=True)
class Epoch:
    """A whole epoch. Its segments cover the key space once."""

    epoch: int
    reference_epoch: int
    segments: Ranges
    created_ms: int


@dataclass(frozen=True, slots=True)
class Successor:
    """A segment that succeeds others, and the ids of those others."""

    segment: SegmentRange
    predecessors: tuple[int, ...]


def overlapping(ranges: Sequence[SegmentRange], low: float, high: float) -> Sequence[SegmentRange]:
    """Return those ``ranges`` that share keys with (low, high]. ``ranges`` are sorted and disjoint.

    The cost is O(log n) plus the size of the result.
    """
    first = bisect_right(ranges, low, key=lambda r: r.high)
    last = bisect_left(ranges, high, lo=first, key=lambda r: r.low)
    return ranges[first:last]


class Epochs:
    """The history of one stream's segments. Records are added in the order of their epochs."""

    def __init__(self, records: Iterable[EpochRecord] = ()) -> None:
        self._epochs: list[Epoch] = []
        self._records: list[EpochRecord] = []
        self._segments: dict[int, SegmentRange] = {}  # all that the stream ever had, in the order of ids
        self._ids: list[int] = []
        self._sealed_in: dict[int, int] = {}
        self._last_number = -1
        for record in records:
            self.add(record)

    def add(self, record: EpochRecord) -> None:
        """Make ``record`` the active epoch."""
        assert record.epoch == len(self._epochs), "epochs come one after the other"
        gone = dict.fromkeys(record.sealed, record.epoch)
        kept = [r for r in self._epochs[-1].segments if r.segment_id not in gone] if self._epochs else []
        segments = tuple(sorted([*kept, *record.created], key=lambda r: r.low))
        self._epochs.append(Epoch(record.epoch, record.reference_epoch, segments, record.created_ms))
        self._records.append(record)
        self._sealed_in.update(gone)
        for created in sorted(record.created):
            self._segments[created.segment_id] = created
            self._ids.append(created.segment_id)
            self._last_number = max(self._last_number, number_of(created.segment_id))

    @property
    def active(self) -> Epoch:
        """Return the latest epoch, also of a sealed stream."""
        return self._epochs[-1]

    @property
    def last_number(self) -> int:
        """Return the highest segment number ever used. A later stream of the same name begins above it.

        Source: pravega.md A4.
        """
        return self._last_number

    @property
    def ids(self) -> Sequence[int]:
        """Return the ids of all segments that the stream ever had, oldest first."""
        return self._ids

    def __len__(self) -> int:
        return len(self._epochs)

    def epoch(self, epoch: int) -> Epoch:
        """Return the epoch of that number. Raises ``SegmentNotFoundError``."""
        if not 0 <= epoch < len(self._epochs):
            raise SegmentNotFoundError(f"there is no epoch {epoch}; the active one is {self.active.epoch}")
        return self._epochs[epoch]

    def record(self, epoch: int) -> EpochRecord:
        """Return the record of the epoch of that number."""
        return self._records[epoch]

    def segment(self, segment_id: int) -> SegmentRange | None:
        """Return the range of a segment, active or not, and None if the stream never had it."""
        return self._segments.get(segment_id)

    def is_active(self, segment_id: int) -> bool:
        """Return whether the segment belongs to the active epoch."""
        return segment_id in self._segments and segment_id not in self._sealed_in

    def successors(self, segment_id: int) -> list[Successor]:
        """Return the successors of a segment, each with all its predecessors. An active segment has
        none.

        Raises:
            SegmentNotFoundError: The stream never had this segment.
        """
        segment = self._known(segment_id)
        sealed = self._sealed_in.get(segment_id)
        if sealed is None:
            return []
        follow = overlapping(self._epochs[sealed].segments, segment.low, segment.high)
        return [Successor(s, self._before(s, sealed)) for s in follow]

    def predecessors(self, segment_id: int) -> tuple[int, ...]:
        """Return the ids of a segment's predecessors. Segments of the first epoch have none."""
        segment = self._known(segment_id)
        return self._before(segment, epoch_of(segment_id)) if epoch_of(segment_id) else ()

    def _before(self, segment: SegmentRange, epoch: int) -> tuple[int, ...]:
        earlier = overlapping(self._epochs[epoch - 1].segments, segment.low, segment.high)
        return tuple(s.segment_id for s in earlier)

    def _known(self, segment_id: int) -> SegmentRange:
        segment = self._segments.get(segment_id)
        if segment is None:
            raise SegmentNotFoundError(f"the stream never had segment {segment_id}")
        return segment


def first_epoch(bounds: Sequence[tuple[float, float]], first_number: int, *, now_ms: int) -> EpochRecord:
    """Return epoch 0: one segment per range, numbered from ``first_number``."""
    created = _numbered(0, first_number, bounds)
    return EpochRecord(0, 0, (), created, now_ms)


def scaled_epoch(
    active: Epoch, seal: Sequence[int], bounds: Sequence[tuple[float, float]], *, now_ms: int
) -> EpochRecord:
    """Return the epoch after ``active`` in which ``seal`` is replaced.

    Numbers continue above the *active* ones.

    Source: pravega.md A5.
    """
    epoch = active.epoch + 1
    first = max(number_of(s.segment_id) for s in active.segments) + 1
    created = _numbered(epoch, first, sorted(bounds))
    return EpochRecord(epoch, epoch, tuple(seal), created, max(now_ms, active.created_ms + 1))


def rolling_epochs(active: Epoch, txn_epoch: Epoch, *, now_ms: int) -> tuple[EpochRecord, EpochRecord]:
    """Return the two epochs of a rolling transaction: duplicates of its own segments, then of the active
    ones.

    Source: pravega.md A10.
    """
    began_ms = max(now_ms, active.created_ms + 1)
    first, second = active.epoch + 1, active.epoch + 2
    again = _duplicated(txn_epoch, first)
    sealed = tuple(s.segment_id for s in active.segments)
    after = tuple(s.segment_id for s in again)
    return (
        EpochRecord(first, txn_epoch.reference_epoch, sealed, again, began_ms),
        EpochRecord(second, active.reference_epoch, after, _duplicated(active, second), began_ms + 1),
    )


def _numbered(epoch: int, first: int, bounds: Sequence[tuple[float, float]]) -> Ranges:
    return tuple(
        SegmentRange(segment_id(epoch, first + i), low, high) for i, (low, high) in enumerate(bounds)
    )


def _duplicated(epoch: Epoch, into: int) -> Ranges:
    return tuple(
        SegmentRange(segment_id(into, number_of(s.segment_id)), s.low, s.high) for s in epoch.segments
    )
