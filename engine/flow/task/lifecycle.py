"""How a subtask ends (FLIP-147).

::

    RUNNING (records) → all data done → WAIT → CLOSING → FINISHED

`FinalCheckpoint` decides how long WAIT lasts. Source: FLIP-147 (Flink 1.14, default since 1.15; flink.md 6).
"""

from __future__ import annotations

from ..elements import CheckpointKind
from ..errors import IllegalStateError, SavepointError


class FinalCheckpoint:
    """Decides which checkpoint a subtask waits for after all its data.

    It is any checkpoint from the first one that the subtask performs after its data has ended. If a stop-
    with-savepoint is under way, it is exactly that savepoint. ``is_wanted``: the job takes checkpoints after
    tasks finish. ``ends_with_savepoint`` False: the savepoint counts only if the data ended before it.
    """

    def __init__(self, *, is_wanted: bool, ends_with_savepoint: bool = True) -> None:
        self._is_wanted, self._ends_with_savepoint = is_wanted, ends_with_savepoint
        self.is_suspended = False  # by a stop-with-savepoint without drain
        self._min_id: int | None = None
        self._has_completed = False
        self.savepoint_id: int | None = None
        self.has_data_ended = False

    def data_ended(self) -> None:
        """Note that the subtask has all its data."""
        self.has_data_ended = True

    def performing(self, checkpoint_id: int, kind: CheckpointKind) -> None:
        """Note that a checkpoint begins in this subtask.

        Raises:
            IllegalStateError: another stop-with-savepoint is under way.
        """
        if kind.is_synchronous and (self._ends_with_savepoint or self.has_data_ended):
            self.expect_savepoint(checkpoint_id)
        self.is_suspended |= kind is CheckpointKind.SUSPEND
        if self.has_data_ended and self._min_id is None:
            self._min_id = checkpoint_id

    def expect_savepoint(self, checkpoint_id: int) -> None:
        """Note that the subtask will end with this stop-with-savepoint.

        Raises:
            IllegalStateError: another stop-with-savepoint is under way.
        """
        if self.savepoint_id is not None and self.savepoint_id != checkpoint_id:
            raise IllegalStateError(
                f"stop-with-savepoint {checkpoint_id} while {self.savepoint_id} is under way: one at a time"
            )
        self.savepoint_id = checkpoint_id

    def completed(self, checkpoint_id: int) -> None:
        """Note that a checkpoint is complete."""
        if self.savepoint_id is not None:
            self._has_completed |= checkpoint_id == self.savepoint_id
        elif self._min_id is not None and checkpoint_id >= self._min_id:
            self._has_completed = True

    def aborted(self, checkpoint_id: int) -> None:
        """Note that a checkpoint was aborted.

        Raises:
            SavepointError: it was the stop-with-savepoint: the subtask has stopped and cannot resume.
        """
        if checkpoint_id == self.savepoint_id:
            raise SavepointError(f"Stop-with-savepoint failed: savepoint {checkpoint_id} was aborted")

    @property
    def may_close(self) -> bool:
        """Return whether the checkpoint that the subtask waits for is complete, or it waits for none."""
        if self.savepoint_id is not None:
            return self._has_completed
        return self._has_completed or not self._is_wanted
