"""Provide `AsyncStream`: the operations on one stream. `sync.Stream` states the contracts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from pravega_lab.client import scaling
from pravega_lab.client.byte_streams.reader import AsyncByteReader
from pravega_lab.client.byte_streams.writer import AsyncByteWriter
from pravega_lab.client.context import StreamContext
from pravega_lab.client.reading import cuts
from pravega_lab.client.reading.batches import AsyncBatches
from pravega_lab.client.reading.event_end import event_end
from pravega_lab.client.reading.fetch import fetch
from pravega_lab.client.reading.segment_reader import AsyncOrderedSegmentReader
from pravega_lab.client.scaling import check_policy
from pravega_lab.client.values import (
    HEAD,
    LEASE_MS_MAX,
    MIB,
    TAIL,
    Edge,
    RetentionPolicy,
    ScalingPolicy,
    SegmentInfo,
    StreamConfiguration,
    Successor,
)
from pravega_lab.client.writing.large_event import LargeEventWriter
from pravega_lab.client.writing.transaction import AsyncTransaction, begin
from pravega_lab.client.writing.writer import AsyncEventWriter
from pravega_lab.errors import (
    AccessDeniedError,
    BadInputError,
    Definite,
    RefusedError,
    ScaleRefusedError,
    SegmentNotFoundError,
    StreamSealedError,
)
from pravega_lab.portable.waiting import call_all
from pravega_lab.protocol.metadata.event_pointer import EventPointer
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    from pravega_lab.client.values import Bound, Events, Keys


class AsyncStream:
    """Implements `sync.Stream` with asyncio, under the same contract. `AsyncClient.stream` returns it.

    The writer that `write` uses is kept until `close`.

    Args:
        warns: Warn of writers that the program leaves open, also when it does not close the client.
    """

    def __init__(self, context: StreamContext, *, warns: bool = False) -> None:
        self._warns = warns
        self.scoped_name = context.name
        self.scope, self.name = context.scope, context.stream
        self._context = context
        self._controller = context.controller
        self._writer: AsyncEventWriter | None = None
        self._open_writers: dict[AsyncEventWriter, None] = {}  # which the program has to close
        self._transactions: dict[AsyncTransaction, None] = {}  # begun here and still open

    def options(self) -> dict[str, str]:
        """Return the options of Spark's ``format("pravega")`` for this stream."""
        return {
            "controller": self._controller.uri,
            "scope": self.scope,
            "stream": self.name,
            **self._controller.access.to_options(),
        }

    # configuration

    async def exists(self) -> bool:
        """Return whether the stream exists."""
        return await self._controller.stream_exists(self.scoped_name)

    async def configuration(self) -> StreamConfiguration:
        """Return the present configuration."""
        return await self._controller.configuration(self.scoped_name)

    async def update(
        self,
        *,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        """Replace parts of the configuration; None keeps a part."""
        now = await self.configuration()
        wanted = StreamConfiguration(
            now.scaling if scaling is None else scaling,
            now.retention if retention is None else retention,
            now.tags if tags is None else tuple(tags),
        )
        check_policy(self.scoped_name, wanted.scaling)
        await self._controller.update_stream(self.scoped_name, wanted)

    async def subscribers(self) -> list[str]:
        """Return the reader groups that hold back retention, as ``scope/group``."""
        return await self._controller.subscribers(self.scoped_name)

    async def seal(self) -> None:
        """Seal the stream: it can be read, but no longer written."""
        await self._controller.seal_stream(self.scoped_name)

    async def delete(self) -> None:
        """Delete the sealed stream."""
        await self._controller.delete_stream(self.scoped_name)
        # A stream of this name that is created later has other segments.
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.stop()
        await self._close_transactions()

    # segments

    async def segments(self) -> list[SegmentRange]:
        """Return the active segments, lowest key range first."""
        found = await self._controller.current_segments(self.scoped_name)
        self._context.learn(found)
        return found

    async def epoch_segments(self, epoch: int) -> list[SegmentRange]:
        """Return the segments of an epoch."""
        return await self._controller.epoch_segments(self.scoped_name, epoch)

    async def successors(self, segment_id: int) -> list[Successor]:
        """Return the successors of a segment; none while it is active."""
        return await self._controller.successors(self.scoped_name, segment_id)

    async def segments_between(self, start: Bound, end: Bound) -> list[int]:
        """Return the ids of the segments between two bounds, both included, ascending."""
        first = await cuts.resolve_start(self._context, start)
        last = None if end is Edge.TAIL else await cuts.resolve_end(self._context, end)
        return await cuts.segments_between(self._context, first, last)

    async def settled_cut(
        self, cut: StreamCut, *, latest: bool = False, read: Collection[int] = ()
    ) -> StreamCut:
        """Return a cut of the same position that lists no segment next to its successors."""
        if latest:
            return await cuts.latest_form(self._context, cut)
        return await cuts.settled_end(self._context, cut, read)

    async def scale(self, seal: Sequence[int], ranges: Sequence[tuple[float, float]]) -> list[SegmentRange]:
        """Replace segments by segments with other key ranges, and return the new segments."""
        return await scaling.scale(self._context, seal, ranges)

    async def split(self, segment_id: int, parts: int = 2) -> list[SegmentRange]:
        """Split a segment into ``parts`` of equal width, and return them."""
        segment = (await self._active([segment_id]))[0]
        return await self.scale([segment_id], scaling.split_range(segment, parts))

    async def merge(self, segment_ids: Sequence[int]) -> SegmentRange:
        """Merge neighbouring segments, and return the new segment."""
        segments = await self._active(segment_ids) if isinstance(segment_ids, Collection) else []
        if len({segment.segment_id for segment in segments}) < 2:
            raise BadInputError(f"{self.scoped_name}: merge({segment_ids!r}); give at least two segment ids")
        low, high = min(s.low for s in segments), max(s.high for s in segments)
        return (await self.scale(segment_ids, [(low, high)]))[0]

    async def _active(self, segment_ids: Sequence[int]) -> list[SegmentRange]:
        active = {segment.segment_id: segment for segment in await self.segments()}
        missing = [segment for segment in segment_ids if segment not in active]
        if not active:
            raise ScaleRefusedError(
                f"{self.scoped_name} is sealed: it has no active segment to split or merge"
            )
        if missing or not segment_ids:
            raise ScaleRefusedError(
                f"{self.scoped_name}: segments {missing} are not active; active are {list(active)}"
            )
        return [active[segment] for segment in segment_ids]

    async def segment_info(self, segment_id: int) -> SegmentInfo:
        """Return where a segment begins and ends now."""
        return await self._context.info(segment_id)

    async def tiered_offset(self, segment_id: int) -> int | None:
        """Return the offset before which all bytes of a segment are in tier 2, or truncated.

        None if the store has no tier 2, or does not report it: a released Pravega does not.
        """
        return await self._context.tiered_offset(segment_id)

    async def event_end(self, segment_id: int, begin: int, at_least: int) -> int:
        """Return where the event ends that reaches ``at_least``, reading from ``begin``."""
        return await event_end(self._context, segment_id, begin, at_least)

    # positions

    async def head(self) -> StreamCut:
        """Return the truncation point: the first position that can be read."""
        return await cuts.head(self._context)

    async def tail(self) -> StreamCut:
        """Return the present end of the stream."""
        return await cuts.tail(self._context)

    async def truncate(self, cut: Bound) -> None:
        """Drop the events before ``cut``."""
        at = await cuts.settled(self._context, await cuts.resolve(self._context, cut))
        try:
            await self._controller.truncate_stream(self.scoped_name, at.positions)
        except AccessDeniedError:
            raise
        except RefusedError as error:
            head = await self.head()
            if head == at:
                return
            refused = BadInputError(
                f"truncate at {at}: the store refused. A cut must cover the key space and lie after the "
                f"head, which is {head}"
            )
            refused.definite = error.definite
            raise refused from error

    # writing

    async def write(self, events: Events, keys: Keys = None) -> int:
        """Write events, and return their number when they are durable."""
        is_kept = self._writer is not None
        try:
            return await self._write(events, keys)
        except (SegmentNotFoundError, StreamSealedError) as error:
            if not is_kept or error.definite is not Definite.NO:
                raise
        # The stream may have been deleted and created again. A released store calls the old one sealed.
        return await self._write(events, keys)

    async def _write(self, events: Events, keys: Keys) -> int:
        if self._writer is None or self._writer.is_failed:
            self._writer = self.writer()
        writer = self._writer
        try:
            return await writer.write_durably(events, keys)
        finally:
            if writer.is_failed:
                await writer.stop()

    def writer(self) -> AsyncEventWriter:
        """Return a new writer, which the caller closes."""
        return AsyncEventWriter(self._context, self._open_writers, warns=self._warns)

    async def write_large_event(self, event: bytes, key: str | None = None) -> None:
        """Write one event of up to 1 GiB, and return when it is durable."""
        if not isinstance(event, bytes) or not isinstance(key, str | None):
            raise BadInputError("write_large_event: the event is bytes, and its key str or None")
        await LargeEventWriter(self._context).write(event, key)

    def byte_writer(self) -> AsyncByteWriter:
        """Return a new writer of bytes, which the caller closes."""
        return AsyncByteWriter(self._context)

    def byte_reader(self, offset: int = 0) -> AsyncByteReader:
        """Return a new reader of bytes, which the caller closes."""
        return AsyncByteReader(self._context, offset)

    async def begin_transaction(self, lease_ms: int = LEASE_MS_MAX) -> AsyncTransaction:
        """Begin a transaction with a lease of ``lease_ms`` milliseconds."""
        forget = lambda left: self._transactions.pop(left, None)  # noqa: E731
        transaction = await begin(self._context, lease_ms, forget)
        self._transactions[transaction] = None
        return transaction

    def transaction(self, txn_id: UUID) -> AsyncTransaction:
        """Return a handle of a transaction by its id. It cannot write."""
        if not isinstance(txn_id, UUID):
            raise BadInputError(f"transaction {txn_id!r:.80}: its id is a UUID; give UUID(text) for a text")
        return AsyncTransaction(self._context, txn_id)

    # reading

    def read(
        self,
        start: Bound = HEAD,
        end: Bound = TAIL,
        *,
        batch_bytes: int = 8 * MIB,
        segments: Sequence[int] | None = None,
        ordered: bool = True,
        repeatable: bool = False,
    ) -> AsyncBatches:
        """Return the record batches between two bounds."""
        return AsyncBatches(self._context, start, end, batch_bytes, segments, ordered, repeatable)

    def follow(self, start: Bound = HEAD, *, batch_bytes: int = 8 * MIB) -> AsyncBatches:
        """Return the record batches from ``start`` on, with those still to come."""
        return AsyncBatches(self._context, start, None, batch_bytes, None, True)

    async def fetch(self, pointer: EventPointer) -> bytes:
        """Return the event to which ``pointer`` points."""
        return await fetch(self._context, pointer)

    def segment_reader(
        self, start: Bound = HEAD, end: Bound | None = None, *, segments: Sequence[int] | None = None
    ) -> AsyncOrderedSegmentReader:
        """Return a reader for one segment after another, in an order that the caller chooses."""
        return AsyncOrderedSegmentReader(self._context, start, end, segments)

    async def close(self) -> None:
        """Flush and close all writers. Open transactions end with their leases."""
        writer, self._writer = self._writer, None
        mine = [] if writer is None else [writer.close]
        unclosed = [writer.close_unclosed for writer in self._open_writers]
        await call_all(*mine, *unclosed, self._close_transactions)

    async def _close_transactions(self) -> None:
        await call_all(*[transaction.close for transaction in self._transactions])
