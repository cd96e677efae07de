"""Rows of `JobHistory`: subtasks, channels and checkpoints of jobs. A fold fills them and views read
them.

Times are ms of the job's clock. What no observation says is ``None``, never zero.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pravega_lab.observe.job.observations import Marks, SinkTraysSeen

STARTING, RESTORING, RUNNING, ALIGNING = "starting", "restoring", "running", "aligning"
WAITING, FINISHED, FAILED = "waits for final checkpoint", "finished", "failed"
CANCELLING, CANCELED = "canceling", "canceled"
TASK_STATES = (
    STARTING, RESTORING, RUNNING, ALIGNING, WAITING, FINISHED, FAILED, CANCELLING, CANCELED,
)  # fmt: skip
ICONS = {
    STARTING: "…", RESTORING: "↻", RUNNING: "▶", ALIGNING: "‖", WAITING: "⏳", FINISHED: "✓", FAILED: "×",
    CANCELLING: "▪", CANCELED: "▪",
}  # fmt: skip
SAID_MAX = 20
RATE_MS = 250
SAMPLES_MAX = 100_000  # of each sort kept by a fold
LABEL_MAX = 26
_T = TypeVar("_T")


class Kept(Generic[_T]):
    """The newest items that were added; ``total`` counts all of them."""

    def __init__(self, most: int = SAMPLES_MAX) -> None:
        self.items: list[_T] = []
        self.total = 0
        self._most = most

    def add(self, item: _T) -> None:
        """Add an item, and drop the oldest if there are too many."""
        self.items.append(item)
        self.total += 1
        if len(self.items) > self._most:
            del self.items[: self._most // 4]

    def since(self, total: int) -> list[_T]:
        """Return what was added after the first ``total`` items, as far as it is kept."""
        return self.items[max(0, total - self.dropped) :]

    @property
    def dropped(self) -> int:
        """Return how many items were dropped."""
        return self.total - len(self.items)


@dataclass(slots=True)
class VertexRow:
    """A chain of operators. ``depth`` is its column: one more than the deepest of its producers."""

    index: int
    life: int
    name: str
    parallelism: int
    operators: tuple[str, ...]
    depth: int = 0
    inputs: list[tuple[str, str]] = field(default_factory=list)  # (producer, exchange)
    tasks: list[TaskRow] = field(default_factory=list, repr=False)

    @property
    def short(self) -> str:
        """Return its name if that is short, else its first operator and "…"."""
        return self.name if len(self.name) <= LABEL_MAX else f"{self.operators[0]} → …"


@dataclass(slots=True)
class TaskRow:
    """A subtask, as its newest attempt reported. ``state`` is one of `TASK_STATES`.

    ``out_per_s`` and ``in_per_s`` cover the last `RATE_MS`, or the time since the attempt was first
    measured.
    """

    index: int
    vertex: VertexRow
    subtask: int
    attempt: int = -1
    state: str = STARTING
    since_ms: int = 0
    reason: str = ""
    records_in: int | None = None
    records_out: int | None = None
    in_per_s: float | None = None
    out_per_s: float | None = None
    state_bytes: int | None = None
    watermark_ms: int | None = None
    aligning: int | None = None  # checkpoint
    waits_for: tuple[int, ...] = ()  # channels
    trays: dict[str, SinkTraysSeen] = field(default_factory=dict)  # by operator
    said: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=SAID_MAX), repr=False)
    totals: deque[tuple[int, int, int]] = field(default_factory=deque, repr=False)  # ms, in, out
    engine_state: str = "created"
    finished_operators: int = 0

    @property
    def label(self) -> str:
        """Return the subtask's name for people: ``count 2/3``."""
        return f"{self.vertex.short} {self.subtask + 1}/{self.vertex.parallelism}"


@dataclass(slots=True)
class ChannelRow:
    """A channel from one subtask to another. ``number`` is its place among all channels of the consumer."""

    index: int
    life: int
    producer: TaskRow
    consumer: TaskRow
    number: int
    marks: Marks = ()
    records: int = 0
    capacity: int = 0
    blocked_since_ms: int | None = None

    @property
    def fill(self) -> float:
        """Return how much of its room is taken, from 0 to 1: its back-pressure."""
        return min(1.0, self.records / self.capacity) if self.capacity else 0.0


@dataclass(frozen=True, slots=True)
class StateChange:
    """A subtask is in ``state`` from ``time_ms`` on; if it aligns, for checkpoint ``checkpoint_id``."""

    task: int
    time_ms: int
    state: str
    attempt: int
    checkpoint_id: int | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """What was known of a subtask at ``time_ms``."""

    task: int
    time_ms: int
    in_per_s: float | None
    out_per_s: float | None
    records_out: int | None
    state_bytes: int | None
    watermark_ms: int | None


@dataclass(frozen=True, slots=True)
class Contents:
    """What was in a channel at ``time_ms``; see `ChannelMeasured`."""

    channel: int
    time_ms: int
    marks: Marks
    records: int
    capacity: int
    blocked: bool


@dataclass(slots=True)
class TaskPart:
    """How far a checkpoint has come in one subtask. ``barriers`` are (channel, ms) in order of arrival.

    ``records_out`` is the place of its barrier in the subtask's output. For a source that reports another
    system's cut there is also when it passed the cut, and how many events are ``between`` the cut and the
    barrier. After a failure they are read twice or, if the number is negative, never.
    """

    task: str
    is_finished: bool = False
    triggered_ms: int | None = None
    barriers: list[tuple[int, int]] = field(default_factory=list)
    waits_for: tuple[int, ...] = ()
    aligned_ms: int | None = None
    snapshotted_ms: int | None = None
    acknowledged_ms: int | None = None
    notified_ms: int | None = None
    state_bytes: int | None = None
    records_out: int | None = None
    cut_ms: int | None = None
    between: int | None = None


@dataclass(slots=True)
class Ask:
    """A coordinator or master hook that was asked for its state."""

    who: str
    is_hook: bool
    asked_ms: int | None = None
    acknowledged_ms: int | None = None


@dataclass(slots=True)
class JobCheckpointRow:
    """Describes a checkpoint of a job. ``state``: ``running``, ``completed`` or ``failed``.

    A request that failed before it had a number has the ``checkpoint_id`` 0, and ``kind`` counts it.
    """

    index: int
    job: str
    life: int
    checkpoint_id: int
    kind: str
    start_ms: int
    parts: dict[str, TaskPart]
    asks: dict[str, Ask]
    state: str = "running"
    end_ms: int | None = None
    reason: str = ""
    message: str = ""
    path: str = ""
    state_bytes: int | None = None

    @property
    def is_savepoint(self) -> bool:
        """Return whether it is a savepoint."""
        return self.kind.startswith("savepoint")

    def waiting(self) -> Iterator[TaskPart]:
        """Return the subtasks that still have to acknowledge."""
        return (p for p in self.parts.values() if not p.is_finished and p.acknowledged_ms is None)
