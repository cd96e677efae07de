"""Which checkpoint a subtask waits for at its end, and the rendezvous of an induced one."""

from __future__ import annotations

import pytest

from pravega_lab.engine.flow.checkpoint.stop import StopState, StopWithSavepoint
from pravega_lab.engine.flow.elements import Barrier, CheckpointKind
from pravega_lab.engine.flow.errors import IllegalStateError, SavepointError, StopWithSavepointStoppingError
from pravega_lab.engine.flow.source.coordinator import AssignmentTracker
from pravega_lab.engine.flow.source.input import Rendezvous
from pravega_lab.engine.flow.subtask_states import SubtaskState, check_move
from pravega_lab.engine.flow.task.lifecycle import FinalCheckpoint

CHECKPOINT, TERMINATE = CheckpointKind.CHECKPOINT, CheckpointKind.TERMINATE


def test_any_checkpoint_from_the_first_after_the_end_will_do_and_no_earlier_one() -> None:
    final = FinalCheckpoint(is_wanted=True)
    final.performing(1, CHECKPOINT)
    final.data_ended()
    final.completed(1)
    assert not final.may_close
    final.performing(2, CHECKPOINT)
    final.performing(3, CHECKPOINT)
    final.completed(1)
    assert not final.may_close
    final.completed(3)
    assert final.may_close


def test_a_savepoint_to_stop_with_is_waited_for_by_its_very_id() -> None:
    final = FinalCheckpoint(is_wanted=False)
    final.data_ended()
    assert final.may_close
    final.performing(7, TERMINATE)
    assert not final.may_close
    final.completed(8)
    assert not final.may_close
    final.completed(7)
    assert final.may_close
    with pytest.raises(IllegalStateError, match="one at a time"):
        final.performing(9, TERMINATE)


def test_an_aborted_savepoint_fails_the_subtask() -> None:
    final = FinalCheckpoint(is_wanted=True)
    final.performing(7, TERMINATE)
    final.aborted(6)
    with pytest.raises(SavepointError, match="Stop-with-savepoint failed"):
        final.aborted(7)


def test_states_move_as_the_table_says() -> None:
    check_move(SubtaskState.INITIALIZING, SubtaskState.RUNNING)
    with pytest.raises(IllegalStateError, match="finished cannot become running"):
        check_move(SubtaskState.FINISHED, SubtaskState.RUNNING)


def test_the_reader_comes_first_and_waits() -> None:
    meeting, barrier = Rendezvous(), Barrier(4, 0)
    assert meeting.reader_reports(4) is None
    assert meeting.blocked_on == 4
    assert meeting.trigger_comes(barrier) is barrier
    assert meeting.blocked_on is None


def test_the_trigger_comes_first_and_older_ones_are_forgotten() -> None:
    meeting = Rendezvous()
    assert meeting.trigger_comes(Barrier(4, 0)) is None
    assert meeting.trigger_comes(Barrier(5, 1)) is None
    assert meeting.reader_reports(5) == Barrier(5, 1)
    assert meeting.reader_reports(4) is None  # gone with 5


def test_giving_up_frees_the_reader_before_and_after_it_comes() -> None:
    meeting = Rendezvous()
    meeting.reader_reports(4)
    meeting.abort(4)
    assert meeting.blocked_on is None
    meeting.abort(5)
    assert meeting.reader_reports(5) is None
    assert meeting.blocked_on is None


def test_a_reset_subtask_gives_back_what_it_was_assigned_after_its_checkpoint() -> None:
    tracker = AssignmentTracker()
    tracker.assigned(0, ["a"])
    tracker.checkpoint(1)
    tracker.assigned(0, ["b"])
    tracker.checkpoint(2)
    tracker.assigned(0, ["c"])
    tracker.assigned(1, ["d"])
    tracker.completed(1)
    assert tracker.take_back(0, 1) == ["b", "c"]
    assert tracker.take_back(0, 1) == []
    assert tracker.take_back(1, -1) == ["d"]


def test_a_failure_after_the_savepoint_is_the_end_and_names_the_savepoint() -> None:
    stop = StopWithSavepoint("job")
    stop.task_failed(ValueError("early"))
    assert stop.fatal is None
    stop.savepoint_created("sp/1")
    late = ValueError("late")
    stop.task_failed(late)
    assert isinstance(stop.fatal, StopWithSavepointStoppingError)
    assert stop.fatal is stop.error
    assert stop.fatal.__cause__ is late
    assert "sp/1" in str(stop.fatal)
    with pytest.raises(IllegalStateError, match="before the savepoint"):
        StopWithSavepoint("job").all_finished()


@pytest.mark.parametrize("last_id", [None, 7])
def test_a_stop_is_over_when_all_have_finished(last_id: int | None) -> None:
    """It has a result only if the savepoint covers everything. What comes later changes nothing."""
    stop = StopWithSavepoint("job")
    stop.savepoint_created("sp/1")
    stop.savepoint_failed(ValueError("after it was complete"))
    assert (stop.state, stop.error) == (StopState.SAVEPOINT_CREATED, None)
    stop.all_finished(last_id)
    stop.task_failed(ValueError("late"))
    stop.savepoint_created("sp/2")
    assert (stop.state, stop.fatal) == (StopState.FINAL, None)
    assert stop.result == ("sp/1" if last_id is None else None)
    if last_id is None:
        assert stop.error is None
    else:
        assert isinstance(stop.error, StopWithSavepointStoppingError)
        assert "sp/1" in str(stop.error)
        assert "up to 7" in str(stop.error)
