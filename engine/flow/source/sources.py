"""The interfaces of sources: FLIP-27's enumerator and reader, the legacy form, and both externally induced
forms.

Connectors implement them. Everything is called on one event loop and must not block. What may wait is a
coroutine, or returns an awaitable where its signature says so.

A `SplitEnumerator` runs in the job master, and a `SourceReader` in each subtask. They communicate only by
events through the coordinator, in order.

Source: Flink's `org.apache.flink.api.connector.source` (FLIP-27, FLINK-20270, FLINK-22133, FLINK-25256) and
`ExternallyInducedSource` (FLINK-6390).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from ..batch import Batch
from ..elements import Watermark

SplitT = TypeVar("SplitT")
EnumT = TypeVar("EnumT")
GivenT = TypeVar("GivenT", contravariant=True)
T = TypeVar("T")


class Boundedness(Enum):
    """Say whether a source ends."""

    BOUNDED = "bounded"
    CONTINUOUS_UNBOUNDED = "continuous, unbounded"


class InputStatus(Enum):
    """Say what `SourceReader.poll_next` knows about the next poll."""

    MORE_AVAILABLE = "more available"
    NOTHING_AVAILABLE = "nothing available"  # wait for `SourceReader.available`
    END_OF_INPUT = "end of input"


class Split(Protocol):
    """A split is a part of the source with its position.

    It is plain and frozen: checkpoints and messages contain it.
    """

    @property
    def split_id(self) -> str:
        """Return a name that is unique in the source."""


class Serializer(Protocol[T]):
    """Convert a value to bytes and back. ``version`` is stored with the bytes, and passed to `from_bytes`."""

    @property
    def version(self) -> int:
        """Return the version of the format that `to_bytes` writes."""

    def to_bytes(self, value: T) -> bytes:
        """Return the encoded value."""

    def from_bytes(self, version: int, data: bytes) -> T:
        """Return the value of bytes that were written in this version of the format."""


class ReaderOutput(Protocol):
    """Take what a reader has read."""

    def emit(self, batch: Batch, split_id: str | None = None) -> None:
        """Emit records, in order. Each ``split_id`` has its own watermark, and the lowest one counts.

        A split holds back the watermark from `SourceReader.add_splits` on, until its records or
        `release_split`. Without ``split_id``, or under other names, splits without records hold back nothing.
        """

    def emit_watermark(self, watermark: Watermark, split_id: str | None = None) -> None:
        """Emit a watermark that the source computed, for example from Pravega's time windows.

        It counts in addition to the watermarks of the strategy.
        """

    def mark_idle(self, split_id: str | None = None) -> None:
        """Stop holding back the watermark until the next record."""

    def release_split(self, split_id: str) -> None:
        """Forget a finished split, whose watermark holds back nothing any more."""


class ReaderContext(Protocol):
    """A context has what a reader may know and use of its subtask."""

    @property
    def subtask_index(self) -> int:
        """Return the index of the subtask, from 0."""

    @property
    def parallelism(self) -> int:
        """Return the number of subtasks."""

    @property
    def task_name(self) -> str:
        """Return ``vertex[index]#attempt``, which is unique among the attempts of a job."""

    def now_ms(self) -> int:
        """Return the job's time in ms."""

    @property
    def is_checkpointing(self) -> bool:
        """Return whether the job takes checkpoints."""

    def send_split_request(self) -> None:
        """Ask the enumerator for another split (`SplitEnumerator.handle_split_request`)."""

    def send_source_event(self, event: Any) -> None:
        """Send a plain value to `SplitEnumerator.handle_source_event`."""

    def cut_passed(self, checkpoint_id: int) -> None:
        """Report that the other system's checkpoint is here: after everything that was emitted so far.

        ``checkpoint_id`` is the job's. Only observers use it: `observer.CutPassed` has the distance to the
        barrier.
        """


class SourceReader(ABC, Generic[SplitT]):
    """A reader reads its splits within a subtask.

    First come ``add_splits`` with the restored splits (if any) and `start`. Polls, snapshots and events
    follow in any order, and `close` is last.
    """

    def start(self) -> Awaitable[None] | None:
        """Begin. The enumerator knows the reader already."""
        return None

    @abstractmethod
    def poll_next(self, output: ReaderOutput) -> InputStatus:
        """Emit at most one small batch, without waiting. A barrier falls between two polls."""

    async def available(self) -> None:
        """Return when a poll may emit something. It may be cancelled at any time, and called again."""

    def snapshot_state(self, checkpoint_id: int) -> Sequence[SplitT] | Awaitable[Sequence[SplitT]]:
        """Return the splits that the reader owns, with positions after what it has emitted."""
        return []

    def add_splits(self, splits: Sequence[SplitT]) -> Awaitable[None] | None:
        """Take splits that the enumerator assigned, or that were restored."""
        return None

    def notify_no_more_splits(self) -> None:
        """Note that nothing more will be assigned: the input ends after the current splits."""

    def handle_source_event(self, event: Any) -> None:
        """Receive an event of the enumerator (``send_event_to_source_reader``)."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Act on the completion of a checkpoint."""
        return None

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Act on the end of a checkpoint that will not complete."""
        return None

    def close(self) -> Awaitable[None] | None:
        """Release everything. Called once, also after a failure, whatever was called before."""
        return None


class ExternallyInducedSourceReader(SourceReader[SplitT]):
    """An externally induced reader takes checkpoints where the system that it reads says (FLINK-20270).

    The subtask calls `should_trigger_checkpoint` only after a poll that returned NOTHING_AVAILABLE. The poll
    that finds the marker of the external checkpoint must therefore return that. The barrier is sent exactly
    there. If the coordinator's trigger, which has the kind and target, has not arrived, the subtask reads
    nothing until the trigger arrives or the checkpoint is aborted (FLINK-25256).
    """

    @abstractmethod
    def should_trigger_checkpoint(self) -> int | None:
        """Return the id of the checkpoint whose position is exactly here, at most once per id, or None."""


class SplitEnumeratorContext(Protocol[GivenT]):
    """A context has what an enumerator may do.

    Calls of the enumerator never overlap: they use the coordinator's lane.
    """

    @property
    def current_parallelism(self) -> int:
        """Return the number of subtasks of the source."""

    @property
    def registered_readers(self) -> Sequence[int]:
        """Return the subtasks whose readers have registered, ascending."""

    def now_ms(self) -> int:
        """Return the job's time in ms."""

    @property
    def is_checkpointing(self) -> bool:
        """Return whether the job takes checkpoints."""

    def assign_splits(self, assignment: Mapping[int, Sequence[GivenT]]) -> None:
        """Assign splits to subtasks.

        Raises:
            BadInputError: a subtask is not registered.
        """

    def signal_no_more_splits(self, subtask: int) -> None:
        """Notify a reader that it gets no more splits."""

    def send_event_to_source_reader(self, subtask: int, event: Any) -> None:
        """Send a plain value to a reader."""

    def limit_watermark(self, subtask: int, limit_ms: int) -> None:
        """Let a reader emit watermarks up to ``limit_ms``, if the source has `Source.limits_watermarks`."""

    def call_async(
        self, work: Callable[[], Awaitable[T]], handler: Callable[[T | None, BaseException | None], None]
    ) -> None:
        """Run ``work`` concurrently with the lane, and then ``handler(result, error)`` on it."""

    def run_in_coordinator_lane(self, action: Callable[[], Any]) -> None:
        """Run an action on the lane."""


class SplitEnumerator(ABC, Generic[SplitT, EnumT]):
    """An enumerator finds splits and assigns them to readers.

    An exception fails the whole job, except in `snapshot_state`, where it fails that checkpoint.
    """

    def start(self) -> Awaitable[None] | None:
        """Begin. Called once, before everything else."""
        return None

    def handle_split_request(self, subtask: int) -> Awaitable[None] | None:
        """Answer the request of a reader for a split."""
        return None

    @abstractmethod
    def add_splits_back(self, splits: Sequence[SplitT], subtask: int) -> Awaitable[None] | None:
        """Take splits back that a failed subtask was assigned after the checkpoint to which it is reset."""

    @abstractmethod
    def add_reader(self, subtask: int) -> Awaitable[None] | None:
        """Note that a reader has registered."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int) -> EnumT | Awaitable[EnumT]:
        """Return what a restored enumerator needs. Splits that were assigned are not a part of it.

        No other call of the enumerator runs until the awaitable is done. Tasks are triggered only after that.
        """

    def notify_checkpoint_complete(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Act on the completion of a checkpoint."""
        return None

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Act on the end of a checkpoint that will not complete."""
        return None

    def handle_source_event(self, subtask: int, event: Any) -> Awaitable[None] | None:
        """Receive an event that a reader sent by ``send_source_event``."""
        return None

    def handle_watermark(
        self, subtask: int, lowest_ms: int, is_active: bool, begun: Sequence[str]
    ) -> Awaitable[None] | None:
        """Note the lowest watermark of a reader's splits, and answer with ``limit_watermark``.

        It is called only if the source has `Source.limits_watermarks`, and its strategy has event times. If
        no split is active, ``lowest_ms`` is that of the last ones. ``begun`` names the splits that count for
        the first time.
        """
        return None

    def close(self) -> Awaitable[None] | None:
        """Release everything."""
        return None


class Source(ABC, Generic[SplitT, EnumT]):
    """A source is FLIP-27's factory.

    All subtasks share it, so it holds no connections and no other live objects.
    """

    boundedness: Boundedness = Boundedness.BOUNDED
    limits_watermarks: bool = False
    """Whether the enumerator limits the watermarks that readers generate. They emit none until it does."""

    def check_restored(self, hooks: Sequence[str]) -> None:
        """Check a checkpoint that has the states of these master hooks before it is restored.

        Raises:
            RestoreError: a hook has the position of this source in a form that this source cannot read. It
                would silently
                start at the beginning.
        """
        return

    @abstractmethod
    def create_enumerator(self, context: SplitEnumeratorContext[SplitT]) -> SplitEnumerator[SplitT, EnumT]:
        """Return an enumerator that starts at the beginning."""

    @abstractmethod
    def restore_enumerator(
        self, context: SplitEnumeratorContext[SplitT], checkpoint: EnumT
    ) -> SplitEnumerator[SplitT, EnumT]:
        """Return an enumerator that resumes from a checkpoint."""

    @abstractmethod
    def create_reader(self, context: ReaderContext) -> SourceReader[SplitT]:
        """Return a reader for a subtask."""

    @abstractmethod
    def split_serializer(self) -> Serializer[SplitT]:
        """Return the serializer of splits."""

    @abstractmethod
    def enumerator_serializer(self) -> Serializer[EnumT]:
        """Return the serializer of the enumerator's state."""


# -- the legacy form ----------------------------------------------------------------------------------------


class SourceContext(Protocol):
    """A context takes what a legacy source emits. It holds the checkpoint lock during each call."""

    async def collect(self, batch: Batch) -> None:
        """Emit records, and wait while the channels are full.

        State that changes together with the records, under `lock`, is in the same checkpoint as the records.
        """

    async def emit_watermark(self, watermark: Watermark) -> None:
        """Emit a watermark."""

    async def mark_idle(self) -> None:
        """Stop holding back the watermark until the next record."""

    @property
    def lock(self) -> Any:
        """Return the checkpoint lock, for ``async with context.lock``.

        `collect` may be called while it is held.
        """

    @property
    def subtask_index(self) -> int:
        """Return the index of the subtask, from 0."""

    @property
    def parallelism(self) -> int:
        """Return the number of subtasks."""

    @property
    def task_name(self) -> str:
        """Return ``vertex[index]#attempt``, which is unique among the attempts of a job."""

    def now_ms(self) -> int:
        """Return the job's time in ms."""


class SourceFunction(ABC):
    """A legacy source is a coroutine that runs concurrently with its subtask. Each subtask gets a copy.

    `run` returns at the end of the input, or soon after `cancel`.
    """

    boundedness: Boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def restore_state(self, state: Sequence[Any]) -> None:
        """Take the elements of list state of this subtask, before `run`. Not called on a fresh start."""
        return

    def snapshot_state(self, checkpoint_id: int) -> Sequence[Any]:
        """Return plain values. A restore may give each to another subtask. Called under the lock."""
        return []

    async def open(self, context: SourceContext) -> None:
        """Prepare. Called before `run`."""
        return

    @abstractmethod
    async def run(self, context: SourceContext) -> None:
        """Emit records until the input ends or `cancel` was called."""

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return soon."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> Awaitable[None] | None:
        """Act on the completion of a checkpoint."""
        return None

    async def close(self) -> None:
        """Release everything. Called after `run` has ended, also after a failure."""
        return


class CheckpointTrigger(Protocol):
    """Perform a checkpoint of the subtask here. Return when the barrier is sent and the state is taken."""

    async def __call__(self, checkpoint_id: int) -> None: ...


class ExternallyInducedSource(SourceFunction):
    """An externally induced legacy source takes checkpoints where another system says, with a `MasterHook`.

    The coordinator's trigger is ignored, so a stop-with-savepoint does not stop the source. The kind and
    target of a savepoint are lost, too: the subtasks write a plain checkpoint, and the job master copies its
    files into the savepoint's folder. (FLINK-25256 fixed the new form only.)
    """

    trigger: CheckpointTrigger

    def set_checkpoint_trigger(self, trigger: CheckpointTrigger) -> None:
        """Take the trigger, before `run`.

        Call ``await self.trigger(n)`` after the event of checkpoint ``n`` was read.
        """
        self.trigger = trigger

    def create_master_hook(self) -> Any:
        """Return the `master_hook.MasterHook` of the source, or None. Called once for the job."""
        return None
