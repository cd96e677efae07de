"""The plan of a compaction: a stopped store's log, rewritten to what its segments need.

Each step is atomic on the disk, and after each of them the folder is a whole store:

1. ``next_file``: an empty log file, with a higher id than all files that step 3 writes.
2. ``before``: a snapshot of the state that says that the log continues in that file. Recovery now reads
   nothing else of the log, and takes files with lower ids for full ones.
3. ``copies``: full files with the bytes of all segments. Until step 4 no segment has bytes in them, so after
   a crash the next start deletes them.
4. ``after``: the same snapshot under the same name, with the segments' bytes in the files of step 3.
5. ``obsolete``: the files that are not needed any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from pravega_lab.errors import BadInputError

from ..log import operations as ops
from ..log.disk import Disk
from ..log.files import DEFAULT_FILE_BYTES, NewFile, Snapshot
from ..log.format import (
    FILE_HEADER_BYTES,
    GROUP_OVERHEAD_BYTES,
    OPERATION_OVERHEAD_BYTES,
    Submitted,
    encode_group,
    file_header,
    file_id_of,
    file_name,
    file_salt,
    snapshot_file_name,
    snapshot_sequence_of,
)
from ..storage.segment import Change, Extents, Segment
from ..storage.snapshot import SnapshotHead, encode_snapshot, identity_of
from ..storage.storage import Storage

GROUP_BYTES = 4 * 1024 * 1024
COPIED = 0
"""The sequence of copied groups. Recovery never takes them for later groups, whose sequences begin at 1."""


class Compaction:
    """The steps for a storage that was opened on ``disk`` and is not used otherwise; see the module.

    Carry out `next_file`, `before`, all of `copies`, `after` and `obsolete` in this order.

    Raises:
        BadInputError: The store has used tier 2.
    """

    def __init__(self, storage: Storage, disk: Disk, *, file_bytes: int = DEFAULT_FILE_BYTES) -> None:
        if storage._files.tier_first_file is not None or storage._synced.next_chunk > 1:
            raise BadInputError(
                "This store uses tier 2, so it need not be compacted: segments move there, and log files are"
                " deleted then. Start it with its --tier2."
            )
        self._storage = storage
        self._disk = disk
        self._file_bytes = file_bytes
        self._files = storage._files
        self._segments = [s for s in storage._synced.names.values() if s.start < s.length and s.table is None]
        self._first_id = self._files.next_file_id
        self.live_bytes = sum(s.length - s.start for s in self._segments)
        # A file is full at the latest when a group does not fit, so each but the last is more than half full.
        group = min(GROUP_BYTES, file_bytes // 4)
        self._group_bytes = group
        runs = sum((s.length - s.start) // group + 2 for s in self._segments)
        taken = self.live_bytes + runs * (OPERATION_OVERHEAD_BYTES + GROUP_OVERHEAD_BYTES)
        self._next_id = self._first_id + taken // (file_bytes // 2) + 2
        self._new: dict[int, Extents] = {}
        self._copies: list[str] = []

    @property
    def next_file(self) -> NewFile:
        """Return the file in which the log continues."""
        header = file_header(self._files.store_id, self._next_id, self._file_bytes, self._first_id - 1)
        return NewFile(self._next_id, file_name(self._next_id), self._file_bytes, header)

    @property
    def before(self) -> Snapshot:
        """Return the snapshot of the state as it is."""
        return self._snapshot()

    def _snapshot(self) -> Snapshot:
        sequence = self._files.sequence
        next_id, now_ms = self._storage._validated.next_id, self._storage.last_now_ms
        identity = identity_of(self._files.store_id, sequence)
        state = encode_snapshot(
            self._storage._synced, SnapshotHead(next_id, now_ms, self._next_id, identity=identity)
        )
        return Snapshot(sequence, snapshot_file_name(sequence), state)

    def copies(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of each file with the bytes of segments, to be written as a whole."""
        file_id = self._first_id
        content = bytearray(FILE_HEADER_BYTES)
        for group in self._groups():
            taken = sum(len(data) + OPERATION_OVERHEAD_BYTES for _, data in group) + GROUP_OVERHEAD_BYTES
            if len(content) > FILE_HEADER_BYTES and len(content) + taken > self._file_bytes:
                yield self._finish(file_id, content)
                file_id += 1
                content = bytearray(FILE_HEADER_BYTES)
            self._add(file_id, content, group)
        if len(content) > FILE_HEADER_BYTES:
            yield self._finish(file_id, content)

    def _finish(self, file_id: int, content: bytearray) -> tuple[str, bytes]:
        assert file_id < self._next_id, "more files than were planned"
        self._copies.append(file_name(file_id))
        content[:FILE_HEADER_BYTES] = file_header(self._files.store_id, file_id, len(content))
        return file_name(file_id), bytes(content)

    def _groups(self) -> Iterator[list[tuple[Segment, bytes]]]:
        """Yield pieces of segments that are written together, those of one segment in its order."""
        group: list[tuple[Segment, bytes]] = []
        size = 0
        for segment in self._segments:
            offset = segment.start
            self._new[segment.id] = Extents()
            while offset < segment.length:
                end = min(segment.length, offset + self._group_bytes - size)
                pieces = [self._files.read(*piece) for piece in segment.extents.pieces(offset, end)]
                group.append((segment, b"".join(pieces)))
                size += end - offset
                offset = end
                if size >= self._group_bytes:
                    yield group
                    group, size = [], 0
        if group:
            yield group

    def _add(self, file_id: int, content: bytearray, group: list[tuple[Segment, bytes]]) -> None:
        changes = [Change(ops.Append(segment.name, data), segment) for segment, data in group]
        submitted = [Submitted(self._storage.last_now_ms, changes)]
        salt = file_salt(self._files.store_id, file_id)
        encoded, starts = encode_group(COPIED, salt, len(content), submitted)
        content += encoded
        for segment, data in group:
            extents = self._new[segment.id]
            offset = extents.offsets[-1] + extents.lengths[-1] if len(extents) else segment.start
            extents.add(offset, file_id, starts[segment.id], len(data))

    @property
    def after(self) -> Snapshot:
        """Return the snapshot with the bytes of all segments in the copies."""
        for segment in self._storage._synced.names.values():
            segment.extents = self._new.get(segment.id, Extents())
        return self._snapshot()

    @property
    def obsolete(self) -> list[str]:
        """Return the log files and snapshots that nothing needs after the last step."""
        kept = {self.next_file.name, self.before.name, *self._copies}
        names = (name for name in self._disk.files() if name not in kept)
        return [n for n in names if file_id_of(n) is not None or snapshot_sequence_of(n) is not None]
