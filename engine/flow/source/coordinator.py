"""The coordinator of a source: it calls the enumerator, one call at a time, and tracks which splits were
assigned.

It runs in the job master, next to the checkpoint coordinator. Source: Flink's `SourceCoordinator`,
`SourceCoordinatorContext`, `SplitAssignmentTracker`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable.waiting import is_being_cancelled, wait

from ..calling import call
from ..cancelling import is_failure, is_interrupt
from ..errors import CheckpointFailedError, IllegalStateError, Reason
from ..observer import Observer, SplitsAssigned
from ..state import plain_values as plain
from .events import (
    AddSplits,
    NoMoreSplits,
    ReaderRegistration,
    RequestSplit,
    SourceEventWrapper,
    WatermarkLimit,
    WatermarkReport,
)
from .operator_coordinator import CoordinatorContext, OperatorCoordinator, SubtaskGateway
from .sources import Source, SplitEnumerator

CALLS_END_S = 30.0  # half of what a coordinator has to close


def _version_and_state(value: Any) -> tuple[int, bytes]:
    version, state = value
    if not isinstance(version, int) or not isinstance(state, bytes):
        raise TypeError("not a version and bytes")
    return version, state


class AssignmentTracker:
    """Track which splits were assigned to a subtask after each checkpoint.

    The subtask does not restore these splits itself, so they go back to the enumerator.
    """

    def __init__(self) -> None:
        self._new: dict[int, list[Any]] = {}
        self._by_checkpoint: dict[int, dict[int, list[Any]]] = {}

    def assigned(self, subtask: int, splits: Sequence[Any]) -> None:
        """Note that splits were assigned."""
        self._new.setdefault(subtask, []).extend(splits)

    def checkpoint(self, checkpoint_id: int) -> None:
        """Note that the enumerator's state was taken: earlier assignments are in the state of the readers."""
        self._by_checkpoint[checkpoint_id] = self._new
        self._new = {}

    def completed(self, checkpoint_id: int) -> None:
        """Forget assignments before a completed checkpoint."""
        for number in [n for n in self._by_checkpoint if n <= checkpoint_id]:
            del self._by_checkpoint[number]

    def take_back(self, subtask: int, restored_id: int) -> list[Any]:
        """Return the splits that were assigned to the subtask after the restored checkpoint, in order, and
        forget them.
        """
        back: list[Any] = []
        for number in sorted(n for n in self._by_checkpoint if n > restored_id):
            back += self._by_checkpoint[number].pop(subtask, [])
        return back + self._new.pop(subtask, [])


class SourceCoordinator(OperatorCoordinator):
    """Run the enumerator of a source. It is also the `sources.SplitEnumeratorContext` of the enumerator."""

    def __init__(self, source: Source[Any, Any], context: CoordinatorContext, observer: Observer) -> None:
        self._source, self._context, self._observer = source, context, observer
        self._splits, self._states = source.split_serializer(), source.enumerator_serializer()
        self._tracker = AssignmentTracker()
        self._readers: dict[int, None] = {}
        self._gateways: dict[int, SubtaskGateway] = {}
        self._lane: deque[Callable[[], Awaitable[None] | None]] = deque()
        self._wake = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self._is_waiting = False  # for a call of the enumerator
        self._helpers: list[asyncio.Task[None]] = []
        self._restored: Any = None
        self._has_restored = False
        self._enumerator: SplitEnumerator[Any, Any] | None = None
        self._is_started = False

    # -- lane ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Create or restore the enumerator, and start it.

        If the enumerator cannot be created, the job fails in the next turn, when its attempts are known. Then
        it restarts as its restart strategy says.
        """
        self._is_started = True
        if self._has_restored:
            self._enumerator = self._source.restore_enumerator(self, self._restored)
            self._do(self._enumerator.start)
        else:
            self._create()
        name = f"enumerator {self._context.operator_id}"
        self._runner = asyncio.get_running_loop().create_task(self._run(), name=name)

    def _create(self) -> None:
        try:
            self._enumerator = self._source.create_enumerator(self)
        except BaseException as error:
            if is_interrupt(error):
                raise
            failure = error

            def fail() -> None:
                raise failure

            self._do(fail)
        else:
            self._do(self._enumerator.start)

    def _check_started(self) -> None:
        if not self._is_started:
            raise IllegalStateError(
                f"the coordinator of source {self._context.operator_id!r} has not started yet: call start() "
                "first, because there is no enumerator yet that could act on the call"
            )

    def _do(self, action: Callable[[], Awaitable[None] | None]) -> None:
        """Run an action on the lane. Without an enumerator the lane has ended, and the action never runs."""
        self._check_started()
        self._lane.append(action)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            while self._lane:
                try:
                    self._is_waiting = True
                    await call(self._lane.popleft())
                    self._is_waiting = False
                    if is_being_cancelled():
                        return  # the call has swallowed the cancellation
                except BaseException as error:
                    if not is_failure(error):
                        raise
                    self._context.fail_job(error)
                    return
            self._wake.clear()
            await self._wake.wait()

    @property
    def enumerator(self) -> SplitEnumerator[Any, Any]:
        """Return the enumerator.

        Raises:
            IllegalStateError: the coordinator was not started.
        """
        if self._enumerator is None:
            raise IllegalStateError("the source coordinator was not started")
        return self._enumerator

    # -- OperatorCoordinator -------------------------------------------------------------------------------

    def handle_event_from_operator(self, subtask: int, attempt: int, event: Any) -> None:
        """Pass an event of a reader to the enumerator."""
        match event:
            case ReaderRegistration():
                self._do(lambda: self._register(subtask))
            case RequestSplit():
                self._do(lambda: self.enumerator.handle_split_request(subtask))
            case SourceEventWrapper(inner):
                self._do(lambda: self.enumerator.handle_source_event(subtask, inner))
            case WatermarkReport(lowest_ms, is_active, begun):
                self._do(lambda: self.enumerator.handle_watermark(subtask, lowest_ms, is_active, begun))

    def _register(self, subtask: int) -> Awaitable[None] | None:
        if subtask not in self._gateways:
            return None  # the attempt has failed since
        self._readers[subtask] = None
        return self.enumerator.add_reader(subtask)

    def checkpoint_coordinator(self, checkpoint_id: int) -> Awaitable[bytes]:
        """Return a future of the enumerator's state, in the order of the lane."""
        result: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def snapshot() -> None:
            try:
                state = await call(self.enumerator.snapshot_state, checkpoint_id)
                data = plain.to_bytes((self._states.version, self._states.to_bytes(state)))
            except BaseException as error:
                if not is_failure(error):
                    result.cancel()
                    raise
                name = self._context.operator_id
                failed = CheckpointFailedError(
                    Reason.TRIGGER_CHECKPOINT_FAILURE,
                    f"Failed to checkpoint SplitEnumerator of {name}: {error or repr(error)}",
                )
                failed.__cause__ = error
                if not result.done():
                    result.set_exception(failed)
                return
            self._tracker.checkpoint(checkpoint_id)
            if not result.done():
                result.set_result(data)

        self._do(snapshot)
        return result

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Forget older assignments, and notify the enumerator."""

        def told() -> Awaitable[None] | None:
            self._tracker.completed(checkpoint_id)
            return self.enumerator.notify_checkpoint_complete(checkpoint_id)

        self._do(told)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Notify the enumerator."""
        self._do(lambda: self.enumerator.notify_checkpoint_aborted(checkpoint_id))

    def reset_to_checkpoint(self, checkpoint_id: int, data: bytes | None) -> None:
        """Take the state from which `start` restores the enumerator.

        Raises:
            IllegalStateError: the coordinator was started already.
        """
        if self._is_started:
            raise IllegalStateError("the source coordinator was started: it cannot be reset any more")
        if data is not None:
            version, state = plain.read_as(data, self._context.operator_id, _version_and_state)
            self._restored, self._has_restored = self._states.from_bytes(version, state), True

    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        """Return to the enumerator what the subtask was assigned after the checkpoint."""

        def reset() -> Awaitable[None] | None:
            back = self._tracker.take_back(subtask, checkpoint_id)
            if not back:
                return None
            self._tell_assigned(subtask, back, is_back=True)
            return self.enumerator.add_splits_back(back, subtask)

        self._do(reset)

    def execution_attempt_failed(self, subtask: int, attempt: int, reason: str) -> None:
        """Unregister the reader of the subtask, and forget its gateway."""

        def fail() -> None:
            self._gateways.pop(subtask, None)
            self._readers.pop(subtask, None)

        self._do(fail)

    def execution_attempt_ready(self, subtask: int, attempt: int, gateway: SubtaskGateway) -> None:
        """Keep the gateway to the new attempt, when the calls before this one have run.

        A request of an earlier attempt may still wait in the lane. Its splits must not reach the new attempt,
        because they go back to the enumerator when the reset of the subtask runs.
        """

        def keep() -> None:
            self._gateways[subtask] = gateway

        self._do(keep)

    async def close(self) -> None:
        """Stop the lane, and close the enumerator when the calls that were under way have ended.

        A call that does not end within `CALLS_END_S` is left to itself.
        """
        tasks = [*self._helpers, *([self._runner] if self._runner else [])]
        for task in tasks:
            task.cancel()
        calls = [task for task in tasks if not task.done() and (task is not self._runner or self._is_waiting)]
        if calls:
            await wait(calls, timeout=CALLS_END_S)
        if self._enumerator is not None:
            await call(self._enumerator.close)

    # -- sources.SplitEnumeratorContext --------------------------------------------------------------------

    @property
    def current_parallelism(self) -> int:
        """Return the number of subtasks of the source."""
        return self._context.current_parallelism

    @property
    def registered_readers(self) -> Sequence[int]:
        """Return the subtasks whose readers have registered, ascending."""
        return sorted(self._readers)

    @property
    def is_checkpointing(self) -> bool:
        """Return whether the job takes checkpoints."""
        return self._context.is_checkpointing

    def now_ms(self) -> int:
        """Return the job's time in ms."""
        return self._context.now_ms()

    def assign_splits(self, assignment: Mapping[int, Sequence[Any]]) -> None:
        """Send splits to readers.

        Raises:
            BadInputError: a subtask is not registered. Then nothing was assigned.
        """
        for subtask in assignment:
            if subtask not in self._readers:
                raise BadInputError(
                    f"splits were assigned to subtask {subtask}, which is not registered; registered are "
                    f"{self.registered_readers}"
                )
        for subtask, splits in assignment.items():
            self._tracker.assigned(subtask, splits)
            self._tell_assigned(subtask, splits, is_back=False)
            data = tuple(self._splits.to_bytes(split) for split in splits)
            self._send(subtask, AddSplits(self._splits.version, data))

    def signal_no_more_splits(self, subtask: int) -> None:
        """Notify a reader that it gets no more splits."""
        self._send(subtask, NoMoreSplits())

    def send_event_to_source_reader(self, subtask: int, event: Any) -> None:
        """Send an event of the connector to a reader."""
        self._send(subtask, SourceEventWrapper(event))

    def limit_watermark(self, subtask: int, limit_ms: int) -> None:
        """Let a reader emit watermarks up to ``limit_ms``."""
        self._send(subtask, WatermarkLimit(limit_ms))

    def _send(self, subtask: int, event: Any) -> None:
        gateway = self._gateways.get(subtask)
        if gateway is not None:
            gateway.send_event(event)

    def _tell_assigned(self, subtask: int, splits: Sequence[Any], *, is_back: bool) -> None:
        names = tuple(str(getattr(split, "split_id", split)) for split in splits)
        self._observer.observe(
            SplitsAssigned(self.now_ms(), self._context.operator_id, subtask, names, is_back)
        )

    def call_async(
        self, work: Callable[[], Awaitable[Any]], handler: Callable[[Any, BaseException | None], None]
    ) -> None:
        """Run ``work`` concurrently, and then ``handler(result, error)`` on the lane."""

        async def run() -> None:
            try:
                result, error = await call(work), None
            except BaseException as raised:
                if not is_failure(raised):
                    raise
                result, error = None, raised
            self._do(lambda: handler(result, error))

        task = asyncio.get_running_loop().create_task(run(), name=f"work of {self._context.operator_id}")
        self._helpers = [helper for helper in self._helpers if not helper.done()]
        self._helpers.append(task)

    def run_in_coordinator_lane(self, action: Callable[[], Any]) -> None:
        """Run an action on the lane, after the calls that wait there."""
        self._do(action)
