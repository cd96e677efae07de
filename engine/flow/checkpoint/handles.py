"""A completed checkpoint as a value: the states of its operators and master hooks, and where they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..elements import CheckpointKind
from ..state.handles import Blob, OperatorState


@dataclass(frozen=True)
class MasterState:
    """Holds the state of one master hook: ``data`` in ``version`` of its serializer."""

    hook: str
    version: int
    data: bytes


@dataclass
class CompletedCheckpoint:
    """A completed checkpoint or savepoint, with what its ``_metadata`` stores. ``path`` is its folder."""

    checkpoint_id: int
    kind: CheckpointKind
    job: str
    timestamp_ms: int
    path: str
    operators: dict[str, OperatorState] = field(default_factory=dict)
    master: dict[str, MasterState] = field(default_factory=dict)

    def blobs(self) -> Iterator[Blob]:
        """Yield every blob of the subtasks' states."""
        for operator in self.operators.values():
            for subtask in operator.subtasks.values():
                yield from subtask.blobs()

    @property
    def files(self) -> list[str]:
        """Return the path of every file with state, each once."""
        return list(dict.fromkeys(blob.path for blob in self.blobs()))

    @property
    def size_bytes(self) -> int:
        """Return the size of all state of subtasks in bytes."""
        return sum(blob.length for blob in self.blobs())
