"""What the engine lets a person watch: frozen values, handed to an `Observer` as they happen.

The engine never asks an observer for anything; a view folds what it was told. Times are ms of the job's
clock. In an order that holds per subtask and per checkpoint, not between subtasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pravega_lab.engine.flow.elements import CheckpointKind, SubtaskId


@dataclass(frozen=True, slots=True)
class JobStateChanged:
    """``state``: created, running, restarting, failing, cancelling, finished, failed, cancelled."""

    at_ms: int
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SubtaskStateChanged:
    """``state``: a word of `life.SubtaskState`; ``attempt`` counts from 0."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LifecycleCall:
    """A method of an operator was called: what Flink's own tests compare. ``what``: open, watermark-max,
    end-input, finish, snapshot, notify-complete, notify-aborted, close."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    operator: str
    what: str
    checkpoint_id: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointRequested:
    at_ms: int
    kind: CheckpointKind
    is_periodic: bool


@dataclass(frozen=True, slots=True)
class CheckpointPending:
    """The plan is made and the checkpoint has its id; nobody has been asked yet."""

    at_ms: int
    checkpoint_id: int
    kind: CheckpointKind
    to_trigger: tuple[SubtaskId, ...]
    to_wait_for: tuple[SubtaskId, ...]
    finished: tuple[SubtaskId, ...]
    coordinators: tuple[str, ...]
    hooks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckpointStep:
    """One step of the trigger pipeline. ``step``: coordinator-asked, coordinator-acknowledged, hook-asked,
    hook-acknowledged, task-triggered; ``who``: operator id, hook id or subtask."""

    at_ms: int
    checkpoint_id: int
    step: str
    who: str


@dataclass(frozen=True, slots=True)
class BarrierArrived:
    """``channel`` counts over all inputs of the subtask; ``waits_for``: channels still without it."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    channel: int
    checkpoint_id: int
    waits_for: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Aligned:
    """The barrier is everywhere (or the trigger came): the checkpoint is performed here and now."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    checkpoint_id: int
    records_in: int
    records_out: int


@dataclass(frozen=True, slots=True)
class Snapshotted:
    """The state is written; the acknowledgement goes out."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    checkpoint_id: int
    state_bytes: int
    operators_finished: bool


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """It has reached the coordinator. ``outcome``: success, duplicate, unknown, discarded."""

    at_ms: int
    subtask: SubtaskId
    checkpoint_id: int
    outcome: str


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    at_ms: int
    checkpoint_id: int
    kind: CheckpointKind
    path: str
    state_bytes: int


@dataclass(frozen=True, slots=True)
class CheckpointFailed:
    """``reason`` is a `failures.Reason`'s name; ``checkpoint_id`` None: it failed before it had one."""

    at_ms: int
    checkpoint_id: int | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckpointNotified:
    """A subtask was told of the end of a checkpoint, and its operators have done what they do then."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    checkpoint_id: int
    completed: bool


@dataclass(frozen=True, slots=True)
class Restored:
    """``checkpoint_id`` None: from nothing. ``is_global``: all subtasks and coordinators, not a region."""

    at_ms: int
    checkpoint_id: int | None
    subtasks: tuple[SubtaskId, ...]
    is_global: bool


@dataclass(frozen=True, slots=True)
class WatermarkAdvanced:
    at_ms: int
    subtask: SubtaskId
    attempt: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Throughput:
    """Totals of an attempt, told at every sampling (`JobConfig.sample_interval_ms`)."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    records_in: int
    records_out: int
    late_dropped: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A thing on a channel. ``what``: records, watermark, idle, barrier, cancel, end-of-data,
    end-of-partition; ``value``: number of records, ms, id, or 1 for drain."""

    what: str
    value: int


@dataclass(frozen=True, slots=True)
class ChannelContents:
    """A channel at a sampling, its head first. ``blocked``: an alignment holds it."""

    at_ms: int
    producer: SubtaskId
    consumer: SubtaskId
    channel: int
    marks: tuple[Mark, ...]
    records: int
    capacity: int
    blocked: bool


@dataclass(frozen=True, slots=True)
class SinkTrays:
    """Transactions of a sink's subtask: names in the open tray, (checkpoint, name) of the pre-committed,
    and how many it has committed."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    operator: str
    open: tuple[str, ...]
    pre_committed: tuple[tuple[int, str], ...]
    committed: int


@dataclass(frozen=True, slots=True)
class SplitsAssigned:
    """By an enumerator; ``back``: given back to it after a failure."""

    at_ms: int
    operator: str
    subtask: int
    splits: tuple[str, ...]
    back: bool


@dataclass(frozen=True, slots=True)
class CutPassed:
    """Where another system's checkpoint lay in what a source gave out, told at the later of cut and barrier.

    ``events`` were given out between that cut, at ``cut_ms``, and the barrier: they are before the barrier
    and behind the cut, so a failure reads them twice. Below zero, the barrier came first: they are behind the
    barrier and before the cut, in no state, and a failure never reads them.
    """

    at_ms: int
    subtask: SubtaskId
    attempt: int
    checkpoint_id: int
    cut_ms: int
    events: int


Observation = (
    JobStateChanged
    | SubtaskStateChanged
    | LifecycleCall
    | CheckpointRequested
    | CheckpointPending
    | CheckpointStep
    | BarrierArrived
    | Aligned
    | Snapshotted
    | Acknowledged
    | CheckpointCompleted
    | CheckpointFailed
    | CheckpointNotified
    | Restored
    | WatermarkAdvanced
    | Throughput
    | ChannelContents
    | SinkTrays
    | SplitsAssigned
    | CutPassed
)


class Observer(Protocol):
    """Takes observations. Must not raise, wait, or touch the job."""

    def observe(self, observation: Observation) -> None: ...


class NoObserver:
    """Watches nothing."""

    def observe(self, observation: Observation) -> None:
        return None
