"""(c) The long-term plan of flink-connectors (issue 390): a split is a segment, and there is no reader group.

Readers keep offsets, and the enumerator keeps the splits that no reader has. `SegmentPlan` decides which
reader reads which split, and when. `splits` has the changes that FLIP-27 lacks. Each fact is in the state of
either the enumerator or one reader, never in both or neither: a reply through the event gate moves it
(`SplitsFinished`). Each of several streams has its own splits, start and end. They share readers and a
savepoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pravega_lab.client.reading.single_segments import SingleSegments
from pravega_lab.client.values import HEAD, Edge
from pravega_lab.connector.flow.bounds import Bounds, bounds_of, check_streams
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.segments.holds import WatermarkHolds
from pravega_lab.connector.flow.segments.plan import SegmentPlan
from pravega_lab.connector.flow.segments.split_reader import BATCH_BYTES, SplitReader
from pravega_lab.connector.flow.segments.split_source import Splits, SplitSource
from pravega_lab.connector.flow.segments.splits import (
    Change,
    SegmentSplit,
    SegmentState,
    SegmentStateSerializer,
    SplitsAddition,
    SplitsFinished,
    SplitsRead,
    SplitsRemoval,
    SplitsReported,
    SplitsReturned,
    from_event,
    to_event,
)
from pravega_lab.engine.flow.elements import MIN_TIMESTAMP_MS
from pravega_lab.engine.flow.errors import RestoreError
from pravega_lab.engine.flow.source.sources import (
    Boundedness,
    ReaderOutput,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ, StreamCut


class SegmentReader(SplitReader):
    """Reports to the enumerator which segments it has read, and returns segments on request."""

    def start(self) -> None:
        """Report the restored splits."""
        self._tell(SplitsReported(tuple(self.splits.values())))
        for split in self.splits.values():
            if split.is_read:
                self._tell(SplitsRead((split,)))

    def split_read(self, split: SegmentSplit, output: ReaderOutput) -> None:
        """Report that the split was read to its end."""
        self._tell(SplitsRead((split,)))

    def handle_source_event(self, event: Any) -> None:
        """Forget or return the splits that the enumerator names."""
        change = from_event(event)
        if isinstance(change, SplitsFinished):
            for split in change.splits:
                self.forget(split.key)
        elif isinstance(change, SplitsRemoval):
            for split in change.splits:
                found = self.splits.get(split.key)
                # one that is read to its end was reported as such
                if found is not None and not found.is_read:
                    self._tell(SplitsReturned((self.leave(split.key),)))

    def _tell(self, change: Change) -> None:
        self.context.send_source_event(to_event(change))


class SegmentEnumerator(SplitEnumerator[SegmentSplit, SegmentState]):
    """Finds successors, and carries out the plan once all readers have reported their splits.

    Raises:
        RestoreError: ``restored`` has positions in a stream that the source does not read.
    """

    def __init__(
        self,
        source: PravegaSegmentSource,
        context: SplitEnumeratorContext[SegmentSplit],
        restored: SegmentState | None,
    ) -> None:
        self._source, self._context = source, context
        state = restored or SegmentState((), ())
        check_streams([*(state.streams or ()), *(split.stream for split in state.splits)], source.streams)
        self._begun = state.streams
        self._named = {split.stream for split in state.splits}
        waits = source.waits_for_checkpoints and context.is_checkpointing
        self.plan = SegmentPlan(state.splits, waits_for_checkpoints=waits)
        self._holds = WatermarkHolds(self.plan)
        self._holds.added()
        self._limits: dict[int, int] = {}  # of watermarks, that readers were told
        self._reported: dict[int, None] = {}
        self._told_no_more: dict[int, None] = {}
        self._client = source.config.client(f"enumerator of {', '.join(source.streams)}")
        self._segments = {stream: SingleSegments(self._client, stream) for stream in source.streams}

    async def start(self) -> None:
        """Find the initial splits of streams that are new to the job."""
        if self._begun is not None:
            await self._begin(self._begun)

    async def _begin(self, begun: Sequence[str]) -> None:
        """Begin streams that the checkpoint does not have where a new job would begin them."""
        source = self._source
        for stream in source.streams:
            if stream not in begun:
                start, end = source.starts.get(stream, HEAD), source.ends.get(stream)
                self.plan.add(await initial_splits(self._segments[stream], stream, start, end))
        self._holds.added()
        self._begun = source.streams

    async def _begin_unnamed(self) -> None:
        """Take the stream of the checkpoint from its splits, now that all readers have reported theirs."""
        if not self._named:
            raise RestoreError(
                "the checkpoint is of a source of one stream, which was read to its end, and does not say "
                f"which: give the source of {', '.join(self._source.streams)} another uid, with which it "
                "begins again"
            )
        await self._begin(sorted(self._named))

    async def close(self) -> None:
        for segments in self._segments.values():
            await segments.close()
        await self._client.close()

    # -- readers -------------------------------------------------------------------------------------------

    def add_reader(self, subtask: int) -> None:
        self._reported.pop(subtask, None)
        self._told_no_more.pop(subtask, None)
        self._limits.pop(subtask, None)
        self._holds.restarted(subtask)
        self.plan.restarted()

    def add_splits_back(self, splits: Sequence[SegmentSplit], subtask: int) -> None:
        self._reported.pop(subtask, None)
        self.plan.came_back(splits)
        self._holds.came_back(splits)

    async def handle_source_event(self, subtask: int, event: Any) -> None:
        match from_event(event):
            case SplitsReported(splits):
                self.plan.reported(subtask, splits)
                self._holds.reported(splits)
                self._named.update(split.stream for split in splits)
                self._reported[subtask] = None
            case SplitsRead(splits):
                for split in splits:
                    await self._finish(subtask, split)
            case SplitsReturned(splits):
                for split in splits:
                    self._take_back(subtask, split)
        if self._begun is None and self._readers() is not None:
            await self._begin_unnamed()
        self._act()

    async def _finish(self, subtask: int, split: SegmentSplit) -> None:
        successors: tuple[SegmentSplit, ...] = ()
        if self.plan.is_read_by(split.key, subtask):
            if split.stream not in self._source.ends:
                found = await self._segments[split.stream].successors(split.segment_id)
                successors = tuple(split_of(split.stream, segment) for segment in found)
            self.plan.finished(subtask, split, successors)
            self._holds.finished(subtask, split)
        self._send(subtask, SplitsFinished((split,), successors))

    def _take_back(self, subtask: int, split: SegmentSplit) -> None:
        if self.plan.is_read_by(split.key, subtask):
            self.plan.returned(split)
            self._holds.returned(subtask, split)
        self._send(subtask, SplitsFinished((split,)))

    def _send(self, subtask: int, change: Change) -> None:
        if subtask in self._context.registered_readers:
            self._context.send_event_to_source_reader(subtask, to_event(change))

    def handle_watermark(self, subtask: int, lowest_ms: int, is_active: bool, begun: Sequence[str]) -> None:
        self._holds.report(subtask, lowest_ms, is_active, begun)
        self._limits.pop(subtask, None)  # the report needs an answer
        self._tell_limit()

    # -- what follows --------------------------------------------------------------------------------------

    def _readers(self) -> list[int] | None:
        """Return the readers, or None while the splits of one of them are not known."""
        readers = [r for r in self._context.registered_readers if r in self._reported]
        return readers if len(readers) >= self._context.current_parallelism else None

    def _act(self) -> None:
        readers = self._readers()
        if readers is None:
            return
        reading = [r for r in readers if r not in self._told_no_more]  # the others end, or have ended
        for subtask, splits in self.plan.assignments(reading).items():
            addition = SplitsAddition(tuple(splits))
            self._context.assign_splits({subtask: addition.splits})
        if self.plan.is_read or (self._source.is_bounded and not self.plan.waiting):
            for subtask in reading:
                self._told_no_more[subtask] = None
                self._context.signal_no_more_splits(subtask)
        self._tell_limit()

    def _tell_limit(self) -> None:
        """Tell readers up to where they may emit watermarks: nowhere while the splits of one are unknown."""
        limit_ms = MIN_TIMESTAMP_MS if self._readers() is None else self._holds.limit_ms()
        for reader in self._holds.reporting:
            if self._limits.get(reader) != limit_ms:
                self._limits[reader] = limit_ms
                self._context.limit_watermark(reader, limit_ms)

    def snapshot_state(self, checkpoint_id: int) -> SegmentState:
        return SegmentState(self.plan.snapshot(checkpoint_id), self._begun)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.plan.completed(checkpoint_id)
        self._act()
        if self._source.rebalances and not self._source.is_bounded:
            self._rebalance()

    def _rebalance(self) -> None:
        readers = self._readers()
        if readers is not None:
            removal = self.plan.removal([r for r in readers if r not in self._told_no_more])
            if removal is not None:
                self._send(removal[0], SplitsRemoval((removal[1],)))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.plan.aborted(checkpoint_id)


class PravegaSegmentSource(SplitSource[SegmentState]):
    """Reads streams segment by segment, in order per routing key even when stream or job are scaled.

    A job resumes from a savepoint with the same streams, or with additional ones, which begin at their start.

    Args:
        streams: ``scope/stream``, or a name in the default scope; or several.
        start: HEAD or TAIL of each stream, a cut, or cuts. Streams without one begin at their head.
        end: TAIL of each stream (at the time when the job starts), a cut, or cuts. Streams without one end
            where they are sealed. The source is bounded when each stream has an end. None: no stream has one.
        waits_for_checkpoints: A segment whose predecessor another subtask has read begins after the next
            completed checkpoint, so that the order also holds after the source. A job that takes no
            checkpoints never waits.
        rebalances: Move segments to readers that have fewer, at checkpoints.
        batch_bytes: Most bytes of events that are emitted at once. Barriers are placed between two batches.

    Raises:
        BadInputError: No stream is named, one is named twice, or a cut is of another stream.
    """

    reader = SegmentReader
    limits_watermarks = True

    def __init__(
        self,
        config: PravegaConfig,
        streams: str | Sequence[str],
        *,
        start: Bounds = HEAD,
        end: Bounds | None = None,
        rows: EventRows | None = None,
        waits_for_checkpoints: bool = True,
        rebalances: bool = True,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        super().__init__(config, streams, rows, batch_bytes)
        self.starts = bounds_of(self.streams, start, "start")
        self.ends = {} if end is None else bounds_of(self.streams, end, "end")
        self.is_bounded = len(self.ends) == len(self.streams)
        self.waits_for_checkpoints, self.rebalances = waits_for_checkpoints, rebalances
        self.boundedness = Boundedness.BOUNDED if self.is_bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit], restored: SegmentState | None
    ) -> SegmentEnumerator:
        """Return an enumerator."""
        return SegmentEnumerator(self, context, restored)

    def enumerator_serializer(self) -> SegmentStateSerializer:
        return SegmentStateSerializer(self.streams)


def split_of(stream: str, segment: SegmentRange, offset: int = 0, end: int | None = None) -> SegmentSplit:
    """Return a split that reads a segment from ``offset`` on, up to ``end`` or its sealed length."""
    return SegmentSplit(stream, segment.segment_id, segment.low, segment.high, offset, end)


async def initial_splits(
    segments: SingleSegments, stream: str, start: StreamCut | Edge, end: StreamCut | Edge | None
) -> Splits:
    """Return where reading begins: the segments of ``start``, and those up to ``end`` if there is one."""
    if end is not None:
        between = await segments.between(start, end)
        splits = [
            split_of(stream, s, begin, None if stop == SEGMENT_READ else stop)
            for s, (begin, stop) in between.items()
        ]
        return [split for split in splits if not split.is_read and split.offset != split.end]
    begins = await segments.positions(start)
    followed = [await segments.successors(s.segment_id) for s in begins if begins[s] == SEGMENT_READ]
    fresh = {s: 0 for found in followed for s in found if not _is_behind(s, begins)}
    return [split_of(stream, s, at) for s, at in {**begins, **fresh}.items() if at != SEGMENT_READ]


def _is_behind(segment: SegmentRange, listed: Iterable[SegmentRange]) -> bool:
    """Return whether the segment is in the cut, or is a predecessor of one that is."""
    return any(s == segment or s.follows(segment) for s in listed)
