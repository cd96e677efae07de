"""`SingleSegments`: segments of one stream, for programs that decide themselves which to read when.

`AsyncOrderedSegmentReader` keeps the order of a stream within one program. Who spreads the segments over
several has to keep it by other means, and opens each here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pravega_lab.client import cuts
from pravega_lab.client.context import StreamContext
from pravega_lab.client.lineage import without_placeholders
from pravega_lab.client.reader_group.source import SegmentSource
from pravega_lab.client.stores import Connections
from pravega_lab.protocol.names import SegmentRange

if TYPE_CHECKING:
    from pravega_lab.client.client import AsyncClient
    from pravega_lab.client.values import Bound


class SingleSegments:
    """Asks nothing when made. ``close`` closes the connections; each open segment is closed by its owner."""

    def __init__(self, client: AsyncClient, scoped_stream: str) -> None:
        self._context = StreamContext(scoped_stream, client._controller, client._stores)
        self._connections = Connections(client._stores)

    async def positions(self, bound: Bound) -> dict[SegmentRange, int]:
        """Segments with offsets in bytes where reading from ``bound`` begins; -1: wholly read.

        Raises:
            BadInputError: the cut is of another stream.
        """
        cut = await cuts.resolve_start(self._context, bound)
        ranges = await self._context.ranges(list(cut.positions))
        begins = without_placeholders(cut.positions, ranges)
        return {segment: begins[segment.segment_id] for segment in ranges if segment.segment_id in begins}

    async def between(self, start: Bound, end: Bound) -> list[SegmentRange]:
        """All segments between two bounds, both included, by ascending id."""
        first = await cuts.resolve_start(self._context, start)
        last = await cuts.resolve_end(self._context, end)
        ids = await cuts.segments_between(self._context, first, last)
        return await self._context.ranges(sorted({*ids, *first.positions}))

    async def ends(self, end: Bound) -> dict[int, int]:
        """Offset in bytes at which each segment of a bound ends; -1: at its own end."""
        return dict((await cuts.resolve_end(self._context, end)).positions)

    async def successors(self, segment_id: int) -> list[SegmentRange]:
        """What follows a segment; nothing while it is not sealed, or at the end of a sealed stream."""
        found = await self._context.controller.successors(self._context.name, segment_id)
        segments = [successor.segment for successor in found]
        self._context.learn(segments)
        return segments

    async def ranges(self, segment_ids: Sequence[int]) -> list[SegmentRange]:
        """Key ranges, in the order asked.

        Raises:
            SegmentNotFoundError: the stream never had one of them.
        """
        return await self._context.ranges(segment_ids)

    def open(self, segment_id: int, begin: int, end: int | None, news: Callable[[], None]) -> SegmentSource:
        """Read a segment from ``begin`` to ``end`` (None: to where it is sealed), asking ahead.

        ``news`` is called when there may be something to take.
        """
        return SegmentSource(self._context, self._connections, segment_id, begin, end, news)

    async def close(self) -> None:
        await self._connections.close()
