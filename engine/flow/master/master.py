"""The job master: builds the parts of a running job, starts and ends it, and takes its subtasks' reports.

Everything runs on one event loop, one turn at a time. `executions` has the attempts of subtasks, `effects`
carries out what the checkpoint coordinator decides, `hooks` calls master hooks, `failover` recovers, and
`lifecycle` has the state, which moves as `job_state` permits. `job.Job` is the interface for user programs.
Source: Flink's `JobMaster`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection
from typing import Any

from pravega_lab.portable.waiting import gather, shield

from ..cancelling import ends_program, message_of
from ..checkpoint.coordinator import CheckpointConfig, CheckpointCoordinator
from ..checkpoint.handles import CompletedCheckpoint
from ..checkpoint.pending import Request
from ..checkpoint.plan import CheckpointPlan, TaskAck, check_finished_graph
from ..checkpoint.stop import StopWithSavepoint
from ..checkpoint.storage import CheckpointLayout
from ..elements import CheckpointKind, SubtaskId
from ..errors import (
    CheckpointFailedError,
    IllegalStateError,
    JobCancelledError,
    JobFailedError,
    Reason,
    RestoreError,
)
from ..files import Files, join
from ..graph.graph import JobGraph
from ..observer import Observer, logged
from ..source.events import BarrierTaken
from ..subtask_states import SubtaskState
from ..task.channels import Wire
from ..task.deployment import Deployer
from ..task.hosting import Home, TaskHost
from ..task.subtask import SubtaskSettings
from .config import JobConfig
from .effects import EffectRunner
from .executions import Executions, make_holders
from .failover import Failover
from .hooks import MasterHooks
from .job_state import JobState
from .lifecycle import JobLife


class JobMaster:
    """One job from start to end. It is the `subtask.MasterGateway` of its subtasks."""

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
        self.graph, self.config, self.now_ms = graph, config, now_ms
        self._wire = wire
        observer = logged(observer)
        self.job_id = job_id or unique_id()
        self.life = JobLife(observer, now_ms)
        self._is_closing = False
        self.executions = Executions(graph, wire, host, observer, now_ms)
        layout = CheckpointLayout(files.absolute(join(config.folder)), self.job_id)
        self.hooks = MasterHooks(
            graph,
            allow_non_restored_state=config.allow_non_restored_state,
            reset_in_regions=config.history.reset_hooks_in_regions,
        )
        self.executions.holders = make_holders(
            graph,
            self.executions,
            now_ms,
            self.fail_globally,
            is_checkpointing=config.checkpoints is not None,
        )
        self.coordinator = CheckpointCoordinator(
            graph,
            config.checkpoints or CheckpointConfig(),
            make_plan=self._plan_checkpoint,
            coordinators=list(self.executions.holders),
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
                layout.shared,
                config.checkpoints is not None,
                config.after_tasks_finish,
                config.end_rules,
                host.take_turn,
            ),
        )
        self.executions.deployer = local if home is None else home.deployer(local)
        self._effects = EffectRunner(
            self.coordinator,
            self.life,
            self.executions,
            self.hooks,
            files=files,
            layout=layout,
            wire=wire,
            now_ms=now_ms,
            fail_job=self.fail_globally,
        )
        self._failover = Failover(
            graph,
            config,
            self.life,
            self.executions,
            self.hooks,
            self.coordinator,
            observer,
            now_ms=now_ms,
            act=self._effects.act,
            end=self._end,
        )

    @property
    def state(self) -> JobState:
        """Return the state of the job."""
        return self.life.state

    @property
    def done(self) -> asyncio.Future[None]:
        """Return a future that is completed when the job and everything that ran for it has ended."""
        return self.life.done

    @property
    def returns_to(self) -> CompletedCheckpoint | None:
        """Return the checkpoint to which a failure returns, None if the job would begin again."""
        return self._failover.target

    def _plan_checkpoint(self) -> CheckpointPlan:
        # During the restart delay the subtasks may still run, but what they take next is thrown away.
        if self.state is not JobState.RUNNING:
            raise CheckpointFailedError(
                Reason.NOT_ALL_REQUIRED_TASKS_RUNNING, f"The job is {self.state.value}."
            )
        return self.executions.plan_checkpoint(after_finish=self.config.after_tasks_finish)

    # -- start and end -------------------------------------------------------------------------------------

    async def start(self, restore: CompletedCheckpoint | None) -> None:
        """Restore ``restore`` if it is given, deploy every subtask, and begin periodic checkpoints.

        A job that cannot start has failed, and everything of it is closed.

        Raises:
            RestoreError: the checkpoint does not fit the job.
            JobCancelledError: the job was cancelled while hooks were restored; nothing was deployed.
            UserFunctionError: an operator cannot be created.
        """
        try:
            await self._start(restore)
        except BaseException as error:
            if ends_program(error):
                raise
            if self.state in (JobState.CREATED, JobState.RUNNING):  # otherwise it is ending already
                self._failover.give_up(error)
                await shield(self.done)
            raise

    async def _start(self, restore: CompletedCheckpoint | None) -> None:
        self._failover.initial = restore
        if restore is not None:
            check_finished_graph(self.graph, restore)
            if not self.config.allow_non_restored_state:
                check_forms(self.graph, restore)
            self._effects.next_id = restore.checkpoint_id + 1
        plan = self._failover.plan(restore)
        await self.hooks.restore(restore, finished=plan.finished_operators)
        if self.state is not JobState.CREATED:
            raise JobCancelledError(f"job {self.graph.name!r} was cancelled while it started")
        self._start_coordinators(restore, plan.finished_operators)
        if restore is not None and self.config.claim:
            self.coordinator.store.claim(restore)
        self.coordinator.restored(next_full=restore is not None and not self.config.claim)
        subtasks = self.graph.subtasks()
        self._failover.report_restored(restore, subtasks, is_global=True)
        self.life.move(JobState.RUNNING)
        self.executions.deploy(subtasks, plan)
        if self.config.checkpoints is not None:
            self.coordinator.start_scheduler(self.now_ms())
        self.act()
        self._sample_later()

    def _start_coordinators(self, restore: CompletedCheckpoint | None, finished: Collection[str]) -> None:
        for name, holder in self.executions.holders.items():
            if name in finished:
                holder.retire()
            elif restore is not None:
                data = restore.operators[name].coordinator if name in restore.operators else None
                holder.coordinator.reset_to_checkpoint(restore.checkpoint_id, data)
            holder.coordinator.start()

    async def _close_coordinators(self) -> None:
        holders = self.executions.holders.values()
        await gather(*(holder.close() for holder in holders), return_exceptions=True)
        await self.hooks.close()

    async def _end(self, state: JobState, failure: BaseException | None) -> None:
        """End the job in ``state`` unless it is over, and everything that runs for it.

        If this call is cancelled, the next one closes what is left.
        """
        life = self.life
        if not self.state.is_terminal:
            life.failure = failure
            life.move(state, str(failure or ""))
            life.over.set()
            self.coordinator.shut_down()
            self.act()
            self._effects.cancel_timer()
        if self._is_closing:
            return
        self._is_closing = True
        try:
            await self._close_coordinators()
            await life.join_background()
        except asyncio.CancelledError:
            self._is_closing = False
            raise
        self._effects.fail_answers(life.failure or JobCancelledError("the job is over"))
        life.done.set_result(None)

    async def cancel(self) -> None:
        """Stop every subtask and end the job. Nothing is committed that was not committed before.

        The job ends even if the caller stops waiting.
        """
        if self.state.is_terminal:
            await shield(self.done)
            return
        self.life.move(JobState.CANCELLING)
        try:
            await self._cancel()
        except asyncio.CancelledError:
            # Not in the background from the start: that would change the order of steps of simulated runs.
            self.life.in_background(self._cancel(), "cancellation")
            raise

    async def _cancel(self) -> None:
        await self._failover.stop_all()
        await self._end(JobState.CANCELLED, JobCancelledError(f"job {self.graph.name!r} was cancelled"))

    # -- reports of subtasks (subtask.MasterGateway) -------------------------------------------------------

    def _lane(self, id: SubtaskId) -> str:
        return f"{id}>master"

    def state_changed(
        self, subtask: SubtaskId, attempt: int, state: SubtaskState, error: BaseException | None
    ) -> None:
        """See `MasterGateway`."""
        self._wire.call(self._lane(subtask), self._state_changed, subtask, attempt, state, error)

    def acknowledge(self, subtask: SubtaskId, attempt: int, checkpoint_id: int, ack: TaskAck) -> None:
        """See `MasterGateway`. The message may be lost, as any acknowledgement may."""
        self._wire.call(
            self._lane(subtask), self._acknowledged, subtask, checkpoint_id, ack, may_be_lost=True
        )

    def decline(
        self, subtask: SubtaskId, attempt: int, checkpoint_id: int, reason: Reason, message: str
    ) -> None:
        """See `MasterGateway`."""
        args = (subtask, attempt, checkpoint_id, reason, message)
        self._wire.call(self._lane(subtask), self._declined, *args)

    def operator_event(self, subtask: SubtaskId, attempt: int, operator_id: str, event: Any) -> None:
        """See `MasterGateway`."""
        self._wire.call(self._lane(subtask), self._operator_event, subtask, attempt, operator_id, event)

    def _state_changed(
        self, subtask: SubtaskId, attempt: int, state: SubtaskState, error: BaseException | None
    ) -> None:
        execution = self.executions[subtask]
        if not self.executions.is_current(subtask, attempt) or execution.state is SubtaskState.CANCELING:
            return
        if state is SubtaskState.FAILED and execution.state is SubtaskState.DEPLOYING:
            self.executions.move(subtask, SubtaskState.INITIALIZING)
        self.executions.move(subtask, state, "" if error is None else message_of(error))
        if state is SubtaskState.FINISHED:
            self._finished(subtask)
        elif state is SubtaskState.FAILED:
            self._failover.task_failed(subtask, error or JobFailedError(f"{subtask} failed"))
        self.act()

    def _finished(self, subtask: SubtaskId) -> None:
        for pending in list(self.coordinator.pending.values()):
            if subtask in pending.plan.to_wait_for and subtask not in pending.acks:
                reason = Reason.CHECKPOINT_DECLINED_TASK_CLOSING
                message = "it has finished"
                self.coordinator.decline(subtask, pending.checkpoint_id, reason, message, self.now_ms())
        if self.executions.have_all_finished:
            self.life.in_background(self._all_finished(), "end")

    async def _all_finished(self) -> None:
        failure: BaseException | None = None
        if self.life.stop is not None and self.life.is_stopping:
            try:
                self.life.stop.all_finished(self._later_than(self.life.stop))
            except IllegalStateError as error:
                failure = error
            self.life.end_stop()
        await self._end(JobState.FINISHED if failure is None else JobState.FAILED, failure)

    def _later_than(self, stop: StopWithSavepoint) -> int | None:
        """Return the last checkpoint if subtasks may wait for it after the savepoint that they stop with."""
        latest = self.coordinator.store.latest
        if self.config.end_rules.ends_with_savepoint or latest is None or latest.path == stop.path:
            return None
        return latest.checkpoint_id

    def _acknowledged(self, subtask: SubtaskId, checkpoint_id: int, ack: TaskAck) -> None:
        self.coordinator.acknowledge(subtask, checkpoint_id, ack, self.now_ms())
        self.act()

    def _declined(
        self, subtask: SubtaskId, attempt: int, checkpoint_id: int, reason: Reason, message: str
    ) -> None:
        if self.executions.is_current(subtask, attempt):
            self.coordinator.decline(subtask, checkpoint_id, reason, message, self.now_ms())
            self.act()

    def _operator_event(self, subtask: SubtaskId, attempt: int, operator_id: str, event: Any) -> None:
        if not self.executions.is_current(subtask, attempt):
            return
        holder = self.executions.holders[operator_id]
        if isinstance(event, BarrierTaken):
            holder.barrier_taken(subtask.index, event.checkpoint_id)
        else:
            holder.handle_event(subtask.index, attempt, event)

    # -- requests ------------------------------------------------------------------------------------------

    def act(self) -> None:
        """Carry out what the coordinator has decided. Call it after every direct call to `coordinator`."""
        self._effects.act()

    def fail_globally(self, error: BaseException) -> None:
        """Restart every subtask and every operator coordinator from the latest checkpoint."""
        self._failover.fail_globally(error)

    def ask(self, request: Request) -> asyncio.Future[CompletedCheckpoint]:
        """Return a future of what comes of a request to the coordinator."""
        return self._effects.ask(request)

    @property
    def stop(self) -> StopWithSavepoint | None:
        """Return the latest stop-with-savepoint, None if there was none."""
        return self.life.stop

    def begin_stop(self, kind: CheckpointKind, target: str) -> asyncio.Future[CompletedCheckpoint]:
        """Begin a stop-with-savepoint into the folder ``target``; return a future of the savepoint.

        Periodic checkpoints stop. `JobLife.stop` and `JobLife.stop_ended` say what follows the savepoint.

        Raises:
            IllegalStateError: another stop-with-savepoint is under way.
        """
        self.life.begin_stop(StopWithSavepoint(self.graph.name))
        self.coordinator.stop_scheduler()
        self.life.stop_request = self.coordinator.request(kind, self.now_ms(), target=target)
        answer = self.ask(self.life.stop_request)
        answer.add_done_callback(self._resume_checkpoints)
        return answer

    def _resume_checkpoints(self, answer: asyncio.Future[CompletedCheckpoint]) -> None:
        """Take periodic checkpoints again if the job runs and the savepoint has failed.

        In option 1 of FLIP-147, every task but the sources waits for another checkpoint after the savepoint.
        """
        has_failed = answer.cancelled() or answer.exception() is not None
        is_needed = has_failed or not self.config.end_rules.ends_with_savepoint
        if is_needed and self.state is JobState.RUNNING:
            self.coordinator.start_scheduler(self.now_ms())
            self.act()

    # -- samples -------------------------------------------------------------------------------------------

    def _sample_later(self) -> None:
        interval_ms = self.config.sample_interval_ms
        if interval_ms is not None and not self.life.done.done():
            asyncio.get_running_loop().call_later(interval_ms / 1000, self._sample)

    def _sample(self) -> None:
        self.observe_now()
        self._sample_later()

    def observe_now(self) -> None:
        """Let every subtask report its throughput and the contents of its channels to the observer."""
        self.executions.sample()


def check_forms(graph: JobGraph, checkpoint: CompletedCheckpoint) -> None:
    """Check that each source finds its position where it looks for it.

    Without this check, a source of another form than the one in the checkpoint would silently start from the
    beginning.

    Raises:
        RestoreError: the checkpoint has positions of another form.
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
