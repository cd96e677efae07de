"""The states of an execution attempt of a subtask, and which may follow which (flink.md 6)."""

from __future__ import annotations

from enum import Enum

from .errors import IllegalStateError


class SubtaskState(Enum):
    """The states of an execution attempt."""

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
        """Return whether no state follows: the attempt has ended."""
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
    """Check that ``new`` may follow ``old``.

    Raises:
        IllegalStateError: the table has no such move.
    """
    if new not in MOVES[old]:
        after = ", ".join(state.value for state in MOVES[old]) or "nothing"
        raise IllegalStateError(f"a subtask that is {old.value} cannot become {new.value}, only {after}")
