"""The loop between a storage and its disk: it writes one group at a time, and makes files and snapshots in
parallel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pravega_lab.portable.waiting import gather

from ..store.errors import DiskFull
from ..store.log.disk import Disk
from ..store.log.history import HISTORY_NAME, encode_history
from ..store.storage.storage import Storage


class Pump:
    """Moves groups from ``storage`` to ``disk``.

    ``await pump.run()`` runs until it is cancelled, or until the disk raises. In the second case it calls
    ``storage.failed`` and raises the error of the disk. The process must then stop: a failed sync is never
    retried, because the kernel may have dropped the pages.
    """

    def __init__(self, storage: Storage, disk: Disk, *, retry_s: float = 1.0) -> None:
        self.storage = storage
        self.disk = disk
        self.retry_s = retry_s
        self.groups = self.written_bytes = 0
        self.write_s = 0.0
        self._groups_wake = asyncio.Event()
        self._files_wake = asyncio.Event()
        self.on_synced: Callable[[], None] = lambda: None
        """Called after each group, when its replies are ready."""
        storage.on_work = self._wake

    def _wake(self) -> None:
        self._groups_wake.set()
        if self.storage.has_file_work:
            self._files_wake.set()

    async def run(self) -> None:
        """Run the loop for groups and the loop for files. The first failure of either ends both."""
        self._groups_wake.set()
        self._files_wake.set()
        loops = [asyncio.ensure_future(loop) for loop in (self._move_groups(), self._make_files())]
        try:
            await gather(*loops)
        except Exception as failure:
            self.storage.failed(failure)
            raise
        finally:
            for loop in loops:
                loop.cancel()
            await gather(*loops, return_exceptions=True)

    async def _move_groups(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._groups_wake.wait()
            self._groups_wake.clear()
            while (group := self.storage.take_group()) is not None:
                if group.data:
                    began_s = loop.time()
                    await self.disk.write_group(group.file, group.offset, group.data)
                    self.write_s += loop.time() - began_s
                    self.groups += 1
                    self.written_bytes += len(group.data)
                self.storage.group_synced(group)
                self.on_synced()
            if self.storage.has_file_work:
                self._files_wake.set()

    async def _make_files(self) -> None:
        while True:
            await self._files_wake.wait()
            self._files_wake.clear()
            while self.storage.draw_snapshot():
                await asyncio.sleep(0)
            # Try both each time: a written snapshot may free the room that the next file needs.
            while not all(
                [await self._record_found(), await self._make_file(), await self._write_snapshot()]
            ):
                await asyncio.sleep(self.retry_s)

    async def _make_file(self) -> bool:
        """Make the files that the log wants, and record each before groups are written to it.

        Return False if the disk has no room.
        """
        while (file := self.storage.file_wanted()) is not None:
            history = self.storage.history_wanted(file)
            record = None if history is None else (HISTORY_NAME, encode_history(history))
            try:
                if not file.exists:
                    await self.disk.create(file.name, file.size, file.header, record)
                elif record is not None:
                    await self.disk.write_file(*record)
            except DiskFull:
                self.storage.file_refused(file)
                return False
            self.storage.history = history or self.storage.history
            self.storage.file_created(file)
        return True

    async def _record_found(self) -> bool:
        """Record the newest log file that recovery found, if it is not recorded; see `log.history`.

        Return False if the disk has no room.
        """
        history = self.storage.history_wanted()
        if history is not None:
            try:
                await self.disk.write_file(HISTORY_NAME, encode_history(history))
            except DiskFull:
                return False
            self.storage.history = history
        return True

    async def _write_snapshot(self) -> bool:
        while (snapshot := self.storage.snapshot_wanted()) is not None:
            try:
                await self.disk.write_file(snapshot.name, snapshot.data)
            except DiskFull:
                return False
            self.storage.snapshot_written(snapshot)
        return True
