"""`AsyncStateSynchronizer`: a state that many programs change, as a log of updates (C2).

Everybody folds the same log. A change is decided from the state one has, and written on the condition that
the log ends there; who loses reads what came in between and decides again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from pravega_lab.client.reader_group.errors import NoStateYetError
from pravega_lab.client.reader_group.revisioned import AsyncRevisionedStream, Revision
from pravega_lab.errors import ProtocolError, TruncatedDataError

S = TypeVar("S")
U = TypeVar("U")


class StateFormat(Protocol[S, U]):
    """The rules of one kind of state. Deterministic: the same updates make the same state everywhere."""

    def read(self, data: bytes) -> Sequence[U]:
        """The updates of one entry. Raises ``ProtocolError``."""
        ...

    def is_whole(self, update: U) -> bool:
        """Does this update say the whole state, whatever it was before?"""
        ...

    def begin(self, update: U) -> S:
        """The state that a whole one says."""
        ...

    def apply(self, state: S, update: U) -> None:
        """Change the state."""
        ...

    def write_whole(self, update: U) -> bytes:
        """An entry that begins a log."""
        ...

    def write(self, updates: Sequence[U]) -> bytes:
        """An entry of changes that take effect together."""
        ...

    def compact(self, state: S) -> U:
        """The state as one whole update."""
        ...


class AsyncStateSynchronizer(Generic[S, U]):
    """See `face.StateSynchronizer`. ``state`` is as of the last fetch or own write."""

    def __init__(self, log: AsyncRevisionedStream, rules: StateFormat[S, U]) -> None:
        self._log = log
        self._rules = rules
        self._state: S | None = None
        self._revision: Revision | None = None
        self._whole_at = 0  # offset of the last whole state that was read
        self._turn = asyncio.Lock()  # one at a time moves the state on

    @property
    def state(self) -> S:
        """Raises ``NoStateYetError`` before `fetch` found one."""
        if self._state is None:
            raise NoStateYetError("the log holds no state yet: it was never initialized")
        return self._state

    @property
    def has_state(self) -> bool:
        return self._state is not None

    @property
    def revision(self) -> Revision:
        """Behind the last update in ``state``."""
        if self._revision is None:
            raise NoStateYetError("the log was not read yet: call fetch()")
        return self._revision

    @property
    def bytes_since_whole(self) -> int:
        """How much of the log has to be read to get the state."""
        return self.revision.offset - self._whole_at

    async def initialize(self, whole: U) -> bool:
        """Begin an empty log. False: somebody did; `fetch` reads it."""
        begin = (await self._log.oldest())._replace(offset=0)
        return await self._log.append_if_at(begin, self._rules.write_whole(whole)) is not None

    async def fetch(self) -> None:
        """Take in everything written so far."""
        async with self._turn:
            await self._fetch()

    async def _fetch(self) -> None:
        while True:
            start = self._revision or await self._log.mark() or await self._log.oldest()
            try:
                entries = await self._log.read_from(start)
            except TruncatedDataError:
                self._revision, self._state = None, None  # compacted meanwhile: begin at the mark again
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
            self._apply(at, self._rules.read(data))
        except ProtocolError as error:
            raise type(error)(f"{at.to_text()}: {error}") from error

    def _apply(self, at: Revision, updates: Sequence[U]) -> None:
        for update in updates:
            if self._rules.is_whole(update):
                self._state, self._whole_at = self._rules.begin(update), at.offset
            elif self._state is not None:  # what comes before the first whole state is part of it
                self._rules.apply(self._state, update)

    async def update(self, decide: Callable[[S], Sequence[U]]) -> Sequence[U]:
        """Write what ``decide`` says about the newest state; the updates written, none if it says none."""
        async with self._turn:
            while True:
                updates = decide(self.state)
                if not updates or await self._write(self._rules.write(updates), updates):
                    return updates
                await self._fetch()

    async def _write(self, data: bytes, updates: Sequence[U]) -> bool:
        at = self.revision
        behind = await self._log.append_if_at(at, data)
        if behind is not None:
            self._apply(at, updates)
            self._revision = behind
        return behind is not None

    async def append(self, updates: Sequence[U]) -> None:
        """Write unconditionally; `fetch` brings it."""
        await self._log.append(self._rules.write(updates))

    async def compact(self) -> bool:
        """Write the whole state, so that the log before it can go. False: somebody wrote meanwhile.

        The mark is set where the whole state begins; truncated is up to the mark before, so that whoever is
        a little behind can still read on.
        """
        async with self._turn:
            old_mark = await self._log.mark()
            at, whole = self.revision, self._rules.compact(self.state)
            if not await self._write(self._rules.write_whole(whole), [whole]):
                return False
            if await self._log.set_mark(at, old_mark) and old_mark is not None:
                await self._log.truncate(old_mark)
            return True
