"""Errors of the engine, and the reasons for which checkpoints fail.

Messages name the operator, subtask or checkpoint, and say what the user can do.
"""

from __future__ import annotations

from enum import Enum

from pravega_lab.errors import BadInputError, Definite, PravegaError


class JobError(PravegaError):
    """Raised when a job does not end as it should. The base of most errors here."""


class InvalidJobGraphError(BadInputError):
    """Raised for a graph that can never run: it has a cycle, a uid twice, or a parallelism above its key
    groups.
    """


class RestoreError(JobError):
    """Raised when stored state does not fit the job.

    The message names the operator, and says what would make the job accept the state.
    """


class DamagedCheckpointError(JobError):
    """Raised when a folder is not a complete checkpoint or savepoint. The message names the file.

    A job that meets such a file while it restores its state fails and does not restart.
    """


class LostTransactionError(JobError):
    """Raised when a pre-committed transaction can never be committed, so its rows are lost.

    The job fails and does not restart, because every restart would meet the same transaction.
    """


class SavepointError(JobError):
    """Raised when a savepoint could not be taken."""


class StopWithSavepointStoppingError(JobError):
    """Raised when the savepoint is complete, but the job failed before it had stopped.

    ``path`` is the folder of the savepoint, which can be restored. The job does not restart after this error.
    """

    definite = Definite.YES

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class UserFunctionError(JobError):
    """Raised when a user's function raised.

    The message names the operator, the subtask and the record. The cause has the traceback.
    """


class IllegalStateError(PravegaError, RuntimeError):
    """Raised for a call that the current state does not allow. The message names that state."""


class JobFailedError(JobError):
    """Raised when the job has failed and its restart strategy gave up. The cause is the last failure."""


class JobCancelledError(JobError):
    """Raised in a caller that waits for a result of a job that was cancelled."""


class StuckSubtaskError(JobError):
    """Raised when a cancelled subtask does not end. It may still write, so no other attempt may start."""


class Reason(Enum):
    """Name why a checkpoint failed, in the words of Flink's `CheckpointFailureReason`."""

    #: The turn of a periodic checkpoint came after periodic checkpoints had been stopped.
    PERIODIC_SCHEDULER_SHUTDOWN = "Periodic checkpoint scheduler is shut down."
    #: So many requests wait already that this one was refused.
    TOO_MANY_CHECKPOINT_REQUESTS = "The maximum number of queued checkpoint requests exceeded."
    #: A periodic checkpoint came sooner after the last one than ``min_pause_ms`` allows.
    MINIMUM_TIME_BETWEEN_CHECKPOINTS = "The minimum time between checkpoints is still pending."
    #: A task that has to take part does not run yet, or none runs any more.
    NOT_ALL_REQUIRED_TASKS_RUNNING = "Not all required tasks are currently running."
    #: A file could not be written or read while the checkpoint was being triggered.
    IO_EXCEPTION = "An IO failure occurred in the checkpoint coordinator."
    #: A step of the trigger failed: a hook, a coordinator, or a task that had just stopped.
    TRIGGER_CHECKPOINT_FAILURE = "Trigger checkpoint failure."
    #: It was not complete after ``timeout_ms``. The message names for whom it waited.
    CHECKPOINT_EXPIRED = "Checkpoint expired before completing."
    #: A later checkpoint was complete first.
    CHECKPOINT_SUBSUMED = "Checkpoint has been subsumed."
    #: A task refused it, for a reason that has no member of its own.
    CHECKPOINT_DECLINED = "Checkpoint was declined."
    #: A task refused it because it had not begun to run.
    CHECKPOINT_DECLINED_TASK_NOT_READY = "Checkpoint was declined (tasks not ready)."
    #: A task refused it because it was ending.
    CHECKPOINT_DECLINED_TASK_CLOSING = "Checkpoint was declined (task is closing)."
    #: The barrier of a later checkpoint reached a task while it was still aligning this one.
    CHECKPOINT_DECLINED_SUBSUMED = (
        "Checkpoint was canceled because a barrier from newer checkpoint was received."
    )
    #: An input of a task ended before its barrier came.
    CHECKPOINT_DECLINED_INPUT_END_OF_STREAM = "Checkpoint was declined because one input stream is finished."
    #: A task could not store its snapshot.
    CHECKPOINT_ASYNC_EXCEPTION = "Asynchronous task checkpoint failed."
    #: The job has ended.
    CHECKPOINT_COORDINATOR_SHUTDOWN = "CheckpointCoordinator shutdown."
    #: The coordinator of an operator was not running or was being reset.
    CHECKPOINT_COORDINATOR_SUSPEND = "Checkpoint Coordinator is suspending."
    #: All had acknowledged, but the metadata could not be put together or written.
    FINALIZE_CHECKPOINT_FAILURE = "Failure to finalize checkpoint."
    #: The job failed and does not restart.
    JOB_FAILURE = "The job has failed."
    #: A task failed, and the job restarts.
    TASK_FAILURE = "A task of the job has failed."


class CheckpointFailedError(PravegaError):
    """Raised when a checkpoint or savepoint failed. ``reason`` says why."""

    def __init__(self, reason: Reason, message: str = "") -> None:
        super().__init__(f"{reason.value} {message}".strip())
        self.reason = reason


class PartialFinishingNotSupportedByStateError(PravegaError):
    """Raised when an operator with union list state has finished in some subtasks and not in others.

    Union list state can be restored only if all subtasks have stored it (flink.md 6.4).
    """
