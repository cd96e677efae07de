"""Provide `SingleSegments`: segments of one stream, for programs that decide the order of reading themselves.

`AsyncOrderedSegmentReader` keeps the order of a stream within one program. A program that spreads the
segments over several processes has to keep the order by other means, and opens each segment here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pravega_lab.client.context import StoreAccess, StreamContext
from pravega_lab.client.reading import cuts
from pravega_lab.client.reading.event_source import SegmentSource
from pravega_lab.client.reading.lineage import without_placeholders
from pravega_lab.client.segment_stores import Connections
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ

if TYPE_CHECKING:
    from pravega_lab.client.values import Bound


class SingleSegments:
    """Opens single segments. The constructor sends no request. The caller closes each opened segment."""

    def __init__(self, client: StoreAccess, scoped_stream: str) -> None:
        self._context = StreamContext(scoped_stream, client._controller, client._stores)
        self._connections = Connections(client._stores)

    async def positions(self, bound: Bound) -> dict[SegmentRange, int]:
        """Return the segments with the offsets in bytes where reading from ``bound`` begins; -1: wholly read.

        Raises:
            BadInputError: The cut is of another stream.
        """
        cut = await cuts.resolve_start(self._context, bound)
        ranges = await self._context.ranges(list(cut.positions))
        begins = without_placeholders(cut.positions, ranges)
        return {segment: begins[segment.segment_id] for segment in ranges if segment.segment_id in begins}

    async def between(self, start: Bound, end: Bound) -> dict[SegmentRange, tuple[int, int]]:
        """Return where reading begins and ends in all segments between two bounds, by ascending id.

        -1 is the end of a segment.

        Raises:
            BadInputError: A cut is of another stream, or the end lies before the start.
        """
        first = await cuts.resolve_start(self._context, start)
        begins = await cuts.begun(self._context, first)
        last = await cuts.resolve_end(self._context, end)
        last, between = await cuts.bounds_between(self._context, first, begins, last)
        ranges = await self._context.ranges(sorted({*begins, *between}))
        ends = last.positions
        return {s: (begins.get(s.segment_id, 0), ends.get(s.segment_id, SEGMENT_READ)) for s in ranges}

    async def successors(self, segment_id: int) -> list[SegmentRange]:
        """Return the successors of a segment; none while it is active, or at the end of a sealed stream."""
        found = await self._context.controller.successors(self._context.name, segment_id)
        segments = [successor.segment for successor in found]
        self._context.learn(segments)
        return segments

    async def ranges(self, segment_ids: Sequence[int]) -> list[SegmentRange]:
        """Return the key ranges of segments, in the order of the argument.

        Raises:
            SegmentNotFoundError: The stream never had one of them.
        """
        return await self._context.ranges(segment_ids)

    def open(self, segment_id: int, begin: int, end: int | None, news: Callable[[], None]) -> SegmentSource:
        """Open a segment from ``begin`` to ``end`` (None: to where it is sealed), requesting bytes ahead.

        ``news`` is called when there may be something to take.
        """
        return SegmentSource(self._context, self._connections, segment_id, begin, end, news)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()
