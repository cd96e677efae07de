"""Provide the synchronous revisioned streams and state synchronizers. They state the contract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from pravega_lab.client.loop_thread import (
    OfThisProcess,
    close_when_dropped,
    keep_to_this_process,
    loop_thread,
)
from pravega_lab.portable.closing import ClosedByWith

if TYPE_CHECKING:
    from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream, Entry, Revision
    from pravega_lab.client.shared_state.synchronizer import AsyncStateSynchronizer

S = TypeVar("S")
U = TypeVar("U")


class RevisionedStream(ClosedByWith, OfThisProcess):
    """Uses a stream of one segment as a log: entries with revisions, conditional appends, a mark.

    Calls raise `StreamNotFoundError`, `StreamSealedError` and `StoreUnavailableError`, and `BadInputError`
    for a revision of another log. An append whose answer was lost is looked up, so it is in the log once.

    Source: reader-groups.md C1.
    """

    def __init__(self, core: AsyncRevisionedStream) -> None:
        self._core = core
        keep_to_this_process(self)
        close_when_dropped(self, core.close)

    def oldest(self) -> Revision:
        """Return where the first remaining entry begins."""
        return loop_thread().run(self._core.oldest())

    def latest(self) -> Revision:
        """Return the revision after the last entry."""
        return loop_thread().run(self._core.latest())

    def read_from(self, revision: Revision) -> list[Entry]:
        """Return all entries from ``revision`` to the present end, each with the revision after it.

        Raises:
            TruncatedDataError: ``revision`` lies before `oldest`.
            ProtocolError: No entry begins there.
        """
        return loop_thread().run(self._core.read_from(revision))

    def read_some(self, revision: Revision) -> list[Entry]:
        """Return up to 2 MiB of entries from ``revision``, none at the end. Continue after the last entry."""
        return loop_thread().run(self._core.read_some(revision))

    def append_if_at(self, revision: Revision, data: bytes) -> Revision | None:
        """Append if the log ends at ``revision``. Return the new end, or None if the log has grown.

        The answer is exact, also when a connection was lost: the store knows which appends of this object it
        has, so None means that the entry is not in the log and never will be.

        Raises:
            StoreUnavailableError: The retries ended. Whether the entry is in the log is unknown.
            StreamSealedError: The log is sealed.
        """
        return loop_thread().run(self._core.append_if_at(revision, data))

    def append(self, data: bytes) -> None:
        """Append wherever the log ends."""
        loop_thread().run(self._core.append(data))

    def mark(self) -> Revision | None:
        """Return the revision that was marked last, None if none was."""
        return loop_thread().run(self._core.mark())

    def set_mark(self, revision: Revision | None, expected: Revision | None) -> bool:
        """Move the mark if it is at ``expected`` now, and return whether it was. None is no mark, as in Java.

        Raises:
            ConditionUnknownError: It is not, but a connection was lost in between: this call may have moved
                it. ``found`` of the error is where the mark is.
        """
        return loop_thread().run(self._core.set_mark(revision, expected))

    def truncate(self, revision: Revision) -> None:
        """Drop the entries before ``revision``."""
        loop_thread().run(self._core.truncate(revision))

    def segment_id(self) -> int:
        """Return the id of the log's segment: the one with key 0.0."""
        return loop_thread().run(self._core.segment_id())

    def close(self) -> None:
        """Close the connection."""
        loop_thread().run(self._core.close())


class StateSynchronizer(ClosedByWith, OfThisProcess, Generic[S, U]):
    """Keeps a state that many programs change the same in all of them, by a log of updates.

    Source: reader-groups.md C2.
    """

    def __init__(self, core: AsyncStateSynchronizer[S, U]) -> None:
        self._core = core
        keep_to_this_process(self)
        close_when_dropped(self, core.close)

    def close(self) -> None:
        """Close the connection of the log."""
        loop_thread().run(self._core.close())

    @property
    def state(self) -> S:
        """Return the state as of the last `fetch` or own write. Raises `NoStateYetError`."""
        return self._core.state

    @property
    def has_state(self) -> bool:
        """Return whether a state was found."""
        return self._core.has_state

    @property
    def revision(self) -> Revision:
        """Return the revision after the last update in `state`."""
        return self._core.revision

    @property
    def bytes_since_whole(self) -> int:
        """Return how many bytes of the log a new program has to read."""
        return self._core.bytes_since_whole

    def initialize(self, whole: U) -> bool:
        """Begin an empty log and return True, or False if another program did: `fetch` reads its state."""
        return loop_thread().run(self._core.initialize(whole))

    def fetch(self) -> None:
        """Apply all updates written so far.

        Raises:
            ProtocolError: An entry is damaged, or the format cannot apply it; the message has its revision.
                In the second case there is no state any more, and another `fetch` raises the same.
        """
        loop_thread().run(self._core.fetch())

    def update(self, decide: Callable[[S], Sequence[U]]) -> Sequence[U]:
        """Write what ``decide`` returns for the present state, apply it, and return it.

        Args:
            decide: Is called again, with a newer state, whenever another program wrote first. Without updates
                nothing is written. What it raises reaches the caller, with nothing written, and so does what
                the format raises when it applies the updates.

        Raises:
            ConditionFailedError: The log ends before what this program has read, because the store was
                restored from an older copy.
        """
        return loop_thread().run(self._core.update(decide))

    def append(self, updates: Sequence[U]) -> None:
        """Write updates whatever the state is. The next `fetch` applies them."""
        loop_thread().run(self._core.append(updates))

    def compact(self) -> bool:
        """Write the whole state and truncate the log before the previous one.

        Return False if another program wrote first.
        """
        return loop_thread().run(self._core.compact())
