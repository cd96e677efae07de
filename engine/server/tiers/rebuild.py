"""Rebuilds a store whose folder has lost its snapshots: from tier 2 and what is left of the log."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pravega_lab.errors import BadInputError

from ...store.errors import CorruptStoreError, TierMismatch
from ...store.log.chunks import (
    MARKER,
    OWNER,
    is_chunk,
    life_of,
    owner_in,
    snapshot_sequence,
    store_in,
)
from ...store.log.disk import Disk
from ...store.log.format import (
    FILE_HEADER_BYTES,
    file_id_of,
    file_name,
    read_file_header,
    snapshot_file_name,
    snapshot_sequence_of,
)
from ...store.log.history import HISTORY_NAME, encode_history, read_history
from ...store.storage.snapshot import check_identity, decode_snapshot, without_log
from ...store.storage.synced_state import Synced
from ...store.tiers.mover import FOREIGN_MARKER
from .objects import Objects

LISTS = 30  # how often tier 2 is asked for its objects while its list is late
LIST_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a store was rebuilt from: a snapshot of the state after group ``sequence``, and ``log_files``
    files of its log.
    """

    sequence: int
    log_files: int


class _ListIsLateError(Exception):
    """Raised when a list of tier 2 does not show what is there."""


async def rebuild(disk: Disk, objects: Objects) -> Rebuilt:
    """Copy the latest snapshot of tier 2 to ``disk``. The next `open_storage` replays what is left of the
    log after it. The lives that have written to tier 2 are recorded as ones of this store.

    Without any log file the store is as it was at that snapshot. Later events are lost with the log. Then
    the snapshot must have no bytes in the log, as it has when a store was idle, else `open_storage` refuses.

    Raises:
        BadInputError: The folder has a snapshot of its own, so the store can be opened as it is.
        TierMismatch: Tier 2 belongs to another store than the log, or to none.
        CorruptStoreError: No snapshot in tier 2 can be read, or the log after the latest one is not complete.
            Nothing is written then.
    """
    files = disk.files()
    if any(snapshot_sequence_of(name) is not None for name in files):
        raise BadInputError(
            "--tier2-rebuild is for a folder without a snapshot, and this one has its own. Start without it."
        )
    store_id = await _store_id(objects)
    logs = {name: file_id for name in files if (file_id := file_id_of(name)) is not None}
    for name in logs:
        header = read_file_header(disk.read(name, 0, FILE_HEADER_BYTES))
        if header is not None and header[0] != store_id:
            raise TierMismatch(
                f"The log file {name!r} belongs to store {header[0].hex()}, and tier 2 to store"
                f" {store_id.hex()}. Give the folder and the --tier2 of one store."
            )
    sequence, data = await _latest(objects, store_id, logs.values())
    if not logs:
        data = without_log(data, store_id, sequence)
    await _record_lives(disk, objects)
    await disk.write_file(snapshot_file_name(sequence), data)
    return Rebuilt(sequence, len(logs))


async def _record_lives(disk: Disk, objects: Objects) -> None:
    """Let the store take tier 2 from the life that has it, and delete what belongs to nothing there."""
    before = history = read_history(disk)
    found = owner_in(await objects.look(OWNER))
    written = [life_of(name) for name in await objects.names() if is_chunk(name)]
    for life in [*written, *([] if found is None else [found[1]])]:
        if life not in history.lives:
            history = history.with_life(life)
    if history != before:
        await disk.write_file(HISTORY_NAME, encode_history(history))


async def refuse_other_store(disk: Disk, objects: Objects) -> None:
    """Refuse a folder without a store if tier 2 already has one. A rebuild that failed may have left
    `HISTORY_NAME` there.

    Raises:
        TierMismatch: It has one. Its chunks would otherwise seem to belong to no segment. Or its object
            `MARKER` is none of a store.
    """
    if any(name != HISTORY_NAME for name in disk.files()):
        return
    try:
        store_id = store_in(await objects.read(MARKER))
    except FileNotFoundError:
        return
    if store_id is None:
        raise TierMismatch(FOREIGN_MARKER)
    raise TierMismatch(
        f"The folder in tier 2 belongs to store {store_id.hex()}, and the --data folder has no store. Give"
        " the folder of that store, or --tier2-rebuild to rebuild it from tier 2, or another --tier2."
    )


async def _store_id(objects: Objects) -> bytes:
    try:
        store_id = store_in(await objects.read(MARKER))
    except FileNotFoundError:
        store_id = None
    if store_id is None:
        raise TierMismatch(
            "The folder in tier 2 has no object 'store' that names a store, so there is nothing to rebuild."
            " Give the --tier2 that the store used."
        )
    return store_id


async def _latest(objects: Objects, store_id: bytes, log_ids: Collection[int]) -> tuple[int, bytes]:
    """Return sequence and bytes of the latest snapshot that can be read, in a list that is not late.

    A list is late if it has a snapshot that was deleted, or none after which the log continues in a file that
    is here: log files are deleted when a later snapshot is stored.
    """
    for _ in range(LISTS):
        try:
            return await _latest_listed(objects, store_id, log_ids)
        except _ListIsLateError as late:
            why = str(late)
        await asyncio.sleep(LIST_AGAIN_S)
    raise CorruptStoreError(
        f"The latest snapshot that tier 2 lists does not go with the log: {why}. If tier 2 lists new objects"
        " late, try again in some minutes. Else restore the log files from a copy, or move them out of the"
        " folder to have the store as it was at that snapshot."
    )


def _refuse_later(listed: Sequence[tuple[int, str]], sequence: int) -> None:
    """Refuse an earlier snapshot than the latest: without a log, nothing replays what came after it."""
    if listed[0][0] > sequence:
        raise CorruptStoreError(
            f"The snapshot {listed[0][1]!r} in tier 2 cannot be read: its upload was not finished, or it is"
            f" damaged. Restore it or the log files from a copy. Or delete it, and later events are lost: the"
            f" store is then as it was after group {sequence}."
        )


async def _latest_listed(objects: Objects, store_id: bytes, log_ids: Collection[int]) -> tuple[int, bytes]:
    """Return sequence and bytes of the latest snapshot in one list. Raises `_ListIsLateError`.

    An upload that was not finished is passed over. Several snapshots of the same state can be read if an
    upload failed and was repeated: the log may have continued in another file at that time.
    """
    numbered = [(snapshot_sequence(name), name) for name in await objects.names()]
    listed = sorted(((number, name) for number, name in numbered if number is not None), reverse=True)
    latest = missing = None
    for sequence, name in listed:
        if latest is not None and sequence < latest:
            break
        try:
            data = await objects.read(name)
        except FileNotFoundError as error:
            raise _ListIsLateError(f"it lists the object {name!r}, which is not there") from error
        try:
            head = decode_snapshot(name, data, Synced())
            check_identity(name, head, store_id, sequence)
        except CorruptStoreError:
            continue
        if not log_ids:
            _refuse_later(listed, sequence)
        if not log_ids or head.first_file in (0, *log_ids):
            return sequence, data
        latest, missing = sequence, missing or file_name(head.first_file)
    if missing is not None:
        raise _ListIsLateError(f"the log continues in {missing!r} after it, and that file is missing")
    raise CorruptStoreError(
        f"Tier 2 has {len(listed)} snapshots, and none can be read, so the store cannot be rebuilt from it."
        " Restore a snapshot from a copy."
    )
