"""The data folder of a store, read as it was at one moment, also while a store writes to it.

What a running store may still change is read into memory, from the end of each file to its beginning: every
group that was read was then preceded by whole groups. The other files are held open, so that they can be read
although the store deletes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from pravega_lab.engine.store.log.disk import Record
from pravega_lab.engine.store.log.folder_lock import LOCK, is_private
from pravega_lab.engine.store.log.format import file_id_of
from pravega_lab.errors import BadInputError, CorruptStoreError

Result = TypeVar("Result")

PIECE_BYTES = 1 << 16
WRITTEN_FILES = 2
"""The log files with the highest ids that a store may be writing: the current one, and the next one."""

ATTEMPTS = 8


class FrozenFolder:
    """Implements the reading half of `engine.store.log.disk.Disk` on a folder. Nothing is written to it.

    Close it, or use it in a ``with`` block.

    Raises:
        BadInputError: There is no store in the folder.
    """

    caches_reads = False
    is_reopened = True

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.is_running = is_in_use(self.folder)
        self._handles: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._read: dict[str, bytes] = {}
        for _ in range(ATTEMPTS):
            if self._hold():
                break
            self.close()
        else:
            raise BadInputError(f"The files of {str(self.folder)!r} change too fast to be read. Try again.")
        if not any(file_id_of(name) is not None for name in self._handles):
            self.close()
            _refuse(self.folder, "there is no log file in it")
        if self.is_running:
            self._freeze()

    def _hold(self) -> bool:
        """Open all files. Return False if the store has made or deleted files at the same time."""
        names = _names(self.folder)
        for name in names:
            try:
                handle = os.open(self.folder / name, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return False
            self._handles[name] = handle
            self._sizes[name] = os.fstat(handle).st_size
        return names == _names(self.folder)

    def _freeze(self) -> None:
        logs = [name for name in self._handles if file_id_of(name) is not None]
        for name in reversed(logs[-WRITTEN_FILES:]):
            handle, size = self._handles[name], self._sizes[name]
            offsets = range(0, size, PIECE_BYTES)
            pieces = [os.pread(handle, PIECE_BYTES, offset) for offset in reversed(offsets)]
            os.fdatasync(handle)  # what was read may still be on its way to the disk
            self._read[name] = b"".join(reversed(pieces)).rstrip(b"\0")

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Return the bytes at ``offset``, fewer at the end of the file. Raises FileNotFoundError."""
        if name not in self._handles:
            raise FileNotFoundError(name)
        length = max(0, min(length, self._sizes[name] - offset))
        if name in self._read:
            return self._read[name][offset : offset + length].ljust(length, b"\0")
        data = os.pread(self._handles[name], length, offset)
        while len(data) < length and (
            more := os.pread(self._handles[name], length - len(data), offset + len(data))
        ):
            data += more
        return data

    def files(self) -> dict[str, int]:
        """Return the sizes in bytes by name, in the order of names."""
        return dict(self._sizes)

    def delete(self, name: str) -> None:
        """Do nothing: recovery deletes what is obsolete, and the folder is only read."""

    async def create(self, name: str, size: int, header: bytes, record: Record | None = None) -> None:
        """Refuse: the folder is only read."""
        self._refuse_write()

    async def write_group(self, name: str, offset: int, data: bytes) -> None:
        """Refuse: the folder is only read."""
        self._refuse_write()

    async def write_file(self, name: str, data: bytes) -> None:
        """Refuse: the folder is only read."""
        self._refuse_write()

    def _refuse_write(self) -> NoReturn:
        raise AssertionError(f"{self.folder} was opened to be read")

    def close(self) -> None:
        """Close all files."""
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()
        self._sizes.clear()

    def __enter__(self) -> FrozenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_in_use(folder: Path) -> bool:
    """Return whether a store has the folder open, by any of the locks that a store holds.

    The file ``lock`` can be deleted under a store, and other users can lock a folder that they can open.
    """
    paths = [folder / LOCK]
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        logs = sorted(name for name in os.listdir(folder) if file_id_of(name) is not None)
        paths += [folder / name for name in logs[-WRITTEN_FILES:]]
        paths += [folder] if is_private(folder.stat()) else []
    return any(_is_locked(path) for path in paths)


def _is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def on_folder(folder: str | Path, work: Callable[[FrozenFolder], Result]) -> Result:
    """Return ``work`` of the folder at one moment.

    A group that a running store is writing can look like damage. The work is therefore repeated, and its
    CorruptStoreError is raised when it is the same twice.

    Raises:
        BadInputError: There is no store in the folder.
        CorruptStoreError: From ``work``, on a stopped store or twice.
    """
    before = ""
    while True:
        with FrozenFolder(folder) as frozen:
            try:
                return work(frozen)
            except CorruptStoreError as error:
                if not frozen.is_running or str(error) == before:
                    raise
                before = str(error)


def _names(folder: Path) -> list[str]:
    try:
        entries = [path for path in folder.iterdir() if path.is_file()]
    except FileNotFoundError:
        _refuse(folder, "it does not exist")
    except NotADirectoryError:
        _refuse(folder, "it is a file")
    return sorted(path.name for path in entries if path.name != LOCK and path.suffix != ".tmp")


def _refuse(folder: Path, why: str) -> NoReturn:
    raise BadInputError(
        f"{str(folder)!r} is not the data folder of a store: {why}. Give --data the folder that 'pravega-lab"
        " standalone --data' has."
    )
