"""Provide the synchronous reader groups and readers.

Like `client.sync` they decide nothing: every call goes to the object of the same name in the asyncio core.
The docstrings here are the contract of both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from pravega_lab.client.loop_thread import (
    OfThisProcess,
    close_when_dropped,
    keep_to_this_process,
    loop_thread,
)
from pravega_lab.client.reader_group.values import (
    BatchRead,
    Checkpoint,
    EventRead,
    GroupMetrics,
    Position,
    TimeWindow,
)
from pravega_lab.client.values import MIB
from pravega_lab.portable.closing import ClosedByWith

if TYPE_CHECKING:
    from pravega_lab.client.reader_group.core.state import GroupState
    from pravega_lab.client.reader_group.event_reader import AsyncReader
    from pravega_lab.client.reader_group.explain import Explanation
    from pravega_lab.client.reader_group.group import AsyncPendingCheckpoint, AsyncReaderGroup
    from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig
    from pravega_lab.protocol.stream_cut import StreamCut


class ReaderGroup(ClosedByWith, OfThisProcess):
    """Gives access to a group (``scope/group``) of readers, also Java's, that share the segments of streams.

    It sends no request until it is used. Every call raises `ReaderGroupNotFoundError` if there is no such
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
            core = self._cores[os.getpid()] = loop_thread().run(_made(self._make_core))
            close_when_dropped(self, core.close)
        return self._cores[os.getpid()]

    def create(self, config: ReaderGroupConfig) -> bool:
        """Create the group and return True, or False if it existed with the same configuration.

        Raises:
            ConfigMismatchError: It is there with another configuration.
            ScopeNotFoundError, StreamNotFoundError: What it lives in, or reads, is missing.
            BadInputError: A cut of another stream, or no stream at all.
        """
        return loop_thread().run(self._core.create(config))

    def delete(self) -> bool:
        """Delete the group and return True, or False if there was none. Readers notice it later."""
        return loop_thread().run(self._core.delete())

    def config(self) -> ReaderGroupConfig:
        """Return what the group reads and how, as of its last reset."""
        return loop_thread().run(self._core.config())

    def state(self) -> GroupState:
        """Return the present shared state. Later calls on this handle advance the same object."""
        return loop_thread().run(self._core.state())

    def online_readers(self) -> list[str]:
        """Return the ids of the readers online, including dead ones that were not declared offline."""
        return loop_thread().run(self._core.online_readers())

    def assignments(self) -> dict[str, dict[str, int]]:
        """Return, for each reader online, its segments (full names) with their stored offsets.

        Stored are the offsets of the last checkpoint, or of the acquisition if that came later.
        """
        return loop_thread().run(self._core.assignments())

    def create_reader(
        self, reader_id: str, *, initial_delay_ms: int = 0, checkpoint_at_segment_end: bool = False
    ) -> Reader:
        """Return a new reader, online. Leaving its ``with`` block releases its segments.

        Args:
            initial_delay_ms: Wait about this long before taking segments, so that readers that start together
                share from the beginning.
            checkpoint_at_segment_end: Begin a reader-group checkpoint as soon as this reader has read a
                segment to its end, so that its successors become readable at once. By default they wait for
                the next automatic checkpoint, or for one that a program initiates. Only this reader has the
                setting; it is not part of the group's configuration.

        Raises:
            ReaderExistsError: A reader of this id is online.
            NoStateYetError: The group is just being created; try again.
        """
        made = self._core.create_reader(
            reader_id,
            initial_delay_ms=initial_delay_ms,
            checkpoint_at_segment_end=checkpoint_at_segment_end,
        )
        return Reader(loop_thread().run(made, lambda reader: reader.close()))

    def reader_offline(self, reader_id: str, position: Position | None = None) -> bool:
        """Declare a reader dead, so that others take its segments. Return False if it was not online.

        A process that is killed while its reader joins may leave a request that is still on its way to the
        store. The reader then comes online after this call returned False, and the group waits for it at
        every checkpoint. After False, therefore, look at `online_readers` again some seconds later.

        Args:
            position: Where other readers resume, from the reader's `Reader.position`. None: at its last
                checkpoint, or where it acquired the segment if that came later (reader-groups.md B6). Events
                after that position are delivered again.
        """
        return loop_thread().run(self._core.reader_offline(reader_id, position))

    def initiate_checkpoint(self, name: str) -> PendingCheckpoint:
        """Begin a reader-group checkpoint: every reader gets its name between two events.

        It is complete when every reader has read further after that (reader-groups.md B5).

        Raises:
            TooManyCheckpointsError: ``max_outstanding_checkpoint_request`` wait for readers already.
            AlreadyExistsError: There is one of that name.
        """
        return PendingCheckpoint(loop_thread().run(self._core.initiate_checkpoint(name)))

    def cancel_outstanding_checkpoints(self) -> None:
        """Drop the checkpoints that wait for readers. Their `result` raises `CheckpointFailedError`."""
        loop_thread().run(self._core.cancel_outstanding_checkpoints())

    def generate_stream_cuts(self, timeout_s: float | None = None) -> Mapping[str, StreamCut]:
        """Return the present positions as a consistent cut of each stream, by a silent checkpoint.

        Readers report within their next read and hand out nothing. Raises `CheckpointTimeoutError`.
        """
        return loop_thread().run(self._core.generate_stream_cuts(timeout_s))

    def stream_cuts(self) -> dict[str, StreamCut]:
        """Return cuts from the stored offsets (of checkpoint or acquisition), without asking the readers.

        Each cut covers the key space, also in the middle of a merge, where Java's do not (reader-groups.md
        B4).
        """
        return loop_thread().run(self._core.stream_cuts())

    def last_checkpoint_cuts(self) -> dict[str, StreamCut] | None:
        """Return the cuts of the last complete checkpoint that was not silent, None if there is none."""
        return loop_thread().run(self._core.last_checkpoint_cuts())

    def reset(
        self,
        to: Checkpoint | Mapping[str, StreamCut] | None = None,
        *,
        config: ReaderGroupConfig | None = None,
    ) -> None:
        """Restart the group at other positions; its readers raise `ReinitializationRequiredError`.

        Args:
            to: A checkpoint, or a cut per stream (streams not named begin where they were configured to).
                None: the last complete checkpoint; without one, the configured beginning.
            config: Another configuration altogether, in place of ``to``.

        Raises:
            ConditionFailedError: Another program reset it at the same time.
        """
        loop_thread().run(self._core.reset(to, config=config))

    def unread_bytes(self) -> int:
        """Return the bytes after the last checkpoint, or after the stored offsets, event headers included."""
        return loop_thread().run(self._core.unread_bytes())

    def metrics(self) -> GroupMetrics:
        """Return `unread_bytes` and the numbers of readers, segments and checkpoints."""
        return loop_thread().run(self._core.metrics())

    def explain(self) -> Explanation:
        """Return in sentences who reads, what lags, whom checkpoints wait for, and what no reader reads.

        As of now; since when it is so, an observer knows (``observe(uri, group=...).explain()``).
        """
        return loop_thread().run(self._core.explain())

    def update_retention_stream_cut(self, cuts: Mapping[str, StreamCut]) -> None:
        """Allow the streams to truncate before ``cuts``, for groups with manual retention.

        Raises:
            BadInputError: The group's configuration says otherwise.
            RefusedError: A cut that does not cover the key space, or lies before the last one.

        Source: reader-groups.md B7.
        """
        loop_thread().run(self._core.update_retention_stream_cut(cuts))

    def compact(self) -> bool:
        """Replace the state log by the state, as readers do now and then. Return False if another did."""
        return loop_thread().run(self._core.compact())

    def close(self) -> None:
        """Close this handle's connection. Its readers stay open."""
        core = self._cores.pop(os.getpid(), None)
        if core is not None:
            loop_thread().run(core.close())

    def __repr__(self) -> str:
        return f"ReaderGroup({self.scoped_name!r})"


class PendingCheckpoint(OfThisProcess):
    """Represents a checkpoint that was begun. It completes only while readers continue to read."""

    def __init__(self, core: AsyncPendingCheckpoint) -> None:
        self._core = core
        keep_to_this_process(self)
        self.name: str = core.name

    def result(self, timeout_s: float | None = None) -> Checkpoint:
        """Wait until it is complete.

        Raises:
            CheckpointFailedError: It was cancelled, or a later one was completed first.
            CheckpointTimeoutError: Still waiting for readers, after ``timeout_s``; asking again is fine.
        """
        return loop_thread().run(self._core.result(timeout_s))

    def waiting_for(self) -> tuple[str, ...]:
        """Return the readers that have not reported yet."""
        return loop_thread().run(self._core.waiting_for())


class Reader(ClosedByWith, OfThisProcess):
    """Reads as a member of a group, in one thread at a time. `ReaderGroup.create_reader` returns it.

    It takes part in the group only while it reads, so an idle reader delays checkpoints.
    """

    def __init__(self, core: AsyncReader) -> None:
        self._core = core
        keep_to_this_process(self)
        self.reader_id: str = core.reader_id

    def read_next(self, timeout_s: float = 0.0) -> EventRead:
        """Return the next event, the name of a checkpoint, or nothing after ``timeout_s`` seconds.

        The read after a checkpoint reports it, at `position`. Events of one routing
        key come in order, across scaling and across readers. The successors of a segment become readable at
        the next checkpoint (reader-groups.md B4): with automatic checkpoints off, a program has to initiate
        one. `ReaderGroup.create_reader` has an option for a checkpoint at the end of each segment.

        Raises:
            ReinitializationRequiredError: The group was reset, or this reader was declared offline: it
                is closed; create a new one.
            TruncatedDataError: Unread events were truncated. The next read continues after them.
            ReaderGroupNotFoundError: The group was deleted; the reader is closed.
            StreamNotFoundError: A stream of the group was deleted. The reader is online until it is closed.
                Reset the group to a configuration without this stream.
        """
        return loop_thread().run(self._core.read_next(timeout_s), self._core.put_back)

    def read_batch(self, timeout_s: float = 0.0, *, max_bytes: int = 8 * MIB) -> BatchRead:
        """Return the next events of one segment, at most ``max_bytes`` of payload; see `read_next`.

        Columns: event (binary), segment_id (int64), offset (int64, of the event's header).
        """
        call = self._core.read_batch(timeout_s, max_bytes=max_bytes)
        return loop_thread().run(call, self._core.put_back)

    def position(self) -> Position:
        """Return the offset after all returned events, for every segment that this reader holds."""
        return self._core.position()

    def time_window(self, stream: str) -> TimeWindow:
        """Return the noted times between which the group reads ``stream`` (``scope/stream``) now.

        The window is that of the group: the slowest reader counts. Readers report their positions every
        few seconds, and watermarks are written every 10 s, so bounds are late, never early; None: unknown.
        Cheap enough to be asked after every event (pravega.md A12).

        Raises:
            BadInputError: The group does not read that stream.
            ReinitializationRequiredError: This reader is closed.
        """
        return loop_thread().run(self._core.time_window(stream))

    @property
    def is_closed(self) -> bool:
        """Return whether it was closed, by the program, by a reset, or because it was declared offline."""
        return self._core.is_closed

    def close(self) -> None:
        """Go offline at the present position, so that others take the segments. May be called twice.

        A read that another thread waits for raises `ReinitializationRequiredError`.
        """
        loop_thread().run(self._core.close())

    def close_at(self, position: Position) -> None:
        """Go offline at an earlier position: later events that were returned are delivered again."""
        loop_thread().run(self._core.close_at(position))

    def abandon(self) -> None:
        """Stop without going offline, as a program that dies does, to see what the group does."""
        loop_thread().run(self._core.abandon())

    def __iter__(self) -> Iterator[EventRead]:
        """Return events as they arrive, without checkpoints, until the group has read everything.

        The events are converted together, as many as the program takes in about 0.05 s. In between, the
        reader takes no part in the group. `position` and `close` count the events that the loop has reached.
        """
        return chain.from_iterable(iter(lambda: loop_thread().run(self._core.next_events()), None))

    def __repr__(self) -> str:
        return f"Reader({self.reader_id!r})"


async def _made(make_core: Callable[[], AsyncReaderGroup]) -> AsyncReaderGroup:
    """Made on the loop that will use it."""
    return make_core()
