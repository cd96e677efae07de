"""`verify`: every checksum of a store and every rule of its metadata, and one verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from ..errors import CorruptStoreError, StoreVersionError
from ..log.chunks import BLOCK_BYTES, Chunk, damaged_block
from ..log.disk import Disk
from ..log.format import FILE_HEADER_BYTES, file_name
from ..log.history import read_history
from ..storage.recovery import open_storage
from ..storage.storage import Storage
from .findings import RESTORE, Finding, Level, damage, note
from .log_scan import FileScan, check_snapshots, scan_logs, tail_of
from .rules import check_state

GROUPS = "groups are right"
TAIL = "the log ends well"
PLACES = "segments are in valid groups"
CHUNKS = "chunks of tier 2 are whole"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check of a whole store found.

    Attributes:
        findings: Damage and notes.
        files, groups, log_bytes: How much of the log was checked; ``log_bytes`` up to the ends of the groups.
        segments, records: What the metadata rules were applied to, 0 if the store cannot be opened.
        is_running: Whether a process served the store during the check.
        chunks: The chunks of tier 2 that were compared with their checksums.
        unchecked_chunks, unchecked_bytes: Those that were not, and their bytes.
        other_version: Why this release does not read the store, if another release wrote it, else None.
    """

    findings: tuple[Finding, ...]
    files: int
    groups: int
    log_bytes: int
    segments: int
    records: int
    is_running: bool
    chunks: int = 0
    unchecked_chunks: int = 0
    unchecked_bytes: int = 0
    other_version: StoreVersionError | None = None

    @property
    def is_sound(self) -> bool:
        """Return whether nothing is damaged."""
        return not self.damage

    def refuse_other_version(self) -> None:
        """Raise StoreVersionError if another release wrote the store: its findings are no damage then."""
        if self.other_version is not None:
            raise self.other_version

    @property
    def damage(self) -> list[Finding]:
        """Return the findings of the level DAMAGE."""
        return [found for found in self.findings if found.level is Level.DAMAGE]

    def with_all_chunks(self) -> Verdict:
        """Return this verdict for a caller that has found all unchecked chunks to be whole."""
        chunks = self.chunks + self.unchecked_chunks
        return replace(self, chunks=chunks, unchecked_chunks=0, unchecked_bytes=0)

    def __str__(self) -> str:
        chunks = f" {self.chunks} chunks in tier 2," if self.chunks else ""
        checked = (
            f"{self.groups} groups in {self.files} log files ({self.log_bytes} bytes),{chunks}"
            f" {self.segments} segments and {self.records} records checked"
        )
        notes = len(self.findings) - len(self.damage)
        remarks = f", {notes} notes" if notes else ""
        if self.unchecked_chunks:
            remarks += (
                f"; {self.unchecked_chunks} chunks ({self.unchecked_bytes} bytes) in tier 2 not checked"
            )
        if self.is_sound:
            return f"sound: {checked}, 0 damaged{remarks}"
        return f"DAMAGED: {len(self.damage)} places; {checked}{remarks}"


def verify(
    disk: Disk, *, is_running: bool = False, read_chunk: Callable[[str], bytes | None] | None = None
) -> Verdict:
    """Check everything that ``disk`` holds. Nothing is written, and the disk must not change during the
    check.

    Args:
        is_running: A process writes to the store, and ``disk`` is a copy of what it had at one moment. The
            last group may then be on its way.
        read_chunk: Returns a chunk of tier 2 by its name, None if it is missing. Without it, no chunk is
            checked.
    """
    findings: list[Finding] = []
    logs = scan_logs(disk, findings)
    check_snapshots(disk, findings)
    storage, other_version = _opened(disk, findings)
    needed = _needed_ends(storage) if storage else None
    tail = tail_of(logs)
    for scan in logs.values():
        findings += _after_the_groups(scan, scan in tail and not is_running, needed)
    if storage is not None:
        findings += _recorded_cuts(disk)
        findings += _places(storage, logs)
        findings += check_state(storage)
    chunks = storage._synced.chunks.values() if storage else ()
    unchecked = chunks if read_chunk is None else ()
    if storage is not None and read_chunk is not None:
        findings += _chunks(chunks, storage._files.store_id, read_chunk)
    return Verdict(
        tuple(findings),
        len(logs),
        sum(scan.groups for scan in logs.values()),
        sum(scan.end for scan in logs.values()),
        len(storage.segments()) if storage else 0,
        sum(1 for _ in storage.records()) if storage else 0,
        is_running,
        len(chunks) - len(unchecked),
        len(unchecked),
        sum(chunk.length for chunk in unchecked),
        other_version,
    )


def _opened(disk: Disk, findings: list[Finding]) -> tuple[Storage | None, StoreVersionError | None]:
    """Return the store, or None if it does not open, and the error if that is because of its version."""
    other_version = None
    try:
        return open_storage(disk), None
    except (CorruptStoreError, StoreVersionError) as error:
        if isinstance(error, StoreVersionError):
            other_version = error
        if not any(str(error) in found.what for found in findings):
            findings.append(damage("the store opens", "the log", str(error), ""))
    except Exception as error:  # bytes with a right checksum that mean nothing
        findings.append(damage("the store opens", "the log", f"It cannot be decoded: {error!r}."))
    return None, other_version


def _needed_ends(storage: Storage) -> dict[int, int]:
    """Return, by log file, where the last bytes end that a segment needs."""
    ends: dict[int, int] = {}
    for segment in storage._synced.names.values():
        extents = segment.extents
        for file, position, length in zip(extents.files, extents.positions, extents.lengths, strict=True):
            ends[file] = max(ends.get(file, 0), position + length)
    return ends


def _recorded_cuts(disk: Disk) -> list[Finding]:
    """Return a note for each torn tail that an earlier start cut."""
    return [
        note(
            TAIL,
            cut.file,
            f"An earlier start cut {cut.length} bytes after group {cut.sequence}: a torn tail.",
            offset=cut.offset,
        )
        for cut in read_history(disk).cuts
    ]


def _after_the_groups(scan: FileScan, may_be_torn: bool, needed: dict[int, int] | None) -> list[Finding]:
    """Judge what follows the valid groups of a file. ``needed`` is None if the store does not open."""
    if scan.later is not None:
        offset, sequence = scan.later
        what = f"A group cannot be read, and group {sequence} after it, at {offset}, can."
        if needed is None:
            return [note(GROUPS, scan.name, what, offset=scan.end)]
        if needed.get(scan.file_id, 0) > scan.end:
            return [damage(GROUPS, scan.name, what, RESTORE, scan.end)]
        step = "No segment needs these bytes. 'pravega-lab admin compact' removes them."
        return [note(GROUPS, scan.name, what, step, scan.end)]
    if not scan.rest_bytes or not may_be_torn:
        return []
    if needed is None:
        what = f"{scan.rest_bytes} bytes after the last valid group cannot be read."
        return [note(TAIL, scan.name, what, offset=scan.end)]
    what = (
        f"The last group was torn by a crash, and its {scan.rest_bytes} bytes were acknowledged to no one."
        if scan.groups
        else f"{scan.rest_bytes} bytes of a group that was never finished are here."
    )
    return [note(TAIL, scan.name, what, "The next start cuts them off.", scan.end)]


def _places(storage: Storage, logs: dict[int, FileScan]) -> list[Finding]:
    """Find segments whose bytes are outside the valid groups of a file, the first place of each."""
    found: list[Finding] = []
    for name, segment in storage._synced.names.items():
        extents = segment.extents
        for file, position, length in zip(extents.files, extents.positions, extents.lengths, strict=True):
            if file < 0:
                chunk = storage._synced.chunks.get(-file)
                if chunk is None or position + length > chunk.length:
                    what = f"Bytes of segment {name!r} are in chunk {-file} of tier 2, which has no record."
                    found.append(damage(PLACES, f"chunk {-file}", what, RESTORE))
                continue
            scan = logs.get(file)
            end = scan.end if scan else 0
            if position >= FILE_HEADER_BYTES and position + length <= end:
                continue
            what = f"Bytes of segment {name!r} at {position} are after the valid groups, which end at {end}."
            found.append(damage(PLACES, file_name(file), what, RESTORE, max(position, end)))
            break
    return found


def _chunks(
    chunks: Collection[Chunk], store_id: bytes, read_chunk: Callable[[str], bytes | None]
) -> list[Finding]:
    """Find the chunks that are missing or are not as they were written."""
    found: list[Finding] = []
    for chunk in chunks:
        data = read_chunk(chunk.name)
        if data is None:
            what = "The chunk is missing in tier 2. Is this the --tier2 of the store, and is it mounted?"
            found.append(damage(CHUNKS, chunk.name, what))
        elif (block := damaged_block(chunk, 0, data, store_id)) is not None or len(data) != chunk.length:
            offset = BLOCK_BYTES * block if block is not None else min(len(data), chunk.length)
            what = f"Tier 2 has {len(data)} bytes of it, which are not the {chunk.length} that were written."
            found.append(damage(CHUNKS, chunk.name, what, offset=offset))
    return found
