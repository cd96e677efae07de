"""A writer of one segment, for copying a stream: keys are not stored, so copied events go by key range.

Events of one key keep their order as long as those of one source segment go to one target segment that owns
the same range, and a source's predecessors are copied before it.
"""

from __future__ import annotations

from pravega_lab.client.appends import Appends
from pravega_lab.client.context import StreamContext
from pravega_lab.client.face import EventWriter, Stream
from pravega_lab.client.writer import AsyncEventWriter
from pravega_lab.errors import SegmentSealedError
from pravega_lab.protocol.names import SegmentRange


class _OneSegment:
    """All keys belong to this segment, and nothing follows it."""

    def __init__(self, context: StreamContext, segment_id: int) -> None:
        self._stream, self._segment_id = context.name, segment_id
        self.segment_name = context.segment_name

    async def first_segments(self) -> list[SegmentRange]:
        return [SegmentRange(self._segment_id, 0.0, 1.0)]

    async def successors(self, segment_id: int) -> list[SegmentRange]:
        raise SegmentSealedError(
            f"segment {segment_id} of {self._stream} was sealed while events were copied into it: copy again"
        )


class AsyncSegmentWriter(AsyncEventWriter):
    """An `AsyncEventWriter` whose events all go to one segment, whatever their keys."""

    def __init__(self, context: StreamContext, segment_id: int) -> None:
        self._context = context
        self._appends = Appends(context, _OneSegment(context, segment_id))


def segment_writer(stream: Stream, segment_id: int) -> EventWriter:
    """A pipelined writer into one active segment; use it in a ``with`` block, whose end flushes.

    Raises (when it writes):
        SegmentSealedError: The segment takes no more events.
    """
    return EventWriter(AsyncSegmentWriter(stream._core._context, segment_id))
