"""The loop between a storage and its disk: it writes one group at a time, and makes files and snapshots in
parallel.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from pravega_lab.portable.waiting import gather

from ..store.errors import DiskFull
from ..store.log.disk import Disk
from ..store.log.history import HISTORY_NAME, encode_history
from ..store.log_fields import log_fields
from ..store.storage.storage import Group, Storage

log = logging.getLogger(__name__)


class QuickDisk(Protocol):
    """A disk that may write a group while the loop waits."""

    def write_at_once(self, name: str, offset: int, data: bytes) -> bool:
        """Write a group as `Disk.write_group` does. Return False, with nothing written, if that took long."""


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
        self._group: Group | None = None  # taken, and to be written by the task
        self._failure: Exception | None = None  # of a group that was written without the task
        self._is_running = self._is_due = self._is_scheduled = False
        self.is_about_to_move: Callable[[], bool] = lambda: False
        """Return whether the caller of the storage calls `move_due` in this turn of the loop."""
        self.on_syncing: Callable[[], None] = lambda: None
        """Called before the replies of a group become ready."""
        self.on_synced: Callable[[], None] = lambda: None
        """Called after each group, when its replies are ready."""
        storage.on_work = self._wake

    def _wake(self) -> None:
        self._groups_wake.set()
        if self.storage.has_file_work:
            self._files_wake.set()

    # Without the task

    def write_without_task(self, quick: QuickDisk, loop: asyncio.AbstractEventLoop) -> None:
        """Write groups that take ``quick`` no time in the turn of the loop in which they become due.

        A task takes more turns of the loop than such a write. The simulation leaves it as it is.
        """
        self._quick = quick
        self._loop = loop
        self.storage.on_work = self._move_soon

    def _move_soon(self) -> None:
        self._is_due = True
        if not (self._is_scheduled or self.is_about_to_move()):
            self._is_scheduled = True
            self._loop.call_soon(self._move_scheduled)

    def _move_scheduled(self) -> None:
        self._is_scheduled = False
        self.move_due()

    def move_due(self) -> None:
        """Write what is queued, and leave a group that takes long to the task."""
        if not self._is_due:
            return
        self._is_due = False
        if not self._is_running or self._failure is not None:
            return
        storage = self.storage
        try:
            while self._group is None and (group := storage.take_group()) is not None:
                if group.data and not self._write_at_once(group):
                    self._group = group
                    self._groups_wake.set()
                else:
                    self._synced(group)
        except Exception as failure:
            self._failure = failure
            self._groups_wake.set()
        if storage.has_file_work:
            self._files_wake.set()

    def _write_at_once(self, group: Group) -> bool:
        began_s = self._loop.time()
        if not self._quick.write_at_once(group.file, group.offset, group.data):
            return False
        self._written(group, began_s, self._loop.time())
        return True

    def _written(self, group: Group, began_s: float, end_s: float) -> None:
        self.write_s += end_s - began_s
        self.groups += 1
        self.written_bytes += len(group.data)

    def _synced(self, group: Group) -> None:
        self.on_syncing()
        self.storage.group_synced(group)
        self.on_synced()

    # The tasks

    async def run(self) -> None:
        """Run the loop for groups and the loop for files. The first failure of either ends both."""
        self._groups_wake.set()
        self._files_wake.set()
        self._is_running = True
        loops = [asyncio.ensure_future(loop) for loop in (self._move_groups(), self._make_files())]
        try:
            await gather(*loops)
        except Exception as failure:
            self.storage.failed(failure)
            raise
        finally:
            self._is_running = False
            for loop in loops:
                loop.cancel()
            await gather(*loops, return_exceptions=True)

    async def _move_groups(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._groups_wake.wait()
            self._groups_wake.clear()
            if self._failure is not None:
                raise self._failure
            while (group := self._group or self.storage.take_group()) is not None:
                if group.data:
                    began_s = loop.time()
                    await self.disk.write_group(group.file, group.offset, group.data)
                    self._written(group, began_s, loop.time())
                self._group = None
                self._synced(group)
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
            except DiskFull as error:
                if not self.storage.is_full:
                    log.warning(
                        "the disk is full (%s): the store refuses what makes it grow, serves reads, and tries"
                        " again every %g s. Make room on the disk, or delete or truncate streams",
                        *(error.strerror, self.retry_s),
                        extra=log_fields("disk_full"),
                    )
                self.storage.file_refused(file)
                return False
            was_full = self.storage.is_full
            self.storage.history = history or self.storage.history
            self.storage.file_created(file)
            if was_full:
                log.warning("the disk has room again", extra=log_fields("disk_has_room"))
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
