"""Spark's checkpoint of a query, as a folder: which batches are planned and committed, and a copy of it.

``offsets/N`` is written when batch N is planned (a line of version, one of settings, one per source),
``commits/N`` when it is done. Source: reference/spark.md 4, 10.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ...errors import BadInputError

#: What is done is copied before what is planned, and both before the state that they refer to.
_ORDER = ("commits", "offsets", "state", "sources")
_FIRST_OFFSET_LINE = 2
_NO_OFFSET = "-"


def local_path(location: str, what: str) -> Path:
    """The path of a folder of this machine.

    Raises:
        BadInputError: it is a URL of another file system; ``what`` begins the message.
    """
    head, separator, _ = location.partition("://")
    if separator and head != "file":
        raise BadInputError(f"{what} of a local file system, and {location} is none")
    path = location.removeprefix("file:")
    return Path("/" + path.lstrip("/") if location.startswith("file:") else path).resolve()


class Checkpoint:
    """Of one query. Nothing is kept: each question looks at the files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def query_id(self) -> str:
        """Spark's id of the query, which all its runs have; "" while there is none."""
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
        """The last batch that is done; -1 before the first."""
        return self._last("commits")

    def _last(self, log: str) -> int:
        folder = self.path / log
        numbers = [int(entry.name) for entry in folder.glob("*") if entry.name.isdigit()]
        return max(numbers, default=-1)

    def offsets(self) -> list[Any]:
        """Where the last planned batch ends, a value per source; none before the first batch."""
        try:
            lines = (self.path / "offsets" / str(self.planned)).read_text().splitlines()
            found = [line for line in lines[_FIRST_OFFSET_LINE:] if line != _NO_OFFSET]
            return [json.loads(line) for line in found]
        except (OSError, ValueError):  # none yet, or being written
            return []

    def copy(self, target: Path, query_id: str) -> None:
        """Into an empty folder, under another query id. The last file is ``metadata``: it is none without."""
        rest = [entry.name for entry in sorted(self.path.iterdir()) if entry.name not in _ORDER]
        for name in (*_ORDER, *rest):
            source = self.path / name
            if source.is_dir():
                shutil.copytree(source, target / name)
            elif source.is_file() and name not in ("metadata", ".metadata.crc"):
                shutil.copy2(source, target / name)
        body = json.loads((self.path / "metadata").read_text())
        (target / "metadata").write_text(json.dumps({**body, "id": query_id}, separators=(",", ":")))
