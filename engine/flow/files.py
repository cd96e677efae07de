"""Where checkpoints and the files of sinks are stored: in memory, or in any file system that fsspec knows.

A path is plain (``/data/x``) or a URL (``s3://bucket/x``). A folder exists if a file in it exists.
"""

from __future__ import annotations

import asyncio
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def join(folder: str, *names: str) -> str:
    """Return ``folder/name/…`` with every ``..`` resolved. The scheme of a URL is kept."""
    head, sep, rest = folder.rpartition("://")
    path = posixpath.normpath(posixpath.join(rest, *names))
    return head + sep + path


def relative(path: str, folder: str) -> str:
    """Return ``path`` relative to ``folder``."""
    return posixpath.relpath(path.rpartition("://")[2], folder.rpartition("://")[2])


class Files(ABC):
    """A file store reads and writes whole files. Every call may raise OSError."""

    @abstractmethod
    async def write(self, path: str, data: bytes) -> None:
        """Create or replace a file. A reader sees the old or the new content, never a part of it."""

    @abstractmethod
    async def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: there is no such file.
        """

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
    """Use any file system of fsspec. Its calls block, so each runs in a thread."""

    async def write(self, path: str, data: bytes) -> None:
        """Create or replace a file; see `Files.write`."""

        def work(fs: Any, at: str) -> None:
            fs.makedirs(posixpath.dirname(at), exist_ok=True)
            fs.pipe_file(at + ".tmp", data)
            fs.mv(at + ".tmp", at)

        await self._run(path, work)

    async def read(self, path: str) -> bytes:
        """Return the content of a file; see `Files.read`."""
        return await self._run(path, lambda fs, at: bytes(fs.cat_file(at)))

    async def delete(self, path: str) -> None:
        """Delete a file if it exists."""
        await self._run(path, lambda fs, at: fs.rm_file(at) if fs.exists(at) else None)

    async def rename(self, path: str, to: str) -> None:
        """Move a file; see `Files.rename`."""

        def work(fs: Any, at: str) -> None:
            target = fs._strip_protocol(to)
            if not fs.exists(at):
                raise FileNotFoundError(f"there is no {path}")
            fs.makedirs(posixpath.dirname(target), exist_ok=True)
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

            fs, at = fsspec.core.url_to_fs(path)
            return work(fs, at)

        return await asyncio.to_thread(call)
