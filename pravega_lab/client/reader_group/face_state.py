"""The synchronous face of revisioned streams and state synchronizers; contract of both, as in `face`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from pravega_lab.client.loop_thread import loop_thread

if TYPE_CHECKING:
    from pravega_lab.client.reader_group.revisioned import AsyncRevisionedStream, Entry, Revision
    from pravega_lab.client.reader_group.synchronizer import AsyncStateSynchronizer

S = TypeVar("S")
U = TypeVar("U")


class RevisionedStream:
    """A stream of one segment as a log: entries with revisions, conditional appends, a mark (C1).

    Calls raise `StreamNotFoundError`, `StreamSealedError` and `StoreUnavailableError`. An append whose answer
    was lost is looked up, so it is in the log once.
    """

    def __init__(self, core: AsyncRevisionedStream) -> None:
        self._core = core

    def oldest(self) -> Revision:
        """Where the first entry left begins."""
        return loop_thread().run(self._core.oldest())

    def latest(self) -> Revision:
        """Behind the last entry."""
        return loop_thread().run(self._core.latest())

    def read_from(self, revision: Revision) -> list[Entry]:
        """All entries from ``revision`` to the end as it is now; each with the revision behind it.

        Raises:
            TruncatedDataError: ``revision`` lies before `oldest`.
            ProtocolError: No entry begins there.
        """
        return loop_thread().run(self._core.read_from(revision))

    def read_some(self, revision: Revision) -> list[Entry]:
        """As `read_from`, 2 MiB at a time: ask again behind the last entry. Nothing: the end."""
        return loop_thread().run(self._core.read_some(revision))

    def append_if_at(self, revision: Revision, data: bytes) -> Revision | None:
        """Append if the log ends at ``revision``; the revision behind it. None: it does not."""
        return loop_thread().run(self._core.append_if_at(revision, data))

    def append(self, data: bytes) -> None:
        """Append wherever the log ends."""
        loop_thread().run(self._core.append(data))

    def mark(self) -> Revision | None:
        """The place that was marked last; None: none was."""
        return loop_thread().run(self._core.mark())

    def set_mark(self, revision: Revision, expected: Revision | None) -> bool:
        """Mark a place if the mark is at ``expected`` now. False: it is not."""
        return loop_thread().run(self._core.set_mark(revision, expected))

    def truncate(self, revision: Revision) -> None:
        """Drop the entries before ``revision``."""
        loop_thread().run(self._core.truncate(revision))

    def segment_id(self) -> int:
        """The segment that is the log: the one with key 0.0."""
        return loop_thread().run(self._core.segment_id())

    def close(self) -> None:
        """Give the connection back."""
        loop_thread().run(self._core.close())


class StateSynchronizer(Generic[S, U]):
    """A state that many programs change, kept the same in all of them by a log of updates (C2)."""

    def __init__(self, core: AsyncStateSynchronizer[S, U]) -> None:
        self._core = core

    @property
    def state(self) -> S:
        """As of the last `fetch` or own write. Raises `NoStateYetError` before there is one."""
        return self._core.state

    @property
    def has_state(self) -> bool:
        """Was a state found?"""
        return self._core.has_state

    @property
    def revision(self) -> Revision:
        """Behind the last update in `state`."""
        return self._core.revision

    @property
    def bytes_since_whole(self) -> int:
        """How much of the log a newcomer has to read."""
        return self._core.bytes_since_whole

    def initialize(self, whole: U) -> bool:
        """Begin an empty log. False: somebody did; `fetch` reads what."""
        return loop_thread().run(self._core.initialize(whole))

    def fetch(self) -> None:
        """Take in everything written so far. Raises `ProtocolError`, with the revision, for bad entries."""
        loop_thread().run(self._core.fetch())

    def update(self, decide: Callable[[S], Sequence[U]]) -> Sequence[U]:
        """Write what ``decide`` says about the newest state, and apply it; what was written.

        Args:
            decide: Called again, with a newer state, whenever somebody else wrote first. No updates: nothing
                is written. An error it raises comes out, with nothing written.
        """
        return loop_thread().run(self._core.update(decide))

    def append(self, updates: Sequence[U]) -> None:
        """Write whatever the state is; `fetch` brings it."""
        loop_thread().run(self._core.append(updates))

    def compact(self) -> bool:
        """Write the whole state and let go of the log before it. False: somebody wrote meanwhile."""
        return loop_thread().run(self._core.compact())
