"""The readers of a `HybridSource`: each runs the reader of one source after the other (see `hybrid`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from inspect import isawaitable
from typing import Any

from pravega_lab.errors import BadInputError

from ..batch import Batch
from ..calling import value_of
from ..elements import Watermark
from .hand_over import HybridSplit
from .sources import (
    ExternallyInducedSourceReader,
    InputStatus,
    ReaderContext,
    ReaderOutput,
    Source,
    SourceReader,
)


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

    def release_unnamed(self) -> None:
        """Forget the watermark of the records without a split."""
        self._outer.release_split(self._named(None))


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
                _StageOutput(output, self._stage).release_unnamed()
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
                await value_of(self._others.pop().close())
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
            await value_of(reader.add_splits([split.split for split in new]))
        await value_of(reader.start())
        late = [split for split in self._kept if split.stage == stage and split not in given]
        if late:
            await value_of(reader.add_splits([split.split for split in late]))
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
            await value_of(reader.close())
