"""The lock on a store's folder: one process at a time, however the others try.

Three locks are held, all on files that only this user can open: the file ``lock``, the folder itself if no
other user can open it, and the log file that is written. Deleting ``lock`` therefore admits no second store.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from ..errors import StoreInUse

LOCK = "lock"
TRIES = 100
TRY_AGAIN_S = 0.002
"""A program that asks whether the folder is in use takes a lock for a moment."""
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_OTHERS = 0o077


def make_private_folder(folder: Path) -> None:
    """Make the folder for this user alone. A folder that exists keeps its mode."""
    try:
        folder.mkdir(parents=True, mode=PRIVATE_FOLDER)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(PRIVATE_FOLDER)  # whatever the umask took away


def open_private(path: Path, flags: int) -> int:
    """Open a file, and create it for this user alone if the flags say so. Return its descriptor."""
    handle = os.open(path, flags | os.O_CLOEXEC, PRIVATE_FILE)
    if os.fstat(handle).st_mode & 0o777 != PRIVATE_FILE:  # the umask, or a file of an earlier release
        with contextlib.suppress(PermissionError):
            os.fchmod(handle, PRIVATE_FILE)
    return handle


def is_private(found: os.stat_result) -> bool:
    """Return whether no other user can open the file or folder."""
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS


class FolderLock:
    """Holds the folder for this process until `close`.

    Raises:
        StoreInUse: Another process holds it. The message names the process.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handles: list[int] = []
        self._log = -1
        try:
            handle = open_private(folder / LOCK, os.O_RDWR | os.O_CREAT)
            self._handles.append(handle)
            self._take(handle)
            self._take_folder()
            self._take_logs()
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            self.close()
            raise

    def _take_folder(self) -> None:
        handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._handles.append(handle)
        if is_private(os.fstat(handle)):
            self._take(handle)  # in a folder that others can open, any of them could hold this lock

    def _take_logs(self) -> None:
        """Lock every log file for a moment, and keep the last: another store holds the one that it writes."""
        for path in sorted((*self._folder.glob("log-*"), *self._folder.glob("snapshot-*"))):
            if not path.is_file():
                continue
            handle = open_private(path, os.O_RDWR)
            try:
                if path.name.startswith("log-"):
                    self._take(handle)
            except BaseException:
                os.close(handle)
                raise
            if path.name.startswith("log-"):
                self.keep_log(handle)
            else:
                os.close(handle)

    def keep_log(self, handle: int) -> None:
        """Hold the lock on one log file, by this descriptor, in place of the one held so far."""
        old, self._log = self._log, handle
        if old >= 0:
            os.close(old)

    def lock_log(self, path: Path) -> None:
        """Hold the lock on the log file that is written from now on."""
        if self._log >= 0 and os.path.samestat(os.fstat(self._log), path.stat()):
            return
        handle = open_private(path, os.O_RDWR)
        try:
            self._take(handle)
        except StoreInUse:
            os.close(handle)
            raise
        self.keep_log(handle)

    def _take(self, handle: int) -> None:
        for _ in range(TRIES):
            with contextlib.suppress(BlockingIOError):
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(TRY_AGAIN_S)
        raise StoreInUse(
            f"The folder {str(self._folder)!r} is in use by {_holder(handle)}."
            " Stop that process, or give this store another folder."
        )

    def close(self) -> None:
        """Release the folder."""
        for handle in (self._log, *self._handles):
            if handle >= 0:
                os.close(handle)
        self._log = -1
        self._handles.clear()


def _holder(handle: int) -> str:
    """Return in words which process has locked the file, as the system says and not as the file says."""
    found = os.fstat(handle)
    wanted = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()  # 1: FLOCK ADVISORY WRITE 4711 08:01:12345 0 EOF
            if fields[1] == "FLOCK" and fields[5] == wanted and int(fields[4]) > 0:
                return f"another store or program (process {fields[4]}: {_command(int(fields[4]))})"
    return "another store or program (the system does not say which)"


def _command(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "it has ended, and a child of it holds the lock"
    return b" ".join(words).decode(errors="replace").strip()[:100] or "its command line is empty"
