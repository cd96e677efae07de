"""The synchronous face of reader groups. Like `client.face` it decides nothing, and its docstrings are the

contract of both: every call is handed to the object of the same name in the asyncio core.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.reader_group.values import (
    BatchRead,
    Checkpoint,
    EventRead,
    GroupMetrics,
    Position,
    TimeWindow,
)
from pravega_lab.client.values import MIB

if TYPE_CHECKING:
    from pravega_lab.client.reader_group.event_reader import AsyncReader
    from pravega_lab.client.reader_group.explain import Explanation
    from pravega_lab.client.reader_group.group import AsyncPendingCheckpoint, AsyncReaderGroup
    from pravega_lab.client.reader_group.state import GroupState
    from pravega_lab.protocol.reader_group import ReaderGroupConfig
    from pravega_lab.protocol.stream_cut import StreamCut


class ReaderGroup:
    """Readers that share the segments of streams (``scope/group``). Java's readers may be among them.

    A handle: asks nothing until it is used. Every call raises `ReaderGroupNotFoundError` if there is no such
    group, and `StoreUnavailableError` when the store does not answer.
    """

    def __init__(self, scoped_name: str, make_core: Callable[[], AsyncReaderGroup]) -> None:
        self.scoped_name = scoped_name
        self.scope, self.name = scoped_name.split("/")
        self._make_core = make_core
        self._cores: dict[int, AsyncReaderGroup] = {}

    @property
    def _core(self) -> AsyncReaderGroup:
        if os.getpid() not in self._cores:
            self._cores[os.getpid()] = loop_thread().run(_made(self._make_core))
        return self._cores[os.getpid()]

    def create(self, config: ReaderGroupConfig) -> bool:
        """Create the group. False: it was there already, with the same configuration.

        Raises:
            ConfigMismatchError: It is there with another configuration.
            ScopeNotFoundError, StreamNotFoundError: What it lives in, or reads, is missing.
            BadInputError: A cut of another stream, or no stream at all.
        """
        return loop_thread().run(self._core.create(config))

    def delete(self) -> bool:
        """Delete the group; its readers are told at their next look. False: there was none."""
        return loop_thread().run(self._core.delete())

    def config(self) -> ReaderGroupConfig:
        """What the group reads and how, as of its last reset."""
        return loop_thread().run(self._core.config())

    def state(self) -> GroupState:
        """The shared state now: a snapshot of this program's own, which later calls move on."""
        return loop_thread().run(self._core.state())

    def online_readers(self) -> list[str]:
        """Ids of the readers online, the dead ones that nobody declared offline included."""
        return loop_thread().run(self._core.online_readers())

    def assignments(self) -> dict[str, dict[str, int]]:
        """For each reader online, its segments (full names) with their stored offsets.

        Stored are the offsets of the last checkpoint, or of the acquisition if that came later.
        """
        return loop_thread().run(self._core.assignments())

    def create_reader(self, reader_id: str, *, initial_delay_ms: int = 0) -> Reader:
        """A new reader, online. Use it in a ``with`` block, whose end gives its segments back.

        Args:
            initial_delay_ms: Wait about this long before taking segments, so that readers that start together
                share from the beginning.

        Raises:
            ReaderExistsError: A reader of this id is online.
            NoStateYetError: The group is just being created; try again.
        """
        return Reader(
            loop_thread().run(self._core.create_reader(reader_id, initial_delay_ms=initial_delay_ms))
        )

    def reader_offline(self, reader_id: str, position: Position | None = None) -> bool:
        """Declare a reader dead, so that others take its segments. False: it was not online.

        Args:
            position: Where others go on, as the reader's `Reader.position` said; None: at its last
                checkpoint, or where it acquired the segment if that came later (B6). Events behind that are
                delivered again.
        """
        return loop_thread().run(self._core.reader_offline(reader_id, position))

    def initiate_checkpoint(self, name: str) -> PendingCheckpoint:
        """Begin a reader-group checkpoint: every reader gets its name between two events.

        It is complete when every reader has read on after that (B5).

        Raises:
            TooManyCheckpointsError: ``max_outstanding_checkpoint_request`` wait for readers already.
            AlreadyExistsError: There is one of that name.
        """
        return PendingCheckpoint(loop_thread().run(self._core.initiate_checkpoint(name)))

    def cancel_outstanding_checkpoints(self) -> None:
        """Drop the checkpoints that wait for readers; whoever waits for one gets `CheckpointFailedError`."""
        loop_thread().run(self._core.cancel_outstanding_checkpoints())

    def generate_stream_cuts(self, timeout_s: float | None = None) -> Mapping[str, StreamCut]:
        """Where the readers are now: a consistent cut of each stream, by a silent checkpoint.

        Readers report within their next read and hand out nothing. Raises ``TimeoutError``.
        """
        return loop_thread().run(self._core.generate_stream_cuts(timeout_s))

    def stream_cuts(self) -> dict[str, StreamCut]:
        """Cuts from the stored offsets: of the last checkpoint or acquisition, without asking the readers.

        Each covers the key space, also in the middle of a merge, where Java's do not (B4).
        """
        return loop_thread().run(self._core.stream_cuts())

    def last_checkpoint_cuts(self) -> dict[str, StreamCut] | None:
        """Cuts of the last complete checkpoint that was not silent; None: there was none since the reset."""
        return loop_thread().run(self._core.last_checkpoint_cuts())

    def reset(
        self,
        to: Checkpoint | Mapping[str, StreamCut] | None = None,
        *,
        config: ReaderGroupConfig | None = None,
    ) -> None:
        """Let the group begin again somewhere else; its readers raise `ReinitializationRequiredError`.

        Args:
            to: A checkpoint, or a cut per stream (streams not named begin where they were configured to).
                None: the last complete checkpoint; without one, the configured beginning.
            config: Another configuration altogether, in place of ``to``.

        Raises:
            ConditionFailedError: Somebody else reset it at the same time.
        """
        loop_thread().run(self._core.reset(to, config=config))

    def unread_bytes(self) -> int:
        """Bytes behind the last checkpoint (without one: the stored offsets), event headers included."""
        return loop_thread().run(self._core.unread_bytes())

    def metrics(self) -> GroupMetrics:
        """`unread_bytes` and counts."""
        return loop_thread().run(self._core.metrics())

    def explain(self) -> Explanation:
        """In sentences: who reads, what is behind, whom checkpoints wait for, what nobody reads.

        As of now; since when it is so, an observer knows (``observe(uri, group=...).explain()``).
        """
        return loop_thread().run(self._core.explain())

    def update_retention_stream_cut(self, cuts: Mapping[str, StreamCut]) -> None:
        """Let the streams drop what lies before ``cuts``; for groups that release by hand (B7).

        Raises:
            BadInputError: The group's configuration says otherwise.
            RefusedError: A cut that does not cover the key space, or lies before the last one.
        """
        loop_thread().run(self._core.update_retention_stream_cut(cuts))

    def compact(self) -> bool:
        """Replace the state log by the state; readers do it now and then. False: lost a race."""
        return loop_thread().run(self._core.compact())

    def close(self) -> None:
        """Give this handle's connection back. Readers stay as they are."""
        core = self._cores.pop(os.getpid(), None)
        if core is not None:
            loop_thread().run(core.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ReaderGroup({self.scoped_name!r})"


class PendingCheckpoint:
    """A checkpoint that was begun. Readers have to go on reading for it to complete."""

    def __init__(self, core: AsyncPendingCheckpoint) -> None:
        self._core = core
        self.name: str = core.name

    def result(self, timeout_s: float | None = None) -> Checkpoint:
        """Wait until it is complete.

        Raises:
            CheckpointFailedError: It was cancelled, or a later one was completed first.
            TimeoutError: Still waiting for readers, after ``timeout_s``; asking again is fine.
        """
        return loop_thread().run(self._core.result(timeout_s))

    def waiting_for(self) -> tuple[str, ...]:
        """The readers that have not reported yet."""
        return loop_thread().run(self._core.waiting_for())


class Reader:
    """One reader of a group. Made by `ReaderGroup.create_reader`; a context manager. One thread at a time.

    It looks after the group while it reads, so a reader that is not read from holds up checkpoints.
    """

    def __init__(self, core: AsyncReader) -> None:
        self._core = core
        self.reader_id: str = core.reader_id

    def read_next(self, timeout_s: float = 0.0) -> EventRead:
        """The next event; or the name of a checkpoint; or nothing within ``timeout_s`` seconds.

        A checkpoint that was handed out is reported, at `position`, by the next read. Events of one routing
        key come in order, across scaling and across readers. The successors of a segment become readable at
        the next checkpoint (B4): with automatic checkpoints off, somebody has to initiate one.

        Raises:
            ReinitializationRequiredError: The group was reset, or this reader was declared offline: it
                is closed; create a new one.
            TruncatedDataError: Events were truncated before they were read; the next read goes on behind.
            ReaderGroupNotFoundError: The group was deleted.
        """
        return loop_thread().run(self._core.read_next(timeout_s))

    def read_batch(self, timeout_s: float = 0.0, *, max_bytes: int = 8 * MIB) -> BatchRead:
        """As `read_next`, for as many events of one segment as are there, ``max_bytes`` of payload at most.

        Columns: event (binary), segment_id (int64), offset (int64, of the event's header).
        """
        return loop_thread().run(self._core.read_batch(timeout_s, max_bytes=max_bytes))

    def position(self) -> Position:
        """Behind everything handed out, for every segment this reader holds."""
        return self._core.position()

    def time_window(self, stream: str) -> TimeWindow:
        """Between which times the group reads ``stream`` (``scope/stream``) now, as its writers noted them.

        Of the group, not of this reader: the slowest one counts. Other readers tell how far they are every
        few seconds, and watermarks are written every 10 s, so bounds are late, never early; None: unknown.
        Cheap enough to be asked after every event (A12).

        Raises:
            BadInputError: The group does not read that stream.
            ReinitializationRequiredError: This reader is closed.
        """
        return loop_thread().run(self._core.time_window(stream))

    @property
    def is_closed(self) -> bool:
        """Closed by itself, by a reset, or because it was declared offline?"""
        return self._core.is_closed

    def close(self) -> None:
        """Go offline at the present position; others take the segments. Closing twice is fine."""
        loop_thread().run(self._core.close())

    def close_at(self, position: Position) -> None:
        """Go offline at an earlier position: what was handed out behind it is delivered again."""
        loop_thread().run(self._core.close_at(position))

    def abandon(self) -> None:
        """Stop without going offline, as a program that dies does; to try out what a group does."""
        loop_thread().run(self._core.abandon())

    def __iter__(self) -> Iterator[EventRead]:
        """Events as they come, checkpoints left out; ends when the group has read everything."""
        while not (found := self.read_next(1.0)).is_completed:
            if found.event is not None:
                yield found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Reader({self.reader_id!r})"


async def _made(make_core: Callable[[], AsyncReaderGroup]) -> AsyncReaderGroup:
    """Made on the loop that will use it."""
    return make_core()
