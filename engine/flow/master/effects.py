"""Carry out what the checkpoint coordinator decides, and report to it what came of that.

The coordinator neither waits nor communicates: it returns effects (`checkpoint.effects`). Files and hooks
take time, so they run in background tasks; each reports to the coordinator in a turn of its own. Whatever an
effect raises is reported, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from pravega_lab.portable.waiting import FIRST_COMPLETED, wait

from ..calling import call
from ..cancelling import is_failure, is_interrupt
from ..checkpoint import effects as do
from ..checkpoint import metadata
from ..checkpoint.coordinator import CheckpointCoordinator
from ..checkpoint.handles import CompletedCheckpoint
from ..checkpoint.pending import Request
from ..checkpoint.storage import IN_PROGRESS, METADATA, CheckpointLayout, discard, gathered
from ..elements import Barrier, SubtaskId
from ..errors import CheckpointFailedError, JobCancelledError, JobFailedError, Reason
from ..files import Files, join
from ..source.master_hook import MasterHook
from ..subtask_states import SubtaskState
from ..task.channels import Wire
from .executions import Executions
from .failure_log import FailureLog
from .hooks import MasterHooks, encode_state
from .lifecycle import JobLife

_log = logging.getLogger(__name__)


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
        self._failures = FailureLog(coordinator.graph.name)
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

    # -- every effect --------------------------------------------------------------------------------------

    def _act(self, effect: do.Effect) -> None:
        self._attempt(effect, lambda: self._carry_out(effect))

    def _attempt(self, effect: do.Effect, call: Callable[[], None]) -> None:
        """Make a call for an effect, and report what it raises."""
        try:
            call()
        except BaseException as error:
            if is_interrupt(error):
                raise
            self._failed(effect, error)

    def _in_background(self, effect: do.Effect, work: Coroutine[None, None, None], what: str) -> None:
        """Do work for an effect in a background task, and report what it raises."""

        async def run() -> None:
            try:
                await work
            except BaseException as error:
                if not is_failure(error):
                    raise
                self._failed(effect, error)
            self.act()

        self._life.in_background(run(), what)

    def _failed(self, effect: do.Effect, error: BaseException) -> None:
        """Report to the coordinator that an effect failed, whatever was raised. A checkpoint without a
        report would stay pending for ever, and no later one would begin.
        """
        match effect:
            case do.AllocateId():
                self._coordinator.triggering_failed(None, error)
            case do.PrepareLocation(checkpoint_id) | do.AskCoordinators(checkpoint_id):
                self._coordinator.triggering_failed(checkpoint_id, error)
            case do.AskHooks(checkpoint_id) | do.TriggerTask(_, checkpoint_id):
                self._coordinator.triggering_failed(checkpoint_id, error)
            case do.Finalize(checkpoint):
                self._coordinator.finalize_failed(checkpoint, error)
            case do.Discard():
                self._coordinator.cleaned()  # no checkpoint refers to what is left; the user may delete it
            case do.NotifyComplete() | do.NotifyAborted() | do.OpenGates():
                # In the next turn: an answer to a request that comes after this effect is given first.
                asyncio.get_running_loop().call_soon(self._fail_later, error)
            case do.FailJob() | do.Answer():
                raise error

    def _fail_later(self, error: BaseException) -> None:
        self._fail_job(error)
        self.act()

    def _carry_out(self, effect: do.Effect) -> None:
        match effect:
            case do.AllocateId(request):
                self._in_background(effect, self._allocate_id(request), "id")
            case do.PrepareLocation(checkpoint_id, target):
                self._in_background(effect, self._prepare_location(checkpoint_id, target), "location")
            case do.AskCoordinators(checkpoint_id, operators):
                for name in operators:
                    holder = self._executions.holders[name]
                    holder.checkpoint(checkpoint_id, self._coordinator_done(checkpoint_id, name))
            case do.AskHooks(checkpoint_id, timestamp_ms, hooks):
                for name in hooks:
                    self._ask_hook(effect, checkpoint_id, timestamp_ms, name)
            case do.TriggerTask(subtask):
                self._wire.call(f"master>{subtask}", self._trigger, effect, may_be_lost=True)
            case do.Finalize(checkpoint):
                self._in_background(effect, self._finalize(checkpoint), "metadata")
            case do.NotifyComplete(checkpoint_id, subtasks):
                self._notify_complete(checkpoint_id, subtasks)
            case do.NotifyAborted(checkpoint_id, latest_id, subtasks):
                self._notify_aborted(checkpoint_id, latest_id, subtasks)
            case do.OpenGates(checkpoint_id):
                for holder in self._executions.holders.values():
                    holder.open_gates(checkpoint_id)
            case do.Discard(paths):
                self._in_background(effect, self._discard(list(paths)), "discard")
            case do.FailJob(error):
                self._fail_job(error)
            case do.Answer(request, completed, failed):
                self._answer(request, completed, failed)

    # -- the beginning of a checkpoint ---------------------------------------------------------------------

    async def _allocate_id(self, request: Request) -> None:
        number, self.next_id = self.next_id, self.next_id + 1
        self._coordinator.id_allocated(request, number, self._now_ms())

    async def _prepare_location(self, checkpoint_id: int, target: str | None) -> None:
        folder = self._layout.of_checkpoint(checkpoint_id) if target is None else target
        await self._files.write(join(folder, IN_PROGRESS), b"")
        self._coordinator.location_ready(checkpoint_id, folder)

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

    def _ask_hook(self, effect: do.AskHooks, checkpoint_id: int, timestamp_ms: int, name: str) -> None:
        hook = self._hooks[name]
        waits = hook.trigger_checkpoint(checkpoint_id, timestamp_ms)
        if waits is None:
            self._coordinator.hook_acknowledged(checkpoint_id, name, None)
        else:
            self._in_background(effect, self._await_hook(checkpoint_id, hook, waits), f"hook {name}")

    async def _await_hook(self, checkpoint_id: int, hook: MasterHook, waits: Awaitable[Any]) -> None:
        value = await self._unless_over(waits)
        state = None if value is None else encode_state(hook, value)
        self._coordinator.hook_acknowledged(checkpoint_id, hook.identifier, state)

    async def _unless_over(self, waits: Awaitable[Any]) -> Any:
        """Await ``waits``, but at most until the job is over: a hook that never ends must not keep it."""
        asked = asyncio.ensure_future(waits)
        over = asyncio.ensure_future(self._life.over.wait())
        await wait([asked, over], return_when=FIRST_COMPLETED)
        over.cancel()
        if not asked.done():
            asked.cancel()
            raise JobCancelledError("the job is over")
        return await call(asked.result)

    def _trigger(self, effect: do.TriggerTask) -> None:
        self._attempt(effect, lambda: self._call_trigger(effect))
        self.act()

    def _call_trigger(self, effect: do.TriggerTask) -> None:
        execution = self._executions[effect.subtask]
        if execution.handle is None or execution.state is not SubtaskState.RUNNING:
            raise CheckpointFailedError(
                Reason.TRIGGER_CHECKPOINT_FAILURE, f"{effect.subtask} is {execution.state.value}."
            )
        execution.handle.trigger_checkpoint(
            Barrier(effect.checkpoint_id, effect.timestamp_ms, effect.options)
        )

    # -- its end -------------------------------------------------------------------------------------------

    async def _finalize(self, checkpoint: CompletedCheckpoint) -> None:
        written = await gathered(self._files, checkpoint) if checkpoint.kind.is_savepoint else checkpoint
        await self._files.write(join(checkpoint.path, METADATA), metadata.encode(written))
        try:
            await self._files.delete(join(checkpoint.path, IN_PROGRESS))
        except BaseException as error:
            if not is_failure(error):
                raise
            # The metadata is there, so the checkpoint is complete: it could be restored.
            _log.warning("%s keeps its file _in_progress", checkpoint.path, exc_info=error)
        self._coordinator.finalized(checkpoint, self._now_ms())

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
        await discard(self._files, paths)
        self._coordinator.cleaned()

    def _answer(
        self, request: Request, completed: CompletedCheckpoint | None, failed: BaseException | None
    ) -> None:
        if failed is not None and failed is self._coordinator.newest_tolerated:
            self._failures.checkpoint(self._coordinator.failures.in_a_row, failed, self._now_ms())
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
