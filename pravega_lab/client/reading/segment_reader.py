"""Provide `AsyncOrderedSegmentReader`: reading segment by segment, predecessors first.

`sync.OrderedSegmentReader` states the contract. `Lineage` decides what may be read, `SegmentInput` reads
bytes, and `EventDecoder` decodes events. This module combines them for one stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pravega_lab.client.context import StreamContext
from pravega_lab.client.framing.decode import EventDecoder
from pravega_lab.client.framing.event_batch import cut_off, joined
from pravega_lab.client.reading import cuts
from pravega_lab.client.reading.lineage import Lineage
from pravega_lab.client.reading.segment_input import BYTES_AHEAD, SegmentInput, TruncatedError
from pravega_lab.client.segment_stores import Connections
from pravega_lab.client.values import MIB, Edge, check_timeout
from pravega_lab.errors import BadInputError, ProtocolError, TruncatedDataError
from pravega_lab.portable.waiting import call_all
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ, StreamCut

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_lab.client.values import Bound


SHARE_MIN = 1 / 16  # so that several small segments are requested at the same time
SHARES_MISSING = 1 / 2  # open more segments only when this much is free


class _Reading:
    """Holds one segment that is being read."""

    def __init__(self, source: SegmentInput, decoder: EventDecoder) -> None:
        self.source = source
        self.decoder = decoder
        self.share = min(max(source.size_bytes / BYTES_AHEAD, SHARE_MIN), 1.0)  # of BYTES_AHEAD
        self.decoded: pa.RecordBatch | None = None  # what exceeded the last caller's limit

    def next_batch(self, bytes_max: int) -> pa.RecordBatch | None:
        """Return a batch that needs no waiting, or None."""
        while self.decoded is None:
            block = self.source.take()
            if block is None:
                return None
            self.decoded = self.decoder.decode(block)
        batch, self.decoded = cut_off(self.decoded, bytes_max)
        return batch

    @property
    def position(self) -> int:
        """Return the offset after the last returned event."""
        return self.decoder.position if self.decoded is None else int(self.decoded.column(2)[0].as_py())

    @property
    def is_ended(self) -> bool:
        """Return whether all events of the segment were returned."""
        return self.source.is_ended and self.decoded is None


class AsyncOrderedSegmentReader:
    """Implements `sync.OrderedSegmentReader` with asyncio, under the same contract."""

    def __init__(
        self,
        context: StreamContext,
        start: Bound,
        end: Bound | None,
        segments: Sequence[int] | None,
        ordered: bool = True,
    ) -> None:
        self._context = context
        self._start = start
        self._end = end
        self._only = segments
        self._connections = Connections(context.stores)
        self._lineage = Lineage(ordered)
        self._ends: dict[int, int] = {}
        self._reading: dict[int, _Reading] = {}
        self._shares = 0.0  # the sum over _reading
        self._ready: dict[int, float] = {}  # shares of segments with events or at their end, by turn
        self._first: int | None = None  # the segment that `first_ready` waits for
        self._shares_awaited = 0.0
        self._news = asyncio.Event()  # as many shares are ready as are awaited
        self.has_begun = self._is_closed = False
        self.last_bytes = 0  # how many bytes of the segment the last batch took

    # entering and leaving

    async def __aenter__(self) -> Self:
        if self.has_begun:
            raise BadInputError(f"this read of {self._context.name} has begun already: begin another one")
        start = await cuts.resolve_start(self._context, self._start)
        begins = await cuts.begun(self._context, start)
        segments = list(begins)
        if self._end is not None:
            end = await cuts.resolve_end(self._context, self._end)
            end, between = await cuts.bounds_between(self._context, start, begins, end)
            self._ends = end.positions
            segments += between
        await self._begin(begins, list(dict.fromkeys(segments)))
        self.has_begun = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop reading, and close the connections. Calls that wait raise."""
        self._is_closed = True
        self._news.set()
        reading, self._reading = self._reading, {}
        await call_all(*[one.source.close for one in reading.values()], self._connections.close)

    async def _begin(self, begins: dict[int, int], segments: Sequence[int]) -> None:
        known = await self._context.ranges(segments)
        wanted = [s for s in known if self._only is None or s.segment_id in self._only]
        self._lineage.add((s, begins.get(s.segment_id, 0)) for s in wanted)
        for segment in wanted:
            await self._finish_empty(segment)

    async def _finish_empty(self, segment: SegmentRange) -> None:
        """Finish a segment of which the cuts leave nothing to read."""
        begin = self._lineage.offset(segment.segment_id)
        if begin == SEGMENT_READ or begin == self._ends.get(segment.segment_id):
            await self._finish(segment.segment_id, begin)

    # reading

    def available(self) -> list[int]:
        """Return the ids of the segments that may be read now, ascending."""
        self.check_open()
        return self._lineage.available()

    @property
    def ended(self) -> bool:
        """Return whether all segments were read to their ends."""
        self._check_begun()
        return not self._lineage.has_available

    def position(self) -> StreamCut:
        """Return the cut after the returned events."""
        self._check_begun()
        return StreamCut(self._context.name, self._lineage.positions())

    def position_before(self, places: Mapping[int, int]) -> StreamCut:
        """Return `position` as if the events from these offsets of segments on had not been returned."""
        self._check_begun()
        unread = [(self._context.known_range(segment_id), offset) for segment_id, offset in places.items()]
        return StreamCut(self._context.name, self._lineage.positions_before(unread))

    async def read(
        self, segment_id: int, *, max_bytes: int = 8 * MIB, timeout_s: float | None = 0.0
    ) -> pa.RecordBatch | None:
        """Return the next events of an available segment, or None at its end or after ``timeout_s`` seconds.

        Raises:
            BadInputError: The segment is not available.
            TruncatedDataError: Its next events were truncated. The error says where reading can continue.
        """
        self.check_open()
        check_timeout(timeout_s)
        if not self._lineage.is_available(segment_id):
            raise self._not_available(segment_id)
        waiting = asyncio.timeout(timeout_s)
        try:
            async with waiting:
                while self._lineage.is_available(segment_id):
                    self._news.clear()
                    batch = await self.take(segment_id, max_bytes)
                    if batch is not None:
                        return batch
                    if self._lineage.is_available(segment_id):
                        await self.wait()
        except TimeoutError:
            if not waiting.expired():
                raise
        return None

    async def take(self, segment_id: int, bytes_max: int) -> pa.RecordBatch | None:
        """Return what has arrived of an available segment, and finish the segment at its end.

        It does not wait for events. Raises as `read`.
        """
        reading = self._reading.get(segment_id) or self._open(segment_id)
        try:
            batch = reading.next_batch(bytes_max)
        except TruncatedError as error:
            raise await self._truncated(segment_id, error) from None
        except ProtocolError as error:
            raise ProtocolError(
                f"{self._context.name}: {error}. Does the start lie between events?"
            ) from error
        if batch is not None:
            self.last_bytes = self._lineage.advance(segment_id, reading.position)
        elif reading.is_ended:
            await self._end_of(segment_id, reading)
        return batch

    def put_back(self, batch: pa.RecordBatch | None) -> None:
        """Take back what `read` returned last, to return it again."""
        segment_id = None if batch is None else batch.column(1)[0].as_py()
        if batch is None or segment_id not in self._reading:  # nothing came, or the read was closed
            return
        reading = self._reading[segment_id]
        reading.decoded = batch if reading.decoded is None else joined(batch, reading.decoded)
        self._lineage.advance(segment_id, reading.position)

    def _open(self, segment_id: int) -> _Reading:
        """Start requesting a segment's bytes, ahead of `take`."""
        self.check_open()  # another task may have closed the read since the call began
        begin = self._lineage.offset(segment_id)
        end = self._ends.get(segment_id, SEGMENT_READ)
        source = SegmentInput(
            self._context,
            self._connections,
            segment_id,
            begin,
            None if end == SEGMENT_READ else end,
            lambda: self.set_ready(segment_id),
        )
        reading = self._reading[segment_id] = _Reading(source, EventDecoder(segment_id, begin))
        self._shares += reading.share
        return reading

    def open_available(self, at_once: int | None) -> None:
        """Start reading available segments, up to ``at_once`` of them (None: all).

        A segment that is smaller than what is requested ahead counts only as its share of that.
        """
        shares_max = float("inf") if at_once is None else at_once
        if self._shares > shares_max - SHARES_MISSING:
            return
        while self._shares < shares_max:
            segment_id = self._lineage.next_offered()
            if segment_id is None:
                break
            if segment_id not in self._reading:
                self._open(segment_id)

    def is_available(self, segment_id: int) -> bool:
        """Return whether the segment may be read now."""
        return self._lineage.is_available(segment_id)

    def set_ready(self, segment_id: int) -> None:
        """Note that `take` may return something of this segment."""
        if segment_id in self._reading:
            self._ready[segment_id] = self._reading[segment_id].share
            if self._has_ready(self._shares_awaited):
                self._news.set()

    def next_ready(self) -> int | None:
        """Return the segment whose turn it is, or None. It leaves the queue until it is ready again."""
        return self._leaving(next(iter(self._ready), None))

    def first_ready(self) -> int | None:
        """Return a segment as `next_ready` does, but none before the one that began its turn has ended."""
        if self._first is None or not self._lineage.is_available(self._first):
            self._first = self._lineage.first_available()
        if self._first is not None and self._first not in self._reading:
            self._open(self._first)  # also if others have taken all shares
        return self._leaving(self._first if self._first in self._ready else None)

    def _leaving(self, segment_id: int | None) -> int | None:
        if segment_id is None:
            self._news.clear()
        else:
            del self._ready[segment_id]
        return segment_id

    def _has_ready(self, shares: float) -> bool:
        if not shares or len(self._ready) == len(self._reading):
            return True
        return sum(self._ready.values()) >= shares

    async def wait(self) -> None:
        """Wait until `next_ready` may return a segment. Raises `BadInputError` when the read is closed."""
        self.check_open()
        await self._news.wait()
        self.check_open()

    async def wait_for_many(self, n_bytes: int) -> None:
        """Wait until segments of about ``n_bytes`` are ready, or all that are being read. Take nothing."""
        shares = n_bytes / BYTES_AHEAD
        if self._has_ready(shares):
            return
        self._shares_awaited = shares
        self._news.clear()
        try:
            await self._news.wait()
        finally:
            self._shares_awaited = 0.0

    async def _end_of(self, segment_id: int, reading: _Reading) -> None:
        end = self._ends.get(segment_id, SEGMENT_READ)
        if end != SEGMENT_READ and reading.position != end:
            raise BadInputError(
                f"{self._context.name}, segment {segment_id}: the bytes from {reading.position} to "
                f"{end}, the end of the read, are no whole event, or lie after the "
                "end of the segment; start and end of a read must lie between events"
            )
        await self._finish(segment_id, end)
        if self._reading.pop(segment_id, None) is not None:
            self._shares -= reading.share
        self._ready.pop(segment_id, None)

    async def _finish(self, segment_id: int, offset: int) -> None:
        """Finish a segment. In a read without an end its successors come next."""
        if self._end is None and self._only is None:
            found = await self._context.controller.successors(self._context.name, segment_id)
            segments = [successor.segment for successor in found]
            self._context.learn(segments)
            self._lineage.add((segment, 0) for segment in segments)
        self._lineage.finish(segment_id, offset)

    # errors

    def check_open(self) -> None:
        """Raise `BadInputError` outside the ``with`` block, where this object has nothing to return."""
        self._check_begun()
        if self._is_closed:
            raise BadInputError(
                f"this read of {self._context.name} is closed: read inside its with block, or begin another "
                "read at its position()"
            )

    def _check_begun(self) -> None:
        if not self.has_begun:
            raise BadInputError(
                f"this read of {self._context.name} has not begun: it begins with its with block, so use it "
                "in there ('async with' for the async client)"
            )

    def _not_available(self, segment_id: int) -> BadInputError:
        if segment_id not in self._lineage:
            return BadInputError(
                f"{self._context.name}: segment {segment_id} is not part of this read; available are "
                f"{self.available()}"
            )
        before = self._lineage.waits_for(segment_id)
        reason = f"waits for its predecessors {before}" if before else "is read to its end"
        return BadInputError(
            f"{self._context.name}: segment {segment_id} {reason}; available are {self.available()}"
        )

    async def _truncated(self, segment_id: int, error: TruncatedError) -> TruncatedDataError:
        at = self.position()
        resume_at = await self._after_truncation(at, segment_id, error.start_offset)
        return TruncatedDataError(
            f"{self._context.name}, segment {segment_id}: events from offset "
            f"{self._lineage.offset(segment_id)} on were truncated away; reading can resume at {resume_at}",
            resume_at,
        )

    async def _after_truncation(self, at: StreamCut, segment_id: int, start_offset: int | None) -> StreamCut:
        """Return the first remaining position that is neither before ``at`` nor before the head."""
        head = await cuts.resolve(self._context, Edge.HEAD)
        ids = list(dict.fromkeys([*at.positions, *head.positions]))
        ranges = dict(zip(ids, await self._context.ranges(ids), strict=True))
        left = dict(head.positions)
        for segment, offset in at.positions.items():
            overlapping = [h for h in head.positions if ranges[h].overlaps(ranges[segment])]
            if segment in head.positions:
                left[segment] = offset if offset == SEGMENT_READ else max(offset, head.positions[segment])
            elif all(h < segment for h in overlapping):  # after the head
                left[segment] = offset
                for older in overlapping:
                    left.pop(older, None)
        if start_offset is not None and left.get(segment_id, start_offset) < start_offset:
            left[segment_id] = start_offset  # truncated at the store itself
        return StreamCut(self._context.name, left)
