"""Decide which watermarks a group has passed in one stream (pravega.md A12). `Marks` reads the watermarks.

A position equal to a mark has passed it. A position that is before the mark in some keys and after it in
others has not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from pravega_lab.client.context import StreamContext
from pravega_lab.client.reader_group.values import TimeWindow
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream, Revision
from pravega_lab.errors import TruncatedDataError
from pravega_lab.protocol.metadata.watermark import Watermark
from pravega_lab.protocol.names import MARK_PREFIX, SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ

Place = Mapping[SegmentRange, int]
"""Offsets by segment; -1 where a segment was read to its end."""


class StreamTime:
    """Holds the watermarks around a group's position, which moves forward."""

    def __init__(self) -> None:
        self._lower: int | None = None
        self._ahead: deque[Watermark] = deque()

    def add(self, marks: Iterable[Watermark]) -> None:
        """Add marks that were written after those added before."""
        self._ahead.extend(marks)

    def advance(self, place: Place) -> None:
        """Pass the marks up to ``place``."""
        while self._ahead and not is_before(place, self._ahead[0]):
            self._lower = self._ahead.popleft().lower

    def needs_more(self, place: Place) -> bool:
        """Return whether a mark that was not added yet could change the window."""
        return not any(_is_wholly_before(place, mark) for mark in self._ahead)

    def window(self, place: Place) -> TimeWindow:
        """Return the window from the last passed mark to the first mark that lies wholly ahead.

        Without such a mark, ``upper`` comes from the last mark that was not passed, if any.
        """
        ahead = next((mark for mark in self._ahead if _is_wholly_before(place, mark)), None)
        if ahead is None and self._ahead:
            ahead = self._ahead[-1]
        return TimeWindow(self._lower, None if ahead is None else ahead.upper)


def is_before(place: Place, mark: Watermark) -> bool:
    """Return whether something is left to read before ``mark``."""
    return any(order < 0 for order in _orders(place, mark))


def _is_wholly_before(place: Place, mark: Watermark) -> bool:
    orders = _orders(place, mark)
    return any(order < 0 for order in orders) and not any(order > 0 for order in orders)


def _orders(place: Place, mark: Watermark) -> list[int]:
    """Return, per pair of segments that share keys, whether the place is before (-1), at (0) or after (1) the
    mark.
    """
    pairs = [(s, o) for s in place for o in mark.cut if s == o or s.overlaps(o)]
    return [_order((s.segment_id, place[s]), (o.segment_id, mark.cut[o])) for s, o in pairs]


def _order(at: tuple[int, int], mark: tuple[int, int]) -> int:
    if at[0] == mark[0] and SEGMENT_READ in (at[1], mark[1]):
        return int(at[1] == SEGMENT_READ) - int(mark[1] == SEGMENT_READ)
    return (at > mark) - (at < mark)


class Marks:
    """Reads the mark stream of one stream, from its oldest watermark on."""

    def __init__(self, context: StreamContext) -> None:
        mark_stream = f"{context.scope}/{MARK_PREFIX}{context.stream}"
        self._log = AsyncRevisionedStream(StreamContext(mark_stream, context.controller, context.stores))
        self._at: Revision | None = None

    async def next(self) -> Sequence[Watermark]:
        """Return some watermarks that were not returned before, or none if there is no new one yet."""
        at = self._at or await self._log.oldest()
        try:
            entries = await self._log.read_some(at)
        except TruncatedDataError:
            entries = await self._log.read_some(await self._log.oldest())
        self._at = entries[-1].revision if entries else at
        return [Watermark.from_bytes(entry.data) for entry in entries]

    async def close(self) -> None:
        """Close the connections."""
        await self._log.close()


class StreamClock:
    """Keeps the time window of one stream for one reader. It reads watermarks only when one could matter."""

    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self._marks = Marks(context)
        self._time = StreamTime()
        self._look_ms = 0

    async def window(self, offsets: Mapping[int, int], *, now_ms: int, every_ms: int) -> TimeWindow:
        """Return the window of a group at ``offsets``, by segment id. Look for marks every ``every_ms``."""
        ranges = await self._context.ranges(list(offsets))
        place = {segment: offsets[segment.segment_id] for segment in ranges}
        self._time.advance(place)
        if now_ms >= self._look_ms and self._time.needs_more(place):
            self._look_ms = now_ms + every_ms
            while self._time.needs_more(place) and (found := await self._marks.next()):
                self._time.add(found)
                self._time.advance(place)
        return self._time.window(place)

    async def close(self) -> None:
        """Close the connections."""
        await self._marks.close()
