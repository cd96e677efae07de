"""What an operator is to its subtask, and what the subtask is to an operator.

An operator is called for one element at a time and emits into its `Collector`; what it emitted goes to the
next operator of the chain when the call is over. Methods that may wait return an awaitable: the subtask
does nothing else meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pravega_lab.engine.flow.batch import NO_TIMESTAMP, Batch, Row, RowKind
from pravega_lab.engine.flow.elements import (
    MAX_TIMESTAMP_MS,
    CheckpointOptions,
    Element,
    SubtaskId,
    Watermark,
    WatermarkStatus,
)
from pravega_lab.engine.flow.errors import UserFunctionError
from pravega_lab.engine.flow.history import History
from pravega_lab.engine.flow.observer import NoObserver, Observer
from pravega_lab.engine.flow.state import KeyedState, OperatorLists
from pravega_lab.engine.flow.timers import Timer, TimerService

MaybeAwaitable = Awaitable[None] | None
RECORD_SHOWN = 200


class RuntimeMode(Enum):
    """How a program is executed."""

    STREAMING = "streaming"
    BATCH = "batch"
    AUTOMATIC = "automatic"  # batch if all sources are bounded


class Collector:
    """What an operator emitted in one call, in order. ``tag`` names a side output."""

    def __init__(self) -> None:
        self._elements: list[tuple[str | None, Element]] = []
        self._rows: list[Row] = []
        self._times: list[int] = []
        self._kinds: list[int] = []
        self._tag: str | None = None

    def emit(self, batch: Batch, tag: str | None = None) -> None:
        self._flush()
        if batch.num_rows:
            self._elements.append((tag, batch))

    def row(
        self,
        row: Row,
        timestamp_ms: int | None = None,
        kind: RowKind = RowKind.INSERT,
        tag: str | None = None,
    ) -> None:
        if tag != self._tag:
            self._flush()
            self._tag = tag
        self._rows.append(row)
        self._times.append(NO_TIMESTAMP if timestamp_ms is None else timestamp_ms)
        self._kinds.append(int(kind))

    def watermark(self, timestamp_ms: int) -> None:
        self._flush()
        self._elements.append((None, Watermark(timestamp_ms)))

    def status(self, status: WatermarkStatus) -> None:
        self._flush()
        self._elements.append((None, status))

    def take(self) -> list[tuple[str | None, Element]]:
        """Everything since the last time."""
        self._flush()
        taken, self._elements = self._elements, []
        return taken

    def _flush(self) -> None:
        if self._rows:
            times = None if all(t == NO_TIMESTAMP for t in self._times) else self._times
            kinds = self._kinds if any(self._kinds) else None
            self._elements.append((self._tag, Batch.of_rows(self._rows, times, kinds)))
            self._rows, self._times, self._kinds = [], [], []


@dataclass
class OperatorContext:
    """Everything that an operator knows of where it runs."""

    operator_id: str
    name: str
    subtask: SubtaskId
    attempt: int
    parallelism: int
    max_parallelism: int
    keyed: KeyedState
    lists: OperatorLists
    timers: TimerService
    output: Collector
    now_ms: Callable[[], int]
    unique_id: Callable[[], str]
    send_to_coordinator: Callable[[Any], None] = lambda _event: None
    schedule: Callable[[int, Callable[[], MaybeAwaitable]], None] = lambda _at_ms, _action: None
    fail: Callable[[BaseException], None] = lambda _error: None
    observer: Observer = field(default_factory=NoObserver)
    mode: RuntimeMode = RuntimeMode.STREAMING
    is_checkpointing: bool = True
    restored_checkpoint: int | None = None
    has_restored_state: bool = False
    history: History = field(default_factory=History)
    late_dropped: int = 0

    @property
    def subtask_index(self) -> int:
        return self.subtask.index

    @property
    def task_name(self) -> str:
        return f"{self.subtask}#{self.attempt}"

    def user_error(self, error: BaseException, row: object = None) -> UserFunctionError:
        """What a user's exception becomes: operator, subtask, record; the cause has the traceback."""
        at = "" if row is None else f" at record {repr(row)[:RECORD_SHOWN]}"
        return UserFunctionError(
            f"{self.name}, subtask {self.subtask.index + 1}/{self.parallelism}: "
            f"{type(error).__name__}: {error}{at}"
        )


class Operator:
    """Base of all operators. Lifecycle: setup, initialize_state, open, process…, end_input, finish, snapshot,
    notify, close; FLIP-147 says which are left out when (`life`)."""

    context: OperatorContext

    def setup(self, context: OperatorContext) -> None:
        self.context = context

    def initialize_state(self) -> MaybeAwaitable:
        """State is there (`OperatorContext.has_restored_state`)."""
        return None

    def open(self) -> MaybeAwaitable:
        return None

    def process_batch(self, batch: Batch, input: int) -> MaybeAwaitable:
        raise NotImplementedError

    def process_watermark(self, watermark: Watermark) -> MaybeAwaitable:
        """Fires timers and passes it on."""
        self.fire_event_timers(watermark.timestamp_ms)
        self.context.output.watermark(watermark.timestamp_ms)
        return None

    def process_status(self, status: WatermarkStatus) -> MaybeAwaitable:
        self.context.output.status(status)
        return None

    def on_timer(self, timer: Timer) -> None:
        raise NotImplementedError

    def fire_event_timers(self, until_ms: int) -> None:
        timers = self.context.timers
        timers.watermark_ms = max(timers.watermark_ms, until_ms)
        for timer in timers.event.due(until_ms):
            self.on_timer(timer)

    def fire_processing_timers(self, now_ms: int) -> None:
        for timer in self.context.timers.processing.due(now_ms):
            self.on_timer(timer)

    def end_input(self, input: int) -> MaybeAwaitable:
        """No record will come on this input (1, or 1 and 2); with drain only."""
        return None

    def finish(self) -> MaybeAwaitable:
        """Emit what is left; with drain only."""
        return None

    def prepare_snapshot(self, checkpoint_id: int, options: CheckpointOptions) -> MaybeAwaitable:
        """Just before the barrier goes out: what is emitted now is before it."""
        return None

    def snapshot_state(self, checkpoint_id: int) -> MaybeAwaitable:
        """Bring state up to date; it is frozen right after."""
        return None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> MaybeAwaitable:
        return None

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> MaybeAwaitable:
        return None

    def key_ends(self) -> None:
        """Batch execution: all records of the current key were processed; timers fire."""
        self.fire_event_timers(MAX_TIMESTAMP_MS)
        self.fire_processing_timers(MAX_TIMESTAMP_MS)

    def close(self) -> MaybeAwaitable:
        """Always, once it was opened; also after a failure."""
        return None
