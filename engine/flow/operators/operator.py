"""What an operator is to its subtask, and what the subtask offers to an operator.

An operator is called for one element at a time and emits into its `Collector`. When the call is over, the
subtask passes what was emitted to the next operator of the chain. A method that may wait returns an
awaitable, and the subtask does nothing else until it is done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from inspect import isawaitable
from typing import Any, ClassVar

from pravega_lab.errors import PravegaError

from ..batch import NO_TIMESTAMP, Batch, Row, RowKind, copied
from ..calling import begin, end
from ..cancelling import is_failure
from ..elements import MAX_TIMESTAMP_MS, CheckpointOptions, Element, SubtaskId, Watermark, WatermarkStatus
from ..errors import UserFunctionError
from ..observer import NoObserver, Observer
from ..state.state import KeyedState, OperatorLists
from ..time.timers import Timer, TimerService

MaybeAwaitable = Awaitable[None] | None
RECORD_SHOWN = 200


class RuntimeMode(Enum):
    """Say how a program is executed."""

    #: All subtasks run at once and pass records on as they come. Checkpoints make the job survive a failure.
    STREAMING = "streaming"
    #: One stage after the other, each from stored results. For bounded sources only, without checkpoints.
    BATCH = "batch"
    #: BATCH if all sources are bounded, else STREAMING.
    AUTOMATIC = "automatic"


class Collector:
    """Collect what an operator emits in one call, in order. ``tag`` names a side output."""

    def __init__(self) -> None:
        self._elements: list[tuple[str | None, Element]] = []
        self._rows: list[Row] = []
        self._times: list[int] = []
        self._kinds: list[int] = []
        self._tag: str | None = None

    def emit(self, batch: Batch, tag: str | None = None) -> None:
        """Emit a batch. An empty batch is dropped."""
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
        """Emit a copy of one row. Consecutive rows of one output are combined into a batch."""
        if tag != self._tag:
            self._flush()
            self._tag = tag
        self._rows.append(copied(row))
        self._times.append(NO_TIMESTAMP if timestamp_ms is None else timestamp_ms)
        self._kinds.append(int(kind))

    def watermark(self, timestamp_ms: int) -> None:
        """Emit a watermark (ms)."""
        self._flush()
        self._elements.append((None, Watermark(timestamp_ms)))

    def status(self, status: WatermarkStatus) -> None:
        """Emit a watermark status."""
        self._flush()
        self._elements.append((None, status))

    def take(self) -> list[tuple[str | None, Element]]:
        """Return and remove everything that was emitted since the last call, each with its tag."""
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
    """A context has everything that an operator may know and use of the subtask that it runs in."""

    #: Identifies the operator's state in checkpoints: its ``uid``, or a name that follows from its place.
    operator_id: str
    #: The name of the operator in pictures and errors.
    name: str
    #: Its vertex of the graph, and the index among the subtasks of this vertex.
    subtask: SubtaskId
    #: How often the subtask was started before; the first attempt is 0.
    attempt: int
    #: The number of subtasks of the operator.
    parallelism: int
    #: The number of key groups, into which all keys are divided.
    max_parallelism: int
    #: The state of the key of the record that is processed now.
    keyed: KeyedState
    #: The state that belongs to the subtask, and not to a key: lists that are split when the job is rescaled.
    lists: OperatorLists
    #: Sets timers in event time and in processing time.
    timers: TimerService
    #: Takes what the operator emits.
    output: Collector
    #: Returns the processing time, in milliseconds since 1970.
    now_ms: Callable[[], int]
    #: Returns a name that was never returned before, for example for a file or a transaction.
    unique_id: Callable[[], str]
    #: Sends an event to the coordinator of the operator, if it has one.
    send_to_coordinator: Callable[[Any], None] = lambda _event: None
    #: Calls a function at a processing time (ms), between two elements.
    schedule: Callable[[int, Callable[[], MaybeAwaitable]], None] = lambda _at_ms, _action: None
    #: Fails the subtask with an error, from outside a call of the operator.
    fail: Callable[[BaseException], None] = lambda _error: None
    #: Receives what happens, for journals and views.
    observer: Observer = field(default_factory=NoObserver)
    #: How the program is executed.
    mode: RuntimeMode = RuntimeMode.STREAMING
    #: Whether the job takes checkpoints. If not, a two-phase sink commits at its end.
    is_checkpointing: bool = True
    #: The id of the checkpoint from which the subtask was started, or None.
    restored_checkpoint: int | None = None
    #: Whether that checkpoint had state for this operator.
    has_restored_state: bool = False
    #: Whether a two-phase sink commits when it closes, as some did before FLIP-147 (`LastPiece`).
    commits_at_close: bool = False
    #: How many records were dropped because they came after their window was closed.
    late_dropped: int = 0

    @property
    def subtask_index(self) -> int:
        """Return the index of the subtask, from 0."""
        return self.subtask.index

    @property
    def task_name(self) -> str:
        """Return ``vertex[index]#attempt``, which is unique among the attempts of a job."""
        return f"{self.subtask}#{self.attempt}"

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the operator, which may be async, and return its result.

        Raises:
            UserFunctionError: the function raised anything else than a `PravegaError`.
        """
        given = self.begin(function, *args)
        return await self.end(given) if isawaitable(given) else given

    def begin(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function, and return its result, or for `end` what to wait for. Raises as `call` does."""
        try:
            return begin(function, *args)
        except BaseException as error:
            raise self._failure(error) from error

    async def end(self, waits: Awaitable[Any]) -> Any:
        """Wait for what `begin` has returned. Raises as `call` does."""
        try:
            return await end(waits)
        except BaseException as error:
            raise self._failure(error) from error

    def _failure(self, error: BaseException) -> BaseException:
        """Return the error that replaces one that a function raised. Raises it where it is no user's."""
        if isinstance(error, PravegaError) or not is_failure(error):
            raise error
        return self.user_error(error)

    def user_error(self, error: BaseException, row: object = None) -> UserFunctionError:
        """Return the error that replaces a user's exception: it names the operator, the subtask and the
        record.
        """
        at = "" if row is None else f" at record {repr(row)[:RECORD_SHOWN]}"
        return UserFunctionError(
            f"{self.name}, subtask {self.subtask.index + 1}/{self.parallelism}: "
            f"{type(error).__name__}: {error}{at}"
        )


class Operator:
    """An operator processes the elements of one or two inputs. This is the base of all operators.

    A subtask calls setup, initialize_state, open, process…, end_input, finish, snapshot, notify and close, in
    this order. flink.md 6.1 says which calls are left out, and when.
    """

    context: OperatorContext
    #: Whether its timers are those of windows.
    has_windows: ClassVar[bool] = False

    def setup(self, context: OperatorContext) -> None:
        """Receive the context."""
        self.context = context

    def initialize_state(self) -> MaybeAwaitable:
        """Read the state, which is restored now; see `OperatorContext.has_restored_state`."""
        return None

    def open(self) -> MaybeAwaitable:
        """Prepare for the first record."""
        return None

    def process_batch(self, batch: Batch, input: int) -> MaybeAwaitable:
        """Process records of an input (0 or 1)."""
        raise NotImplementedError

    def process_watermark(self, watermark: Watermark) -> MaybeAwaitable:
        """Fire the timers up to the watermark, and emit it."""
        self.fire_event_timers(watermark.timestamp_ms)
        self.context.output.watermark(watermark.timestamp_ms)
        return None

    def process_status(self, status: WatermarkStatus) -> MaybeAwaitable:
        """Emit the watermark status."""
        self.context.output.status(status)
        return None

    def on_timer(self, timer: Timer) -> None:
        """Process a timer that is due. Its key is the current key."""
        raise NotImplementedError

    def fire_event_timers(self, until_ms: int) -> None:
        """Advance event time to ``until_ms``, and fire the timers up to it."""
        timers = self.context.timers
        timers.watermark_ms = max(timers.watermark_ms, until_ms)
        for timer in timers.event.due(until_ms):
            self.on_timer(timer)

    def fire_processing_timers(self, now_ms: int) -> None:
        """Fire the processing-time timers up to ``now_ms``."""
        for timer in self.context.timers.processing.due(now_ms):
            self.on_timer(timer)

    def end_input(self, input: int) -> MaybeAwaitable:
        """Note that no record follows on this input (1, or 1 and 2). Called only with drain."""
        return None

    def finish(self) -> MaybeAwaitable:
        """Emit what is left. Called only with drain."""
        return None

    def prepare_snapshot(self, checkpoint_id: int, options: CheckpointOptions) -> MaybeAwaitable:
        """Emit what belongs before the barrier, which the subtask sends right after this call."""
        return None

    def snapshot_state(self, checkpoint_id: int) -> MaybeAwaitable:
        """Bring the state up to date. The subtask encodes it right after this call."""
        return None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> MaybeAwaitable:
        """Act on the completion of a checkpoint, for example commit."""
        return None

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> MaybeAwaitable:
        """Act on the end of a checkpoint that will not complete."""
        return None

    def key_ends(self) -> None:
        """Fire all timers of the current key, whose last record was processed (batch execution)."""
        self.fire_event_timers(MAX_TIMESTAMP_MS)
        self.fire_processing_timers(MAX_TIMESTAMP_MS)

    def close(self) -> MaybeAwaitable:
        """Release everything. Called once, also after a failure."""
        return None
