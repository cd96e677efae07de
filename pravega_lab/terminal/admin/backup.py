"""Backups: a copy of a store at one moment, with a list of its files and their checksums.

A backup is a folder of its own. A new folder appears under its name only when it is complete and synced, so
that one which was interrupted is never taken for a backup or a store.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zlib import crc32

from pravega_lab.engine.store.admin.findings import Finding, damage
from pravega_lab.engine.store.admin.log_scan import scan_logs, tail_of
from pravega_lab.engine.store.admin.verify import Verdict, verify
from pravega_lab.engine.store.log.disk import BACKUP_LIST, RealDisk
from pravega_lab.engine.store.log.folder_lock import LOCK, open_private
from pravega_lab.engine.store.log.history import HISTORY_NAME, encode_history, read_history
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.engine.store.storage.tiered import Tiered
from pravega_lab.errors import BadInputError, CorruptStoreError, StoreFullError

from .folder import FrozenFolder, on_folder
from .tier_copies import (
    FOLDER,
    Listed,
    chunk_content,
    chunks_of_backup,
    copy_chunks,
    require_new_tier2,
    require_tier2,
    restore_chunks,
)

FORMAT = 1
FORMAT_WITH_CHUNKS = 2
COPIED = "a backup is as it was made"
UNFINISHED = ".unfinished"
FILE_BYTES_MAX = 1 << 40
"""No file of a store is that large."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a backup or a restore wrote: the folder, the files in it, and the bytes without trailing zeros.
    Chunks of tier 2 count as files.
    """

    folder: Path
    files: int
    size_bytes: int
    verdict: Verdict


def backup(
    data: str | Path,
    to: str | Path,
    *,
    tier2: str | None = None,
    tier2_options: Mapping[str, Any] | None = None,
) -> Copied:
    """Copy a stopped or running store to the new folder ``to``.

    Every event that was acknowledged before the call is in the copy, and nothing is in it in part.

    Args:
        tier2: The folder in tier 2 of a store that has one. Its chunks are copied, too.
        tier2_options: Options of its file system (fsspec).

    Raises:
        BadInputError: ``data`` is no store, ``to`` exists or is inside it, or the store needs its ``tier2``.
        StoreVersionError: Another release wrote the store, in a format that this one does not read.
        CorruptStoreError: The store is damaged.
        StoreFullError: There is no room for the copy.
    """
    target = _new_folder(Path(to), "--to")
    if target.resolve().is_relative_to(Path(data).resolve()):
        raise BadInputError(
            f"{str(target)!r} is inside the data folder {str(data)!r} and would be lost with it. Give --to a"
            " folder elsewhere."
        )
    return on_folder(data, lambda frozen: _backup(frozen, target, tier2, tier2_options or {}))


def _backup(frozen: FrozenFolder, target: Path, tier2: str | None, options: Mapping[str, Any]) -> Copied:
    found = _require_sound(verify(frozen, is_running=frozen.is_running), frozen.folder)
    require_tier2(found.unchecked_chunks, tier2)
    with _prepared(target, "--to") as unfinished:
        return _copy(frozen, unfinished, target, tier2, options)


def _copy(
    frozen: FrozenFolder, unfinished: Path, target: Path, tier2: str | None, options: Mapping[str, Any]
) -> Copied:
    ends = {scan.name: scan.end for scan in tail_of(scan_logs(frozen, []))}
    listed = []
    for name, size in frozen.files().items():
        if name == BACKUP_LIST:  # the folder is itself a backup
            continue
        data = frozen.read(name, 0, ends.get(name, size)).rstrip(b"\0")
        _write(unfinished / name, data, size)
        listed.append({"name": name, "size": size, "bytes": len(data), "crc32": crc32(data)})
    chunks = copy_chunks(frozen, tier2, options, lambda name, data: _write_chunk(unfinished, name, data))
    about = {
        "format": FORMAT_WITH_CHUNKS if chunks else FORMAT,
        "made_by": f"pravega-lab {version('pravega-lab')}",
        "made_ms": time.time_ns() // 1_000_000,
    }
    text = json.dumps({**about, "files": listed, "chunks": chunks}, indent=1).encode()
    _write(unfinished / BACKUP_LIST, text, len(text))
    with FrozenFolder(unfinished) as copy:
        verdict = _require_sound(verify(copy), unfinished).with_all_chunks()
    _publish(unfinished, target)
    return _copied(target, [*listed, *chunks], verdict)


def restore(
    source: str | Path,
    data: str | Path,
    *,
    tier2: str | None = None,
    tier2_options: Mapping[str, Any] | None = None,
) -> Copied:
    """Make the new data folder ``data`` of a backup.

    Args:
        tier2: A new folder in tier 2, for a backup with chunks. The restored store is started with it.
        tier2_options: Options of its file system (fsspec).

    Raises:
        BadInputError: ``source`` is no backup, ``data`` exists, or the chunks need an empty ``tier2``.
        StoreVersionError: Another release wrote the store in the backup, as for `backup`.
        CorruptStoreError: A file of the backup is missing or differs from what was copied.
        StoreFullError: There is no room for the store.
    """
    folder = Path(source)
    files, chunks = _listed(folder)
    target = _new_folder(Path(data), "--data")
    require_new_tier2(folder, target, len(chunks), tier2)
    with _prepared(target, "--data") as unfinished:
        verdict = _fill(unfinished, folder, files, chunks, tier2, tier2_options or {})
        _publish(unfinished, target)
    return _copied(target, [*files.values(), *chunks], verdict)


def _fill(
    unfinished: Path,
    folder: Path,
    files: Mapping[str, Listed],
    chunks: Sequence[Listed],
    tier2: str | None,
    options: Mapping[str, Any],
) -> Verdict:
    disk = RealDisk(unfinished)
    try:
        for name, file in files.items():
            asyncio.run(disk.create(name, int(file["size"]), _content(folder, name, file)))
    finally:
        disk.close()
    (unfinished / LOCK).unlink(missing_ok=True)
    with FrozenFolder(unfinished) as restored:
        verdict = _require_sound(verify(restored), unfinished)
        store_id = Tiered(open_storage(restored)).store_id
    _forget_lives(unfinished)
    restore_chunks(folder, chunks, store_id, tier2, options)
    return verdict.with_all_chunks()


def _forget_lives(unfinished: Path) -> None:
    """Keep the restored store from tier 2 of the other, which may still be in the life that is recorded."""
    disk = RealDisk(unfinished)
    try:
        history = read_history(disk)
        if history.without_lives() != history:
            asyncio.run(disk.write_file(HISTORY_NAME, encode_history(history.without_lives())))
    finally:
        disk.close()
    (unfinished / LOCK).unlink(missing_ok=True)


def check_backup(backup: FrozenFolder) -> Verdict:
    """Check a backup as a store, and that `restore` would find every file and chunk as it was copied.

    Raises:
        BadInputError: The list of the backup cannot be read.
    """
    files, chunks = _listed(backup.folder)
    verdict = verify(backup, read_chunk=chunks_of_backup(backup.folder))
    of_chunks = list(_differences(backup.folder, {str(c["name"]): c for c in chunks}, chunk_content))
    chunks_named = {found.where for found in of_chunks}
    kept = [found for found in verdict.findings if found.where not in chunks_named]
    known = {found.where for found in verdict.damage}
    of_files = [f for f in _differences(backup.folder, files, _content) if f.where not in known]
    return replace(verdict, findings=(*kept, *of_files, *of_chunks))


def _differences(
    folder: Path, listed: Mapping[str, Listed], content: Callable[[Path, str, Listed], bytes]
) -> Iterator[Finding]:
    for name, file in listed.items():
        try:
            content(folder, name, file)
        except CorruptStoreError as error:
            yield damage(COPIED, name, str(error), "")


def _copied(target: Path, files: Sequence[Listed], verdict: Verdict) -> Copied:
    return Copied(target, len(files), sum(int(file["bytes"]) for file in files), verdict)


def _listed(folder: Path) -> tuple[dict[str, Listed], list[Listed]]:
    """Return the files that a backup lists, by name, and its chunks. Raises BadInputError."""
    try:
        found = json.loads((folder / BACKUP_LIST).read_bytes())
        _check_format(found["format"], folder)
        files = {file["name"]: file for file in map(_checked, found["files"])}
        chunks = [_checked(chunk | {"size": chunk["bytes"]}) for chunk in found.get("chunks", ())]
    except BadInputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInputError(
            f"{str(folder)!r} is no backup: its {BACKUP_LIST} cannot be read ({type(error).__name__}:"
            f" {error}). Give --from a folder that 'pravega-lab admin backup' made."
        ) from None
    for name in files:
        if Path(name).name != name or name in (LOCK, BACKUP_LIST, "..", "."):
            raise BadInputError(f"The backup {str(folder)!r} lists {name!r}, which is no file of a store.")
    return files, chunks


def _check_format(made_as: object, folder: Path) -> None:
    if type(made_as) is not int:
        raise TypeError("its format is no number")
    if made_as not in (FORMAT, FORMAT_WITH_CHUNKS):
        raise BadInputError(
            f"The backup {str(folder)!r} has version {made_as}, and this release reads version"
            f" {FORMAT_WITH_CHUNKS} and earlier ones. Restore it with the release that made it."
        )


def _checked(listed: Listed) -> Listed:
    """Return what a backup says about a file. Raises KeyError, TypeError or ValueError for nonsense."""
    numbers = [listed["size"], listed["bytes"], listed["crc32"]]
    if not isinstance(listed["name"], str) or not all(type(number) is int for number in numbers):
        raise TypeError("a file needs a name and numbers")
    if not 0 <= listed["bytes"] <= listed["size"] < FILE_BYTES_MAX:
        raise ValueError(f"{listed['name']!r} cannot have {listed['bytes']} of {listed['size']} bytes")
    return listed


def _content(folder: Path, name: str, file: Listed) -> bytes:
    try:
        data = (folder / name).read_bytes()[: file["bytes"]]
    except FileNotFoundError:
        raise CorruptStoreError(f"The file {name!r} of the backup is missing. Use another backup.") from None
    if len(data) != file["bytes"] or crc32(data) != file["crc32"]:
        raise CorruptStoreError(
            f"The file {name!r} of the backup is damaged at offset 0 (checksum of all {file['bytes']} bytes)."
            " Use another backup."
        )
    return data


def _require_sound(verdict: Verdict, folder: Path) -> Verdict:
    verdict.refuse_other_version()
    if not verdict.is_sound:
        raise CorruptStoreError(
            f"{str(folder)!r} is damaged in {len(verdict.damage)} places, so it is not copied."
            f" {verdict.damage[0]}"
        )
    return verdict


def _new_folder(folder: Path, option: str) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInputError(f"{str(folder)!r} exists and is not empty. Give {option} a new folder.")
    if folder.is_mount():
        raise BadInputError(
            f"{str(folder)!r} is a mount point, and a folder is prepared next to it and then gets its name."
            f" Give {option} a new folder inside it."
        )
    return folder


@contextlib.contextmanager
def _prepared(target: Path, option: str) -> Iterator[Path]:
    """Yield the folder in which ``target`` is prepared. It is removed if the work fails."""
    unfinished = target.absolute().with_name(target.absolute().name + UNFINISHED)
    with _alone(unfinished, target):
        _new_folder(target, option)  # another call may have made it in the meantime
        _make_empty(unfinished)
        try:
            yield unfinished
        except BaseException as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise StoreFullError(
                f"There is no room for {str(target)!r} ({error}). Nothing was left there. Make room, or name"
                " a folder on another disk."
            ) from error


@contextlib.contextmanager
def _alone(unfinished: Path, target: Path) -> Iterator[None]:
    """Hold a lock next to the folder that is prepared: another call would remove that folder."""
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    path = unfinished.with_name(unfinished.name + ".lock")
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        if not _is_locked(handle, path):
            raise BadInputError(
                f"Another command is making {str(target)!r} at this moment. Wait until it has ended, or give"
                " another name."
            )
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _is_locked(handle: int, path: Path) -> bool:
    """Lock a file. Return False if it is locked by another call, which may have deleted it since."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _make_empty(unfinished: Path) -> None:
    """Make the folder in which a copy is prepared. What an interrupted call left there is removed."""
    if unfinished.is_dir():
        shutil.rmtree(unfinished)
    elif unfinished.exists():
        raise BadInputError(
            f"{str(unfinished)!r} is in the way: the folder is prepared under that name. Move that file away,"
            " or give another name."
        )
    unfinished.mkdir(mode=0o700)


def _write_chunk(unfinished: Path, name: str, data: bytes) -> None:
    (unfinished / FOLDER).mkdir(mode=0o700, exist_ok=True)
    _write(unfinished / FOLDER / name, data, len(data))


def _write(path: Path, data: bytes, size: int) -> None:
    """Write and sync a file of ``size`` bytes. The zeros after ``data`` take no room."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.truncate(size)
        file.flush()
        os.fsync(handle)


def _publish(unfinished: Path, target: Path) -> None:
    """Sync the folder and give it its name, in one step."""
    if (unfinished / FOLDER).exists():
        _sync(unfinished / FOLDER)
    _sync(unfinished)
    unfinished.rename(target.absolute())
    _sync(target.absolute().parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
