"""What travels on a channel besides records, and the words for kinds of checkpoints.

In-band, in order of possible appearance: records, watermarks and their status, barriers, cancel markers, end
of data, end of partition. Source: Flink's runtime as of 1.17 (`flink-runtime`, events of the network stack).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pravega_lab.engine.flow.batch import Batch

MAX_TIMESTAMP_MS = 2**63 - 1
MIN_TIMESTAMP_MS = -(2**63)


class CheckpointKind(Enum):
    """Whose a checkpoint is and what comes after it."""

    CHECKPOINT = "checkpoint"  # periodic, owned by the engine, subsumed by newer ones
    FULL_CHECKPOINT = "full checkpoint"  # shares no file with earlier ones
    SAVEPOINT = "savepoint"  # the user's; never subsumed, never the basis of a failover
    SUSPEND = "savepoint, suspend"  # stop-with-savepoint without drain
    TERMINATE = "savepoint, terminate"  # stop-with-savepoint with drain

    @property
    def is_savepoint(self) -> bool:
        return self in (CheckpointKind.SAVEPOINT, CheckpointKind.SUSPEND, CheckpointKind.TERMINATE)

    @property
    def is_synchronous(self) -> bool:
        """Do tasks wait for this very id, and end then?"""
        return self in (CheckpointKind.SUSPEND, CheckpointKind.TERMINATE)


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """What a barrier tells besides its id. ``target``: folder of a savepoint."""

    kind: CheckpointKind = CheckpointKind.CHECKPOINT
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """No record with a timestamp (ms) at or below this is to come, but late ones."""

    timestamp_ms: int


MAX_WATERMARK = Watermark(MAX_TIMESTAMP_MS)


@dataclass(frozen=True, slots=True)
class WatermarkStatus:
    """An idle channel does not hold the watermark back."""

    is_idle: bool


@dataclass(frozen=True, slots=True)
class Barrier:
    """What is before it on a channel belongs to the checkpoint, what is behind it does not."""

    checkpoint_id: int
    timestamp_ms: int
    options: CheckpointOptions = CheckpointOptions()


@dataclass(frozen=True, slots=True)
class CancelMarker:
    """No barrier of this checkpoint will come any more."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class EndOfData:
    """No more records from this producer; barriers may follow. Sent after ``finish``."""

    drain: bool


@dataclass(frozen=True, slots=True)
class EndOfPartition:
    """Nothing more from this producer, barriers included. Sent after ``close``."""


Event = Barrier | CancelMarker | EndOfData | EndOfPartition
Element = Batch | Watermark | WatermarkStatus | Event


@dataclass(frozen=True, slots=True, order=True)
class SubtaskId:
    """One parallel instance of a vertex: ``count 2/3`` is index 1 of 3."""

    vertex: str
    index: int

    def __str__(self) -> str:
        return f"{self.vertex}[{self.index}]"
