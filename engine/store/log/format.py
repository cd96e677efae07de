"""The bytes of the log: file headers, groups, and the operations inside them. No input or output.

A log file is a header of 512 bytes, which holds the size of the file too, and then groups, one after the
other::

    group   = "PLG1", u32 checksum, u64 sequence, u64 length of the rest, u32 length of entries, entries, data
    entries = (i64 now_ms, u32 count, count operations)*, a bracket per submission with its time
    data    = the bytes of all appends, those of one segment together, segments in order of first append

The checksum (CRC-32) begins from a number that only this file has. Bytes that a client stored, a copy of a
log among them, are therefore never taken for a group of this file. All numbers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from . import operations as ops
from . import values
from .checksum import crc32
from .chunks import Chunk, Piece

FILE_HEADER_BYTES = 512
SECTOR_BYTES = 512
"""A disk writes a sector as a whole or not at all. A crash can leave any of the sectors of a write."""
LOG_VERSION = 1
"""The version of the format of log files. A change that an older release would misread gets a new number.

`tests/engine/store/test_versions.py` opens a store of every earlier version.
"""

_NAME = b"PRAVEGALABLOG\x00"
_VERSION = struct.Struct(">H")
_FILE_MAGIC = _NAME + _VERSION.pack(LOG_VERSION)
_FILE_HEADER = struct.Struct(">16s16sQI")
GROUP_MAGIC = b"PLG1"
_GROUP_HEADER = struct.Struct(">4sIQQ")
GROUP_HEADER_BYTES = _GROUP_HEADER.size
GROUP_OVERHEAD_BYTES = GROUP_HEADER_BYTES + 4
_SEQUENCE_AND_LENGTH = struct.Struct(">QQ")
_LENGTH = struct.Struct(">I")
_CREATION = struct.Struct(">QQ")
_SUBMISSION = struct.Struct(">qI")
_APPEND = struct.Struct(">BQB16sqiI")
_OTHER = struct.Struct(">BI")
_ONE_APPEND = struct.Struct(">I" + _SUBMISSION.format[1:] + _APPEND.format[1:])
OPERATION_OVERHEAD_BYTES = 96
CHECKED_TIMES = 4
_NO_WRITER = bytes(16)


class Numbered(Protocol):
    """A segment as the log knows it: by an id that is never used again."""

    id: int


Entry = tuple[ops.Operation, Numbered | None, Numbered | None]
"""An operation, the segment that it changes, and the source of a merge."""


def file_name(file_id: int) -> str:
    """Return the name of a log file. Names sort by id."""
    return f"log-{file_id:012d}"


def file_id_of(name: str) -> int | None:
    """Return the id in the name of a log file, None for other files."""
    return _number_in(name, "log-", file_name)


def snapshot_file_name(sequence: int) -> str:
    """Return the name of the snapshot of the state after group ``sequence``. Names sort by sequence."""
    return f"snapshot-{sequence:012d}"


def snapshot_sequence_of(name: str) -> int | None:
    """Return the sequence in the name of a snapshot, None for other files."""
    return _number_in(name, "snapshot-", snapshot_file_name)


def _number_in(name: str, prefix: str, name_of: Callable[[int], str]) -> int | None:
    """Return the number in a name as the store gives it, None in any other name: a copy that an editor or a
    person made is no file of the store.
    """
    digits = name.removeprefix(prefix)
    if digits == name or not digits.isascii() or not digits.isdigit():
        return None
    number = int(digits)
    return number if name == name_of(number) else None


def file_header(store_id: bytes, file_id: int, size: int, previous: int | None = None) -> bytes:
    """Return the first 512 bytes of a log file of ``size`` bytes; ``store_id`` has 16 bytes.

    ``previous`` is the id of the file that was created before it, by default the id before its own.
    """
    body = _FILE_HEADER.pack(_FILE_MAGIC, store_id, file_id, 0)[:-4]
    creation = _CREATION.pack(size, file_id - 1 if previous is None else previous)
    parts = (body, _LENGTH.pack(crc32(body)), creation, _LENGTH.pack(crc32(creation)))
    return b"".join(parts).ljust(FILE_HEADER_BYTES, b"\0")


def file_version(data: bytes) -> int | None:
    """Return the version of the format in a file header, None if ``data`` does not begin as a log file."""
    if len(data) < len(_FILE_MAGIC) or not data.startswith(_NAME):
        return None
    return int(_VERSION.unpack_from(data, len(_NAME))[0])


def read_file_header(data: bytes) -> tuple[bytes, int] | None:
    """Return (store id, file id), or None if ``data`` is not the beginning of a log file."""
    if len(data) < FILE_HEADER_BYTES:
        return None
    magic, store_id, file_id, checksum = _FILE_HEADER.unpack_from(data)
    if magic != _FILE_MAGIC or checksum != crc32(data[: _FILE_HEADER.size - 4]):
        return None
    return store_id, file_id


def creation_of(header: bytes) -> tuple[int, int] | None:
    """Return (size in bytes, id of the previous file) with which a log file was created, from its header.

    Return None if an older release created the file, and did not write them. Raises ValueError if they are
    damaged.
    """
    written = header[_FILE_HEADER.size : _FILE_HEADER.size + _CREATION.size + _LENGTH.size]
    if not written.strip(b"\0"):
        return None
    if _LENGTH.unpack_from(written, _CREATION.size)[0] != crc32(written[: _CREATION.size]):
        raise ValueError("the size in it has another checksum")
    size, previous = _CREATION.unpack_from(written)
    return int(size), int(previous)


@lru_cache(maxsize=64)
def file_salt(store_id: bytes, file_id: int) -> int:
    """Return the number from which the checksums of a file begin."""
    return crc32(store_id + _SEQUENCE_AND_LENGTH.pack(file_id, 0))


# Groups


class Submitted(NamedTuple):
    """The entries of one submission, with its time in ms since 1970."""

    now_ms: int
    entries: Sequence[Entry]


def encode_group(
    sequence: int, salt: int | None, offset: int, submissions: Sequence[Submitted]
) -> tuple[bytes, dict[int, int]]:
    """Return a whole group and, by segment id, the offset in the file at which the segment's bytes begin.

    The group is to be written at ``offset`` of its file. With ``salt`` None it has no checksum, for a log
    that no recovery will read.
    """
    if len(submissions) == 1:
        [(now_ms, entries)] = submissions
        if len(entries) == 1 and type(entries[0][0]) is ops.Append:
            return _encode_one_append(sequence, salt, offset, now_ms, entries[0])
    return _encode_any(sequence, salt, offset, submissions)


def _encode_any(
    sequence: int, salt: int | None, offset: int, submissions: Sequence[Submitted]
) -> tuple[bytes, dict[int, int]]:
    encoded: list[bytes] = []
    runs: dict[int, list[bytes]] = {}
    for now_ms, entries in submissions:
        encoded.append(_SUBMISSION.pack(now_ms, len(entries)))
        for entry in entries:
            if type(entry[0]) is ops.Append:
                _encode_append(entry, encoded, runs)
            else:
                _encode_other(entry, encoded)
    head = b"".join(encoded)
    position = offset + GROUP_OVERHEAD_BYTES + len(head)
    starts: dict[int, int] = {}
    parts = [b"", _LENGTH.pack(len(head)), head]
    for segment_id, run in runs.items():
        starts[segment_id] = position
        position += sum(map(len, run))
        parts.extend(run)
    length = position - offset - GROUP_HEADER_BYTES
    checksum = 0
    if salt is not None:
        checksum = crc32(_SEQUENCE_AND_LENGTH.pack(sequence, length), salt)
        for part in parts:
            checksum = crc32(part, checksum)
    parts[0] = _GROUP_HEADER.pack(GROUP_MAGIC, checksum, sequence, length)
    return b"".join(parts), starts


def _encode_one_append(
    sequence: int, salt: int | None, offset: int, now_ms: int, entry: Entry
) -> tuple[bytes, dict[int, int]]:
    """Do what `encode_group` does for a single append, the usual group of a store that is not busy."""
    operation, segment, _ = entry
    assert isinstance(operation, ops.Append)
    assert segment is not None
    data, writer = operation.data, operation.writer_id
    head = _ONE_APPEND.pack(
        _SUBMISSION.size + _APPEND.size,
        now_ms,
        1,
        1,
        segment.id,
        writer is not None,
        _NO_WRITER if writer is None else writer.bytes,
        operation.event_number,
        operation.event_count,
        len(data),
    )
    length = len(head) + len(data)
    checksum = 0
    if salt is not None:
        checksum = crc32(_SEQUENCE_AND_LENGTH.pack(sequence, length), salt)
        checksum = crc32(data, crc32(head, checksum))
    header = _GROUP_HEADER.pack(GROUP_MAGIC, checksum, sequence, length)
    return b"".join((header, head, data)), {segment.id: offset + GROUP_HEADER_BYTES + len(head)}


def _encode_append(entry: Entry, encoded: list[bytes], runs: dict[int, list[bytes]]) -> None:
    operation, segment, _ = entry
    assert isinstance(operation, ops.Append)
    assert segment is not None
    writer, data = operation.writer_id, operation.data
    encoded.append(
        _APPEND.pack(
            1,
            segment.id,
            writer is not None,
            _NO_WRITER if writer is None else writer.bytes,
            operation.event_number,
            operation.event_count,
            len(data),
        )
    )
    run = runs.get(segment.id)
    if run is None:
        runs[segment.id] = [data]
    else:
        run.append(data)


def group_length(header: bytes | memoryview) -> tuple[int, int] | None:
    """Return (sequence, bytes of the whole group) from a group header, None if it is no group header."""
    if len(header) < GROUP_HEADER_BYTES or header[:4] != GROUP_MAGIC:
        return None
    _, _, sequence, length = _GROUP_HEADER.unpack_from(header)
    return sequence, GROUP_HEADER_BYTES + length


def group_is_valid(group: bytes | memoryview, salt: int) -> bool:
    """Return whether the bytes of a whole group have the checksum in its header."""
    _, checksum, sequence, length = _GROUP_HEADER.unpack_from(group)
    found = crc32(_SEQUENCE_AND_LENGTH.pack(sequence, length), salt)
    return bool(crc32(memoryview(group)[GROUP_HEADER_BYTES:], found) == checksum)


def group_at(content: memoryview, position: int, salt: int) -> tuple[int, memoryview] | None:
    """Return (sequence, bytes) of the valid group at ``position`` of a file, None if there is none."""
    header = group_length(content[position : position + GROUP_HEADER_BYTES])
    if header is None or position + header[1] > len(content):
        return None
    group = content[position : position + header[1]]
    return (header[0], group) if group_is_valid(group, salt) else None


def later_group(content: memoryview, position: int, salt: int, sequences: range) -> tuple[int, int] | None:
    """Return (offset, sequence) of a valid group after ``position`` of a file, None if none is found.

    Events can be full of bytes that look like headers of long groups. The checksum of a group is therefore
    computed only if its sequence is one of ``sequences``, and the search ends when it has read
    `CHECKED_TIMES` the size of the file. It then begins again at the end of the file, so that such an event
    hides no group on its other side.
    """
    rest = bytes(content[position:]).rstrip(b"\0")
    for places in (_forwards(rest), _backwards(rest)):
        left = CHECKED_TIMES * len(content)
        for at in places:
            header = group_length(rest[at : at + GROUP_HEADER_BYTES])
            if header is None or header[0] not in sequences or position + at + header[1] > len(content):
                continue
            left -= header[1]
            if left < 0:
                break
            if group_at(content, position + at, salt) is not None:
                return position + at, header[0]
    return None


def sequences_after(last: int, log_bytes: int) -> range:
    """Return the sequences that groups after group ``last`` can have in a log of so many bytes."""
    return range(last + 1, last + 2 + log_bytes // GROUP_OVERHEAD_BYTES)


def _forwards(rest: bytes) -> Iterator[int]:
    at = rest.find(GROUP_MAGIC, 1)
    while at >= 0:
        yield at
        at = rest.find(GROUP_MAGIC, at + 1)


def _backwards(rest: bytes) -> Iterator[int]:
    at = rest.rfind(GROUP_MAGIC, 1)
    while at >= 0:
        yield at
        at = rest.rfind(GROUP_MAGIC, 1, at + len(GROUP_MAGIC) - 1)


def can_be_torn(rest: bytes, offset: int, room: int, sequence: int) -> bool:
    """Return whether a crash can leave ``rest`` where group ``sequence`` was being written over zeros.

    ``rest`` begins at ``offset`` of the file and has no zeros at its end. ``room`` is what the file has from
    there on, in bytes. Of the header each byte is right or missing, and nothing follows the group.
    """
    found = rest[:GROUP_HEADER_BYTES].ljust(GROUP_HEADER_BYTES, b"\0")
    expected = _GROUP_HEADER.pack(GROUP_MAGIC, 0, sequence, 0)
    known = [(found[at], expected[at]) for at in (*range(4), *range(8, 16))]  # magic and sequence
    if any(byte not in (0, right) for byte, right in known):
        return False
    boundary = SECTOR_BYTES - offset % SECTOR_BYTES
    is_cut = boundary < GROUP_HEADER_BYTES and not rest[boundary : boundary + SECTOR_BYTES].strip(b"\0")
    if is_cut or any(byte != right for byte, right in known):
        return True  # the length is missing too, or may be
    length: int = _GROUP_HEADER.unpack(found)[3]
    return len(rest) <= GROUP_HEADER_BYTES + length <= room


# Operations


@dataclass(frozen=True, slots=True)
class Logged:
    """An operation as it is in the log, with segments by id.

    ``position`` is the offset in the group at which an append's bytes begin.
    """

    operation: ops.Operation
    segment_id: int = 0
    source_id: int = 0
    position: int = 0


def decode_group(group: bytes | memoryview) -> list[tuple[int, list[Logged]]]:
    """Return the submissions of a valid group in order, each as (now_ms, operations)."""
    (head_length,) = _LENGTH.unpack_from(group, GROUP_HEADER_BYTES)
    offset, end = GROUP_OVERHEAD_BYTES, GROUP_OVERHEAD_BYTES + head_length
    parsed: list[tuple[int, list[Logged | tuple[int, ...]]]] = []
    totals: dict[int, int] = {}
    while offset < end:
        now_ms, count = _SUBMISSION.unpack_from(group, offset)
        offset += _SUBMISSION.size
        found: list[Logged | tuple[int, ...]] = []
        for _ in range(count):
            if group[offset] == 1:
                fields = _APPEND.unpack_from(group, offset)
                offset += _APPEND.size
                totals[fields[1]] = totals.get(fields[1], 0) + fields[6]
                found.append(fields)
            else:
                logged, offset = _decode_other(group, offset)
                found.append(logged)
        parsed.append((now_ms, found))
    starts = _starts(totals, end)
    return [(now_ms, list(_place(group, found, starts))) for now_ms, found in parsed]


def _starts(totals: dict[int, int], position: int) -> dict[int, int]:
    starts = {}
    for segment_id, length in totals.items():
        starts[segment_id] = position
        position += length
    return starts


def _place(
    group: bytes | memoryview, found: list[Logged | tuple[int, ...]], starts: dict[int, int]
) -> Iterator[Logged]:
    for item in found:
        if isinstance(item, Logged):
            yield item
            continue
        _, segment_id, has_writer, writer, number, count, length = item
        position = starts[segment_id]
        starts[segment_id] += length
        writer_id = UUID(bytes=writer) if has_writer else None  # type: ignore[arg-type]
        data: Any = group[position : position + length]  # a view: only its length matters now
        append = ops.Append("", data, count, writer_id, number)
        yield Logged(append, segment_id, 0, position)


_KINDS: tuple[tuple[int, type[ops.Operation], tuple[str, ...]], ...] = (
    (2, ops.CreateSegment, ("segment", "is_table", "scale_type", "target_rate", "key_length")),
    (3, ops.Seal, ()),
    (4, ops.Truncate, ("offset",)),
    (5, ops.Delete, ()),
    (6, ops.Merge, ()),
    (7, ops.SetAttribute, ("attribute_id", "value")),
    (8, ops.SetPolicy, ("scale_type", "target_rate")),
    (9, ops.UpdateTable, ("entries",)),
    (10, ops.RemoveTableKeys, ("keys",)),
    (11, ops.PutRecord, ("key", "value")),
    (12, ops.MoveToTier, ("chunk", "pieces")),
)
_CODE_OF = {kind: (code, fields) for code, kind, fields in _KINDS}
_KIND_OF = {code: (kind, fields) for code, kind, fields in _KINDS}


def _encode_other(entry: Entry, encoded: list[bytes]) -> None:
    operation, segment, source = entry
    code, fields = _CODE_OF[type(operation)]
    body = values.encode_parts(
        (
            segment.id if segment else 0,
            source.id if source else 0,
            *(getattr(operation, field) for field in fields),
        )
    )
    encoded.append(_OTHER.pack(code, sum(map(len, body))))
    encoded.extend(body)


def _decode_other(group: bytes | memoryview, offset: int) -> tuple[Logged, int]:
    code, length = _OTHER.unpack_from(group, offset)
    offset += _OTHER.size
    (segment_id, source_id, *found), _ = values.decode(group, offset)
    kind, fields = _KIND_OF[code]
    arguments = dict(zip(fields, found, strict=True))
    if kind is ops.Merge:
        arguments = {"target": "", "source": ""}
    elif kind is ops.MoveToTier:
        arguments["chunk"] = Chunk(*arguments["chunk"])
        arguments["pieces"] = tuple(Piece(*piece) for piece in arguments["pieces"])
    elif kind not in (ops.CreateSegment, ops.PutRecord):
        arguments["segment"] = ""
    for name, entry in (("entries", ops.TableUpdate), ("keys", ops.TableRemoval)):
        if name in arguments:
            arguments[name] = tuple(entry(*item) for item in arguments[name])
    return Logged(kind(**arguments), segment_id, source_id), offset + length
