"""Make a file under another name, fill it with zeros, and give it its name when it is whole on the disk.

The zeros of the next log file would hold up the groups of the present one. A disk does one thing at a time,
and many a rented disk takes so many bytes in a tenth of a second and nothing more in the rest of it. While
groups are written, the zeros therefore go to the disk in small pieces with pauses. There are no pauses when
nobody waits for the disk, or when the present file would be full before the next one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from .folder_lock import open_private

PAUSE_S = 0.02
PIECE_BYTES = 256 * 1024  # before a pause
LARGE_PIECE_BYTES = 1024 * 1024  # without a pause
AHEAD = 2.0
RECENT_S = 0.05

_ZEROS = bytes(LARGE_PIECE_BYTES)


def may_pause(filled: float, written: float, idle_s: float) -> bool:
    """Return whether the next piece of a file can wait.

    Args:
        filled: The share of the file that is filled, 0 to 1.
        written: The share of the present file that is written.
        idle_s: Seconds since the last group. A store that waits for the next file writes none.
    """
    return idle_s < RECENT_S and filled >= AHEAD * written


class UnfinishedFile:
    """A file of ``size`` bytes: ``head``, then zeros. One thread at a time may call it, but for `give_up`.

    Every call but `drop` raises OSError if the disk has no room or does not work.
    """

    def __init__(self, path: Path, size: int, head: bytes) -> None:
        self._path = path
        self._temporary = path.with_name(f"{path.name}.tmp")
        self._size = size
        self._head = head
        self._handle: int | None = None
        self._filled = 0
        self._is_given_up = False

    def begin(self) -> None:
        """Reserve the room, and write the head."""
        self._handle = open_private(self._temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.posix_fallocate(self._handle, 0, max(1, self._size))
        write_all(self._handle, self._head, 0)
        self._filled = len(self._head)

    def fill(self, may_pause: Callable[[float], bool]) -> bool:
        """Write and sync pieces of zeros until one can wait, or until `give_up`. Return whether the file is
        full.

        Args:
            may_pause: Says whether the next piece can wait when this share of the file is filled.
        """
        assert self._handle is not None
        while self._filled < self._size and not self._is_given_up:
            pauses = may_pause(self._filled / self._size)
            n_bytes = min(PIECE_BYTES if pauses else LARGE_PIECE_BYTES, self._size - self._filled)
            write_all(self._handle, memoryview(_ZEROS)[:n_bytes], self._filled)
            os.fdatasync(self._handle)
            self._filled += n_bytes
            if pauses:
                break
        return self._filled == self._size

    def finish(self) -> None:
        """Sync the file, and give it its name. The folder is not synced."""
        assert self._handle is not None
        os.fsync(self._handle)
        self._close()
        self._temporary.replace(self._path)

    def give_up(self) -> None:
        """Let `fill` return after its present piece: the file will be dropped. Any thread may call this."""
        self._is_given_up = True

    def drop(self) -> None:
        """Delete the file, unless it has its name."""
        self._close()
        self._temporary.unlink(missing_ok=True)

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def write_all(handle: int, data: bytes | memoryview, offset: int) -> None:
    """Write ``data`` at ``offset``, also where the system writes only a part of it at once."""
    written = os.pwrite(handle, data, offset)
    while written < len(data):
        data = memoryview(data)[written:]
        offset += written
        written = os.pwrite(handle, data, offset)
