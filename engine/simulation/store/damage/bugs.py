"""Planted bugs of damaged files, which the checkers must find. Production code never reaches this module."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ....store.log import verified
from ....store.log.verified import VerifiedReads
from ....store.storage import snapshot
from ....store.storage.recovery import _Recovery
from ....store.storage.storage import Storage
from ...kernel.disk import SimulatedDisk
from ..planting import Replacement, bug
from .scenario import LOST, REPORTED, VERIFIED


@bug("reads-unverified", "damage", VERIFIED)
def _reads_unverified() -> list[Replacement]:
    """Reads of the disk return what is there, without a look at the checksum."""
    return [(verified, "group_is_valid", lambda group, salt: True)]


@bug("short-files-accepted", "damage", LOST)
def _short_files() -> list[Replacement]:
    """A log file that is shorter than it was created is taken as it is."""
    return [(_Recovery, "_refuse_short", lambda self, name, why, expected: None)]


@bug("missing-files-ignored", "damage", LOST)
def _missing_files() -> list[Replacement]:
    """A log file that is missing at the end of the log is not missed."""
    return [(_Recovery, "_check_missing", lambda self, first: None)]


@bug("newest-file-unrecorded", "damage", LOST)
def _newest_unrecorded() -> list[Replacement]:
    """The newest log file is not recorded, so after a crash it is not missed."""
    return [(Storage, "history_wanted", lambda self, file=None: None)]


@bug("gaps-skipped", "damage", LOST)
def _gaps_skipped() -> list[Replacement]:
    """Recovery continues behind a group that cannot be read."""
    return [
        (_Recovery, "_refuse_gap", lambda self, name, position, later: None),
        (_Recovery, "_check_torn", lambda self: None),
    ]


@bug("stop-not-compared", "damage", LOST)
def _stop_not_compared() -> list[Replacement]:
    """After a stop in order, a damaged end of the log is taken for a torn one."""
    return [(_Recovery, "_check_stop", lambda self: None)]


@bug("cuts-unreported", "damage", REPORTED)
def _cuts_unreported() -> list[Replacement]:
    """A torn tail is cut without a word."""
    right = _Recovery._check_end

    def silent(self: Any, *args: Any) -> None:
        right(self, *args)
        self.report.cuts.clear()

    return [(_Recovery, "_check_end", silent)]


@bug("snapshot-unchecked", "damage", "")
def _snapshot_unchecked() -> list[Replacement]:
    """The checksum of a snapshot is not compared."""

    class Anything(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    return [(snapshot, "crc32", lambda body: Anything())]


@bug("removed-file-written", "damage", LOST)
def _removed_file_written() -> list[Replacement]:
    """The disk does not notice that the log file was removed, and the store continues to write into it."""
    right = SimulatedDisk.write_group

    async def unnoticed(self: SimulatedDisk, name: str, offset: int, data: bytes) -> None:
        with suppress(OSError):
            await right(self, name, offset, data)

    return [(SimulatedDisk, "write_group", unnoticed)]


@bug("reads-cut-short", "damage", VERIFIED)
def _reads_cut_short() -> list[Replacement]:
    """A read that finds a damaged group returns zeros in place of its bytes."""
    right = VerifiedReads.read

    def zeros(self: Any, file: int, position: int, length: int) -> bytes:
        try:
            return right(self, file, position, length)
        except Exception:
            return bytes(length)

    return [(VerifiedReads, "read", zeros)]
