"""A chain of operators in one subtask: feeds elements through, calls the lifecycle, takes snapshots.

What one operator emitted in a call goes to the next when the call is over; what the last emitted goes out.
A chain that had finished in the restored checkpoint calls nothing of its operators and only passes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import (
    MAX_TIMESTAMP_MS,
    CheckpointOptions,
    Element,
    Watermark,
    WatermarkStatus,
)
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.observer import LifecycleCall
from pravega_lab.engine.flow.operator import Operator
from pravega_lab.engine.flow.storage import OperatorSnapshot

Out = Callable[[Element, str | None], Awaitable[None]]


class Chain:
    """``out`` takes what the last operator emitted, and side outputs."""

    def __init__(self, operators: Sequence[Operator], out: Out, *, is_finished: bool = False) -> None:
        self.operators = list(operators)
        self.is_finished = is_finished  # restored as finished
        self.records_in = 0
        self._out = out
        self._opened = 0

    # -- elements ------------------------------------------------------------------------------------------

    async def feed(self, element: Element, input: int = 0, position: int = 0) -> None:
        """Through the operator at ``position`` and those behind it."""
        if self.is_finished:
            if isinstance(element, Batch):
                raise IllegalStateError(f"{self.operators[0].context.name} had finished and got {element!r}")
            await self._out(element, None)
            return
        operator = self.operators[position]
        if isinstance(element, Batch):
            if position == 0:
                self.records_in += element.num_rows
            waits = operator.process_batch(element, input)
        elif isinstance(element, Watermark):
            if element.timestamp_ms == MAX_TIMESTAMP_MS:
                self._observe(operator, "watermark-max")
            waits = operator.process_watermark(element)
        else:
            assert isinstance(element, WatermarkStatus)
            waits = operator.process_status(element)
        if waits is not None:
            await waits
        await self.drain(position)

    async def drain(self, position: int) -> None:
        """Pass on what the operator at ``position`` has emitted."""
        for tag, element in self.operators[position].context.output.take():
            if tag is None and position + 1 < len(self.operators):
                await self.feed(element, 0, position + 1)
            else:
                await self._out(element, tag)

    # -- time ----------------------------------------------------------------------------------------------

    def next_timer_ms(self) -> int | None:
        """When the next processing-time timer is due."""
        if self.is_finished:
            return None
        times = [operator.context.timers.next_processing_ms() for operator in self.operators]
        return min((time for time in times if time is not None), default=None)

    async def fire_timers(self, now_ms: int) -> None:
        for position, operator in enumerate(self.operators):
            due_ms = operator.context.timers.next_processing_ms()
            if due_ms is not None and due_ms <= now_ms:
                operator.fire_processing_timers(now_ms)
                await self.drain(position)

    # -- lifecycle -----------------------------------------------------------------------------------------

    async def open(self) -> None:
        """From the last operator to the first, so that nobody emits into one that is not open."""
        if self.is_finished:
            return
        for operator in reversed(self.operators):
            await _done(operator.initialize_state())
            self._opened += 1
            self._observe(operator, "open")
            await _done(operator.open())
        for position in range(len(self.operators)):
            await self.drain(position)

    async def end_head_input(self, input: int) -> None:
        """One input of the first operator has all its data."""
        if not self.is_finished:
            self._observe(self.operators[0], "end-input")
            await _done(self.operators[0].end_input(input))
            await self.drain(0)

    async def finish(self) -> None:
        """The data ended with drain: operators finish in order of the chain."""
        if self.is_finished:
            return
        for position, operator in enumerate(self.operators):
            if position > 0:
                self._observe(operator, "end-input")
                await _done(operator.end_input(1))
                await self.drain(position)
            operator.context.timers.is_quiesced = True
            self._observe(operator, "finish")
            await _done(operator.finish())
            await self.drain(position)

    def quiesce(self) -> None:
        """No processing-time timer fires any more."""
        for operator in self.operators:
            operator.context.timers.is_quiesced = True

    async def prepare_snapshot(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        if not self.is_finished:
            for position, operator in enumerate(self.operators):
                await _done(operator.prepare_snapshot(checkpoint_id, options))
                await self.drain(position)

    async def snapshot(self, checkpoint_id: int, *, full: bool) -> dict[str, OperatorSnapshot]:
        """By operator id, frozen."""
        if self.is_finished:
            return {}
        taken = {}
        for operator in reversed(self.operators):
            context = operator.context
            self._observe(operator, "snapshot", checkpoint_id)
            await _done(operator.snapshot_state(checkpoint_id))
            taken[context.operator_id] = OperatorSnapshot(
                context.keyed.snapshot(full=full), context.lists.snapshot()
            )
        return taken

    async def notify_complete(self, checkpoint_id: int) -> None:
        """Every operator is told, also if one of them fails; the first failure is raised at the end."""
        if self.is_finished:
            return
        first: Exception | None = None
        for position, operator in reversed(list(enumerate(self.operators))):
            operator.context.keyed.confirm(checkpoint_id)
            self._observe(operator, "notify-complete", checkpoint_id)
            try:
                await _done(operator.notify_checkpoint_complete(checkpoint_id))
                await self.drain(position)
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    async def notify_aborted(self, checkpoint_id: int) -> None:
        """As `notify_complete`."""
        if self.is_finished:
            return
        first: Exception | None = None
        for operator in reversed(self.operators):
            self._observe(operator, "notify-aborted", checkpoint_id)
            try:
                await _done(operator.notify_checkpoint_aborted(checkpoint_id))
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    async def close(self) -> None:
        """Every operator that was opened, also if one of them fails; the first failure is raised."""
        first: BaseException | None = None
        opened = self.operators[len(self.operators) - self._opened :]
        self._opened = 0
        for operator in reversed(opened):
            self._observe(operator, "close")
            try:
                await _done(operator.close())
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    def _observe(self, operator: Operator, what: str, checkpoint_id: int | None = None) -> None:
        context = operator.context
        context.observer.observe(
            LifecycleCall(
                context.now_ms(), context.subtask, context.attempt, context.operator_id, what, checkpoint_id
            )
        )


async def _done(waits: Awaitable[None] | None) -> None:
    if waits is not None and isawaitable(waits):
        await waits
