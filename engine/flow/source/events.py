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
class BarrierTaken:
    """The subtask has taken its snapshot of this checkpoint, so its event gate may open."""

    checkpoint_id: int
