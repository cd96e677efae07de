"""Read the events of one segment that a reader holds, requesting bytes ahead of the reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pravega_lab.client.context import StreamContext
from pravega_lab.client.framing.decode import EventDecoder
from pravega_lab.client.framing.event_batch import cut_off, event_batch, joined
from pravega_lab.client.framing.values import HEADER_BYTES
from pravega_lab.client.reading.segment_input import SegmentInput
from pravega_lab.client.segment_stores import Connections

if TYPE_CHECKING:
    import pyarrow as pa


class TakenEvent(NamedTuple):
    """Holds an event, where it begins, and where the next one begins."""

    data: bytes
    offset: int
    behind: int


class SegmentSource:
    """Reads one open segment from ``begin`` to ``end`` (None: until it is sealed)."""

    def __init__(
        self,
        context: StreamContext,
        connections: Connections,
        segment_id: int,
        begin: int,
        end: int | None,
        news: Callable[[], None],
    ) -> None:
        self.stream = context.name
        self.segment_id = segment_id
        self._input = SegmentInput(context, connections, segment_id, begin, end, news)
        self._decoder = EventDecoder(segment_id, begin)
        self._batch: pa.RecordBatch | None = None  # decoded, not yet returned
        self._events: list[bytes] = []  # of that batch, in reverse, once single events are returned
        self._offsets: list[int] = []

    @property
    def is_ended(self) -> bool:
        """Return whether all events up to the end were returned."""
        return self._input.is_ended and self._batch is None and not self._events

    def take_event(self) -> TakenEvent | None:
        """Return the next event if it has arrived. Raises ``TruncatedError`` and other errors of reading."""
        if not self._events:
            batch = self._next_batch()
            if batch is None:
                return None
            self._batch = None
            self._events = batch.column(0).to_pylist()[::-1]
            self._offsets = batch.column(2).to_pylist()[::-1]
        data, offset = self._events.pop(), self._offsets.pop()
        return TakenEvent(data, offset, offset + HEADER_BYTES + len(data))

    def take_batch(self, bytes_max: int) -> tuple[pa.RecordBatch, int] | None:
        """Return the events that have arrived and where the next one begins, or None if none has arrived.

        The batch has at most ``bytes_max`` of payload, but at least one event.
        """
        if self._events:
            return self._singles()
        decoded = self._next_batch()
        if decoded is None:
            return None
        batch, self._batch = cut_off(decoded, bytes_max)
        last = len(batch) - 1
        behind = batch.column(2)[last].as_py() + HEADER_BYTES + len(batch.column(0)[last].as_buffer())
        return batch, behind

    def put_back(self, batch: pa.RecordBatch) -> None:
        """Take back the last events that `take_batch` or `take_event` returned, to return them again."""
        if self._events:
            self._batch, _ = self._singles()
        self._batch = batch if self._batch is None else joined(batch, self._batch)

    def _next_batch(self) -> pa.RecordBatch | None:
        while self._batch is None:
            block = self._input.take()
            if block is None:
                return None
            self._batch = self._decoder.decode(block)
        return self._batch

    def _singles(self) -> tuple[pa.RecordBatch, int]:
        """Return the rest of a batch of which single events were returned."""
        events, offsets = self._events[::-1], self._offsets[::-1]
        self._events, self._offsets = [], []
        batch = event_batch(events, self.segment_id, offsets)
        return batch, offsets[-1] + HEADER_BYTES + len(events[-1])

    async def close(self) -> None:
        """Stop requesting bytes."""
        await self._input.close()
