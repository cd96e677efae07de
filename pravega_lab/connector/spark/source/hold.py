"""A hold on the source: while a caller holds it, queries on its streams receive no new data.

A Python process that Spark starts decides where a batch ends, so requests to it are files: one file per set
of streams, in a folder that the driver's environment names. The source looks for the file when Spark asks for
the newest offset, and answers with a second file that says where it will stop. Each hold has an expiry time,
so that a hold whose owner was killed does not hold forever.

Source: spark.md 10.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pravega_lab.errors import SetupError
from pravega_lab.portable.leaving import at_exit

#: The environment variable with the folder of holds, for a driver and its sources.
HOLD_FOLDER_VARIABLE = "PRAVEGA_LAB_HOLD_FOLDER"
_OWNER = ".owner"


@dataclass(frozen=True)
class Hold:
    """A request to the source of some streams to deliver no new data.

    ``drain``: the source first reads everything up to the tail at the time when it sees the hold.
    ``until_ms``: wall-clock time at which the hold expires.
    """

    path: Path
    name: str
    drain: bool
    until_ms: int

    @property
    def answer_path(self) -> Path:
        """The file in which the source says where it will stop."""
        return self.path.with_suffix(".answer")

    def answer(self, end: Mapping[str, Any]) -> None:
        """Record where the source will stop. Only the first answer counts."""
        if self.answered() is None:
            _write(self.answer_path, {"name": self.name, "end": dict(end)})

    def answered(self) -> dict[str, Any] | None:
        """Return the offset at which the source will stop, or ``None`` until Spark has asked the source for
        one.
        """
        found = _read(self.answer_path)
        return found["end"] if found and found.get("name") == self.name else None


def own_folder(prefix: str) -> str:
    """Return a new folder that is deleted when this process ends, or by a later call if it is killed.

    Its file `_OWNER` is locked while this process, or a fork of it, lives.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    for owner in folder.parent.glob(f"{prefix}*/{_OWNER}"):
        with contextlib.suppress(OSError), owner.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(owner.parent, ignore_errors=True)
    made = folder / f"{_OWNER}.new"  # no other process may find the file before it is locked
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(os.open(made, os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX)
        made.rename(folder / _OWNER)
    at_exit(shutil.rmtree, folder, ignore_errors=True)
    return str(folder)


def ensure_hold_folder() -> str:
    """Return the folder of holds that the environment names, as `submit` does for a driver.

    Without one, a new folder is made and named there.
    """
    if HOLD_FOLDER_VARIABLE not in os.environ:
        os.environ[HOLD_FOLDER_VARIABLE] = own_folder("pravega-lab-holds-")
    return os.environ[HOLD_FOLDER_VARIABLE]


def held(streams: Sequence[str], folder: str = "") -> Hold | None:
    """Return the current hold on the source of these streams, or ``None``. The source calls it.

    Args:
        folder: The folder of holds, by default the one that the environment names.
    """
    folder = folder or os.environ.get(HOLD_FOLDER_VARIABLE, "")
    if not folder:
        return None
    path = _path(Path(folder), streams)
    found = _read(path)
    if found is None or found["until_ms"] < _now_ms():
        return None
    return Hold(path, found["name"], found["drain"], found["until_ms"])


@contextlib.contextmanager
def holding(folder: Path, streams: Sequence[str], *, drain: bool, within_s: float) -> Iterator[Hold]:
    """Hold the source of these streams until the block ends.

    Args:
        within_s: Seconds after which the hold expires if the block has not ended.

    Raises:
        SetupError: The folder cannot be written.
    """
    hold = Hold(_path(folder, streams), uuid4().hex, drain, _now_ms() + int(within_s * 1000))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(hold.path, {"name": hold.name, "drain": drain, "until_ms": hold.until_ms})
    except OSError as error:
        raise SetupError(
            f"the folder {folder}, in which a query's source looks for holds, cannot be written: {error}. "
            f"Set {HOLD_FOLDER_VARIABLE} to another folder before Spark starts"
        ) from error
    try:
        yield hold
    finally:
        hold.path.unlink(missing_ok=True)
        hold.answer_path.unlink(missing_ok=True)


def _path(folder: Path, streams: Sequence[str]) -> Path:
    """Return the file of a set of streams. Two queries on the same streams share it and are held together."""
    digest = hashlib.sha256("\n".join(sorted(streams)).encode()).hexdigest()
    return folder / f"{digest[:16]}.hold"


def _write(path: Path, body: dict[str, Any]) -> None:
    """Write the file as a whole: a reader never sees a part of it."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(body))
    part.replace(path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
