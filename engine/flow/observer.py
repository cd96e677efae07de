"""Observations: what the engine reports about a job, as frozen values, to an `Observer`.

The engine never asks an observer anything. A view is a fold of the observations that it received. Times
(``at_ms``) are ms of the job's clock. Observations are in order for each subtask and for each checkpoint, but
not between subtasks.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from .cancelling import ends_program
from .elements import CheckpointKind, SubtaskId

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobStateChanged:
    """The job entered a state: created, running, restarting, failing, cancelling, finished, failed or
    cancelled.
    """

    at_ms: int
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SubtaskStateChanged:
    """An attempt entered a state, named as in `lifecycle.SubtaskState`. ``attempt`` counts from 0."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LifecycleCall:
    """A subtask called a method of an operator; the tests compare these calls with Flink's.

    ``what`` is open, watermark-max, end-input, finish, snapshot, notify-complete, notify-aborted or close.
    """

    at_ms: int
    subtask: SubtaskId
    attempt: int
    operator: str
    what: str
    checkpoint_id: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointRequested:
    """A timer (``is_periodic``) or a user requested a checkpoint."""

    at_ms: int
    kind: CheckpointKind
    is_periodic: bool


@dataclass(frozen=True, slots=True)
class CheckpointPending:
    """A checkpoint has its id and its plan, and no coordinator, hook or task was asked yet."""

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
    """The coordinator did one step of triggering a checkpoint.

    ``step`` is coordinator-asked, coordinator-acknowledged, hook-asked, hook-acknowledged or task-triggered.
    ``who`` is the id of an operator, of a hook or of a subtask.
    """

    at_ms: int
    checkpoint_id: int
    step: str
    who: str


@dataclass(frozen=True, slots=True)
class BarrierArrived:
    """A barrier arrived at a subtask.

    ``channel`` counts over all inputs of the subtask. ``waits_for`` has the channels whose barrier is
    missing.
    """

    at_ms: int
    subtask: SubtaskId
    attempt: int
    channel: int
    checkpoint_id: int
    waits_for: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Aligned:
    """A subtask has the barrier of every channel (or was triggered), and takes its checkpoint now."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    checkpoint_id: int
    records_in: int
    records_out: int


@dataclass(frozen=True, slots=True)
class Snapshotted:
    """A subtask has written its state, and sends its acknowledgement."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    checkpoint_id: int
    state_bytes: int
    operators_finished: bool


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An acknowledgement reached the coordinator. ``outcome`` is success, duplicate, unknown or discarded."""

    at_ms: int
    subtask: SubtaskId
    checkpoint_id: int
    outcome: str


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    """A checkpoint is complete, and its metadata is in ``path``."""

    at_ms: int
    checkpoint_id: int
    kind: CheckpointKind
    path: str
    state_bytes: int


@dataclass(frozen=True, slots=True)
class CheckpointFailed:
    """A checkpoint failed.

    ``reason`` is the name of an `errors.Reason`. ``checkpoint_id`` is None if it had no id yet.
    """

    at_ms: int
    checkpoint_id: int | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckpointNotified:
    """A subtask was notified that a checkpoint was completed or aborted, and its operators have acted on
    that.
    """

    at_ms: int
    subtask: SubtaskId
    attempt: int
    checkpoint_id: int
    completed: bool


@dataclass(frozen=True, slots=True)
class Restored:
    """The job was restored from a checkpoint, or from the beginning if ``checkpoint_id`` is None.

    ``is_global`` says that all subtasks and coordinators were restored, and not only a region.
    """

    at_ms: int
    checkpoint_id: int | None
    subtasks: tuple[SubtaskId, ...]
    is_global: bool


@dataclass(frozen=True, slots=True)
class WatermarkAdvanced:
    """The event time of a subtask advanced to ``timestamp_ms``."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Throughput:
    """The totals of an attempt were sampled, as they are every `JobConfig.sample_interval_ms`."""

    at_ms: int
    subtask: SubtaskId
    attempt: int
    records_in: int
    records_out: int
    late_dropped: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark stands for an entry of a channel.

    ``what`` is records, watermark, idle, barrier, cancel, end-of-data or end-of-partition. ``value`` is the
    number of records, a time in ms, a checkpoint id, or 1 for drain.
    """

    what: str
    value: int


@dataclass(frozen=True, slots=True)
class ChannelContents:
    """The content of a channel was sampled, head first.

    ``blocked`` says that an alignment holds the channel.
    """

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
    """The transactions of a sink's subtask changed.

    ``open`` has names, ``pre_committed`` has (checkpoint id, name), and ``committed`` counts.
    """

    at_ms: int
    subtask: SubtaskId
    attempt: int
    operator: str
    open: tuple[str, ...]
    pre_committed: tuple[tuple[int, str], ...]
    committed: int


@dataclass(frozen=True, slots=True)
class SplitsAssigned:
    """An enumerator assigned splits to a subtask or, if ``back``, got them back after a failure."""

    at_ms: int
    operator: str
    subtask: int
    splits: tuple[str, ...]
    back: bool


@dataclass(frozen=True, slots=True)
class CutPassed:
    """A source has passed both the barrier and the position of another system's checkpoint.

    It is reported at the later of the two. ``events`` were emitted after the cut (at ``cut_ms``) and before
    the barrier, so a failure reads them twice. A negative number counts events that were emitted after the
    barrier and before the cut: they are in no state, and a failure never reads them.
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
    """An observer receives observations. It must not wait, or touch the job. What it raises is logged."""

    def observe(self, observation: Observation) -> None:
        """Receive one observation."""


class NoObserver:
    """Ignore every observation."""

    def observe(self, observation: Observation) -> None:
        """Do nothing."""
        return


class _LoggedObserver:
    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def observe(self, observation: Observation) -> None:
        try:
            self._observer.observe(observation)
        except BaseException as error:
            if ends_program(error):
                raise
            _log.exception("The observer of the job failed at %s", observation)


def logged(observer: Observer) -> Observer:
    """Return an observer that never raises: what ``observer`` raises is logged.

    The engine reports in the middle of its steps. An error there would leave a step half done.
    """
    return observer if isinstance(observer, NoObserver) else _LoggedObserver(observer)
