"""Runs a source's enumerator beside the checkpoint coordinator, one call after the other, and keeps track
of what was assigned since when.

Source: Flink's `SourceCoordinator`, `SourceCoordinatorContext`, `SplitAssignmentTracker`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

from pravega_lab.engine.flow import plain
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.failures import CheckpointFailedError, Reason
from pravega_lab.engine.flow.observer import Observer, SplitsAssigned
from pravega_lab.engine.flow.operator_coordinator import (
    CoordinatorContext,
    OperatorCoordinator,
    SubtaskGateway,
)
from pravega_lab.engine.flow.source_events import (
    AddSplits,
    NoMoreSplits,
    ReaderRegistration,
    RequestSplit,
    SourceEventWrapper,
)
from pravega_lab.engine.flow.sources import Source, SplitEnumerator
from pravega_lab.errors import BadInputError


class AssignmentTracker:
    """Which splits a subtask was given after which checkpoint: those it does not restore by itself."""

    def __init__(self) -> None:
        self._new: dict[int, list[Any]] = {}
        self._by_checkpoint: dict[int, dict[int, list[Any]]] = {}

    def assigned(self, subtask: int, splits: Sequence[Any]) -> None:
        self._new.setdefault(subtask, []).extend(splits)

    def checkpoint(self, checkpoint_id: int) -> None:
        """The enumerator's part of it is taken: what was assigned before is in the readers' part."""
        self._by_checkpoint[checkpoint_id] = self._new
        self._new = {}

    def completed(self, checkpoint_id: int) -> None:
        for number in [n for n in self._by_checkpoint if n <= checkpoint_id]:
            del self._by_checkpoint[number]

    def take_back(self, subtask: int, restored_id: int) -> list[Any]:
        """What the subtask had been given after the checkpoint that it restores, in order."""
        back: list[Any] = []
        for number in sorted(n for n in self._by_checkpoint if n > restored_id):
            back += self._by_checkpoint[number].pop(subtask, [])
        return back + self._new.pop(subtask, [])


class SourceCoordinator(OperatorCoordinator):
    """Also the enumerator's `sources.SplitEnumeratorContext`."""

    def __init__(self, source: Source[Any, Any], context: CoordinatorContext, observer: Observer) -> None:
        self._source, self._context, self._observer = source, context, observer
        self._splits, self._states = source.split_serializer(), source.enumerator_serializer()
        self._tracker = AssignmentTracker()
        self._readers: dict[int, None] = {}
        self._gateways: dict[int, SubtaskGateway] = {}
        self._lane: deque[Callable[[], Awaitable[None] | None]] = deque()
        self._wake = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self._helpers: list[asyncio.Task[None]] = []
        self._restored: Any = None
        self._has_restored = False
        self._enumerator: SplitEnumerator[Any, Any] | None = None
        self._is_closed = False

    # -- lane ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        source = self._source
        self._enumerator = (
            source.restore_enumerator(self, self._restored)
            if self._has_restored
            else source.create_enumerator(self)
        )
        self._do(self._enumerator.start)
        name = f"enumerator {self._context.operator_id}"
        self._runner = asyncio.get_running_loop().create_task(self._run(), name=name)

    def _do(self, action: Callable[[], Awaitable[None] | None]) -> None:
        self._lane.append(action)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            while self._lane:
                try:
                    waits = self._lane.popleft()()
                    if waits is not None and isawaitable(waits):
                        await waits
                except asyncio.CancelledError:
                    raise
                except Exception as error:
                    self._context.fail_job(error)
                    return
            self._wake.clear()
            await self._wake.wait()

    @property
    def enumerator(self) -> SplitEnumerator[Any, Any]:
        if self._enumerator is None:
            raise IllegalStateError("the source coordinator was not started")
        return self._enumerator

    # -- OperatorCoordinator -------------------------------------------------------------------------------

    def handle_event_from_operator(self, subtask: int, attempt: int, event: Any) -> None:
        enumerator = self.enumerator
        match event:
            case ReaderRegistration():
                self._do(lambda: self._register(subtask))
            case RequestSplit():
                self._do(lambda: enumerator.handle_split_request(subtask))
            case SourceEventWrapper(inner):
                self._do(lambda: enumerator.handle_source_event(subtask, inner))

    def _register(self, subtask: int) -> Awaitable[None] | None:
        if subtask not in self._gateways:
            return None  # it has failed meanwhile
        self._readers[subtask] = None
        return self.enumerator.add_reader(subtask)

    def checkpoint_coordinator(self, checkpoint_id: int) -> Awaitable[bytes]:
        result: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def snapshot() -> None:
            try:
                state = self.enumerator.snapshot_state(checkpoint_id)
                state = await state if isawaitable(state) else state
                data = plain.to_bytes((self._states.version, self._states.to_bytes(state)))
            except asyncio.CancelledError:
                result.cancel()
                raise
            except Exception as error:
                name = self._context.operator_id
                failed = CheckpointFailedError(
                    Reason.TRIGGER_CHECKPOINT_FAILURE,
                    f"Failed to checkpoint SplitEnumerator of {name}: {error}",
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
        def told() -> Awaitable[None] | None:
            self._tracker.completed(checkpoint_id)
            return self.enumerator.notify_checkpoint_complete(checkpoint_id)

        self._do(told)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._do(lambda: self.enumerator.notify_checkpoint_aborted(checkpoint_id))

    def reset_to_checkpoint(self, checkpoint_id: int, data: bytes | None) -> None:
        if self._enumerator is not None:
            raise IllegalStateError("the source coordinator was started: it cannot be reset any more")
        if data is not None:
            version, state = plain.from_bytes(data)
            self._restored, self._has_restored = self._states.from_bytes(version, state), True

    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        def reset() -> Awaitable[None] | None:
            back = self._tracker.take_back(subtask, checkpoint_id)
            if not back:
                return None
            self._tell_assigned(subtask, back, is_back=True)
            return self.enumerator.add_splits_back(back, subtask)

        self._do(reset)

    def execution_attempt_failed(self, subtask: int, attempt: int, reason: str) -> None:
        self._gateways.pop(subtask, None)
        self._do(lambda: self._readers.pop(subtask, None))

    def execution_attempt_ready(self, subtask: int, attempt: int, gateway: SubtaskGateway) -> None:
        self._gateways[subtask] = gateway

    async def close(self) -> None:
        self._is_closed = True
        for task in [*self._helpers, *([self._runner] if self._runner else [])]:
            task.cancel()
        if self._enumerator is not None:
            waits = self._enumerator.close()
            if waits is not None and isawaitable(waits):
                await waits

    # -- sources.SplitEnumeratorContext --------------------------------------------------------------------

    @property
    def current_parallelism(self) -> int:
        return self._context.current_parallelism

    @property
    def registered_readers(self) -> Sequence[int]:
        return sorted(self._readers)

    def now_ms(self) -> int:
        return self._context.now_ms()

    def assign_splits(self, assignment: Mapping[int, Sequence[Any]]) -> None:
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
        self._send(subtask, NoMoreSplits())

    def send_event_to_source_reader(self, subtask: int, event: Any) -> None:
        self._send(subtask, SourceEventWrapper(event))

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
        async def run() -> None:
            try:
                result, error = await work(), None
            except asyncio.CancelledError:
                raise
            except Exception as raised:
                result, error = None, raised
            self._do(lambda: handler(result, error))

        task = asyncio.get_running_loop().create_task(run(), name=f"work of {self._context.operator_id}")
        self._helpers = [helper for helper in self._helpers if not helper.done()]
        self._helpers.append(task)

    def run_in_coordinator_lane(self, action: Callable[[], Any]) -> None:
        self._do(action)
