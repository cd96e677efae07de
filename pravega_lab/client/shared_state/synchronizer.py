"""Provide `AsyncStateSynchronizer`: a state that many programs change, as a log of updates.

All programs fold the same log. A program decides on a change from its state, and writes it on the condition
that the log ends where that state does. A program that loses this race reads the new updates and decides
again. Source: reader-groups.md C2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from pravega_lab.client.shared_state.errors import NoStateYetError
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream, Revision
from pravega_lab.errors import ConditionFailedError, ConditionUnknownError, ProtocolError, TruncatedDataError
from pravega_lab.portable.closing import ClosedByAsyncWith

S = TypeVar("S")
U = TypeVar("U")


class StateFormat(Protocol[S, U]):
    """Describes one kind of state and its bytes. The same updates have to make the same state everywhere."""

    def read(self, data: bytes) -> Sequence[U]:
        """Return the updates of one entry. Raises `ProtocolError`."""
        ...

    def is_whole(self, update: U) -> bool:
        """Return whether the update replaces the whole state."""
        ...

    def begin(self, update: U) -> S:
        """Return the state that a whole update describes."""
        ...

    def apply(self, state: S, update: U) -> None:
        """Change the state by an update."""
        ...

    def check(self, state: S, updates: Sequence[U]) -> None:
        """Raise what `apply` would raise for updates that are to be written. The state does not change."""
        ...

    def write_whole(self, update: U) -> bytes:
        """Return an entry that begins a log."""
        ...

    def write(self, updates: Sequence[U]) -> bytes:
        """Return an entry of updates that take effect together."""
        ...

    def compact(self, state: S) -> U:
        """Return the state as one whole update."""
        ...


class AsyncStateSynchronizer(ClosedByAsyncWith, Generic[S, U]):
    """Implements `sync.StateSynchronizer` with asyncio, under the same contract."""

    def __init__(self, log: AsyncRevisionedStream, rules: StateFormat[S, U]) -> None:
        self._log = log
        self._rules = rules
        self._state: S | None = None
        self._revision: Revision | None = None
        self._whole_at = 0  # offset of the last whole state that was read
        self._turn = asyncio.Lock()  # one task at a time changes the state

    async def close(self) -> None:
        """Close the connections of the log."""
        await self._log.close()

    @property
    def state(self) -> S:
        """Return the state as of the last `fetch` or own write. Raises `NoStateYetError`."""
        if self._state is None:
            if self.revision.offset:
                raise NoStateYetError(
                    "the log holds updates, and no whole state: it was never initialized, or was truncated. "
                    "A program that has the state writes it with compact()"
                )
            raise NoStateYetError("the log holds no state yet: it was never initialized")
        return self._state

    @property
    def has_state(self) -> bool:
        """Return whether a state was found."""
        return self._state is not None

    @property
    def revision(self) -> Revision:
        """Return the revision after the last update in `state`."""
        if self._revision is None:
            raise NoStateYetError("the log was not read yet: call fetch()")
        return self._revision

    @property
    def bytes_since_whole(self) -> int:
        """Return how many bytes of the log a new program has to read."""
        return self.revision.offset - self._whole_at

    async def initialize(self, whole: U) -> bool:
        """Begin an empty log and return True, or False if another program did."""
        begin = (await self._log.oldest())._replace(offset=0)
        return await self._log.append_if_at(begin, self._rules.write_whole(whole)) is not None

    async def fetch(self) -> None:
        """Read and apply all updates written so far."""
        async with self._turn:
            await self._fetch()

    async def _fetch(self) -> None:
        start = self._revision or await self._log.mark() or await self._log.oldest()
        while True:
            try:
                entries = await self._log.read_from(start)
            except TruncatedDataError:
                self._revision, self._state = None, None  # the log was compacted: begin at its mark again
                mark, oldest = await self._log.mark(), await self._log.oldest()
                start = oldest if mark is None else max(mark, oldest)  # retention knows no mark
                continue
            at = start
            for entry in entries:
                self._take(at, entry.data)
                at = entry.revision
                self._revision = at
            self._revision = at
            return

    def _take(self, at: Revision, data: bytes) -> None:
        try:
            updates = self._rules.read(data)
        except ProtocolError as error:
            raise type(error)(f"{at.to_text()}: {error}") from error
        self._apply(at, updates)

    def _apply(self, at: Revision, updates: Sequence[U]) -> None:
        try:
            for update in updates:
                if self._rules.is_whole(update):
                    self._state, self._whole_at = self._begin(update), at.offset
                elif self._state is not None:  # the first whole state includes earlier updates
                    self._rules.apply(self._state, update)
        except Exception as error:
            # The state may have changed in part, so that nothing can be applied to it again.
            self._revision, self._state = None, None
            if isinstance(error, ProtocolError):
                raise type(error)(f"{at.to_text()}: {error}") from error
            raise ProtocolError(
                f"{at.to_text()}: the state cannot apply this entry: {type(error).__name__}: {error}"
            ) from error

    def _begin(self, whole: U) -> S:
        return self._rules.begin(whole)

    async def update(self, decide: Callable[[S], Sequence[U]]) -> Sequence[U]:
        """Write what ``decide`` returns for the present state. Return the written updates, maybe none."""
        async with self._turn:
            while True:
                updates = decide(self.state)
                if not updates:
                    return updates
                data = self._rules.write(updates)
                # What raises here would stop every program if it were in the log.
                self._rules.check(self.state, self._rules.read(data))
                if await self._write(data):
                    return updates
                read = self.revision
                await self._fetch()
                if self.revision == read:
                    await self._check_end()

    async def _check_end(self) -> None:
        """Raise if the log ends before what was read: no update can be written until others fill it."""
        end = await self._log.latest()
        if end < self.revision:
            raise ConditionFailedError(
                f"this program has read to {self.revision.to_text()}, and the log ends at {end.to_text()}: "
                "the store was restored from an older copy, or has lost entries. Close this synchronizer and "
                "open another, which reads the state that the store has"
            )

    async def _write(self, data: bytes) -> bool:
        """Write an entry, and apply it as every other program will: as it is read from the log."""
        at = self.revision
        behind = await self._log.append_if_at(at, data)
        if behind is not None:
            self._take(at, data)
            self._revision = behind
        return behind is not None

    async def append(self, updates: Sequence[U]) -> None:
        """Write updates unconditionally. The next `fetch` applies them."""
        await self._log.append(self._rules.write(updates))

    async def compact(self) -> bool:
        """Write the whole state and truncate the log. Return False if another program wrote first.

        The mark moves to where the whole state begins. The log is truncated only up to the previous mark, so
        that a program that lags a little can still read on.
        """
        async with self._turn:
            old_mark = await self._log.mark()
            at, whole = self.revision, self._rules.compact(self.state)
            if not await self._write(self._rules.write_whole(whole)):
                return False
            try:
                is_moved = await self._log.set_mark(at, old_mark)
            except ConditionUnknownError as error:
                is_moved = error.found == at  # no other program has written a whole state here
            if is_moved and old_mark is not None:
                await self._log.truncate(old_mark)
            return True
