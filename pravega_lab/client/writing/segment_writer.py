"""Write to one segment, to copy a stream by key range, because the store does not keep the keys.

The events of a key keep their order under two conditions. All events of a source segment go to one target
segment with the same key range, and the predecessors of the source segment are copied before it.
"""

from __future__ import annotations

from pravega_lab.client.context import StreamContext
from pravega_lab.client.writing.appends import Target
from pravega_lab.client.writing.writer import AsyncEventWriter
from pravega_lab.errors import SegmentSealedError
from pravega_lab.protocol.names import SegmentRange


class _OneSegment:
    """Routes all keys to one segment, which has no successor."""

    def __init__(self, context: StreamContext, segment_id: int) -> None:
        self._stream, self._segment_id = context.name, segment_id
        self.segment_name = context.segment_name

    async def first_segments(self) -> list[SegmentRange]:
        """Return the segment with all keys."""
        return [SegmentRange(self._segment_id, 0.0, 1.0)]

    async def successors(self, segment_id: int) -> list[SegmentRange]:
        """Raise `SegmentSealedError`, because all events have to go to this segment."""
        raise SegmentSealedError(
            f"segment {segment_id} of {self._stream} was sealed while events were copied into it: copy again"
        )


class AsyncSegmentWriter(AsyncEventWriter):
    """Writes all events to one segment, whatever their keys."""

    def __init__(self, context: StreamContext, segment_id: int) -> None:
        self._segment_id = segment_id
        super().__init__(context)

    def _target(self) -> Target:
        return _OneSegment(self._context, self._segment_id)
