"""The recorded runs that come with the tutorials: where they are, and the command that records them again.

``python -m pravega_lab.tutorials.recording.recordings [FOLDER]`` runs every one of `RUNS` in a simulated
world (`recorder`) and writes its journal, and for some the store as it was at the end. A test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pravega_lab.errors import BadInputError

if TYPE_CHECKING:
    from pravega_lab.engine.store.log.disk import Disk
    from pravega_lab.tutorials.recording.recorder import Recorder

FOLDER = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class Run:
    """Which of `incidents` is recorded, with which seed and segments, and whether the store is kept."""

    script: str
    seed: int
    segments: int = 3
    keeps_store: bool = False


RUNS = {
    "desk": Run("at_the_desk", 2013, keeps_store=True),
    "run-1": Run("retried_blindly", 1),
    "run-2": Run("held_up", 2),
    "run-3": Run("routed_by_number", 3),
    "run-4": Run("dead_without_position", 4),
    "run-5": Run("truncated_unread", 5),
}


def recorded(name: str) -> Path:
    """Return the file of a recording, such as ``desk.jsonl.gz`` or ``desk-store.zip``.

    Raises:
        BadInputError: There is no recording of this name; the message names those that there are.
    """
    path = FOLDER / name
    if path.parent != FOLDER or not path.is_file():
        there = ", ".join(
            sorted(found.name for found in FOLDER.iterdir() if found.suffix in (".gz", ".json", ".zip"))
        )
        raise BadInputError(f"there is no recording {name!r}; there are {there}.")
    return path


def record(name: str) -> Recorder:
    """Run an incident again; this takes some seconds. The result is the same every time."""
    from pravega_lab.tutorials.recording import incidents
    from pravega_lab.tutorials.recording.recorder import Recorder

    run = RUNS[name]
    recorder = Recorder(run.seed, incidents.KEYS)
    recorder.run(getattr(incidents, run.script), segments=run.segments)
    return recorder


def packed(disk: Disk) -> bytes:
    """Return a store's folder as a ZIP file, for ``Lab(data)``."""
    found = BytesIO()
    with ZipFile(found, "w", ZIP_DEFLATED) as archive:
        for name, size in disk.files().items():
            archive.writestr(ZipInfo(name), disk.read(name, 0, size), ZIP_DEFLATED)
    return found.getvalue()


def main(argv: Sequence[str] | None = None) -> None:
    """Record all runs into a folder; by default where `recorded` finds them."""
    args = sys.argv[1:] if argv is None else list(argv)
    folder = Path(args[0]) if args else FOLDER
    for name, run in RUNS.items():
        recorder = record(name)
        recorder.journal.save(folder / f"{name}.jsonl.gz")
        if run.keeps_store:
            (folder / f"{name}-store.zip").write_bytes(packed(recorder.disk))
        print(f"{name}: {len(recorder.journal):,} observations, {recorder.ledger.verdict().sentence}")


if __name__ == "__main__":
    main()
