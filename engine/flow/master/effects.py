"""Carry out what the checkpoint coordinator decides, and report to it what came of that.

The coordinator neither waits nor communicates: it returns effects (`checkpoint.effects`). Files and hooks
take time, so they run in background tasks; each reports to the coordinator in a turn of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from ..checkpoint import effects as do
from ..checkpoint import metadata
from ..checkpoint.coordinator import CheckpointCoordinator
from ..checkpoint.handles import CompletedCheckpoint
from ..checkpoint.pending import Request
from ..checkpoint.storage import METADATA, CheckpointLayout, discard
from ..elements import Barrier, SubtaskId
from ..errors import CheckpointFailedError, JobCancelledError, JobFailedError, Reason
from ..files import Files, join
from ..source.master_hook import MasterHook
from ..task.channels import Wire
from ..task.lifecycle import SubtaskState
from .executions import Executions
from .hooks import MasterHooks, encode_state
from .lifecycle import JobLife


class EffectRunner:
    """Runs the effects of one job's coordinator.

    Call `act` in the same turn after every call that may have made the coordinator decide something.
    ``next_id`` is the id of the next checkpoint. ``fail_job`` fails the job over as a whole.
    """

    def __init__(
        self,
        coordinator: CheckpointCoordinator,
        life: JobLife,
        executions: Executions,
        hooks: MasterHooks,
        *,
        files: Files,
        layout: CheckpointLayout,
        wire: Wire,
        now_ms: Callable[[], int],
        fail_job: Callable[[BaseException], None],
    ) -> None:
        self.next_id = 1
        self._coordinator, self._life, self._executions, self._hooks = coordinator, life, executions, hooks
        self._files, self._layout, self._wire, self._now_ms = files, layout, wire, now_ms
        self._fail_job = fail_job
        self._answers: dict[Request, asyncio.Future[CompletedCheckpoint]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, request: Request) -> asyncio.Future[CompletedCheckpoint]:
        """Return a future of what comes of a request, and carry out what the request has caused."""
        answer: asyncio.Future[CompletedCheckpoint] = asyncio.get_running_loop().create_future()
        self._answers[request] = answer
        self.act()
        return answer

    def fail_answers(self, error: BaseException) -> None:
        """Fail every request that has no answer: the job is over."""
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(error)
                answer.exception()  # the caller may have stopped waiting

    # -- the loop ------------------------------------------------------------------------------------------

    def act(self) -> None:
        """Carry out effects until the coordinator has no more, then set the timer for its deadline."""
        while effects := self._coordinator.take_effects():
            for effect in effects:
                self._act(effect)
        deadline_ms = self._coordinator.next_deadline_ms()
        self.cancel_timer()
        if deadline_ms is not None and not self._life.done.done():
            delay_s = max(0, deadline_ms - self._now_ms()) / 1000
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_time)

    def cancel_timer(self) -> None:
        """Stop waiting for the coordinator's deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_time(self) -> None:
        self._coordinator.on_time(self._now_ms())
        self.act()

    def _act(self, effect: do.Effect) -> None:
        background = self._life.in_background
        match effect:
            case do.AllocateId(request):
                background(self._allocate_id(request), "id")
            case do.PrepareLocation(checkpoint_id, target):
                background(self._prepare_location(checkpoint_id, target), "location")
            case do.AskCoordinators(checkpoint_id, operators):
                for name in operators:
                    holder = self._executions.holders[name]
                    holder.checkpoint(checkpoint_id, self._coordinator_done(checkpoint_id, name))
            case do.AskHooks(checkpoint_id, timestamp_ms, hooks):
                for name in hooks:
                    self._ask_hook(checkpoint_id, timestamp_ms, name)
            case do.TriggerTask(subtask, checkpoint_id, timestamp_ms, options):
                barrier = Barrier(checkpoint_id, timestamp_ms, options)
                self._wire.call(f"master>{subtask}", self._trigger, subtask, barrier, may_be_lost=True)
            case do.Finalize(checkpoint):
                background(self._finalize(checkpoint), "metadata")
            case do.NotifyComplete(checkpoint_id, subtasks):
                self._notify_complete(checkpoint_id, subtasks)
            case do.NotifyAborted(checkpoint_id, latest_id, subtasks):
                self._notify_aborted(checkpoint_id, latest_id, subtasks)
            case do.AbortTriggering():
                for holder in self._executions.holders.values():
                    holder.open_gates()
            case do.Discard(paths):
                background(self._discard(list(paths)), "discard")
            case do.FailJob(error):
                self._fail_job(error)
            case do.Answer(request, completed, failed):
                self._answer(request, completed, failed)

    # -- the beginning of a checkpoint ---------------------------------------------------------------------

    async def _allocate_id(self, request: Request) -> None:
        number, self.next_id = self.next_id, self.next_id + 1
        self._coordinator.id_allocated(request, number, self._now_ms())
        self.act()

    async def _prepare_location(self, checkpoint_id: int, target: str | None) -> None:
        folder = self._layout.of_checkpoint(checkpoint_id) if target is None else target
        try:
            await self._files.write(join(folder, "_in_progress"), b"")
        except OSError as error:
            self._coordinator.triggering_failed(checkpoint_id, error)
        else:
            self._coordinator.location_ready(checkpoint_id, folder)
        self.act()

    def _coordinator_done(
        self, checkpoint_id: int, name: str
    ) -> Callable[[bytes | None, BaseException | None], None]:
        def done(data: bytes | None, error: BaseException | None) -> None:
            if error is not None:
                self._coordinator.triggering_failed(checkpoint_id, error)
            else:
                assert data is not None
                self._coordinator.coordinator_acknowledged(checkpoint_id, name, data)
            self.act()

        return done

    def _ask_hook(self, checkpoint_id: int, timestamp_ms: int, name: str) -> None:
        hook = self._hooks[name]
        try:
            waits = hook.trigger_checkpoint(checkpoint_id, timestamp_ms)
        except Exception as error:
            self._coordinator.triggering_failed(checkpoint_id, error)
            return
        if waits is None:
            self._coordinator.hook_acknowledged(checkpoint_id, name, None)
        else:
            self._life.in_background(self._await_hook(checkpoint_id, hook, waits), f"hook {name}")

    async def _await_hook(self, checkpoint_id: int, hook: MasterHook, waits: Awaitable[Any]) -> None:
        try:
            value = await self._unless_over(waits)
            state = None if value is None else encode_state(hook, value)
        except asyncio.CancelledError as error:
            failed = CheckpointFailedError(Reason.TRIGGER_CHECKPOINT_FAILURE, "The hook was cancelled.")
            failed.__cause__ = error
            self._coordinator.triggering_failed(checkpoint_id, failed)
        except Exception as error:
            self._coordinator.triggering_failed(checkpoint_id, error)
        else:
            self._coordinator.hook_acknowledged(checkpoint_id, hook.identifier, state)
        self.act()

    async def _unless_over(self, waits: Awaitable[Any]) -> Any:
        """Await ``waits``, but at most until the job is over: a hook that never ends must not keep it."""
        asked = asyncio.ensure_future(waits)
        over = asyncio.ensure_future(self._life.over.wait())
        await asyncio.wait([asked, over], return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if not asked.done():
            asked.cancel()
            raise JobCancelledError("the job is over")
        return asked.result()

    def _trigger(self, subtask: SubtaskId, barrier: Barrier) -> None:
        execution = self._executions[subtask]
        if execution.handle is None or execution.state is not SubtaskState.RUNNING:
            error = CheckpointFailedError(
                Reason.TRIGGER_CHECKPOINT_FAILURE, f"{subtask} is {execution.state.value}."
            )
            self._coordinator.triggering_failed(barrier.checkpoint_id, error)
            self.act()
        else:
            execution.handle.trigger_checkpoint(barrier)

    # -- its end -------------------------------------------------------------------------------------------

    async def _finalize(self, checkpoint: CompletedCheckpoint) -> None:
        try:
            await self._files.write(join(checkpoint.path, METADATA), metadata.encode(checkpoint))
            await self._files.delete(join(checkpoint.path, "_in_progress"))
        except OSError as error:
            self._coordinator.finalize_failed(checkpoint.checkpoint_id, error)
        else:
            self._coordinator.finalized(checkpoint, self._now_ms())
        self.act()

    def _notify_complete(self, checkpoint_id: int, subtasks: Sequence[SubtaskId]) -> None:
        # A lost notice is repeated with the next checkpoint, but after a stop-with-savepoint none follows.
        may_be_lost = self._life.stop is None
        for id in subtasks:
            self._executions.call(id, lambda task: task.notify_complete(checkpoint_id), may_be_lost)
        for holder in self._executions.holders.values():
            holder.notify_complete(checkpoint_id)

    def _notify_aborted(self, checkpoint_id: int, latest_id: int, subtasks: Sequence[SubtaskId]) -> None:
        for id in subtasks:
            self._executions.call(id, lambda task: task.notify_aborted(checkpoint_id, latest_id))
        for holder in self._executions.holders.values():
            holder.notify_aborted(checkpoint_id)

    async def _discard(self, paths: list[str]) -> None:
        with suppress(OSError):  # no checkpoint refers to what is left; the user may delete it
            await discard(self._files, paths)
        self._coordinator.cleaned()
        self.act()

    def _answer(
        self, request: Request, completed: CompletedCheckpoint | None, failed: BaseException | None
    ) -> None:
        stop = self._life.stop
        if stop is not None and request is self._life.stop_request:
            # In the same turn: what fails from now on fails after the savepoint.
            if completed is not None:
                stop.savepoint_created(completed.path)
            else:
                stop.savepoint_failed(failed or JobFailedError("the savepoint failed"))
        answer = self._answers.pop(request, None)
        if answer is None or answer.done():
            return
        if completed is not None:
            answer.set_result(completed)
        else:
            answer.set_exception(failed or JobFailedError("the checkpoint failed"))
            answer.exception()  # the caller may have stopped waiting
