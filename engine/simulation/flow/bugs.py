"""Planted bugs of the engine, which the checkers of simulated jobs must find. Production code never reaches
this module.

Each replaces one piece of `engine.flow` while its `planted` block runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...flow.calling import value_of
from ...flow.checkpoint import effects, plan
from ...flow.checkpoint.alignment import AlignedBarriers
from ...flow.checkpoint.coordinator import CheckpointCoordinator
from ...flow.checkpoint.pending import RequestQueue, Stage
from ...flow.checkpoint.plan import TaskAck
from ...flow.checkpoint.storage import CompletedStore
from ...flow.elements import Barrier, CheckpointKind, SubtaskId
from ...flow.errors import CheckpointFailedError
from ...flow.graph.graph import JobGraph
from ...flow.master import executions, failover
from ...flow.master.effects import EffectRunner
from ...flow.master.failover import Failover
from ...flow.master.hooks import MasterHooks
from ...flow.master.master import JobMaster
from ...flow.sink.committers import _LastCheckpoint
from ...flow.sink.two_phase import TwoPhaseCommitOperator
from ...flow.source.coordinator import AssignmentTracker, SourceCoordinator
from ...flow.source.coordinator_holder import CoordinatorHolder
from ...flow.source.event_gate import EventGate, GateState
from ...flow.source.hand_over import HandOver
from ...flow.source.hybrid import HybridSource
from ...flow.source.hybrid_reader import HybridReader
from ...flow.source.input import Rendezvous
from ...flow.source.parquet import ParquetReader
from ...flow.source.source_operator import SourceOperator
from ...flow.state import rescale
from ...flow.state.state import KeyedState
from ...flow.task import deployment
from ...flow.task.channels import Channel
from ...flow.task.lifecycle import FinalCheckpoint
from ...flow.task.subtask import Subtask
from ...flow.task.task_input import GateInput
from ...flow.time.timers import TimerService
from ...flow.time.watermarks import CombinedWatermarks, WatermarkValve
from ..kernel.planted import Bug, Registering, Replacement, registering

FLOW_BUGS: dict[str, Bug] = {}


def _bug(name: str, scenario: str = "flow") -> Registering:
    return registering(FLOW_BUGS, name, scenario)


# -- barriers and snapshots ----------------------------------------------------------------------------------


@_bug("barrier-overtakes")
def _barrier_overtakes() -> list[Replacement]:
    """A barrier overtakes the records in its channel."""
    right = Channel._arrive

    def wrong(self: Channel, element: Any) -> None:
        right(self, element)
        if isinstance(element, Barrier) and not self.is_closed:
            self._queue.rotate(1)

    return [(Channel, "_arrive", wrong)]


@_bug("no-alignment")
def _no_alignment() -> list[Replacement]:
    """A channel continues to deliver after its barrier arrived."""
    return [(AlignedBarriers, "is_blocked", lambda self, channel: False)]


@_bug("first-barrier-is-enough")
def _first_barrier() -> list[Replacement]:
    """The checkpoint is taken with the first barrier, without waiting for the others."""
    return [(AlignedBarriers, "missing", lambda self: ())]


@_bug("ack-before-snapshot")
def _ack_before_snapshot() -> list[Replacement]:
    """A subtask acknowledges before its state is written, and therefore without it."""

    async def wrong(self: Subtask, checkpoint_id: int, options: Any, snapshots: Any, finished: bool) -> None:
        ack = TaskAck({}, self.chain.is_finished, finished)
        self._gateway.acknowledge(self.id, self.attempt, checkpoint_id, ack)

    return [(Subtask, "_write", wrong)]


@_bug("changes-not-noticed")
def _changes_not_noticed() -> list[Replacement]:
    """An incremental snapshot refers to the old file of state that has changed."""
    return [(KeyedState, "changing", lambda self, name, group=None: self.table(name, group))]


@_bug("shared-file-deleted")
def _shared_file_deleted() -> list[Replacement]:
    """Subsuming a checkpoint deletes files that the newer one refers to."""
    right = CompletedStore.add

    def wrong(self: CompletedStore, checkpoint: Any, pending: Any) -> list[str]:
        dropped = [*self.checkpoints, checkpoint][: -self.retain]
        right(self, checkpoint, pending)
        return [path for old in dropped if not old.kind.is_savepoint for path in old.files]

    return [(CompletedStore, "add", wrong)]


@_bug("timers-forgotten")
def _timers_forgotten() -> list[Replacement]:
    """Timers are in the state, but a restore does not set them again."""
    return [(TimerService, "restore", lambda self, *, of_windows: None)]


@_bug("list-state-cut")
def _list_state_cut() -> list[Replacement]:
    """Rescaling keeps only the first element of each subtask's list state."""
    right = rescale.redistribute

    def wrong(state: Any, parallelism: int, max_parallelism: int) -> Any:
        cut = {
            index: replace(
                part, lists={n: replace(held, elements=held.elements[:1]) for n, held in part.lists.items()}
            )
            for index, part in state.subtasks.items()
        }
        return right(replace(state, subtasks=cut), parallelism, max_parallelism)

    return [(deployment, "redistribute", wrong)]


@_bug("rows-that-do-not-fit")
def _rows_that_do_not_fit() -> list[Replacement]:
    """The part of a batch for which its channel has no room is dropped."""

    async def wrong(self: Subtask, channel: Channel, batch: Any) -> None:
        while channel.room <= 0:
            self._room.clear()
            await self._room.wait()
        channel.put(batch.slice(0, min(channel.room, batch.num_rows)))

    return [(Subtask, "_put", wrong)]


# -- coordinator ---------------------------------------------------------------------------------------------


@_bug("tasks-before-hooks")
def _tasks_before_hooks() -> list[Replacement]:
    """Tasks are triggered before hooks and coordinators have acknowledged."""

    def wrong(self: CheckpointCoordinator, pending: Any) -> None:
        if pending.stage is Stage.COORDINATORS:
            self._ask_hooks(pending)
            self._trigger_tasks(pending)
        else:
            self._maybe_complete(pending)

    return [(CheckpointCoordinator, "_go_on", wrong)]


@_bug("notify-before-metadata")
def _notify_before_metadata() -> list[Replacement]:
    """Tasks are notified of a completed checkpoint before its metadata is written."""
    right = CheckpointCoordinator._finalize

    def wrong(self: CheckpointCoordinator, pending: Any) -> None:
        right(self, pending)
        self._effects.append(effects.NotifyComplete(pending.checkpoint_id, pending.plan.to_wait_for))

    return [(CheckpointCoordinator, "_finalize", wrong)]


@_bug("aborted-trigger-left-pending")
def _aborted_left_pending() -> list[Replacement]:
    """A checkpoint that is aborted while hooks are asked leaves the coordinator triggering (FLINK-26394)."""
    right = CheckpointCoordinator._abort

    def wrong(self: CheckpointCoordinator, pending: Any, *args: Any) -> None:
        triggering, is_current = self._triggering, self._current is pending
        self._current = None if is_current else self._current
        right(self, pending, *args)
        if is_current:
            self._triggering = triggering

    return [(CheckpointCoordinator, "_abort", wrong)]


@_bug("finished-not-counted")
def _finished_not_counted() -> list[Replacement]:
    """A checkpoint waits for subtasks that had finished before it."""
    right = plan.compute_plan

    def wrong(*args: Any, **options: Any) -> Any:
        made = right(*args, **options)
        return replace(made, to_wait_for=(*made.to_wait_for, *made.finished))

    return [(executions, "compute_plan", wrong)]


@_bug("oldest-restored")
def _oldest_restored() -> list[Replacement]:
    """A failure sends the job back to the oldest retained checkpoint."""
    oldest = property(lambda self: self.checkpoints[0] if self.checkpoints else None)
    return [(CompletedStore, "latest", oldest)]


@_bug("hooks-not-reset")
def _hooks_not_reset() -> list[Replacement]:
    """Hooks are not reset when there is no checkpoint to restore (FLINK-20222, in global recovery too)."""
    right = MasterHooks.restore
    started: list[MasterHooks] = []

    async def wrong(self: MasterHooks, checkpoint: Any, **options: Any) -> None:
        is_start = not any(self is one for one in started)
        started.append(self)
        if checkpoint is not None or is_start:
            await right(self, checkpoint, **options)

    return [(MasterHooks, "restore", wrong)]


@_bug("recovery-outlives-cancel")
def _recovery_outlives_cancel() -> list[Replacement]:
    """A job that is cancelled during its recovery still deploys its subtasks."""

    async def wrong(self: Failover) -> None:
        await self._executions.stop(self._graph.subtasks())

    return [(Failover, "stop_all", wrong)]


@_bug("region-of-whole-vertices")
def _region_of_whole_vertices() -> list[Replacement]:
    """A failed subtask restarts whole vertices, so parallel lines of pointwise edges restart together."""

    def wrong(self: JobGraph, subtask: SubtaskId) -> tuple[SubtaskId, ...]:
        regions = [region for region in self.regions() if subtask.vertex in {id.vertex for id in region}]
        return tuple(id for region in regions for id in region)

    return [(JobGraph, "region_of", wrong)]


@_bug("region-of-one-subtask")
def _region_of_one_subtask() -> list[Replacement]:
    """A failed subtask restarts alone, without the subtasks that it exchanges records with."""
    return [(JobGraph, "region_of", lambda self, subtask: (subtask,))]


@_bug("coordinators-not-restored")
def _coordinators_not_restored() -> list[Replacement]:
    """After a global failure, enumerators restart without their state."""
    right = CoordinatorHolder.restart

    async def wrong(self: CoordinatorHolder, checkpoint_id: int, data: bytes | None, **options: Any) -> None:
        await right(self, -1, None, **options)

    return [(CoordinatorHolder, "restart", wrong)]


@_bug("checkpoint-before-restart")
def _checkpoint_before_restart() -> list[Replacement]:
    """A checkpoint may begin during the restart delay, when the subtasks that will be stopped still run."""

    def wrong(self: JobMaster) -> Any:
        return self.executions.plan_checkpoint(after_finish=self.config.after_tasks_finish)

    return [(JobMaster, "_plan_checkpoint", wrong)]


@_bug("only-os-errors-reported")
def _only_os_errors() -> list[Replacement]:
    """What an effect of the coordinator raises is reported only if it is an OSError."""
    right = EffectRunner._failed

    def wrong(self: EffectRunner, effect: Any, error: BaseException) -> None:
        if isinstance(error, OSError | CheckpointFailedError):
            right(self, effect, error)

    return [(EffectRunner, "_failed", wrong)]


@_bug("older-request-gives-way")
def _older_gives_way() -> list[Replacement]:
    """A full queue drops the older of two periodic requests."""
    right = RequestQueue.add

    def wrong(self: RequestQueue, request: Any) -> Any:
        is_full = len(self._requests) >= self._most and self._requests[-1].is_periodic
        evicted = self._requests.pop() if is_full else None
        return right(self, request) or evicted

    return [(RequestQueue, "add", wrong)]


# -- event gates and operator coordinators -------------------------------------------------------------------


@_bug("gate-closes-after-abort")
def _gate_closes_after_abort() -> list[Replacement]:
    """A coordinator's part that is taken after its checkpoint was aborted closes the event gates for good."""

    def wrong(self: EventGate, checkpoint_id: int) -> bool:
        self._states[checkpoint_id] = GateState.CLOSED
        self._waiting.setdefault(checkpoint_id, [])
        return True

    return [(EventGate, "close", wrong)]


@_bug("calls-before-start-kept")
def _calls_before_start() -> list[Replacement]:
    """A source coordinator keeps calls that come before its start, instead of refusing them."""
    return [(SourceCoordinator, "_check_started", lambda self: None)]


@_bug("gateway-ahead-of-the-lane")
def _gateway_ahead() -> list[Replacement]:
    """A new attempt has its gateway before requests of earlier attempts have run, and gets their splits."""

    def wrong(self: SourceCoordinator, subtask: int, attempt: int, gateway: Any) -> None:
        self._gateways[subtask] = gateway

    return [(SourceCoordinator, "execution_attempt_ready", wrong)]


# -- splits --------------------------------------------------------------------------------------------------


@_bug("split-assigned-twice")
def _split_assigned_twice() -> list[Replacement]:
    """The tracker keeps splits of completed checkpoints, so those of a reset subtask are assigned again."""

    def everything(self: AssignmentTracker, subtask: int, restored_id: int) -> list[Any]:
        back = [s for by in self._by_checkpoint.values() for s in by.pop(subtask, [])]
        return back + self._new.pop(subtask, [])

    return [
        (AssignmentTracker, "completed", lambda self, checkpoint_id: None),
        (AssignmentTracker, "take_back", everything),
    ]


@_bug("splits-not-given-back")
def _splits_not_given_back() -> list[Replacement]:
    """Splits that a failed subtask was assigned since its checkpoint are lost."""
    return [(AssignmentTracker, "take_back", lambda self, subtask, restored_id: [])]


@_bug("reader-state-not-kept")
def _reader_state() -> list[Replacement]:
    """The snapshot of a reader does not contain its splits."""

    async def wrong(self: SourceOperator, checkpoint_id: int) -> None:
        self._state.clear()

    return [(SourceOperator, "snapshot_state", wrong)]


@_bug("reader-does-not-wait")
def _reader_does_not_wait() -> list[Replacement]:
    """A reader that reaches a checkpoint's position first continues to read until the trigger arrives
    (FLINK-25256).
    """
    right = Rendezvous.reader_reports

    def wrong(self: Rendezvous, checkpoint_id: int) -> Any:
        barrier = right(self, checkpoint_id)
        self.blocked_on = None
        return barrier

    return [(Rendezvous, "reader_reports", wrong)]


# -- from files to a stream ----------------------------------------------------------------------------------


@_bug("hand-over-to-the-first")
def _hand_over_to_the_first() -> list[Replacement]:
    """The next source begins when the first reader has finished the files, and not when all have."""
    right = HandOver.finished

    def wrong(self: HandOver, subtask: int, stage: int, readers: int) -> bool:
        return right(self, subtask, stage, 1)

    return [(HandOver, "finished", wrong)]


@_bug("waiting-splits-not-kept")
def _waiting_splits_not_kept() -> list[Replacement]:
    """The snapshot of a reader that waits for its source to begin does not contain its splits."""
    right = HybridReader.snapshot_state

    def wrong(self: HybridReader, checkpoint_id: int) -> Any:
        return [] if self._reader is None else right(self, checkpoint_id)

    return [(HybridReader, "snapshot_state", wrong)]


@_bug("hand-over-forgotten", "files")
def _hand_over_forgotten() -> list[Replacement]:
    """A restored job begins with the first source again, although its checkpoint is of a later one."""

    def wrong(self: HybridSource, context: Any, checkpoint: Any) -> Any:
        return self.create_enumerator(context)

    return [(HybridSource, "restore_enumerator", wrong)]


@_bug("returned-files-forgotten", "files")
def _returned_files_forgotten() -> list[Replacement]:
    """Row groups that a failed subtask returns after the hand-over are forgotten."""

    def wrong(self: HandOver, stage: int) -> list[Any]:
        self.returned.clear()
        return []

    return [(HandOver, "take_returned", wrong)]


@_bug("rows-of-group-again", "files")
def _rows_of_group_again() -> list[Replacement]:
    """The snapshot of a reader of files has its row group without the rows that it had emitted."""

    def wrong(self: ParquetReader, checkpoint_id: int) -> list[Any]:
        return [replace(split, position=0) for split in self.splits]

    return [(ParquetReader, "snapshot_state", wrong)]


# -- two-phase commit ----------------------------------------------------------------------------------------


@_bug("commit-on-abort")
def _commit_on_abort() -> list[Replacement]:
    """A sink commits when its checkpoint is aborted."""

    def wrong(self: TwoPhaseCommitOperator, checkpoint_id: int) -> Any:
        return self.notify_checkpoint_complete(checkpoint_id)

    return [(TwoPhaseCommitOperator, "notify_checkpoint_aborted", wrong)]


@_bug("pending-not-in-state")
def _pending_not_in_state() -> list[Replacement]:
    """The snapshot does not contain pre-committed transactions."""
    right = TwoPhaseCommitOperator.snapshot_state

    async def wrong(self: TwoPhaseCommitOperator, checkpoint_id: int) -> None:
        await right(self, checkpoint_id)
        self._state[:] = [(current, [], user) for current, _, user in self._state]

    return [(TwoPhaseCommitOperator, "snapshot_state", wrong)]


@_bug("pending-aborted-at-restore")
def _pending_aborted() -> list[Replacement]:
    """A restored sink aborts pre-committed transactions."""

    async def wrong(self: TwoPhaseCommitOperator, transaction: Any, begun_ms: int) -> None:
        await value_of(self.sink.recover_and_abort(transaction))

    return [(TwoPhaseCommitOperator, "_recover", wrong)]


@_bug("last-commit-too-early")
def _last_commit_too_early() -> list[Replacement]:
    """After the end of the input a committer commits everything with any checkpoint, also with one that was
    taken before the end.
    """

    def wrong(self: _LastCheckpoint, checkpoint_id: int) -> bool:
        return self._has_ended

    return [(_LastCheckpoint, "is_covered_by", wrong)]


# -- finishing -----------------------------------------------------------------------------------------------


@_bug("no-final-checkpoint")
def _no_final() -> list[Replacement]:
    """A subtask closes at the end of its data, without a final checkpoint."""
    return [(FinalCheckpoint, "may_close", property(lambda self: True))]


@_bug("consumer-closes-first")
def _consumer_closes_first() -> list[Replacement]:
    """A subtask closes although a subtask that feeds it has not closed."""
    return [(GateInput, "has_ended", property(lambda self: True))]


@_bug("earlier-checkpoint-is-final")
def _earlier_is_final() -> list[Replacement]:
    """A checkpoint that began before the end of the data counts as the final one."""

    def wrong(self: FinalCheckpoint, checkpoint_id: int) -> None:
        self._has_completed |= self.has_data_ended

    return [(FinalCheckpoint, "completed", wrong)]


@_bug("drain-flag-lost")
def _drain_flag_lost() -> list[Replacement]:
    """A subtask ignores the drain flag of the end of data on its first channel."""
    right = GateInput._end_channel

    async def wrong(self: GateInput, index: int, drain: bool) -> None:
        await right(self, index, drain and index != 0)

    return [(GateInput, "_end_channel", wrong)]


@_bug("suspend-drains")
def _suspend_drains() -> list[Replacement]:
    """Stop-with-savepoint without drain still finishes the operators."""

    async def wrong(self: Subtask, barrier: Any) -> None:
        self.final.expect_savepoint(barrier.checkpoint_id)
        await self.end_source_data(drain=True)

    return [(Subtask, "stop_source", wrong)]


@_bug("barrier-before-end-of-data")
def _barrier_before_end() -> list[Replacement]:
    """Stop-with-savepoint takes the savepoint first and finishes the operators later (before FLIP-147)."""
    right = Subtask.stop_source

    async def wrong(self: Subtask, barrier: Any) -> None:
        await self.perform(barrier)
        await right(self, barrier)

    return [(Subtask, "stop_source", wrong)]


@_bug("savepoint-is-final-for-all")
def _savepoint_is_final() -> list[Replacement]:
    """With option 1 of FLIP-147, every task takes the savepoint of a stop as its final checkpoint."""
    return [(FinalCheckpoint, "performing", _performing_as_with_option_2)]


def _performing_as_with_option_2(self: FinalCheckpoint, checkpoint_id: int, kind: CheckpointKind) -> None:
    if kind.is_synchronous:
        self.expect_savepoint(checkpoint_id)
    if self.has_data_ended and self._min_id is None:
        self._min_id = checkpoint_id


@_bug("finished-runs-again")
def _finished_runs_again() -> list[Replacement]:
    """Operators that had finished in the restored checkpoint run again."""
    right = deployment.plan_restore

    def wrong(*args: Any, **options: Any) -> Any:
        made = right(*args, **options)
        made.finished.clear()
        made.finished_operators.clear()
        return made

    return [(failover, "plan_restore", wrong)]


@_bug("fastest-watermark")
def _fastest_watermark() -> list[Replacement]:
    """A subtask uses the highest watermark of its channels as its own."""

    def wrong(self: WatermarkValve | CombinedWatermarks, channel: int, watermark: Any) -> list[Any]:
        return list(self._tell(watermark.timestamp_ms))

    return [(WatermarkValve, "watermark", wrong), (CombinedWatermarks, "watermark", wrong)]
