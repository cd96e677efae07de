"""Carries out the plan of a compaction on a stopped store; see `engine.store.admin.compaction`."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from pravega_lab.engine.store.admin.compaction import Compaction
from pravega_lab.engine.store.admin.verify import Verdict, verify
from pravega_lab.engine.store.errors import DiskFull
from pravega_lab.engine.store.log.disk import Disk, RealDisk
from pravega_lab.engine.store.log.files import DEFAULT_FILE_BYTES
from pravega_lab.engine.store.log.format import file_id_of
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.errors import BadInputError, CorruptStoreError, StoreFullError

from .folder import FrozenFolder


@dataclass(frozen=True, slots=True)
class Compacted:
    """The bytes of the folder before and after, how many of them segments need, and a check after it."""

    before_bytes: int
    after_bytes: int
    live_bytes: int
    verdict: Verdict


def compact(data: str | Path, *, file_bytes: int = DEFAULT_FILE_BYTES) -> Compacted:
    """Rewrite the log of a stopped store to what its streams need. A crash at any time leaves a whole store.

    Raises:
        BadInputError: ``data`` is no store, it is a backup, or its files belong to another user.
        StoreInUse: The store is running.
        StoreVersionError: Another release wrote the store, in a format that this one does not read.
        CorruptStoreError: The store is damaged; nothing was changed.
        StoreFullError: There is no room for the copy. The store is as it was.
    """
    with FrozenFolder(data) as folder:  # refuses what is no store before a lock file is made in it
        _require_owner(folder)
    disk = RealDisk(data)
    try:
        before_bytes = sum(disk.files().values())
        live_bytes = asyncio.run(carry_out(disk, file_bytes))
    except DiskFull as error:
        raise StoreFullError(
            f"There is no room to compact the store in {str(data)!r}: {error}. Make room and try again;"
            " the store is as it was."
        ) from error
    finally:
        disk.close()
    with FrozenFolder(data) as folder:
        verdict = verify(folder)
        return Compacted(before_bytes, sum(folder.files().values()), live_bytes, verdict)


def _require_owner(store: FrozenFolder) -> None:
    """Refuse a store of another user: that user could not open the files that replace those of the store."""
    *_, last = (name for name in store.files() if file_id_of(name) is not None)
    owner, mine = (store.folder / last).stat().st_uid, os.geteuid()
    if owner != mine:
        raise BadInputError(
            f"The files of the store in {str(store.folder)!r} belong to the user with the id {owner}, who"
            f" could not open files of the user with the id {mine}. Run the command as that user, for example"
            f" with sudo -u '#{owner}'."
        )


async def carry_out(disk: Disk, file_bytes: int) -> int:
    """Compact the store on ``disk``, and return the bytes that its segments need."""
    found = verify(disk)
    found.refuse_other_version()
    if not found.is_sound:
        raise CorruptStoreError(f"The store is damaged, and is not compacted. {found.damage[0]}")
    plan = Compaction(open_storage(disk), disk, file_bytes=file_bytes)
    file = plan.next_file
    await disk.create(file.name, file.size, file.header)
    await disk.write_file(plan.before.name, plan.before.data)
    for name, content in plan.copies():
        await disk.write_file(name, content)
    after = plan.after
    await disk.write_file(after.name, after.data)
    for name in plan.obsolete:
        disk.delete(name)
    return plan.live_bytes
