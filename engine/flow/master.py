"""The job master: deploys subtasks, does what the checkpoint coordinator decides, and recovers from failures.

All of it runs on one event loop, a turn at a time; what takes time (files, hooks, coordinators) runs
beside and reports back. `job.Job` is its face. Source: Flink's `DefaultScheduler`,
`RestartPipelinedRegionFailoverStrategy`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from pravega_lab.engine.flow import effects as do
from pravega_lab.engine.flow import metadata, plain
from pravega_lab.engine.flow.channels import Wire
from pravega_lab.engine.flow.config import JobConfig
from pravega_lab.engine.flow.coordinator import CheckpointConfig, CheckpointCoordinator
from pravega_lab.engine.flow.deployment import Deployer, RestorePlan, plan_restore
from pravega_lab.engine.flow.elements import Barrier, SubtaskId
from pravega_lab.engine.flow.errors import (
    IllegalStateError,
    JobCancelledError,
    JobFailedError,
    RestoreError,
    StopWithSavepointStoppingError,
)
from pravega_lab.engine.flow.failures import CheckpointFailedError, Reason
from pravega_lab.engine.flow.files import Files, join
from pravega_lab.engine.flow.gate import CoordinatorHolder
from pravega_lab.engine.flow.graph import JobGraph, JobVertex, hook_ids
from pravega_lab.engine.flow.handles import CompletedCheckpoint, MasterState
from pravega_lab.engine.flow.hooks import MasterHook
from pravega_lab.engine.flow.hosting import Home, Running, TaskDeployer, TaskHandle, TaskHost
from pravega_lab.engine.flow.life import SubtaskState as Life
from pravega_lab.engine.flow.life import check_move
from pravega_lab.engine.flow.observer import (
    JobStateChanged,
    Observer,
    Restored,
    SubtaskStateChanged,
)
from pravega_lab.engine.flow.operator_coordinator import NO_CHECKPOINT
from pravega_lab.engine.flow.pending import Request
from pravega_lab.engine.flow.plan import CheckpointPlan, TaskAck, check_finished_graph, compute_plan
from pravega_lab.engine.flow.source_events import BarrierTaken
from pravega_lab.engine.flow.stop import StopState, StopWithSavepoint
from pravega_lab.engine.flow.storage import METADATA, CheckpointLayout, discard
from pravega_lab.engine.flow.subtask import Subtask, SubtaskSettings


@dataclass(eq=False)
class Execution:
    """The newest attempt of a subtask."""

    attempt: int = -1
    state: Life = Life.CREATED
    handle: TaskHandle | None = None
    running: Running | None = None

    @property
    def subtask(self) -> Subtask | None:
        """The subtask itself, if it is in this process."""
        return self.handle if isinstance(self.handle, Subtask) else None


@dataclass(frozen=True)
class _CoordinatorContext:
    operator_id: str
    current_parallelism: int
    now_ms: Callable[[], int]
    fail_job: Callable[[BaseException], None]


class JobMaster:
    """One job from start to end."""

    def __init__(
        self,
        graph: JobGraph,
        config: JobConfig,
        *,
        files: Files,
        wire: Wire,
        host: TaskHost,
        observer: Observer,
        now_ms: Callable[[], int],
        unique_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        job_id: str | None = None,
        home: Home | None = None,
    ) -> None:
        self.graph, self.config, self.files, self.wire, self._host = graph, config, files, wire, host
        self._observer, self.now_ms = observer, now_ms
        self.job_id = job_id or unique_id()
        self.state = "created"
        self.failure: BaseException | None = None
        self._over = asyncio.Event()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.executions = {subtask: Execution() for subtask in graph.subtasks()}
        self.layout = CheckpointLayout(config.folder, self.job_id)
        self.hooks = _make_hooks(graph)
        self.holders = self._make_holders()
        self.coordinator = CheckpointCoordinator(
            graph,
            config.checkpoints or CheckpointConfig(),
            make_plan=self._plan,
            coordinators=list(self.holders),
            hooks=list(self.hooks),
            observer=observer,
            history=config.history,
        )
        local = Deployer(
            graph,
            wire,
            self,
            observer,
            now_ms,
            unique_id,
            config.channel_capacity,
            config.exactly_once,
            SubtaskSettings(
                files,
                self.layout.shared,
                config.checkpoints is not None,
                config.after_tasks_finish,
                config.history,
            ),
        )
        self._deployer: TaskDeployer = local if home is None else home.deployer(local)
        self._restart = config.fresh_restart()
        self._answers: dict[Request, asyncio.Future[CompletedCheckpoint]] = {}
        self._next_id = 1
        self._timer: asyncio.TimerHandle | None = None
        self._beside: list[asyncio.Task[None]] = []
        self._to_recover: dict[str, None] = {}  # vertices whose region failed
        self._recover_all = False
        self._recovery: asyncio.Task[None] | None = None
        self._initial: CompletedCheckpoint | None = None
        self.stop: StopWithSavepoint | None = None
        self.stop_request: Request | None = None
        self.on_stop_ended: Callable[[], None] = lambda: None

    def _make_holders(self) -> dict[str, CoordinatorHolder]:
        holders = {}
        for vertex, operator in self.graph.operators():
            make = operator.node.make_coordinator
            if make is not None:
                name = vertex.name
                context = _CoordinatorContext(
                    operator.operator_id, vertex.parallelism, self.now_ms, self.fail_globally
                )
                holders[operator.operator_id] = CoordinatorHolder(
                    context, make, self._transport(name, operator.operator_id)
                )
        return holders

    # -- start and end -------------------------------------------------------------------------------------

    async def start(self, restore: CompletedCheckpoint | None) -> None:
        """
        Raises:
            RestoreError: the checkpoint does not fit the job.
            JobCancelledError: it was cancelled meanwhile; nothing was deployed.
        """
        self._initial = restore
        if restore is not None:
            check_finished_graph(self.graph, restore)
            if not self.config.allow_non_restored_state:
                _check_forms(self.graph, restore)
            self._next_id = restore.checkpoint_id + 1
        plan = self._restore_plan(restore)
        await self._restore_hooks(restore)
        if self.state != "created":
            raise JobCancelledError(f"job {self.graph.name!r} was cancelled while it started")
        for name, holder in self.holders.items():
            if restore is not None:
                data = restore.operators[name].coordinator if name in restore.operators else None
                holder.coordinator.reset_to_checkpoint(restore.checkpoint_id, data)
            holder.coordinator.start()
        self.coordinator.restored(next_full=restore is not None and not self.config.claim)
        self._tell_restored(restore, self.graph.vertices, is_global=True)
        self._set_state("running")
        self._deploy(self.graph.vertices, plan)
        if self.config.checkpoints is not None:
            self.coordinator.start_scheduler(self.now_ms())
        self.act()
        self._sample_later()

    def _restore_plan(self, checkpoint: CompletedCheckpoint | None) -> RestorePlan:
        return plan_restore(
            self.graph,
            checkpoint,
            owns_files=checkpoint is not self._initial or self.config.claim,
            allow_non_restored_state=self.config.allow_non_restored_state,
        )

    def _set_state(self, state: str, reason: str = "") -> None:
        self.state = state
        self._observer.observe(JobStateChanged(self.now_ms(), state, reason))

    async def _end(self, state: str, failure: BaseException | None) -> None:
        """The job is over; everything beside it ends too."""
        if self.done.done() or self.state in ("finished", "failed", "cancelled"):
            return
        self.failure = failure
        self._set_state(state, str(failure or ""))
        self._over.set()
        self.coordinator.shut_down()
        self.act()
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.gather(*(holder.close() for holder in self.holders.values()), return_exceptions=True)
        for hook in self.hooks.values():
            with suppress(Exception):  # the job is over, whatever the hook says
                await _finished(hook.close())
        while pending := [t for t in self._beside if not t.done() and t is not asyncio.current_task()]:
            await asyncio.wait(pending)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(failure or JobCancelledError("the job is over"))
                answer.exception()
        if not self.done.done():
            self.done.set_result(None)

    async def cancel(self) -> None:
        """Stop everything; nothing is committed that was not."""
        if self.state in ("finished", "failed", "cancelled"):
            return
        self._set_state("cancelling")
        await self._stop_all()
        await self._end("cancelled", JobCancelledError(f"job {self.graph.name!r} was cancelled"))

    # -- deployment ----------------------------------------------------------------------------------------

    def _deploy(self, vertices: Sequence[JobVertex], plan: RestorePlan) -> None:
        ids = [id for vertex in vertices for id in vertex.subtasks]
        for id in ids:
            execution = self.executions[id]
            execution.attempt += 1
            execution.state = Life.CREATED
            self._move(id, Life.SCHEDULED)
            self._move(id, Life.DEPLOYING)
        attempts = {id: self.executions[id].attempt for id in ids}
        for id, (subtask, life) in self._deployer.deploy(vertices, attempts, plan).items():
            execution = self.executions[id]
            execution.handle = subtask
            for holder_id in self._holders_of(id):
                self.holders[holder_id].attempt_ready(id.index, execution.attempt)
            execution.running = self._host.start(f"{id}#{execution.attempt}", life)

    def _holders_of(self, id: SubtaskId) -> list[str]:
        vertex = self.graph.vertex(id.vertex)
        return [o.operator_id for o in vertex.operators if o.operator_id in self.holders]

    def _move(self, id: SubtaskId, state: Life, reason: str = "") -> None:
        execution = self.executions[id]
        check_move(execution.state, state)
        execution.state = state
        self._observer.observe(SubtaskStateChanged(self.now_ms(), id, execution.attempt, state.value, reason))

    # -- what subtasks tell (subtask.MasterGateway) --------------------------------------------------------

    def _lane(self, id: SubtaskId) -> str:
        return f"{id}>master"

    def state_changed(
        self, subtask: SubtaskId, attempt: int, state: Life, error: BaseException | None
    ) -> None:
        self.wire.call(self._lane(subtask), self._state_changed, subtask, attempt, state, error)

    def acknowledge(self, subtask: SubtaskId, attempt: int, checkpoint_id: int, ack: TaskAck) -> None:
        self.wire.call(
            self._lane(subtask), self._acknowledged, subtask, attempt, checkpoint_id, ack, may_be_lost=True
        )

    def decline(
        self, subtask: SubtaskId, attempt: int, checkpoint_id: int, reason: Reason, message: str
    ) -> None:
        args = (subtask, attempt, checkpoint_id, reason, message)
        self.wire.call(self._lane(subtask), self._declined, *args)

    def operator_event(self, subtask: SubtaskId, attempt: int, operator_id: str, event: Any) -> None:
        self.wire.call(self._lane(subtask), self._operator_event, subtask, attempt, operator_id, event)

    def _is_current(self, subtask: SubtaskId, attempt: int) -> bool:
        execution = self.executions[subtask]
        return execution.attempt == attempt and not execution.state.is_terminal

    def _state_changed(
        self, subtask: SubtaskId, attempt: int, state: Life, error: BaseException | None
    ) -> None:
        if not self._is_current(subtask, attempt) or self.executions[subtask].state is Life.CANCELING:
            return
        if state is Life.FAILED and self.executions[subtask].state is Life.DEPLOYING:
            self._move(subtask, Life.INITIALIZING)
        self._move(subtask, state, "" if error is None else str(error))
        if state is Life.FINISHED:
            self._finished(subtask)
        elif state is Life.FAILED:
            self.task_failed(subtask, error or JobFailedError(f"{subtask} failed"))
        self.act()

    def _finished(self, subtask: SubtaskId) -> None:
        for pending in list(self.coordinator.pending.values()):
            if subtask in pending.plan.to_wait_for and subtask not in pending.acks:
                reason = Reason.CHECKPOINT_DECLINED_TASK_CLOSING
                message = "it has finished"
                self.coordinator.decline(subtask, pending.checkpoint_id, reason, message, self.now_ms())
        if all(execution.state is Life.FINISHED for execution in self.executions.values()):
            self.beside(self._all_finished(), "end")

    async def _all_finished(self) -> None:
        failure: BaseException | None = None
        if self.stop is not None and self.stop.state is not StopState.FINAL:
            try:
                self.stop.all_finished()
            except IllegalStateError as error:
                failure = error
            self.on_stop_ended()
        await self._end("finished" if failure is None else "failed", failure)

    def _acknowledged(self, subtask: SubtaskId, attempt: int, checkpoint_id: int, ack: TaskAck) -> None:
        self.coordinator.acknowledge(subtask, checkpoint_id, ack, self.now_ms())
        self.act()

    def _declined(
        self, subtask: SubtaskId, attempt: int, checkpoint_id: int, reason: Reason, message: str
    ) -> None:
        if self._is_current(subtask, attempt):
            self.coordinator.decline(subtask, checkpoint_id, reason, message, self.now_ms())
            self.act()

    def _operator_event(self, subtask: SubtaskId, attempt: int, operator_id: str, event: Any) -> None:
        if not self._is_current(subtask, attempt):
            return
        holder = self.holders[operator_id]
        if isinstance(event, BarrierTaken):
            holder.barrier_taken(subtask.index, event.checkpoint_id)
        else:
            holder.handle_event(subtask.index, attempt, event)

    def _transport(
        self, vertex: str, operator_id: str
    ) -> Callable[[int, int, Any, Callable[[bool], None]], None]:
        def send(index: int, attempt: int, event: Any, confirm: Callable[[bool], None]) -> None:
            id = SubtaskId(vertex, index)

            def deliver() -> None:
                is_there = self._is_current(id, attempt)
                if is_there:
                    subtask = self.executions[id].handle
                    assert subtask is not None
                    subtask.handle_event(operator_id, event)
                confirm(is_there)

            self.wire.call(f"master>{id}", deliver)

        return send

    # -- what the coordinator decides ----------------------------------------------------------------------

    def _plan(self) -> CheckpointPlan:
        states = {id: execution.state for id, execution in self.executions.items()}
        return compute_plan(self.graph, states, after_finish=self.config.after_tasks_finish)

    def ask(self, request: Request) -> asyncio.Future[CompletedCheckpoint]:
        """What becomes of a request."""
        answer: asyncio.Future[CompletedCheckpoint] = asyncio.get_running_loop().create_future()
        self._answers[request] = answer
        self.act()
        return answer

    def beside(self, coro: Coroutine[Any, Any, None], what: str) -> None:
        """Run something that takes time."""
        task = asyncio.get_running_loop().create_task(coro, name=f"master {what}")
        self._beside = [t for t in self._beside if not t.done()]
        self._beside.append(task)

    def act(self) -> None:
        """Do what the coordinator has decided, until it wants nothing more; then wait for its next
        deadline."""
        while effects := self.coordinator.take_effects():
            for effect in effects:
                self._act(effect)
        deadline_ms = self.coordinator.next_deadline_ms()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms is not None and not self.done.done():
            delay_s = max(0, deadline_ms - self.now_ms()) / 1000
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_time)

    def _on_time(self) -> None:
        self.coordinator.on_time(self.now_ms())
        self.act()

    def _act(self, effect: do.Effect) -> None:
        match effect:
            case do.AllocateId(request):
                self.beside(self._allocate_id(request), "id")
            case do.PrepareLocation(checkpoint_id, target):
                self.beside(self._prepare_location(checkpoint_id, target), "location")
            case do.AskCoordinators(checkpoint_id, operators):
                for name in operators:
                    self.holders[name].checkpoint(checkpoint_id, self._coordinator_done(checkpoint_id, name))
            case do.AskHooks(checkpoint_id, timestamp_ms, hooks):
                for name in hooks:
                    self._ask_hook(checkpoint_id, timestamp_ms, name)
            case do.TriggerTask(subtask, checkpoint_id, timestamp_ms, options):
                barrier = Barrier(checkpoint_id, timestamp_ms, options)
                self.wire.call(f"master>{subtask}", self._trigger, subtask, barrier, may_be_lost=True)
            case do.Finalize(checkpoint):
                self.beside(self._finalize(checkpoint), "metadata")
            case do.NotifyComplete(checkpoint_id, subtasks):
                self._notify_complete(checkpoint_id, subtasks)
            case do.NotifyAborted(checkpoint_id, latest_id, subtasks):
                self._notify_aborted(checkpoint_id, latest_id, subtasks)
            case do.AbortTriggering():
                for holder in self.holders.values():
                    holder.open_gates()
            case do.Discard(paths):
                self.beside(self._discard(list(paths)), "discard")
            case do.FailJob(error):
                self.fail_globally(error)
            case do.Answer(request, completed, failed):
                self._answer(request, completed, failed)

    async def _allocate_id(self, request: Request) -> None:
        number, self._next_id = self._next_id, self._next_id + 1
        self.coordinator.id_allocated(request, number, self.now_ms())
        self.act()

    async def _prepare_location(self, checkpoint_id: int, target: str | None) -> None:
        folder = self.layout.of_checkpoint(checkpoint_id) if target is None else target
        try:
            await self.files.write(join(folder, "_in_progress"), b"")
        except OSError as error:
            self.coordinator.triggering_failed(checkpoint_id, error)
        else:
            self.coordinator.location_ready(checkpoint_id, folder)
        self.act()

    def _coordinator_done(
        self, checkpoint_id: int, name: str
    ) -> Callable[[bytes | None, BaseException | None], None]:
        def done(data: bytes | None, error: BaseException | None) -> None:
            if error is not None:
                self.coordinator.triggering_failed(checkpoint_id, error)
            else:
                assert data is not None
                self.coordinator.coordinator_acknowledged(checkpoint_id, name, data)
            self.act()

        return done

    def _ask_hook(self, checkpoint_id: int, timestamp_ms: int, name: str) -> None:
        hook = self.hooks[name]
        try:
            waits = hook.trigger_checkpoint(checkpoint_id, timestamp_ms)
        except Exception as error:
            self.coordinator.triggering_failed(checkpoint_id, error)
            return
        if waits is None:
            self.coordinator.hook_acknowledged(checkpoint_id, name, None)
        else:
            self.beside(self._await_hook(checkpoint_id, hook, waits), f"hook {name}")

    async def _await_hook(self, checkpoint_id: int, hook: MasterHook, waits: Awaitable[Any]) -> None:
        try:
            # A hook that is never done does not keep the job from ending.
            value = await self._unless_over(waits)
            state = None if value is None else _master_state(hook, value)
        except asyncio.CancelledError as error:
            failed = CheckpointFailedError(Reason.TRIGGER_CHECKPOINT_FAILURE, "The hook was cancelled.")
            failed.__cause__ = error
            self.coordinator.triggering_failed(checkpoint_id, failed)
        except Exception as error:
            self.coordinator.triggering_failed(checkpoint_id, error)
        else:
            self.coordinator.hook_acknowledged(checkpoint_id, hook.identifier, state)
        self.act()

    async def _unless_over(self, waits: Awaitable[Any]) -> Any:
        asked = asyncio.ensure_future(waits)
        over = asyncio.ensure_future(self._over.wait())
        await asyncio.wait([asked, over], return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if not asked.done():
            asked.cancel()
            raise JobCancelledError("the job is over")
        return asked.result()

    def _trigger(self, subtask: SubtaskId, barrier: Barrier) -> None:
        execution = self.executions[subtask]
        if execution.handle is None or execution.state is not Life.RUNNING:
            error = CheckpointFailedError(
                Reason.TRIGGER_CHECKPOINT_FAILURE, f"{subtask} is {execution.state.value}."
            )
            self.coordinator.triggering_failed(barrier.checkpoint_id, error)
            self.act()
        else:
            execution.handle.trigger_checkpoint(barrier)

    async def _finalize(self, checkpoint: CompletedCheckpoint) -> None:
        try:
            await self.files.write(join(checkpoint.path, METADATA), metadata.encode(checkpoint))
            await self.files.delete(join(checkpoint.path, "_in_progress"))
        except OSError as error:
            self.coordinator.finalize_failed(checkpoint.checkpoint_id, error)
        else:
            self.coordinator.finalized(checkpoint, self.now_ms())
        self.act()

    def _notify_complete(self, checkpoint_id: int, subtasks: Sequence[SubtaskId]) -> None:
        is_last = self.stop is not None  # after a stop-with-savepoint nobody would say it again
        for id in subtasks:
            self._call_attempt(id, lambda task: task.notify_complete(checkpoint_id), may_be_lost=not is_last)
        for holder in self.holders.values():
            holder.notify_complete(checkpoint_id)

    def _notify_aborted(self, checkpoint_id: int, latest_id: int, subtasks: Sequence[SubtaskId]) -> None:
        for id in subtasks:
            self._call_attempt(id, lambda task: task.notify_aborted(checkpoint_id, latest_id))
        for holder in self.holders.values():
            holder.notify_aborted(checkpoint_id)

    def _call_attempt(
        self, id: SubtaskId, call: Callable[[TaskHandle], None], may_be_lost: bool = False
    ) -> None:
        attempt = self.executions[id].attempt

        def deliver() -> None:
            subtask = self.executions[id].handle
            if self._is_current(id, attempt) and subtask is not None:
                call(subtask)

        self.wire.call(f"master>{id}", deliver, may_be_lost=may_be_lost)

    async def _discard(self, paths: list[str]) -> None:
        with suppress(OSError):  # what is left is unreferred; a person may delete it
            await discard(self.files, paths)
        self.coordinator.cleaned()
        self.act()

    def _answer(
        self, request: Request, completed: CompletedCheckpoint | None, failed: BaseException | None
    ) -> None:
        if self.stop is not None and request is self.stop_request:
            # In the same turn: what fails from now on fails after the savepoint.
            if completed is not None:
                self.stop.savepoint_created(completed.path)
            else:
                self.stop.savepoint_failed(failed or JobFailedError("the savepoint failed"))
        answer = self._answers.pop(request, None)
        if answer is None or answer.done():
            return
        if completed is not None:
            answer.set_result(completed)
        else:
            answer.set_exception(failed or JobFailedError("the checkpoint failed"))
            answer.exception()  # nobody may be asking any more

    # -- recovery ------------------------------------------------------------------------------------------

    def task_failed(self, subtask: SubtaskId, error: BaseException) -> None:
        """Its region fails over."""
        self._fail({subtask.vertex}, error)

    def fail_globally(self, error: BaseException) -> None:
        """Everything fails over, coordinators included."""
        self._recover_all = True
        self._fail(set(), error)

    def _fail(self, vertices: set[str], error: BaseException) -> None:
        if self.state not in ("running", "restarting"):
            return
        if vertices and vertices <= set(self._to_recover):
            return  # its region waits for its restart already
        stop = self.stop
        if stop is not None:
            stop.task_failed(error)
            if stop.fatal is not None:
                self._give_up(stop.fatal)
                return
        delay_ms = None if isinstance(error, RestoreError) else self._restart.delay_ms(self.now_ms())
        if delay_ms is None:
            self._give_up(error)
            return
        self._to_recover.update(dict.fromkeys(vertices))
        self.coordinator.stop_scheduler()
        self.coordinator.abort_all(Reason.TASK_FAILURE, str(error))
        self._set_state("restarting", str(error))
        if self._recovery is None or self._recovery.done():
            self.beside(self._recover(delay_ms), "recovery")
            self._recovery = self._beside[-1]

    def _give_up(self, error: BaseException) -> None:
        if self.state == "failing":
            return
        self._set_state("failing", str(error))
        self.coordinator.abort_all(Reason.JOB_FAILURE, str(error))
        self.beside(self._fail_for_good(error), "failure")

    async def _fail_for_good(self, error: BaseException) -> None:
        await self._stop_all()
        if self.stop is not None:
            self.on_stop_ended()
        if not isinstance(error, StopWithSavepointStoppingError):
            failure: BaseException = JobFailedError(f"job {self.graph.name!r} failed: {error}")
            failure.__cause__ = error
        else:
            failure = error
        await self._end("failed", failure)

    async def _recover(self, delay_ms: int) -> None:
        await asyncio.sleep(delay_ms / 1000)
        while (self._to_recover or self._recover_all) and self.state == "restarting":
            is_global, self._recover_all = self._recover_all, False
            failed, self._to_recover = self._to_recover, {}
            vertices = self._region_of(list(failed)) if not is_global else list(self.graph.vertices)
            await self._stop(vertices, Life.CANCELED)
            if self._recover_all and not is_global:
                self._to_recover.update(failed)
                continue
            try:
                await self._restore(vertices, is_global)
            except Exception as error:
                if self.state == "restarting":
                    self._to_recover.update(failed)
                    self._recover_all |= is_global
                    again_ms = self._restart.delay_ms(self.now_ms())
                    if again_ms is None or isinstance(error, RestoreError):
                        self._give_up(error)
                        return
                    await asyncio.sleep(again_ms / 1000)
        if self.state == "restarting":
            self._set_state("running")
            if self.stop is None or self.stop.state is StopState.FINAL:
                self.coordinator.start_scheduler(self.now_ms())
            self.act()

    def _region_of(self, failed: list[str]) -> list[JobVertex]:
        return [
            vertex
            for region in self.graph.regions()
            if any(vertex.name in failed for vertex in region)
            for vertex in region
        ]

    async def _stop_all(self) -> None:
        """Also a recovery that is under way: what it deployed from here on would belong to nobody, and
        read and write on beside the job's successor."""
        if self._recovery is not None and not self._recovery.done():
            self._recovery.cancel()
            await asyncio.wait([self._recovery])
        await self._stop(self.graph.vertices, Life.CANCELED)

    async def _stop(self, vertices: Sequence[JobVertex], state: Life) -> None:
        """Cancel the attempts of these vertices and wait for them."""
        running = []
        for id in [id for vertex in vertices for id in vertex.subtasks]:
            execution = self.executions[id]
            if execution.state in (Life.DEPLOYING, Life.INITIALIZING, Life.RUNNING):
                self._move(id, Life.CANCELING)
            for name in self._holders_of(id):
                self.holders[name].attempt_failed(id.index, execution.attempt, "the attempt ended")
            if execution.running is not None:
                running.append(execution.running)
        await asyncio.gather(*(task.stop() for task in running))
        for id in [id for vertex in vertices for id in vertex.subtasks]:
            if self.executions[id].state is Life.CANCELING:
                self._move(id, state)

    async def _restore(self, vertices: list[JobVertex], is_global: bool) -> None:
        checkpoint = self.coordinator.store.latest or self._initial
        plan = self._restore_plan(checkpoint)
        await self._restore_hooks(checkpoint, is_global=is_global)
        number = NO_CHECKPOINT if checkpoint is None else checkpoint.checkpoint_id
        if is_global:
            for name, holder in self.holders.items():
                state = None if checkpoint is None else checkpoint.operators.get(name)
                await holder.restart(number, None if state is None else state.coordinator)
        else:
            for id in [id for vertex in vertices for id in vertex.subtasks]:
                for name in self._holders_of(id):
                    self.holders[name].subtask_reset(id.index, number)
        self.coordinator.restored(next_full=False)
        self._tell_restored(checkpoint, vertices, is_global=is_global)
        self._deploy(vertices, plan)

    async def _restore_hooks(self, checkpoint: CompletedCheckpoint | None, *, is_global: bool = True) -> None:
        """Hooks with state first, then the others with None; `reset` when there is no checkpoint."""
        if checkpoint is None:
            if is_global or self.config.history.reset_hooks_in_regions:
                for hook in self.hooks.values():
                    await _finished(hook.reset())
            return
        if not checkpoint.master or not self.hooks:
            return
        unknown = [name for name in checkpoint.master if name not in self.hooks]
        if unknown and not self.config.allow_non_restored_state:
            raise RestoreError(
                f"checkpoint {checkpoint.checkpoint_id} has state of master hook {unknown[0]!r}, which job "
                f"{self.graph.name!r} does not have; drop it with allow_non_restored_state=True"
            )
        read = {}
        for name, state in checkpoint.master.items():
            serializer = self.hooks[name].serializer() if name in self.hooks else None
            if serializer is not None:
                read[name] = serializer.from_bytes(state.version, state.data)
        for name, value in read.items():
            await _finished(self.hooks[name].restore_checkpoint(checkpoint.checkpoint_id, value))
        for name, hook in self.hooks.items():
            if name not in read:
                await _finished(hook.restore_checkpoint(checkpoint.checkpoint_id, None))

    def _tell_restored(
        self, checkpoint: CompletedCheckpoint | None, vertices: Sequence[JobVertex], *, is_global: bool
    ) -> None:
        number = None if checkpoint is None else checkpoint.checkpoint_id
        ids = tuple(id for vertex in vertices for id in vertex.subtasks)
        self._observer.observe(Restored(self.now_ms(), number, ids, is_global))

    # -- samples -------------------------------------------------------------------------------------------

    def _sample_later(self) -> None:
        interval_ms = self.config.sample_interval_ms
        if interval_ms is not None and not self.done.done():
            asyncio.get_running_loop().call_later(interval_ms / 1000, self._sample)

    def _sample(self) -> None:
        self.observe_now()
        self._sample_later()

    def observe_now(self) -> None:
        """Tell the observer what lies where."""
        now_ms = self.now_ms()
        for execution in self.executions.values():
            if execution.handle is not None and not execution.state.is_terminal:
                execution.handle.sample(now_ms)


def _check_forms(graph: JobGraph, checkpoint: CompletedCheckpoint) -> None:
    """Is every position where its source looks for it? A source of another form would begin anew in silence.

    Raises:
        RestoreError: it is not.
    """
    for _, operator in graph.operators():
        if operator.node.check_restored is not None:
            operator.node.check_restored(list(checkpoint.master))
        state = checkpoint.operators.get(operator.operator_id)
        if state is not None and state.coordinator is not None and operator.node.make_coordinator is None:
            raise RestoreError(
                f"checkpoint {checkpoint.checkpoint_id} has state of a coordinator of operator "
                f"{operator.operator_id!r} ({state.name}), which has none in job {graph.name!r}: resume with "
                "the source that it was taken with, or drop the state with allow_non_restored_state=True"
            )


def _make_hooks(graph: JobGraph) -> dict[str, MasterHook]:
    """By identifier; a second one of the same name is left out."""
    made = [op.node.make_hook() for _, op in graph.operators() if op.node.make_hook is not None]
    hooks = [hook for hook in made if hook is not None]
    by_id: dict[str, MasterHook] = {}
    for identifier, hook in zip(hook_ids(hooks), hooks, strict=True):
        by_id.setdefault(identifier, hook)
    return by_id


def _master_state(hook: MasterHook, value: Any) -> MasterState:
    serializer = hook.serializer()
    if serializer is None:
        raise IllegalStateError(
            f"master hook {hook.identifier!r} gave state ({plain.to_bytes(str(value))[:40]!r}) and "
            f"has no serializer"
        )
    return MasterState(hook.identifier, serializer.version, serializer.to_bytes(value))


async def _finished(waits: Awaitable[None] | None) -> None:
    if waits is not None and isawaitable(waits):
        await waits
