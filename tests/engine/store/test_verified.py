"""Reads of large groups: which bytes are fetched and verified again, and that damage is never returned."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from pravega_lab.engine.store.errors import CorruptStoreError
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log.disk import RealDisk
from pravega_lab.engine.store.log.format import (
    FILE_HEADER_BYTES,
    Submitted,
    encode_group,
    file_header,
    file_name,
    file_salt,
)
from pravega_lab.engine.store.log.verified import BLOCK_BYTES, LARGE_BYTES, WINDOW_BYTES, VerifiedReads
from tests.engine.store.storage_driver import TornDisk

STORE_ID, FILE = b"s" * 16, 1


class CountingDisk(TornDisk):
    """Counts the bytes that are read."""

    read_bytes = 0

    def read(self, name: str, offset: int, length: int) -> bytes:
        found = super().read(name, offset, length)
        self.read_bytes += len(found)
        return found


def disk_of(groups: list[int]) -> tuple[CountingDisk, list[int]]:
    """A disk with one log file of groups with so many bytes of one append, and where these bytes begin."""
    content, places = bytearray(file_header(STORE_ID, FILE, 1 << 24)), []
    for number, size in enumerate(groups, 1):
        segment = SimpleNamespace(id=number)
        entry = (ops.Append("a", bytes([number]) * size), segment, None)
        salt = file_salt(STORE_ID, FILE)
        data, starts = encode_group(number, salt, len(content), [Submitted(0, [entry])])  # type: ignore[list-item]
        places.append(starts[number])
        content += data
    disk = CountingDisk()
    disk.contents[file_name(FILE)] = content + bytes(FILE_HEADER_BYTES)
    return disk, places


def test_a_part_of_a_large_group_is_verified_alone_once_the_group_was_verified() -> None:
    size = 2 * LARGE_BYTES
    disk, places = disk_of([size, size])
    reads = VerifiedReads(disk, STORE_ID, max_bytes=1)
    assert reads.read(FILE, places[0], 100) == bytes([1]) * 100
    assert reads.read(FILE, places[1], size) == bytes([2]) * size  # the first group leaves the memory
    before = disk.read_bytes
    middle = places[0] + 3 * BLOCK_BYTES
    assert reads.read(FILE, middle, BLOCK_BYTES) == bytes([1]) * BLOCK_BYTES
    assert disk.read_bytes - before <= 2 * BLOCK_BYTES
    assert reads.read(FILE, places[0] + size - 10, 10) == bytes([1]) * 10

    disk.contents[file_name(FILE)][middle] ^= 1
    with pytest.raises(CorruptStoreError, match=re.escape(f"is damaged at offset {FILE_HEADER_BYTES}")):
        reads.read(FILE, middle, 1)
    assert reads.read(FILE, places[0], 100) == bytes([1]) * 100
    disk.contents[file_name(FILE)][middle] ^= 1
    assert reads.read(FILE, middle, 1) == bytes([1])
    del disk.contents[file_name(FILE)][middle + 10 :]
    with pytest.raises(CorruptStoreError):
        reads.read(FILE, middle, 1)


def test_a_group_that_was_read_whole_is_verified_whole_again() -> None:
    size = 2 * LARGE_BYTES
    disk, places = disk_of([size, size])
    reads = VerifiedReads(disk, STORE_ID, max_bytes=1)
    for _ in range(2):
        for number, place in enumerate(places, 1):
            assert reads.read(FILE, place, size) == bytes([number]) * size
    assert not reads._blocks
    reads.read(FILE, places[0], 10)
    reads.read(FILE, places[1], 10)
    assert list(reads._blocks) == [(FILE, FILE_HEADER_BYTES)]
    reads.forget(FILE)
    assert not reads._blocks
    assert not reads._returned


@pytest.mark.parametrize("byte", range(8))
def test_a_group_with_a_damaged_length_is_refused_and_takes_no_memory(tmp_path: Path, byte: int) -> None:
    """A read of as many bytes as the header claims could take all memory of the process."""
    groups, places = disk_of([1000, 1000])
    content = groups.contents[file_name(FILE)]
    content[FILE_HEADER_BYTES + 16 + byte] ^= 0x40
    disk = RealDisk(tmp_path)
    (tmp_path / file_name(FILE)).write_bytes(content)
    lengths: list[int] = []
    pread = os.pread
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", lambda handle, n, at: (lengths.append(n), pread(handle, n, at))[1])
        for known in (False, True):
            reads = VerifiedReads(disk, STORE_ID)
            if known:  # as recovery found them
                reads.add(FILE, FILE_HEADER_BYTES, places[1] - places[0])
            with pytest.raises(
                CorruptStoreError, match=re.escape(f"{file_name(FILE)!r} is damaged at offset")
            ):
                reads.read(FILE, places[0], 1000)
    disk.close()
    assert max(lengths) <= max(len(content), WINDOW_BYTES)
