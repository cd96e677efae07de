"""Spark's checkpoint folder of a query: which batches are planned and committed, and how to copy it.

Spark writes ``offsets/N`` when it plans batch N (a line with the version, one with settings, one per source),
and ``commits/N`` when the batch is committed. Source: spark.md 4, 10.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from pravega_lab.errors import BadInputError

#: The commit log is copied before the offset log, and both before the state that they refer to.
_ORDER = ("commits", "offsets", "state", "sources")
_FIRST_OFFSET_LINE = 2
_NO_OFFSET = "-"


def local_path(location: str, what: str) -> Path:
    """Return the path of a folder of this machine.

    Raises:
        BadInputError: ``location`` is a URL of another file system. The message begins with ``what``.
    """
    head, separator, _ = location.partition("://")
    if separator and head != "file":
        raise BadInputError(f"{what} of a local file system, and {location} is not one")
    path = location.removeprefix("file:")
    return Path("/" + path.lstrip("/") if location.startswith("file:") else path).resolve()


class Checkpoint:
    """The checkpoint folder of one query. Every property and method reads the files again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def query_id(self) -> str:
        """Spark's id of the query, which is the same in all its runs; "" before the first run."""
        try:
            return str(json.loads((self.path / "metadata").read_text())["id"])
        except (OSError, ValueError, KeyError):
            return ""

    @property
    def planned(self) -> int:
        """The last batch that was planned; -1 before the first."""
        return self._last("offsets")

    @property
    def committed(self) -> int:
        """The last batch that was committed; -1 before the first."""
        return self._last("commits")

    def _last(self, log: str) -> int:
        folder = self.path / log
        numbers = [int(entry.name) for entry in folder.glob("*") if entry.name.isdigit()]
        return max(numbers, default=-1)

    def offsets(self) -> list[Any]:
        """Return the end of the last planned batch, one value per source; none before the first batch."""
        try:
            lines = (self.path / "offsets" / str(self.planned)).read_text().splitlines()
            found = [line for line in lines[_FIRST_OFFSET_LINE:] if line != _NO_OFFSET]
            return [json.loads(line) for line in found]
        except (OSError, ValueError):  # there is none yet, or Spark is writing it
            return []

    def digest(self, batch: int) -> str:
        """Return a digest of the offsets at which a batch ends; "" if the batch is not planned here.

        A batch that is repeated has the same one, because Spark reads these offsets again.
        """
        try:
            lines = (self.path / "offsets" / str(batch)).read_text().splitlines()
        except OSError:
            return ""
        return hashlib.sha256("\n".join(lines[_FIRST_OFFSET_LINE:]).encode()).hexdigest()[:16]

    def copy(self, target: Path, query_id: str) -> None:
        """Copy the checkpoint into an empty folder, under another query id.

        The file ``metadata`` is written last: a folder without it is not a checkpoint.
        """
        rest = [entry.name for entry in sorted(self.path.iterdir()) if entry.name not in _ORDER]
        for name in (*_ORDER, *rest):
            source = self.path / name
            if source.is_dir():
                shutil.copytree(source, target / name)
            elif source.is_file() and name not in ("metadata", ".metadata.crc"):
                shutil.copy2(source, target / name)
        body = json.loads((self.path / "metadata").read_text())
        (target / "metadata").write_text(json.dumps({**body, "id": query_id}, separators=(",", ":")))
