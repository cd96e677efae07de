"""Reads of log files with the checksum of every group verified. What was verified is kept in memory.

A group is verified as a whole, and its bytes are kept, not the fact that they were right: bits that flip on
the disk later are never returned. A large group has bytes of many segments, and readers of each of them come
to it at other times. When it leaves the memory before most of it was read, the checksums of its blocks are
kept, so that later reads fetch and verify the blocks alone that they need.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from typing import NoReturn

from ..errors import CorruptStoreError
from .checksum import crc32
from .disk import Disk
from .format import FILE_HEADER_BYTES, file_name, file_salt, group_is_valid, group_length

VERIFIED_BYTES = 16 * 1024 * 1024
WINDOW_BYTES = 64 * 1024
BLOCK_BYTES = 64 * 1024
LARGE_BYTES = 4 * BLOCK_BYTES
"""Groups of this size have checksums of blocks. They take four bytes of memory for each block."""


GROUP_BYTES_MAX = 1 << 40
"""No group is that large: its length in the header was damaged."""


Key = tuple[int, int]
"""A group: the id of its file, and its offset in the file."""


class VerifiedReads:
    """Reads bytes of log files, group by group."""

    def __init__(self, disk: Disk, store_id: bytes, max_bytes: int = VERIFIED_BYTES) -> None:
        self._disk = disk
        self._store_id = store_id
        self._max_bytes = max_bytes
        self._bytes = 0
        self._starts: dict[int, array[int]] = {}  # where groups begin; the last entry: where they are unknown
        self._groups: OrderedDict[Key, bytes] = OrderedDict()  # least recently used first
        self._returned: dict[Key, int] = {}  # bytes of a group that were returned since it was verified
        self._blocks: dict[Key, array[int]] = {}  # checksums of blocks of large groups

    def add(self, file: int, offset: int, length: int) -> None:
        """Note where a group of a file is. Groups come in the order of their offsets, without gaps."""
        starts = self._starts.setdefault(file, array("Q", [offset]))
        if starts[-1] == offset:
            starts.append(offset + length)

    def forget(self, file: int) -> None:
        """Forget a file that is deleted."""
        for start in self._starts.pop(file, ()):
            self._bytes -= len(self._groups.pop((file, start), b""))
            self._returned.pop((file, start), None)
            self._blocks.pop((file, start), None)

    def read(self, file: int, position: int, length: int) -> bytes:
        """Return bytes of one group. Raises CorruptStoreError if its checksum is another."""
        starts = self._starts.setdefault(file, array("Q", [FILE_HEADER_BYTES]))
        if starts[-1] <= position:
            self._find(file, starts, position)
        index = bisect_right(starts, position) - 1
        if index < 0 or position + length > starts[index + 1]:
            self._refuse(file, position, position)
        start, end = starts[index], starts[index + 1]
        group = self._groups.get((file, start))
        if group is None:
            blocks = self._blocks.get((file, start))
            if blocks is not None:
                return self._read_blocks(file, start, end, position, length, blocks)
            group = self._disk.read(file_name(file), start, end - start)
            header = group_length(group)
            if header is None or header[1] != len(group) or len(group) != end - start:
                self._refuse(file, start, position)
            if not group_is_valid(group, file_salt(self._store_id, file)):
                self._refuse(file, start, position)
            self._keep((file, start), group)
        else:
            self._groups.move_to_end((file, start))
        self._returned[file, start] += length
        return group[position - start : position - start + length]

    def _read_blocks(
        self, file: int, start: int, end: int, position: int, length: int, blocks: array[int]
    ) -> bytes:
        """Return bytes of a large group whose blocks have these checksums."""
        first = (position - start) // BLOCK_BYTES
        last = (position + length - 1 - start) // BLOCK_BYTES if length else first
        begin = start + first * BLOCK_BYTES
        size = min(start + (last + 1) * BLOCK_BYTES, end) - begin
        data = self._disk.read(file_name(file), begin, size)
        if len(data) != size or _checksums(data) != blocks[first : last + 1]:
            self._refuse(file, start, position)
        return data[position - begin : position - begin + length]

    def _keep(self, key: Key, group: bytes) -> None:
        self._groups[key] = group
        self._returned[key] = 0
        self._bytes += len(group)
        while self._bytes > self._max_bytes and len(self._groups) > 1:
            oldest, evicted = self._groups.popitem(last=False)
            self._bytes -= len(evicted)
            returned = self._returned.pop(oldest)
            if len(evicted) >= LARGE_BYTES and returned < len(evicted) // 2:
                self._blocks[oldest] = _checksums(evicted)

    def _find(self, file: int, starts: array[int], position: int) -> None:
        """Follow the lengths of groups to the one that holds ``position``."""
        name = file_name(file)
        while starts[-1] <= position:
            base = starts[-1]
            window = self._disk.read(name, base, WINDOW_BYTES)
            while starts[-1] <= position:
                found = group_length(window[starts[-1] - base : starts[-1] - base + FILE_HEADER_BYTES])
                if found is None or found[1] > GROUP_BYTES_MAX:
                    if starts[-1] == base or found is not None:
                        self._refuse(file, base, position)
                    break
                starts.append(starts[-1] + found[1])

    def _refuse(self, file: int, start: int, position: int) -> NoReturn:
        raise CorruptStoreError(
            f"The log file {file_name(file)!r} is damaged at offset {start}: the group there has another"
            f" checksum, and the requested bytes are at {position}. Restore the folder from a copy. All other"
            " data can still be read."
        )


def _checksums(data: bytes) -> array[int]:
    """Return a checksum for each block of ``data``, of which the first begins with it."""
    view = memoryview(data)
    return array("L", (crc32(view[at : at + BLOCK_BYTES]) for at in range(0, len(data), BLOCK_BYTES)))
