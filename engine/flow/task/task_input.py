"""Read a subtask's elements from its channels, one at a time. `source.input` reads them from sources."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from ..batch import Batch
from ..checkpoint.alignment import Abort, AlignedBarriers, BarrierTracker, Decision, Perform
from ..elements import (
    Barrier,
    CancelMarker,
    Element,
    EndOfData,
    EndOfPartition,
    SubtaskId,
    Watermark,
    WatermarkStatus,
)
from ..errors import Reason
from ..observer import BarrierArrived, ChannelContents, Observation
from ..time.watermarks import GateWatermarks
from .chain import Chain
from .channels import Channel


class TaskInput(Protocol):
    """One of the kinds of input that a subtask has. The subtask calls it in its own turns."""

    @property
    def has_ended(self) -> bool:
        """Return whether every subtask that feeds this one has closed."""

    def start(self) -> None:
        """Begin to deliver: the operators are open."""

    async def step(self) -> bool:
        """Process one element if there is one, and return whether there was.

        After False the subtask sleeps until the input wakes it.
        """

    async def trigger(self, barrier: Barrier) -> None:
        """Begin a checkpoint that the coordinator asks this subtask for."""

    async def abort(self, checkpoint_id: int) -> None:
        """Stop waiting for a checkpoint that was given up."""

    def next_deadline_ms(self) -> int | None:
        """Return when to call `on_time`, None if there is nothing to wait for."""

    async def on_time(self, now_ms: int) -> None:
        """Do what is due; the subtask calls this at the deadline."""

    async def close(self) -> None:
        """Deliver nothing more, and release what the input holds."""


class InputOwner(Protocol):
    """What `GateInput` needs of the subtask that it feeds."""

    id: SubtaskId
    attempt: int
    chain: Chain

    def now_ms(self) -> int:
        """Return the job's time."""

    def wake(self) -> None:
        """Take another turn."""

    def observe(self, observation: Observation) -> None:
        """Report to the observer."""

    async def take_watermark(self, news: Watermark | WatermarkStatus) -> None:
        """Process what is now the watermark or status of all channels together."""

    async def perform(self, barrier: Barrier) -> None:
        """Take a checkpoint."""

    async def give_up(self, checkpoint_id: int, reason: Reason | None) -> None:
        """Forward that a checkpoint is not taken here, and decline it if there is a reason."""

    async def end_data(self, *, drain: bool) -> None:
        """End: every channel has delivered all its data."""


class GateInput:
    """Reads channels from other subtasks in the order in which elements arrive, and aligns their barriers."""

    def __init__(
        self, subtask: InputOwner, channels: Sequence[Channel], barriers: AlignedBarriers | BarrierTracker
    ) -> None:
        self._subtask, self._channels, self.barriers = subtask, list(channels), barriers
        self._watermarks = GateWatermarks([channel.input for channel in self._channels])
        self._ready: deque[int] = deque()
        self._ended: dict[int, bool] = {}  # channel to drain
        self._open = len(self._channels)
        for channel in self._channels:
            channel.on_data = self._has_data

    @property
    def has_ended(self) -> bool:
        """Return whether every channel has delivered the end of its partition."""
        return self._open == 0

    def start(self) -> None:
        """Do nothing: channels deliver from the beginning."""

    def _has_data(self, index: int) -> None:
        self._ready.append(index)
        self._subtask.wake()

    async def step(self) -> bool:
        """Process one element of a channel that no barrier blocks; return whether there was one."""
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
        """Perform the checkpoint as if its barrier had arrived on every channel."""
        await self._act(self.barriers.trigger(barrier))

    async def abort(self, checkpoint_id: int) -> None:
        """Release the channels that wait for barriers of this checkpoint."""
        pending = self.barriers.pending
        if pending is not None and pending.checkpoint_id == checkpoint_id:
            await self._act(self.barriers.abort(checkpoint_id, None))
            self._subtask.wake()

    def next_deadline_ms(self) -> int | None:
        """Return None: channels have no deadlines."""
        return None

    async def on_time(self, now_ms: int) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Drop what the channels hold and what arrives later."""
        for channel in self._channels:
            channel.close()

    def contents(self, now_ms: int) -> list[ChannelContents]:
        """Return what each channel holds, for an observer."""
        return [c.contents(now_ms, self.barriers.is_blocked(c.index)) for c in self._channels]
