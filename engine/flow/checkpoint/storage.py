"""Write snapshots into files and read them back, and decide which files can be deleted.

The checkpoints of a job are stored like this::

    <root>/<job>/chk-7/_metadata            what is where, readable (`metadata`)
    <root>/<job>/chk-7/<operator>-<subtask>-…  state of one operator in one subtask
    <root>/<job>/shared/…                   keyed state that later checkpoints may refer to

A savepoint is one folder that refers to no other.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..errors import DamagedCheckpointError
from ..files import Files, Folder, join, relative
from ..state.handles import Blob, ListMode, ListState, SubtaskState
from ..state.state import KeyedSnapshot
from .handles import CompletedCheckpoint

METADATA = "_metadata"
IN_PROGRESS = "_in_progress"  # in the folder of a checkpoint or savepoint that is not complete


@dataclass
class OperatorSnapshot:
    """The state of one operator in one subtask, frozen to bytes and not yet written."""

    keyed: KeyedSnapshot = field(default_factory=KeyedSnapshot)
    lists: Mapping[str, tuple[ListMode, list[bytes]]] = field(default_factory=dict)


class CheckpointLayout:
    """The names of folders and files of one job's checkpoints."""

    def __init__(self, root: Folder, job_id: str) -> None:
        self.folder = join(root, job_id)
        self.shared = join(self.folder, "shared")

    def of_checkpoint(self, checkpoint_id: int) -> str:
        """Return the folder of a checkpoint."""
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


def file_name(operator_id: str, subtask: int, checkpoint_id: int, attempt: int) -> str:
    """Return the name of a file with state of an operator, which every file system accepts."""
    plain = re.sub(r"[^\w.]+", "_", operator_id)
    if plain != operator_id:  # another operator's id may become the same
        plain += f"-{zlib.crc32(operator_id.encode(errors='surrogatepass')):08x}"
    return f"{plain}-{subtask}-c{checkpoint_id}-a{attempt}"


def written_for(checkpoint_id: int, paths: Iterable[str]) -> list[str]:
    """Return the files that were written for this checkpoint; `file_name` gave them their names."""
    return [path for path in paths if re.search(rf"-c{checkpoint_id}-a\d+$", path)]


async def write_snapshot(
    files: Files, snapshot: OperatorSnapshot, private_path: str, shared_path: str | None
) -> tuple[SubtaskState, dict[int, Blob]]:
    """Write a snapshot; return where everything is, and the shared files that were written, by key group.

    ``shared_path`` None: everything goes into the private file (savepoints, full checkpoints).
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
    state = SubtaskState(dict(sorted(keyed.items())), lists, snapshot.keyed.kinds)
    return state, written if shared is not private else {}


def files_elsewhere(savepoint: CompletedCheckpoint) -> list[str]:
    """Return the files of ``savepoint`` that are not in its folder."""
    return [path for path in savepoint.files if "/" in relative(path, savepoint.path)]


async def gathered(files: Files, savepoint: CompletedCheckpoint) -> CompletedCheckpoint:
    """Return ``savepoint`` with all its files in its folder; copy those that are elsewhere.

    A source that takes a checkpoint without its trigger knows neither kind nor folder. It and its consumers
    then write the files of a plain checkpoint, which later checkpoints of the job delete.
    """
    elsewhere = files_elsewhere(savepoint)
    if not elsewhere:
        return savepoint
    copies = {
        path: join(savepoint.path, f"{posixpath.basename(path)}.{number}")
        for number, path in enumerate(elsewhere)
    }
    for path, copy in copies.items():
        await files.write(copy, await files.read(path))
    operators = {
        id: replace(operator, subtasks={n: _moved(state, copies) for n, state in operator.subtasks.items()})
        for id, operator in savepoint.operators.items()
    }
    return replace(savepoint, operators=operators)


def _moved(state: SubtaskState, copies: Mapping[str, str]) -> SubtaskState:
    def moved(blob: Blob) -> Blob:
        return replace(blob, path=copies.get(blob.path, blob.path))

    return replace(
        state,
        keyed={group: moved(blob) for group, blob in state.keyed.items()},
        lists={
            name: ListState(lists.mode, tuple(moved(blob) for blob in lists.elements))
            for name, lists in state.lists.items()
        },
    )


class BlobReader:
    """Reads blobs and checks them. Each file is read once."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._data: dict[str, bytes] = {}

    async def read(self, blob: Blob) -> bytes:
        """Return the bytes of ``blob``.

        Raises:
            DamagedCheckpointError: the file is missing or too short, or differs from what was written.
        """
        if blob.path not in self._data:
            try:
                self._data[blob.path] = await self._files.read(blob.path)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError) as error:
                # ValueError: the path is no path (a null byte, half a surrogate pair, an unknown protocol).
                raise DamagedCheckpointError(
                    f"{blob.path!a:.200} is missing: the checkpoint is not whole; take another one"
                ) from error
        data = self._data[blob.path][blob.offset : blob.offset + blob.length]
        if len(data) != blob.length or zlib.crc32(data) != blob.crc:
            raise DamagedCheckpointError(
                f"{blob.path} is damaged: {blob.length} bytes at {blob.offset} have another checksum than "
                "when they were written; take another checkpoint"
            )
        return data


class CompletedStore:
    """The ``retain`` newest completed checkpoints, oldest first, and what has to stay of older ones."""

    def __init__(self, retain: int = 1) -> None:
        self.retain = retain
        self.checkpoints: list[CompletedCheckpoint] = []
        self._claimed: CompletedCheckpoint | None = None
        # Files and folders of older checkpoints. None: a retained checkpoint refers to it. Otherwise: the
        # pending checkpoints whose tasks may have built on it.
        self._left: dict[str, set[int] | None] = {}

    @property
    def latest(self) -> CompletedCheckpoint | None:
        """Return the newest checkpoint, None if there is none."""
        return self.checkpoints[-1] if self.checkpoints else None

    def claim(self, checkpoint: CompletedCheckpoint) -> None:
        """Add the checkpoint, or savepoint, that the job was started from and owns from now on."""
        self._claimed = checkpoint
        self.checkpoints.append(checkpoint)

    def add(self, checkpoint: CompletedCheckpoint, pending: Collection[int]) -> list[str]:
        """Add the newest checkpoint; return what can be deleted: files, and folders (ending in ``/``).

        Shared files, and folders to which other checkpoints referred, stay until all ``pending`` checkpoints
        have `ended`: their tasks may have built on a checkpoint that is dropped now. A savepoint belongs to
        the user and is not deleted, unless the job has claimed it.
        """
        self.checkpoints.append(checkpoint)
        dropped = self.checkpoints[: -self.retain]
        self.checkpoints = self.checkpoints[-self.retain :]
        used = self._used()
        folders: list[str] = []
        for old in dropped:
            if old.kind.is_savepoint and old is not self._claimed:
                continue  # the user's
            self._left.update((path, None) for path in old.files if "/shared/" in path and path not in used)
            folder = old.path + "/"
            if folder in used:
                self._left[folder] = None
            else:
                folders.append(folder)
        return [*self._take_free(used, pending), *folders]

    def ended(self, checkpoint_id: int) -> list[str]:
        """Note that a pending checkpoint has ended; return what stayed for it alone and can be deleted."""
        for ids in self._left.values():
            if ids is not None:
                ids.discard(checkpoint_id)
        return self._take_free(self._used(), ())

    def _take_free(self, used: Collection[str], pending: Collection[int]) -> list[str]:
        """Forget and return what no retained checkpoint refers to, and no pending one may refer to again."""
        free = []
        for path, ids in list(self._left.items()):
            if path in used:
                self._left[path] = None
                continue
            if ids is None:  # it was used until now
                ids = self._left[path] = set(pending)
            if not ids:
                del self._left[path]
                free.append(path)
        return free

    def _used(self) -> set[str]:
        """Return the files to which retained checkpoints refer, and the folders of these files."""
        files = {path for kept in self.checkpoints for path in kept.files}
        return files | {posixpath.dirname(path) + "/" for path in files}


async def discard(files: Files, paths: list[str]) -> None:
    """Delete files, and folders (ending in ``/``)."""
    for path in paths:
        if path.endswith("/"):
            await files.delete_folder(path.rstrip("/"))
        else:
            await files.delete(path)
