"""The states of a job, and which state may follow which. Source: Flink's `JobStatus` (flink.md 1)."""

from __future__ import annotations

from enum import Enum

from ..errors import IllegalStateError


class JobState(Enum):
    """The states of a job; the values are the words of `observer.JobStateChanged`."""

    CREATED = "created"
    RUNNING = "running"
    RESTARTING = "restarting"
    FAILING = "failing"
    CANCELLING = "cancelling"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Return whether no state follows: the job is over."""
        return not MOVES[self]


_ENDS = (JobState.FINISHED, JobState.FAILED)

# Subtasks may all finish, and so end the job, while it is about to restart, to fail or to be cancelled.
MOVES: dict[JobState, tuple[JobState, ...]] = {
    JobState.CREATED: (JobState.RUNNING, JobState.FAILING, JobState.CANCELLING),
    JobState.RUNNING: (JobState.RESTARTING, JobState.FAILING, JobState.CANCELLING, *_ENDS),
    # Another failure during a restart is another move to RESTARTING, with its own reason.
    JobState.RESTARTING: (
        JobState.RESTARTING,
        JobState.RUNNING,
        JobState.FAILING,
        JobState.CANCELLING,
        *_ENDS,
    ),
    JobState.FAILING: (JobState.CANCELLING, *_ENDS),
    JobState.CANCELLING: (JobState.CANCELLING, JobState.CANCELLED, *_ENDS),
    JobState.FINISHED: (),
    JobState.FAILED: (),
    JobState.CANCELLED: (),
}


def check_move(old: JobState, new: JobState) -> None:
    """Check that ``new`` may follow ``old``.

    Raises:
        IllegalStateError: the table has no such move.
    """
    if new not in MOVES[old]:
        after = ", ".join(state.value for state in MOVES[old]) or "nothing"
        raise IllegalStateError(f"a job that is {old.value} cannot become {new.value}, only {after}")
