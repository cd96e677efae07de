"""Which task reads what: the partitions of a batch between two stream cuts. A pure function of the cuts.

Spark logs only the two offsets of a batch and plans again when it repeats one; the parts must come out the
same (reference/spark.md 4). So nothing here depends on the machine, the time or the number of slots.

A segment and its successors go into one partition, predecessor first: order per routing key holds through a
scale, and no row comes late because its segment was sealed. ``ordered=False`` gives every segment to a task
of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .lineage import Span, groups

#: A task costs Spark 35 to 45 ms, in which a reader moves some megabytes (reference/spark.md 2): smaller
#: ranges share one.
PARTITION_BYTES_WANTED = 4 * 1024 * 1024


@dataclass(frozen=True)
class SegmentSlice:
    """Bytes ``start`` to ``end`` of one segment; both lie between two events."""

    stream: str
    segment_id: int
    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


def slices(
    stream: str,
    between: Iterable[int],
    start: Mapping[int, int],
    end: Mapping[int, int],
    lengths: Mapping[int, int],
) -> list[SegmentSlice]:
    """What lies between two cuts, without the segments that give nothing; ids ascending.

    Args:
        between: Ids of all segments between the cuts, both ends included.
        start, end: Offsets by segment id. -1 is the end of a sealed segment (reference/pravega.md A9).
        lengths: Sealed lengths of the segments that ``end`` does not hold, or holds with -1.
    """
    found = []
    for segment in sorted(between):
        last = end.get(segment, -1)
        stop = lengths[segment] if last < 0 else last
        first = start.get(segment, 0)
        begin = stop if first < 0 else first
        if begin < stop:
            found.append(SegmentSlice(stream, segment, begin, stop))
    return found


def plan(
    streams: Sequence[tuple[Sequence[SegmentSlice], Mapping[int, Span]]],
    *,
    ordered: bool = True,
    wanted_bytes: int = PARTITION_BYTES_WANTED,
) -> list[tuple[SegmentSlice, ...]]:
    """The partitions of a batch; each is read from its first slice to its last.

    Args:
        streams: Per stream its slices and the key ranges of their segments.
        ordered: Keep segments that follow each other in one partition.
        wanted_bytes: Units are put together until a partition has this much.
    """
    units: list[tuple[SegmentSlice, ...]] = []
    for found, spans in streams:
        by_id = {piece.segment_id: piece for piece in found}
        if ordered:
            units += [tuple(by_id[s] for s in group) for group in groups({s: spans[s] for s in by_id})]
        else:
            units += [(piece,) for piece in found]
    return pack(units, wanted_bytes)


def pack(units: Sequence[tuple[SegmentSlice, ...]], wanted_bytes: int) -> list[tuple[SegmentSlice, ...]]:
    """Put neighbouring units together until each partition has ``wanted_bytes``; never splits one."""
    packed: list[tuple[SegmentSlice, ...]] = []
    last_bytes = wanted_bytes
    for unit in units:
        size = sum(piece.size_bytes for piece in unit)
        if last_bytes >= wanted_bytes:
            packed.append(unit)
            last_bytes = size
        else:
            packed[-1] += unit
            last_bytes += size
    return packed
