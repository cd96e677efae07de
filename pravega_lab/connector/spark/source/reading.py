"""How a task reads its slices: as Arrow batches of the client.

The client reads predecessors before their successors, and one segment after the other: a repeated task has
its rows in the same order. Spark expects this of a source. A sample with a seed, a split into training and
test rows, and ``monotonically_increasing_id()`` depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pravega_lab.connector.spark.source.splits import SegmentSlice, without_truncated
from pravega_lab.errors import SegmentNotFoundError, TruncatedDataError
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    from pravega_lab.client import Stream

#: About 10,000 events of 100 bytes: the batch size at which Spark is fastest (spark.md 12).
BATCH_BYTES = 2 * 1024 * 1024
#: How much to take from the client at a time. Small segments give many batches.
TOGETHER_BYTES = 2 * 1024 * 1024
EVENT_HEADER_BYTES = 8
CONTINUE = "Option fail_on_data_loss=false leaves out what is gone and continues at the head"


def read_slices(stream: Stream, pieces: Sequence[SegmentSlice]) -> Iterator[Any]:
    """Yield record batches (event, segment_id, offset) of ``pieces`` of one stream.

    The two bounds name the same segments, so the client does not ask the store which segments are between
    them. For the same reason they may leave out segments of the stream.

    Raises:
        TruncatedDataError: Events were truncated before they were read.
    """
    start = StreamCut(stream.scoped_name, {piece.segment_id: piece.start for piece in pieces})
    end = StreamCut(stream.scoped_name, {piece.segment_id: piece.end for piece in pieces})
    try:
        with stream.read(start, end, batch_bytes=BATCH_BYTES, repeatable=True) as batches:
            while found := batches.next_batches(TOGETHER_BYTES):
                yield from found
    except TruncatedDataError as error:
        raise TruncatedDataError(f"{error}. {CONTINUE}", error.resume_at) from error


def read_what_is_left(stream: Stream, pieces: Sequence[SegmentSlice]) -> Iterator[Any]:
    """Yield the batches of `read_slices`, without events that are truncated before they are read."""
    while pieces:
        done: dict[int, int] = {}
        try:
            for batch in read_slices(stream, pieces):
                yield batch
                if batch.num_rows:
                    last = len(batch.column("event")[-1].as_py())
                    after = batch.column("offset")[-1].as_py() + EVENT_HEADER_BYTES + last
                    done[batch.column("segment_id")[-1].as_py()] = after
            return
        except TruncatedDataError:
            starts = {piece.segment_id: segment_start(stream, piece.segment_id) for piece in pieces}
            left = [piece.after(done.get(piece.segment_id, piece.start)) for piece in pieces]
            pieces = without_truncated(left, starts)


def segment_start(stream: Stream, segment_id: int) -> int | None:
    """Return the offset of the first event that a segment still has, None if the segment was truncated."""
    try:
        return stream.segment_info(segment_id).start_offset
    except SegmentNotFoundError:
        return None
