"""The partitions of a batch between two stream cuts. They are a pure function of the cuts.

Spark logs only the two offsets of a batch and plans the batch again when it repeats it. The partitions must
then be the same (spark.md 4). So nothing here depends on the machine, the time or the number of slots.

A segment and its successors are in one partition, predecessor first. This keeps the order per routing key
through a scale, and no row is late because its segment was sealed. With ``ordered=False`` each segment is a
unit of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pravega_lab.connector.spark.source.lineage import Span, groups
from pravega_lab.protocol.names import short_name

log = logging.getLogger(__name__)

#: A task costs Spark 35 to 45 ms, in which a reader moves some megabytes (spark.md 2). Smaller ranges
#: therefore share a task.
PARTITION_BYTES_WANTED = 4 * 1024 * 1024


@dataclass(frozen=True)
class SegmentSlice:
    """Bytes ``start`` to ``end`` of one segment. Both are event boundaries."""

    stream: str
    segment_id: int
    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """The number of bytes in this slice."""
        return self.end - self.start

    def after(self, offset: int) -> SegmentSlice:
        """Return what is left of this slice from ``offset`` on."""
        return replace(self, start=min(max(self.start, offset), self.end))


def slices(
    stream: str,
    between: Iterable[int],
    start: Mapping[int, int],
    end: Mapping[int, int],
    lengths: Mapping[int, int],
) -> list[SegmentSlice]:
    """Return what is between two cuts, without empty slices, in ascending order of segment ids.

    Args:
        between: Ids of all segments between the cuts, including those of both cuts.
        start, end: Offsets by segment id. -1 is the end of a sealed segment (pravega.md A9).
        lengths: Sealed lengths of the segments that ``end`` does not contain, or contains with -1.
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


def without_truncated(pieces: Sequence[SegmentSlice], starts: Mapping[int, int | None]) -> list[SegmentSlice]:
    """Return what is left of slices, without empty ones, and log what is not.

    Args:
        starts: The first offset that each segment still has, None for a segment that was truncated.
    """
    left = []
    for piece in pieces:
        start = starts[piece.segment_id]
        kept = piece.after(piece.end if start is None else start)
        if kept.size_bytes < piece.size_bytes:
            log.warning(
                "%s: %d bytes of segment %s were truncated before they were read, and option"
                " fail_on_data_loss is false",
                *(piece.stream, piece.size_bytes - kept.size_bytes, short_name(piece.segment_id)),
            )
        if kept.size_bytes:
            left.append(kept)
    return left


def plan(
    streams: Sequence[tuple[Sequence[SegmentSlice], Mapping[int, Span]]],
    *,
    ordered: bool = True,
    wanted_bytes: int = PARTITION_BYTES_WANTED,
) -> list[tuple[SegmentSlice, ...]]:
    """Return the partitions of a batch. A task reads its partition from the first slice to the last.

    Args:
        streams: For each stream its slices and the key ranges of their segments.
        ordered: Keep a segment and its successors in one partition.
        wanted_bytes: Join neighbouring units into partitions of about this many bytes at most.
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
    """Join neighbouring units into partitions of similar sizes, of about ``wanted_bytes`` at most.

    A unit is never divided, and it belongs to the partition in which its middle is. Filling one partition
    after another would leave a small rest for the last task, and with it a core that waits for the others.
    """
    sizes = [sum(piece.size_bytes for piece in unit) for unit in units]
    total = sum(sizes)
    count = max(1, -(-total // wanted_bytes))
    packed: dict[int, tuple[SegmentSlice, ...]] = {}
    begin = 0
    for unit, size in zip(units, sizes, strict=True):
        index = (2 * begin + size) * count // max(1, 2 * total)
        packed[index] = packed.get(index, ()) + unit
        begin += size
    return list(packed.values())
