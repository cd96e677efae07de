"""Why checkpoints fail, which failures count, and when too many of them fail the job.

Source: Flink's `CheckpointFailureReason` and `CheckpointFailureManager`.
"""

from __future__ import annotations

from enum import Enum

from pravega_lab.engine.flow.elements import CheckpointKind
from pravega_lab.errors import PravegaError


class Reason(Enum):
    """Words of a failed checkpoint."""

    PERIODIC_SCHEDULER_SHUTDOWN = "Periodic checkpoint scheduler is shut down."
    TOO_MANY_CHECKPOINT_REQUESTS = "The maximum number of queued checkpoint requests exceeded."
    MINIMUM_TIME_BETWEEN_CHECKPOINTS = "The minimum time between checkpoints is still pending."
    NOT_ALL_REQUIRED_TASKS_RUNNING = "Not all required tasks are currently running."
    IO_EXCEPTION = "An IO failure occurred in the checkpoint coordinator."
    TRIGGER_CHECKPOINT_FAILURE = "Trigger checkpoint failure."
    CHECKPOINT_EXPIRED = "Checkpoint expired before completing."
    CHECKPOINT_SUBSUMED = "Checkpoint has been subsumed."
    CHECKPOINT_DECLINED = "Checkpoint was declined."
    CHECKPOINT_DECLINED_TASK_NOT_READY = "Checkpoint was declined (tasks not ready)."
    CHECKPOINT_DECLINED_TASK_CLOSING = "Checkpoint was declined (task is closing)."
    CHECKPOINT_DECLINED_SUBSUMED = (
        "Checkpoint was canceled because a barrier from newer checkpoint was received."
    )
    CHECKPOINT_DECLINED_INPUT_END_OF_STREAM = "Checkpoint was declined because one input stream is finished."
    CHECKPOINT_ASYNC_EXCEPTION = "Asynchronous task checkpoint failed."
    CHECKPOINT_COORDINATOR_SHUTDOWN = "CheckpointCoordinator shutdown."
    CHECKPOINT_COORDINATOR_SUSPEND = "Checkpoint Coordinator is suspending."
    FINALIZE_CHECKPOINT_FAILURE = "Failure to finalize checkpoint."
    JOB_FAILURE = "The job has failed."
    TASK_FAILURE = "A task of the job has failed."


_COUNTED = {
    Reason.CHECKPOINT_DECLINED,
    Reason.CHECKPOINT_ASYNC_EXCEPTION,
    Reason.CHECKPOINT_EXPIRED,
    Reason.IO_EXCEPTION,
    Reason.FINALIZE_CHECKPOINT_FAILURE,
}


class CheckpointFailedError(PravegaError):
    """A checkpoint or savepoint failed; ``reason`` says in which of the known ways."""

    def __init__(self, reason: Reason, message: str = "") -> None:
        super().__init__(f"{reason.value} {message}".strip())
        self.reason = reason


class PartialFinishingNotSupportedByStateError(PravegaError):
    """Union list state is all or nothing: some of its subtasks had finished."""


def reason_of(error: BaseException) -> Reason:
    """The reason that a failure while triggering stands for: I/O anywhere in its causes, its own, or the
    general."""
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
    """Counts failed checkpoints one after the other. Savepoints are never counted."""

    def __init__(self, tolerable: int = 0) -> None:
        self.tolerable = tolerable
        self._counted: dict[int, None] = {}
        self._last_success = -1

    def failed(self, reason: Reason, checkpoint_id: int | None, kind: CheckpointKind) -> bool:
        """Note a failure; True if the job has to fail now."""
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
        self._counted.clear()
        self._last_success = max(self._last_success, checkpoint_id)

    def reset(self) -> None:
        """The job restarts: what was counted is forgotten."""
        self._counted.clear()
