"""Reads of log files with the checksum of every group verified. What was verified is kept in memory.

A group is verified as a whole, and its bytes are kept, not the fact that they were right: bits that flip on
the disk later are never returned.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from typing import NoReturn

from ..errors import CorruptStoreError
from .disk import Disk
from .format import FILE_HEADER_BYTES, file_name, file_salt, group_is_valid, group_length

VERIFIED_BYTES = 16 * 1024 * 1024
WINDOW_BYTES = 64 * 1024


class VerifiedReads:
    """Reads bytes of log files, group by group."""

    def __init__(self, disk: Disk, store_id: bytes, max_bytes: int = VERIFIED_BYTES) -> None:
        self._disk = disk
        self._store_id = store_id
        self._max_bytes = max_bytes
        self._bytes = 0
        self._starts: dict[int, array[int]] = {}  # where groups begin; the last entry: where they are unknown
        self._groups: OrderedDict[tuple[int, int], bytes] = OrderedDict()  # least recently used first

    def add(self, file: int, offset: int, length: int) -> None:
        """Note where a group of a file is. Groups come in the order of their offsets, without gaps."""
        starts = self._starts.setdefault(file, array("Q", [offset]))
        if starts[-1] == offset:
            starts.append(offset + length)

    def forget(self, file: int) -> None:
        """Forget a file that is deleted."""
        for start in self._starts.pop(file, ()):
            self._bytes -= len(self._groups.pop((file, start), b""))

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
            group = self._disk.read(file_name(file), start, end - start)
            header = group_length(group)
            if header is None or header[1] != len(group) or len(group) != end - start:
                self._refuse(file, start, position)
            if not group_is_valid(group, file_salt(self._store_id, file)):
                self._refuse(file, start, position)
            self._keep((file, start), group)
        else:
            self._groups.move_to_end((file, start))
        return group[position - start : position - start + length]

    def _keep(self, key: tuple[int, int], group: bytes) -> None:
        self._groups[key] = group
        self._bytes += len(group)
        while self._bytes > self._max_bytes and len(self._groups) > 1:
            self._bytes -= len(self._groups.popitem(last=False)[1])

    def _find(self, file: int, starts: array[int], position: int) -> None:
        """Follow the lengths of groups to the one that holds ``position``."""
        name = file_name(file)
        while starts[-1] <= position:
            base = starts[-1]
            window = self._disk.read(name, base, WINDOW_BYTES)
            while starts[-1] <= position:
                found = group_length(window[starts[-1] - base : starts[-1] - base + FILE_HEADER_BYTES])
                if found is None:
                    if starts[-1] == base:
                        self._refuse(file, base, position)
                    break
                starts.append(starts[-1] + found[1])

    def _refuse(self, file: int, start: int, position: int) -> NoReturn:
        raise CorruptStoreError(
            f"The log file {file_name(file)!r} is damaged at offset {start}: the group there has another"
            f" checksum, and the requested bytes are at {position}. Restore the folder from a copy. All other"
            " data can still be read."
        )
