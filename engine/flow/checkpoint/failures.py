"""Decide which failed checkpoints count, and when too many of them fail the job.

Source: Flink's `CheckpointFailureReason` and `CheckpointFailureManager` (flink.md 2.5).
"""

from __future__ import annotations

from ..elements import CheckpointKind
from ..errors import CheckpointFailedError, Reason

_COUNTED = {
    Reason.CHECKPOINT_DECLINED,
    Reason.CHECKPOINT_ASYNC_EXCEPTION,
    Reason.CHECKPOINT_EXPIRED,
    Reason.IO_EXCEPTION,
    Reason.FINALIZE_CHECKPOINT_FAILURE,
}


def reason_of(error: BaseException) -> Reason:
    """Return the reason that a failure during the trigger counts as.

    IO_EXCEPTION if an OSError is anywhere among its causes, else its own reason, else the general one.
    """
    seen: BaseException | None = error
    own: Reason | None = None
    while seen is not None:
        if isinstance(seen, OSError):
            return Reason.IO_EXCEPTION
        if isinstance(seen, CheckpointFailedError) and own is None:
            own = seen.reason
        seen = seen.__cause__
    return own or Reason.TRIGGER_CHECKPOINT_FAILURE


class FailureManager:
    """Counts checkpoints that failed since the last success. Savepoints never count."""

    def __init__(self, tolerable: int = 0) -> None:
        self.tolerable = tolerable
        self._counted: dict[int, None] = {}
        self._not_triggered = 0
        self._last_success = -1

    @property
    def in_a_row(self) -> int:
        """Return how many checkpoints failed since the last success, or since the job restarted.

        Those that could not be triggered, because a hook raised, are among them. They never fail the job.
        """
        return len(self._counted) + self._not_triggered

    def failed(self, reason: Reason, checkpoint_id: int | None, kind: CheckpointKind) -> bool:
        """Count a failure, each checkpoint once; return whether the job has to fail now."""
        if reason is Reason.TRIGGER_CHECKPOINT_FAILURE and not kind.is_savepoint:
            self._not_triggered += 1
        if reason not in _COUNTED or kind.is_savepoint:
            return False
        if checkpoint_id is not None:
            if checkpoint_id <= self._last_success or checkpoint_id in self._counted:
                return False
            self._counted[checkpoint_id] = None
        else:
            self._counted[-len(self._counted) - 1] = None  # it has no id: it counts for itself
        return len(self._counted) > self.tolerable

    def succeeded(self, checkpoint_id: int) -> None:
        """Begin to count again, and ignore failures of this checkpoint and older ones."""
        self.reset()
        self._last_success = max(self._last_success, checkpoint_id)

    def reset(self) -> None:
        """Begin to count again: the job restarts."""
        self._counted.clear()
        self._not_triggered = 0
