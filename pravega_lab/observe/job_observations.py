"""What can be observed of a job of the engine: one frozen type per kind, and nothing that decides.

A subtask is its ``vertex`` and its ``subtask`` from 0; in tuples it is ``vertex[index]``, as in the engine.
Times are ms of the job's clock. Order holds per subtask and per checkpoint, not between subtasks.
``life`` counts executions of one job in a journal from 0: a job restored from a savepoint is another life.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pravega_lab.observe.observations import Observation

Tasks = tuple[str, ...]
Marks = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobObservation(Observation):
    """Root of the kinds that a job tells."""

    kind: ClassVar[str] = "job_observation"
    job: str
    life: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSeen(JobObservation):
    """A life of a job begins. ``simulated``: channels are told exactly, not sampled."""

    kind: ClassVar[str] = "job_seen"
    simulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexSeen(JobObservation):
    """A chain of operators that runs as ``parallelism`` subtasks; told in topological order."""

    kind: ClassVar[str] = "vertex_seen"
    vertex: str
    parallelism: int
    operators: tuple[str, ...]
    operator_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSeen(JobObservation):
    """Records go from one vertex to another; ``exchange``: forward, rescale, rebalance, hash, broadcast…"""

    kind: ClassVar[str] = "edge_seen"
    producer: str
    consumer: str
    exchange: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStateChanged(JobObservation):
    """``state``: created, running, restarting, failing, cancelling, finished, failed or cancelled."""

    kind: ClassVar[str] = "job_state"
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskObservation(JobObservation):
    """Root of what one attempt of a subtask tells. ``attempt`` counts from 0."""

    kind: ClassVar[str] = "task_observation"
    vertex: str
    subtask: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskStateChanged(TaskObservation):
    """``state``: one of the engine's, from created to finished, canceled or failed."""

    kind: ClassVar[str] = "subtask_state"
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCalled(TaskObservation):
    """A method of an operator was called: open, watermark-max, end-input, finish, snapshot, notify-complete,
    notify-aborted or close."""

    kind: ClassVar[str] = "operator_called"
    operator: str
    what: str
    checkpoint_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequested(JobObservation):
    """Somebody wants a checkpoint; it has no id yet."""

    kind: ClassVar[str] = "checkpoint_requested"
    checkpoint_kind: str
    is_periodic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlanned(JobObservation):
    """A checkpoint has its id and its plan: whom to trigger and to wait for, who has finished."""

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
    """``step``: coordinator- or hook-asked and -acknowledged, task-triggered; ``who`` says whose."""

    kind: ClassVar[str] = "checkpoint_stepped"
    checkpoint_id: int
    step: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierArrived(TaskObservation):
    """``channel`` counts over all inputs of the subtask; ``waits_for`` are channels still without it."""

    kind: ClassVar[str] = "barrier_arrived"
    checkpoint_id: int
    channel: int
    waits_for: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAligned(TaskObservation):
    """The checkpoint is performed here and now. Records are those of this attempt so far."""

    kind: ClassVar[str] = "checkpoint_aligned"
    checkpoint_id: int
    records_in: int
    records_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSnapshotted(TaskObservation):
    """The state is written; the acknowledgement goes out."""

    kind: ClassVar[str] = "checkpoint_snapshotted"
    checkpoint_id: int
    state_bytes: int
    operators_finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAcknowledged(JobObservation):
    """It reached the coordinator. ``outcome``: success, duplicate, unknown or discarded."""

    kind: ClassVar[str] = "checkpoint_acknowledged"
    vertex: str
    subtask: int
    checkpoint_id: int
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCompleted(JobObservation):
    """All is there and the metadata is written."""

    kind: ClassVar[str] = "checkpoint_completed"
    checkpoint_id: int
    checkpoint_kind: str
    path: str
    state_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFailed(JobObservation):
    """``reason`` is Flink's name for it; ``checkpoint_id`` is ``None`` when it failed before it had one."""

    kind: ClassVar[str] = "checkpoint_failed"
    checkpoint_id: int | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointNotified(TaskObservation):
    """A subtask heard how a checkpoint ended, and its operators have done what they do then (commit)."""

    kind: ClassVar[str] = "checkpoint_notified"
    checkpoint_id: int
    completed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRestored(JobObservation):
    """These subtasks begin from a checkpoint, or with ``None`` from nothing. ``is_global``: all of them."""

    kind: ClassVar[str] = "job_restored"
    checkpoint_id: int | None
    tasks: Tasks
    is_global: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkAdvanced(TaskObservation):
    """Event time of a subtask, ms."""

    kind: ClassVar[str] = "watermark_advanced"
    sample: ClassVar[bool] = True
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskMeasured(TaskObservation):
    """Totals of an attempt so far."""

    kind: ClassVar[str] = "subtask_measured"
    sample: ClassVar[bool] = True
    records_in: int
    records_out: int
    late_dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMeasured(JobObservation):
    """What lies in a channel, its head first, and what is on its way in it.

    ``marks``: (what, value) with what of records (how many), watermark (ms), idle, barrier and cancel (id),
    end-of-data (1: drain) and end-of-partition. ``blocked``: an alignment holds it. Room is counted in
    records; ``records`` of ``capacity`` are taken.
    """

    kind: ClassVar[str] = "channel_measured"
    sample: ClassVar[bool] = True
    producer: str
    consumer: str
    channel: int
    marks: Marks
    records: int
    capacity: int
    blocked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementArrived(JobObservation):
    """Something came over a channel; told by simulations only, where nothing is sampled."""

    kind: ClassVar[str] = "element_arrived"
    sample: ClassVar[bool] = True
    producer: str
    consumer: str
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
    """By an enumerator; ``back``: given back to it after a failure."""

    kind: ClassVar[str] = "splits_assigned"
    operator: str
    subtask: int
    splits: tuple[str, ...]
    back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCut(TaskObservation):
    """Where another system's checkpoint (of a reader group, say) lay in what this source gave out.

    ``events`` lie between the cut, passed at ``cut_ms``, and the barrier of ``checkpoint_id``: a failure
    reads them twice. Below zero, the barrier came first, and a failure never reads them.
    """

    kind: ClassVar[str] = "source_cut"
    checkpoint_id: int
    cut_ms: int
    events: int


def task_name(vertex: str, index: int) -> str:
    """``count[1]``, as the engine spells the second subtask of ``count``."""
    return f"{vertex}[{index}]"


def split_task(name: str) -> tuple[str, int]:
    """The vertex and the index from 0 of ``count[1]``."""
    vertex, _, index = name.rpartition("[")
    return vertex, int(index.removesuffix("]"))
