"""Opens a store: loads the latest snapshot, then replays every later group in order.

Only the last group can be invalid. It was on its way when the process or the machine stopped, it was
acknowledged to no one, and it is cut off. The report lists what was cut. The disk has lost synced data if:

- an invalid group comes before a valid later one;
- what follows the last valid group is more than one torn group can be;
- a group is missing that a stop in order recorded;
- a file is shorter than its header says, or is missing;
- the newest file that was recorded is missing.

Such a log is refused (CorruptStoreError) with the file, the offset and what to do.
"""

from __future__ import annotations

from typing import NoReturn

from ..errors import CorruptStoreError, check_version
from ..log import operations as ops
from ..log.disk import Disk
from ..log.files import DEFAULT_FILE_BYTES, NewFile, OpenFile
from ..log.format import (
    FILE_HEADER_BYTES,
    LOG_VERSION,
    Logged,
    can_be_torn,
    creation_of,
    decode_group,
    file_id_of,
    file_name,
    file_salt,
    file_version,
    group_at,
    later_group,
    read_file_header,
    sequences_after,
    snapshot_sequence_of,
)
from ..log.history import HISTORY_NAME, Cut, read_history
from .fixed_table import new_table
from .report import RecoveryReport
from .segment import Change, Segment
from .snapshot import check_identity, decode_snapshot
from .storage import Storage
from .synced_state import Dirty

_RESTORE = "Restore the folder from a copy, or begin a new store in another folder."


def open_storage(
    disk: Disk, *, new_store_id: bytes = bytes(16), file_bytes: int = DEFAULT_FILE_BYTES
) -> Storage:
    """Return the store on ``disk`` as it was, or an empty one. Nothing is written.

    Args:
        disk: The disk. Obsolete files on it are deleted.
        new_store_id: 16 random bytes, used for an empty store.
        file_bytes: Size of the log files that are created from now on.

    Raises:
        StoreVersionError: Another release wrote the store, in a format that this one does not read.
        CorruptStoreError: The log is damaged before its last group, or after a stop in order.
    """
    return _Recovery(disk, new_store_id, file_bytes).run()


class _Recovery:
    def __init__(self, disk: Disk, new_store_id: bytes, file_bytes: int) -> None:
        self.disk = disk
        self.sizes = disk.files()
        self.ids = sorted(file_id for name in self.sizes if (file_id := file_id_of(name)) is not None)
        self.previous: dict[int, int] = {}  # file id -> id of the file that was created before it
        self.storage = Storage(disk, store_id=self._store_id(new_store_id), file_bytes=file_bytes)
        self.files = self.storage._files
        self.synced = self.storage._synced
        self.validated = self.storage._validated
        self.storage.history = read_history(disk)
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
        empty = [file_id for file_id in self.ids if file_id >= first_file and not self._replay_file(file_id)]
        self._check_missing(first_file or 1)
        self._check_newest()
        self._check_stop()
        self._check_torn()
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
            data = self.disk.read(name, 0, FILE_HEADER_BYTES)
            version = file_version(data)
            if version is not None:
                check_version(name, version, LOG_VERSION)
            if len(data) < FILE_HEADER_BYTES:
                self._refuse_short(name, "its header alone has", FILE_HEADER_BYTES)
            header = read_file_header(data)
            if header is None or header[1] != file_id or (found is not None and header[0] != found):
                raise CorruptStoreError(
                    f"The log file {name!r} is damaged at offset 0: its header is not one of this store."
                    f" {_RESTORE}"
                )
            found = header[0]
            try:
                creation = creation_of(data)
            except ValueError as error:
                raise CorruptStoreError(
                    f"The header of the log file {name!r} is damaged: {error}. {_RESTORE}"
                ) from error
            if creation is not None and self.sizes[name] < creation[0]:
                self._refuse_short(name, "it was created with", creation[0])
            self.previous[file_id] = file_id - 1 if creation is None else creation[1]
        return new_store_id if found is None else found

    def _refuse_short(self, name: str, why: str, expected: int) -> NoReturn:
        raise CorruptStoreError(
            f"The log file {name!r} is damaged at offset {self.sizes[name]}: it ends there, and {why}"
            f" {expected} bytes. The bytes after its end are lost on this disk. {_RESTORE}"
        )

    def _load_snapshot(self) -> int:
        """Load the latest snapshot and return the first file after it."""
        names = [name for name in self.sizes if snapshot_sequence_of(name) is not None]
        if not names:
            return 0
        name = names[-1]
        data = self.disk.read(name, 0, self.sizes[name])
        head = decode_snapshot(name, data, self.synced)
        first_file, sequence = head.first_file, snapshot_sequence_of(name) or 0
        if self.ids or head.store_id:  # without either, the log is missing, which is refused below
            check_identity(name, head, self.files.store_id if self.ids else head.store_id, sequence)
        self.validated.next_id, self.storage.last_now_ms = head.next_id, head.last_now_ms
        if head.store_id:
            self.files.tier_first_file = 0  # keep what a rebuilt store needs until a snapshot is in tier 2
            if not self.ids:
                self.files.store_id = head.store_id
        self.report.snapshot_sequence = sequence
        self.files.sequence = self.files.durable_sequence = sequence
        for older in names[:-1]:
            self.disk.delete(older)
        self.files.old_snapshots = [name]
        self.files.continues_in = first_file or None
        # The file existed when the snapshot was taken, and later groups are in it. 0: no log was left.
        if not first_file and not head.store_id:
            self._refuse_missing(1, f"{name!r} is all that is left")
        if first_file and first_file not in self.ids:
            self._refuse_missing(first_file, f"the log continues in it after {name!r}")
        return first_file

    # Groups

    def _replay_file(self, file_id: int) -> bool:
        """Replay one file. Return False if it holds no valid group."""
        name = file_name(file_id)
        content = memoryview(self.disk.read(name, 0, self.sizes[name]))
        salt, position = file_salt(self.files.store_id, file_id), FILE_HEADER_BYTES
        while (group := group_at(content, position, salt)) is not None:
            if group[0] > self.report.snapshot_sequence:  # a snapshot from tier 2 ends inside a file
                if group[0] != self.files.sequence + 1:
                    self._refuse_gap(*self._end_before(name, position), group[0])
                self._replay_group(file_id, position, group[1])
            self.files.found_group(file_id, position, len(group[1]))
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
        self.report.cuts.clear()  # invalid bytes that a group follows were cut by an earlier recovery

    def _change(self, logged: Logged) -> Change:
        operation = logged.operation
        if isinstance(operation, ops.CreateSegment):
            table = new_table(operation.key_length) if operation.is_table else None
            segment = Segment(logged.segment_id, operation.segment, table)
            self.by_id[segment.id] = segment
            self.validated.next_id = max(self.validated.next_id, segment.id + 1)
            return Change(operation, segment)
        source = self.by_id[logged.source_id] if logged.source_id else None
        return Change(operation, self.by_id[logged.segment_id] if logged.segment_id else None, source)

    # The end of the log

    def _check_end(self, name: str, content: memoryview, position: int, salt: int) -> None:
        """Refuse a file in which a valid later group follows the last valid one, and report other bytes."""
        rest = bytes(content[position:])
        if not rest.strip(b"\0"):
            return
        log_bytes = sum(self.sizes.values())
        later = later_group(content, position, salt, sequences_after(self.files.sequence, log_bytes))
        if later is not None:
            self._refuse_gap(name, position, later[1])
        length = len(rest.rstrip(b"\0"))
        self.report.cuts.append(Cut(name, position, length, self.files.sequence, self.storage.last_now_ms))

    def _refuse_gap(self, name: str, position: int, later: int) -> None:
        raise CorruptStoreError(
            f"The log file {name!r} is damaged at offset {position}: group {self.files.sequence + 1} is"
            f" expected there and cannot be read, but the later group {later} can. The data in between"
            " is lost on this disk: restore the folder from a copy, or begin a new store in another folder."
            f"{self._rebuild}"
        )

    def _check_torn(self) -> None:
        """Refuse a log that ends with more than one torn group, or with bytes that are no group.

        A group is written after the one before it is on the disk, and over zeros: a store overwrites what its
        recovery cut before it writes groups. Whatever else is found was therefore damaged after its sync.
        """
        for cut in self.report.cuts:
            rest = self.disk.read(cut.file, cut.offset, cut.length)
            expected, room = cut.sequence + 1, self.sizes[cut.file] - cut.offset
            if len(self.report.cuts) > 1 or not can_be_torn(rest, cut.offset, room, expected):
                raise CorruptStoreError(
                    f"The log file {cut.file!r} is damaged at offset {cut.offset}: group {expected} is"
                    " expected there and cannot be read. A crash leaves at most one torn group, and the"
                    f" {cut.length} bytes there are not that. Acknowledged data may be lost on this disk."
                    f" {_RESTORE}"
                )

    def _check_missing(self, first: int) -> None:
        """Refuse a log without one of its files, if no group of a later file shows that it held none.

        Ids begin at 1, and files that recovery has to replay are never deleted.
        """
        needed = max(first, self.files.current.file_id + 1 if self.files.current else 0)
        for file_id in self.ids:
            missing = self.previous[file_id]
            if missing >= needed and missing not in self.ids:
                self._refuse_missing(missing, f"{file_name(file_id)!r} was created after it")

    def _check_newest(self) -> None:
        """Refuse a log without its newest file. No other file would show that it is missing."""
        newest = self.storage.history.newest_file
        if newest > max(self.ids, default=0):
            self._refuse_missing(newest, f"{HISTORY_NAME!r} says that the log had reached it")

    def _check_stop(self) -> None:
        """Refuse a log that has lost groups since the last stop in order."""
        stop = self.storage.history.stop
        if stop is None or self.files.sequence >= stop.sequence:
            return
        current = self.files.current
        where = (file_name(current.file_id), current.position) if current else (stop.file, 0)
        raise CorruptStoreError(
            f"The log file {where[0]!r} is damaged at offset {where[1]}: the store was stopped in order after"
            f" group {stop.sequence}, which ended at offset {stop.offset} of {stop.file!r}, and the log can"
            f" be read only up to group {self.files.sequence}. {_RESTORE}"
        )

    def _adopt(self, empty: list[int]) -> None:
        """Make the last file without groups the spare, if it is after the current one.

        It has to be recorded before, if a crash was between its creation and its record.
        Other files without groups count as full. They are deleted after the next snapshot and not now,
        because `_check_missing` expects every file since the last one.
        """
        current = self.files.current
        for file_id in empty:
            if file_id == empty[-1] and (current is None or file_id > current.file_id):
                self._adopt_spare(file_id)
            else:
                self.files.closed[file_id] = self.files.sequence + 1
        self.files.next_file_id = self.ids[-1] + 1 if self.ids else 1

    def _adopt_spare(self, file_id: int) -> None:
        name = file_name(file_id)
        if file_id <= self.storage.history.newest_file:
            self.files.spare = OpenFile(file_id, self.sizes[name], FILE_HEADER_BYTES)
        else:
            header = self.disk.read(name, 0, FILE_HEADER_BYTES)
            self.files.found = NewFile(file_id, name, self.sizes[name], header, exists=True)

    def _check_extents(self) -> None:
        for file_id in self.synced.file_use.files():
            if file_id > 0 and file_name(file_id) not in self.sizes:
                self._refuse_missing(file_id, "segments have bytes in it")

    def _refuse_missing(self, file_id: int, why: str) -> NoReturn:
        raise CorruptStoreError(
            f"The log file {file_name(file_id)!r} is missing, and {why}. {_RESTORE}{self._rebuild}"
        )

    @property
    def _rebuild(self) -> str:
        """Return what helps if the folder has lost its snapshots, nothing if it has one."""
        if self.files.old_snapshots:
            return ""
        return (
            " The folder has no snapshot: if the store used --tier2, --tier2-rebuild takes the snapshot from"
            " there."
        )
