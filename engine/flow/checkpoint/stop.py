"""Decide what the end of a stop-with-savepoint means (flink.md 7).

Source: Flink's `StopWithSavepointTerminationHandlerImpl`.
"""

from __future__ import annotations

from enum import Enum

from ..errors import IllegalStateError, StopWithSavepointStoppingError


class StopState(Enum):
    """How far a stop-with-savepoint is."""

    WAITING_FOR_SAVEPOINT = "waiting for the savepoint"
    SAVEPOINT_CREATED = "savepoint created"
    FINAL = "final"


class StopWithSavepoint:
    """One stop-with-savepoint of a job.

    ``result`` (the folder) or ``error`` is set once the state is FINAL; both are None if the savepoint
    failed. ``fatal`` is what the whole job fails with.
    """

    def __init__(self, job: str) -> None:
        self._job = job
        self.state = StopState.WAITING_FOR_SAVEPOINT
        self.path: str | None = None
        self.result: str | None = None
        self.error: BaseException | None = None
        self.fatal: StopWithSavepointStoppingError | None = None

    def savepoint_created(self, path: str) -> None:
        """Note that the savepoint is complete in the folder ``path``."""
        if self.state is StopState.WAITING_FOR_SAVEPOINT:
            self.state, self.path = StopState.SAVEPOINT_CREATED, path

    def savepoint_failed(self, error: BaseException) -> None:
        """Note that the savepoint failed: the job continues, and takes periodic checkpoints again."""
        if self.state is StopState.WAITING_FOR_SAVEPOINT:
            self.state, self.error = StopState.FINAL, error

    def all_finished(self, last_id: int | None = None) -> None:
        """Note that every subtask has finished.

        ``last_id`` is a later checkpoint that some of them waited for, which the savepoint does not cover.

        Raises:
            IllegalStateError: there is no savepoint yet, so the subtasks must not have finished.
        """
        if self.state is StopState.WAITING_FOR_SAVEPOINT:
            raise IllegalStateError("all subtasks finished before the savepoint they stop with was complete")
        if self.state is StopState.SAVEPOINT_CREATED and last_id is None:
            self.state, self.result = StopState.FINAL, self.path
        elif self.state is StopState.SAVEPOINT_CREATED:
            assert self.path is not None
            self.state = StopState.FINAL
            self.error = StopWithSavepointStoppingError(
                f"A savepoint has been created at: {self.path}, but job {self._job} did not end with it: its "
                f"last tasks waited for later checkpoints, up to {last_id}. What they committed after the "
                "savepoint, a job started from it commits again",
                self.path,
            )

    def task_failed(self, cause: BaseException) -> None:
        """Note that a subtask failed instead of finishing.

        Before the savepoint this is a failure like any other. After it, the job must not restart.
        """
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
