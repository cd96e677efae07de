"""Reads from a reader group ahead of a subtask, so that a barrier never waits for the store.

The reader reports a checkpoint with the *next* read (reader-groups.md B5). The fetcher does that read while
the subtask may be waiting for its trigger. If the subtask read itself, both would wait forever. Source:
``PravegaSplitReader``, ``PravegaFetcherManager``.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from typing import Any

from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.client.reader_group.values import Position
from pravega_lab.connector.flow.reader_group.settings import GroupSettings
from pravega_lab.connector.flow.reader_group.window_watermarks import WindowWatermarks
from pravega_lab.engine.flow.cancelling import is_failure
from pravega_lab.engine.flow.elements import Watermark
from pravega_lab.errors import TruncatedDataError
from pravega_lab.portable.waiting import gather

AHEAD = 2  # most reads that wait for the subtask
LEAVE_S = 2.0  # time limit for leaving the group in order; a reset follows in any case
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fetched:
    """The result of one read: events of one stream, or the name of a checkpoint, or neither.

    ``position`` is the reader's position after it, and ``watermark`` the watermark there if it is new.
    ``is_end``: the group has read everything, and the reader has left it.
    """

    stream: str | None
    events: Any  # pa.RecordBatch | None
    checkpoint: str | None
    position: Position
    watermark: Watermark | None = None
    is_end: bool = False


class GroupFetcher:
    """Reads ahead for one reader. `take` returns the results in order.

    The reader leaves the group when the group has read everything, because a checkpoint of the group waits
    for every reader that is online. With ``leaves_silently`` it leaves as a process that dies.
    """

    def __init__(
        self, settings: GroupSettings, reader: AsyncReader, *, leaves_silently: bool = False
    ) -> None:
        self._settings, self.reader, self._leaves_silently = settings, reader, leaves_silently
        self._watermarks = WindowWatermarks(settings, reader)
        self._found: deque[Fetched] = deque()
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._error: BaseException | None = None
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"fetch {reader.reader_id}")

    async def _run(self) -> None:
        try:
            is_over = False
            while not is_over:
                await self._wait_for_room()
                is_over = await self._fetch()
        except BaseException as error:
            if not is_failure(error):
                raise
            self._error = error
            self._news.set()

    async def _wait_for_room(self) -> None:
        while len(self._found) >= AHEAD:
            self._room.clear()
            await self._room.wait()

    async def _fetch(self) -> bool:
        """Read once. Return whether the group has read everything."""
        settings = self._settings
        try:
            found = await self.reader.read_batch(settings.read_s, max_bytes=settings.batch_bytes)
        except TruncatedDataError as error:
            _log.warning("%s", error)
            return False
        at = self.reader.position()
        watermark = None if found.checkpoint is not None else await self._watermarks.after_read()
        if found.is_completed:
            await self._leave()
        if found.batch is not None or found.is_checkpoint or found.is_completed or watermark is not None:
            fetched = Fetched(found.stream, found.batch, found.checkpoint, at, watermark, found.is_completed)
            self._found.append(fetched)
            self._news.set()
        return found.is_completed

    async def _leave(self) -> None:
        await (self.reader.abandon() if self._leaves_silently else self.reader.close())

    def take(self) -> Fetched | None:
        """Return the next result, or None if there is none yet. Raises the error that ended reading."""
        if not self._found:
            if self._error is not None:
                raise self._error
            self._news.clear()
            return None
        self._room.set()
        return self._found.popleft()

    async def wait(self) -> None:
        """Wait until `take` may return a result."""
        if not self._found and self._error is None:
            await self._news.wait()

    async def close(self) -> None:
        """Stop reading, and leave the group within a short time."""
        self._task.cancel()
        await gather(self._task, return_exceptions=True)
        if self._leaves_silently:
            await self.reader.abandon()
        else:
            await leave(self.reader)


async def leave(reader: AsyncReader) -> None:
    """Close a reader. If the group cannot be reached soon, its next reset declares the reader offline."""
    try:
        async with asyncio.timeout(LEAVE_S):
            await reader.close()
    except Exception as error:
        _log.info("reader %s left without a word: %r", reader.reader_id, error)
        await reader.abandon()
