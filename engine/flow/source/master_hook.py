"""Master hooks: external systems that the coordinator asks at a checkpoint, and resets at a restore.

A hook is called in the job master. Its identifier names its state in the checkpoint. Source:
`MasterTriggerRestoreHook` (FLINK-6390), FLINK-20222 and FLINK-21178 for `reset`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any

from .sources import Serializer


class MasterHook(ABC):
    """A hook stands for one external system that has checkpoints of its own."""

    @property
    @abstractmethod
    def identifier(self) -> str:
        """Return a name that is unique in the job, not blank, and the same in every run."""

    @abstractmethod
    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> Awaitable[Any] | None:
        """Start the checkpoint of the external system. Must not block.

        Called once per checkpoint, after the operator coordinators have been snapshotted and before any task
        is triggered. The result None, or an awaitable of None, acknowledges the checkpoint without state. An
        awaitable that raises fails the checkpoint, and one that is never done lets it expire.
        """

    def serializer(self) -> Serializer[Any] | None:
        """Return the serializer of its state. It is needed if `trigger_checkpoint` returns any."""
        return None

    def restore_checkpoint(self, checkpoint_id: int, data: Any | None) -> Awaitable[None] | None:
        """Restore the external system, in regional and in global recovery.

        ``data`` is None if the checkpoint has no state of this hook.
        """
        return None

    def reset(self) -> Awaitable[None] | None:
        """Go back to the beginning: the job restarts, and there is no completed checkpoint."""
        return None

    def close(self) -> Awaitable[None] | None:
        """Release everything when the job ends."""
        return None
