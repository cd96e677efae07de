"""How a task reads its slices: as Arrow batches of the client, predecessors first, unrelated segments in
turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...protocol.stream_cut import StreamCut
from .splits import SegmentSlice

if TYPE_CHECKING:
    from ...client import Stream

#: Some 10,000 events of 100 bytes: the size at which Spark's side is fastest (reference/spark.md 12).
BATCH_BYTES = 2 * 1024 * 1024
#: Batches taken from the client at a time; of many small segments these are many.
TOGETHER_BYTES = 2 * 1024 * 1024


def read_slices(stream: Stream, pieces: Sequence[SegmentSlice]) -> Iterator[Any]:
    """Record batches (event, segment_id, offset) of ``pieces`` of one stream.

    The two bounds name the same segments and so are no cuts of the whole stream; the client then asks nobody
    what lies between.
    """
    start = StreamCut(stream.scoped_name, {piece.segment_id: piece.start for piece in pieces})
    end = StreamCut(stream.scoped_name, {piece.segment_id: piece.end for piece in pieces})
    with stream.read(start, end, batch_bytes=BATCH_BYTES) as batches:
        while found := batches.next_batches(TOGETHER_BYTES):
            yield from found
