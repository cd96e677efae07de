"""A gate in the source: while somebody holds it, queries on its streams are given nothing new.

Where a query ends is decided in a Python process that Spark starts, so what is wanted of it stands in a file:
one per set of streams, in a folder that the driver's environment names. The source looks for it when Spark
asks for the newest offset, and writes beside it where it will stop. A hold has an end: one that nobody took
away, because whoever wanted it was killed, does not hold for ever.

Source: reference/spark.md 10.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...errors import SetupError

#: Names the folder of holds in the environment of a driver, and so of its sources.
HOLD_FOLDER_VARIABLE = "PRAVEGA_LAB_HOLD_FOLDER"


@dataclass(frozen=True)
class Hold:
    """What is asked of the source of ``streams``. ``drain``: first everything that is there when it is asked.

    ``until_ms``: wall clock; after that it holds nothing.
    """

    path: Path
    name: str
    drain: bool
    until_ms: int

    @property
    def answer_path(self) -> Path:
        return self.path.with_suffix(".answer")

    def answer(self, end: Mapping[str, Any]) -> None:
        """The source says where it will stop."""
        if self.answered() is None:
            _write(self.answer_path, {"name": self.name, "end": dict(end)})

    def answered(self) -> dict[str, Any] | None:
        """The offset at which the source will stop; ``None`` until it has been asked for one."""
        found = _read(self.answer_path)
        return found["end"] if found and found.get("name") == self.name else None


def held(streams: Sequence[str]) -> Hold | None:
    """What is asked of a source of these streams now; for the source."""
    folder = os.environ.get(HOLD_FOLDER_VARIABLE)
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

    Raises:
        SetupError: the folder cannot be written.
    """
    hold = Hold(_path(folder, streams), uuid4().hex, drain, _now_ms() + int(within_s * 1000))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(hold.path, {"name": hold.name, "drain": drain, "until_ms": hold.until_ms})
    except OSError as error:
        raise SetupError(
            f"{folder}, where a query's source is told to stop, cannot be written: {error}. Set "
            f"{HOLD_FOLDER_VARIABLE} to another folder before Spark starts"
        ) from error
    try:
        yield hold
    finally:
        hold.path.unlink(missing_ok=True)
        hold.answer_path.unlink(missing_ok=True)


def _path(folder: Path, streams: Sequence[str]) -> Path:
    """Two queries on the same streams have the same; they are held together."""
    digest = hashlib.sha256("\n".join(sorted(streams)).encode()).hexdigest()
    return folder / f"{digest[:16]}.hold"


def _write(path: Path, body: dict[str, Any]) -> None:
    """Nobody sees half of it."""
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
