"""Which log files there are, where the next group goes, and which files can go.

One file is written (*current*), one is ready (*spare*), the others are full. A spare is made ahead of need,
so a full disk is met here and not inside a group. When the spare becomes current, the state up to there is
kept as a snapshot, where a store may be opened again; a full file goes once a snapshot stands in for its
entries and no segment's bytes live in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from pravega_lab.engine.store.disk import Disk
from pravega_lab.engine.store.errors import CorruptStoreError
from pravega_lab.engine.store.log import FILE_HEADER_BYTES, file_header, file_name, file_salt, group_at
from pravega_lab.engine.store.synced import Synced

DEFAULT_FILE_BYTES = 64 * 1024 * 1024
CACHE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NewFile:
    """To be made with ``disk.create(name, size, header)``; ``size`` in bytes."""

    file_id: int
    name: str
    size: int
    header: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """To be written with ``disk.write_file(name, data)``: the state after group ``sequence``."""

    sequence: int
    name: str
    data: bytes


@dataclass(slots=True)
class OpenFile:
    """A file that groups can be added to: id, size and next free position in bytes."""

    file_id: int
    size: int
    position: int


class RecentGroups:
    """The newest groups in memory, up to a number of bytes, for tail reads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._first = 0
        self._places: list[tuple[int, int]] = []
        self._groups: list[bytes] = []

    def add(self, file: int, offset: int, data: bytes) -> None:
        """Groups come in order of (file, offset)."""
        self._places.append((file, offset))
        self._groups.append(data)
        self._bytes += len(data)
        while self._bytes > self._max_bytes:
            self._bytes -= len(self._groups[self._first])
            self._groups[self._first] = b""
            self._first += 1
        if self._first > 1000 and 2 * self._first > len(self._groups):
            del self._places[: self._first], self._groups[: self._first]
            self._first = 0

    def read(self, file: int, position: int, length: int) -> bytes | None:
        """The bytes there if one remembered group has them."""
        index = bisect_right(self._places, (file, position), self._first) - 1
        if index < self._first or self._places[index][0] != file:
            return None
        start = position - self._places[index][1]
        data = self._groups[index]
        return data[start : start + length] if start + length <= len(data) else None


class LogFiles:
    """See the module."""

    def __init__(self, disk: Disk, synced: Synced, store_id: bytes, file_bytes: int) -> None:
        self.disk = disk
        self.store_id = store_id
        self.file_bytes = file_bytes
        self.reserve_bytes = min(file_bytes // 8, 1024 * 1024)
        self.is_full = False
        self.sequence = 0
        self.next_file_id = 1
        self.current: OpenFile | None = None
        self.spare: OpenFile | None = None
        self.closed: dict[int, int] = {}  # file id -> last sequence in it
        self.snapshot: Snapshot | None = None
        self.durable_sequence = 0
        self.old_snapshots: list[str] = []
        self.unverified: set[int] = set()  # full files that recovery had no need to read
        self._valid_ends: dict[int, int] = {}
        self._creating = False
        self._synced = synced
        self._recent = RecentGroups(0 if disk.caches_reads else CACHE_BYTES)

    @staticmethod
    def name(file_id: int) -> str:
        """The name of a log file."""
        return file_name(file_id)

    # Room

    def room_in_current(self) -> int:
        """Bytes left in the current file."""
        return self.current.size - self.current.position if self.current else 0

    def room(self) -> int:
        """Bytes that can be written without asking the disk for more."""
        spare = self.spare.size - self.spare.position if self.spare else 0
        return self.room_in_current() + spare

    def make_room(self, length: int, state: Callable[[int], bytes]) -> bool:
        """See to it that the current file takes ``length`` bytes; False if that needs a larger spare.

        ``state(file id)``: the snapshot's bytes, with the file in which the log goes on.
        """
        if self.room_in_current() >= length:
            return True
        if self.spare is None or self.spare.size - self.spare.position < length:
            return False
        if self.current is not None:
            self._close(self.current, state, self.spare.file_id)
        self.current, self.spare = self.spare, None
        return True

    def _close(self, full: OpenFile, state: Callable[[int], bytes], next_file: int) -> None:
        self.closed[full.file_id] = self.sequence
        if self.disk.is_reopened:
            self.snapshot = Snapshot(self.sequence, f"snapshot-{self.sequence:012d}", state(next_file))
        else:  # the entries are needed no more as soon as they are synced, which all in a full file are
            self.durable_sequence = self.sequence
            self._synced.emptied = True

    def wanted(self, head: int) -> NewFile | None:
        """The next file to make, if one is needed: a spare, or one large enough for ``head`` bytes."""
        if self._creating:
            return None
        if self.spare and max(self.room_in_current(), self.spare.size - self.spare.position) >= head:
            return None
        file_id, size = self.next_file_id, max(self.file_bytes, head + FILE_HEADER_BYTES)
        self._creating = True
        self.next_file_id += 1
        return NewFile(file_id, file_name(file_id), size, file_header(self.store_id, file_id))

    def created(self, file: NewFile) -> None:
        """The file is the spare now; a smaller one that waited goes."""
        self._creating = self.is_full = False
        if self.spare is not None:
            self.disk.delete(file_name(self.spare.file_id))
        self.spare = OpenFile(file.file_id, file.size, FILE_HEADER_BYTES)

    def refused(self, file: NewFile) -> None:
        """No room for it."""
        self._creating = False
        self.is_full = True

    # Groups

    def next_group(self) -> tuple[int, int, int, int | None]:
        """(sequence, file id, offset, salt) of the group that comes now; see `log.encode_group`."""
        assert self.current is not None
        self.sequence += 1
        file_id = self.current.file_id
        salt = file_salt(self.store_id, file_id) if self.disk.is_reopened else None
        return self.sequence, file_id, self.current.position, salt

    def advance(self, length: int) -> None:
        """A group of ``length`` bytes is on its way to the current file."""
        assert self.current is not None
        self.current.position += length

    def remember(self, file: int, offset: int, data: bytes) -> None:
        """Keep a synced group for tail reads."""
        if not self.disk.caches_reads:
            self._recent.add(file, offset, data)

    def read(self, file: int, position: int, length: int) -> bytes:
        """Bytes of a log file, from memory if they are new."""
        data = self._recent.read(file, position, length)
        if data is not None:
            return data
        if file in self.unverified and position + length > self._valid_end(file):
            raise CorruptStoreError(
                f"The log file {file_name(file)!r} is damaged at offset {self._valid_ends[file]}, and what"
                f" was asked for lies behind that, at {position}. Restore the folder from a copy; what does"
                " not lie there can still be read."
            )
        return self.disk.read(file_name(file), position, length)

    def _valid_end(self, file: int) -> int:
        """Where the valid groups of a full file end; looks once."""
        if file not in self._valid_ends:
            name = file_name(file)
            content = memoryview(self.disk.read(name, 0, self.disk.files()[name]))
            position, salt = FILE_HEADER_BYTES, file_salt(self.store_id, file)
            while (group := group_at(content, position, salt)) is not None:
                position += len(group[1])
            self._valid_ends[file] = position
        return self._valid_ends[file]

    # What can go

    def snapshot_written(self, snapshot: Snapshot) -> None:
        """The snapshot stands in for all files closed before it; older snapshots go."""
        self.durable_sequence = snapshot.sequence
        for name in self.old_snapshots:
            self.disk.delete(name)
        self.old_snapshots = [snapshot.name]
        if self.snapshot is snapshot:
            self.snapshot = None
        self._synced.emptied = True
        self.delete_dead()

    def delete_dead(self) -> None:
        """Delete full files that neither recovery nor any segment needs."""
        if not self._synced.emptied:
            return
        self._synced.emptied = False
        live = self._synced.live
        dead = [
            file_id
            for file_id, last in self.closed.items()
            if file_id not in live and last <= self.durable_sequence
        ]
        for file_id in dead:
            del self.closed[file_id]
            self.disk.delete(file_name(file_id))
