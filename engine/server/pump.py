"""The loop between a storage and its disk: one group in flight, files and snapshots made beside it."""

from __future__ import annotations

import asyncio

from pravega_lab.engine.store.disk import Disk
from pravega_lab.engine.store.errors import DiskFull
from pravega_lab.engine.store.storage import Storage


class Pump:
    """Moves groups from ``storage`` to ``disk``.

    ``await pump.run()`` runs until cancelled, or raises what the disk raised: then ``storage.failed`` was
    called and the process has to stop, for a failed sync is never tried again.
    """

    def __init__(self, storage: Storage, disk: Disk, *, retry_s: float = 1.0) -> None:
        self.storage = storage
        self.disk = disk
        self.retry_s = retry_s
        self._groups_wake = asyncio.Event()
        self._files_wake = asyncio.Event()
        storage.on_work = self._wake

    def _wake(self) -> None:
        self._groups_wake.set()
        if self.storage.has_file_work:
            self._files_wake.set()

    async def run(self) -> None:
        """Both loops; the first failure of either ends both."""
        self._groups_wake.set()
        self._files_wake.set()
        loops = [asyncio.ensure_future(loop) for loop in (self._move_groups(), self._make_files())]
        try:
            await asyncio.gather(*loops)
        except Exception as failure:
            self.storage.failed(failure)
            raise
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)

    async def _move_groups(self) -> None:
        while True:
            await self._groups_wake.wait()
            self._groups_wake.clear()
            while (group := self.storage.take_group()) is not None:
                if group.data:
                    await self.disk.write_group(group.file, group.offset, group.data)
                self.storage.group_synced(group)
            if self.storage.has_file_work:
                self._files_wake.set()

    async def _make_files(self) -> None:
        while True:
            await self._files_wake.wait()
            self._files_wake.clear()
            # Both every time: a snapshot may be what makes room for the next file.
            while not all([await self._make_file(), await self._write_snapshot()]):
                await asyncio.sleep(self.retry_s)

    async def _make_file(self) -> bool:
        """Make the files that are wanted; False if there is no room."""
        while (file := self.storage.file_wanted()) is not None:
            try:
                await self.disk.create(file.name, file.size, file.header)
            except DiskFull:
                self.storage.file_refused(file)
                return False
            self.storage.file_created(file)
        return True

    async def _write_snapshot(self) -> bool:
        while (snapshot := self.storage.snapshot_wanted()) is not None:
            try:
                await self.disk.write_file(snapshot.name, snapshot.data)
            except DiskFull:
                return False
            self.storage.snapshot_written(snapshot)
        return True
