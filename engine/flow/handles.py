"""What a checkpoint holds of each operator, as values: where which bytes of state lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from pravega_lab.engine.flow.elements import CheckpointKind


class ListMode(Enum):
    """How the elements of an operator's list state are shared out on a restore."""

    SPLIT = "split"  # among the subtasks, in contiguous pieces
    UNION = "union"  # all to everyone
    BROADCAST = "broadcast"  # everyone has the same; one copy to everyone


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes in a file of the checkpoint storage. ``path`` is relative to the root of the storage (or
    absolute)."""

    path: str
    offset: int
    length: int
    crc: int


@dataclass(frozen=True, slots=True)
class ListState:
    mode: ListMode
    elements: tuple[Blob, ...]


@dataclass(frozen=True)
class SubtaskState:
    """State of one operator in one subtask: ``keyed`` by key group, ``lists`` by name."""

    keyed: Mapping[int, Blob] = field(default_factory=dict)
    lists: Mapping[str, ListState] = field(default_factory=dict)

    def blobs(self) -> Iterator[Blob]:
        yield from self.keyed.values()
        for state in self.lists.values():
            yield from state.elements

    @property
    def size_bytes(self) -> int:
        return sum(blob.length for blob in self.blobs())

    @property
    def uses_union(self) -> bool:
        return any(state.mode is ListMode.UNION for state in self.lists.values())


@dataclass
class OperatorState:
    """One operator in a checkpoint.

    ``finished``: subtasks that had finished before it. ``is_fully_finished``: all had, or were restored so;
    then there is neither state of subtasks nor of the coordinator.
    """

    operator_id: str
    name: str
    vertex: str
    parallelism: int
    max_parallelism: int
    subtasks: dict[int, SubtaskState] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    is_fully_finished: bool = False
    coordinator: bytes | None = None

    @property
    def finish_state(self) -> str:
        if self.is_fully_finished:
            return "fully finished"
        return "partially finished" if self.finished else "running"


@dataclass(frozen=True)
class MasterState:
    """Of one master hook: ``data`` in its serializer's ``version``."""

    hook: str
    version: int
    data: bytes


@dataclass
class CompletedCheckpoint:
    """A checkpoint or savepoint as its ``_metadata`` has it. ``path``: its folder."""

    checkpoint_id: int
    kind: CheckpointKind
    job: str
    timestamp_ms: int
    path: str
    operators: dict[str, OperatorState] = field(default_factory=dict)
    master: dict[str, MasterState] = field(default_factory=dict)

    def blobs(self) -> Iterator[Blob]:
        for operator in self.operators.values():
            for subtask in operator.subtasks.values():
                yield from subtask.blobs()

    @property
    def files(self) -> list[str]:
        """Paths of all its state, each once."""
        return list(dict.fromkeys(blob.path for blob in self.blobs()))

    @property
    def size_bytes(self) -> int:
        return sum(blob.length for blob in self.blobs())
