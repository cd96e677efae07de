"""Decide when a checkpoint begins, who is asked for it in which order, and when it is complete.

The coordinator never waits and has no clock. Each method says what happened, and at which time in ms, and
leaves `Effect`s that the caller fetches with `take_effects` and carries out in order. `next_deadline_ms` says
when to call `on_time`.

The order of a trigger is fixed: plan, id, pending checkpoint, location, operator coordinators, master hooks,
tasks. Then the coordinator checks once more whether the checkpoint is complete, because tasks whose
checkpoint is induced from outside may have acknowledged before. A checkpoint is complete when tasks,
coordinators and hooks have all acknowledged.

Source: Flink's `CheckpointCoordinator` (flink.md 2); FLINK-18641, FLINK-26394, FLINK-27148.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..elements import CheckpointKind, SubtaskId
from ..errors import (
    CheckpointFailedError,
    IllegalStateError,
    PartialFinishingNotSupportedByStateError,
    Reason,
)
from ..graph.graph import JobGraph
from ..observer import (
    Acknowledged,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointPending,
    CheckpointRequested,
    CheckpointStep,
    Observer,
)
from . import effects as do
from .failures import FailureManager, reason_of
from .handles import CompletedCheckpoint, MasterState
from .history import History
from .pending import AckResult, PendingCheckpoint, Request, RequestQueue, Stage
from .plan import CheckpointPlan, TaskAck, assemble
from .storage import CompletedStore, files_elsewhere, written_for
from .trigger_order import trigger_order

RECENT_MAX = 16


@dataclass(frozen=True)
class CheckpointConfig:
    """When a job takes checkpoints. Times are in ms."""

    #: The time between two periodic checkpoints. None: there are none, and a bounded job waits forever for
    #: its final one.
    interval_ms: int | None = None
    #: A checkpoint that is not complete after this time is given up.
    timeout_ms: int = 600_000
    #: The least time between the end of a periodic checkpoint and the beginning of the next one.
    min_pause_ms: int = 0
    #: How many checkpoints may be under way together.
    max_concurrent: int = 1
    #: How many checkpoints may fail in a row before the job fails.
    tolerable_failures: int = 0
    #: How many complete checkpoints are kept.
    retain: int = 1
    #: Whether checkpoints continue after some tasks have finished (FLIP-147).
    after_tasks_finish: bool = True


class CheckpointCoordinator:
    """The checkpoint coordinator of one job.

    ``make_plan`` returns a plan made from the states of all subtasks in this moment, or raises
    `CheckpointFailedError`. ``coordinators`` are operator ids, ``hooks`` identifiers.
    """

    def __init__(
        self,
        graph: JobGraph,
        config: CheckpointConfig,
        *,
        make_plan: Callable[[], CheckpointPlan],
        coordinators: Sequence[str],
        hooks: Sequence[str],
        observer: Observer,
        history: History,
    ) -> None:
        self.graph, self.config, self._make_plan = graph, config, make_plan
        self._coordinators, self._hooks = tuple(coordinators), tuple(hooks)
        self._observer, self._order = observer, trigger_order(history)
        self.store = CompletedStore(config.retain)
        self.pending: dict[int, PendingCheckpoint] = {}
        self.failures = FailureManager(config.tolerable_failures)
        self.newest_tolerated: BaseException | None = None  # of the failures in `failures.in_a_row`
        self.needs_full = False  # after a restore that does not own its files: share none of them
        self._queue = RequestQueue()
        self._triggering: tuple[Request, CheckpointPlan] | None = None
        self._current: PendingCheckpoint | None = None
        self._effects: deque[do.Effect] = deque()
        self._locked_acks: deque[tuple[SubtaskId, int, TaskAck]] = deque()
        self._recent: deque[int] = deque(maxlen=RECENT_MAX)
        self._cleaning = 0
        self._last_completion_ms: int | None = None
        self._next_periodic_ms: int | None = None
        self._is_shut_down = False
        self._now_ms = 0

    # -- for the loop around it ----------------------------------------------------------------------------

    def take_effects(self) -> list[do.Effect]:
        """Return the effects decided since the last call, in order."""
        taken = list(self._effects)
        self._effects.clear()
        return taken

    @property
    def is_triggering(self) -> bool:
        """Return whether a checkpoint is being triggered; the next request waits until its tasks are."""
        return self._triggering is not None

    def next_deadline_ms(self) -> int | None:
        """Return when to call `on_time`, None if nothing is due at any time."""
        times = [pending.deadline_ms for pending in self.pending.values()]
        if self._next_periodic_ms is not None:
            times.append(self._next_periodic_ms)
        return min(times, default=None)

    def on_time(self, now_ms: int) -> None:
        """Abort what has expired, and begin the periodic checkpoint that is due."""
        self._now_ms = max(self._now_ms, now_ms)
        for pending in list(self.pending.values()):
            if pending.deadline_ms <= self._now_ms:
                held_up = ", ".join(pending.waits_for()) or "its metadata to be written"
                self._abort(pending, Reason.CHECKPOINT_EXPIRED, f"It waited for {held_up}.")
        if self._next_periodic_ms is not None and self._next_periodic_ms <= self._now_ms:
            assert self.config.interval_ms is not None
            self._next_periodic_ms = self._now_ms + self.config.interval_ms
            self.request(CheckpointKind.CHECKPOINT, self._now_ms, is_periodic=True)

    # -- requests ------------------------------------------------------------------------------------------

    def start_scheduler(self, now_ms: int) -> None:
        """Take periodic checkpoints from now on, the first one after one interval."""
        self._now_ms = max(self._now_ms, now_ms)
        if self.config.interval_ms is not None and not self._is_shut_down:
            self._next_periodic_ms = self._now_ms + self.config.interval_ms

    def stop_scheduler(self) -> None:
        """Take no periodic checkpoint until `start_scheduler` is called again."""
        self._next_periodic_ms = None

    def request(
        self, kind: CheckpointKind, now_ms: int, *, is_periodic: bool = False, target: str | None = None
    ) -> Request:
        """Ask for a checkpoint, and return the request; one `effects.Answer` for it follows.

        ``target`` is the folder of a savepoint.
        """
        self._now_ms = max(self._now_ms, now_ms)
        # Savepoints are forced: they run concurrently with the checkpoints under way.
        request = Request(kind, self._now_ms, is_periodic, kind.is_savepoint, target)
        self._observer.observe(CheckpointRequested(self._now_ms, kind, is_periodic))
        if refused := self._queue.add(request):
            self._answer_failure(refused, None, CheckpointFailedError(Reason.TOO_MANY_CHECKPOINT_REQUESTS))
        self._next()
        return request

    def _next(self) -> None:
        """Begin the next request if it may."""
        while not self.is_triggering and (request := self._choose()) is not None:
            self._begin(request)

    def _choose(self) -> Request | None:
        head = self._queue.head
        if head is None or self._cleaning > self.config.max_concurrent:
            return None
        if len(self.pending) >= self.config.max_concurrent and not head.is_forced:
            return None
        self._queue.pop()
        if head.is_periodic and not head.is_forced and self._last_completion_ms is not None:
            earliest = self._last_completion_ms + self.config.min_pause_ms
            if self._now_ms < earliest:
                if self._next_periodic_ms is not None:
                    self._next_periodic_ms = earliest
                error = CheckpointFailedError(Reason.MINIMUM_TIME_BETWEEN_CHECKPOINTS)
                self._answer_failure(head, None, error)
                return self._choose()
        return head

    # -- the pipeline --------------------------------------------------------------------------------------

    def _begin(self, request: Request) -> None:
        try:
            if self._is_shut_down:
                raise CheckpointFailedError(Reason.CHECKPOINT_COORDINATOR_SHUTDOWN)
            if request.is_periodic and self._next_periodic_ms is None:
                raise CheckpointFailedError(Reason.PERIODIC_SCHEDULER_SHUTDOWN)
            plan = self._make_plan()
        except CheckpointFailedError as error:
            self._answer_failure(request, None, error)
            return
        self._triggering = (request, plan)
        self._effects.append(do.AllocateId(request))

    def id_allocated(self, request: Request, checkpoint_id: int, now_ms: int) -> None:
        """Continue the trigger: the request has its checkpoint id."""
        self._now_ms = max(self._now_ms, now_ms)
        if self._triggering is None or self._triggering[0] is not request:
            return  # aborted before it had its id
        plan = self._triggering[1]
        kind = request.kind
        if kind is CheckpointKind.CHECKPOINT and self.needs_full:
            kind = CheckpointKind.FULL_CHECKPOINT
        deadline_ms = self._now_ms + self.config.timeout_ms
        pending = PendingCheckpoint(
            checkpoint_id,
            request,
            plan,
            self._now_ms,
            deadline_ms,
            kind,
            self._coordinators,
            self._hooks,
        )
        self.pending[checkpoint_id] = self._current = pending
        self._observer.observe(
            CheckpointPending(
                self._now_ms,
                checkpoint_id,
                kind,
                plan.to_trigger,
                plan.to_wait_for,
                plan.finished,
                pending.coordinators,
                pending.hooks,
            )
        )
        self._effects.append(do.PrepareLocation(checkpoint_id, request.target))

    def location_ready(self, checkpoint_id: int, path: str) -> None:
        """Continue the trigger: the folder ``path`` is there."""
        pending = self._at(checkpoint_id, Stage.LOCATION)
        if pending is None:
            return
        pending.path = path
        self._enter(pending, self._order.phases[0])
        self._go_on(pending)

    def _enter(self, pending: PendingCheckpoint, phase: Stage) -> None:
        pending.stage = phase
        if phase in (Stage.COORDINATORS, Stage.BOTH):
            self._ask_coordinators(pending)
        if phase in (Stage.HOOKS, Stage.BOTH):
            self._ask_hooks(pending)

    def _ask_coordinators(self, pending: PendingCheckpoint) -> None:
        for name in pending.coordinators:
            self._step(pending, "coordinator-asked", name)
        if pending.coordinators:
            self._effects.append(do.AskCoordinators(pending.checkpoint_id, pending.coordinators))

    def _ask_hooks(self, pending: PendingCheckpoint) -> None:
        for name in pending.hooks:
            self._step(pending, "hook-asked", name)
        if pending.hooks:
            self._effects.append(do.AskHooks(pending.checkpoint_id, pending.timestamp_ms, pending.hooks))

    def coordinator_acknowledged(self, checkpoint_id: int, operator: str, data: bytes) -> None:
        """Take the state of an operator coordinator."""
        pending = self.pending.get(checkpoint_id)
        if pending is None or pending.is_over or operator not in pending.coordinators:
            return
        pending.coordinator_states[operator] = data
        self._step(pending, "coordinator-acknowledged", operator)
        self._go_on(pending)

    def hook_acknowledged(self, checkpoint_id: int, hook: str, state: MasterState | None) -> None:
        """Take the state of a master hook, None if it has none."""
        pending = self.pending.get(checkpoint_id)
        if pending is None or pending.is_over or hook not in pending.hooks:
            return
        pending.master_states[hook] = state
        self._step(pending, "hook-acknowledged", hook)
        self._go_on(pending)

    def _go_on(self, pending: PendingCheckpoint) -> None:
        """Enter the next phase if this one is answered; trigger the tasks after the last one."""
        following = self._order.after(pending.stage)
        if (
            following is not None
            and pending.has_answers_of(pending.stage)
            and not pending.has_answers_of(following)
        ):
            self._enter(pending, following)
        if pending.stage in self._order.phases and pending.has_answers_of(Stage.BOTH):
            self._trigger_tasks(pending)

    def _trigger_tasks(self, pending: PendingCheckpoint) -> None:
        pending.stage = Stage.TRIGGERED
        for subtask in pending.plan.to_trigger:
            self._step(pending, "task-triggered", str(subtask))
            self._effects.append(
                do.TriggerTask(subtask, pending.checkpoint_id, pending.timestamp_ms, pending.options)
            )
        self._triggering = self._current = None
        while self._locked_acks:
            self._acknowledge(*self._locked_acks.popleft())
        self._maybe_complete(pending)
        self._next()

    def triggering_failed(self, checkpoint_id: int | None, error: BaseException) -> None:
        """Abort a checkpoint because a step of its trigger failed, or the call to a task did.

        ``checkpoint_id`` is None if the request had no id yet.
        """
        if checkpoint_id is None:
            if self._triggering is not None and self._current is None:
                request = self._triggering[0]
                self._triggering = None
                self._answer_failure(request, None, error)
                self._next()
            return
        pending = self.pending.get(checkpoint_id)
        if pending is not None:
            self._abort(pending, reason_of(error), str(error) or repr(error), error)

    def _at(self, checkpoint_id: int, stage: Stage) -> PendingCheckpoint | None:
        pending = self.pending.get(checkpoint_id)
        return pending if pending is not None and pending.stage is stage else None

    # -- acknowledgements ----------------------------------------------------------------------------------

    def acknowledge(self, subtask: SubtaskId, checkpoint_id: int, ack: TaskAck, now_ms: int) -> AckResult:
        """Take the acknowledgement of a subtask that has stored its state.

        The state is discarded unless the result is SUCCESS or DUPLICATE.
        """
        self._now_ms = max(self._now_ms, now_ms)
        if self._order.holds_acknowledgements and self.is_triggering:
            self._locked_acks.append((subtask, checkpoint_id, ack))
            return AckResult.SUCCESS
        return self._acknowledge(subtask, checkpoint_id, ack)

    def _acknowledge(self, subtask: SubtaskId, checkpoint_id: int, ack: TaskAck) -> AckResult:
        pending = self.pending.get(checkpoint_id)
        result = AckResult.DISCARDED if pending is None else pending.acknowledge_task(subtask, ack)
        if pending is None and checkpoint_id not in self._recent:
            result = AckResult.UNKNOWN
        self._observer.observe(Acknowledged(self._now_ms, subtask, checkpoint_id, result.value))
        if result in (AckResult.UNKNOWN, AckResult.DISCARDED):
            self._discard_ack(checkpoint_id, ack)
        elif result is AckResult.SUCCESS and pending is not None:
            self._maybe_complete(pending)
        return result

    def decline(
        self, subtask: SubtaskId, checkpoint_id: int, reason: Reason, message: str, now_ms: int
    ) -> None:
        """Abort a checkpoint that a subtask cannot take."""
        self._now_ms = max(self._now_ms, now_ms)
        pending = self.pending.get(checkpoint_id)
        if pending is None or pending.stage is Stage.FINALIZING:
            return
        error = CheckpointFailedError(reason, f"{subtask}: {message}")
        self._abort(pending, reason, f"{subtask}: {message}", error)
        if pending.kind.is_synchronous:
            self._effects.append(do.FailJob(error))

    def _maybe_complete(self, pending: PendingCheckpoint) -> None:
        if pending.stage in (Stage.FINALIZING, Stage.OVER):
            return
        if self._order.completes_with_tasks:
            if pending.tasks_acknowledged:  # FLINK-18641: hooks and coordinators are not considered
                self._finalize(pending)
        elif pending.stage is Stage.TRIGGERED and pending.is_fully_acknowledged:
            self._finalize(pending)

    # -- the end -------------------------------------------------------------------------------------------

    def _finalize(self, pending: PendingCheckpoint) -> None:
        try:
            if not pending.is_fully_acknowledged:
                raise IllegalStateError(
                    f"Pending checkpoint {pending.checkpoint_id} has not been fully acknowledged "
                    f"yet: it waits for "
                    f"{', '.join(pending.waits_for())}"
                )
            operators = assemble(self.graph, pending.plan, pending.acks, pending.coordinator_states)
        except PartialFinishingNotSupportedByStateError as error:
            self._abort(pending, Reason.CHECKPOINT_DECLINED_TASK_CLOSING, str(error), error)
            return
        except IllegalStateError as error:
            self._abort(pending, Reason.FINALIZE_CHECKPOINT_FAILURE, str(error), error)
            return
        pending.stage = Stage.FINALIZING
        completed = CompletedCheckpoint(
            pending.checkpoint_id,
            pending.kind,
            self.graph.name,
            pending.timestamp_ms,
            pending.path,
            operators,
        )
        for name, state in pending.master_states.items():
            if state is not None:
                completed.master[name] = state
        self._effects.append(do.Finalize(completed))

    def finalized(self, completed: CompletedCheckpoint, now_ms: int) -> None:
        """Complete a checkpoint: its metadata is written."""
        self._now_ms = max(self._now_ms, now_ms)
        pending = self._at(completed.checkpoint_id, Stage.FINALIZING)
        if pending is None:
            self._clean([completed.path + "/", *written_for(completed.checkpoint_id, completed.files)])
            return
        pending.stage = Stage.OVER
        del self.pending[completed.checkpoint_id]
        self._recent.append(completed.checkpoint_id)
        is_plain_savepoint = completed.kind is CheckpointKind.SAVEPOINT
        if not is_plain_savepoint:
            self._clean(self.store.add(completed, self.pending))
            self.needs_full = False
        self._clean(self.store.ended(completed.checkpoint_id))
        if not is_plain_savepoint:
            self._drop_older(completed.checkpoint_id)
        self._last_completion_ms = self._now_ms
        self.failures.succeeded(completed.checkpoint_id)
        self._observer.observe(
            CheckpointCompleted(
                self._now_ms, completed.checkpoint_id, completed.kind, completed.path, completed.size_bytes
            )
        )
        if is_plain_savepoint:
            self._clean(self._copied(completed))
            self._effects.append(do.OpenGates(completed.checkpoint_id))
        else:
            self._effects.append(do.NotifyComplete(completed.checkpoint_id, pending.plan.to_wait_for))
        self._effects.append(do.Answer(pending.request, completed))
        self._next()

    def finalize_failed(self, completed: CompletedCheckpoint, error: BaseException) -> None:
        """Abort a checkpoint whose metadata could not be written, and delete its folder."""
        pending = self._at(completed.checkpoint_id, Stage.FINALIZING)
        self._clean([completed.path + "/"])
        if pending is not None:
            self._abort(pending, Reason.FINALIZE_CHECKPOINT_FAILURE, str(error) or repr(error), error)

    def _drop_older(self, checkpoint_id: int) -> None:
        for pending in [p for n, p in self.pending.items() if n < checkpoint_id and p.may_be_subsumed]:
            self._abort(pending, Reason.CHECKPOINT_SUBSUMED, f"By checkpoint {checkpoint_id}.")

    def abort_all(self, reason: Reason, message: str) -> None:
        """Fail everything that is pending or queued: the job restarts or ends."""
        queued = self._queue.drain()  # first: each abort begins the request that is next
        for pending in list(self.pending.values()):
            self._abort(pending, reason, message)
        if self._triggering is not None:
            self.triggering_failed(None, CheckpointFailedError(reason, message))
        for request in queued:
            self._answer_failure(request, None, CheckpointFailedError(reason, message))

    def shut_down(self) -> None:
        """Begin no further checkpoint, and fail everything that is pending or queued."""
        self._is_shut_down = True
        self.stop_scheduler()
        self.abort_all(Reason.CHECKPOINT_COORDINATOR_SHUTDOWN, "")

    def restored(self, next_full: bool) -> None:
        """Forget counted failures after a restore.

        ``next_full``: the job does not own the files that it was restored from, so the next checkpoint may
        not refer to them.
        """
        self.failures.reset()
        self.needs_full = self.needs_full or next_full

    def _abort(
        self, pending: PendingCheckpoint, reason: Reason, message: str, cause: BaseException | None = None
    ) -> None:
        is_being_written = pending.stage is Stage.FINALIZING  # the folder is deleted when that has ended
        pending.stage = Stage.OVER
        self.pending.pop(pending.checkpoint_id, None)
        self._recent.append(pending.checkpoint_id)
        for ack in pending.acks.values():
            self._discard_ack(pending.checkpoint_id, ack)
        if pending.path and not is_being_written:
            self._clean([pending.path + "/"])
        self._clean(self.store.ended(pending.checkpoint_id))
        latest = self.store.latest
        self._effects.append(
            do.NotifyAborted(
                pending.checkpoint_id,
                -1 if latest is None else latest.checkpoint_id,
                pending.plan.to_wait_for,
            )
        )
        error = CheckpointFailedError(reason, message)
        error.__cause__ = cause
        self._answer_failure(pending.request, pending, error)
        if self._current is pending:
            # Answers of hooks that are still missing would be ignored (FLINK-26394): the next one may begin.
            self._triggering = self._current = None
            while self._locked_acks:
                self._acknowledge(*self._locked_acks.popleft())
        self._next()

    def _answer_failure(
        self, request: Request, pending: PendingCheckpoint | None, error: BaseException
    ) -> None:
        reason = reason_of(error)
        number = None if pending is None else pending.checkpoint_id
        self._observer.observe(CheckpointFailed(self._now_ms, number, reason.name, str(error)))
        self._effects.append(do.Answer(request, None, error))
        before = self.failures.in_a_row
        is_too_many = self.failures.failed(reason, number, request.kind)
        if is_too_many:
            most = self.config.tolerable_failures
            excess = CheckpointFailedError(
                reason, f"More than the {most} tolerable checkpoint failures; the last: {error}"
            )
            excess.__cause__ = error
            self._effects.append(do.FailJob(excess))
        elif self.failures.in_a_row > before:
            self.newest_tolerated = error

    # -- cleaning ------------------------------------------------------------------------------------------

    def _discard_ack(self, checkpoint_id: int, ack: TaskAck) -> None:
        paths = dict.fromkeys(blob.path for state in ack.states.values() for blob in state.blobs())
        self._clean(written_for(checkpoint_id, paths))

    def _copied(self, savepoint: CompletedCheckpoint) -> list[str]:
        """Return what was written for a savepoint elsewhere, and then copied (`storage.gathered`)."""
        own = written_for(savepoint.checkpoint_id, files_elsewhere(savepoint))
        return list(dict.fromkeys(p if "/shared/" in p else posixpath.dirname(p) + "/" for p in own))

    def _clean(self, paths: list[str]) -> None:
        if paths:
            self._cleaning += 1
            self._effects.append(do.Discard(tuple(paths)))

    def cleaned(self) -> None:
        """Note that one `effects.Discard` is done; requests wait while too many are under way."""
        self._cleaning -= 1
        self._next()

    def _step(self, pending: PendingCheckpoint, step: str, who: str) -> None:
        self._observer.observe(CheckpointStep(self._now_ms, pending.checkpoint_id, step, who))
