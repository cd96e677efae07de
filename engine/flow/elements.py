"""What travels on a channel, and the kinds of checkpoints.

A channel carries batches of records, watermarks and watermark statuses, barriers and cancel markers. The end
of data and then the end of the partition come last. Source: Flink 1.17 (`flink-runtime`, events of the
network stack).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .batch import Batch

MAX_TIMESTAMP_MS = 2**63 - 1
MIN_TIMESTAMP_MS = -(2**63)


class CheckpointKind(Enum):
    """Say who owns a checkpoint, and what happens after it."""

    CHECKPOINT = "checkpoint"  # periodic, owned by the engine, subsumed by newer ones
    FULL_CHECKPOINT = "full checkpoint"  # shares no file with earlier ones
    SAVEPOINT = "savepoint"  # the user's; never subsumed, never the basis of a failover
    SUSPEND = "savepoint, suspend"  # stop-with-savepoint without drain
    TERMINATE = "savepoint, terminate"  # stop-with-savepoint with drain

    @property
    def is_savepoint(self) -> bool:
        """Return whether the user owns the checkpoint."""
        return self in (CheckpointKind.SAVEPOINT, CheckpointKind.SUSPEND, CheckpointKind.TERMINATE)

    @property
    def is_synchronous(self) -> bool:
        """Return whether tasks wait for the completion of this very checkpoint, and then end."""
        return self in (CheckpointKind.SUSPEND, CheckpointKind.TERMINATE)


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """Options say of which kind a checkpoint is. ``target`` is the folder of a savepoint, or None."""

    kind: CheckpointKind = CheckpointKind.CHECKPOINT
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark promises that no record at or below its timestamp (ms) follows, except late records."""

    timestamp_ms: int


MAX_WATERMARK = Watermark(MAX_TIMESTAMP_MS)


@dataclass(frozen=True, slots=True)
class WatermarkStatus:
    """A status says whether a channel is idle. An idle channel does not hold back the watermark."""

    is_idle: bool


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier divides a channel: records before it belong to the checkpoint, records after it do not."""

    checkpoint_id: int
    timestamp_ms: int
    options: CheckpointOptions = CheckpointOptions()


@dataclass(frozen=True, slots=True)
class CancelMarker:
    """A cancel marker says that no barrier of this checkpoint will follow."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class EndOfData:
    """The end of data says that no record follows from this producer, though barriers may.

    A producer sends it after ``finish``. ``drain`` says whether operators finish, as at the end of a bounded
    input.
    """

    drain: bool


@dataclass(frozen=True, slots=True)
class EndOfPartition:
    """The end of the partition is the last element of a producer, which sends it after ``close``."""


Event = Barrier | CancelMarker | EndOfData | EndOfPartition
Element = Batch | Watermark | WatermarkStatus | Event


@dataclass(frozen=True, slots=True, order=True)
class SubtaskId:
    """Identify one parallel instance of a vertex.

    ``index`` counts from 0, so ``count[1]`` is shown as count 2/3.
    """

    vertex: str
    index: int

    def __str__(self) -> str:
        return f"{self.vertex}[{self.index}]"
