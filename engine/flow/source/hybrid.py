"""`HybridSource`: several sources one after the other, for example a year of files and then the live stream.

Flink has it as `org.apache.flink.connector.base.source.hybrid.HybridSource`. Enumerator and
readers wrap those of the current source. A checkpoint has the stage (which source is read), the state of its
enumerator, and the readers' splits with the stage of each. `HandOver` decides when the next source begins.

Enumerator and readers agree by these events, each a plain tuple. From a reader: ``arrived`` with the earliest
stage of its splits, ``finished`` with a stage, and ``request`` for a split of a stage. From the enumerator:
``begin`` with a stage, and ``no more`` with a stage. Both pass on events of the wrapped source as ``event``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from pravega_lab.errors import BadInputError

from ..calling import value_of
from ..elements import MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS
from ..errors import RestoreError
from ..state import plain_values as plain
from .hand_over import HandOver, HybridSplit
from .hybrid_reader import HybridReader
from .sources import (
    Boundedness,
    ReaderContext,
    Serializer,
    Source,
    SplitEnumerator,
    SplitEnumeratorContext,
)


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

    def limit_watermark(self, subtask: int, limit_ms: int) -> None:
        if self._is_current and subtask in self._hand_over.present:
            self._outer.limit_watermark(subtask, limit_ms)

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
                    await value_of(self._inner.handle_split_request(subtask))
                else:
                    self._context.send_event_to_source_reader(subtask, ("no more", stage))
            case ("event", stage, inner):
                if stage == self._hand_over.stage:
                    await value_of(self._inner.handle_source_event(subtask, inner))

    def handle_watermark(
        self, subtask: int, lowest_ms: int, is_active: bool, begun: Sequence[str]
    ) -> Awaitable[None] | None:
        """Let the enumerator of the current source limit its readers. Other readers have no limit."""
        stage = self._hand_over.stage
        if not self._limits(stage) or subtask not in self._hand_over.present:
            self._context.limit_watermark(subtask, MAX_TIMESTAMP_MS)
            return None
        here = f"{stage}:"
        inside = [name.removeprefix(here) for name in begun if name.startswith(here)]
        return self._inner.handle_watermark(subtask, lowest_ms, is_active, inside)

    def _limits(self, stage: int) -> bool:
        return self._sources[stage].limits_watermarks

    async def _begin(self, subtask: int, stage: int | None) -> None:
        begins = self._hand_over.arrived(subtask, stage)
        # First, because the reader may emit a watermark as soon as it begins.
        limit_ms = MIN_TIMESTAMP_MS if self._limits(begins) else MAX_TIMESTAMP_MS
        self._context.limit_watermark(subtask, limit_ms)
        self._context.send_event_to_source_reader(subtask, ("begin", begins))
        returned = self._hand_over.take_returned(begins)
        if returned:
            self._context.assign_splits({subtask: returned})
        if begins == self._hand_over.stage:
            await value_of(self._inner.add_reader(subtask))

    async def _next_stage(self) -> None:
        await value_of(self._inner.close())
        self._inner = self._create(self._sources[self._hand_over.stage])
        await value_of(self._inner.start())
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


class HybridSource(Source[HybridSplit, HybridState]):
    """Read several sources one after the other.

    The next source begins when all readers have finished the one before.

    ::

        HybridSource(ParquetSource("flights/"), PravegaSegmentSource(config, "scope/flights"))

    Each source but the last has to be bounded. Where a later source starts is set when it is created: give a
    stream the position (or the cut) that follows the last row of the files. Between two sources, readers that
    have finished do not hold back the watermark. A source that limits watermarks does so from its begin on.

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
        self.limits_watermarks = any(source.limits_watermarks for source in sources)

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
