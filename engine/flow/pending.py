"""A checkpoint under way: who has acknowledged, who has not. And the queue of those not yet begun.

Source: Flink's `PendingCheckpoint`, `CheckpointRequestDecider`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from pravega_lab.engine.flow.elements import CheckpointKind, CheckpointOptions, SubtaskId
from pravega_lab.engine.flow.handles import MasterState
from pravega_lab.engine.flow.plan import CheckpointPlan, TaskAck

QUEUE_MAX = 1000


@dataclass(eq=False)
class Request:
    """Somebody wants a checkpoint. ``is_forced``: may run beside as many others as there are."""

    kind: CheckpointKind
    requested_ms: int
    is_periodic: bool = False
    is_forced: bool = False
    target: str | None = None

    def rank(self) -> tuple[bool, bool, bool, int]:
        """Lower goes first: savepoints, forced, not periodic, older."""
        return not self.kind.is_savepoint, not self.is_forced, self.is_periodic, self.requested_ms


class RequestQueue:
    """Requests by rank; a full one evicts its tail or refuses."""

    def __init__(self, most: int = QUEUE_MAX) -> None:
        self._most = most
        self._requests: list[Request] = []

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def head(self) -> Request | None:
        return self._requests[0] if self._requests else None

    def add(self, request: Request) -> Request | None:
        """Returns the request that is refused for it, if any: itself or the evicted tail."""
        if len(self._requests) < self._most:
            self._insert(request)
            return None
        if not self._requests[-1].is_periodic:
            return request
        evicted = self._requests.pop()
        self._insert(request)
        return evicted

    def _insert(self, request: Request) -> None:
        at = sum(other.rank() <= request.rank() for other in self._requests)
        self._requests.insert(at, request)

    def pop(self) -> Request:
        return self._requests.pop(0)

    def drain(self) -> list[Request]:
        drained, self._requests = self._requests, []
        return drained


class AckResult(Enum):
    """What became of an acknowledgement."""

    SUCCESS = "success"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"  # not one of those that are waited for: its state is discarded
    DISCARDED = "discarded"  # the checkpoint is over


class Stage(Enum):
    """Where in the trigger pipeline a checkpoint is."""

    LOCATION = "location"
    COORDINATORS = "coordinators"
    HOOKS = "hooks"
    BOTH = "coordinators and hooks"  # 1.11.0
    TRIGGERED = "triggered"
    FINALIZING = "finalizing"
    OVER = "over"


@dataclass(eq=False)
class PendingCheckpoint:
    """``options.target``: the folder of a savepoint; ``path``: the folder it is written to."""

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
        return CheckpointOptions(self.kind, self.path)

    @property
    def is_over(self) -> bool:
        return self.stage is Stage.OVER

    @property
    def may_be_subsumed(self) -> bool:
        return not self.kind.is_savepoint

    @property
    def tasks_acknowledged(self) -> bool:
        return all(subtask in self.acks for subtask in self.plan.to_wait_for)

    @property
    def coordinators_acknowledged(self) -> bool:
        return all(name in self.coordinator_states for name in self.coordinators)

    @property
    def hooks_acknowledged(self) -> bool:
        return all(name in self.master_states for name in self.hooks)

    @property
    def is_fully_acknowledged(self) -> bool:
        """Tasks and coordinators and hooks: looking at the tasks alone was FLINK-18641."""
        return self.tasks_acknowledged and self.coordinators_acknowledged and self.hooks_acknowledged

    def acknowledge_task(self, subtask: SubtaskId, ack: TaskAck) -> AckResult:
        if self.is_over:
            return AckResult.DISCARDED
        if subtask in self.acks:
            return AckResult.DUPLICATE
        if subtask not in self.plan.to_wait_for:
            return AckResult.UNKNOWN
        self.acks[subtask] = ack
        return AckResult.SUCCESS

    def waits_for(self) -> list[str]:
        """In words, for whoever asks what holds it up."""
        missing: Iterable[object] = (
            *(f"coordinator {c}" for c in self.coordinators if c not in self.coordinator_states),
            *(f"hook {h}" for h in self.hooks if h not in self.master_states),
            *(s for s in self.plan.to_wait_for if s not in self.acks),
        )
        return [str(who) for who in missing]
