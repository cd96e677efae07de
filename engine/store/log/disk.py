"""Where the log is kept: a small set of flat files, in a real folder or in memory.

The storage never waits for a disk. It reads through :meth:`Disk.read`, which is synchronous. The pump
(:mod:`pravega_lab.engine.server.pump`) awaits the other calls. A simulated disk implements the same
protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import stat
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

from pravega_lab.errors import BadInputError

from ..errors import DiskFull
from .folder_lock import LOCK, FolderLock, make_private_folder
from .format import FILE_HEADER_BYTES, file_id_of
from .unfinished_file import PAUSE_S, UnfinishedFile, may_pause, write_all

Result = TypeVar("Result")
Record = tuple[str, bytes]
"""Name and content of a small file."""

BACKUP_LIST = "backup.json"
"""The list of the files in the folder of a backup."""

SMALL_BYTES_MAX = 32 * 1024
QUICK_S_MAX = 0.001
"""A small group goes to a quick disk without the way through another thread, which takes longer than that."""


class Disk(Protocol):
    """Flat files by name.

    What an awaited call wrote survives a crash. What was not awaited may be lost or torn.

    A crash during ``write_group`` may leave any subset of the 512-byte sectors that it covers. ``create``
    and ``write_file`` are atomic: after a crash the file is whole or absent. Any OSError other than DiskFull
    means that the disk cannot be trusted any more. The caller then stops and never retries.
    """

    caches_reads: bool
    """True if the disk keeps recent data in memory, so that the caller need not."""

    is_reopened: bool
    """False if no store will ever be opened on these files. Groups then have no checksums, and there are no
    snapshots."""

    async def create(self, name: str, size: int, header: bytes, record: Record | None = None) -> None:
        """Create a file of ``size`` bytes, reserved on disk: ``header``, then zeros. Raises DiskFull.

        Then write ``record``, as `write_file` does. A crash in between leaves the first file alone.
        """

    async def write_group(self, name: str, offset: int, data: bytes) -> None:
        """Write inside a created file, and sync."""

    async def write_file(self, name: str, data: bytes) -> None:
        """Create or replace a whole file. Raises DiskFull."""

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Return the bytes at ``offset``, fewer at the end of the file. Raises FileNotFoundError."""

    def files(self) -> dict[str, int]:
        """Return the sizes in bytes by name, in the order of names."""

    def delete(self, name: str) -> None:
        """Remove a file. It is no error if the file does not exist."""


class _MemoryFile:
    """Keeps header and groups as they were passed, without copying them."""

    def __init__(self, size: int, data: bytes) -> None:
        self.size = size
        self.offsets = [0]
        self.pieces = [data]

    def write(self, offset: int, data: bytes) -> None:
        """Keep a group. Groups come in the order of their offsets."""
        self.offsets.append(offset)
        self.pieces.append(data)

    def read(self, offset: int, length: int) -> bytes:
        """Return a range: one slice where it is inside one group, as in the reads of a segment."""
        end = min(offset + length, self.size)
        parts: list[bytes] = []
        index = bisect_right(self.offsets, offset) - 1
        while offset < end:
            piece = self.pieces[index][offset - self.offsets[index] : end - self.offsets[index]]
            index += 1
            stop = min(end, self.offsets[index]) if index < len(self.offsets) else end
            parts.append(piece[: stop - offset].ljust(stop - offset, b"\0"))
            offset = stop
        return parts[0] if len(parts) == 1 else b"".join(parts)


class MemoryDisk:
    """Keeps files in memory, for ``--memory``. A deleted file frees its memory."""

    caches_reads = True

    def __init__(self, *, is_reopened: bool = True) -> None:
        self.is_reopened = is_reopened
        self._files: dict[str, _MemoryFile] = {}

    async def create(self, name: str, size: int, header: bytes, record: Record | None = None) -> None:
        """See Disk. Takes no memory for what is not written."""
        self._files[name] = _MemoryFile(size, header)
        if record is not None:
            await self.write_file(*record)

    async def write_group(self, name: str, offset: int, data: bytes) -> None:
        """See Disk. Keeps ``data`` itself."""
        self._files[name].write(offset, data)

    def write_at_once(self, name: str, offset: int, data: bytes) -> bool:
        """Do what `write_group` does, and return True."""
        self._files[name].write(offset, data)
        return True

    async def write_file(self, name: str, data: bytes) -> None:
        """See Disk. Keeps ``data`` itself."""
        self._files[name] = _MemoryFile(len(data), data)

    def read(self, name: str, offset: int, length: int) -> bytes:
        """See Disk."""
        if name not in self._files:
            raise FileNotFoundError(name)
        return self._files[name].read(offset, length)

    def files(self) -> dict[str, int]:
        """See Disk."""
        return {name: self._files[name].size for name in sorted(self._files)}

    def delete(self, name: str) -> None:
        """See Disk."""
        self._files.pop(name, None)


@dataclass(slots=True)
class _LogFile:
    """A log file as the store made it or found it at its start.

    ``seen`` identifies the file, and its last change, when its header was last right.
    """

    size: int
    header: bytes
    seen: tuple[int, int, int]


class RealDisk:
    """Keeps files in a folder that belongs to this process alone.

    Groups are written into files that are open with ``O_DSYNC``, so a write returns when its pages are on the
    disk. That is faster than a write and a sync of the file. One thread writes the groups. A small group is
    written by the caller itself while the disk is quick: the two changes of threads would take longer.
    Another thread makes files and snapshots, which takes longer, so appends do not wait for them.

    Raises:
        BadInputError: The folder is a backup, which nothing may change.
        StoreInUse: Another process has the folder.
        DiskFull: The disk has no room for the lock file.
    """

    caches_reads = False
    is_reopened = True
    _OPEN_FILES = 128

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        _refuse_backup(self.folder)
        with _naming_a_full_disk(f"no room for a store in {str(self.folder)!r}"):
            make_private_folder(self.folder)
            if not os.access(self.folder, os.W_OK | os.X_OK):  # else it would stop when the log needs a file
                raise PermissionError(errno.EACCES, "No permission to create files in it", str(self.folder))
            self._lock = FolderLock(self.folder)
        self._open: dict[str, int] = {}
        self._logs: dict[str, _LogFile] = {}
        self._harmed: OSError | None = None  # what happened to a log file behind the store's back
        self._groups = ThreadPoolExecutor(1, "store-sync")
        self._others = ThreadPoolExecutor(1, "store-files")
        self._writing: tuple[str, int] | None = None
        self._path = ""  # of the file that is written
        self._opened: os.stat_result  # the same file when it was opened
        self._is_quick = False  # the last write of a small group took at most QUICK_S_MAX
        self._written = 0.0  # the share of the file that is written
        self._group_s = -math.inf  # when the last group began or ended
        for mine in (
            "log-*.tmp",
            "snapshot-*.tmp",
            "history.tmp",
        ):  # never delete files that are not of a store
            for leftover in self.folder.glob(mine):
                leftover.unlink()
        for name in self.files():
            self._remember_log(name)

    def close(self) -> None:
        """Finish the writes in progress and release the folder."""
        self._groups.shutdown()
        self._others.shutdown()
        for handle in self._open.values():
            os.close(handle)
        self._open.clear()
        if self._writing is not None:
            os.close(self._writing[1])
            self._writing = None
        self._lock.close()

    async def create(self, name: str, size: int, header: bytes, record: Record | None = None) -> None:
        """See Disk. Fills the file with zeros, so that later syncs have no metadata to write.

        The first file of a folder is only reserved, so that a new store is ready at once. While groups are
        written, filling takes seconds, and other files are written in its pauses. A cancellation ends it
        after the present piece.
        """
        file = UnfinishedFile(self.folder / name, size, header)

        def begin() -> bool:
            is_first = not self.files()
            file.begin()
            return is_first

        def fill() -> bool:
            return file.fill(self._may_pause)

        def finish() -> None:
            self._finish(name, file)
            if record is not None:
                self._create(*record)

        try:
            with self._naming_trouble(size):
                is_full = await self._run(self._others, begin)
                while not is_full and not await self._run(self._others, fill):
                    await asyncio.sleep(PAUSE_S)
                await self._run(self._others, finish)
        except BaseException:
            file.give_up()
            with contextlib.suppress(RuntimeError):  # the disk is closed: the next start deletes the file
                self._others.submit(file.drop)  # after the step that may still run
            raise

    @contextlib.contextmanager
    def _naming_trouble(self, n_bytes: int) -> Iterator[None]:
        """Name a lack of room for a new file, or a folder that vanished, where the file is made."""
        try:
            with _naming_a_full_disk(f"no room for {n_bytes} bytes in {str(self.folder)!r}"):
                yield
        except FileNotFoundError as error:
            raise OSError(
                errno.ESTALE,
                f"The folder {str(self.folder)!r}, or an unfinished file in it, was removed or renamed while"
                " the store was running. Data that was acknowledged earlier may be lost with it: put the"
                " folder back, or restore it from a copy, before you start the store again",
            ) from error

    def _may_pause(self, filled: float) -> bool:
        return may_pause(filled, self._written, time.monotonic() - self._group_s)

    async def write_group(self, name: str, offset: int, data: bytes) -> None:
        """See Disk. Calls must follow one another."""
        if not self.write_at_once(name, offset, data):
            await self._run(self._groups, lambda: self._write_group(name, offset, data))

    def write_at_once(self, name: str, offset: int, data: bytes) -> bool:
        """Write a small group in the thread of the caller, if the disk is quick. Else return False."""
        if not self._is_quick or len(data) > SMALL_BYTES_MAX:
            return False
        self._write_group(name, offset, data)
        return True

    async def write_file(self, name: str, data: bytes) -> None:
        """See Disk."""
        with self._naming_trouble(len(data)):
            await self._run(self._others, lambda: self._create(name, data))

    async def check_logs(self) -> None:
        """Raise OSError if a log file was removed or cut, or has another header. So do all later groups then.

        It takes some microseconds for each file, in another thread.
        """
        await self._run(self._others, self._check_logs)

    async def _run(self, thread: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(thread, work)

    def _create(self, name: str, data: bytes) -> None:
        file = UnfinishedFile(self.folder / name, len(data), data)
        try:
            file.begin()
            self._finish(name, file)
        except OSError:
            file.drop()
            raise

    def _finish(self, name: str, file: UnfinishedFile) -> None:
        file.finish()
        self._remember_log(name)
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _remember_log(self, name: str) -> None:
        if file_id_of(name) is not None:
            path = self.folder / name
            found = path.stat()
            self._logs[name] = _LogFile(found.st_size, _header(path), _identity(found))

    def _write_group(self, name: str, offset: int, data: bytes) -> None:
        if self._harmed is not None:
            raise self._harmed
        if self._writing is None or self._writing[0] != name:
            self._open_log(name)
        assert self._writing is not None
        begin = self._group_s = time.monotonic()
        write_all(self._writing[1], data, offset)
        self._group_s = time.monotonic()
        self._written = (offset + len(data)) / self._opened.st_size
        if len(data) <= SMALL_BYTES_MAX:
            self._is_quick = self._group_s - begin <= QUICK_S_MAX
        self._check_file(name)

    def _open_log(self, name: str) -> None:
        """Open the log file that is written from now on, in place of the one before it."""
        if name in self._logs:
            self._check_log(name, self._logs[name])
        self._path = str(self.folder / name)
        handle = os.open(self._path, os.O_WRONLY | os.O_DSYNC | os.O_CLOEXEC)
        if self._writing is not None:
            os.close(self._writing[1])
        self._writing = (name, handle)
        self._lock.lock_log(self.folder / name)
        self._opened = os.fstat(handle)

    def _check_file(self, name: str) -> None:
        """Raise OSError if what was written is not in the folder: the next start would not find it."""
        opened = self._opened  # no other file gets this inode number while ours is open
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            self._refuse(name, "was removed")
        if found.st_ino != opened.st_ino or found.st_dev != opened.st_dev:
            self._refuse(name, "was replaced by another file")
        if found.st_size < opened.st_size:
            self._refuse(name, f"was cut to {found.st_size} bytes")

    def _check_logs(self) -> None:
        for name, known in self._logs.copy().items():
            self._check_log(name, known)

    def _check_log(self, name: str, known: _LogFile) -> None:
        """Raise OSError if a log file is not the one that the store made or found.

        The header of a file is read again only when the file has changed.
        """
        path = self.folder / name
        try:
            found = path.stat()
            is_right = _identity(found) == known.seen or _header(path) == known.header
        except FileNotFoundError:
            if self._logs.get(name) is not known:
                return  # the store has deleted it
            self._refuse(name, "was removed")
        if found.st_size < known.size:
            self._refuse(name, f"was cut to {found.st_size} bytes")
        if not is_right:
            self._refuse(name, "was replaced or overwritten")
        known.seen = _identity(found)

    def _refuse(self, name: str, what: str) -> NoReturn:
        self._harmed = OSError(
            errno.ESTALE,
            f"The log file {name!r} in {str(self.folder)!r} {what} while the store was running. Data that was"
            " acknowledged earlier may be lost with it: restore the file or the folder from a copy before you"
            " start the store again",
        )
        raise self._harmed

    def read(self, name: str, offset: int, length: int) -> bytes:
        """See Disk."""
        handle = self._open.get(name)
        if handle is None:
            if len(self._open) >= self._OPEN_FILES:
                os.close(self._open.pop(next(iter(self._open))))
            handle = self._open[name] = os.open(self.folder / name, os.O_RDONLY | os.O_CLOEXEC)
        if length > SMALL_BYTES_MAX:  # a damaged length would need all memory for its answer
            length = min(length, max(0, os.fstat(handle).st_size - offset))
        data = os.pread(handle, length, offset)
        while len(data) < length:
            more = os.pread(handle, length - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def files(self) -> dict[str, int]:
        """See Disk."""
        found = {}
        for path in self.folder.iterdir():
            if path.name != LOCK and path.suffix != ".tmp":
                with contextlib.suppress(FileNotFoundError):  # another thread has just deleted it
                    status = path.stat()
                    if stat.S_ISREG(status.st_mode):
                        found[path.name] = status.st_size
        return dict(sorted(found.items()))

    def delete(self, name: str) -> None:
        """See Disk. The removal is not synced: a file that comes back is removed again."""
        self._logs.pop(name, None)
        handle = self._open.pop(name, None)
        if handle is not None:
            os.close(handle)
        (self.folder / name).unlink(missing_ok=True)


def _identity(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _header(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(handle, FILE_HEADER_BYTES, 0).rstrip(b"\0")
    finally:
        os.close(handle)


def _refuse_backup(folder: Path) -> None:
    if (folder / BACKUP_LIST).exists():
        raise BadInputError(
            f"The folder {str(folder)!r} is a backup, and a change would make it useless. Restore it into a"
            f" new folder with 'pravega-lab admin restore'. If a store has already changed it, delete"
            f" {BACKUP_LIST!r} there: the folder is then no longer a backup."
        )


@contextlib.contextmanager
def _naming_a_full_disk(what: str) -> Iterator[None]:
    """Raise DiskFull with the text ``what`` in place of an OSError that reports a lack of room."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(error.errno, what) from error
        raise
