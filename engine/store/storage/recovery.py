"""Opens a store: loads the latest snapshot, then replays every later group in order.

Only the last group can be invalid. It was on its way when the process or the machine stopped, it was
acknowledged to no one, and it is cut off. An invalid group before a valid later one means that the disk lost
synced data. Such a log is refused (CorruptStoreError) with the file, the offset and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from ..errors import CorruptStoreError
from ..log import operations as ops
from ..log.disk import Disk
from ..log.files import DEFAULT_FILE_BYTES, OpenFile
from ..log.format import (
    FILE_HEADER_BYTES,
    GROUP_MAGIC,
    Logged,
    decode_group,
    file_id_of,
    file_name,
    file_salt,
    group_at,
    read_file_header,
)
from .segment import Change, Segment
from .snapshot import decode_snapshot
from .storage import Storage
from .synced_state import Dirty
from .table import Table


@dataclass(slots=True)
class RecoveryReport:
    """What recovery found: the snapshot's sequence, the number of replayed groups, and where a torn group
    was cut.
    """

    snapshot_sequence: int = 0
    groups: int = 0
    cut_file: str | None = None
    cut_offset: int = 0


def open_storage(
    disk: Disk, *, new_store_id: bytes = bytes(16), file_bytes: int = DEFAULT_FILE_BYTES
) -> Storage:
    """Return the store on ``disk`` as it was, or an empty one. Nothing is written.

    Args:
        disk: The disk. Obsolete files on it are deleted.
        new_store_id: 16 random bytes, used for an empty store.
        file_bytes: Size of the log files that are created from now on.

    Raises:
        CorruptStoreError: The log is damaged before its last group.
    """
    return _Recovery(disk, new_store_id, file_bytes).run()


class _Recovery:
    def __init__(self, disk: Disk, new_store_id: bytes, file_bytes: int) -> None:
        self.disk = disk
        self.sizes = disk.files()
        self.ids = sorted(file_id for name in self.sizes if (file_id := file_id_of(name)) is not None)
        self.storage = Storage(disk, store_id=self._store_id(new_store_id), file_bytes=file_bytes)
        self.files = self.storage._files
        self.synced = self.storage._synced
        self.validated = self.storage._validated
        self.report = RecoveryReport()
        self.by_id: dict[int, Segment] = {}

    def run(self) -> Storage:
        """Recover the state and return the storage."""
        first_file = self._load_snapshot()
        for segment in self.synced.names.values():
            self.by_id[segment.id] = segment
        for file_id in self.ids:
            if file_id < first_file:
                self.files.closed[file_id] = self.files.durable_sequence
                self.files.unverified.add(file_id)
        empty = [file_id for file_id in self.ids if file_id >= first_file and not self._replay_file(file_id)]
        self._adopt(empty)
        self._check_extents()
        for segment in self.synced.names.values():
            segment.adopt_synced()
        self.validated.names.update(self.synced.names)
        self.storage.recovery = self.report
        self.files.delete_dead()
        return self.storage

    def _store_id(self, new_store_id: bytes) -> bytes:
        found = None
        for file_id in self.ids:
            name = file_name(file_id)
            header = read_file_header(self.disk.read(name, 0, FILE_HEADER_BYTES))
            if header is None or header[1] != file_id or (found is not None and header[0] != found):
                raise CorruptStoreError(
                    f"The log file {name!r} is damaged at offset 0: its header is not one of this store."
                    " Restore it from a copy, or begin a new store in another folder."
                )
            found = header[0]
        return new_store_id if found is None else found

    def _load_snapshot(self) -> int:
        """Load the latest snapshot and return the first file after it."""
        names = [name for name in self.sizes if name.startswith("snapshot-")]
        if not names:
            return 0
        name = names[-1]
        data = self.disk.read(name, 0, self.sizes[name])
        next_id, last_now_ms, first_file = decode_snapshot(name, data, self.synced)
        sequence = int(name.removeprefix("snapshot-"))
        self.validated.next_id, self.storage.last_now_ms = next_id, last_now_ms
        self.report.snapshot_sequence = sequence
        self.files.sequence = self.files.durable_sequence = sequence
        for older in names[:-1]:
            self.disk.delete(older)
        self.files.old_snapshots = [name]
        if first_file not in self.ids:  # it existed when the snapshot was taken, and later groups are in it
            self._refuse_missing(first_file, f"the log continues in it after {name!r}")
        return first_file

    # Groups

    def _replay_file(self, file_id: int) -> bool:
        """Replay one file. Return False if it holds no valid group."""
        name = file_name(file_id)
        content = memoryview(self.disk.read(name, 0, self.sizes[name]))
        salt, position = file_salt(self.files.store_id, file_id), FILE_HEADER_BYTES
        while (group := group_at(content, position, salt)) is not None:
            if group[0] != self.files.sequence + 1:
                self._refuse_gap(*self._end_before(name, position), group[0])
            self._replay_group(file_id, position, group[1])
            position += len(group[1])
        self._check_end(name, content, position, salt)
        if position == FILE_HEADER_BYTES:
            return False
        self.files.current = OpenFile(file_id, len(content), position)
        return True

    def _end_before(self, name: str, position: int) -> tuple[str, int]:
        """Return file name and offset at which the group before this position should have been."""
        current = self.files.current
        if position > FILE_HEADER_BYTES or current is None:
            return name, position
        return file_name(current.file_id), current.position

    def _replay_group(self, file_id: int, position: int, data: memoryview) -> None:
        current = self.files.current
        if current is not None and current.file_id != file_id:
            self.files.closed[current.file_id] = self.files.sequence
            self.files.current = None
        dirty: Dirty = {}
        for now_ms, logged in decode_group(data):
            for item in logged:
                change = self._change(item)
                starts = {change.segment.id: position + item.position} if change.segment else {}
                self.synced.apply((change,), now_ms, file_id, starts, dirty)
            self.storage.last_now_ms = max(self.storage.last_now_ms, now_ms)
        self.files.sequence += 1
        self.report.groups += 1

    def _change(self, logged: Logged) -> Change:
        operation = logged.operation
        if isinstance(operation, ops.CreateSegment):
            table = Table(operation.key_length) if operation.is_table else None
            segment = Segment(logged.segment_id, operation.segment, table)
            self.by_id[segment.id] = segment
            self.validated.next_id = max(self.validated.next_id, segment.id + 1)
            return Change(operation, segment)
        source = self.by_id[logged.source_id] if logged.source_id else None
        return Change(operation, self.by_id[logged.segment_id] if logged.segment_id else None, source)

    # The end of the log

    def _check_end(self, name: str, content: memoryview, position: int, salt: int) -> None:
        """Refuse a file in which a valid later group follows the last valid one.

        Only zeros or one torn group may follow it.
        """
        rest = bytes(content[position:])
        if not rest.strip(b"\0"):
            return
        found = rest.find(GROUP_MAGIC, 1)
        while found >= 0:
            later = group_at(content, position + found, salt)
            if later is not None and later[0] > self.files.sequence:
                self._refuse_gap(name, position, later[0])
            found = rest.find(GROUP_MAGIC, found + 1)
        self.report.cut_file, self.report.cut_offset = name, position

    def _refuse_gap(self, name: str, position: int, later: int) -> None:
        raise CorruptStoreError(
            f"The log file {name!r} is damaged at offset {position}: group {self.files.sequence + 1} is"
            f" expected there and cannot be read, but the later group {later} can. The data in between"
            " is lost on this disk: restore the folder from a copy, or begin a new store in another folder."
        )

    def _adopt(self, empty: list[int]) -> None:
        """Make a file without groups after the current one the spare, and delete others like it."""
        current = self.files.current
        for file_id in empty:
            size = self.sizes[file_name(file_id)]
            if self.files.spare is None and (current is None or file_id > current.file_id):
                self.files.spare = OpenFile(file_id, size, FILE_HEADER_BYTES)
            else:
                self.disk.delete(file_name(file_id))
        self.files.next_file_id = self.ids[-1] + 1 if self.ids else 1

    def _check_extents(self) -> None:
        for file_id in self.synced.file_use.files():
            if file_name(file_id) not in self.sizes:
                self._refuse_missing(file_id, "segments have bytes in it")

    def _refuse_missing(self, file_id: int, why: str) -> NoReturn:
        raise CorruptStoreError(
            f"The log file {file_name(file_id)!r} is missing, and {why}."
            " Restore it from a copy, or begin a new store in another folder."
        )
