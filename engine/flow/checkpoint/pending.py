"""A checkpoint under way (who has acknowledged and who has not), and the queue of requests before it.

Source: Flink's `PendingCheckpoint`, `CheckpointRequestDecider` (flink.md 2.1, 2.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from ..elements import CheckpointKind, CheckpointOptions, SubtaskId
from .handles import MasterState
from .plan import CheckpointPlan, TaskAck

QUEUE_MAX = 1000


@dataclass(eq=False)
class Request:
    """A request for a checkpoint.

    ``is_forced``: it may run concurrently with any number of other checkpoints. ``target``: a savepoint's
    folder.
    """

    kind: CheckpointKind
    requested_ms: int
    is_periodic: bool = False
    is_forced: bool = False
    target: str | None = None

    def rank(self) -> tuple[bool, bool, bool, int]:
        """Return the sort key: savepoints first, then forced, then not periodic, then older ones."""
        return not self.kind.is_savepoint, not self.is_forced, self.is_periodic, self.requested_ms


class RequestQueue:
    """Requests in order of rank.

    A full queue of requests by users refuses a new one. If its tail is periodic, the new request is added,
    and then the tail gives way. Of two periodic requests, that is the newer.
    """

    def __init__(self, most: int = QUEUE_MAX) -> None:
        self._most = most
        self._requests: list[Request] = []

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def head(self) -> Request | None:
        """Return the request that is next, None if there is none."""
        return self._requests[0] if self._requests else None

    def add(self, request: Request) -> Request | None:
        """Add a request; return the one that is refused for that, itself or the evicted tail, or None."""
        is_full = len(self._requests) >= self._most
        if is_full and not self._requests[-1].is_periodic:
            return request
        at = sum(other.rank() <= request.rank() for other in self._requests)
        self._requests.insert(at, request)
        return self._requests.pop() if is_full else None

    def pop(self) -> Request:
        """Remove the request that is next, and return it."""
        return self._requests.pop(0)

    def drain(self) -> list[Request]:
        """Remove all requests, and return them in order."""
        drained, self._requests = self._requests, []
        return drained


class AckResult(Enum):
    """Says what became of an acknowledgement."""

    SUCCESS = "success"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"  # not one of those that are waited for: its state is discarded
    DISCARDED = "discarded"  # the checkpoint is over


class Stage(Enum):
    """How far a checkpoint is."""

    LOCATION = "location"
    COORDINATORS = "coordinators"
    HOOKS = "hooks"
    BOTH = "coordinators and hooks"  # 1.11.0
    TRIGGERED = "triggered"
    FINALIZING = "finalizing"
    OVER = "over"


@dataclass(eq=False)
class PendingCheckpoint:
    """A checkpoint under way. ``path`` is its folder, empty until it is there."""

    checkpoint_id: int
    request: Request
    plan: CheckpointPlan
    timestamp_ms: int
    deadline_ms: int
    kind: CheckpointKind
    coordinators: tuple[str, ...]
    hooks: tuple[str, ...]
    path: str = ""
    stage: Stage = Stage.LOCATION
    acks: dict[SubtaskId, TaskAck] = field(default_factory=dict)
    coordinator_states: dict[str, bytes] = field(default_factory=dict)
    master_states: dict[str, MasterState | None] = field(default_factory=dict)

    @property
    def options(self) -> CheckpointOptions:
        """Return the options of its barriers."""
        return CheckpointOptions(self.kind, self.path)

    @property
    def is_over(self) -> bool:
        """Return whether it is complete or aborted."""
        return self.stage is Stage.OVER

    @property
    def may_be_subsumed(self) -> bool:
        """Return whether a newer checkpoint makes it needless; savepoints are never needless."""
        return not self.kind.is_savepoint

    @property
    def tasks_acknowledged(self) -> bool:
        """Return whether every subtask in the plan has acknowledged."""
        return all(subtask in self.acks for subtask in self.plan.to_wait_for)

    @property
    def coordinators_acknowledged(self) -> bool:
        """Return whether every operator coordinator has acknowledged."""
        return all(name in self.coordinator_states for name in self.coordinators)

    @property
    def hooks_acknowledged(self) -> bool:
        """Return whether every master hook has acknowledged."""
        return all(name in self.master_states for name in self.hooks)

    def has_answers_of(self, phase: Stage) -> bool:
        """Return whether everything that ``phase`` asks has acknowledged: coordinators, hooks, or both."""
        coordinators = phase is Stage.HOOKS or self.coordinators_acknowledged
        hooks = phase is Stage.COORDINATORS or self.hooks_acknowledged
        return coordinators and hooks

    @property
    def is_fully_acknowledged(self) -> bool:
        """Return whether tasks, coordinators and hooks have acknowledged (FLINK-18641: not only tasks)."""
        return self.tasks_acknowledged and self.coordinators_acknowledged and self.hooks_acknowledged

    def acknowledge_task(self, subtask: SubtaskId, ack: TaskAck) -> AckResult:
        """Note the acknowledgement of a subtask, if it counts; return what became of it."""
        if self.is_over:
            return AckResult.DISCARDED
        if subtask in self.acks:
            return AckResult.DUPLICATE
        if subtask not in self.plan.to_wait_for:
            return AckResult.UNKNOWN
        self.acks[subtask] = ack
        return AckResult.SUCCESS

    def waits_for(self) -> list[str]:
        """Return the names of those that have not acknowledged."""
        missing: Iterable[object] = (
            *(f"coordinator {c}" for c in self.coordinators if c not in self.coordinator_states),
            *(f"hook {h}" for h in self.hooks if h not in self.master_states),
            *(s for s in self.plan.to_wait_for if s not in self.acks),
        )
        return [str(who) for who in missing]
