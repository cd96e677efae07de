"""Provide `Batches` and `OrderedSegmentReader`: reading between two stream cuts."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pravega_lab.client.loop_thread import OfThisProcess, close_when_dropped, keep_to_this_process
from pravega_lab.client.sync.core import run
from pravega_lab.client.values import MIB

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_lab.client.reading.batches import AsyncBatches
    from pravega_lab.client.reading.one_by_one import OneByOne
    from pravega_lab.client.reading.segment_reader import AsyncOrderedSegmentReader
    from pravega_lab.protocol.stream_cut import StreamCut


class Batches(OfThisProcess):
    """Iterates over the Arrow record batches of a read. See `Stream.read`.

    Leaving its ``with`` block closes the connections. Without a ``with`` block the read begins at its first
    use, and its connections are closed when the program has no more reference to this object.
    """

    def __init__(self, core: AsyncBatches) -> None:
        self._core = core
        keep_to_this_process(self)
        self._closing: weakref.finalize[..., Batches] | None = None  # since the read was to begin

    def _begin(self) -> None:
        """Begin the read, unless it has begun."""
        if self._closing is None:
            self._closing = close_when_dropped(self, self._core.close)
        if not self._core.has_begun:
            run(self._core.__aenter__())

    def next_batch(self, timeout_s: float | None = None) -> pa.RecordBatch | None:
        """Return the next batch, or None if the read has ended or none came within ``timeout_s`` seconds."""
        self._begin()
        return run(self._core.next_batch(timeout_s), self._core.put_back_one)

    def next_batches(self, bytes_max: int = 8 * MIB) -> list[pa.RecordBatch]:
        """Return the next batch and all others that have arrived; none when the read has ended.

        This is one call into the loop for all of them. With many small segments, a call for each batch would
        take most of the time. A read with an end waits up to 50 ms for ``bytes_max`` bytes of them.
        """
        self._begin()
        return run(self._core.next_batches(bytes_max), self._core.put_back)

    def events(self) -> Iterator[bytes]:
        """Return the events (payloads) one by one: ``for event in batches.events(): ...``.

        They are converted a batch at a time. `position` counts the events that the loop has reached, so after
        ``break`` the next call continues with the next event.
        """
        return chain.from_iterable(iter(self._next_events, None))

    def _next_events(self) -> OneByOne | None:
        self._begin()
        return run(self._core.next_events())

    @property
    def ended(self) -> bool:
        """Return whether all events up to the end were returned."""
        self._begin()
        return self._core.ended

    def position(self) -> StreamCut:
        """Return the cut after all returned events: reading from there returns the remaining events."""
        self._begin()
        return self._core.position()

    def close(self) -> None:
        """Close the connections."""
        if self._closing is not None:
            self._closing.detach()
        run(self._core.close())

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        batch = self.next_batch()
        if batch is None:
            raise StopIteration
        return batch


class OrderedSegmentReader(OfThisProcess):
    """Offers segments for reading, a successor only after all its predecessors were read to their end.

    Use it in a ``with`` block. Offered segments may be read in any order and interleaved.
    """

    def __init__(self, core: AsyncOrderedSegmentReader) -> None:
        self._core = core
        keep_to_this_process(self)

    def available(self) -> list[int]:
        """Return the ids of the segments that may be read now, ascending; none if all are read."""
        return self._core.available()

    def read(
        self, segment_id: int, *, max_bytes: int = 8 * MIB, timeout_s: float | None = 0.0
    ) -> pa.RecordBatch | None:
        """Return the next events of one available segment, in the columns of `Stream.read`.

        None: nothing came within ``timeout_s`` seconds (None waits), or the segment has ended and is no
        longer among `available`; its successors then are, if their other predecessors have ended too.

        Raises:
            BadInputError: The segment is not available. The message names the segments to read first.
            TruncatedDataError: Events at the position were truncated; see ``resume_at``.
        """
        call = self._core.read(segment_id, max_bytes=max_bytes, timeout_s=timeout_s)
        return run(call, self._core.put_back)

    @property
    def ended(self) -> bool:
        """Return whether every segment up to the end, or to the seal of the stream, was read."""
        return self._core.ended

    def position(self) -> StreamCut:
        """Return the cut after the returned events.

        It covers the key space, also in the middle of a merge: a segment that is fully read stays in it with
        offset -1 until its successor is available.
        """
        return self._core.position()

    def close(self) -> None:
        """Close the connections."""
        run(self._core.close())

    def __enter__(self) -> Self:
        run(self._core.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
