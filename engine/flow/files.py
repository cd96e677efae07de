"""Where checkpoints and files of sinks lie: memory, or any file system that fsspec knows.

Paths are plain (``/data/x``) or URLs (``s3://bucket/x``). A folder is there when a file in it is.
"""

from __future__ import annotations

import asyncio
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def join(folder: str, *names: str) -> str:
    """``folder/name``; ``..`` in names is resolved, a URL keeps its head."""
    head, sep, rest = folder.rpartition("://")
    path = posixpath.normpath(posixpath.join(rest, *names))
    return head + sep + path


def relative(path: str, folder: str) -> str:
    """``path`` as seen from ``folder``."""
    return posixpath.relpath(path.rpartition("://")[2], folder.rpartition("://")[2])


class Files(ABC):
    """Whole files. Any call may raise OSError."""

    @abstractmethod
    async def write(self, path: str, data: bytes) -> None:
        """Create or replace; nobody sees half of it."""

    @abstractmethod
    async def read(self, path: str) -> bytes:
        """
        Raises:
            FileNotFoundError: there is no such file.
        """

    @abstractmethod
    async def delete(self, path: str) -> None:
        """It is not there afterwards, and need not have been."""

    @abstractmethod
    async def rename(self, path: str, to: str) -> None:
        """
        Raises:
            FileNotFoundError: there is no such file.
        """

    @abstractmethod
    async def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none if it is not there."""

    @abstractmethod
    async def delete_folder(self, folder: str) -> None:
        """With all that is in it."""


class MemoryFiles(Files):
    """Files in a dict, gone with the process."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    async def write(self, path: str, data: bytes) -> None:
        self.data[path] = data

    async def read(self, path: str) -> bytes:
        if path not in self.data:
            raise FileNotFoundError(f"there is no {path}")
        return self.data[path]

    async def delete(self, path: str) -> None:
        self.data.pop(path, None)

    async def rename(self, path: str, to: str) -> None:
        if path not in self.data:
            raise FileNotFoundError(f"there is no {path}")
        self.data[to] = self.data.pop(path)

    async def names(self, folder: str) -> list[str]:
        inside = folder.rstrip("/") + "/"
        found = {path[len(inside) :].split("/")[0] for path in self.data if path.startswith(inside)}
        return sorted(found)

    async def delete_folder(self, folder: str) -> None:
        inside = folder.rstrip("/") + "/"
        self.data = {path: data for path, data in self.data.items() if not path.startswith(inside)}


class FsspecFiles(Files):
    """Any file system of fsspec; its calls run in a thread, for they block."""

    async def write(self, path: str, data: bytes) -> None:
        def work(fs: Any, at: str) -> None:
            fs.makedirs(posixpath.dirname(at), exist_ok=True)
            fs.pipe_file(at + ".tmp", data)
            fs.mv(at + ".tmp", at)

        await self._run(path, work)

    async def read(self, path: str) -> bytes:
        return await self._run(path, lambda fs, at: bytes(fs.cat_file(at)))

    async def delete(self, path: str) -> None:
        await self._run(path, lambda fs, at: fs.rm_file(at) if fs.exists(at) else None)

    async def rename(self, path: str, to: str) -> None:
        def work(fs: Any, at: str) -> None:
            target = fs._strip_protocol(to)
            if not fs.exists(at):
                raise FileNotFoundError(f"there is no {path}")
            fs.makedirs(posixpath.dirname(target), exist_ok=True)
            fs.mv(at, target)

        await self._run(path, work)

    async def names(self, folder: str) -> list[str]:
        def work(fs: Any, at: str) -> list[str]:
            fs.invalidate_cache()
            if not fs.isdir(at):
                return []
            return sorted(posixpath.basename(str(name).rstrip("/")) for name in fs.ls(at, detail=False))

        return await self._run(folder, work)

    async def delete_folder(self, folder: str) -> None:
        await self._run(folder, lambda fs, at: fs.rm(at, recursive=True) if fs.exists(at) else None)

    async def _run(self, path: str, work: Callable[[Any, str], T]) -> T:
        def call() -> T:
            import fsspec

            fs, at = fsspec.core.url_to_fs(path)
            return work(fs, at)

        return await asyncio.to_thread(call)
