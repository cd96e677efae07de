"""Every group of every log file, checked: where the valid groups of a file end, and what follows them.

Recovery reads only what it needs. A scan reads everything, and lists all damage instead of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import CorruptStoreError, StoreVersionError, check_version
from ..log.chunks import Chunk, Piece
from ..log.disk import Disk
from ..log.format import (
    FILE_HEADER_BYTES,
    LOG_VERSION,
    decode_group,
    file_id_of,
    file_salt,
    file_version,
    group_at,
    later_group,
    read_file_header,
    sequences_after,
    snapshot_sequence_of,
)
from ..log.operations import TableRemoval, TableUpdate
from ..storage.snapshot import decode_snapshot
from ..storage.synced_state import Synced
from .findings import RESTORE, Finding, damage, note

HEADERS = "file headers are right"
SNAPSHOTS = "snapshots are right"
_NOT_OF_STORE = "its header is not one of this store"


@dataclass(frozen=True, slots=True)
class FileScan:
    """A log file whose header is right.

    Attributes:
        first, last: Sequences of its first and last group before ``end``, 0 without a group.
        end: Where the valid groups end, in bytes.
        rest_bytes: The bytes from ``end`` to the last byte that is not zero.
        later: Offset and sequence of a valid group after ``end``, which proves that one before it is damaged.
    """

    name: str
    file_id: int
    size: int
    groups: int
    first: int
    last: int
    end: int
    rest_bytes: int
    later: tuple[int, int] | None


def scan_logs(disk: Disk, findings: list[Finding]) -> dict[int, FileScan]:
    """Check every group of every log file. Return the files by id, without those whose header is damaged."""
    found: dict[int, FileScan] = {}
    store_id: bytes | None = None
    for name, size in disk.files().items():
        file_id = file_id_of(name)
        if file_id is None:
            continue
        content = memoryview(disk.read(name, 0, size))
        try:
            header = _header(name, bytes(content[:FILE_HEADER_BYTES]))
        except StoreVersionError as error:
            findings.append(damage(HEADERS, name, str(error), "", 0))
            continue
        if header is None or header[1] != file_id or store_id not in (None, header[0]):
            findings.append(damage(HEADERS, name, f"The log file is damaged: {_NOT_OF_STORE}.", RESTORE, 0))
            continue
        store_id = header[0]
        found[file_id] = _scan(name, file_id, content, file_salt(*header))
    return found


def _header(name: str, data: bytes) -> tuple[bytes, int] | None:
    version = file_version(data)
    if version is not None:
        check_version(name, version, LOG_VERSION)
    return read_file_header(data)


def _scan(name: str, file_id: int, content: memoryview, salt: int) -> FileScan:
    position, first, last, count = FILE_HEADER_BYTES, 0, 0, 0
    while (group := group_at(content, position, salt)) is not None:
        first, last = first or group[0], group[0]
        position += len(group[1])
        count += 1
    rest = bytes(content[position:]).rstrip(b"\0")
    possible = sequences_after(last, len(content)) if count else range(1, 1 << 64)
    later = later_group(content, position, salt, possible)
    return FileScan(name, file_id, len(content), count, first, last, position, len(rest), later)


def tail_of(logs: dict[int, FileScan]) -> list[FileScan]:
    """Return the files in which the last group can be: the last one with groups, and those after it."""
    first = max((file_id for file_id, scan in logs.items() if scan.groups), default=0)
    return [scan for file_id, scan in sorted(logs.items()) if file_id >= first]


def check_snapshots(disk: Disk, findings: list[Finding]) -> None:
    """Check every snapshot. Recovery needs the latest one only, so damage in another is a note."""
    names = [name for name in disk.files() if snapshot_sequence_of(name) is not None]
    for name in names:
        try:
            decode_snapshot(name, disk.read(name, 0, disk.files()[name]), Synced())
        except (CorruptStoreError, StoreVersionError) as error:
            if name == names[-1]:
                findings.append(damage(SNAPSHOTS, name, str(error), "", 0))
            else:
                findings.append(note(SNAPSHOTS, name, f"{error} A later snapshot replaces it.", "", 0))


def operations_of(disk: Disk, names: list[str]) -> Iterator[dict[str, object]]:
    """Yield a row for each operation in the valid groups of the log files ``names``, in their order.

    Columns: file, offset and sequence of the group, now_ms, operation, segment_id, source_id, bytes, detail.
    """
    for name in names:
        content = memoryview(disk.read(name, 0, disk.files()[name]))
        header = _header(name, bytes(content[:FILE_HEADER_BYTES]))
        if header is None:
            raise CorruptStoreError(
                f"The log file {name!r} is damaged at offset 0: {_NOT_OF_STORE}. {RESTORE}"
            )
        position, salt = FILE_HEADER_BYTES, file_salt(*header)
        while (group := group_at(content, position, salt)) is not None:
            for now_ms, submitted in decode_group(group[1]):
                for logged in submitted:
                    place = {"file": name, "offset": position, "sequence": group[0], "now_ms": now_ms}
                    yield place | _row(logged.operation, logged.segment_id, logged.source_id)
            position += len(group[1])


def _row(operation: object, segment_id: int, source_id: int) -> dict[str, object]:
    fields = {name: getattr(operation, name) for name in operation.__slots__}  # type: ignore[attr-defined]
    data = fields.pop("data", b"")
    value = fields.pop("value", None) if isinstance(fields.get("key"), str) else None
    shown = {name: _shown(value) for name, value in fields.items() if value not in ("", None, False, 0)}
    if value is not None:
        shown["value"] = value.decode(errors="replace")
    return {
        "operation": type(operation).__name__,
        "segment_id": segment_id or None,
        "source_id": source_id or None,
        "bytes": len(data) or None,
        "detail": " ".join(f"{name}={text}" for name, text in shown.items()),
    }


def _shown(value: object) -> str:
    if isinstance(value, Chunk):
        return f"{value.name} of {value.length} bytes"
    if isinstance(value, tuple):
        return f"{len(value)} of {sum(map(_size, value))} bytes"
    return value.hex() if isinstance(value, bytes) else str(value)


def _size(item: TableUpdate | TableRemoval | Piece) -> int:
    """Return the bytes of one item in an operation: of key and value, or those that move."""
    if isinstance(item, Piece):
        return item.length
    return sum(len(part) for part in item if isinstance(part, bytes))
