"""Deliberate bugs of the engine, for the checkers of simulated jobs to find. Production code reaches none
of this.

Each replaces one piece of `engine.flow` for as long as its `planted` block lasts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pravega_lab.engine.flow import deployment, master, plan, rescale
from pravega_lab.engine.flow import effects as do
from pravega_lab.engine.flow.alignment import AlignedBarriers
from pravega_lab.engine.flow.channels import Channel
from pravega_lab.engine.flow.coordinator import CheckpointCoordinator
from pravega_lab.engine.flow.elements import Barrier
from pravega_lab.engine.flow.gate import CoordinatorHolder
from pravega_lab.engine.flow.life import FinalCheckpoint
from pravega_lab.engine.flow.life import SubtaskState as Life
from pravega_lab.engine.flow.master import JobMaster
from pravega_lab.engine.flow.pending import Stage
from pravega_lab.engine.flow.plan import TaskAck
from pravega_lab.engine.flow.source_coordinator import AssignmentTracker
from pravega_lab.engine.flow.source_input import Rendezvous, SourceOperator
from pravega_lab.engine.flow.state import KeyedState
from pravega_lab.engine.flow.storage import CompletedStore
from pravega_lab.engine.flow.subtask import Subtask
from pravega_lab.engine.flow.task_input import GateInput
from pravega_lab.engine.flow.timers import TimerService
from pravega_lab.engine.flow.two_phase import TwoPhaseCommitOperator, value_of
from pravega_lab.engine.flow.watermarks import CombinedWatermarks, WatermarkValve
from pravega_lab.engine.simulation.bugs import Bug, Replacement

FLOW_BUGS: dict[str, Bug] = {}


def _bug(name: str) -> Callable[[Callable[[], list[Replacement]]], None]:
    """Registers a function that returns the replacements; its docstring says what is wrong."""

    def register(replacements: Callable[[], list[Replacement]]) -> None:
        what = " ".join((replacements.__doc__ or "").split())
        FLOW_BUGS[name] = Bug(name, what, "flow", "", replacements)

    return register


# -- barriers and snapshots ----------------------------------------------------------------------------------


@_bug("barrier-overtakes")
def _barrier_overtakes() -> list[Replacement]:
    """A barrier goes to the front of its channel, past records."""
    right = Channel._arrive

    def wrong(self: Channel, element: Any) -> None:
        right(self, element)
        if isinstance(element, Barrier) and not self.is_closed:
            self._queue.rotate(1)

    return [(Channel, "_arrive", wrong)]


@_bug("no-alignment")
def _no_alignment() -> list[Replacement]:
    """A channel whose barrier came goes on delivering."""
    return [(AlignedBarriers, "is_blocked", lambda self, channel: False)]


@_bug("first-barrier-is-enough")
def _first_barrier() -> list[Replacement]:
    """The checkpoint is taken with the first barrier; the others are not waited for."""
    return [(AlignedBarriers, "missing", lambda self: ())]


@_bug("ack-before-snapshot")
def _ack_before_snapshot() -> list[Replacement]:
    """A subtask acknowledges before its state is written, and so without it."""

    async def wrong(self: Subtask, checkpoint_id: int, options: Any, snapshots: Any, finished: bool) -> None:
        ack = TaskAck({}, self.chain.is_finished, finished)
        self._gateway.acknowledge(self.id, self.attempt, checkpoint_id, ack)

    return [(Subtask, "_write", wrong)]


@_bug("changes-not-noticed")
def _changes_not_noticed() -> list[Replacement]:
    """An incremental snapshot refers to the old file of state that was changed."""
    return [(KeyedState, "changing", lambda self, name, group=None: self.table(name, group))]


@_bug("shared-file-deleted")
def _shared_file_deleted() -> list[Replacement]:
    """Subsuming a checkpoint deletes files that the newer one refers to."""
    right = CompletedStore.add

    def wrong(self: CompletedStore, checkpoint: Any) -> list[str]:
        dropped = [*self.checkpoints, checkpoint][: -self.retain]
        right(self, checkpoint)
        return [path for old in dropped if not old.kind.is_savepoint for path in old.files]

    return [(CompletedStore, "add", wrong)]


@_bug("timers-forgotten")
def _timers_forgotten() -> list[Replacement]:
    """Timers are in the state and are not set again after a restore."""
    return [(TimerService, "restore", lambda self: None)]


@_bug("list-state-cut")
def _list_state_cut() -> list[Replacement]:
    """Rescaling gives list state to the first subtask only as long as it is one element."""
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
    """Of a batch that is larger than the room in its channel the rest is dropped."""

    async def wrong(self: Subtask, channel: Channel, batch: Any) -> None:
        while channel.room <= 0:
            self._room.clear()
            await self._room.wait()
        channel.put(batch.slice(0, min(channel.room, batch.num_rows)))

    return [(Subtask, "_put", wrong)]


# -- coordinator ---------------------------------------------------------------------------------------------


@_bug("tasks-before-hooks")
def _tasks_before_hooks() -> list[Replacement]:
    """Tasks are triggered while hooks and coordinators are still at it."""

    def wrong(self: CheckpointCoordinator, pending: Any) -> None:
        if pending.stage is Stage.COORDINATORS:
            self._ask_hooks(pending)
            self._trigger_tasks(pending)
        else:
            self._maybe_complete(pending)

    return [(CheckpointCoordinator, "_go_on", wrong)]


@_bug("notify-before-metadata")
def _notify_before_metadata() -> list[Replacement]:
    """Tasks hear that a checkpoint is complete before its metadata is written."""
    right = CheckpointCoordinator._finalize

    def wrong(self: CheckpointCoordinator, pending: Any) -> None:
        right(self, pending)
        self._effects.append(do.NotifyComplete(pending.checkpoint_id, pending.plan.to_wait_for))

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

    return [(master, "compute_plan", wrong)]


@_bug("oldest-restored")
def _oldest_restored() -> list[Replacement]:
    """A failure goes back to the oldest retained checkpoint."""
    oldest = property(lambda self: self.checkpoints[0] if self.checkpoints else None)
    return [(CompletedStore, "latest", oldest)]


@_bug("hooks-not-reset")
def _hooks_not_reset() -> list[Replacement]:
    """Hooks are not reset when there is no checkpoint to go back to (FLINK-20222, in global recovery too)."""
    right = JobMaster._restore_hooks

    async def wrong(self: JobMaster, checkpoint: Any, *, is_global: bool = True) -> None:
        if checkpoint is not None or self.state == "created":
            await right(self, checkpoint, is_global=is_global)

    return [(JobMaster, "_restore_hooks", wrong)]


@_bug("recovery-outlives-cancel")
def _recovery_outlives_cancel() -> list[Replacement]:
    """A job that is cancelled while it recovers deploys its subtasks all the same."""

    async def wrong(self: JobMaster) -> None:
        await self._stop(self.graph.vertices, Life.CANCELED)

    return [(JobMaster, "_stop_all", wrong)]


@_bug("coordinators-not-restored")
def _coordinators_not_restored() -> list[Replacement]:
    """After a global failure enumerators begin anew."""
    right = CoordinatorHolder.restart

    async def wrong(self: CoordinatorHolder, checkpoint_id: int, data: bytes | None) -> None:
        await right(self, -1, None)

    return [(CoordinatorHolder, "restart", wrong)]


# -- splits --------------------------------------------------------------------------------------------------


@_bug("split-assigned-twice")
def _split_assigned_twice() -> list[Replacement]:
    """The tracker does not forget what a completed checkpoint has: a reset subtask's splits are given out
    again."""

    def everything(self: AssignmentTracker, subtask: int, restored_id: int) -> list[Any]:
        back = [s for by in self._by_checkpoint.values() for s in by.pop(subtask, [])]
        return back + self._new.pop(subtask, [])

    return [
        (AssignmentTracker, "completed", lambda self, checkpoint_id: None),
        (AssignmentTracker, "take_back", everything),
    ]


@_bug("splits-not-given-back")
def _splits_not_given_back() -> list[Replacement]:
    """What a failed subtask was assigned since its checkpoint is forgotten."""
    return [(AssignmentTracker, "take_back", lambda self, subtask, restored_id: [])]


@_bug("reader-state-not-kept")
def _reader_state() -> list[Replacement]:
    """The splits of a reader are not in its snapshot."""

    async def wrong(self: SourceOperator, checkpoint_id: int) -> None:
        self._state.clear()

    return [(SourceOperator, "snapshot_state", wrong)]


@_bug("reader-does-not-wait")
def _reader_does_not_wait() -> list[Replacement]:
    """A reader that came to the place of a checkpoint first reads on until the trigger comes
    (FLINK-25256)."""
    right = Rendezvous.reader_reports

    def wrong(self: Rendezvous, checkpoint_id: int) -> Any:
        barrier = right(self, checkpoint_id)
        self.blocked_on = None
        return barrier

    return [(Rendezvous, "reader_reports", wrong)]


# -- two-phase commit ----------------------------------------------------------------------------------------


@_bug("commit-on-abort")
def _commit_on_abort() -> list[Replacement]:
    """A sink commits when its checkpoint is aborted."""

    def wrong(self: TwoPhaseCommitOperator, checkpoint_id: int) -> Any:
        return self.notify_checkpoint_complete(checkpoint_id)

    return [(TwoPhaseCommitOperator, "notify_checkpoint_aborted", wrong)]


@_bug("pending-not-in-state")
def _pending_not_in_state() -> list[Replacement]:
    """Pre-committed transactions are not in the snapshot."""
    right = TwoPhaseCommitOperator.snapshot_state

    async def wrong(self: TwoPhaseCommitOperator, checkpoint_id: int) -> None:
        await right(self, checkpoint_id)
        self._state[:] = [(current, [], user) for current, _, user in self._state]

    return [(TwoPhaseCommitOperator, "snapshot_state", wrong)]


@_bug("pending-aborted-at-restore")
def _pending_aborted() -> list[Replacement]:
    """A restored sink aborts what was pre-committed."""

    async def wrong(self: TwoPhaseCommitOperator, transaction: Any, begun_ms: int) -> None:
        await value_of(self.sink.recover_and_abort(transaction))

    return [(TwoPhaseCommitOperator, "_recover", wrong)]


# -- finishing -----------------------------------------------------------------------------------------------


@_bug("no-final-checkpoint")
def _no_final() -> list[Replacement]:
    """A subtask closes as soon as its data is done."""
    return [(FinalCheckpoint, "may_close", property(lambda self: True))]


@_bug("earlier-checkpoint-is-final")
def _earlier_is_final() -> list[Replacement]:
    """The completion of a checkpoint from before the end of the data is taken for the final one."""

    def wrong(self: FinalCheckpoint, checkpoint_id: int) -> None:
        self._has_completed |= self.has_data_ended

    return [(FinalCheckpoint, "completed", wrong)]


@_bug("drain-flag-lost")
def _drain_flag_lost() -> list[Replacement]:
    """On its first channel a subtask takes the end of the data for one without drain."""
    right = GateInput._end_channel

    async def wrong(self: GateInput, index: int, drain: bool) -> None:
        await right(self, index, drain and index != 0)

    return [(GateInput, "_end_channel", wrong)]


@_bug("suspend-drains")
def _suspend_drains() -> list[Replacement]:
    """Stop-with-savepoint without drain finishes the operators all the same."""

    async def wrong(self: Subtask, barrier: Any) -> None:
        self.final.expect_savepoint(barrier.checkpoint_id)
        await self.end_source_data(drain=True)

    return [(Subtask, "stop_source", wrong)]


@_bug("barrier-before-end-of-data")
def _barrier_before_end() -> list[Replacement]:
    """Stop-with-savepoint takes the savepoint first and finishes the operators then (before FLIP-147)."""
    right = Subtask.stop_source

    async def wrong(self: Subtask, barrier: Any) -> None:
        await self.perform(barrier)
        await right(self, barrier)

    return [(Subtask, "stop_source", wrong)]


@_bug("finished-runs-again")
def _finished_runs_again() -> list[Replacement]:
    """What had finished in the restored checkpoint is run again."""
    right = deployment.plan_restore

    def wrong(*args: Any, **options: Any) -> Any:
        made = right(*args, **options)
        made.finished.clear()
        return made

    return [(master, "plan_restore", wrong)]


@_bug("fastest-watermark")
def _fastest_watermark() -> list[Replacement]:
    """A subtask takes the highest watermark of its channels for its own."""

    def wrong(self: WatermarkValve | CombinedWatermarks, channel: int, watermark: Any) -> list[Any]:
        return list(self._tell(watermark.timestamp_ms))

    return [(WatermarkValve, "watermark", wrong), (CombinedWatermarks, "watermark", wrong)]
