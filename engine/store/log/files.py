"""The log files: which there are, where the next group is written, and which files can be deleted.

One file is written (*current*), one is ready (*spare*), the others are full. The spare is made before it is
needed, so a full disk shows then and not inside a group. When the spare becomes current, a snapshot keeps
the state up to that point, and recovery can begin there. A full file is deleted when a snapshot replaces its
entries and no bytes of a segment are in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from .disk import Disk
from .file_use import FileUse
from .format import FILE_HEADER_BYTES, file_header, file_name, file_salt, snapshot_file_name
from .verified import VerifiedReads

DEFAULT_FILE_BYTES = 64 * 1024 * 1024
CACHE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to be created with ``disk.create(name, size, header)``; ``size`` in bytes.

    ``exists``: recovery found it. It is not created again, only recorded.
    """

    file_id: int
    name: str
    size: int
    header: bytes
    exists: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Holds the state after group ``sequence``, to be written with ``disk.write_file(name, data)``."""

    sequence: int
    name: str
    data: bytes


@dataclass(slots=True)
class OpenFile:
    """A file that groups can be added to: its id, its size and the next free position, in bytes."""

    file_id: int
    size: int
    position: int


class RecentGroups:
    """Keeps the latest groups in memory up to a number of bytes, for reads at the tail."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._first = 0
        self._places: list[tuple[int, int]] = []
        self._groups: list[bytes] = []

    def add(self, file: int, offset: int, data: bytes) -> None:
        """Keep a group. Groups come in the order of (file, offset)."""
        self._places.append((file, offset))
        self._groups.append(data)
        self._bytes += len(data)
        self._keep(self._max_bytes)

    def forget_most(self) -> None:
        """Keep the latest groups, of an eighth of the bytes."""
        self._keep(self._max_bytes // 8)

    def _keep(self, most_bytes: int) -> None:
        while self._bytes > most_bytes:
            self._bytes -= len(self._groups[self._first])
            self._groups[self._first] = b""
            self._first += 1
        if self._first > 1000 and 2 * self._first > len(self._groups):
            del self._places[: self._first], self._groups[: self._first]
            self._first = 0

    def read(self, file: int, position: int, length: int) -> bytes | None:
        """Return the bytes at a position if one kept group holds all of them, else None."""
        index = bisect_right(self._places, (file, position), self._first) - 1
        if index < self._first or self._places[index][0] != file:
            return None
        start = position - self._places[index][1]
        data = self._groups[index]
        return data[start : start + length] if start + length <= len(data) else None


class LogFiles:
    """Decides where groups go and which files are made and deleted; see the module."""

    def __init__(self, disk: Disk, use: FileUse, store_id: bytes, file_bytes: int) -> None:
        self.disk = disk
        self.store_id = store_id
        self.file_bytes = file_bytes
        self.reserve_bytes = min(file_bytes // 8, 1024 * 1024)
        self.is_full = False
        self.sequence = 0
        self.next_file_id = 1
        self.current: OpenFile | None = None
        self.spare: OpenFile | None = None
        self.found: NewFile | None = None  # an empty file. No group may go into it until it is recorded
        self.closed: dict[int, int] = {}  # file id -> last sequence in it
        self.snapshot: Snapshot | None = None
        self.durable_sequence = 0
        self.tier_first_file: int | None = None  # with tier 2: what a store rebuilt from there replays first
        self.old_snapshots: list[str] = []
        self.continues_in: int | None = None  # the file that a recovery from the found snapshot begins with
        self._verified = VerifiedReads(disk, store_id)
        self._creating = False
        self._use = use
        self._recent = RecentGroups(0 if disk.caches_reads else CACHE_BYTES)

    @staticmethod
    def name(file_id: int) -> str:
        """Return the name of a log file."""
        return file_name(file_id)

    @property
    def newest_id(self) -> int:
        """Return the highest id of a file into which groups are or will be written, 0 if there is none."""
        return max((file.file_id for file in (self.current, self.spare) if file is not None), default=0)

    # Room

    def room_in_current(self) -> int:
        """Return the bytes left in the current file."""
        return self.current.size - self.current.position if self.current else 0

    def room(self) -> int:
        """Return the bytes that can be written before the disk must make another file."""
        spare = self.spare.size - self.spare.position if self.spare else 0
        return self.room_in_current() + spare

    def make_room(self, length: int, begin_snapshot: Callable[[int, str, int], None]) -> bool:
        """Make the spare the current file if the current one cannot take ``length`` bytes.

        Return False if the spare cannot take them either. ``begin_snapshot(sequence, name, file id)`` keeps
        the state as it is, and calls `snapshot_drawn`; the file id says where the log continues.
        """
        if self.room_in_current() >= length:
            return True
        if self.spare is None or self.spare.size - self.spare.position < length:
            return False
        if self.current is not None:
            self._close(self.current, begin_snapshot, self.spare.file_id)
        self.current, self.spare = self.spare, None
        return True

    def _close(self, full: OpenFile, begin_snapshot: Callable[[int, str, int], None], next_file: int) -> None:
        self.closed[full.file_id] = self.sequence
        if self.disk.is_reopened:
            begin_snapshot(self.sequence, snapshot_file_name(self.sequence), next_file)
        else:  # without recovery, entries are useless once synced, and those of a full file are
            self.durable_sequence = self.sequence
            self._use.emptied = True

    def wanted(self, head: int) -> NewFile | None:
        """Return the next file to create, if one is needed: a spare, or a file for ``head`` bytes."""
        if self._creating:
            return None
        if self.spare and max(self.room_in_current(), self.spare.size - self.spare.position) >= head:
            return None
        if self.found is not None:
            self._creating = True
            return self.found
        file_id, size = self.next_file_id, max(self.file_bytes, head + FILE_HEADER_BYTES)
        self._creating = True
        self.next_file_id += 1
        return NewFile(file_id, file_name(file_id), size, file_header(self.store_id, file_id, size))

    def created(self, file: NewFile) -> None:
        """Make the new file the spare. A smaller spare counts as full.

        It is deleted after the next snapshot, because recovery expects every file since the last one.
        """
        self._creating = self.is_full = False
        self.found = None
        if self.spare is not None:
            self.closed[self.spare.file_id] = self.sequence + 1
            self._use.emptied = True
        self.spare = OpenFile(file.file_id, file.size, FILE_HEADER_BYTES)

    def refused(self, file: NewFile) -> None:
        """Note that the disk has no room for the file. Its id is used for the next attempt."""
        self._creating = False
        if not file.exists:
            self.next_file_id = file.file_id
        self.is_full = True

    # Groups

    def next_group(self) -> tuple[int, int, int, int | None]:
        """Return (sequence, file id, offset, salt) of the next group; see `format.encode_group`."""
        assert self.current is not None
        self.sequence += 1
        file_id = self.current.file_id
        salt = file_salt(self.store_id, file_id) if self.disk.is_reopened else None
        return self.sequence, file_id, self.current.position, salt

    def advance(self, length: int) -> None:
        """Reserve ``length`` bytes of the current file for a group on its way to the disk."""
        assert self.current is not None
        self.current.position += length

    def remember(self, file: int, offset: int, data: bytes) -> None:
        """Keep a synced group in memory for reads at the tail."""
        if not self.disk.caches_reads:
            self._recent.add(file, offset, data)
            self.found_group(file, offset, len(data))

    def forget_recent(self) -> None:
        """Forget most of the groups that are kept for reads. They are on the disk."""
        self._recent.forget_most()

    def found_group(self, file: int, offset: int, length: int) -> None:
        """Note where a group is, so that reads need not look for it."""
        if not self.disk.caches_reads:
            self._verified.add(file, offset, length)

    def read(self, file: int, position: int, length: int) -> bytes:
        """Return bytes of a log file, from memory if the group is recent.

        Raises:
            CorruptStoreError: The group that holds them is damaged on the disk.
        """
        data = self._recent.read(file, position, length)
        if data is not None:
            return data
        if self.disk.caches_reads:
            return self.disk.read(file_name(file), position, length)
        return self._verified.read(file, position, length)

    # Deletion

    def snapshot_drawn(self, snapshot: Snapshot) -> None:
        """Note that a snapshot can be written."""
        self.snapshot = snapshot

    def snapshot_written(self, snapshot: Snapshot) -> None:
        """Note that the snapshot replaces all files closed before it, and delete older snapshots."""
        self.durable_sequence = snapshot.sequence
        self.continues_in = None
        for name in self.old_snapshots:
            if name != snapshot.name:  # a rebuilt store may have begun with the same state
                self.disk.delete(name)
        self.old_snapshots = [snapshot.name]
        if self.snapshot is snapshot:
            self.snapshot = None
        self._use.emptied = True
        self.delete_dead()

    def unused(self) -> list[int]:
        """Return the full files in which no segment has bytes."""
        used = self._use.files()
        return [file_id for file_id in self.closed if file_id not in used]

    def delete_dead(self) -> None:
        """Delete full files that neither recovery, nor a store that is rebuilt from tier 2, nor any segment
        needs.
        """
        if not self._use.emptied or (self.disk.is_reopened and not self.old_snapshots):
            return
        self._use.emptied = False
        dead = [file_id for file_id in self.unused() if self.closed[file_id] <= self.durable_sequence]
        if self.tier_first_file is not None:
            dead = [file_id for file_id in dead if file_id < self.tier_first_file]
        if self.continues_in is not None:  # a snapshot from tier 2 may end with the last group of a file
            dead = [file_id for file_id in dead if file_id < self.continues_in]
        for file_id in dead:
            del self.closed[file_id]
            self._verified.forget(file_id)
            self.disk.delete(file_name(file_id))
