"""The state of operators as a checkpoint refers to it: which bytes of which file hold which part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum


class ListMode(Enum):
    """Say how a restore distributes the elements of an operator's list state."""

    SPLIT = "split"  # among the subtasks, in contiguous pieces
    UNION = "union"  # all to everyone
    BROADCAST = "broadcast"  # everyone has the same; one copy to everyone


@dataclass(frozen=True, slots=True)
class Blob:
    """Refer to bytes of a file. ``path`` is absolute, or relative to the root of the checkpoint storage."""

    path: str
    offset: int
    length: int
    crc: int


@dataclass(frozen=True, slots=True)
class ListState:
    """Refer to the elements of one list of an operator in one subtask."""

    mode: ListMode
    elements: tuple[Blob, ...]


@dataclass(frozen=True)
class SubtaskState:
    """A state has what one operator stored in one subtask: ``keyed`` by key group and ``lists`` by name.

    ``kinds`` has the kind of each keyed state by its name, as a value of `state.StateKind`. Checkpoints of
    earlier versions do not have it.
    """

    keyed: Mapping[int, Blob] = field(default_factory=dict)
    lists: Mapping[str, ListState] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    def blobs(self) -> Iterator[Blob]:
        """Yield every blob of the state."""
        yield from self.keyed.values()
        for state in self.lists.values():
            yield from state.elements

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes that the state refers to."""
        return sum(blob.length for blob in self.blobs())

    @property
    def uses_union(self) -> bool:
        """Return whether a list of the state is a union list."""
        return any(state.mode is ListMode.UNION for state in self.lists.values())


@dataclass
class OperatorState:
    """A state has what one operator stored in a checkpoint.

    ``finished`` has the subtasks that had finished before the checkpoint. ``is_fully_finished`` says that all
    had, or that they were restored as finished. Then neither the subtasks nor the coordinator have state.
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
        """Return `running`, `partially finished` or `fully finished`."""
        if self.is_fully_finished:
            return "fully finished"
        return "partially finished" if self.finished else "running"
