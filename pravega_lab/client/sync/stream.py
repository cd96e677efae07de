"""Provide `Stream`: everything that a program can do with one stream."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from pravega_lab.client.sync.byte_streams import ByteReader, ByteWriter
from pravega_lab.client.sync.core import run
from pravega_lab.client.sync.reading import Batches, OrderedSegmentReader
from pravega_lab.client.sync.transactions import Transaction
from pravega_lab.client.sync.writer import EventWriter
from pravega_lab.client.values import (
    HEAD,
    LEASE_MS_MAX,
    MIB,
    TAIL,
    RetentionPolicy,
    ScalingPolicy,
    SegmentInfo,
    StreamConfiguration,
    Successor,
)

if TYPE_CHECKING:
    from uuid import UUID

    from pravega_lab.client.stream import AsyncStream
    from pravega_lab.client.sync.core import ClientHandle
    from pravega_lab.client.values import Bound, Events, Keys
    from pravega_lab.protocol.metadata.event_pointer import EventPointer
    from pravega_lab.protocol.names import SegmentRange
    from pravega_lab.protocol.stream_cut import StreamCut


class Stream:
    """Gives access to one stream. It sends no request before its first call.

    Every call raises `StreamNotFoundError` if there is no such stream.
    """

    def __init__(self, client: ClientHandle, scoped_name: str) -> None:
        self.client = client
        self.scoped_name = scoped_name
        self.scope, self.name = scoped_name.split("/")

    @property
    def _core(self) -> AsyncStream:
        return self.client._core.stream(self.scoped_name)

    def options(self) -> dict[str, str]:
        """Return the options for Spark: ``spark.read.format("pravega").options(**stream.options())``."""
        return self._core.options()

    def exists(self) -> bool:
        """Return whether there is such a stream, sealed or not."""
        return run(self._core.exists())

    def configuration(self) -> StreamConfiguration:
        """Return the present policies and tags."""
        return run(self._core.configuration())

    def update(
        self,
        *,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        """Change the policies or tags that are passed, and keep the others. Raises `StreamSealedError`."""
        run(self._core.update(scaling=scaling, retention=retention, tags=tags))

    def subscribers(self) -> list[str]:
        """Return the reader groups that hold back retention of the stream, as ``scope/group``.

        These are the groups whose configuration has a retention type (pravega.md A7).
        """
        return run(self._core.subscribers())

    def seal(self) -> None:
        """Seal the stream: it can be read but no longer written. May be called twice (pravega.md A8)."""
        run(self._core.seal())

    def delete(self) -> None:
        """Delete a sealed stream. Raises `StreamNotSealedError`."""
        run(self._core.delete())

    def segments(self) -> list[SegmentRange]:
        """Return the active segments, lowest key range first; none if the stream is sealed."""
        return run(self._core.segments())

    def epoch_segments(self, epoch: int) -> list[SegmentRange]:
        """Return the segments of one epoch, past epochs included, lowest key range first."""
        return run(self._core.epoch_segments(epoch))

    def successors(self, segment_id: int) -> list[Successor]:
        """Return the successors of a segment; none if it is active, or the last of a sealed stream."""
        return run(self._core.successors(segment_id))

    def segments_between(self, start: Bound, end: Bound) -> list[int]:
        """Return the ids of all segments between two cuts, ascending, so predecessors come first."""
        return run(self._core.segments_between(start, end))

    def settled_cut(self, cut: StreamCut, *, latest: bool = False, read: Collection[int] = ()) -> StreamCut:
        """Return a cut of the same position that lists no segment next to its successors.

        A position in the middle of a scale may list a segment that was read to its end, and a successor that
        was begun. Here the other successors take the place of the segment, at offset 0. For programs that
        read segment by segment. With ``latest``, the successors of a segment that ends at the cut take its
        place in any case. Of two cuts of one position this form never lies before the other. ``read`` names
        segments of the cut that are known to be sealed at their offsets: they count as read.

        Raises:
            SegmentNotFoundError: The stream never had a segment of the cut.
        """
        return run(self._core.settled_cut(cut, latest=latest, read=read))

    def scale(self, seal: Sequence[int], ranges: Sequence[tuple[float, float]]) -> list[SegmentRange]:
        """Replace active segments by new ones, and return the new ones when they are active.

        Args:
            seal: Ids of active segments.
            ranges: (low, high] of each new segment. Together they cover the sealed ranges exactly.

        Raises:
            ScaleRefusedError: The message names the rule of pravega.md A5. Nothing has changed.
        """
        return run(self._core.scale(seal, ranges))

    def split(self, segment_id: int, parts: int = 2) -> list[SegmentRange]:
        """Split one segment into ``parts`` of equal width; see `scale`."""
        return run(self._core.split(segment_id, parts))

    def merge(self, segment_ids: Sequence[int]) -> SegmentRange:
        """Merge two or more neighbouring segments into one; see `scale`."""
        return run(self._core.merge(segment_ids))

    def segment_info(self, segment_id: int) -> SegmentInfo:
        """Return the offsets and the state of one segment. Raises `SegmentNotFoundError`."""
        return run(self._core.segment_info(segment_id))

    def tiered_offset(self, segment_id: int) -> int | None:
        """Return the offset before which all bytes of a segment are in tier 2, or truncated.

        None if the store has no tier 2, or does not report it: a released Pravega does not.

        Raises `SegmentNotFoundError`.
        """
        return run(self._core.tiered_offset(segment_id))

    def event_end(self, segment_id: int, begin: int, at_least: int) -> int:
        """Return where the first event ends that ends at ``at_least`` or later, in bytes of one segment.

        Args:
            begin: An offset between two events, from a stream cut or an event.
            at_least: At most the end of the segment.

        Raises:
            TruncatedDataError: Events from ``begin`` on were truncated.
            BadInputError: The two are not within the segment.

        Source: pravega.md A11. Reads from ``begin`` on, because no server knows where events end.
        """
        return run(self._core.event_end(segment_id, begin, at_least))

    def head(self) -> StreamCut:
        """Return the first position that can still be read."""
        return run(self._core.head())

    def tail(self) -> StreamCut:
        """Return the position after the last event of each segment; also valid during a scale.

        Segments are queried in parallel, each at its own moment: the cut is no snapshot.
        """
        return run(self._core.tail())

    def truncate(self, cut: Bound) -> None:
        """Truncate all events before ``cut``. Raises `BadInputError` for a cut before the head."""
        run(self._core.truncate(cut))

    def write(self, events: Events, keys: Keys = None) -> int:
        """Write events and return how many, when all are durable.

        Args:
            events: One event (bytes or str), or a list, Arrow array, or Series of pandas or Polars of them.
                Also a data frame with the columns ``event`` and ``routing_key``, or with ``event`` alone.
            keys: Routing keys: one for all, or one per event. Events of one key keep their order.
                None, and a null among the keys, spreads events over the segments at random.

        Raises:
            BadInputError: The arguments are no events or keys. None was written.
            EventTooLargeError: An event above 8 MiB; none was written.
            StreamSealedError, StoreFullError: The stream ended, or its store has no room. ``definite`` is NO
                if none of these events was stored, else UNKNOWN, and the message says how many were.
            StoreUnavailableError: Definite is UNKNOWN: some of the events may be in the stream.

        Source: pravega.md A3, A11.
        """
        return run(self._core.write(events, keys))

    def writer(self) -> EventWriter:
        """Return a pipelined writer for use in a ``with`` block. Leaving the block flushes."""
        return EventWriter(self._core.writer())

    def write_large_event(self, event: bytes, key: str | None = None) -> None:
        """Write one event of up to 1 GiB and return when it is durable. Readers see all of it or nothing.

        It is assembled in a segment of its own, which the store then merges, so it costs several round trips:
        use `write` up to 8 MiB. Its order relative to other calls of `write` is that of the calls, if each
        begins after the one before has returned.

        Raises:
            EventTooLargeError: It has more than 1 GiB.
            StreamSealedError: The stream is sealed. Nothing was written.
            AppendUnknownError: The answer was lost, and the segment was sealed or deleted since.
            StoreUnavailableError: Definite is UNKNOWN: the event may be in the stream.

        Source: pravega.md A11.
        """
        run(self._core.write_large_event(event, key))

    def byte_writer(self) -> ByteWriter:
        """Return a writer of bytes, for a stream of one segment, for use in a ``with`` block."""
        return ByteWriter(self._core.byte_writer())

    def byte_reader(self, offset: int = 0) -> ByteReader:
        """Return a reader of bytes from ``offset`` on, for use in a ``with`` block."""
        return ByteReader(self._core.byte_reader(offset))

    def begin_transaction(self, lease_ms: int = LEASE_MS_MAX) -> Transaction:
        """Begin a transaction. A background task renews its lease until the transaction is closed or ends.

        Use ``with stream.begin_transaction() as txn``: commits at the end, aborts after an error.

        Args:
            lease_ms: 10,000 to 600,000: how long it outlives a client that vanished (pravega.md A10).

        Raises:
            StreamSealedError: The stream is sealed.
        """
        begun = self._core.begin_transaction(lease_ms)
        return Transaction(run(begun, lambda transaction: transaction.abort()))

    def transaction(self, txn_id: UUID) -> Transaction:
        """Return a handle of a transaction by its id, for ``state``, ``commit`` and ``abort``."""
        return Transaction(self._core.transaction(txn_id))

    def read(
        self,
        start: Bound = HEAD,
        end: Bound = TAIL,
        *,
        batch_bytes: int = 8 * MIB,
        segments: Sequence[int] | None = None,
        ordered: bool = True,
        repeatable: bool = False,
    ) -> Batches:
        """Read the events between two stream cuts; a successor never before its predecessors.

        Use ``with stream.read() as batches: for batch in batches: ...``. Leaving the block closes the
        connections, also after ``break``. Without ``with`` the read begins at its first use, and its
        connections are closed when nothing refers to the batches any more.

        Args:
            start: First position. ``HEAD`` is the truncation point when the read begins.
            end: Position after the last event. ``TAIL`` is fixed when the read begins, so the read ends
                although writers continue.
            batch_bytes: Most payload per batch, in bytes (what one read brings is less: 2 MiB). A larger
                event comes whole, alone.
            segments: Read these only (ids), as far as they lie between the cuts.
            ordered: False reads every segment at once, without waiting for predecessors.
            repeatable: True reads the segments one after the other, in the order of their ids, so that each
                read between two cuts has the same order. Otherwise they take turns as events arrive.

        Batches: one segment's events in offset order, never empty. Columns: event (binary),
        segment_id (int64), offset (int64, bytes from the segment's start to the event's header).

        Raises (when the read begins, or while iterating):
            TruncatedDataError: Events after ``start`` were truncated. Reading from ``error.resume_at`` works.
            BadInputError: A cut of another stream, or ``end`` before ``start``.
            StoreUnavailableError: Retries ended after ``retry_for_s`` seconds; safe to call again.

        Source: pravega.md A9, D4. An end offset of -1 means the sealed length.
        """
        return Batches(
            self._core.read(
                *(start, end),
                batch_bytes=batch_bytes,
                segments=segments,
                ordered=ordered,
                repeatable=repeatable,
            )
        )

    def follow(self, start: Bound = HEAD, *, batch_bytes: int = 8 * MIB) -> Batches:
        """Read as `read` does, but without an end: wait at the tail until the stream is sealed.

        Events come as soon as they are durable. To stop waiting, leave the block, or use
        `Batches.next_batch` with a timeout.
        """
        return Batches(self._core.follow(start, batch_bytes=batch_bytes))

    def fetch(self, pointer: EventPointer) -> bytes:
        """Return one event by its pointer, as `EventPointer.of` makes it of what was read.

        Raises:
            TruncatedDataError, SegmentNotFoundError: The event was truncated, or its segment deleted.
            BadInputError: The pointer belongs to another stream, or no such event begins there.
        """
        return run(self._core.fetch(pointer))

    def segment_reader(
        self, start: Bound = HEAD, end: Bound | None = None, *, segments: Sequence[int] | None = None
    ) -> OrderedSegmentReader:
        """Read segment by segment, in an order of your own that respects predecessors.

        Args:
            start: First position.
            end: Last position. None: read until the stream is sealed.
            segments: As in `read`.
        """
        return OrderedSegmentReader(self._core.segment_reader(start, end, segments=segments))

    def __repr__(self) -> str:
        return f"Stream({self.scoped_name!r} at {self.client.uri})"
