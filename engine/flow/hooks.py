"""Master hooks: what else has to be asked at a checkpoint, and told at a restore.

A hook is called beside the coordinator. Its identifier names its state in the checkpoint.
Source: `MasterTriggerRestoreHook` (FLINK-6390), FLINK-20222 and FLINK-21178 for `reset`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any

from pravega_lab.engine.flow.sources import Serializer


class MasterHook(ABC):
    """One external system that has checkpoints of its own."""

    @property
    @abstractmethod
    def identifier(self) -> str:
        """Unique in the job, not blank, the same in every run."""

    @abstractmethod
    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> Awaitable[Any] | None:
        """Called once per checkpoint, after the operator coordinators have been snapshotted and before any
        task is triggered. Must not block. None, or an awaitable that gives None: acknowledged, no state.
        An awaitable that raises fails the checkpoint; one that is never done lets it expire."""

    def serializer(self) -> Serializer[Any] | None:
        """For its state. Needed if `trigger_checkpoint` gives any."""
        return None

    def restore_checkpoint(self, checkpoint_id: int, data: Any | None) -> Awaitable[None] | None:
        """Restored from this checkpoint; ``data`` is None if it has nothing of this hook, though something of
        another. Regional and global recovery."""
        return None

    def reset(self) -> Awaitable[None] | None:
        """Restored, and there is no completed checkpoint: go back to the beginning. Regional and global."""
        return None

    def close(self) -> Awaitable[None] | None:
        return None
