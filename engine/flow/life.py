"""The life of a subtask: its states as the job sees them, and FLIP-147's way to the end.

::

    RUNNING (records) → all data done → WAIT → CLOSING → FINISHED

`FinalCheckpoint` decides how long WAIT lasts. Source: FLIP-147 (Flink 1.14, default since 1.15).
"""

from __future__ import annotations

from enum import Enum

from pravega_lab.engine.flow.elements import CheckpointKind
from pravega_lab.engine.flow.errors import IllegalStateError, SavepointError


class SubtaskState(Enum):
    """States of an execution attempt."""

    CREATED = "created"
    SCHEDULED = "scheduled"
    DEPLOYING = "deploying"
    INITIALIZING = "initializing"
    RUNNING = "running"
    FINISHED = "finished"
    CANCELING = "canceling"
    CANCELED = "canceled"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        return not MOVES[self]


MOVES: dict[SubtaskState, tuple[SubtaskState, ...]] = {
    SubtaskState.CREATED: (SubtaskState.SCHEDULED, SubtaskState.CANCELED, SubtaskState.FAILED),
    SubtaskState.SCHEDULED: (SubtaskState.DEPLOYING, SubtaskState.CANCELED, SubtaskState.FAILED),
    SubtaskState.DEPLOYING: (
        SubtaskState.INITIALIZING,
        SubtaskState.CANCELING,
        SubtaskState.FAILED,
    ),
    SubtaskState.INITIALIZING: (SubtaskState.RUNNING, SubtaskState.CANCELING, SubtaskState.FAILED),
    SubtaskState.RUNNING: (SubtaskState.FINISHED, SubtaskState.CANCELING, SubtaskState.FAILED),
    SubtaskState.CANCELING: (SubtaskState.CANCELED, SubtaskState.FAILED),
    SubtaskState.FINISHED: (),
    SubtaskState.CANCELED: (),
    SubtaskState.FAILED: (),
}


def check_move(old: SubtaskState, new: SubtaskState) -> None:
    """
    Raises:
        IllegalStateError: the table has no such move.
    """
    if new not in MOVES[old]:
        after = ", ".join(state.value for state in MOVES[old]) or "nothing"
        raise IllegalStateError(f"a subtask that is {old.value} cannot become {new.value}, only {after}")


class FinalCheckpoint:
    """Which checkpoint a subtask that has done all its data waits for.

    Any checkpoint from the first one that it performs after its data ended; but if a stop-with-savepoint is
    under way, exactly that savepoint. ``is_wanted``: the feature is on and there are checkpoints.
    """

    def __init__(self, *, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._min_id: int | None = None
        self._has_completed = False
        self.savepoint_id: int | None = None
        self.has_data_ended = False

    def data_ended(self) -> None:
        self.has_data_ended = True

    def performing(self, checkpoint_id: int, kind: CheckpointKind) -> None:
        """A checkpoint begins in this subtask.

        Raises:
            IllegalStateError: another stop-with-savepoint is under way.
        """
        if kind.is_synchronous:
            self.expect_savepoint(checkpoint_id)
        if self.has_data_ended and self._min_id is None:
            self._min_id = checkpoint_id

    def expect_savepoint(self, checkpoint_id: int) -> None:
        """The subtask will end with this stop-with-savepoint."""
        if self.savepoint_id is not None and self.savepoint_id != checkpoint_id:
            raise IllegalStateError(
                f"stop-with-savepoint {checkpoint_id} while {self.savepoint_id} is under way: one at a time"
            )
        self.savepoint_id = checkpoint_id

    def completed(self, checkpoint_id: int) -> None:
        if self.savepoint_id is not None:
            self._has_completed |= checkpoint_id == self.savepoint_id
        elif self._min_id is not None and checkpoint_id >= self._min_id:
            self._has_completed = True

    def aborted(self, checkpoint_id: int) -> None:
        """
        Raises:
            SavepointError: it was the stop-with-savepoint: the subtask has stopped and cannot go on.
        """
        if checkpoint_id == self.savepoint_id:
            raise SavepointError(f"Stop-with-savepoint failed: savepoint {checkpoint_id} was aborted")

    @property
    def may_close(self) -> bool:
        """Has what it waits for come (or does it wait for nothing)?"""
        if self.savepoint_id is not None:
            return self._has_completed
        return self._has_completed or not self._is_wanted
