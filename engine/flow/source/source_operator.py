"""The operators at the head of a source's chain: one runs a FLIP-27 reader, one a legacy source function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..batch import Batch
from ..calling import value_of
from ..elements import MIN_TIMESTAMP_MS, Watermark, WatermarkStatus
from ..observer import CutPassed
from ..operators.operator import MaybeAwaitable, Operator, OperatorContext
from ..state.handles import ListMode
from ..time.watermarks import WatermarkGenerator, WatermarkStrategy
from .events import (
    AddSplits,
    NoMoreSplits,
    ReaderRegistration,
    RequestSplit,
    SourceEventWrapper,
    WatermarkLimit,
    WatermarkReport,
)
from .sources import Source, SourceFunction, SourceReader

READER_STATE = "SourceReaderState"
BARRIERS_KEPT = 8  # for cuts of another system that come after them
FUNCTION_STATE = "SourceFunctionState"


class _SourceHead(Operator):
    """What readers and source functions may know of their subtask."""

    @property
    def subtask_index(self) -> int:
        return self.context.subtask.index

    @property
    def parallelism(self) -> int:
        return self.context.parallelism

    @property
    def task_name(self) -> str:
        return self.context.task_name

    @property
    def is_checkpointing(self) -> bool:
        return self.context.is_checkpointing

    def now_ms(self) -> int:
        return self.context.now_ms()


@dataclass
class WatermarkReports:
    """What a reader reports about its watermarks when they change: one report at a time.

    Splits that begin are reported at once, so that the report comes before all others about these splits.
    """

    begun: list[str] = field(default_factory=list)
    is_open: bool = False  # the first report follows the registration
    is_awaiting: bool = False  # the answer to the last report
    has_limit: bool = False  # which was not acted on yet
    _reported: tuple[int, bool] | None = None

    def next(self, lowest_ms: int, is_active: bool) -> WatermarkReport | None:
        """Return the report to send now, or None."""
        now = (lowest_ms, is_active)
        if not self.is_open or (not self.begun and (self.is_awaiting or now == self._reported)):
            return None
        report = WatermarkReport(*now, tuple(self.begun))
        self.begun, self.is_awaiting, self._reported = [], True, now
        return report


class SourceOperator(_SourceHead):
    """Run a reader at the head of a chain, with its state and watermarks.

    It is the reader's output and context. It does not poll while an output has no room, so this time does not
    count for `WatermarkStrategy.idle_after_ms`: splits would be idle that have records.
    """

    def __init__(self, source: Source[Any, Any], strategy: WatermarkStrategy | None) -> None:
        self._source, self._watermarks = source, WatermarkGenerator(strategy)
        has_times = strategy is not None and strategy.timestamp is not None
        self._reports = WatermarkReports() if source.limits_watermarks and has_times else None
        if self._reports is not None:
            self._watermarks.limit_ms = MIN_TIMESTAMP_MS
        self.blocked_ms: Callable[[], int] = lambda: 0  # set by `SourceInput`: how long an output had no room
        self._emitted = 0
        self._cuts: dict[
            int, tuple[int, int]
        ] = {}  # by checkpoint: events emitted before the cut, and its time in ms
        self._barriers: dict[int, int] = {}  # by checkpoint, the last few: events before the barrier
        self.reader: SourceReader[Any]

    def setup(self, context: OperatorContext) -> None:
        """Receive the context."""
        super().setup(context)
        self._serializer = self._source.split_serializer()

    async def initialize_state(self) -> None:
        """Create the reader, and add the restored splits."""
        self.reader = self._source.create_reader(self)
        self._state = self.context.lists.of(READER_STATE, ListMode.SPLIT)
        splits = [self._serializer.from_bytes(version, data) for version, data in self._state]
        if splits:
            self._note_assigned(splits)
            await value_of(self.reader.add_splits(splits))

    def _note_assigned(self, splits: Sequence[Any]) -> None:
        names = [getattr(split, "split_id", str(split)) for split in splits]
        self._watermarks.assigned(names, self._polled_ms())
        if self._reports is not None:
            self._reports.begun += names
        self._tell()

    async def open(self) -> None:
        """Register at the enumerator, and start the reader."""
        self.context.send_to_coordinator(ReaderRegistration(self.context.subtask.index))
        await value_of(self.reader.start())
        if self._reports is not None:
            self._reports.is_open = True
            self._report()

    async def snapshot_state(self, checkpoint_id: int) -> None:
        """Store the reader's splits."""
        splits = await value_of(self.reader.snapshot_state(checkpoint_id))
        self._state[:] = [
            (self._serializer.version, self._serializer.to_bytes(split)) for split in splits or ()
        ]
        self._barrier_passed(checkpoint_id)

    async def handle_event(self, event: Any) -> None:
        """Pass an event of the enumerator to the reader."""
        match event:
            case AddSplits(version, splits):
                read = [self._serializer.from_bytes(version, data) for data in splits]
                self._note_assigned(read)
                await value_of(self.reader.add_splits(read))
            case NoMoreSplits():
                self.reader.notify_no_more_splits()
            case SourceEventWrapper(inner):
                self.reader.handle_source_event(inner)
            case WatermarkLimit(limit_ms) if self._reports is not None:
                self._watermarks.limit_ms = limit_ms
                self._reports.is_awaiting, self._reports.has_limit = False, True  # told in `check_idle`

    def notify_checkpoint_complete(self, checkpoint_id: int) -> MaybeAwaitable:
        """Notify the reader."""
        return self.reader.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> MaybeAwaitable:
        """Notify the reader."""
        return self.reader.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> MaybeAwaitable:
        """Close the reader."""
        return self.reader.close()

    # -- sources.ReaderOutput ------------------------------------------------------------------------------

    def emit(self, batch: Batch, split_id: str | None = None) -> None:
        """Emit records; see `sources.ReaderOutput`."""
        self._emitted += batch.num_rows
        self.context.output.emit(self._watermarks.on_batch(batch, split_id, self._polled_ms()))
        self._tell()

    def emit_watermark(self, watermark: Watermark, split_id: str | None = None) -> None:
        """Emit the source's own watermark; see `sources.ReaderOutput`."""
        self._watermarks.on_watermark(watermark, split_id, self._polled_ms())
        self._tell()

    def mark_idle(self, split_id: str | None = None) -> None:
        """Mark a split, or the source, as idle; see `sources.ReaderOutput`."""
        self._watermarks.mark_idle(split_id, self._polled_ms())
        self._tell()

    def release_split(self, split_id: str) -> None:
        """Forget the watermark of a finished split."""
        self._watermarks.release(split_id)
        self._tell()

    def check_idle(self) -> None:
        """Mark silent splits idle, and tell what a new limit allows."""
        if self._reports is not None:
            self._reports.has_limit = False
        self._watermarks.check_idle(self._polled_ms())
        self._tell()

    @property
    def has_limit(self) -> bool:
        """Return whether `check_idle` has to act on a new limit."""
        return self._reports is not None and self._reports.has_limit

    def next_idle_check_ms(self) -> int | None:
        """Return when splits may become idle if the outputs have room until then, or None."""
        at_ms = self._watermarks.next_check_ms()
        return None if at_ms is None else at_ms + self.blocked_ms()

    def _polled_ms(self) -> int:
        return self.context.now_ms() - self.blocked_ms()

    def _tell(self) -> None:
        for news in self._watermarks.news():
            if isinstance(news, Watermark):
                self.context.output.watermark(news.timestamp_ms)
            else:
                self.context.output.status(news)
        self._report()

    def _report(self) -> None:
        report = self._reports and self._reports.next(self._watermarks.lowest_ms, self._watermarks.is_active)
        if report:
            self.context.send_to_coordinator(report)

    # -- sources.ReaderContext -----------------------------------------------------------------------------

    def send_split_request(self) -> None:
        """Ask the enumerator for another split."""
        self.context.send_to_coordinator(RequestSplit(self.context.subtask.index))

    def send_source_event(self, event: Any) -> None:
        """Send an event of the connector to the enumerator."""
        self.context.send_to_coordinator(SourceEventWrapper(event))

    def cut_passed(self, checkpoint_id: int) -> None:
        """Note the position of another system's checkpoint; see `sources.ReaderContext`."""
        cut = (self._emitted, self.context.now_ms())
        if checkpoint_id in self._barriers:  # the barrier came first
            self._tell_between(checkpoint_id, *cut, self._barriers[checkpoint_id])
        else:
            self._cuts[checkpoint_id] = cut

    def _barrier_passed(self, checkpoint_id: int) -> None:
        cut = self._cuts.get(checkpoint_id)
        self._cuts = {number: place for number, place in self._cuts.items() if number > checkpoint_id}
        if cut is not None:
            self._tell_between(checkpoint_id, *cut, self._emitted)
        self._barriers[checkpoint_id] = self._emitted
        while len(self._barriers) > BARRIERS_KEPT:
            del self._barriers[next(iter(self._barriers))]

    def _tell_between(self, checkpoint_id: int, cut: int, cut_ms: int, barrier: int) -> None:
        context = self.context
        where = (context.now_ms(), context.subtask, context.attempt, checkpoint_id)
        context.observer.observe(CutPassed(*where, cut_ms, barrier - cut))


# -- the legacy form ----------------------------------------------------------------------------------------


class CheckpointLock:
    """A re-entrant lock can be taken again by the task that holds it.

    A source may therefore collect while it changes state.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._owner: asyncio.Task[Any] | None = None
        self._depth = 0

    async def __aenter__(self) -> None:
        me = asyncio.current_task()
        if self._owner is not me:
            await self._lock.acquire()
            self._owner = me
        self._depth += 1

    async def __aexit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._lock.release()


class LegacySourceOperator(_SourceHead):
    """Run a legacy source at the head of a chain. It is the `sources.SourceContext` of the function."""

    def __init__(self, function: SourceFunction, strategy: WatermarkStrategy | None) -> None:
        self.function = function
        self._watermarks = WatermarkGenerator(strategy)
        self.lock = CheckpointLock()
        self.emit_all: Any = None  # set by `LegacyInput`: it passes on what was collected

    def initialize_state(self) -> None:
        """Pass restored state to the function."""
        self._state = self.context.lists.of(FUNCTION_STATE, ListMode.SPLIT)
        if self.context.has_restored_state:
            self.function.restore_state(list(self._state))

    async def open(self) -> None:
        """Open the function."""
        await self.function.open(self)

    def snapshot_state(self, checkpoint_id: int) -> None:
        """Store the function's state. The caller holds the lock."""
        self._state[:] = self.function.snapshot_state(checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> MaybeAwaitable:
        """Notify the function."""
        return self.function.notify_checkpoint_complete(checkpoint_id)

    async def close(self) -> None:
        """Close the function."""
        await self.function.close()

    # -- sources.SourceContext -----------------------------------------------------------------------------

    async def collect(self, batch: Batch) -> None:
        """Emit records under the lock; see `sources.SourceContext`."""
        async with self.lock:
            self.context.output.emit(self._watermarks.on_batch(batch, None, self.context.now_ms()))
            await self._pass_on()

    async def emit_watermark(self, watermark: Watermark) -> None:
        """Emit a watermark under the lock."""
        async with self.lock:
            self._watermarks.on_watermark(watermark, None, self.context.now_ms())
            await self._pass_on()

    async def mark_idle(self) -> None:
        """Mark the source as idle under the lock."""
        async with self.lock:
            self._watermarks.mark_idle(None, self.context.now_ms())
            await self._pass_on()

    async def _pass_on(self) -> None:
        for news in self._watermarks.news():
            if isinstance(news, WatermarkStatus):
                self.context.output.status(news)
            else:
                self.context.output.watermark(news.timestamp_ms)
        await self.emit_all()
