"""Where tier 2 is: a folder of objects in any file system that fsspec knows.

An object is written as a whole and read in ranges. The loop of tier 2 awaits these calls, and a simulated
folder implements the same protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pravega_lab.errors import BadInputError, MissingExtraError

from ...store.log.chunks import MARKER, OWNER, is_chunk, marker, owner_in
from ...store.storage.tiered import Tiered
from ...store.tiers.mover import check_owner
from .threads import DaemonThreads

log = logging.getLogger(__name__)
Result = TypeVar("Result")

_ELSEWHERE = (
    "the folder is not the one that this store uses, because the object {!r} of this store is missing there."
    " If the folder is a mount, mount it again"
)
_CLOSE_S = 2.0
"""How long the end of the store waits for calls that are under way."""


class Objects(Protocol):
    """A folder of objects by name.

    Any call may raise, and may have had its effect nevertheless. A write that failed may leave part of the
    object. ``names`` may miss objects that were written a moment ago.
    """

    async def write(self, name: str, data: bytes) -> None:
        """Create or replace an object. When this returns, the object survives a crash."""

    async def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from ``start`` to ``end``, all by default. Raises FileNotFoundError."""

    async def size(self, name: str) -> int:
        """Return the size in bytes. Raises FileNotFoundError."""

    async def look(self, name: str) -> bytes | None:
        """Return the content of a small object, `MARKER` or `OWNER`, None if it does not exist."""

    async def names(self) -> list[str]:
        """Return the names of all objects, in order."""

    async def delete(self, name: str) -> None:
        """Delete an object. It is no error if it does not exist."""


async def check_folder(objects: Objects, tiered: Tiered) -> None:
    """Check that this life of the store has taken the folder, and no other since.

    A file system that is no longer mounted leaves an empty folder in its place, or none.

    Raises:
        OSError: It is another folder, or tier 2 does not answer.
        TierMismatch: Another store with the same id has taken it.
    """
    found = owner_in(await objects.look(OWNER))
    if found == (tiered.store_id, tiered.lives[-1]):
        return
    if found is not None and found[0] == tiered.store_id:
        check_owner(found, tiered)
    raise OSError(_ELSEWHERE.format(OWNER))


async def take_folder(objects: Objects, tiered: Tiered, data: bytes) -> None:
    """Write ``data`` as the owner, if the folder belongs to this store, and to no other with the same id.

    Raises:
        OSError: It is another folder, or tier 2 does not answer.
        TierMismatch: Another store has taken it.
    """
    if await objects.look(MARKER) != marker(tiered.store_id):
        raise OSError(_ELSEWHERE.format(MARKER))
    check_owner(owner_in(await objects.look(OWNER)), tiered)
    await objects.write(OWNER, data)


class FsspecObjects:
    """Objects in a file system of fsspec. Its calls block, so threads make them.

    Reads of chunks have threads of their own: an upload that takes long delays no reader, and many readers
    delay no step of moving.

    Args:
        url: The folder, for example ``s3://bucket/lab`` or a path.
        options: Passed to the file system, for example ``endpoint_url`` and ``key`` for S3.

    Raises:
        BadInputError: The URL or the options are not ones that fsspec takes.
        MissingExtraError: The file system needs a package that is not installed.
    """

    _READ_THREADS = 4

    def __init__(self, url: str, options: dict[str, Any] | None = None) -> None:
        self._fs, self._folder = _open(url, dict(options or {}))
        self._is_local = type(self._fs).__name__ == "LocalFileSystem"
        self._writes = DaemonThreads(1, "tier2-write")
        self._reads = DaemonThreads(self._READ_THREADS, "tier2-read")

    def close(self) -> None:
        """Drop what has not begun. A call that hangs is reported, and not waited for any longer."""
        have_ended = [threads.close(_CLOSE_S) for threads in (self._writes, self._reads)]
        if not all(have_ended):
            log.warning(
                "tier 2 has not answered for %g s; the store stops without waiting for the call that is under"
                " way. If it was an upload, the next start repeats it",
                _CLOSE_S,
            )

    def make_folder(self) -> None:
        """Create the folder if it is a local one. Other file systems create it with its first object."""
        if self._is_local:
            Path(self._folder).mkdir(mode=0o700, parents=True, exist_ok=True)

    async def write(self, name: str, data: bytes) -> None:
        """See Objects. Writing the marker creates the folder, too."""
        await self._run(self._writes, lambda: self._write(name, data))

    async def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """See Objects."""
        threads = self._reads if is_chunk(name) else self._writes  # steps of moving read the other objects
        return await self._run(threads, lambda: self._read(name, start, end))

    async def size(self, name: str) -> int:
        """See Objects."""
        return await self._run(self._writes, lambda: self._size(name))

    async def look(self, name: str) -> bytes | None:
        """See Objects."""
        try:
            return await self.read(name)
        except FileNotFoundError:
            return None

    async def names(self) -> list[str]:
        """See Objects."""
        return await self._run(self._writes, self._names)

    async def delete(self, name: str) -> None:
        """See Objects."""
        await self._run(self._writes, lambda: self._delete(name))

    async def _run(self, threads: DaemonThreads, work: Callable[[], Result]) -> Result:
        return await asyncio.wrap_future(threads.submit(work))

    def _at(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _write(self, name: str, data: bytes) -> None:
        if name == MARKER:  # any other object would bring a lost folder back, without what was in it
            self.make_folder()
        self._fs.pipe_file(self._at(name), data)
        if self._is_local:  # other file systems keep what they have accepted
            for path in (self._at(name), self._folder):
                _sync(path)

    def _read(self, name: str, start: int, end: int | None) -> bytes:
        return bytes(self._fs.cat_file(self._at(name), start=start, end=end))

    def _size(self, name: str) -> int:
        self._fs.invalidate_cache()
        return int(self._fs.info(self._at(name))["size"])

    def _names(self) -> list[str]:
        self._fs.invalidate_cache()
        try:
            found = self._fs.ls(self._folder, detail=False)
        except FileNotFoundError:  # nothing was written yet
            return []
        return sorted(str(path).rstrip("/").rpartition("/")[2] for path in found)

    def _delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._at(name))


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_S3_LIMITS = {"connect_timeout": 5, "read_timeout": 30, "retries": {"max_attempts": 2}}


def _open(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    import fsspec

    if url.startswith(("s3:", "s3a:")):
        options.setdefault("config_kwargs", _S3_LIMITS)
    try:
        fs, folder = fsspec.core.url_to_fs(url, **options, skip_instance_cache=True)
    except ImportError as error:
        if url.startswith(("s3:", "s3a:")):
            raise MissingExtraError("s3fs") from error
        raise BadInputError(f"--tier2 {url!r} needs a package that is not installed: {error}") from error
    except (ValueError, TypeError, OSError) as error:
        raise BadInputError(
            f"--tier2 {url!r} cannot be used: {error}. Give a path, or a URL such as s3://bucket/folder with"
            " --tier2-options that its file system of fsspec takes."
        ) from error
    return fs, str(folder).rstrip("/")
