"""The input of a source's subtask: it polls a reader, runs a legacy function, or ends at once.

Here an externally induced reader meets the coordinator's trigger (`Rendezvous`). Source: Flink's
`SourceOperatorStreamTask` (FLINK-20270, FLINK-25256), `SourceStreamTask`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from pravega_lab.portable.waiting import wait

from ..cancelling import is_failure
from ..elements import Barrier, CheckpointKind, CheckpointOptions
from ..errors import IllegalStateError
from .source_operator import CheckpointLock, LegacySourceOperator, SourceOperator
from .sources import ExternallyInducedSource, ExternallyInducedSourceReader, InputStatus


class SourceChain(Protocol):
    """A chain has the operators of a source's subtask, the source first."""

    async def drain(self, position: int) -> None:
        """Pass on what the operator at ``position`` has emitted."""


class SourceTask(Protocol):
    """A source's task is what its input uses of `subtask.Subtask`."""

    @property
    def chain(self) -> SourceChain:
        """The operators that the input feeds."""

    @property
    def has_data_ended(self) -> bool:
        """Has the subtask sent the end of its data?"""

    @property
    def has_room(self) -> bool:
        """Does every output have room?"""

    @property
    def blocked_ms(self) -> int:
        """How long an output had no room."""

    def now_ms(self) -> int:
        """Return the job's time in ms."""

    def wake(self) -> None:
        """Let the subtask look for work again."""

    def fail(self, error: BaseException) -> None:
        """Fail the attempt with ``error``."""

    def spawn(self, coro: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        """Run ``coro`` concurrently, at most until the attempt ends. ``what`` names the task."""

    async def perform(self, barrier: Barrier) -> None:
        """Take the checkpoint of ``barrier`` here: send the barrier on, then snapshot."""

    async def stop_source(self, barrier: Barrier) -> None:
        """End the data for a stop-with-savepoint, with drain if the barrier's kind says so."""

    async def end_source_data(self, *, drain: bool) -> None:
        """Send the end of the data."""


class Rendezvous:
    """Match the position of an externally induced checkpoint with the coordinator's trigger.

    The trigger has the kind and the target of the checkpoint.
    """

    def __init__(self) -> None:
        self._untriggered: dict[int, Barrier] = {}
        self._triggered: dict[int, None] = {}
        self._aborted: dict[int, None] = {}
        self.blocked_on: int | None = None

    def reader_reports(self, checkpoint_id: int) -> Barrier | None:
        """Note that the reader is at the position of a checkpoint.

        Return the barrier if the checkpoint is to be performed now. Return None if the reader must wait for
        the trigger.

        If the checkpoint was aborted before, no trigger comes, and the reader continues. (Flink keeps it
        waiting.)
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
        """Return the barrier if it can be performed now, or None if the reader is not at its position."""
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

    def left_over(self) -> list[Barrier]:
        """Return the triggers whose position the reader has not reached, oldest first.

        At the end of the input the position of each of them is there.
        """
        return [self._untriggered[number] for number in sorted(self._untriggered)]

    def abort(self, checkpoint_id: int) -> None:
        """Note that the checkpoint was aborted, and release a reader that waits for it."""
        self._untriggered.pop(checkpoint_id, None)
        self._triggered.pop(checkpoint_id, None)
        self._aborted[checkpoint_id] = None
        if self.blocked_on == checkpoint_id:
            self.blocked_on = None


class UnmetTriggers:
    """Begin an induced checkpoint without its trigger, as Flink did before FLINK-25256.

    The position of the reader alone begins a checkpoint. Its kind and target are defaults, so savepoints
    fail.
    """

    blocked_on: int | None = None

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms

    def reader_reports(self, checkpoint_id: int) -> Barrier | None:
        """Return the barrier of a plain checkpoint."""
        return Barrier(checkpoint_id, self._now_ms())

    def trigger_comes(self, barrier: Barrier) -> Barrier | None:
        """Return None: the trigger is ignored."""
        return None

    def left_over(self) -> list[Barrier]:
        """Return nothing: triggers are ignored."""
        return []

    def abort(self, checkpoint_id: int) -> None:
        """Do nothing."""


class SourceInput:
    """Poll a FLIP-27 reader. ``rendezvous`` decides when an induced checkpoint begins."""

    def __init__(
        self, subtask: SourceTask, operator: SourceOperator, rendezvous: Rendezvous | UnmetTriggers
    ) -> None:
        self._subtask, self._operator = subtask, operator
        operator.blocked_ms = lambda: subtask.blocked_ms
        self._is_available = True
        self._waiting: asyncio.Task[None] | None = None
        self.rendezvous = rendezvous

    @property
    def _is_induced(self) -> bool:
        return isinstance(self._operator.reader, ExternallyInducedSourceReader)

    @property
    def has_ended(self) -> bool:
        """Return True: no subtask feeds a source."""
        return True

    def start(self) -> None:
        """Do nothing: the first step polls."""
        return

    async def step(self) -> bool:
        """Poll the reader once and pass on what it emitted. Return False if there was nothing to do."""
        if not self._is_available or self.rendezvous.blocked_on is not None or self._subtask.has_data_ended:
            return False
        reader = self._operator.reader
        status = self._operator.context.begin(reader.poll_next, self._operator)
        await self._subtask.chain.drain(0)
        if status is InputStatus.END_OF_INPUT:
            await self._subtask.end_source_data(drain=True)
            for barrier in self.rendezvous.left_over():
                await self._begin(barrier)
        elif status is InputStatus.NOTHING_AVAILABLE:
            if isinstance(reader, ExternallyInducedSourceReader):
                checkpoint_id = reader.should_trigger_checkpoint()
                if checkpoint_id is not None:
                    await self._induced(checkpoint_id)
                    return True
            self._wait()
        return True

    def _wait(self) -> None:
        """Poll no more until the reader has something."""
        self._is_available = False
        self._waiting = self._subtask.spawn(self._wait_available(), "available")

    async def _wait_available(self) -> None:
        try:
            await self._operator.context.call(self._operator.reader.available)
        except BaseException as error:
            if not is_failure(error):
                raise
            self._subtask.fail(error)
        self._is_available = True
        self._subtask.wake()

    async def _induced(self, checkpoint_id: int) -> None:
        barrier = self.rendezvous.reader_reports(checkpoint_id)
        if barrier is not None:
            await self._begin(barrier)

    async def trigger(self, barrier: Barrier) -> None:
        """Perform the checkpoint, or keep the trigger until an induced reader is at its position."""
        if not self._is_induced or self._subtask.has_data_ended:
            await self._begin(barrier)
        else:
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
        """Release a reader that waits for this checkpoint."""
        self.rendezvous.abort(checkpoint_id)
        self._subtask.wake()

    def next_deadline_ms(self) -> int | None:
        """Return when splits may become idle, 0 if the watermark has a new limit, or None."""
        if self._subtask.has_data_ended:
            return None
        if self._operator.has_limit:
            return 0
        return self._operator.next_idle_check_ms() if self._subtask.has_room else None

    async def on_time(self, now_ms: int) -> None:
        """Mark silent splits idle, and emit what a new limit allows."""
        self._operator.check_idle()
        await self._subtask.chain.drain(0)

    async def close(self) -> None:
        """Stop waiting for the reader."""
        if self._waiting is not None:
            self._waiting.cancel()


class FinishedSourceInput:
    """End at once, for a source that had finished in the restored checkpoint."""

    def __init__(self, subtask: SourceTask) -> None:
        self._subtask = subtask

    @property
    def has_ended(self) -> bool:
        """Return True: no subtask feeds a source."""
        return True

    def start(self) -> None:
        """Do nothing: the first step ends the data."""
        return

    async def step(self) -> bool:
        """End the data. Return False if it has ended."""
        if self._subtask.has_data_ended:
            return False
        await self._subtask.end_source_data(drain=True)
        return True

    async def trigger(self, barrier: Barrier) -> None:
        """Perform the checkpoint."""
        await self._subtask.perform(barrier)

    async def abort(self, checkpoint_id: int) -> None:
        """Do nothing."""
        return

    def next_deadline_ms(self) -> int | None:
        """Return None: there is no deadline."""
        return None

    async def on_time(self, now_ms: int) -> None:
        """Do nothing."""
        return

    async def close(self) -> None:
        """Do nothing."""
        return


class LegacyInput:
    """Run a `SourceFunction` concurrently with the mailbox. Both hold the checkpoint lock while they act."""

    def __init__(self, subtask: SourceTask, operator: LegacySourceOperator) -> None:
        self._subtask, self._operator = subtask, operator
        self._running: asyncio.Task[None] | None = None
        self._has_ended = False
        self._stop: Barrier | None = None
        self._left_over: dict[int, Barrier] = {}  # triggers whose position the function has not reached
        operator.emit_all = lambda: subtask.chain.drain(0)
        if isinstance(operator.function, ExternallyInducedSource):
            operator.function.set_checkpoint_trigger(self._induced)

    @property
    def lock(self) -> CheckpointLock:
        """Return the checkpoint lock."""
        return self._operator.lock

    @property
    def has_ended(self) -> bool:
        """Return True: no subtask feeds a source."""
        return True

    def start(self) -> None:
        """Start the function."""
        self._running = self._subtask.spawn(self._run(), "source")

    async def _run(self) -> None:
        try:
            await self._operator.context.call(self._operator.function.run, self._operator)
        except BaseException as error:
            if not is_failure(error):
                raise
            self._subtask.fail(error)
        self._has_ended = True
        self._subtask.wake()

    async def step(self) -> bool:
        """End the data when the function has returned. Return False if there was nothing to do."""
        if not self._has_ended or self._subtask.has_data_ended:
            return False
        if self._stop is not None:
            await self._subtask.stop_source(self._stop)
            await self._subtask.perform(self._stop)
        else:
            await self._subtask.end_source_data(drain=True)
            for number in sorted(self._left_over):  # the position of each of them is here, at the end
                await self._subtask.perform(self._left_over[number])
        return True

    async def _induced(self, checkpoint_id: int) -> None:
        """Perform a checkpoint where the function has read its event, with default options."""
        async with self.lock:
            self._left_over = {n: b for n, b in self._left_over.items() if n > checkpoint_id}
            await self._subtask.perform(
                Barrier(checkpoint_id, self._subtask.now_ms(), CheckpointOptions(CheckpointKind.CHECKPOINT))
            )

    async def trigger(self, barrier: Barrier) -> None:
        """Perform the checkpoint. For a savepoint to stop with, cancel the function first.

        The trigger of an externally induced source has no effect before the end of its data: its function
        places the barrier (flink.md 4.2).

        Raises:
            IllegalStateError: an externally induced source is asked for a full checkpoint.
        """
        kind = barrier.options.kind
        if self._subtask.has_data_ended:
            await self._subtask.perform(barrier)
        elif isinstance(self._operator.function, ExternallyInducedSource):
            if kind is CheckpointKind.FULL_CHECKPOINT:
                raise IllegalStateError(
                    f"{self._operator.context.name} cannot take a full checkpoint: an externally induced "
                    "source of the legacy form never receives the kind (FLINK-25256); claim the restored "
                    "checkpoint instead"
                )
            self._left_over[barrier.checkpoint_id] = barrier
        elif kind.is_synchronous:
            self._stop = barrier
            self._operator.function.cancel()
        else:
            await self._subtask.perform(barrier)

    async def abort(self, checkpoint_id: int) -> None:
        """Forget the trigger of the checkpoint. The function is not notified."""
        self._left_over.pop(checkpoint_id, None)

    def next_deadline_ms(self) -> int | None:
        """Return None: there is no deadline."""
        return None

    async def on_time(self, now_ms: int) -> None:
        """Do nothing."""
        return

    async def close(self) -> None:
        """Cancel the function."""
        try:
            self._operator.function.cancel()
        finally:
            if self._running is not None and not self._running.done():
                self._running.cancel()
                await wait([self._running])
