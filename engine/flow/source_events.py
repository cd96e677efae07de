"""What a source's subtasks and their coordinator tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReaderRegistration:
    """The reader is there, with its restored splits."""

    subtask: int


@dataclass(frozen=True, slots=True)
class RequestSplit:
    subtask: int


@dataclass(frozen=True, slots=True)
class SourceEventWrapper:
    """An event of the connector's own, either way."""

    event: Any


@dataclass(frozen=True, slots=True)
class AddSplits:
    """``splits`` in the split serializer's ``version``."""

    version: int
    splits: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class NoMoreSplits:
    """Nothing will be assigned any more."""


@dataclass(frozen=True, slots=True)
class BarrierTaken:
    """The subtask has taken its snapshot of this checkpoint: its event gate may open."""

    checkpoint_id: int
