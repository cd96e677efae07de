"""What can be observed of a job of the engine: one frozen type per kind.

A subtask is its ``vertex`` and its ``subtask`` from 0; in tuples it is ``vertex[index]``, as in the engine.
Times are ms of the job's clock. Order holds per subtask and per checkpoint, not between subtasks. ``life``
counts executions of one job in a journal from 0: a job restored from a savepoint is another life.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pravega_lab.observe.journal.observations import Observation

Task = str
Tasks = tuple[Task, ...]
Marks = tuple[tuple[str, int], ...]
MARKS = ("records", "watermark", "idle", "barrier", "cancel", "end-of-data", "end-of-partition")
SUBTASK_STATES = (
    "created", "scheduled", "deploying", "initializing", "running", "finished", "canceling", "canceled",
    "failed",
)  # fmt: skip
JOB_STATES = (
    "created", "running", "restarting", "failing", "cancelling", "finished", "failed", "cancelled",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobObservation(Observation):
    """Root of the kinds that a job reports."""

    kind: ClassVar[str] = "job_observation"
    job: str
    life: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSeen(JobObservation):
    """A life of a job begins. ``simulated``: channels are reported exactly, not sampled."""

    kind: ClassVar[str] = "job_seen"
    simulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexSeen(JobObservation):
    """A chain of operators that runs as ``parallelism`` subtasks; reported in topological order."""

    kind: ClassVar[str] = "vertex_seen"
    vertex: str
    parallelism: int
    operators: tuple[str, ...]
    operator_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSeen(JobObservation):
    """Records flow from one vertex to another. ``exchange``: forward, rescale, rebalance, hash,
    broadcast, …
    """

    kind: ClassVar[str] = "edge_seen"
    producer: str
    consumer: str
    exchange: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStateChanged(JobObservation):
    """The job is in another state, one of `JOB_STATES`."""

    kind: ClassVar[str] = "job_state"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"state": JOB_STATES}
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskObservation(JobObservation):
    """Root of the kinds that one attempt of a subtask reports. ``attempt`` counts from 0."""

    kind: ClassVar[str] = "task_observation"
    vertex: str
    subtask: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskStateChanged(TaskObservation):
    """An attempt is in another state, one of `SUBTASK_STATES`."""

    kind: ClassVar[str] = "subtask_state"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"state": SUBTASK_STATES}
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCalled(TaskObservation):
    """A method of an operator was called.

    ``what``: open, watermark-max, end-input, finish, snapshot, notify-complete, notify-aborted or close.
    """

    kind: ClassVar[str] = "operator_called"
    operator: str
    what: str
    checkpoint_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequested(JobObservation):
    """A checkpoint was requested; it has no id yet."""

    kind: ClassVar[str] = "checkpoint_requested"
    checkpoint_kind: str
    is_periodic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlanned(JobObservation):
    """A checkpoint has its id and its plan: the subtasks to trigger, to wait for, and those that have
    finished.
    """

    kind: ClassVar[str] = "checkpoint_planned"
    checkpoint_id: int
    checkpoint_kind: str
    to_trigger: Tasks
    to_wait_for: Tasks
    finished: Tasks = ()
    coordinators: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStepped(JobObservation):
    """A checkpoint went a step further at ``who``.

    ``step``: coordinator-asked, coordinator-acknowledged, hook-asked, hook-acknowledged or task-triggered.
    """

    kind: ClassVar[str] = "checkpoint_stepped"
    checkpoint_id: int
    step: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierArrived(TaskObservation):
    """A barrier arrived. ``channel`` counts over all inputs of the subtask; channels ``waits_for`` still
    lack it.
    """

    kind: ClassVar[str] = "barrier_arrived"
    checkpoint_id: int
    channel: int
    waits_for: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAligned(TaskObservation):
    """A subtask performs the checkpoint now. Records are those of this attempt so far."""

    kind: ClassVar[str] = "checkpoint_aligned"
    checkpoint_id: int
    records_in: int
    records_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSnapshotted(TaskObservation):
    """A subtask has written its state, and sends the acknowledgement."""

    kind: ClassVar[str] = "checkpoint_snapshotted"
    checkpoint_id: int
    state_bytes: int
    operators_finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAcknowledged(JobObservation):
    """An acknowledgement reached the coordinator. ``outcome``: success, duplicate, unknown or discarded."""

    kind: ClassVar[str] = "checkpoint_acknowledged"
    vertex: str
    subtask: int
    checkpoint_id: int
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCompleted(JobObservation):
    """All acknowledgements are there, and the metadata is written."""

    kind: ClassVar[str] = "checkpoint_completed"
    checkpoint_id: int
    checkpoint_kind: str
    path: str
    state_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFailed(JobObservation):
    """A checkpoint failed; without a ``checkpoint_id`` before it had one. ``reason`` is Flink's name for
    it.
    """

    kind: ClassVar[str] = "checkpoint_failed"
    checkpoint_id: int | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointNotified(TaskObservation):
    """A subtask was notified how a checkpoint ended, and its operators have acted on it (committed)."""

    kind: ClassVar[str] = "checkpoint_notified"
    checkpoint_id: int
    completed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRestored(JobObservation):
    """These subtasks start from a checkpoint, or with ``None`` without state. ``is_global``: all subtasks
    do.
    """

    kind: ClassVar[str] = "job_restored"
    checkpoint_id: int | None
    tasks: Tasks
    is_global: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkAdvanced(TaskObservation):
    """The event time of a subtask advanced, in ms."""

    kind: ClassVar[str] = "watermark_advanced"
    sample: ClassVar[bool] = True
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskMeasured(TaskObservation):
    """The totals of an attempt so far."""

    kind: ClassVar[str] = "subtask_measured"
    sample: ClassVar[bool] = True
    records_in: int
    records_out: int
    late_dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMeasured(JobObservation):
    """What is in a channel, its head first, and what is on its way in it.

    ``marks`` are (what, value) pairs: records (how many), watermark (ms), idle, barrier and cancel (id),
    end-of-data (1: drain) and end-of-partition. ``blocked``: an alignment holds the channel. Room is
    counted in records: ``records`` of ``capacity`` are taken.
    """

    kind: ClassVar[str] = "channel_measured"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"marks": MARKS}
    sample: ClassVar[bool] = True
    producer: Task
    consumer: Task
    channel: int
    marks: Marks
    records: int
    capacity: int
    blocked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementArrived(JobObservation):
    """An element arrived over a channel. Only simulations report it, since they do not sample."""

    kind: ClassVar[str] = "element_arrived"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"what": MARKS}
    sample: ClassVar[bool] = True
    producer: Task
    consumer: Task
    channel: int
    what: str
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTraysSeen(TaskObservation):
    """Transactions of a sink's subtask: open, pre-committed (checkpoint, name), and how many it committed."""

    kind: ClassVar[str] = "sink_trays"
    operator: str
    open: tuple[str, ...]
    pre_committed: tuple[tuple[int, str], ...]
    committed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitsAssigned(JobObservation):
    """An enumerator assigned splits. ``back``: a failure returned them to the enumerator."""

    kind: ClassVar[str] = "splits_assigned"
    operator: str
    subtask: int
    splits: tuple[str, ...]
    back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCut(TaskObservation):
    """Where another system's checkpoint, a reader group's for example, was in the output of this source.

    ``events`` are between the cut, passed at ``cut_ms``, and the barrier of ``checkpoint_id``: after a
    failure they are read twice. A negative number means that the barrier came first: after a failure those
    events are never read.
    """

    kind: ClassVar[str] = "source_cut"
    checkpoint_id: int
    cut_ms: int
    events: int


def task_name(vertex: str, index: int) -> str:
    """Return the engine's name of a subtask: ``count[1]`` is the second of ``count``."""
    return f"{vertex}[{index}]"


def split_task(name: str) -> tuple[str, int]:
    """Return the vertex and the index from 0 of ``count[1]``, and -1 as the index of any other name."""
    vertex, _, rest = name.rpartition("[")
    index = rest.removesuffix("]")
    return (vertex, int(index)) if index.isdecimal() and len(index) < 6 else (name, -1)
