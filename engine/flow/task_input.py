"""Where a subtask's elements come from, step by step: its channels here; sources in `source_input`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from pravega_lab.engine.flow.alignment import Abort, AlignedBarriers, BarrierTracker, Decision, Perform
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.channels import Channel
from pravega_lab.engine.flow.elements import (
    Barrier,
    CancelMarker,
    Element,
    EndOfData,
    EndOfPartition,
    Watermark,
    WatermarkStatus,
)
from pravega_lab.engine.flow.observer import BarrierArrived, ChannelContents
from pravega_lab.engine.flow.watermarks import GateWatermarks

if TYPE_CHECKING:
    from pravega_lab.engine.flow.subtask import Subtask


class TaskInput(Protocol):
    """One of a subtask's kinds of input."""

    def start(self) -> None:
        """The operators are open."""

    async def step(self) -> bool:
        """Process one thing, if there is one; False: wait to be woken."""

    async def trigger(self, barrier: Barrier) -> None:
        """The coordinator asks this subtask to begin a checkpoint."""

    async def abort(self, checkpoint_id: int) -> None:
        """A checkpoint was given up."""

    def next_deadline_ms(self) -> int | None:
        """When to call `on_time`."""

    async def on_time(self, now_ms: int) -> None: ...

    async def close(self) -> None: ...


class GateInput:
    """Channels from other subtasks, with barriers between their records."""

    def __init__(
        self, subtask: Subtask, channels: Sequence[Channel], barriers: AlignedBarriers | BarrierTracker
    ) -> None:
        self._subtask, self._channels, self.barriers = subtask, list(channels), barriers
        self._watermarks = GateWatermarks([channel.input for channel in self._channels])
        self._ready: deque[int] = deque()
        self._ended: dict[int, bool] = {}  # channel to drain
        self._open = len(self._channels)
        for channel in self._channels:
            channel.on_data = self._has_data

    def start(self) -> None:
        return

    def _has_data(self, index: int) -> None:
        self._ready.append(index)
        self._subtask.wake()

    async def step(self) -> bool:
        for _ in range(len(self._ready)):
            index = self._ready.popleft()
            if self._channels[index].head is None:
                continue
            if self.barriers.is_blocked(index):
                self._ready.append(index)
                continue
            await self._process(index, self._channels[index].take())
            return True
        return False

    async def _process(self, index: int, element: Element) -> None:
        subtask, channel = self._subtask, self._channels[index]
        match element:
            case Batch():
                await subtask.chain.feed(element, channel.input)
            case Watermark():
                for news in self._watermarks.watermark(index, element):
                    await subtask.take_watermark(news)
            case WatermarkStatus():
                for news in self._watermarks.status(index, element):
                    await subtask.take_watermark(news)
            case Barrier():
                await self._take_barrier(index, element)
            case CancelMarker(checkpoint_id):
                await self._act(self.barriers.cancel(index, checkpoint_id))
            case EndOfData(drain):
                channel.acknowledge_data()
                await self._end_channel(index, drain)
            case EndOfPartition():
                await self._end_partition(index)

    async def _take_barrier(self, index: int, barrier: Barrier) -> None:
        subtask = self._subtask
        decisions = self.barriers.barrier(index, barrier)
        pending = self.barriers.pending
        waits = self.barriers.missing() if pending is not None else ()
        subtask.observe(
            BarrierArrived(subtask.now_ms(), subtask.id, subtask.attempt, index, barrier.checkpoint_id, waits)
        )
        await self._act(decisions)

    async def _act(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            if isinstance(decision, Perform):
                await self._subtask.perform(decision.barrier)
            else:
                assert isinstance(decision, Abort)
                await self._subtask.give_up(decision.checkpoint_id, decision.reason)

    async def _end_channel(self, index: int, drain: bool) -> None:
        self._ended[index] = drain
        input = self._channels[index].input
        of_input = [channel.index for channel in self._channels if channel.input == input]
        if all(c in self._ended for c in of_input) and all(self._ended[c] for c in of_input):
            await self._subtask.chain.end_head_input(input + 1)
        if len(self._ended) == len(self._channels):
            await self._subtask.end_data(drain=all(self._ended.values()))

    async def _end_partition(self, index: int) -> None:
        self._open -= 1
        if index not in self._ended:  # no end of data on this wire: the end of the partition is it
            await self._end_channel(index, True)
        await self._act(self.barriers.end_of_partition(index))

    async def trigger(self, barrier: Barrier) -> None:
        await self._act(self.barriers.trigger(barrier))

    async def abort(self, checkpoint_id: int) -> None:
        pending = self.barriers.pending
        if pending is not None and pending.checkpoint_id == checkpoint_id:
            await self._act(self.barriers.abort(checkpoint_id, None))
            self._subtask.wake()

    def next_deadline_ms(self) -> int | None:
        return None

    async def on_time(self, now_ms: int) -> None:
        return

    async def close(self) -> None:
        for channel in self._channels:
            channel.close()

    def contents(self, now_ms: int) -> list[ChannelContents]:
        """Of each channel, for an observer."""
        return [c.contents(now_ms, self.barriers.is_blocked(c.index)) for c in self._channels]
