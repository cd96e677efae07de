"""One segment: its validated state, its synced state, and where its bytes are in the log files.

Fields whose name begins with ``next_`` are *validated* state: conditions are checked against them. The other
fields are *synced* state, which clients may see. Both are equal when no change of the segment is on its way
to the disk (``pending`` is 0).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from ..log.operations import Operation
from .table import Table

Watcher = Callable[[], None]

NOTHING: Any = MappingProxyType({})
"""Stands for each empty dict of a segment: most segments have no attribute, no watcher and nothing merged."""

MERGED_REMEMBERED = 4096
"""The number of merged sources that a target remembers, for idempotent merges."""


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """The synced state of a segment: offsets in bytes, times in ms since 1970."""

    segment: str
    is_table: bool
    is_sealed: bool
    start_offset: int
    length: int
    event_count: int
    created_ms: int
    last_modified_ms: int
    scale_type: int
    target_rate: int


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Bytes of a segment from ``offset`` on.

    ``at_tail``: the read reached the synced end of an open segment. With empty ``data`` the read is to be
    held. ``end_of_segment``: the segment is sealed and these are its last bytes (or none are left).
    """

    offset: int
    data: bytes
    at_tail: bool
    end_of_segment: bool


class Extents:
    """Where the bytes of a segment are: runs, each in one log file or chunk, in the order of their segment
    offsets. The file ``-n`` is chunk ``n`` of tier 2.
    """

    __slots__ = ("files", "lengths", "offsets", "positions")

    def __init__(self) -> None:
        self.offsets = array("q")
        self.files = array("q")
        self.positions = array("q")
        self.lengths = array("q")

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, offset: int, file: int, position: int, length: int) -> bool:
        """Append a run that begins at ``offset``. Return False if it only extended the last run."""
        if (
            self.files
            and self.files[-1] == file
            and self.positions[-1] + self.lengths[-1] == position
            and self.offsets[-1] + self.lengths[-1] == offset
        ):
            self.lengths[-1] += length
            return False
        self.offsets.append(offset)
        self.files.append(file)
        self.positions.append(position)
        self.lengths.append(length)
        return True

    def log_start(self) -> int | None:
        """Return the offset of the first run in a log file, None if there is none."""
        return next((offset for offset, file in zip(self.offsets, self.files, strict=True) if file > 0), None)

    def join(self, source: Extents, shift: int) -> None:
        """Append all runs of ``source``, moved by ``shift`` bytes."""
        self.offsets.extend(array("q", [offset + shift for offset in source.offsets]))
        self.files.extend(source.files)
        self.positions.extend(source.positions)
        self.lengths.extend(source.lengths)

    def drop_below(self, offset: int) -> tuple[array[int], int]:
        """Forget the runs that end at or before ``offset``.

        Return the files that they were in, and how many of their bytes were in the log.
        """
        count = bisect_right(self.offsets, offset)
        if count and self.offsets[count - 1] + self.lengths[count - 1] > offset:
            count -= 1
        dropped, log_bytes = self.files[:count], self._log_bytes(0, count)
        for column in (self.offsets, self.files, self.positions, self.lengths):
            del column[:count]
        return dropped, log_bytes

    def move(self, offset: int, length: int, file: int, position: int) -> tuple[array[int], array[int], int]:
        """Note that the bytes from ``offset`` on are at ``position`` of ``file`` now.

        Bytes that were dropped before are skipped. Return the files of the runs that this replaced, the
        files of the runs in their place, and how many of the bytes were in the log.
        """
        if not self.offsets:
            return array("q"), array("q"), 0
        low = max(offset, self.offsets[0])
        end = min(offset + length, self.offsets[-1] + self.lengths[-1])
        if low >= end:
            return array("q"), array("q"), 0
        first, after = bisect_right(self.offsets, low) - 1, bisect_left(self.offsets, end)
        last = after - 1
        runs = [(low, file, position + low - offset, end - low)]
        head = low - self.offsets[first]
        if head:
            runs.insert(0, (self.offsets[first], self.files[first], self.positions[first], head))
        within = end - self.offsets[last]
        tail = self.lengths[last] - within
        if tail:
            runs.append((end, self.files[last], self.positions[last] + within, tail))
        before, in_log = self.files[first:after], self._log_bytes(first, after)
        for column, found in zip(self._columns(), zip(*runs, strict=True), strict=True):
            column[first:after] = array("q", found)
        after = first + len(runs)
        return before, self.files[first:after], in_log - self._log_bytes(first, after)

    def log_bytes(self) -> int:
        """Return how many of the bytes are in the log."""
        return self._log_bytes(0, len(self.files))

    def _log_bytes(self, first: int, after: int) -> int:
        return sum(self.lengths[index] for index in range(first, after) if self.files[index] > 0)

    def _columns(self) -> tuple[array[int], ...]:
        return self.offsets, self.files, self.positions, self.lengths

    def log_ranges(self, is_wanted: Callable[[int], bool]) -> list[tuple[int, int]]:
        """Return (offset, length) of the longest ranges that are in log files that ``is_wanted`` accepts."""
        found: list[tuple[int, int]] = []
        for offset, file, length in zip(self.offsets, self.files, self.lengths, strict=True):
            if file > 0 and is_wanted(file):
                if found and sum(found[-1]) == offset:
                    found[-1] = (found[-1][0], found[-1][1] + length)
                else:
                    found.append((offset, length))
        return found

    def pieces(self, offset: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield (file, position, length) of the pieces that together hold the bytes from ``offset`` to
        ``end``.
        """
        index = bisect_right(self.offsets, offset) - 1
        while offset < end:
            within = offset - self.offsets[index]
            length = min(self.lengths[index] - within, end - offset)
            yield self.files[index], self.positions[index] + within, length
            offset += length
            index += 1


class _NoExtents(Extents):
    """The extents of all segments that have no bytes: `Segment.own_extents` is to be used to add some."""

    __slots__ = ()

    def add(self, offset: int, file: int, position: int, length: int) -> bool:
        raise AssertionError("these extents are shared")

    def join(self, source: Extents, shift: int) -> None:
        raise AssertionError("these extents are shared")


_NO_EXTENTS: Extents = _NoExtents()


class Saved(NamedTuple):
    """The validated state of a segment, as `Segment.save` found it."""

    numbers: tuple[int, int, bool, int]
    attributes: dict[UUID, int]
    merged: dict[str, None]
    undo_table: Callable[[], None] | None


class Segment:
    """A segment that exists, is being created, or is being deleted. Compared by identity."""

    __slots__ = (
        "attributes",
        "created_ms",
        "event_count",
        "extents",
        "id",
        "is_deleted",
        "is_sealed",
        "last_modified_ms",
        "length",
        "merged",
        "name",
        "next_attributes",
        "next_length",
        "next_merged",
        "next_sealed",
        "next_start",
        "pending",
        "scale_type",
        "start",
        "table",
        "target_rate",
        "watchers",
    )

    def __init__(self, segment_id: int, name: str, table: Table | None) -> None:
        self.id = segment_id
        self.name = name
        self.table = table
        self.created_ms = self.last_modified_ms = 0
        self.scale_type = self.target_rate = 0
        self.start = self.length = self.event_count = 0
        self.is_sealed = self.is_deleted = False
        self.attributes: dict[UUID, int] = NOTHING
        self.merged: dict[str, None] = NOTHING
        self.extents = _NO_EXTENTS
        self.watchers: dict[int, Watcher] = NOTHING
        self.next_start = self.next_length = self.pending = 0
        self.next_sealed = False
        self.next_attributes: dict[UUID, int] = NOTHING
        self.next_merged: dict[str, None] = NOTHING

    def own_extents(self) -> Extents:
        """Return the extents, to which runs may be added."""
        if self.extents is _NO_EXTENTS:
            self.extents = Extents()
        return self.extents

    def set_attribute(self, attribute_id: UUID, value: int) -> None:
        """Set the synced value of an attribute."""
        if self.attributes is NOTHING:
            self.attributes = {}
        self.attributes[attribute_id] = value

    def set_next_attribute(self, attribute_id: UUID, value: int) -> None:
        """Set the validated value of an attribute."""
        if self.next_attributes is NOTHING:
            self.next_attributes = {}
        self.next_attributes[attribute_id] = value

    def merge_next(self, source: str) -> None:
        """Note that a source is merged in the validated state."""
        if self.next_merged is NOTHING:
            self.next_merged = {}
        self.next_merged[source] = None

    def watch(self, number: int, watcher: Watcher) -> None:
        """Add a watcher."""
        if self.watchers is NOTHING:
            self.watchers = {}
        self.watchers[number] = watcher

    def next_attribute(self, attribute_id: UUID, default: int) -> int:
        """Return the validated value of an attribute."""
        value = self.next_attributes.get(attribute_id)
        return self.attributes.get(attribute_id, default) if value is None else value

    def settle(self) -> None:
        """Note that one change of this segment was synced.

        After the last one, validated and synced state are equal.
        """
        self.pending -= 1
        if not self.pending:
            self.next_attributes = self.next_merged = NOTHING
            if self.table:
                self.table.ahead.clear()

    def adopt_synced(self) -> None:
        """Make the validated state equal to the synced one (recovery)."""
        self.next_start, self.next_length, self.next_sealed = self.start, self.length, self.is_sealed
        self.pending = 1
        self.settle()
        if self.table:
            self.table.next_count = len(self.table.values)

    def remember_merged(self, source: str) -> None:
        """Keep the name of a merged source, and forget the oldest one above the limit."""
        if self.merged is NOTHING:
            self.merged = {}
        self.merged[source] = None
        if len(self.merged) > MERGED_REMEMBERED:
            del self.merged[next(iter(self.merged))]

    def save(self) -> Saved:
        """Return the validated state, for `restore`."""
        return Saved(
            (self.next_start, self.next_length, self.next_sealed, self.pending),
            self.next_attributes.copy(),
            self.next_merged.copy(),
            self.table.save() if self.table else None,
        )

    def restore(self, saved: Saved) -> None:
        """Reset the validated state to what it was at `save`."""
        self.next_start, self.next_length, self.next_sealed, self.pending = saved.numbers
        self.next_attributes, self.next_merged = saved.attributes, saved.merged
        if saved.undo_table is not None:
            saved.undo_table()

    def info(self) -> SegmentInfo:
        """Return the synced state as a value."""
        return SegmentInfo(
            self.name,
            self.table is not None,
            self.is_sealed,
            self.start,
            self.length,
            self.event_count,
            self.created_ms,
            self.last_modified_ms,
            self.scale_type,
            self.target_rate,
        )


class Change(NamedTuple):
    """A validated operation, the segment that it changes, and the source of a merge."""

    operation: Operation
    segment: Segment | None = None
    source: Segment | None = None
