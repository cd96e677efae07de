"""`HybridSource`: several sources one after the other, for example a year of files and then the live stream.

Flink has it as `org.apache.flink.connector.base.source.hybrid.HybridSource`. Enumerator and
readers wrap those of the current source. A checkpoint has the stage (which source is read), the state of its
enumerator, and the readers' splits with the stage of each. `HandOver` decides when the next source begins.

Enumerator and readers agree by these events, each a plain tuple. From a reader: ``arrived`` with the earliest
stage of its splits, ``finished`` with a stage, and ``request`` for a split of a stage. From the enumerator:
``begin`` with a stage, and ``no more`` with a stage. Both pass on events of the wrapped source as ``event``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from pravega_lab.errors import BadInputError

from ..batch import Batch
from ..elements import Watermark
from ..errors import RestoreError
from ..state import plain_values as plain
from .hand_over import HandOver, HybridSplit
from .sources import (
    Boundedness,
    ExternallyInducedSourceReader,
    InputStatus,
    ReaderContext,
    ReaderOutput,
    Serializer,
    Source,
    SourceReader,
    SplitEnumerator,
    SplitEnumeratorContext,
)


async def _done(given: Any) -> Any:
    return await given if isawaitable(given) else given


@dataclass(frozen=True)
class HybridState:
    """The state of the enumerator: the stage, the state of its enumerator, and splits of earlier stages."""

    stage: int
    state: Any
    returned: tuple[HybridSplit, ...]


class _SplitSerializer:
    version = 1

    def __init__(self, sources: Sequence[Source[Any, Any]]) -> None:
        self._inner = [source.split_serializer() for source in sources]

    def to_bytes(self, value: HybridSplit) -> bytes:
        inner = self._inner[value.stage]
        return plain.to_bytes((value.stage, inner.version, inner.to_bytes(value.split)))

    def from_bytes(self, version: int, data: bytes) -> HybridSplit:
        stage, inner_version, split = plain.read_as(data, "a split of a hybrid source", _three)
        return HybridSplit(stage, _of_stage(self._inner, stage).from_bytes(inner_version, split))


class _StateSerializer:
    version = 1

    def __init__(self, sources: Sequence[Source[Any, Any]]) -> None:
        self._splits = _SplitSerializer(sources)
        self._inner = [source.enumerator_serializer() for source in sources]

    def to_bytes(self, value: HybridState) -> bytes:
        inner = self._inner[value.stage]
        returned = [self._splits.to_bytes(split) for split in value.returned]
        return plain.to_bytes((value.stage, (inner.version, inner.to_bytes(value.state)), returned))

    def from_bytes(self, version: int, data: bytes) -> HybridState:
        stage, (inner_version, state), returned = plain.read_as(data, "a hybrid source", _three)
        splits = tuple(self._splits.from_bytes(self._splits.version, split) for split in returned)
        return HybridState(stage, _of_stage(self._inner, stage).from_bytes(inner_version, state), splits)


def _three(value: Any) -> tuple[Any, Any, Any]:
    first, second, third = value
    return first, second, third


def _of_stage(serializers: Sequence[Any], stage: int) -> Any:
    if not 0 <= stage < len(serializers):
        raise RestoreError(
            f"the checkpoint is of source {stage + 1} of a hybrid source, which now has {len(serializers)}: "
            "name all sources that it had, in the same order"
        )
    return serializers[stage]


class _StageContext:
    """The context of a wrapped enumerator. It knows the readers that are in its stage."""

    def __init__(self, outer: SplitEnumeratorContext[HybridSplit], hand_over: HandOver) -> None:
        self._outer, self._hand_over, self._stage = outer, hand_over, hand_over.stage

    @property
    def current_parallelism(self) -> int:
        return self._outer.current_parallelism

    @property
    def registered_readers(self) -> Sequence[int]:
        return [
            n for n in self._outer.registered_readers if self._is_current and n in self._hand_over.present
        ]

    @property
    def is_checkpointing(self) -> bool:
        return self._outer.is_checkpointing

    @property
    def _is_current(self) -> bool:
        return self._stage == self._hand_over.stage

    def now_ms(self) -> int:
        return self._outer.now_ms()

    def assign_splits(self, assignment: Mapping[int, Sequence[Any]]) -> None:
        wrapped = {
            n: [HybridSplit(self._stage, split) for split in splits] for n, splits in assignment.items()
        }
        self._outer.assign_splits(wrapped)

    def signal_no_more_splits(self, subtask: int) -> None:
        self._outer.send_event_to_source_reader(subtask, ("no more", self._stage))

    def send_event_to_source_reader(self, subtask: int, event: Any) -> None:
        self._outer.send_event_to_source_reader(subtask, ("event", self._stage, event))

    def call_async(
        self, work: Callable[[], Awaitable[Any]], handler: Callable[[Any, BaseException | None], None]
    ) -> None:
        self._outer.call_async(work, lambda value, error: handler(value, error) if self._is_current else None)

    def run_in_coordinator_lane(self, action: Callable[[], Any]) -> None:
        self._outer.run_in_coordinator_lane(lambda: action() if self._is_current else None)


class HybridEnumerator(SplitEnumerator[HybridSplit, HybridState]):
    """Run the enumerator of the current source, and hand over to the next one."""

    def __init__(
        self,
        sources: Sequence[Source[Any, Any]],
        context: SplitEnumeratorContext[HybridSplit],
        restored: HybridState | None,
    ) -> None:
        self._sources, self._context = sources, context
        self._hand_over = HandOver(restored.stage, restored.returned) if restored else HandOver()
        source, inside = sources[self._hand_over.stage], _StageContext(context, self._hand_over)
        self._inner = source.restore_enumerator(inside, restored.state) if restored else self._create(source)

    def _create(self, source: Source[Any, Any]) -> SplitEnumerator[Any, Any]:
        return source.create_enumerator(_StageContext(self._context, self._hand_over))

    def start(self) -> Awaitable[None] | None:
        """Start the enumerator of the current source."""
        return self._inner.start()

    def add_reader(self, subtask: int) -> None:
        """Wait until the reader says where it is."""
        self._hand_over.restarted(subtask)

    def add_splits_back(self, splits: Sequence[HybridSplit], subtask: int) -> Awaitable[None] | None:
        """Return the splits to the enumerator of their source, or keep those of an earlier source."""
        stage = self._hand_over.stage
        self._hand_over.returned += [split for split in splits if split.stage < stage]
        current = [split.split for split in splits if split.stage == stage]
        return self._inner.add_splits_back(current, subtask) if current else None

    async def handle_source_event(self, subtask: int, event: Any) -> None:
        """Act on the event of a reader; see the module."""
        if subtask not in self._context.registered_readers:
            return  # of an attempt that has failed since
        match event:
            case ("arrived", stage):
                await self._begin(subtask, stage)
            case ("finished", stage):
                if self._hand_over.finished(subtask, stage, self._context.current_parallelism):
                    await self._next_stage()
                elif stage < self._hand_over.stage:
                    await self._begin(subtask, None)
            case ("request", stage):
                if stage == self._hand_over.stage:
                    await _done(self._inner.handle_split_request(subtask))
                else:
                    self._context.send_event_to_source_reader(subtask, ("no more", stage))
            case ("event", stage, inner):
                if stage == self._hand_over.stage:
                    await _done(self._inner.handle_source_event(subtask, inner))

    async def _begin(self, subtask: int, stage: int | None) -> None:
        begins = self._hand_over.arrived(subtask, stage)
        self._context.send_event_to_source_reader(subtask, ("begin", begins))
        returned = self._hand_over.take_returned(begins)
        if returned:
            self._context.assign_splits({subtask: returned})
        if begins == self._hand_over.stage:
            await _done(self._inner.add_reader(subtask))

    async def _next_stage(self) -> None:
        await _done(self._inner.close())
        self._inner = self._create(self._sources[self._hand_over.stage])
        await _done(self._inner.start())
        for subtask in self._context.registered_readers:
            await self._begin(subtask, None)

    def snapshot_state(self, checkpoint_id: int) -> HybridState | Awaitable[HybridState]:
        """Return the stage, the state of its enumerator, and the splits of earlier stages."""
        stage, returned = self._hand_over.stage, tuple(self._hand_over.returned)
        state = self._inner.snapshot_state(checkpoint_id)

        async def later(state: Awaitable[Any]) -> HybridState:
            return HybridState(stage, await state, returned)

        return later(state) if isawaitable(state) else HybridState(stage, state, returned)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Notify the enumerator of the current source."""
        return self._inner.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Notify the enumerator of the current source."""
        return self._inner.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> Awaitable[None] | None:
        """Close the enumerator of the current source."""
        return self._inner.close()


class _ReaderContext:
    """The context of a wrapped reader. Its requests and events carry the stage."""

    def __init__(self, outer: ReaderContext, stage: int) -> None:
        self._outer, self._stage = outer, stage
        self.cut_passed = outer.cut_passed
        self.now_ms = outer.now_ms

    @property
    def subtask_index(self) -> int:
        return self._outer.subtask_index

    @property
    def parallelism(self) -> int:
        return self._outer.parallelism

    @property
    def task_name(self) -> str:
        return self._outer.task_name

    @property
    def is_checkpointing(self) -> bool:
        return self._outer.is_checkpointing

    def send_split_request(self) -> None:
        self._outer.send_source_event(("request", self._stage))

    def send_source_event(self, event: Any) -> None:
        self._outer.send_source_event(("event", self._stage, event))


class _StageOutput:
    """The output of a wrapped reader. Splits of different stages have different names."""

    def __init__(self, outer: ReaderOutput, stage: int) -> None:
        self._outer, self._stage = outer, stage

    def _named(self, split_id: str | None) -> str:
        return f"{self._stage}:{'' if split_id is None else split_id}"

    def emit(self, batch: Batch, split_id: str | None = None) -> None:
        self._outer.emit(batch, self._named(split_id))

    def emit_watermark(self, watermark: Watermark, split_id: str | None = None) -> None:
        self._outer.emit_watermark(watermark, self._named(split_id))

    def mark_idle(self, split_id: str | None = None) -> None:
        self._outer.mark_idle(self._named(split_id))

    def release_split(self, split_id: str) -> None:
        self._outer.release_split(self._named(split_id))


class HybridReader(SourceReader[HybridSplit]):
    """Read the splits of one source at a time, with a reader of that source."""

    def __init__(self, sources: Sequence[Source[Any, Any]], context: ReaderContext) -> None:
        self._sources, self._context = sources, context
        self._stage = -1
        self._reader: SourceReader[Any] | None = None
        self._others: list[SourceReader[Any]] = []  # a reader that has ended or begins, to be closed
        self._begins: int | None = None
        self._kept: list[HybridSplit] = []  # splits that no reader of their stage has yet
        self._early: list[tuple[Any, ...]] = []  # events for a stage that has not begun here
        self._idle: str | None = None  # the idle split that stands for the wait between two stages
        self._news = asyncio.Event()

    def start(self) -> None:
        """Report which splits were restored, and wait for the stage to begin with."""
        stage = min((split.stage for split in self._kept), default=None)
        self._context.send_source_event(("arrived", stage))

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        """Poll the reader of the current stage. Between two stages, the subtask holds back no watermark."""
        if self._reader is None:
            if self._stage >= 0 and self._idle is None:
                self._idle = f"{self._stage}:finished"
                output.mark_idle(self._idle)
            return InputStatus.NOTHING_AVAILABLE
        if self._idle is not None:
            output.release_split(self._idle)
            self._idle = None
        status = self._reader.poll_next(_StageOutput(output, self._stage))
        if status is not InputStatus.END_OF_INPUT or self._stage == len(self._sources) - 1:
            return status
        self._others.append(self._reader)
        self._reader = None
        self._context.send_source_event(("finished", self._stage))
        return InputStatus.MORE_AVAILABLE

    async def available(self) -> None:
        """Return when the reader of the current stage has something, or when the next stage has begun."""
        if self._reader is None:
            while self._others:
                await _done(self._others.pop().close())
            while self._begins is None:
                self._news.clear()
                await self._news.wait()
            await self._begin(self._begins)
        else:
            await self._reader.available()

    async def _begin(self, stage: int) -> None:
        reader = self._sources[stage].create_reader(_ReaderContext(self._context, stage))
        if isinstance(reader, ExternallyInducedSourceReader):
            raise BadInputError(
                f"{type(self._sources[stage]).__name__} takes its checkpoints where another system says, and "
                "a hybrid source cannot do that: use a source with splits, such as PravegaSegmentSource"
            )
        self._others.append(reader)
        given: list[HybridSplit] = []
        while new := [s for s in self._kept if s.stage == stage and s not in given]:
            given += new
            await _done(reader.add_splits([split.split for split in new]))
        await _done(reader.start())
        late = [split for split in self._kept if split.stage == stage and split not in given]
        if late:
            await _done(reader.add_splits([split.split for split in late]))
        self._kept = [split for split in self._kept if split.stage != stage]
        self._others.remove(reader)
        self._stage, self._reader, self._begins = stage, reader, None
        early, self._early = self._early, []
        for event in early:
            self.handle_source_event(event)

    def add_splits(self, splits: Sequence[HybridSplit]) -> Awaitable[None] | None:
        """Pass splits of the current stage to its reader, and keep the others."""
        is_current = [self._reader is not None and split.stage == self._stage for split in splits]
        self._kept += [split for split, now in zip(splits, is_current, strict=True) if not now]
        current = [split.split for split, now in zip(splits, is_current, strict=True) if now]
        return self._reader.add_splits(current) if self._reader is not None and current else None

    def handle_source_event(self, event: Any) -> None:
        """Begin a stage, or pass an event to the reader of its stage."""
        kind, stage = event[:2]
        if kind == "begin":
            self._begins = stage
            self._early.clear()  # what was meant for an earlier attempt at this stage
            self._news.set()
        elif self._reader is None or stage != self._stage:
            if stage >= self._stage:
                self._early.append(event)
        elif kind == "no more":
            self._reader.notify_no_more_splits()
        else:
            self._reader.handle_source_event(event[2])

    @property
    def is_exhausted(self) -> bool:
        """Return whether the reader has emitted everything that it will ever get."""
        is_last = self._stage == len(self._sources) - 1
        return is_last and self._reader is not None and getattr(self._reader, "is_exhausted", True)

    def snapshot_state(self, checkpoint_id: int) -> Sequence[HybridSplit] | Awaitable[Sequence[HybridSplit]]:
        """Return the splits of the reader of the current stage, and those that are kept."""
        if self._reader is None:
            return list(self._kept)
        kept, stage = list(self._kept), self._stage
        splits = self._reader.snapshot_state(checkpoint_id)

        async def later(splits: Awaitable[Sequence[Any]]) -> Sequence[HybridSplit]:
            return [*kept, *(HybridSplit(stage, split) for split in await splits)]

        if isawaitable(splits):
            return later(splits)
        return [*kept, *(HybridSplit(stage, split) for split in splits)]

    def notify_checkpoint_complete(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Notify the reader of the current stage."""
        return None if self._reader is None else self._reader.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Notify the reader of the current stage."""
        return None if self._reader is None else self._reader.notify_checkpoint_aborted(checkpoint_id)

    async def close(self) -> None:
        """Close the readers."""
        for reader in [*self._others, *([self._reader] if self._reader is not None else [])]:
            await _done(reader.close())


class HybridSource(Source[HybridSplit, HybridState]):
    """Read several sources one after the other.

    The next source begins when all readers have finished the one before.

    ::

        HybridSource(ParquetSource("flights/"), PravegaSegmentSource(config, "scope/flights"))

    Each source but the last has to be bounded. Where a later source starts is set when it is created: give a
    stream the position (or the cut) that follows the last row of the files. Between two sources, readers that
    have finished do not hold back the watermark.

    Raises:
        BadInputError: there are fewer than two sources, or one before the last never ends.
    """

    def __init__(self, *sources: Source[Any, Any]) -> None:
        if len(sources) < 2:
            raise BadInputError(
                "a HybridSource needs at least two sources, in the order in which they are read"
            )
        for number, source in enumerate(sources[:-1], 1):
            if source.boundedness is not Boundedness.BOUNDED:
                raise BadInputError(
                    f"source {number} of {len(sources)} ({type(source).__name__}) never ends, so the next "
                    "one would never begin: bound it, or make it the last"
                )
        self.sources = sources
        self.boundedness = sources[-1].boundedness

    def check_restored(self, hooks: Sequence[str]) -> None:
        """Let each source check the checkpoint."""
        for source in self.sources:
            source.check_restored(hooks)

    def create_enumerator(self, context: SplitEnumeratorContext[HybridSplit]) -> HybridEnumerator:
        """Return an enumerator that begins with the first source."""
        return HybridEnumerator(self.sources, context, None)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[HybridSplit], checkpoint: HybridState
    ) -> HybridEnumerator:
        """Return an enumerator that continues with the source of the checkpoint."""
        return HybridEnumerator(self.sources, context, checkpoint)

    def create_reader(self, context: ReaderContext) -> HybridReader:
        """Return a reader."""
        return HybridReader(self.sources, context)

    def split_serializer(self) -> Serializer[HybridSplit]:
        """Return the serializer of splits."""
        return _SplitSerializer(self.sources)

    def enumerator_serializer(self) -> Serializer[HybridState]:
        """Return the serializer of the enumerator's state."""
        return _StateSerializer(self.sources)
