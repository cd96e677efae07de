"""Reads from tier 2: bytes are fetched off the event loop and verified, and the readers read again.

A read of the storage whose bytes are not in memory raises `NotAtHand`. Its connection asks here for the bytes
and handles other requests until they have come. Readers that want the same bytes share one fetch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ...store.errors import CorruptStoreError, NotAtHand
from ...store.log.chunks import Chunk
from ...store.storage.tiered import Tiered
from ...store.tiers.cache import BlockCache
from .objects import Objects, check_folder

log = logging.getLogger(__name__)

RETRY_S_MIN, RETRY_S_MAX = 0.2, 10.0
MISSING_TRIES = 3
"""How often a chunk that is missing or damaged is fetched before its readers get an error."""

Then = Callable[[CorruptStoreError | None], None]


class ChunkReader:
    """Fetches bytes of chunks into a cache.

    Args:
        tiered: The storage.
        objects: The folder in tier 2.
        cache: Where the bytes are kept.
        loop: Where the fetches wait.
    """

    def __init__(
        self, tiered: Tiered, objects: Objects, cache: BlockCache, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._tiered = tiered
        self._objects = objects
        self._cache = cache
        self._loop = loop
        self.read_bytes = 0
        self._waiting: dict[tuple[int, int], dict[Then, None]] = {}
        self._fetches: dict[tuple[int, int], asyncio.Task[None]] = {}

    def fetch(self, need: NotAtHand, then: Then) -> Callable[[], None]:
        """Fetch the first bytes of ``need``, and then call ``then``: with None when a read will find them,
        with an error if they are damaged or lost. While tier 2 does not answer, the call waits.

        Return a callable that cancels the wait.
        """
        start, end = self._cache.wanted(need.chunk, need.position, need.length)
        key = (need.chunk.number, start)
        waiting = self._waiting.setdefault(key, {})
        waiting[then] = None
        if key not in self._fetches:
            self._fetches[key] = self._loop.create_task(self._fetch(key, need.chunk, end))
        return lambda: waiting.pop(then, None) and None

    async def _fetch(self, key: tuple[int, int], chunk: Chunk, end: int) -> None:
        failure: CorruptStoreError | None = None
        try:
            failure = await self._try(key, chunk, end)
        finally:
            waiting = self._waiting.pop(key)
            del self._fetches[key]
        for then in list(waiting):
            if then in waiting:
                then(failure)

    async def _try(self, key: tuple[int, int], chunk: Chunk, end: int) -> CorruptStoreError | None:
        tries = bad = 0
        while self._waiting[key]:
            try:
                data = await self._read(chunk, key[1], end)
                self.read_bytes += len(data)
                self._cache.put(chunk, key[1], data)
                return None
            except FileNotFoundError:
                bad += 1
                failure = CorruptStoreError(
                    f"The chunk {chunk.name!r} is missing in tier 2, and a segment has bytes in it. Restore"
                    " it from a copy. All other data can still be read."
                )
            except CorruptStoreError as error:
                bad, failure = bad + 1, error
            except Exception as error:
                if not tries:
                    kind = type(error).__name__
                    log.warning("tier 2 cannot be read; its readers wait: %s: %s", kind, error)
            if bad and self._tiered.chunk(chunk.number) is None:
                return None  # it was deleted in the meantime: the read reports what became of the segment
            if bad >= MISSING_TRIES:
                return failure
            await asyncio.sleep(min(RETRY_S_MAX, RETRY_S_MIN * 2 ** min(tries, 10)))
            tries += 1
        return None

    async def _read(self, chunk: Chunk, start: int, end: int) -> bytes:
        try:
            return await self._objects.read(chunk.name, start, end)
        except FileNotFoundError:
            await check_folder(self._objects, self._tiered)  # raises if tier 2 is not there
            raise

    def close(self) -> None:
        """Cancel all fetches."""
        for task in list(self._fetches.values()):
            task.cancel()
