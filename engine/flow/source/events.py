"""The events that the subtasks of a source and their coordinator send to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReaderRegistration:
    """The reader is ready and has its restored splits."""

    subtask: int


@dataclass(frozen=True, slots=True)
class RequestSplit:
    """The reader asks for another split."""

    subtask: int


@dataclass(frozen=True, slots=True)
class SourceEventWrapper:
    """The event belongs to the connector. It may be sent in both directions."""

    event: Any


@dataclass(frozen=True, slots=True)
class AddSplits:
    """The enumerator assigned ``splits``, encoded in the ``version`` of the split serializer."""

    version: int
    splits: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class NoMoreSplits:
    """The enumerator will assign nothing more."""


@dataclass(frozen=True, slots=True)
class WatermarkReport:
    """The lowest watermark of the reader's splits, and whether one of them is active.

    ``begun`` are the splits that count in it for the first time.
    """

    lowest_ms: int
    is_active: bool
    begun: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WatermarkLimit:
    """The reader may emit watermarks up to ``limit_ms``. Each report is answered so."""

    limit_ms: int


@dataclass(frozen=True, slots=True)
class BarrierTaken:
    """The subtask has taken its snapshot of this checkpoint, so its event gate may open."""

    checkpoint_id: int
