"""Stop-with-savepoint: what its end means. Source: Flink's `StopWithSavepointTerminationHandlerImpl`."""

from __future__ import annotations

from enum import Enum

from pravega_lab.engine.flow.errors import IllegalStateError, StopWithSavepointStoppingError


class StopState(Enum):
    WAITING_FOR_SAVEPOINT = "waiting for the savepoint"
    SAVEPOINT_CREATED = "savepoint created"
    FINAL = "final"


class StopWithSavepoint:
    """``result`` or ``error`` is there once the state is FINAL; `fatal` is what the whole job fails with."""

    def __init__(self, job: str) -> None:
        self._job = job
        self.state = StopState.WAITING_FOR_SAVEPOINT
        self.path: str | None = None
        self.result: str | None = None
        self.error: BaseException | None = None
        self.fatal: StopWithSavepointStoppingError | None = None

    def savepoint_created(self, path: str) -> None:
        if self.state is StopState.WAITING_FOR_SAVEPOINT:
            self.state, self.path = StopState.SAVEPOINT_CREATED, path

    def savepoint_failed(self, error: BaseException) -> None:
        """The job goes on; periodic checkpoints begin again."""
        if self.state is StopState.WAITING_FOR_SAVEPOINT:
            self.state, self.error = StopState.FINAL, error

    def all_finished(self) -> None:
        """Every subtask has finished.

        Raises:
            IllegalStateError: before there was a savepoint: the order of things was violated.
        """
        if self.state is StopState.WAITING_FOR_SAVEPOINT:
            raise IllegalStateError("all subtasks finished before the savepoint they stop with was complete")
        if self.state is StopState.SAVEPOINT_CREATED:
            self.state, self.result = StopState.FINAL, self.path

    def task_failed(self, cause: BaseException) -> None:
        """A subtask ended otherwise. Before the savepoint that is a failure like any other."""
        if self.state is StopState.SAVEPOINT_CREATED:
            assert self.path is not None
            self.fatal = StopWithSavepointStoppingError(
                f"A savepoint has been created at: {self.path}, but job {self._job} did not stop in "
                f"order: {cause}. "
                "What the savepoint covers may not be committed yet; a job started from it will commit it",
                self.path,
            )
            self.fatal.__cause__ = cause
            self.state, self.error = StopState.FINAL, self.fatal
