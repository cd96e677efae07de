"""Provide `AsyncBatches`: record batches of a read. `sync.Stream.read` states the contract."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pravega_lab.client.context import StreamContext
from pravega_lab.client.reading.one_by_one import OneByOne
from pravega_lab.client.reading.segment_reader import AsyncOrderedSegmentReader
from pravega_lab.client.values import MIB, check_timeout
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_lab.client.values import Bound

SEGMENTS_AT_ONCE = 4  # of a bounded read, each with up to 3 reads of 2 MiB. A read at the tail has no limit
LINGER_S = 0.05  # to return more replies together


class AsyncBatches:
    """Reads record batches of several segments. It sends no request before ``async with``."""

    def __init__(
        self,
        context: StreamContext,
        start: Bound,
        end: Bound | None,
        batch_bytes: int,
        segments: Sequence[int] | None,
        ordered: bool,
        repeatable: bool = False,
    ) -> None:
        if batch_bytes < 1:
            raise BadInputError(f"batch_bytes={batch_bytes}: at least 1")
        self._reader = AsyncOrderedSegmentReader(context, start, end, segments, ordered)
        self._next_ready = self._reader.first_ready if repeatable else self._reader.next_ready
        self._at_once = None if end is None else SEGMENTS_AT_ONCE
        self._batch_bytes = batch_bytes
        self._begun: OneByOne | None = None  # the last batch, of which `events` returns single events
        self._returned: deque[pa.RecordBatch] = deque()  # put back, to be returned again

    @property
    def has_begun(self) -> bool:
        """Return whether the ``async with`` block was entered."""
        return self._reader.has_begun

    @property
    def ended(self) -> bool:
        """Return whether all events of the read were returned."""
        is_taken = self._begun is None or self._begun.next_offset is None
        return self._reader.ended and is_taken and not self._returned

    def position(self) -> StreamCut:
        """Return the cut after the returned events, from which another read can continue."""
        offset = None if self._begun is None else self._begun.next_offset
        if self._returned:
            places = [(batch.column(1)[0].as_py(), batch.column(2)[0].as_py()) for batch in self._returned]
            if self._begun is not None and offset is not None:
                places.insert(0, (self._begun.segment_id, offset))
            return self._reader.position_before(dict(reversed(places)))  # the first place of a segment
        cut = self._reader.position()
        if self._begun is None or offset is None:
            return cut
        return StreamCut(cut.scoped_stream, {**cut.positions, self._begun.segment_id: offset})

    async def events(self) -> AsyncIterator[bytes]:
        """Return the events one by one, and convert them a batch at a time."""
        while (begun := await self.next_events()) is not None:
            for event in begun:
                yield event

    async def next_events(self) -> OneByOne | None:
        """Return the events of the next batch, to be returned one by one, or None at the end of the read."""
        batch = await self.next_batch()
        if batch is None:
            return None
        self._begun = OneByOne(batch)
        return self._begun

    def _rest(self) -> pa.RecordBatch | None:
        begun, self._begun = self._begun, None
        rest = None if begun is None else begun.take_rest()
        return self._returned.popleft() if rest is None and self._returned else rest

    def put_back(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Take back the batches that the last call returned, to return them again."""
        self._returned.extendleft(reversed(batches))

    def put_back_one(self, batch: pa.RecordBatch | None) -> None:
        """Take back what `next_batch` returned last."""
        if batch is not None:
            self.put_back([batch])

    async def next_batch(self, timeout_s: float | None = None) -> pa.RecordBatch | None:
        """Return the next batch, or None at the end of the read or after ``timeout_s`` seconds.

        None as timeout waits without limit. A cancellation loses no events.

        Raises:
            BadInputError: This is called outside the ``async with`` block.
        """
        self._reader.check_open()
        check_timeout(timeout_s)
        if (rest := self._rest()) is not None:
            return rest
        if timeout_s is None:
            return await self._wait_for_batch()
        if timeout_s == 0.0:
            return await self._take()
        waiting = asyncio.timeout(timeout_s)
        try:
            async with waiting:
                return await self._wait_for_batch()
        except TimeoutError:
            if not waiting.expired():
                raise
        return None

    async def _wait_for_batch(self) -> pa.RecordBatch | None:
        while (batch := await self._take()) is None and not self.ended:
            await self._reader.wait()
        return batch

    async def next_batches(self, bytes_max: int = 8 * MIB) -> list[pa.RecordBatch]:
        """Return batches of about ``bytes_max`` bytes together, none at the end of the read.

        Waits for the first batch only, and in a bounded read up to 0.05 s for more.
        """
        self._reader.check_open()
        found: list[pa.RecordBatch] = []
        if (rest := self._rest()) is not None:
            return [rest]
        if self._at_once is not None:  # a bounded read; events at the tail are returned at once
            await self._let_arrive(bytes_max)
        batch, n_bytes = await self.next_batch(), 0
        try:
            while batch is not None:
                found.append(batch)
                n_bytes += self._reader.last_bytes
                batch = await self.next_batch(0.0) if n_bytes < bytes_max else None
        except BaseException:  # a cancellation while asking for successors
            self.put_back(found)
            raise
        return found

    async def _let_arrive(self, n_bytes: int) -> None:
        """Wait up to 0.05 s for ``n_bytes``. This takes nothing, so a cancellation loses nothing."""
        self._reader.open_available(self._at_once)
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                await self._reader.wait_for_many(n_bytes)

    async def _take(self) -> pa.RecordBatch | None:
        """Return a batch that has arrived, or None.

        Segments that have batches take turns, and in a repeatable read one follows the other.
        """
        reader = self._reader
        reader.open_available(self._at_once)
        while (segment := self._next_ready()) is not None:
            try:
                batch = await reader.take(segment, self._batch_bytes)
            except BaseException:  # a timeout while asking for successors: the segment keeps its turn
                reader.set_ready(segment)
                raise
            if batch is not None:
                reader.set_ready(segment)
                return batch
            if not reader.is_available(segment):
                reader.open_available(self._at_once)
        return None

    async def close(self) -> None:
        """Stop reading, and close the connections."""
        await self._reader.close()

    async def __aenter__(self) -> Self:
        await self._reader.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pa.RecordBatch:
        batch = await self.next_batch()
        if batch is None:
            raise StopAsyncIteration
        return batch
