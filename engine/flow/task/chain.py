"""A chain of operators in one subtask: feeds elements through, calls the lifecycle, takes snapshots.

What an operator emits during a call reaches the next operator when the call has returned. What the last one
emits goes out. A chain that had finished in the restored checkpoint calls no operator and only forwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pravega_lab.portable.waiting import cancellations

from ..batch import Batch
from ..cancelling import ends_program, is_failure
from ..checkpoint.storage import OperatorSnapshot
from ..elements import MAX_TIMESTAMP_MS, CheckpointOptions, Element, Watermark, WatermarkStatus
from ..errors import IllegalStateError
from ..observer import LifecycleCall
from ..operators.operator import Operator

Out = Callable[[Element, str | None], Awaitable[None]]


class Chain:
    """The operators of one subtask, the head first.

    ``out`` takes what the last operator emits, and side outputs with their tag. ``is_finished``: the chain
    had finished in the checkpoint that it was restored from.
    """

    def __init__(self, operators: Sequence[Operator], out: Out, *, is_finished: bool = False) -> None:
        self.operators = list(operators)
        self.is_finished = is_finished  # restored as finished
        self.records_in = 0
        self._out = out
        self._open: list[Operator] = []  # in the order in which they close: last of the chain first

    # -- elements ------------------------------------------------------------------------------------------

    async def feed(self, element: Element, input: int = 0, position: int = 0) -> None:
        """Process ``element`` in the operator at ``position`` and in those after it."""
        if self.is_finished:
            if isinstance(element, Batch):
                raise IllegalStateError(f"{self.operators[0].context.name} had finished and got {element!r}")
            await self._out(element, None)
            return
        operator = self.operators[position]
        if isinstance(element, Batch):
            if position == 0:
                self.records_in += element.num_rows
            waits = operator.context.begin(operator.process_batch, element, input)
        elif isinstance(element, Watermark):
            if element.timestamp_ms == MAX_TIMESTAMP_MS:
                self._observe(operator, "watermark-max")
            waits = operator.context.begin(operator.process_watermark, element)
        else:
            assert isinstance(element, WatermarkStatus)
            waits = operator.context.begin(operator.process_status, element)
        if waits is not None:
            await operator.context.end(waits)
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
        """Return when the next processing-time timer is due, None if there is none."""
        if self.is_finished:
            return None
        times = [operator.context.timers.next_processing_ms() for operator in self.operators]
        return min((time for time in times if time is not None), default=None)

    async def fire_timers(self, now_ms: int) -> None:
        """Fire the processing-time timers that are due, operator by operator."""
        for position, operator in enumerate(self.operators):
            due_ms = operator.context.timers.next_processing_ms()
            if due_ms is not None and due_ms <= now_ms:
                await operator.context.call(operator.fire_processing_timers, now_ms)
                await self.drain(position)

    # -- lifecycle -----------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the operators from the last to the first, so that none emits into one that is not open."""
        if self.is_finished:
            return
        for operator in reversed(self.operators):
            await operator.context.call(operator.initialize_state)
            self._open.append(operator)
            self._observe(operator, "open")
            await operator.context.call(operator.open)
        for position in range(len(self.operators)):
            await self.drain(position)

    async def end_head_input(self, input: int) -> None:
        """Notify the first operator that one of its inputs has ended."""
        if not self.is_finished:
            self._observe(self.operators[0], "end-input")
            await self.operators[0].context.call(self.operators[0].end_input, input)
            await self.drain(0)

    async def finish(self) -> None:
        """Finish the operators in order: the data has ended with drain."""
        if self.is_finished:
            return
        for position, operator in enumerate(self.operators):
            if position > 0:
                self._observe(operator, "end-input")
                await operator.context.call(operator.end_input, 1)
                await self.drain(position)
            operator.context.timers.is_quiesced = True
            self._observe(operator, "finish")
            await operator.context.call(operator.finish)
            await self.drain(position)

    def quiesce(self) -> None:
        """Fire no processing-time timer from now on."""
        for operator in self.operators:
            operator.context.timers.is_quiesced = True

    async def prepare_snapshot(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Let every operator emit what belongs before the barrier, in order."""
        if not self.is_finished:
            for position, operator in enumerate(self.operators):
                await operator.context.call(operator.prepare_snapshot, checkpoint_id, options)
                await self.drain(position)

    async def snapshot(self, checkpoint_id: int, *, full: bool) -> dict[str, OperatorSnapshot]:
        """Return the frozen state of every operator, by operator id.

        ``full``: keyed state refers to no file of an earlier checkpoint.
        """
        if self.is_finished:
            return {}
        taken = {}
        for operator in reversed(self.operators):
            context = operator.context
            self._observe(operator, "snapshot", checkpoint_id)
            await context.call(operator.snapshot_state, checkpoint_id)
            taken[context.operator_id] = OperatorSnapshot(
                context.keyed.snapshot(full=full), context.lists.snapshot()
            )
        return taken

    async def notify_complete(self, checkpoint_id: int) -> None:
        """Notify every operator that a checkpoint is complete, even if one of them raises.

        Raises:
            Exception: the first error that an operator raised.
        """
        if self.is_finished:
            return
        first: BaseException | None = None
        for position, operator in reversed(list(enumerate(self.operators))):
            operator.context.keyed.confirm(checkpoint_id)
            self._observe(operator, "notify-complete", checkpoint_id)
            try:
                await operator.context.call(operator.notify_checkpoint_complete, checkpoint_id)
                await self.drain(position)
            except BaseException as error:
                if not is_failure(error):
                    raise
                first = first or error
        if first is not None:
            raise first

    async def notify_aborted(self, checkpoint_id: int) -> None:
        """Notify every operator that a checkpoint was aborted, even if one of them raises.

        Raises:
            Exception: the first error that an operator raised.
        """
        if self.is_finished:
            return
        first: BaseException | None = None
        for operator in reversed(self.operators):
            self._observe(operator, "notify-aborted", checkpoint_id)
            try:
                await operator.context.call(operator.notify_checkpoint_aborted, checkpoint_id)
            except BaseException as error:
                if not is_failure(error):
                    raise
                first = first or error
        if first is not None:
            raise first

    async def close(self, limit_s: float | None = None) -> None:
        """Close every open operator, the last of the chain first, even if one of them raises.

        After ``limit_s`` seconds, the call of an operator is cancelled.

        A call that is cancelled leaves the remaining operators open; the next call closes them.

        Raises:
            Exception: the first error that an operator raised.
        """
        first: BaseException | None = None
        asked = cancellations()
        while self._open:
            operator = self._open.pop(0)
            self._observe(operator, "close")
            try:
                async with asyncio.timeout(limit_s):
                    await operator.context.call(operator.close)
            except BaseException as error:
                if cancellations() > asked or ends_program(error):
                    raise
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
