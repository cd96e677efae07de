"""Where checkpoints and the files of sinks are stored: in memory, or in any file system that fsspec knows.

A path is plain (``/data/x``) or a URL (``s3://bucket/x``). A folder exists if a file in it exists.
"""

from __future__ import annotations

import asyncio
import io
import os
import posixpath
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, TypeVar

from pravega_lab.errors import BadInputError

T = TypeVar("T")
PART = ".tmp"  # ends the name of a file that is not complete


Folder = str | os.PathLike[str]
"""A path, as text or `pathlib.Path`, or a URL for fsspec."""


def join(folder: Folder, *names: str) -> str:
    """Return ``folder/name/…`` with every ``..`` resolved. The scheme of a URL is kept.

    Raises:
        BadInputError: ``folder`` is neither a text nor a path.
    """
    if not isinstance(folder, (str, os.PathLike)):
        raise BadInputError(f"{folder!r} is no folder: give a path, or a URL for fsspec")
    head, sep, rest = os.fspath(folder).rpartition("://")
    path = posixpath.normpath(posixpath.join(rest, *names))
    return head + sep + path


def working_folder() -> str:
    """Return the working folder of this process, or an empty text if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def relative(path: str, folder: str) -> str:
    """Return ``path`` relative to ``folder``, or as a URL if they are in different file systems."""
    scheme, _, at = path.rpartition("://")
    other, _, inside = folder.rpartition("://")
    if scheme != other:
        return path if scheme else "file://" + os.path.abspath(path)
    return posixpath.relpath(at, inside)


class GrowingFile(ABC):
    """A file that is written piece by piece, and that exists when it is complete.

    Calls follow one another. Every call may raise OSError; after that, only `discard` may be called.
    """

    @abstractmethod
    async def append(self, pieces: Sequence[bytes]) -> None:
        """Write ``pieces`` after what was written before."""

    @abstractmethod
    async def complete(self) -> None:
        """Make the file visible under its path, replacing what is there."""

    @abstractmethod
    async def discard(self) -> None:
        """Forget what was written, unless the file is complete. May be called twice."""


class Files(ABC):
    """A file store reads and writes whole files. Every call may raise OSError."""

    def absolute(self, path: str) -> str:
        """Return a path of the same file that stays right when the program changes its working folder."""
        return path

    async def begin(self, path: str) -> GrowingFile:
        """Begin a file that is written piece by piece. A store that cannot do that keeps the pieces."""
        return _KeptPieces(self, path)

    @abstractmethod
    async def write(self, path: str, data: bytes) -> None:
        """Create or replace a file. A reader sees the old or the new content, never a part of it."""

    @abstractmethod
    async def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: there is no such file.
        """

    async def read_with(self, path: str, work: Callable[[IO[bytes]], T]) -> T:
        """Return ``work(file)``. It gets the file open for reading, can seek in it, and must not keep it.

        A store that cannot open files passes the whole content.

        Raises:
            FileNotFoundError: there is no such file.
        """
        return work(io.BytesIO(await self.read(path)))

    @abstractmethod
    async def delete(self, path: str) -> None:
        """Delete a file if it exists."""

    @abstractmethod
    async def rename(self, path: str, to: str) -> None:
        """Move a file, replacing ``to`` if that exists.

        Raises:
            FileNotFoundError: there is no file ``path``.
        """

    @abstractmethod
    async def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder, or an empty list if the folder does not exist."""

    @abstractmethod
    async def delete_folder(self, folder: str) -> None:
        """Delete a folder with its content, if it exists."""


class _KeptPieces(GrowingFile):
    """Keeps the pieces in memory until the file is complete."""

    def __init__(self, files: Files, path: str) -> None:
        self._files, self._path = files, path
        self._pieces: list[bytes] = []

    async def append(self, pieces: Sequence[bytes]) -> None:
        self._pieces += pieces

    async def complete(self) -> None:
        await self._files.write(self._path, b"".join(self._pieces))

    async def discard(self) -> None:
        self._pieces.clear()


class MemoryFiles(Files):
    """Keep files in a dict, which ends with the process."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    async def write(self, path: str, data: bytes) -> None:
        """Create or replace a file; see `Files.write`."""
        self.data[path] = data

    async def read(self, path: str) -> bytes:
        """Return the content of a file; see `Files.read`."""
        if path not in self.data:
            raise FileNotFoundError(f"there is no {path}")
        return self.data[path]

    async def delete(self, path: str) -> None:
        """Delete a file if it exists."""
        self.data.pop(path, None)

    async def rename(self, path: str, to: str) -> None:
        """Move a file; see `Files.rename`."""
        if path not in self.data:
            raise FileNotFoundError(f"there is no {path}")
        self.data[to] = self.data.pop(path)

    async def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder."""
        inside = folder.rstrip("/") + "/"
        found = {path[len(inside) :].split("/")[0] for path in self.data if path.startswith(inside)}
        return sorted(found)

    async def delete_folder(self, folder: str) -> None:
        """Delete a folder with its content, if it exists."""
        inside = folder.rstrip("/") + "/"
        self.data = {path: data for path, data in self.data.items() if not path.startswith(inside)}


class FsspecFiles(Files):
    """Use any file system of fsspec. Its calls block, so each runs in a thread.

    A relative path stays where it was when this object was made: the program may change its folder later.

    Args:
        private: Only this user can open new local files, whatever the umask says. State of a job may hold
            anything that a stream holds.
    """

    def __init__(self, *, private: bool = False) -> None:
        self._private = private
        self._folder = working_folder()

    async def write(self, path: str, data: bytes) -> None:
        """Create or replace a file; see `Files.write`."""

        def work(fs: Any, at: str) -> None:
            if _is_local(fs):
                with _opened(at + PART, self._private) as file:
                    _write(file, data)
                os.replace(at + PART, at)
            else:
                fs.makedirs(posixpath.dirname(at), exist_ok=True)
                fs.pipe_file(at + PART, data)
                fs.mv(at + PART, at)

        await self._run(path, work)

    async def begin(self, path: str) -> GrowingFile:
        """Begin a file that is written piece by piece; on a local disk it is ``path.tmp`` until then."""
        found = await self._run(path, lambda fs, at: _LocalFile(at, self._private) if _is_local(fs) else None)
        return found or await super().begin(path)

    async def read(self, path: str) -> bytes:
        """Return the content of a file; see `Files.read`."""
        return await self._run(path, lambda fs, at: bytes(fs.cat_file(at)))

    async def read_with(self, path: str, work: Callable[[IO[bytes]], T]) -> T:
        """Return ``work(file)``. It runs in a thread, and reads only what it needs; see `Files.read_with`."""

        def opened(fs: Any, at: str) -> T:
            with fs.open(at, "rb") as file:
                return work(file)

        return await self._run(path, opened)

    async def delete(self, path: str) -> None:
        """Delete a file if it exists, and what an interrupted write has left of it."""

        def work(fs: Any, at: str) -> None:
            for name in (at, at + PART):
                if _is_local(fs):
                    with suppress(FileNotFoundError):
                        os.unlink(name)
                elif fs.exists(name):
                    fs.rm_file(name)

        await self._run(path, work)

    async def rename(self, path: str, to: str) -> None:
        """Move a file; see `Files.rename`."""

        def work(fs: Any, at: str) -> None:
            target = fs._strip_protocol(self.absolute(to))
            if not fs.exists(at):
                raise FileNotFoundError(f"there is no {path}")
            fs.makedirs(posixpath.dirname(target), exist_ok=True)
            if _is_local(fs):
                os.replace(at, target)
            else:
                fs.mv(at, target)

        await self._run(path, work)

    async def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder."""

        def work(fs: Any, at: str) -> list[str]:
            fs.invalidate_cache()
            if not fs.isdir(at):
                return []
            return sorted(posixpath.basename(str(name).rstrip("/")) for name in fs.ls(at, detail=False))

        return await self._run(folder, work)

    async def delete_folder(self, folder: str) -> None:
        """Delete a folder with its content, if it exists."""
        await self._run(folder, lambda fs, at: fs.rm(at, recursive=True) if fs.exists(at) else None)

    async def _run(self, path: str, work: Callable[[Any, str], T]) -> T:
        def call() -> T:
            import fsspec

            fs, at = fsspec.core.url_to_fs(self.absolute(path))
            return work(fs, at)

        return await asyncio.to_thread(call)

    def absolute(self, path: str) -> str:
        """Return ``path`` with the folder in which this object was made, unless it is absolute or a URL."""
        return path if "://" in path else join(self._folder, path)


def _is_local(fs: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(fs, LocalFileSystem)


def _opened(path: str, private: bool) -> IO[bytes]:
    """Open a local file for writing, without a buffer: each call of the system may wait for the GIL."""
    opener = _open_private if private else None
    try:
        return open(path, "wb", buffering=0, opener=opener)
    except FileNotFoundError:
        folder = posixpath.dirname(path)
        if private:
            _make_private_folders(folder)
        else:
            os.makedirs(folder, exist_ok=True)
        return open(path, "wb", buffering=0, opener=opener)


def _open_private(path: str, flags: int) -> int:
    handle = os.open(path, flags | os.O_CLOEXEC, 0o600)
    os.fchmod(handle, 0o600)
    return handle


def _make_private_folders(folder: str) -> None:
    """Make a folder, and those above it that do not exist, for this user alone."""
    if not folder or os.path.isdir(folder):
        return
    _make_private_folders(posixpath.dirname(folder))
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)


def _write(file: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


class _LocalFile(GrowingFile):
    """A file on a local disk. Threads write it, so a write may continue after its caller was cancelled."""

    def __init__(self, path: str, private: bool) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file = _opened(path + PART, private)

    async def append(self, pieces: Sequence[bytes]) -> None:
        await asyncio.to_thread(self._append, pieces)

    def _append(self, pieces: Sequence[bytes]) -> None:
        with self._lock:
            for piece in pieces:
                _write(self._file, piece)

    async def complete(self) -> None:
        await asyncio.to_thread(self._complete)

    def _complete(self) -> None:
        with self._lock:
            self._file.close()
            os.replace(self._path + PART, self._path)

    async def discard(self) -> None:
        await asyncio.to_thread(self._discard)

    def _discard(self) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.close()
                with suppress(FileNotFoundError):
                    os.unlink(self._path + PART)
