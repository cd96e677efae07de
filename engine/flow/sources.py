"""Sources: FLIP-27's enumerator and reader, the legacy form, and both externally induced forms.

Interfaces only; connectors implement them. Everything here is called on one event loop and must not block:
what has to wait is a coroutine (marked ``async``, or said to be allowed to return an awaitable).

Where which piece runs: the `SplitEnumerator` beside the coordinator, a `SourceReader` in each subtask. They
talk by `SourceEvent` values through the coordinator, in order, and never otherwise.

Source: Flink's `org.apache.flink.api.connector.source` (FLIP-27, FLINK-20270, FLINK-22133, FLINK-25256) and
`ExternallyInducedSource` (FLINK-6390).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import Watermark

SplitT = TypeVar("SplitT")
EnumT = TypeVar("EnumT")
GivenT = TypeVar("GivenT", contravariant=True)
T = TypeVar("T")


class Boundedness(Enum):
    BOUNDED = "bounded"
    CONTINUOUS_UNBOUNDED = "continuous, unbounded"


class InputStatus(Enum):
    """What `SourceReader.poll_next` says about the next poll."""

    MORE_AVAILABLE = "more available"
    NOTHING_AVAILABLE = "nothing available"  # wait for `SourceReader.available`
    END_OF_INPUT = "end of input"


class Split(Protocol):
    """A piece of the source with its position. Plain and frozen: it goes into checkpoints and over links."""

    @property
    def split_id(self) -> str: ...


class Serializer(Protocol[T]):
    """Between a value and bytes. ``version`` is kept beside the bytes and handed back when they are read."""

    @property
    def version(self) -> int: ...

    def to_bytes(self, value: T) -> bytes: ...

    def from_bytes(self, version: int, data: bytes) -> T: ...


class ReaderOutput(Protocol):
    """Where a reader puts what it has read."""

    def emit(self, batch: Batch, split_id: str | None = None) -> None:
        """Records in order. With a ``split_id`` each split has a watermark of its own; the lowest counts."""

    def emit_watermark(self, watermark: Watermark, split_id: str | None = None) -> None:
        """A watermark of the source's own making (Pravega's time windows), beside those of the strategy."""

    def mark_idle(self, split_id: str | None = None) -> None:
        """Nothing comes for now: do not hold the watermark back. Ends with the next record."""

    def release_split(self, split_id: str) -> None:
        """The split is finished: its watermark holds nothing back any more."""


class ReaderContext(Protocol):
    """What a reader is given by its subtask."""

    @property
    def subtask_index(self) -> int: ...

    @property
    def parallelism(self) -> int: ...

    @property
    def task_name(self) -> str:
        """``vertex[index]#attempt``; unique among the attempts of a job."""

    def now_ms(self) -> int: ...

    def send_split_request(self) -> None:
        """Ask the enumerator for another split (`SplitEnumerator.handle_split_request`)."""

    def send_source_event(self, event: Any) -> None:
        """To `SplitEnumerator.handle_source_event`; plain values only."""

    def cut_passed(self, checkpoint_id: int) -> None:
        """What was emitted so far is before the other system's checkpoint for this one of the job. Only for
        whoever watches: `observer.CutPassed` says how far from the barrier it was."""


class SourceReader(ABC, Generic[SplitT]):
    """Reads its splits inside of a subtask. Order of calls: ``add_splits`` with what was restored (if any),
    then `start`, then polls, snapshots and events as they come, `close` at last."""

    def start(self) -> Awaitable[None] | None:
        """Begin; the enumerator knows of the reader by now."""
        return None

    @abstractmethod
    def poll_next(self, output: ReaderOutput) -> InputStatus:
        """Emit at most one small batch. Never waits. A barrier falls between two polls."""

    async def available(self) -> None:
        """Return when polling may give something. May be cancelled at any time and called again."""

    def snapshot_state(self, checkpoint_id: int) -> Sequence[SplitT] | Awaitable[Sequence[SplitT]]:
        """The splits that it owns, positioned behind what it has emitted."""
        return []

    def add_splits(self, splits: Sequence[SplitT]) -> Awaitable[None] | None:
        """From the enumerator's assignment, or restored."""
        return None

    def notify_no_more_splits(self) -> None:
        """Nothing will be assigned any more: the input ends with the splits at hand."""

    def handle_source_event(self, event: Any) -> None:
        """What the enumerator sent by ``send_event_to_source_reader``."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> Awaitable[None] | None:
        return None

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> Awaitable[None] | None:
        return None

    def close(self) -> Awaitable[None] | None:
        """Also after a failure, once, whatever was called before."""
        return None


class ExternallyInducedSourceReader(SourceReader[SplitT]):
    """A reader whose checkpoints are placed by the system it reads (FLINK-20270).

    The subtask asks `should_trigger_checkpoint` only after a poll that said NOTHING_AVAILABLE: the poll that
    takes the marker of the external checkpoint has to say so. The barrier of that id goes out right there. If
    the trigger from the coordinator (which brings kind and target) is not there yet, the subtask reads
    nothing until it comes or the checkpoint is aborted (FLINK-25256).
    """

    @abstractmethod
    def should_trigger_checkpoint(self) -> int | None:
        """The id whose place is exactly here; at most once for an id."""


class SplitEnumeratorContext(Protocol[GivenT]):
    """What an enumerator may do. All on the coordinator's one lane: calls of the enumerator never overlap."""

    @property
    def current_parallelism(self) -> int: ...

    @property
    def registered_readers(self) -> Sequence[int]:
        """Subtasks whose readers have registered, ascending."""

    def now_ms(self) -> int: ...

    def assign_splits(self, assignment: Mapping[int, Sequence[GivenT]]) -> None:
        """Subtask to splits.

        Raises:
            BadInputError: a subtask is not registered.
        """

    def signal_no_more_splits(self, subtask: int) -> None: ...

    def send_event_to_source_reader(self, subtask: int, event: Any) -> None:
        """Plain values only."""

    def call_async(
        self, work: Callable[[], Awaitable[T]], handler: Callable[[T | None, BaseException | None], None]
    ) -> None:
        """Run ``work`` beside the lane; then ``handler(result, error)`` on it."""

    def run_in_coordinator_lane(self, action: Callable[[], Any]) -> None: ...


class SplitEnumerator(ABC, Generic[SplitT, EnumT]):
    """Finds splits and gives them to readers. What raises here fails the whole job, except in
    `snapshot_state`, where it fails that checkpoint."""

    def start(self) -> Awaitable[None] | None:
        return None

    def handle_split_request(self, subtask: int) -> Awaitable[None] | None:
        return None

    @abstractmethod
    def add_splits_back(self, splits: Sequence[SplitT], subtask: int) -> Awaitable[None] | None:
        """Splits that a failed subtask had been assigned after the checkpoint to which it was reset."""

    @abstractmethod
    def add_reader(self, subtask: int) -> Awaitable[None] | None:
        """A reader registered."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int) -> EnumT | Awaitable[EnumT]:
        """What the enumerator needs to come back; splits it has assigned are no part of it. Nothing else of
        the enumerator runs until the awaitable is done. Tasks are triggered only after that."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> Awaitable[None] | None:
        return None

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> Awaitable[None] | None:
        return None

    def handle_source_event(self, subtask: int, event: Any) -> Awaitable[None] | None:
        return None

    def close(self) -> Awaitable[None] | None:
        return None


class Source(ABC, Generic[SplitT, EnumT]):
    """FLIP-27's factory. It is shared by all subtasks and keeps nothing that lives."""

    boundedness: Boundedness = Boundedness.BOUNDED

    def check_restored(self, hooks: Sequence[str]) -> None:
        """A job is to be restored from a checkpoint that has states of these master hooks.

        Raises:
            RestoreError: one of them has the position of this source in another form, which this one cannot
                read: it would begin anew in silence.
        """
        return

    @abstractmethod
    def create_enumerator(
        self, context: SplitEnumeratorContext[SplitT]
    ) -> SplitEnumerator[SplitT, EnumT]: ...

    @abstractmethod
    def restore_enumerator(
        self, context: SplitEnumeratorContext[SplitT], checkpoint: EnumT
    ) -> SplitEnumerator[SplitT, EnumT]: ...

    @abstractmethod
    def create_reader(self, context: ReaderContext) -> SourceReader[SplitT]: ...

    @abstractmethod
    def split_serializer(self) -> Serializer[SplitT]: ...

    @abstractmethod
    def enumerator_serializer(self) -> Serializer[EnumT]: ...


# -- the legacy form ----------------------------------------------------------------------------------------


class SourceContext(Protocol):
    """What a legacy source emits through, holding the checkpoint lock for each call."""

    async def collect(self, batch: Batch) -> None:
        """Records; waits while the channels behind are full. State changed under `lock` together with it is
        in the same checkpoint as the records."""

    async def emit_watermark(self, watermark: Watermark) -> None: ...

    async def mark_idle(self) -> None: ...

    @property
    def lock(self) -> Any:
        """The checkpoint lock, re-entrant for `collect`: ``async with context.lock: ...``."""

    @property
    def subtask_index(self) -> int: ...

    @property
    def parallelism(self) -> int: ...

    @property
    def task_name(self) -> str: ...

    def now_ms(self) -> int: ...


class SourceFunction(ABC):
    """The legacy source: a coroutine of its own beside the subtask. A copy is made for each subtask.

    `run` returns at the end of the input, or soon after `cancel`.
    """

    boundedness: Boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def restore_state(self, state: Sequence[Any]) -> None:
        """Before `run`: the elements of list state that fell to this subtask; not called on a fresh start."""
        return

    def snapshot_state(self, checkpoint_id: int) -> Sequence[Any]:
        """Plain values, each of which may go to another subtask on a restore. Called under the lock."""
        return []

    async def open(self, context: SourceContext) -> None:
        """Before `run`."""
        return

    @abstractmethod
    async def run(self, context: SourceContext) -> None: ...

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return soon."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> Awaitable[None] | None:
        return None

    async def close(self) -> None:
        """After `run` has ended, for whatever reason."""
        return


class CheckpointTrigger(Protocol):
    """Performs a checkpoint of the subtask right here; returns when the barrier is out and state is taken."""

    async def __call__(self, checkpoint_id: int) -> None: ...


class ExternallyInducedSource(SourceFunction):
    """The legacy form of a source whose checkpoints are placed from outside, together with a `MasterHook`.

    What the coordinator sends is ignored; kind and target of a savepoint are lost on this path, so
    stop-with-savepoint does not stop it (FLINK-25256 mended the new form only).
    """

    trigger: CheckpointTrigger

    def set_checkpoint_trigger(self, trigger: CheckpointTrigger) -> None:
        """Before `run`. Call ``await self.trigger(n)`` where the event of checkpoint ``n`` was read."""
        self.trigger = trigger

    def create_master_hook(self) -> Any:
        """The `hooks.MasterHook` that belongs to it, or None. Called once for the job."""
        return None
