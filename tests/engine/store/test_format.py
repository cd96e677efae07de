"""The bytes of a group, whichever way they were encoded."""

from __future__ import annotations

import struct
from itertools import product
from uuid import UUID

import pytest

from pravega_lab.engine.store.log import format as log_format
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log.format import (
    FILE_HEADER_BYTES,
    SECTOR_BYTES,
    Submitted,
    can_be_torn,
    decode_group,
    encode_group,
    group_is_valid,
)
from pravega_lab.engine.store.storage.segment import Segment

WRITER = UUID(int=7)


@pytest.mark.parametrize("salt", [None, 99])
@pytest.mark.parametrize("writer", [None, WRITER])
@pytest.mark.parametrize("data", [b"", b"event", b"x" * 100_000])
def test_a_group_of_one_append_has_the_bytes_that_any_group_would_have(
    data: bytes, writer: UUID | None, salt: int | None
) -> None:
    append = ops.Append("s/a/0.#epoch.0", data, 3, writer, 17)
    submitted = [Submitted(1_000, [(append, Segment(5, append.segment, None), None)])]
    found = encode_group(9, salt, 512, submitted)
    assert found == log_format._encode_any(9, salt, 512, submitted)
    group, starts = found
    assert group[starts[5] - 512 :] == data
    [(now_ms, [logged])] = decode_group(group)
    operation = logged.operation
    assert isinstance(operation, ops.Append)
    assert (now_ms, logged.segment_id, operation.writer_id) == (1_000, 5, writer)
    assert (operation.event_number, operation.event_count, bytes(operation.data)) == (17, 3, data)
    if salt is not None:
        assert group_is_valid(group, salt)
        assert not group_is_valid(group, salt + 1)


def group_of(data: bytes, sequence: int = 9, offset: int = FILE_HEADER_BYTES) -> bytes:
    append = ops.Append("s/a/0.#epoch.0", data)
    submitted = [Submitted(1_000, [(append, Segment(5, append.segment, None), None)])]
    return encode_group(sequence, 99, offset, submitted)[0]


def look_alikes(sequence: int, length: int, n_bytes: int) -> bytes:
    """Bytes that look like the headers of long groups, one after the other."""
    return struct.pack(">4sIQQ", b"PLG1", 0, sequence, length) * (n_bytes // 24)


@pytest.mark.parametrize("order", ["event first", "group first"])
def test_events_that_look_like_groups_hide_no_group_and_take_no_time(
    order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[int] = []
    right = log_format.group_is_valid
    monkeypatch.setattr(
        log_format, "group_is_valid", lambda group, salt: checked.append(len(group)) or right(group, salt)
    )
    file_bytes, event = 1 << 20, look_alikes(10, 200_000, 400_000)
    event += look_alikes(10, 1 << 40, 24)  # longer than the file
    group = group_of(b"event", sequence=10)
    parts = (event, group) if order == "event first" else (group, event)
    content = memoryview(b"".join((b"-", *parts)).ljust(file_bytes, b"\0"))
    found = log_format.later_group(content, 0, 99, range(10, 12))
    assert found == (1 + (len(event) if order == "event first" else 0), 10)
    assert sum(checked) <= log_format.CHECKED_TIMES * file_bytes + len(group)
    checked.clear()
    content = memoryview((b"-" + event).ljust(file_bytes, b"\0"))
    assert log_format.later_group(content, 0, 99, range(10, 12)) is None
    assert sum(checked) <= 2 * log_format.CHECKED_TIMES * file_bytes
    checked.clear()
    assert log_format.later_group(content, 0, 99, range(11, 12)) is None
    assert checked == []  # no such sequence can be there


def with_sectors(group: bytes, offset: int, kept: tuple[bool, ...]) -> bytes:
    """A group of which these sectors are on the disk, over zeros."""
    sector_of = [(offset + at) // SECTOR_BYTES - offset // SECTOR_BYTES for at in range(len(group))]
    return bytes(byte if kept[sector] else 0 for byte, sector in zip(group, sector_of, strict=True))


@pytest.mark.parametrize("n_bytes", [9, 1000])
def test_whatever_a_crash_leaves_of_a_group_can_be_torn(n_bytes: int) -> None:
    """At each place in a sector, so that the header is cut at each of its bytes, too."""
    for offset in range(SECTOR_BYTES, 2 * SECTOR_BYTES):
        if n_bytes > 100 and -offset % SECTOR_BYTES > 40:
            continue
        group = group_of(b"x" * n_bytes, offset=offset)
        sectors = (offset + len(group) - 1) // SECTOR_BYTES - offset // SECTOR_BYTES + 1
        for kept in product((False, True), repeat=sectors):
            left = with_sectors(group, offset, kept).rstrip(b"\0")
            assert can_be_torn(left, offset, len(group), 9), (offset, kept)
    group = group_of(b"PLG1" * 20)
    for length in range(len(group)):  # a write that ended anywhere, and one of zeros over it
        assert can_be_torn(group[:length].rstrip(b"\0"), 512, len(group), 9)
        assert can_be_torn(bytes(length) + group[length:], 512, len(group), 9)


def test_what_no_crash_leaves_cannot_be_torn() -> None:
    group = group_of(b"event")
    room = 2 * len(group)
    assert can_be_torn(group, 512, room, 9)
    for offset in (512, 512 - 24, 512 - 10):  # the header in one sector, and in two
        assert not can_be_torn(group + b"x", offset, room, 9)
        assert not can_be_torn(group + group_of(b"", 10), offset, room, 9)
    assert not can_be_torn(group, 512, len(group) - 1, 9)
    assert not can_be_torn(group, 512, room, 8)
    assert not can_be_torn(b"\xff" * len(group), 512, room, 9)
    for at in (*range(4), 15):
        damaged = bytearray(group)
        damaged[at] ^= 2
        assert not can_be_torn(bytes(damaged), 512, room, 9)
