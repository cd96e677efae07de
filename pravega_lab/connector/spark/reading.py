"""How a task reads its slices: one after the other, as Arrow batches of the client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...protocol.stream_cut import StreamCut
from .splits import SegmentSlice

if TYPE_CHECKING:
    from ...client import Stream

#: Some 10,000 events of 100 bytes: the size at which Spark's side is fastest (reference/spark.md 12).
BATCH_BYTES = 2 * 1024 * 1024


def read_slices(stream: Stream, pieces: Sequence[SegmentSlice]) -> Iterator[Any]:
    """Record batches (event, segment_id, offset) of ``pieces`` of one stream, in their order."""
    for piece in pieces:
        start = StreamCut(stream.scoped_name, {piece.segment_id: piece.start})
        end = StreamCut(stream.scoped_name, {piece.segment_id: piece.end})
        with stream.read(
            start, end, segments=[piece.segment_id], batch_bytes=BATCH_BYTES, ordered=False
        ) as batches:
            yield from batches
