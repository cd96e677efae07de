"""Sources inside of a subtask: FLIP-27 readers, externally induced ones, and the legacy coroutine.

The rendezvous of an externally induced reader with the coordinator's trigger is `Rendezvous`. Source: Flink's
`SourceOperatorStreamTask` (FLINK-20270, FLINK-25256), `SourceStreamTask`.
"""

from __future__ import annotations

import asyncio
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import (
    Barrier,
    CheckpointKind,
    CheckpointOptions,
    Watermark,
    WatermarkStatus,
)
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.handles import ListMode
from pravega_lab.engine.flow.observer import CutPassed
from pravega_lab.engine.flow.operator import MaybeAwaitable, Operator, OperatorContext
from pravega_lab.engine.flow.source_events import (
    AddSplits,
    NoMoreSplits,
    ReaderRegistration,
    RequestSplit,
    SourceEventWrapper,
)
from pravega_lab.engine.flow.sources import (
    ExternallyInducedSource,
    ExternallyInducedSourceReader,
    InputStatus,
    Source,
    SourceFunction,
    SourceReader,
)
from pravega_lab.engine.flow.watermarks import WatermarkGenerator, WatermarkStrategy

if TYPE_CHECKING:
    from pravega_lab.engine.flow.subtask import Subtask

READER_STATE = "SourceReaderState"
BARRIERS_KEPT = 8  # for cuts of another system that come behind them
FUNCTION_STATE = "SourceFunctionState"


async def _value(given: Any) -> Any:
    return await given if isawaitable(given) else given


class _SourceHead(Operator):
    """What readers and source functions may ask of their subtask."""

    @property
    def subtask_index(self) -> int:
        return self.context.subtask.index

    @property
    def parallelism(self) -> int:
        return self.context.parallelism

    @property
    def task_name(self) -> str:
        return self.context.task_name

    def now_ms(self) -> int:
        return self.context.now_ms()


class SourceOperator(_SourceHead):
    """Head of a source's chain: owns the reader, its state and its watermarks. A `sources.ReaderOutput` and
    `sources.ReaderContext` for the reader."""

    def __init__(self, source: Source[Any, Any], strategy: WatermarkStrategy | None) -> None:
        self._source, self._watermarks = source, WatermarkGenerator(strategy)
        self._emitted = 0
        self._cuts: dict[int, tuple[int, int]] = {}  # checkpoint -> emitted before the cut, ms
        self._barriers: dict[int, int] = {}  # the last few: checkpoint -> emitted before its barrier
        self.reader: SourceReader[Any]

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._serializer = self._source.split_serializer()

    async def initialize_state(self) -> None:
        self.reader = self._source.create_reader(self)
        self._state = self.context.lists.of(READER_STATE, ListMode.SPLIT)
        splits = [self._serializer.from_bytes(version, data) for version, data in self._state]
        if splits:
            await _value(self.reader.add_splits(splits))

    async def open(self) -> None:
        self.context.send_to_coordinator(ReaderRegistration(self.context.subtask.index))
        await _value(self.reader.start())

    async def snapshot_state(self, checkpoint_id: int) -> None:
        splits = await _value(self.reader.snapshot_state(checkpoint_id))
        self._state[:] = [
            (self._serializer.version, self._serializer.to_bytes(split)) for split in splits or ()
        ]
        self._barrier_passed(checkpoint_id)

    async def handle_event(self, event: Any) -> None:
        """From the enumerator."""
        match event:
            case AddSplits(version, splits):
                read = [self._serializer.from_bytes(version, data) for data in splits]
                await _value(self.reader.add_splits(read))
            case NoMoreSplits():
                self.reader.notify_no_more_splits()
            case SourceEventWrapper(inner):
                self.reader.handle_source_event(inner)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> MaybeAwaitable:
        return self.reader.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> MaybeAwaitable:
        return self.reader.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> MaybeAwaitable:
        return self.reader.close()

    # -- sources.ReaderOutput ------------------------------------------------------------------------------

    def emit(self, batch: Batch, split_id: str | None = None) -> None:
        self._emitted += batch.num_rows
        self.context.output.emit(self._watermarks.on_batch(batch, split_id, self.context.now_ms()))
        self._tell()

    def emit_watermark(self, watermark: Watermark, split_id: str | None = None) -> None:
        self._watermarks.on_watermark(watermark, split_id, self.context.now_ms())
        self._tell()

    def mark_idle(self, split_id: str | None = None) -> None:
        self._watermarks.mark_idle(split_id, self.context.now_ms())
        self._tell()

    def release_split(self, split_id: str) -> None:
        self._watermarks.release(split_id)
        self._tell()

    def check_idle(self) -> None:
        self._watermarks.check_idle(self.context.now_ms())
        self._tell()

    def next_idle_check_ms(self) -> int | None:
        return self._watermarks.next_check_ms()

    def _tell(self) -> None:
        for news in self._watermarks.news():
            if isinstance(news, Watermark):
                self.context.output.watermark(news.timestamp_ms)
            else:
                self.context.output.status(news)

    # -- sources.ReaderContext -----------------------------------------------------------------------------

    def send_split_request(self) -> None:
        self.context.send_to_coordinator(RequestSplit(self.context.subtask.index))

    def send_source_event(self, event: Any) -> None:
        self.context.send_to_coordinator(SourceEventWrapper(event))

    def cut_passed(self, checkpoint_id: int) -> None:
        cut = (self._emitted, self.context.now_ms())
        if checkpoint_id in self._barriers:  # the barrier was here first
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


class Rendezvous:
    """Of the place of an induced checkpoint with the trigger that has its kind and target."""

    def __init__(self) -> None:
        self._untriggered: dict[int, Barrier] = {}
        self._triggered: dict[int, None] = {}
        self._aborted: dict[int, None] = {}
        self.blocked_on: int | None = None

    def reader_reports(self, checkpoint_id: int) -> Barrier | None:
        """Its place is here. A barrier: perform it now; None: read nothing until the trigger comes.

        If it was given up before the reader came to its place, nothing will come: the reader goes on. (Flink
        keeps it waiting.)
        """
        if checkpoint_id in self._aborted:
            return None
        barrier = self._untriggered.get(checkpoint_id)
        if barrier is None:
            self._triggered[checkpoint_id] = None
            self.blocked_on = checkpoint_id
        else:
            self._performed(checkpoint_id)
        return barrier

    def trigger_comes(self, barrier: Barrier) -> Barrier | None:
        """A barrier: perform it now; None: the reader has not come to its place."""
        number = barrier.checkpoint_id
        if number in self._triggered:
            self._performed(number)
            return barrier
        self._untriggered[number] = barrier
        return None

    def _performed(self, checkpoint_id: int) -> None:
        self._untriggered = {n: b for n, b in self._untriggered.items() if n > checkpoint_id}
        self._triggered = {n: None for n in self._triggered if n > checkpoint_id}
        self._aborted = {n: None for n in self._aborted if n > checkpoint_id}
        if self.blocked_on is not None and self.blocked_on <= checkpoint_id:
            self.blocked_on = None

    def abort(self, checkpoint_id: int) -> None:
        """It is given up: nobody waits for it any more."""
        self._untriggered.pop(checkpoint_id, None)
        self._triggered.pop(checkpoint_id, None)
        self._aborted[checkpoint_id] = None
        if self.blocked_on == checkpoint_id:
            self.blocked_on = None


class SourceInput:
    """Polls a FLIP-27 reader."""

    def __init__(self, subtask: Subtask, operator: SourceOperator) -> None:
        self._subtask, self._operator = subtask, operator
        self._is_available = True
        self._waiting: asyncio.Task[None] | None = None
        self.rendezvous = Rendezvous()

    @property
    def _is_induced(self) -> bool:
        return isinstance(self._operator.reader, ExternallyInducedSourceReader)

    def start(self) -> None:
        return

    async def step(self) -> bool:
        if not self._is_available or self.rendezvous.blocked_on is not None or self._subtask.has_data_ended:
            return False
        reader = self._operator.reader
        status = reader.poll_next(self._operator)
        await self._subtask.chain.drain(0)
        if status is InputStatus.END_OF_INPUT:
            await self._subtask.end_source_data(drain=True)
        elif status is InputStatus.NOTHING_AVAILABLE:
            if isinstance(reader, ExternallyInducedSourceReader):
                checkpoint_id = reader.should_trigger_checkpoint()
                if checkpoint_id is not None:
                    await self._induced(checkpoint_id)
                    return True
            self._wait()
        return True

    def _wait(self) -> None:
        """Ask the reader when to come again."""
        self._is_available = False
        self._waiting = self._subtask.spawn(self._wait_available(), "available")

    async def _wait_available(self) -> None:
        try:
            await self._operator.reader.available()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._subtask.fail(error)
        self._is_available = True
        self._subtask.wake()

    async def _induced(self, checkpoint_id: int) -> None:
        if not self._subtask.history.rendezvous:  # before FLINK-25256: kind and target are made up
            await self._subtask.perform(Barrier(checkpoint_id, self._subtask.now_ms()))
            return
        barrier = self.rendezvous.reader_reports(checkpoint_id)
        if barrier is not None:
            await self._begin(barrier)

    async def trigger(self, barrier: Barrier) -> None:
        if not self._is_induced or self._subtask.has_data_ended:
            await self._begin(barrier)
        elif self._subtask.history.rendezvous:
            now = self.rendezvous.trigger_comes(barrier)
            if now is not None:
                await self._begin(now)
                self._subtask.wake()

    async def _begin(self, barrier: Barrier) -> None:
        kind = barrier.options.kind
        if kind.is_synchronous and not self._subtask.has_data_ended:
            await self._subtask.stop_source(barrier)
        await self._subtask.perform(barrier)

    async def abort(self, checkpoint_id: int) -> None:
        self.rendezvous.abort(checkpoint_id)
        self._subtask.wake()

    def next_deadline_ms(self) -> int | None:
        return None if self._subtask.has_data_ended else self._operator.next_idle_check_ms()

    async def on_time(self, now_ms: int) -> None:
        self._operator.check_idle()
        await self._subtask.chain.drain(0)

    async def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()


class FinishedSourceInput:
    """A source that had finished in the restored checkpoint: its end comes at once."""

    def __init__(self, subtask: Subtask) -> None:
        self._subtask = subtask

    def start(self) -> None:
        return

    async def step(self) -> bool:
        if self._subtask.has_data_ended:
            return False
        await self._subtask.end_source_data(drain=True)
        return True

    async def trigger(self, barrier: Barrier) -> None:
        await self._subtask.perform(barrier)

    async def abort(self, checkpoint_id: int) -> None:
        return

    def next_deadline_ms(self) -> int | None:
        return None

    async def on_time(self, now_ms: int) -> None:
        return

    async def close(self) -> None:
        return


# -- the legacy form ----------------------------------------------------------------------------------------


class _CheckpointLock:
    """Re-entrant for the task that holds it, so that a source may collect while it changes state."""

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
    """Head of a legacy source's chain. A `sources.SourceContext` for the function."""

    def __init__(self, function: SourceFunction, strategy: WatermarkStrategy | None) -> None:
        self.function = function
        self._watermarks = WatermarkGenerator(strategy)
        self.lock = _CheckpointLock()
        self.emit_all: Any = None  # set by `LegacyInput`: passes on what was collected

    def initialize_state(self) -> None:
        self._state = self.context.lists.of(FUNCTION_STATE, ListMode.SPLIT)
        if self.context.has_restored_state:
            self.function.restore_state(list(self._state))

    async def open(self) -> None:
        await self.function.open(self)

    def snapshot_state(self, checkpoint_id: int) -> None:
        self._state[:] = self.function.snapshot_state(checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> MaybeAwaitable:
        return self.function.notify_checkpoint_complete(checkpoint_id)

    async def close(self) -> None:
        await self.function.close()

    # -- sources.SourceContext -----------------------------------------------------------------------------

    async def collect(self, batch: Batch) -> None:
        async with self.lock:
            self.context.output.emit(self._watermarks.on_batch(batch, None, self.context.now_ms()))
            await self._pass_on()

    async def emit_watermark(self, watermark: Watermark) -> None:
        async with self.lock:
            self._watermarks.on_watermark(watermark, None, self.context.now_ms())
            await self._pass_on()

    async def mark_idle(self) -> None:
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


class LegacyInput:
    """Runs a `SourceFunction` beside the mailbox; both hold the checkpoint lock when they act."""

    def __init__(self, subtask: Subtask, operator: LegacySourceOperator) -> None:
        self._subtask, self._operator = subtask, operator
        self._running: asyncio.Task[None] | None = None
        self._has_ended = False
        self._stop: Barrier | None = None
        operator.emit_all = lambda: subtask.chain.drain(0)
        if isinstance(operator.function, ExternallyInducedSource):
            operator.function.set_checkpoint_trigger(self._induced)

    @property
    def lock(self) -> _CheckpointLock:
        return self._operator.lock

    def start(self) -> None:
        self._running = self._subtask.spawn(self._run(), "source")

    async def _run(self) -> None:
        try:
            await self._operator.function.run(self._operator)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._subtask.fail(self._operator.context.user_error(error))
        self._has_ended = True
        self._subtask.wake()

    async def step(self) -> bool:
        if not self._has_ended or self._subtask.has_data_ended:
            return False
        if self._stop is not None:
            await self._subtask.stop_source(self._stop)
            await self._subtask.perform(self._stop)
        else:
            await self._subtask.end_source_data(drain=True)
        return True

    async def _induced(self, checkpoint_id: int) -> None:
        """What the function calls where it has read the event of a checkpoint: default options, new
        timestamp."""
        async with self.lock:
            await self._subtask.perform(
                Barrier(checkpoint_id, self._subtask.now_ms(), CheckpointOptions(CheckpointKind.CHECKPOINT))
            )

    async def trigger(self, barrier: Barrier) -> None:
        kind = barrier.options.kind
        if self._subtask.has_data_ended:
            await self._subtask.perform(barrier)
        elif isinstance(self._operator.function, ExternallyInducedSource):
            if kind is CheckpointKind.FULL_CHECKPOINT:
                raise IllegalStateError(
                    f"{self._operator.context.name} cannot take a full checkpoint: an externally "
                    f"induced source of "
                    "the legacy form never learns the kind (FLINK-25256); claim the restored "
                    "checkpoint instead"
                )
        elif kind.is_synchronous:
            self._stop = barrier
            self._operator.function.cancel()
        else:
            await self._subtask.perform(barrier)

    async def abort(self, checkpoint_id: int) -> None:
        return

    def next_deadline_ms(self) -> int | None:
        return None

    async def on_time(self, now_ms: int) -> None:
        return

    async def close(self) -> None:
        self._operator.function.cancel()
        if self._running is not None and not self._running.done():
            self._running.cancel()
            await asyncio.wait([self._running])
