"""What a data folder holds, as rows and as data frames of pandas, and whether it is sound (`check`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pravega_lab.engine.store.admin import listing
from pravega_lab.engine.store.admin.findings import Finding
from pravega_lab.engine.store.admin.log_scan import operations_of
from pravega_lab.engine.store.admin.verify import Verdict, verify
from pravega_lab.engine.store.log.disk import BACKUP_LIST
from pravega_lab.engine.store.log.format import file_id_of
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.errors import BadInputError, CorruptStoreError, require

from .backup import check_backup
from .folder import FrozenFolder, on_folder
from .tier_copies import chunks_in

if TYPE_CHECKING:
    import pandas as pd

Row = listing.Row

TABLES: dict[str, Callable[[FrozenFolder, str | None], list[Row]]] = {
    "streams": lambda folder, name: listing.stream_rows(open_storage(folder)),
    "groups": lambda folder, name: listing.group_rows(open_storage(folder)),
    "segments": lambda folder, name: listing.segment_rows(open_storage(folder), name),
    "pieces": lambda folder, name: listing.piece_rows(open_storage(folder), name or ""),
    "files": lambda folder, name: listing.file_rows(open_storage(folder), folder),
    "operations": lambda folder, name: _operations(folder, name),
    "findings": lambda folder, name: [finding_row(f) for f in _checked(folder).findings],
}


def rows(data: str | Path, what: str = "streams", name: str | None = None) -> list[Row]:
    """Return a table of a stopped or running store, as it is at one moment.

    Args:
        data: The data folder.
        what: ``streams``, ``groups``, ``segments`` (of the stream ``name``, or all), ``pieces`` (where the
            bytes of the segment ``name`` are), ``files``, ``operations`` (of the log file ``name``, or all),
            or ``findings`` (of `check`).

    Raises:
        BadInputError: ``data`` is no store, or there is no such table or file.
        NotFoundError: There is no such stream or segment.
        CorruptStoreError: The store is damaged. ``findings`` and ``operations`` work then, too.
    """
    if what not in TABLES:
        raise BadInputError(f"there is no table {what!r}; there are {', '.join(TABLES)}")
    return on_folder(data, lambda folder: TABLES[what](folder, name))


def frame(data: str | Path, what: str = "streams", name: str | None = None) -> pd.DataFrame:
    """Return the same table as `rows`, as a data frame.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    require("pandas")
    import pandas as pd

    return pd.DataFrame(rows(data, what, name))


def check(
    data: str | Path, *, tier2: str | None = None, tier2_options: Mapping[str, Any] | None = None
) -> Verdict:
    """Check every checksum and every rule of a stopped or running store (``pravega-lab admin verify``).

    A backup is also compared with its list, its chunks included.

    Args:
        tier2: The folder in tier 2 of a store that has one. Without it, no chunk is checked.
        tier2_options: Options of its file system (fsspec).

    Raises:
        BadInputError: ``data`` is no store, ``tier2`` belongs to another one, or ``data`` is a backup, which
            has its chunks in itself.
        StoreUnavailableError: Tier 2 failed.
    """
    before: list[Finding] = []
    while True:
        with FrozenFolder(data) as folder:
            verdict = _checked(folder, tier2, tier2_options)
            # A group that a running store is writing can look like damage, but not twice at the same place.
            if verdict.is_sound or not folder.is_running or verdict.damage == before:
                return verdict
            before = verdict.damage


def _checked(
    folder: FrozenFolder, tier2: str | None = None, options: Mapping[str, Any] | None = None
) -> Verdict:
    if BACKUP_LIST in folder.files():
        if tier2 is not None:
            raise BadInputError(
                f"{str(folder.folder)!r} is a backup, and its chunks are in it. Leave --tier2 out."
            )
        return check_backup(folder)
    check = partial(verify, folder, is_running=folder.is_running)
    store_id = None if tier2 is None else _store_id(folder)
    if tier2 is None or store_id is None:
        return check()
    with chunks_in(tier2, options or {}, store_id) as read_chunk:
        return check(read_chunk=read_chunk)


def _store_id(folder: FrozenFolder) -> bytes | None:
    """Return the id of the store, None if it does not open."""
    try:
        return open_storage(folder)._files.store_id
    except Exception:  # whatever the bytes are, `verify` says what is wrong
        return None


def finding_row(found: Finding) -> Row:
    """Return a finding as a row."""
    return {
        "level": found.level.value,
        "rule": found.rule,
        "where": found.where,
        "offset": found.offset,
        "what": found.what,
        "next_step": found.next_step,
    }


def _operations(folder: FrozenFolder, name: str | None) -> list[Row]:
    logs = [file for file in folder.files() if file_id_of(file) is not None]
    if name is not None and name not in logs:
        raise BadInputError(f"there is no log file {name!r} in this store; there are {', '.join(logs)}")
    found = list(operations_of(folder, [name] if name else logs))
    try:
        known = open_storage(folder)._synced.names.values()
    except CorruptStoreError:
        known = ()  # type: ignore[assignment]
    names = {segment.id: segment.name for segment in known}
    for row in found:
        if row["operation"] == "CreateSegment":
            names[row["segment_id"]] = str(row["detail"]).partition("segment=")[2].partition(" ")[0]  # type: ignore[index]
        row["segment"] = names.get(row["segment_id"])  # type: ignore[call-overload]
        row["detail"] = row.pop("detail")
    return found
