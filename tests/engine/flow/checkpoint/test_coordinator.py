"""The checkpoint coordinator alone: a core that is told what happened and says what it wants done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.checkpoint import effects as do
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig, CheckpointCoordinator
from pravega_lab.engine.flow.checkpoint.failures import FailureManager, reason_of
from pravega_lab.engine.flow.checkpoint.handles import CompletedCheckpoint, MasterState
from pravega_lab.engine.flow.checkpoint.history import History, Triggering
from pravega_lab.engine.flow.checkpoint.pending import AckResult, Request, RequestQueue
from pravega_lab.engine.flow.checkpoint.plan import CheckpointPlan, TaskAck
from pravega_lab.engine.flow.elements import CheckpointKind, SubtaskId
from pravega_lab.engine.flow.errors import CheckpointFailedError, IllegalStateError, Reason
from pravega_lab.engine.flow.state.handles import Blob, ListMode, ListState, OperatorState, SubtaskState
from tests.engine.flow.checkpoint.test_plan import ALL, graph
from tests.engine.flow.jobs import Told

A, B = SubtaskId("v0", 0), SubtaskId("v1", 0)
KIND = CheckpointKind.CHECKPOINT


class Driven:
    """A coordinator with two subtasks, one operator coordinator ``op`` and one hook ``h``."""

    def __init__(self, history: History | None = None, **config: Any) -> None:
        self.told = Told()
        self.coordinator = CheckpointCoordinator(
            graph([1, 1], [(0, 1, ALL)]),
            replace(CheckpointConfig(), **config),
            make_plan=lambda: CheckpointPlan((A,), (A, B)),
            coordinators=["op"],
            hooks=["h"],
            observer=self.told,
            history=history or History(),
        )
        self.next_id = 1

    def effects(self) -> list[do.Effect]:
        """What is wanted now; ids and locations are given at once."""
        wanted: list[do.Effect] = []
        while new := self.coordinator.take_effects():
            for effect in new:
                if isinstance(effect, do.AllocateId):
                    self.coordinator.id_allocated(effect.request, self.next_id, 0)
                    self.next_id += 1
                elif isinstance(effect, do.PrepareLocation):
                    self.coordinator.location_ready(effect.checkpoint_id, f"chk-{effect.checkpoint_id}")
                else:
                    wanted.append(effect)
        return wanted

    def kinds(self) -> list[str]:
        return [type(effect).__name__ for effect in self.effects()]

    def acknowledge(self, number: int, *subtasks: SubtaskId, now_ms: int = 0) -> None:
        for subtask in subtasks:
            self.coordinator.acknowledge(subtask, number, TaskAck(), now_ms)

    def triggered(self, kind: CheckpointKind = KIND, now_ms: int = 0) -> Request:
        """Up to the call to the tasks."""
        request = self.coordinator.request(kind, now_ms)
        self.effects()
        self.coordinator.coordinator_acknowledged(self.next_id - 1, "op", b"")
        self.coordinator.hook_acknowledged(self.next_id - 1, "h", None)
        self.effects()
        return request

    def completed(self, now_ms: int = 0) -> None:
        """The whole of the newest checkpoint."""
        self.acknowledge(self.next_id - 1, A, B, now_ms=now_ms)
        for effect in self.effects():
            if isinstance(effect, do.Finalize):
                self.coordinator.finalized(effect.checkpoint, now_ms)


def test_coordinators_then_hooks_then_tasks_then_metadata_then_notices() -> None:
    driven = Driven()
    driven.coordinator.request(KIND, 0)
    assert driven.effects() == [do.AskCoordinators(1, ("op",))]
    driven.coordinator.coordinator_acknowledged(1, "op", b"state")
    assert driven.effects() == [do.AskHooks(1, 0, ("h",))]
    driven.coordinator.hook_acknowledged(1, "h", MasterState("h", 1, b"m"))
    [trigger] = driven.effects()
    assert isinstance(trigger, do.TriggerTask)
    assert trigger.subtask == A
    driven.acknowledge(1, A)
    assert driven.effects() == []
    driven.acknowledge(1, B)
    [finalize] = driven.effects()
    assert isinstance(finalize, do.Finalize)
    assert finalize.checkpoint.master["h"].data == b"m"
    driven.coordinator.finalized(finalize.checkpoint, 5)
    assert driven.kinds() == ["NotifyComplete", "Answer"]
    assert driven.coordinator.store.latest is finalize.checkpoint


def test_tasks_that_acknowledge_while_the_hook_is_asked_complete_it_once() -> None:
    """FLINK-18641: the hook makes both tasks snapshot at once, and has no state itself."""
    driven = Driven()
    driven.coordinator.request(KIND, 0)
    driven.effects()
    driven.coordinator.coordinator_acknowledged(1, "op", b"")
    assert driven.kinds() == ["AskHooks"]
    driven.acknowledge(1, A, B)
    assert driven.effects() == []
    driven.coordinator.hook_acknowledged(1, "h", None)
    assert driven.kinds() == ["TriggerTask", "Finalize"]


def test_in_1_11_0_the_same_order_fails_the_job() -> None:
    driven = Driven(History(triggering=Triggering.MAILBOX_1_11_0))
    driven.coordinator.request(KIND, 0)
    assert driven.kinds() == ["AskCoordinators", "AskHooks"]
    driven.coordinator.coordinator_acknowledged(1, "op", b"")
    driven.acknowledge(1, A)
    assert driven.effects() == []
    driven.acknowledge(1, B)
    wanted = driven.effects()
    [failed] = [effect for effect in wanted if isinstance(effect, do.FailJob)]
    assert "has not been fully acknowledged" in str(failed.error)
    [answer] = [effect for effect in wanted if isinstance(effect, do.Answer)]
    assert isinstance(answer.error, CheckpointFailedError)
    assert isinstance(answer.error.__cause__, IllegalStateError)


def test_under_the_lock_of_1_10_acknowledgements_wait_until_the_hook_has_answered() -> None:
    driven = Driven(History(triggering=Triggering.LOCK))
    driven.coordinator.request(KIND, 0)
    assert driven.kinds() == ["AskHooks"]
    driven.acknowledge(1, A, B)
    assert driven.effects() == []
    driven.coordinator.hook_acknowledged(1, "h", None)
    assert driven.kinds() == ["AskCoordinators"]
    driven.coordinator.coordinator_acknowledged(1, "op", b"")
    assert driven.kinds() == ["TriggerTask", "Finalize"]


def test_a_failing_hook_fails_the_checkpoint_and_the_next_one_begins() -> None:
    driven = Driven()
    driven.coordinator.request(KIND, 0)
    driven.effects()
    driven.coordinator.coordinator_acknowledged(1, "op", b"")
    driven.effects()
    driven.coordinator.request(KIND, 1)
    driven.coordinator.triggering_failed(1, RuntimeError("no"))
    kinds = driven.kinds()
    assert "TriggerTask" not in kinds
    assert kinds.count("NotifyAborted") == 1
    assert kinds[-1] == "AskCoordinators"  # of the second
    [failed] = driven.told.of(seen.CheckpointFailed)
    assert failed.reason == "TRIGGER_CHECKPOINT_FAILURE"


def test_it_expires_and_a_late_answer_triggers_nothing() -> None:
    driven = Driven(timeout_ms=100, tolerable_failures=5)
    driven.coordinator.request(KIND, 0)
    driven.effects()
    assert driven.coordinator.next_deadline_ms() == 100
    driven.coordinator.on_time(100)
    assert "NotifyAborted" in driven.kinds()
    driven.coordinator.coordinator_acknowledged(1, "op", b"")
    assert driven.effects() == []
    assert driven.coordinator.acknowledge(A, 1, TaskAck(), 101) is AckResult.DISCARDED
    assert driven.coordinator.acknowledge(A, 99, TaskAck(), 101) is AckResult.UNKNOWN
    assert not driven.coordinator.is_triggering


def test_a_newer_one_subsumes_older_ones_but_no_savepoint() -> None:
    driven = Driven(max_concurrent=3)
    driven.triggered()
    driven.triggered(CheckpointKind.SAVEPOINT)
    driven.triggered()
    driven.completed()
    assert list(driven.coordinator.pending) == [2]
    reasons = [failed.reason for failed in driven.told.of(seen.CheckpointFailed)]
    assert reasons == ["CHECKPOINT_SUBSUMED"]


def test_one_at_a_time_and_savepoints_beside() -> None:
    driven = Driven()
    driven.triggered()
    driven.coordinator.request(KIND, 0)
    assert driven.effects() == []
    driven.coordinator.request(CheckpointKind.SAVEPOINT, 0, target="sp")
    assert driven.kinds() == ["AskCoordinators"]
    assert sorted(driven.coordinator.pending) == [1, 2]


def test_periodic_ones_keep_the_pause_and_others_do_not() -> None:
    driven = Driven(interval_ms=10, min_pause_ms=50)
    driven.coordinator.start_scheduler(0)
    driven.coordinator.on_time(10)
    driven.coordinator.request(KIND, 10)  # of a user
    driven.effects()
    driven.coordinator.coordinator_acknowledged(1, "op", b"")
    driven.coordinator.hook_acknowledged(1, "h", None)
    driven.effects()
    driven.acknowledge(1, A, B)
    [finalize] = driven.effects()
    assert isinstance(finalize, do.Finalize)
    driven.coordinator.finalized(finalize.checkpoint, 15)
    assert "AskCoordinators" in driven.kinds()  # the user's goes at once
    driven.coordinator.triggering_failed(2, RuntimeError("away with it"))
    driven.effects()
    driven.coordinator.on_time(20)
    assert driven.kinds() == ["Answer"]
    assert driven.told.of(seen.CheckpointFailed)[-1].reason == "MINIMUM_TIME_BETWEEN_CHECKPOINTS"
    assert driven.coordinator.next_deadline_ms() == 65


def test_a_plain_savepoint_is_neither_told_nor_gone_back_to() -> None:
    driven = Driven()
    driven.triggered(CheckpointKind.SAVEPOINT)
    driven.acknowledge(1, A, B)
    [finalize] = driven.effects()
    assert isinstance(finalize, do.Finalize)
    driven.coordinator.finalized(finalize.checkpoint, 0)
    assert driven.kinds() == ["OpenGates", "Answer"]
    assert driven.coordinator.store.latest is None


def test_a_declined_savepoint_to_stop_with_fails_the_job() -> None:
    driven = Driven()
    driven.triggered(CheckpointKind.SUSPEND)
    driven.coordinator.decline(A, 1, Reason.CHECKPOINT_DECLINED, "no", 0)
    assert "FailJob" in driven.kinds()


def test_which_failures_count_and_when_it_is_too_many() -> None:
    failures = FailureManager(tolerable=1)
    assert not failures.failed(Reason.CHECKPOINT_EXPIRED, 1, KIND)
    assert not failures.failed(Reason.CHECKPOINT_EXPIRED, 1, KIND)  # one count for one id
    assert not failures.failed(Reason.TRIGGER_CHECKPOINT_FAILURE, 2, KIND)
    assert not failures.failed(Reason.CHECKPOINT_EXPIRED, 3, CheckpointKind.SAVEPOINT)
    assert failures.failed(Reason.IO_EXCEPTION, 4, KIND)
    failures.succeeded(5)
    assert not failures.failed(Reason.CHECKPOINT_DECLINED, 4, KIND)  # older than the success
    assert not failures.failed(Reason.CHECKPOINT_DECLINED, 6, KIND)


def test_an_io_error_anywhere_among_the_causes_is_what_it_is() -> None:
    outer = RuntimeError("outer")
    outer.__cause__ = CheckpointFailedError(Reason.CHECKPOINT_DECLINED)
    assert reason_of(outer) is Reason.CHECKPOINT_DECLINED
    outer.__cause__.__cause__ = OSError("disk")
    assert reason_of(outer) is Reason.IO_EXCEPTION
    assert reason_of(ValueError()) is Reason.TRIGGER_CHECKPOINT_FAILURE


def test_the_order_of_the_queue_and_what_gives_way_when_it_is_full() -> None:
    queue = RequestQueue(most=4)
    requests = [
        Request(KIND, 0, is_periodic=True),
        Request(KIND, 1),
        Request(CheckpointKind.SAVEPOINT, 2, is_forced=True),
        Request(CheckpointKind.SAVEPOINT, 3),
    ]
    assert [queue.add(request) for request in requests] == [None] * 4
    newcomer = Request(KIND, 5)
    assert queue.add(newcomer) is requests[0]  # the periodic tail
    refused = Request(KIND, 6)
    assert queue.add(refused) is refused
    assert [queue.pop().requested_ms for _ in range(4)] == [2, 3, 1, 5]
    equal = [Request(KIND, 7) for _ in range(3)]
    assert [queue.add(request) for request in equal] == [None] * 3
    assert len(queue) == 3
    assert queue.drain() == equal
    assert queue.head is None


def test_of_two_periodic_requests_the_newer_gives_way() -> None:
    queue = RequestQueue(most=1)
    older, newer = Request(KIND, 0, is_periodic=True), Request(KIND, 1, is_periodic=True)
    assert queue.add(older) is None
    assert queue.add(newer) is newer
    assert queue.head is older


@pytest.mark.parametrize("result", [AckResult.DUPLICATE, AckResult.UNKNOWN])
def test_acknowledgements_that_are_none(result: AckResult) -> None:
    driven = Driven()
    driven.triggered()
    who = A if result is AckResult.DUPLICATE else SubtaskId("v9", 0)
    driven.acknowledge(1, A)
    assert driven.coordinator.acknowledge(who, 1, TaskAck(), 0) is result


def test_after_a_restore_of_files_of_others_the_next_checkpoint_is_a_full_one() -> None:
    driven = Driven(tolerable_failures=9, max_concurrent=9)
    driven.triggered()
    driven.completed()
    driven.coordinator.restored(next_full=True)
    driven.coordinator.restored(next_full=False)  # what it owes, it owes still
    driven.triggered(CheckpointKind.SAVEPOINT)
    driven.completed()
    driven.triggered()
    driven.coordinator.triggering_failed(3, OSError("disk"))
    driven.triggered()
    driven.completed()
    driven.triggered()
    kinds = [pending.kind for pending in driven.told.of(seen.CheckpointPending)]
    full = CheckpointKind.FULL_CHECKPOINT
    assert kinds == [KIND, CheckpointKind.SAVEPOINT, full, full, KIND]
    asked = [(request.kind, request.is_periodic) for request in driven.told.of(seen.CheckpointRequested)]
    assert asked == [(kind, False) for kind in (KIND, CheckpointKind.SAVEPOINT, KIND, KIND, KIND)]


def test_metadata_that_cannot_be_written_fail_the_checkpoint_and_its_folder_goes() -> None:
    driven = Driven(tolerable_failures=1)
    driven.triggered()
    waiting = driven.coordinator.request(KIND, 0)
    driven.acknowledge(1, A, B)
    [finalize] = driven.effects()
    assert isinstance(finalize, do.Finalize)
    driven.coordinator.finalize_failed(finalize.checkpoint, OSError("disk full"))
    folder, aborted, answer, asked = driven.effects()
    assert folder == do.Discard(("chk-1/",))
    assert aborted == do.NotifyAborted(1, -1, (A, B))
    assert isinstance(answer, do.Answer)
    assert isinstance(answer.error, CheckpointFailedError)
    assert answer.error.reason is Reason.FINALIZE_CHECKPOINT_FAILURE
    assert "disk full" in str(answer.error)
    assert isinstance(answer.error.__cause__, OSError)
    assert asked == do.AskCoordinators(2, ("op",))
    assert driven.coordinator.pending[2].request is waiting


@pytest.mark.parametrize("is_written", [True, False])
def test_metadata_that_are_not_written_in_time_fail_the_checkpoint(is_written: bool) -> None:
    driven = Driven(tolerable_failures=1, timeout_ms=100)
    driven.triggered()
    driven.acknowledge(1, A, B)
    [finalize] = driven.effects()
    assert isinstance(finalize, do.Finalize)
    assert driven.coordinator.next_deadline_ms() == 100
    driven.coordinator.on_time(100)
    aborted, answer = driven.effects()  # the folder stays while it is being written
    assert aborted == do.NotifyAborted(1, -1, (A, B))
    assert answers([answer])[0][1] == "CHECKPOINT_EXPIRED"
    assert "its metadata to be written" in str(answer)
    if is_written:
        driven.coordinator.finalized(finalize.checkpoint, 200)
    else:
        driven.coordinator.finalize_failed(finalize.checkpoint, OSError("disk full"))
    assert driven.effects() == [do.Discard(("chk-1/",))]
    assert driven.coordinator.store.latest is None


def answers(effects: list[do.Effect]) -> list[tuple[Request, str]]:
    """Whose request failed, and why."""
    failed = [(e.request, e.error) for e in effects if isinstance(e, do.Answer)]
    return [(request, reason_of(error).name) for request, error in failed if error is not None]


def test_what_is_told_of_a_checkpoint_and_when() -> None:
    """Clocks of several machines go back; the time of what is told does not."""
    driven = Driven()
    coordinator = driven.coordinator
    request = coordinator.request(KIND, 10)
    [allocate] = coordinator.take_effects()
    assert allocate == do.AllocateId(request)
    coordinator.id_allocated(Request(KIND, 10), 6, 15)  # of a request that was given up
    coordinator.id_allocated(request, 7, 20)
    coordinator.location_ready(7, "chk-7")
    coordinator.coordinator_acknowledged(7, "op", b"")
    coordinator.hook_acknowledged(7, "nobody", None)
    coordinator.hook_acknowledged(7, "h", None)
    *_, trigger = coordinator.take_effects()
    assert isinstance(trigger, do.TriggerTask)
    assert (trigger.options.target, trigger.options.kind) == ("chk-7", KIND)
    assert coordinator.acknowledge(A, 7, TaskAck(), 40) is AckResult.SUCCESS
    coordinator.acknowledge(B, 7, TaskAck(), 35)
    [finalize] = coordinator.take_effects()
    assert isinstance(finalize, do.Finalize)
    coordinator.decline(A, 7, Reason.CHECKPOINT_DECLINED, "too late", 0)
    assert coordinator.next_deadline_ms() == 600_020
    coordinator.on_time(600_019)
    coordinator.finalized(finalize.checkpoint, 600_021)
    assert coordinator.acknowledge(A, 7, TaskAck(), 0) is AckResult.DISCARDED
    told = [(type(o).__name__.removeprefix("Checkpoint"), o.at_ms) for o in driven.told.all]
    assert told == [
        ("Requested", 10),
        ("Pending", 20),
        *[("Step", 20)] * 5,
        *[("Acknowledged", 40)] * 2,
        ("Completed", 600_021),
        ("Acknowledged", 600_021),
    ]
    assert [(step.step, step.who) for step in driven.told.of(seen.CheckpointStep)] == [
        ("coordinator-asked", "op"),
        ("coordinator-acknowledged", "op"),
        ("hook-asked", "h"),
        ("hook-acknowledged", "h"),
        ("task-triggered", str(A)),
    ]


def test_a_failure_of_the_job_begins_none_of_the_queued_requests() -> None:
    """The second savepoint used to continue through the restart, without splits that were on their way."""
    driven = Driven()
    kinds = (KIND, CheckpointKind.SAVEPOINT, CheckpointKind.SAVEPOINT)
    requests = [driven.coordinator.request(kind, 0) for kind in kinds]
    driven.effects()
    driven.coordinator.abort_all(Reason.TASK_FAILURE, "an enumerator raised")
    assert answers(driven.effects()) == [(request, Reason.TASK_FAILURE.name) for request in requests]
    assert not driven.coordinator.pending
    assert not driven.coordinator.is_triggering


def test_a_shutdown_answers_everybody_and_begins_nothing() -> None:
    driven = Driven(interval_ms=10, max_concurrent=2, tolerable_failures=99)
    driven.coordinator.start_scheduler(5)
    assert driven.coordinator.next_deadline_ms() == 15
    pending = driven.triggered()
    without_id = driven.coordinator.request(KIND, 6)
    queued = driven.coordinator.request(KIND, 7)
    driven.coordinator.take_effects()
    driven.coordinator.shut_down()
    reason = Reason.CHECKPOINT_COORDINATOR_SHUTDOWN.name
    assert answers(driven.effects()) == [(pending, reason), (without_id, reason), (queued, reason)]
    driven.coordinator.start_scheduler(8)
    driven.coordinator.on_time(1_000)
    assert driven.coordinator.next_deadline_ms() is None
    late = driven.coordinator.request(CheckpointKind.SAVEPOINT, 1_001)
    assert answers(driven.effects()) == [(late, reason)]


def test_periodic_ones_come_at_intervals_until_the_scheduler_stops() -> None:
    driven = Driven(interval_ms=10, tolerable_failures=9, timeout_ms=25)
    driven.coordinator.start_scheduler(100)
    driven.coordinator.start_scheduler(90)
    driven.coordinator.on_time(109)
    assert driven.effects() == []
    driven.coordinator.on_time(112)
    assert driven.kinds() == ["AskCoordinators"]
    assert driven.coordinator.next_deadline_ms() == 122
    driven.coordinator.coordinator_acknowledged(1, "op", b"")
    assert driven.kinds() == ["AskHooks"]
    driven.coordinator.on_time(122)  # the first is under way
    driven.coordinator.stop_scheduler()
    assert driven.effects() == []
    assert driven.coordinator.next_deadline_ms() == 137
    driven.coordinator.on_time(137)
    expired = driven.effects()
    assert [reason for _, reason in answers(expired)] == [
        "CHECKPOINT_EXPIRED",
        "PERIODIC_SCHEDULER_SHUTDOWN",
    ]
    [first, _] = driven.told.of(seen.CheckpointFailed)
    assert first.message.endswith(f"It waited for hook h, {A}, {B}.")
    assert driven.coordinator.next_deadline_ms() is None


def test_a_request_without_an_id_fails_alone() -> None:
    driven = Driven(tolerable_failures=9)
    first, second = (driven.coordinator.request(KIND, 0) for _ in range(2))
    driven.coordinator.take_effects()
    driven.coordinator.triggering_failed(None, OSError("no counter"))
    wanted = driven.coordinator.take_effects()
    assert answers(wanted) == [(first, "IO_EXCEPTION")]
    assert wanted[-1] == do.AllocateId(second)
    driven.coordinator.id_allocated(first, 1, 0)
    assert not driven.coordinator.pending
    driven.coordinator.id_allocated(second, 2, 0)
    driven.coordinator.triggering_failed(None, OSError("late"))  # it has its id
    driven.coordinator.triggering_failed(1, OSError("never began"))
    assert list(driven.coordinator.pending) == [2]
    assert answers(driven.coordinator.take_effects()) == []


def test_too_many_requests_are_refused_one_by_one() -> None:
    driven = Driven(tolerable_failures=9)
    driven.triggered()
    requests = [driven.coordinator.request(KIND, 0) for _ in range(1_001)]
    assert answers(driven.effects()) == [(requests[-1], "TOO_MANY_CHECKPOINT_REQUESTS")]


def snapshot(number: int, *more: str) -> TaskAck:
    """State that was written for checkpoint ``number``, and ``more`` that it only refers to."""
    blobs = [Blob(path, 0, 1, 0) for path in (f"shared/x-c{number}-a0", *more)]
    return TaskAck({"o": SubtaskState({}, {"list": ListState(ListMode.SPLIT, tuple(blobs))})})


def test_state_that_no_checkpoint_needs_is_discarded_and_requests_wait_meanwhile() -> None:
    driven = Driven(tolerable_failures=9, timeout_ms=100)
    driven.triggered()
    driven.coordinator.acknowledge(A, 1, snapshot(1, "shared/x-c0-a0"), 0)
    waiting = driven.coordinator.request(KIND, 0)
    driven.coordinator.on_time(100)
    expired, folder = [e.paths for e in driven.effects() if isinstance(e, do.Discard)]
    assert (expired, folder) == (("shared/x-c1-a0",), ("chk-1/",))
    for number, result in ((1, AckResult.DISCARDED), (99, AckResult.UNKNOWN)):
        assert driven.coordinator.acknowledge(B, number, snapshot(number), 100) is result
        assert driven.effects() == [do.Discard((f"shared/x-c{number}-a0",))]
    assert not driven.coordinator.pending
    for left in (3, 2):
        driven.coordinator.cleaned()
        assert driven.effects() == [], left
    driven.coordinator.cleaned()
    assert driven.kinds() == ["AskCoordinators"]
    assert driven.coordinator.pending[2].request is waiting


def test_a_folder_that_others_referred_to_stays_until_pending_checkpoints_have_ended() -> None:
    driven = Driven(max_concurrent=9)
    driven.coordinator.store.claim(CompletedCheckpoint(0, KIND, "g", 0, "claimed"))
    refers = [{"o": SubtaskState({0: Blob("claimed/x", 0, 1, 0)})}, {}]
    for states in refers:
        driven.triggered()
        completed = CompletedCheckpoint(driven.next_id - 1, KIND, "g", 0, f"chk-{driven.next_id - 1}")
        state = completed.operators["o"] = OperatorState("o", "o", "v0", 1, 128)
        state.subtasks = dict(enumerate(states.values()))
        driven.acknowledge(driven.next_id - 1, A, B)
        driven.effects()
        if not states:
            driven.triggered(CheckpointKind.SAVEPOINT)
        driven.coordinator.finalized(completed, 0)
    discarded = [e.paths for e in driven.effects() if isinstance(e, do.Discard)]
    assert discarded == [("chk-1/",)]
    driven.completed()
    assert [e.paths for e in driven.effects() if isinstance(e, do.Discard)] == [("claimed/",)]


def test_a_failed_checkpoint_takes_no_file_of_another_with_it_whatever_the_folders_are_called() -> None:
    driven = Driven(tolerable_failures=9, timeout_ms=100)
    driven.triggered()
    kept = ("jobs-c1-prod/shared/x-c0-a0", "shared/x-c1-y-0-c0-a0")
    driven.coordinator.acknowledge(A, 1, snapshot(1, *kept), 0)
    driven.coordinator.on_time(100)
    discarded = [e.paths for e in driven.effects() if isinstance(e, do.Discard)]
    assert discarded == [("shared/x-c1-a0",), ("chk-1/",)]


def test_metadata_that_come_after_the_end_are_deleted_with_what_only_they_have() -> None:
    driven = Driven(tolerable_failures=9)
    driven.triggered()
    driven.acknowledge(1, A, B)
    [finalize] = driven.effects()
    assert isinstance(finalize, do.Finalize)
    state = OperatorState("o", "o", "v0", 1, 128)
    state.subtasks = dict(enumerate([snapshot(1, "shared/x-c0-a0").states["o"]]))
    finalize.checkpoint.operators["o"] = state
    driven.coordinator.abort_all(Reason.JOB_FAILURE, "it restarts")
    assert "Discard" not in driven.kinds()  # they are being written
    driven.coordinator.finalized(finalize.checkpoint, 1)
    assert driven.effects() == [do.Discard(("chk-1/", "shared/x-c1-a0"))]
    assert driven.coordinator.store.latest is None
