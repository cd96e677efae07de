"""The checkpoint coordinator alone: a core that is told what happened and says what it wants done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.checkpoint import effects as do
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig, CheckpointCoordinator
from pravega_lab.engine.flow.checkpoint.failures import FailureManager, reason_of
from pravega_lab.engine.flow.checkpoint.handles import MasterState
from pravega_lab.engine.flow.checkpoint.history import History, Triggering
from pravega_lab.engine.flow.checkpoint.pending import AckResult, Request, RequestQueue
from pravega_lab.engine.flow.checkpoint.plan import CheckpointPlan, TaskAck
from pravega_lab.engine.flow.elements import CheckpointKind, SubtaskId
from pravega_lab.engine.flow.errors import CheckpointFailedError, IllegalStateError, Reason
from tests.engine.flow.jobs import Told
from tests.engine.flow.test_plan import ALL, graph

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
    driven.acknowledge(1, A, B)
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


def test_metadata_that_cannot_be_written_fail_the_checkpoint_and_keep_its_folder() -> None:
    """A writer that was cut off may have written them all the same, so the folder is not deleted."""
    driven = Driven(tolerable_failures=1)
    driven.triggered()
    waiting = driven.coordinator.request(KIND, 0)
    driven.acknowledge(1, A, B)
    driven.effects()
    driven.coordinator.finalize_failed(2, OSError("of another"))
    assert driven.effects() == []
    driven.coordinator.finalize_failed(1, OSError("disk full"))
    aborted, answer, asked = driven.effects()
    assert aborted == do.NotifyAborted(1, -1, (A, B))
    assert isinstance(answer, do.Answer)
    assert isinstance(answer.error, CheckpointFailedError)
    assert answer.error.reason is Reason.FINALIZE_CHECKPOINT_FAILURE
    assert "disk full" in str(answer.error)
    assert isinstance(answer.error.__cause__, OSError)
    assert asked == do.AskCoordinators(2, ("op",))
    assert driven.coordinator.pending[2].request is waiting
