"""Filters on segment, offset and pointer that Spark pushes down: what of a stream a batch query has to read.

A slice outside the bounds is not planned, events outside them are not parsed, and a task ends when all its
segments are beyond the greatest offset. Reading begins at the start of a slice all the same: an offset in a
filter need not be one at which an event begins, and the bytes there do not reveal it, because an event may
contain what looks like events. A pointer names where an event begins and ends. Filters on pointers therefore
narrow a slice to the bytes from the first event to the last. Spark evaluates every filter again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pravega_lab.connector.spark.source.splits import SegmentSlice
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.metadata.event_pointer import EventPointer

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

#: The module of the worker in which Spark plans a query with filters. In a worker of another kind Spark
#: refuses a reader that overrides ``pushFilters`` while its setting is off (spark.md 1.1).
PUSHING = "pyspark.sql.worker.data_source_pushdown_filters"
LOWEST, HIGHEST = 0, 2**63 - 1


@dataclass(frozen=True)
class Bounds:
    """The values of a column that can pass: from ``low`` to ``high``, and of ``among`` if it is not None."""

    low: int = LOWEST
    high: int = HIGHEST
    among: frozenset[int] | None = None

    def admits(self, value: int) -> bool:
        """Return whether a value can pass."""
        return self.low <= value <= self.high and (self.among is None or value in self.among)

    def narrowed(self, operation: str, value: Any) -> Bounds:
        """Return the bounds under one more filter, by the name of its class in Spark."""
        if operation == "In":
            values = frozenset(found for found in value if isinstance(found, int))
            among = values if self.among is None else self.among & values
            low, high = min(among, default=HIGHEST), max(among, default=LOWEST)
            return Bounds(max(self.low, low), min(self.high, high), among)
        if not isinstance(value, int) or isinstance(value, bool):
            return self
        if operation in ("EqualTo", "EqualNullSafe"):
            return replace(self, low=max(self.low, value), high=min(self.high, value))
        if operation in ("GreaterThan", "GreaterThanOrEqual"):
            return replace(self, low=max(self.low, value + (operation == "GreaterThan")))
        if operation in ("LessThan", "LessThanOrEqual"):
            return replace(self, high=min(self.high, value - (operation == "LessThan")))
        return self


@dataclass(frozen=True)
class Wanted:
    """The segments, offsets and pointers that the filters of a query admit. None admits every pointer."""

    segments: Bounds = field(default_factory=Bounds)
    offsets: Bounds = field(default_factory=Bounds)
    pointers: frozenset[EventPointer] | None = None

    def narrowed(self, filters: Iterable[Filter], *, is_typed: bool) -> Wanted:
        """Return what the filters admit, of which those on other columns have no effect.

        Args:
            filters: All of them hold.
            is_typed: Whether the columns are ``_segment_id``, ``_offset`` and ``_event_pointer``, as typed
                rows name them.
        """
        segments, offsets, pointers = self.segments, self.offsets, self.pointers
        mark = "_" if is_typed else ""
        for one in filters:
            name, value = getattr(one, "attribute", ()), getattr(one, "value", None)
            if name == (f"{mark}segment_id",):
                segments = segments.narrowed(type(one).__name__, value)
            elif name == (f"{mark}offset",):
                offsets = offsets.narrowed(type(one).__name__, value)
            elif name == (f"{mark}event_pointer",):
                named = _pointers(type(one).__name__, value)
                if named is not None:
                    pointers = named if pointers is None else pointers & named
        return Wanted(segments, offsets, pointers)

    def slices(
        self, found: Sequence[SegmentSlice], is_event: Callable[[EventPointer], bool] = lambda _: True
    ) -> list[SegmentSlice]:
        """Return the slices that can have admitted events.

        Args:
            found: All slices of one stream.
            is_event: Returns whether an event of that length begins where a pointer says. A slice with a
                pointer to something else is read whole, and Spark finds no row with that pointer.
        """
        low, high = self.offsets.low, self.offsets.high
        left = [p for p in found if self.segments.admits(p.segment_id) and p.start <= high and low < p.end]
        if self.pointers is None:
            return left
        pointed = [(piece, _pointed(piece, self.pointers)) for piece in left]
        return [_narrowed(piece, to, is_event) for piece, to in pointed if to]

    def events(self, pieces: Sequence[SegmentSlice], batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches (event, segment_id, offset) of ``pieces`` without events below and above the offsets.

        They end when every segment is beyond the greatest offset.
        """
        import pyarrow.compute as pc

        low, high = self.offsets.low, self.offsets.high
        if (low, high) == (LOWEST, HIGHEST):
            yield from batches
            return
        ends = {piece.segment_id: piece.end for piece in pieces}
        for batch in batches:
            offsets = batch.column("offset")
            found = pc.min_max(offsets)
            if not batch.num_rows:
                continue
            if found["min"].as_py() < low or found["max"].as_py() > high:
                kept = pc.and_(pc.greater_equal(offsets, low), pc.less_equal(offsets, high))
                batch_kept = batch.filter(kept)
            else:
                batch_kept = batch
            if batch_kept.num_rows:
                yield batch_kept
            if found["max"].as_py() >= high:
                done = batch.column("segment_id").filter(pc.greater_equal(offsets, high))
                for segment_id in done.unique().to_pylist():
                    ends.pop(segment_id, None)
                if not ends:
                    return


def _pointers(operation: str, value: Any) -> frozenset[EventPointer] | None:
    """Return the pointers that a filter admits, by the name of its class in Spark; None for every pointer."""
    if operation in ("EqualTo", "EqualNullSafe"):
        value = (value,)
    elif operation != "In":
        return None
    found = set()
    for data in value:
        with suppress(BadInputError, TypeError, ValueError):  # no event has such a pointer
            found.add(EventPointer.from_bytes(bytes(data)))
    return frozenset(found)


def _pointed(piece: SegmentSlice, pointers: Iterable[EventPointer]) -> list[EventPointer]:
    """Return the pointers into a slice, in the order of their offsets."""
    found = [p for p in pointers if (p.stream, p.segment_id) == (piece.stream, piece.segment_id)]
    inside = [p for p in found if piece.start <= p.offset and p.offset + p.length <= piece.end]
    return sorted(inside, key=lambda pointer: (pointer.offset, pointer.length))


def _narrowed(
    piece: SegmentSlice, pointers: list[EventPointer], is_event: Callable[[EventPointer], bool]
) -> SegmentSlice:
    first, last = pointers[0], pointers[-1]
    if not (is_event(first) and (first == last or is_event(last))):
        return piece
    return replace(piece, start=first.offset, end=last.offset + last.length)
