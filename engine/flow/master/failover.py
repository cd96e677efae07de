"""Decide what restarts after a failure, restore it, and give up when the restart strategy does.

Source: Flink's `RestartPipelinedRegionFailoverStrategy`, `DefaultScheduler` (flink.md 2.6, 5.4).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection

from pravega_lab.portable.waiting import wait

from ..cancelling import ends_program, is_request_to_end, message_of
from ..checkpoint.coordinator import CheckpointCoordinator
from ..checkpoint.handles import CompletedCheckpoint
from ..elements import SubtaskId
from ..errors import (
    DamagedCheckpointError,
    JobFailedError,
    LostTransactionError,
    Reason,
    RestoreError,
    StopWithSavepointStoppingError,
    StuckSubtaskError,
)
from ..graph.graph import JobGraph
from ..observer import Observer, Restored
from ..source.operator_coordinator import NO_CHECKPOINT
from ..task.deployment import RestorePlan, plan_restore
from .config import JobConfig
from .executions import Executions
from .failure_log import FailureLog
from .hooks import MasterHooks
from .job_state import JobState
from .lifecycle import JobLife

_log = logging.getLogger(__name__)
# Each restart would restore the same checkpoint, and fail in the same way.
_FINAL = (RestoreError, DamagedCheckpointError, LostTransactionError)


class Failover:
    """Recovers one job.

    A failed subtask takes its region back to the latest checkpoint; a failure of the job takes every subtask
    and the operator coordinators. One recovery runs at a time, and covers failures reported during it.

    ``initial`` is the checkpoint that the job was started from, the one to return to while there is no later
    one. ``act`` carries out the coordinator's effects. ``end`` ends the job with an error.
    """

    def __init__(
        self,
        graph: JobGraph,
        config: JobConfig,
        life: JobLife,
        executions: Executions,
        hooks: MasterHooks,
        coordinator: CheckpointCoordinator,
        observer: Observer,
        *,
        now_ms: Callable[[], int],
        act: Callable[[], None],
        end: Callable[[JobState, BaseException | None], Awaitable[None]],
    ) -> None:
        self.initial: CompletedCheckpoint | None = None
        self._graph, self._config, self._life = graph, config, life
        self._executions, self._hooks, self._coordinator = executions, hooks, coordinator
        self._observer, self._now_ms, self._act, self._end = observer, now_ms, act, end
        self._restart = config.fresh_restart()
        self._failures = FailureLog(graph.name)
        self._to_recover: dict[SubtaskId, None] = {}  # whose region failed
        self._recover_all = False
        self._recovery: asyncio.Task[None] | None = None

    @property
    def target(self) -> CompletedCheckpoint | None:
        """Return the checkpoint to which a failure returns, None if the job would begin again."""
        return self._coordinator.store.latest or self.initial

    # -- failures ------------------------------------------------------------------------------------------

    def task_failed(self, subtask: SubtaskId, error: BaseException) -> None:
        """Restart the region of a subtask."""
        self._fail(subtask, error)

    def fail_globally(self, error: BaseException) -> None:
        """Restart every subtask and every operator coordinator."""
        self._recover_all = True
        self._fail(None, error)

    def _fail(self, subtask: SubtaskId | None, error: BaseException) -> None:
        life = self._life
        if life.state not in (JobState.RUNNING, JobState.RESTARTING):
            return
        if subtask is not None and self._waits_for_restart(subtask):
            return
        if life.stop is not None:
            life.stop.task_failed(error)
            if life.stop.fatal is not None:
                self.give_up(life.stop.fatal)
                return
        delay_ms = None if isinstance(error, _FINAL) else self._restart.delay_ms(self._now_ms())
        if delay_ms is None:
            self.give_up(error)
            return
        self._failures.restart(
            "the job" if subtask is None else str(subtask), error, delay_ms, self._now_ms()
        )
        if subtask is not None:
            self._to_recover[subtask] = None
        self._coordinator.stop_scheduler()
        self._coordinator.abort_all(Reason.TASK_FAILURE, message_of(error))
        life.move(JobState.RESTARTING, message_of(error))
        if self._recovery is None or self._recovery.done():
            self._recovery = life.in_background(self._recover(delay_ms), "recovery")

    def _waits_for_restart(self, subtask: SubtaskId) -> bool:
        """Return whether an earlier failure restarts the subtask, so that its own failure counts for nothing.

        Flink cancels the subtasks before it waits, and so receives no failure of theirs.
        """
        region = self._graph.region_of(subtask)
        return self._recover_all or not self._to_recover.keys().isdisjoint(region)

    def give_up(self, error: BaseException) -> None:
        """Fail the job for good, because of ``error``."""
        if self._life.state is JobState.FAILING:
            return
        self._life.move(JobState.FAILING, message_of(error))
        self._coordinator.abort_all(Reason.JOB_FAILURE, message_of(error))
        self._life.in_background(self._fail_for_good(error), "failure")

    async def _fail_for_good(self, error: BaseException) -> None:
        await self.stop_all()
        self._life.end_stop()
        if not isinstance(error, StopWithSavepointStoppingError):
            hint = self._older_checkpoint() if isinstance(error, DamagedCheckpointError) else ""
            words = f"job {self._graph.name!r} failed: {message_of(error)}{hint}"
            failure: BaseException = JobFailedError(words)
            failure.__cause__ = error
        else:
            failure = error
        await self._end(JobState.FAILED, failure)

    def _older_checkpoint(self) -> str:
        """Return where the job could be resumed, as its latest checkpoint is damaged."""
        begun_from = None if self._config.claim else self.initial  # a claimed one may be deleted by now
        kept = [one for one in (begun_from, *self._coordinator.store.checkpoints) if one]
        if not kept or kept[-1] is self.initial:
            return ""
        *older, latest = kept
        if not older:
            return (
                f". Checkpoint {latest.checkpoint_id} was the only one that the job kept:"
                " CheckpointConfig(retain=2) keeps one more"
            )
        return (
            f". The next older checkpoint is {older[-1].path}: `pravega-lab savepoint inspect` checks it."
            " A job with it as restore_from= reads again what came later, and its sinks commit that again"
        )

    async def stop_all(self) -> None:
        """Cancel a recovery that is under way, then every attempt, and return when they have ended.

        An attempt that does not end in time is logged.

        Subtasks that the recovery deployed later would outlive the job and run concurrently with its
        successor.
        """
        if self._recovery is not None and not self._recovery.done():
            self._recovery.cancel()
            await wait([self._recovery])
        try:
            await self._executions.stop(self._graph.subtasks())
        except StuckSubtaskError as error:
            _log.error("Job %r ends although a subtask still runs: %s", self._graph.name, error)

    # -- recovery ------------------------------------------------------------------------------------------

    async def _recover(self, delay_ms: int) -> None:
        life = self._life
        await asyncio.sleep(delay_ms / 1000)
        while (self._to_recover or self._recover_all) and life.state is JobState.RESTARTING:
            is_global, self._recover_all = self._recover_all, False
            failed, self._to_recover = self._to_recover, {}
            subtasks = self._graph.subtasks() if is_global else self._regions_of(failed)
            try:
                await self._executions.stop(subtasks)
                if self._recover_all and not is_global:
                    self._to_recover.update(failed)
                    continue
                await self._restore(subtasks, is_global)
            except BaseException as error:
                if is_request_to_end(error) or ends_program(error):
                    raise
                if life.state is JobState.RESTARTING:
                    self._to_recover.update(failed)
                    self._recover_all |= is_global
                    again_ms = self._restart.delay_ms(self._now_ms())
                    if again_ms is None or isinstance(error, (*_FINAL, StuckSubtaskError)):
                        self.give_up(error)
                        return
                    self._failures.restart("the recovery", error, again_ms, self._now_ms())
                    await asyncio.sleep(again_ms / 1000)
        if life.state is JobState.RESTARTING:
            life.move(JobState.RUNNING)
            if not life.is_stopping:
                self._coordinator.start_scheduler(self._now_ms())
            self._act()

    def _regions_of(self, failed: Collection[SubtaskId]) -> list[SubtaskId]:
        found = {subtask for one in failed for subtask in self._graph.region_of(one)}
        return [subtask for subtask in self._graph.subtasks() if subtask in found]

    # -- restoring -----------------------------------------------------------------------------------------

    def plan(self, checkpoint: CompletedCheckpoint | None) -> RestorePlan:
        """Return what each subtask restores from ``checkpoint``.

        Raises:
            RestoreError: its state does not fit the job.
        """
        return plan_restore(
            self._graph,
            checkpoint,
            owns_files=checkpoint is not self.initial or self._config.claim,
            allow_non_restored_state=self._config.allow_non_restored_state,
        )

    async def _restore(self, subtasks: list[SubtaskId], is_global: bool) -> None:
        checkpoint = self.target
        plan = self.plan(checkpoint)
        await self._hooks.restore(checkpoint, finished=plan.finished_operators, is_global=is_global)
        number = NO_CHECKPOINT if checkpoint is None else checkpoint.checkpoint_id
        if is_global:
            for name, holder in self._executions.holders.items():
                state = None if checkpoint is None else checkpoint.operators.get(name)
                data = None if state is None else state.coordinator
                await holder.restart(number, data, has_finished=name in plan.finished_operators)
        else:
            for id in subtasks:
                for holder in self._executions.holders_of(id):
                    holder.subtask_reset(id.index, number)
        self._coordinator.restored(next_full=False)
        self.report_restored(checkpoint, subtasks, is_global=is_global)
        self._executions.deploy(subtasks, plan)

    def report_restored(
        self, checkpoint: CompletedCheckpoint | None, subtasks: Collection[SubtaskId], *, is_global: bool
    ) -> None:
        """Report to the observer what the subtasks restore."""
        number = None if checkpoint is None else checkpoint.checkpoint_id
        self._observer.observe(Restored(self._now_ms(), number, tuple(subtasks), is_global))
