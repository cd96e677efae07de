"""Snapshots into files and back. The layout of a job's checkpoints::

    <root>/<job>/chk-7/_metadata            what is where, readable (`metadata`)
    <root>/<job>/chk-7/<operator>-<subtask>-…  state of one operator in one subtask
    <root>/<job>/shared/…                   keyed state that later checkpoints may refer to

A savepoint is one folder with all of its own.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.files import Files, join
from pravega_lab.engine.flow.handles import Blob, CompletedCheckpoint, ListMode, ListState, SubtaskState
from pravega_lab.engine.flow.state import KeyedSnapshot

METADATA = "_metadata"


@dataclass
class OperatorSnapshot:
    """One operator's state, frozen to bytes, not yet written."""

    keyed: KeyedSnapshot = field(default_factory=KeyedSnapshot)
    lists: Mapping[str, tuple[ListMode, list[bytes]]] = field(default_factory=dict)


class CheckpointLayout:
    """Names of folders and files of one job's checkpoints."""

    def __init__(self, root: str, job_id: str) -> None:
        self.folder = join(root, job_id)
        self.shared = join(self.folder, "shared")

    def of_checkpoint(self, checkpoint_id: int) -> str:
        return join(self.folder, f"chk-{checkpoint_id}")


class _File:
    """Collects blobs for one file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, data: bytes) -> Blob:
        blob = Blob(self._path, self._length, len(data), zlib.crc32(data))
        self._parts.append(data)
        self._length += len(data)
        return blob

    async def write(self, files: Files) -> None:
        if self._parts:
            await files.write(self._path, b"".join(self._parts))


def file_name(*parts: object) -> str:
    """A name that every file system takes."""
    return "-".join(re.sub(r"[^\w.]+", "_", str(part)) for part in parts)


async def write_snapshot(
    files: Files, snapshot: OperatorSnapshot, private_path: str, shared_path: str | None
) -> tuple[SubtaskState, dict[int, Blob]]:
    """Returns where everything is, and of the keyed state the newly written shared files.

    ``shared_path`` None: all goes into the private file (savepoints, full checkpoints).
    """
    private = _File(private_path)
    shared = _File(shared_path) if shared_path is not None else private
    lists = {
        name: ListState(mode, tuple(private.add(element) for element in elements))
        for name, (mode, elements) in snapshot.lists.items()
    }
    written = {group: shared.add(data) for group, (_, data) in snapshot.keyed.written.items()}
    await private.write(files)
    if shared is not private:
        await shared.write(files)
    keyed = {**snapshot.keyed.reused, **written}
    return SubtaskState(dict(sorted(keyed.items())), lists), written if shared is not private else {}


class BlobReader:
    """Reads blobs, each file once, and checks them."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._data: dict[str, bytes] = {}

    async def read(self, blob: Blob) -> bytes:
        """
        Raises:
            DamagedCheckpointError: the file is gone, short, or not what was written.
        """
        if blob.path not in self._data:
            try:
                self._data[blob.path] = await self._files.read(blob.path)
            except FileNotFoundError as error:
                raise DamagedCheckpointError(
                    f"{blob.path} is missing: the checkpoint is not whole; take another one"
                ) from error
        data = self._data[blob.path][blob.offset : blob.offset + blob.length]
        if len(data) != blob.length or zlib.crc32(data) != blob.crc:
            raise DamagedCheckpointError(
                f"{blob.path} is damaged: {blob.length} bytes at {blob.offset} have another checksum than "
                "when they were written; take another checkpoint"
            )
        return data


class CompletedStore:
    """The retained checkpoints, oldest first; drops files that none of them needs."""

    def __init__(self, retain: int = 1) -> None:
        self.retain = retain
        self.checkpoints: list[CompletedCheckpoint] = []

    @property
    def latest(self) -> CompletedCheckpoint | None:
        return self.checkpoints[-1] if self.checkpoints else None

    def add(self, checkpoint: CompletedCheckpoint) -> list[str]:
        """Add the newest; returns the files (and, ending in ``/``, folders) that may go."""
        self.checkpoints.append(checkpoint)
        dropped = self.checkpoints[: -self.retain]
        self.checkpoints = self.checkpoints[-self.retain :]
        used = {path for kept in self.checkpoints for path in kept.files}
        gone: dict[str, None] = {}
        for old in dropped:
            if old.kind.is_savepoint:
                continue  # the user's
            gone.update(dict.fromkeys(path for path in old.files if path not in used and "/shared/" in path))
            if not any(path.startswith(old.path + "/") for path in used):
                gone[old.path + "/"] = None
        return list(gone)


async def discard(files: Files, paths: list[str]) -> None:
    """Delete files, and folders (ending in ``/``)."""
    for path in paths:
        if path.endswith("/"):
            await files.delete_folder(path.rstrip("/"))
        else:
            await files.delete(path)
