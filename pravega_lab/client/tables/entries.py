"""Provide `AsyncEntries`: the entries of a range of keys, in the order of keys, page by page."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Self

from pravega_lab.client.tables.partitions import successor
from pravega_lab.client.tables.values import KeyValueEntry
from pravega_lab.portable.waiting import gather

Fetch = Callable[[int, bytes, bytes], Awaitable[list[KeyValueEntry]]]
Range = tuple[list[int], bytes, bytes]


class _Source:
    """Reads the entries of one segment ahead."""

    def __init__(self, segment_id: int, low: bytes, high: bytes, fetch: Fetch) -> None:
        self._segment_id, self._high, self._fetch = segment_id, high, fetch
        self._low: bytes | None = low
        self.entries: deque[KeyValueEntry] = deque()

    @property
    def has_more(self) -> bool:
        """Return whether the segment may have entries after those that were read."""
        return self._low is not None

    async def fill(self) -> None:
        """Read a page unless there are entries left of the last one."""
        if self.entries or self._low is None:
            return
        page = await self._fetch(self._segment_id, self._low, self._high)
        self.entries.extend(page)
        after = successor(page[-1].primary + page[-1].secondary) if page else None
        self._low = after if after is not None and after <= self._high else None


class AsyncEntries:
    """Iterates over entries in the order of their keys, with ``async for``. It holds no connection.

    An entry that is put or removed during the iteration may be included or not. Every other one is there
    once.
    """

    def __init__(self, plan: Callable[[], Awaitable[Range]], fetch: Fetch) -> None:
        self._plan, self._fetch = plan, fetch
        self._sources: list[_Source] | None = None
        self._page: deque[KeyValueEntry] = deque()
        self._turn = asyncio.Lock()

    async def next_page(self) -> list[KeyValueEntry]:
        """Return the next entries, none at the end."""
        async with self._turn:
            return await self._next_page()

    async def _next_page(self) -> list[KeyValueEntry]:
        if self._page:
            page, self._page = list(self._page), deque()
            return page
        if self._sources is None:
            segment_ids, low, high = await self._plan()
            self._sources = [_Source(segment_id, low, high, self._fetch) for segment_id in segment_ids]
        await gather(*(source.fill() for source in self._sources))
        # Keys above the last one that was read of a segment may follow entries that were not read yet.
        ends = [source.entries[-1][:2] for source in self._sources if source.has_more and source.entries]
        found: list[KeyValueEntry] = []
        for source in self._sources:
            while source.entries and (not ends or source.entries[0][:2] <= min(ends)):
                found.append(source.entries.popleft())
        return sorted(found)

    def put_back(self, page: Iterable[KeyValueEntry]) -> None:
        """Take back the entries that `next_page` returned last, to return them again."""
        self._page.extendleft(reversed(list(page)))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> KeyValueEntry:
        if not self._page:
            self._page = deque(await self.next_page())
        if not self._page:
            raise StopAsyncIteration
        return self._page.popleft()
