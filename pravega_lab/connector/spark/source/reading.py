"""How a task reads its slices: as Arrow batches of the client.

The client reads predecessors before their successors, and takes turns among unrelated segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pravega_lab.connector.spark.source.splits import SegmentSlice
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    from pravega_lab.client import Stream

#: About 10,000 events of 100 bytes: the batch size at which Spark is fastest (spark.md 12).
BATCH_BYTES = 2 * 1024 * 1024
#: How much to take from the client at a time. Small segments give many batches.
TOGETHER_BYTES = 2 * 1024 * 1024


def read_slices(stream: Stream, pieces: Sequence[SegmentSlice]) -> Iterator[Any]:
    """Yield record batches (event, segment_id, offset) of ``pieces`` of one stream.

    The two bounds name the same segments, so the client does not ask the store which segments are between
    them. For the same reason they may leave out segments of the stream.
    """
    start = StreamCut(stream.scoped_name, {piece.segment_id: piece.start for piece in pieces})
    end = StreamCut(stream.scoped_name, {piece.segment_id: piece.end for piece in pieces})
    with stream.read(start, end, batch_bytes=BATCH_BYTES) as batches:
        while found := batches.next_batches(TOGETHER_BYTES):
            yield from found
