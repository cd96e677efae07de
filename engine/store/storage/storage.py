"""The storage: segments, tables and records over one log, as a synchronous object.

How the parts work together::

    ticket = storage.submit([Append(...), ...], now_ms=...)   check, apply to the validated state, queue
    group = storage.take_group()                              everything queued becomes one log record
    await disk.write_group(group.file, group.offset, group.data)
    storage.group_synced(group)                               apply to the synced state, complete the tickets

The loop that does this is :mod:`pravega_lab.engine.server.pump`. Conditions are checked against *validated*
state. ``info``, ``read``, attributes, tables, records and every reply show *synced* state only, because no
client may see what a crash can remove. This holds for refusals too: a refusal may rest on an operation that
is still on its way to the disk, so the server sends it after :meth:`Storage.barrier`.

A ticket completes when its group is on disk, in the order of submission. There is no rollback. Only a failed
write completes it with a ``failure``, and then the process stops. Offsets, lengths and sizes are in bytes,
times in ms since 1970.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from ..errors import (
    CorruptStoreError,
    NotAtHand,
    OffsetBeyondEnd,
    SegmentTruncated,
    StoreFailed,
    StoreFull,
    TooManySegments,
    WrongKind,
)
from ..log import operations as ops
from ..log.chunks import Chunk
from ..log.disk import Disk
from ..log.files import DEFAULT_FILE_BYTES, LogFiles, NewFile, Snapshot
from ..log.format import GROUP_OVERHEAD_BYTES, OPERATION_OVERHEAD_BYTES, Submitted, encode_group
from ..log.history import History
from .report import RecoveryReport
from .segment import Change, ReadResult, Segment, SegmentInfo, Watcher
from .snapshot import Drawing, SnapshotHead, identity_of
from .synced_state import Dirty, Synced, shrunk
from .table import Table, TableDelta, TableEntry, TableValue
from .validated_state import Validated

MAX_GROUP_BYTES = 8 * 1024 * 1024
"""A group of this size accepts no more submissions."""

NO_LIMIT = 1 << 62

MAX_GROUP_CHANGES = 1000
"""So does one with so many changes: others wait while it is encoded and applied. Most kinds count as four."""

COPIED_BYTES = 4096
"""So many bytes of a table's values count as a change."""

DRAWS_AT_ONCE = 2
"""Slices of a snapshot that are encoded before other work continues."""

WORK_BYTES = 8192
"""A change takes the store as long as the writing of so many bytes."""

AppendHook = Callable[[str, int, int, int], None]
"""(segment, bytes, events, now_ms) of a synced append."""

MergeHook = Callable[[str, int, int, int, int], None]
"""(target segment, bytes, events, age of the source in ms, now_ms) of a synced merge."""


ReadChunk = Callable[[Chunk, int, int], bytes | None]
"""(chunk, position, length): return the bytes from ``position`` on that are in memory, at most ``length``, or
None.
"""


class Ticket:
    """One submission on its way to the disk.

    ``results`` has one result per operation, valid once ``done`` is true. ``cost_bytes`` says
    how much it keeps the store busy: its bytes in the log, and ``WORK_BYTES`` for each change.

    ``failure`` is set instead if a write to the log failed. Whether the operations took effect is then
    unknown, so no client receives a reply, and the process stops.
    """

    __slots__ = ("_callbacks", "cost_bytes", "done", "failure", "results")

    def __init__(self, results: Sequence[Any], cost_bytes: int = 0) -> None:
        self.results = results
        self.cost_bytes = cost_bytes
        self.done = False
        self.failure: BaseException | None = None
        self._callbacks: list[Callable[[Ticket], None]] = []

    def add_done(self, callback: Callable[[Ticket], None]) -> None:
        """Call ``callback`` with the ticket once it is done, at once if it already is."""
        if self.done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def complete(self, failure: BaseException | None = None) -> None:
        """Complete the ticket. Only the storage calls this."""
        self.failure = failure
        self.done = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


class Totals(NamedTuple):
    """Sums over all segments, and what was read since the process began.

    ``bytes`` and ``events`` are what was appended, also to segments that were deleted since the process
    began. Only their differences in one process have a meaning.
    """

    segments: int
    bytes: int
    events: int
    read_bytes: int


@dataclass(slots=True)
class _Queued:
    ticket: Ticket
    now_ms: int
    changes: Sequence[Change]
    cost: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One log record: write ``data`` at ``offset`` of ``file`` (a name) and sync.

    With empty ``data`` there is nothing to write.
    """

    sequence: int
    file: str
    offset: int
    data: bytes
    file_id: int
    starts: dict[int, int]  # segment id -> offset in the file
    queued: Sequence[_Queued]


class _Begun(NamedTuple):
    """A snapshot after group ``sequence`` that is not encoded yet, with the name of its file."""

    sequence: int
    name: str
    drawing: Drawing


class Storage:
    """All segments of one store, as `recovery.open_storage` returns it.

    ``on_work`` is called without arguments whenever there may be work for the pump.
    """

    def __init__(
        self, disk: Disk, *, store_id: bytes = bytes(16), file_bytes: int = DEFAULT_FILE_BYTES
    ) -> None:
        self._validated = Validated()
        self._synced = Synced()
        self._files = LogFiles(disk, self._synced.file_use, store_id, file_bytes)
        self._queue: deque[_Queued] = deque()
        self._queued_bytes = 0
        self._in_flight: Group | None = None
        self._drawing: _Begun | None = None
        self._tier_drawing: Drawing | None = None
        self._failure: BaseException | None = None
        self._watch_number = 0
        self._read_bytes = 0
        self.last_now_ms = 0
        self.segments_max = NO_LIMIT
        self.on_work: Callable[[], None] = lambda: None
        self.read_chunk: ReadChunk = lambda chunk, position, length: None
        self.recovery = RecoveryReport()
        self.history = History()
        """What is in the file ``history``. Who writes the file also sets this."""

    # Changes

    def submit(self, operations: Sequence[ops.Operation], *, now_ms: int) -> Ticket:
        """Check ``operations``, apply them to the validated state, all or none, and queue them for the
        next group.

        Later operations see the earlier ones.

        Raises:
            StorageError: An operation was refused (see each operation), and nothing was applied.
            StoreFull: The disk is full, and the operations would make the store grow.
            TooManySegments: There would be more than ``segments_max`` segments.
            StoreFailed: A sync failed earlier.
        """
        if self._failure is not None:
            raise StoreFailed("A write to the log failed. Restart the store.") from self._failure
        is_one = len(operations) == 1
        cost = _cost(operations[0]) if is_one else sum(map(_cost, operations))
        if len(self._validated.names) + len(operations) > self.segments_max:
            self._check_count(operations)
        if self._files.is_full:
            self._check_room(operations, cost)
        if is_one:
            result, change = self._validated.apply(operations[0])
            return self._enqueue((result,), () if change is None else (change,), now_ms, cost)
        checked = self._validated.apply_all(operations)
        changes = [change for _, change in checked if change is not None]
        return self._enqueue([result for result, _ in checked], changes, now_ms, cost)

    def barrier(self) -> Ticket:
        """Return a ticket that completes when everything submitted so far is synced, or when a write
        fails.
        """
        return self._wait(())

    def setup_append(self, segment: str, writer_id: UUID) -> Ticket:
        """Return the last event number of a writer on a segment, ``NO_VALUE`` if it has none.

        The result is the *validated* number, and the ticket completes when everything in flight is synced. A
        writer that reconnects therefore neither resends events that will be stored (they would be doubled,
        or refused), nor takes events for stored that a crash can still remove. This works on sealed segments
        too (pravega.md E3-7).

        Raises:
            NoSuchSegment, WrongKind: There is no such segment, or it is a table.
        """
        found = self._validated.get(segment)
        if found.table is not None:
            raise WrongKind(segment, is_table=True)
        return self._wait((found.next_attribute(writer_id, ops.NO_VALUE),))

    def _wait(self, results: Sequence[Any]) -> Ticket:
        if self._failure is None and (self._queue or self._in_flight):
            return self._enqueue(results, (), self.last_now_ms, 0)
        ticket = Ticket(results)
        ticket.complete(self._failure)
        return ticket

    def _enqueue(self, results: Sequence[Any], changes: Sequence[Change], now_ms: int, cost: int) -> Ticket:
        count = _count(changes[0]) if len(changes) == 1 else sum(map(_count, changes))
        ticket = Ticket(results, cost + count * WORK_BYTES)
        if now_ms > self.last_now_ms:
            self.last_now_ms = now_ms
        if not changes:
            cost = 0
        self._queue.append(_Queued(ticket, now_ms, changes, cost, count))
        self._queued_bytes += cost
        self.on_work()
        return ticket

    def _check_count(self, operations: Sequence[ops.Operation]) -> None:
        created = [op.segment for op in operations if isinstance(op, ops.CreateSegment)]
        if created and len(self._validated.names) + len(created) > self.segments_max:
            raise TooManySegments(created[-1], self.segments_max)

    def _check_room(self, operations: Sequence[ops.Operation], cost: int) -> None:
        grows = any(isinstance(op, ops.Append | ops.UpdateTable | ops.CreateSegment) for op in operations)
        room = self._files.room() - self._queued_bytes - (self._files.reserve_bytes if grows else 0)
        if cost + GROUP_OVERHEAD_BYTES * (len(self._queue) + 1) > room:
            raise StoreFull(
                "The disk of the store is full: it refuses what would make it grow, and serves reads."
                " Make room on the disk, or delete or truncate streams, to append events again."
            )

    def shrink(self) -> None:
        """Return memory that is kept for what may come, because the store is quiet."""
        self._synced.shrink()
        self._validated.names = shrunk(self._validated.names)
        self._files.forget_recent()

    # Synced state

    def exists(self, segment: str) -> bool:
        """Return whether the segment exists."""
        return segment in self._synced.names

    def segments(self) -> list[str]:
        """Return all segment names, in the order of creation."""
        return list(self._synced.names)

    def info(self, segment: str) -> SegmentInfo:
        """Return lengths, seal, times and policy of a segment. Raises NoSuchSegment."""
        return self._synced.get(segment).info()

    def sealed_ahead(self, segment: str) -> bool | None:
        """Return whether the segment will be sealed once everything submitted is synced, None if it does not
        exist then.
        """
        found = self._validated.names.get(segment)
        return None if found is None else found.next_sealed

    def length_ahead(self, segment: str) -> int:
        """Return the segment's length once everything submitted is synced, 0 if it does not exist."""
        found = self._validated.names.get(segment)
        return found.next_length if found is not None else 0

    def attribute(self, segment: str, attribute_id: UUID) -> int:
        """Return the value of an attribute, ``NO_VALUE`` if unset.

        A writer's id has its last event number.
        """
        return self._synced.get(segment).attributes.get(attribute_id, ops.NO_VALUE)

    def tiered_offset(self, segment: str) -> int | None:
        """Return the offset before which a segment has no bytes in the log. None: there is no tier 2."""
        found = self._synced.get(segment)
        if self._files.tier_first_file is None or found.table is not None:
            return None
        log_start = found.extents.log_start()
        return found.length if log_start is None else max(log_start, found.start)

    def totals(self) -> Totals:
        """Return sums over all segments, in time proportional to their number."""
        synced = self._synced
        written = [s for s in synced.names.values() if s.table is None]
        return Totals(
            len(synced.names),
            synced.deleted_bytes + sum(s.length for s in written),
            synced.deleted_events + sum(s.event_count for s in written),
            self._read_bytes,
        )

    def readable_bytes(self, segments: Iterable[str]) -> int:
        """Return how many bytes of the given segments can be read. Unknown names count as empty."""
        names = self._synced.names
        return sum(s.length - s.start for name in segments if (s := names.get(name)) is not None)

    def read(self, segment: str, offset: int, max_bytes: int) -> ReadResult:
        """Return up to ``max_bytes`` from ``offset``, fewer only where the segment ends, or where bytes begin
        that are in tier 2 and not in memory, or that are damaged.

        At or beyond the end of an open segment the result has no data, and ``at_tail``.

        Raises:
            NotAtHand: The bytes at ``offset`` are in tier 2 and not in memory. Fetch them and read again.
            NoSuchSegment, WrongKind: There is no such segment, or it is a table.
            SegmentTruncated: The bytes were truncated; the error has the first offset that is left.
            OffsetBeyondEnd: The offset is negative, or beyond the end of a sealed segment.
            CorruptStoreError: The bytes at ``offset`` are damaged on the disk.
            OSError: They cannot be read.
        """
        found = self._synced.get(segment)
        if found.table is not None:
            raise WrongKind(segment, is_table=True)
        if offset < 0 or (found.is_sealed and offset > found.length):
            raise OffsetBeyondEnd(segment, offset, found.length)
        if offset < found.start:
            raise SegmentTruncated(segment, found.start, offset)
        end = max(offset, min(offset + max_bytes, found.length))
        parts: list[bytes] = []
        for file, position, length in found.extents.pieces(offset, end):
            if file > 0:
                try:
                    parts.append(self._files.read(file, position, length))
                    continue
                except (CorruptStoreError, OSError):
                    if not parts:
                        raise
                    end = offset + sum(map(len, parts))
                    break
            part = self.read_chunk(self._synced.chunks[-file], position, length)
            if part is not None:
                parts.append(part)
            elif not parts:
                raise NotAtHand(segment, self._synced.chunks[-file], position, length)
            if part is None or len(part) < length:
                end = offset + sum(map(len, parts))
                break
        at_end = end >= found.length
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        self._read_bytes += len(data)
        return ReadResult(offset, data, at_end and not found.is_sealed, at_end and found.is_sealed)

    def answers_below(self, segment: str) -> int:
        """Return the offset below which a read of a segment is answered at once: its length, and any offset
        if it is sealed or does not exist.
        """
        found = self._synced.names.get(segment)
        return NO_LIMIT if found is None or found.is_sealed else found.length

    def watch(self, segment: str, callback: Watcher) -> Callable[[], None]:
        """Call ``callback()`` after each group that changed the segment: growth, seal, truncation,
        deletion and so on.

        Return the callable that cancels the watch. A segment that is created again under the same name needs
        a new watch. Raises NoSuchSegment.
        """
        found = self._synced.get(segment)
        self._watch_number += 1
        number = self._watch_number
        found.watch(number, callback)
        return lambda: found.watchers.pop(number, None) and None

    def table_get(self, segment: str, keys: Sequence[bytes]) -> list[TableValue | None]:
        """Return the values of ``keys`` in their order, None for missing keys.

        Raises NoSuchSegment, WrongKind, and BadTableEntry for a key of the wrong length.
        """
        table = self._table(segment)[1]
        table.check_readable(segment, keys)
        return [table.values.get(key) for key in keys]

    def table_delta(self, segment: str, from_position: int, max_entries: int) -> TableDelta:
        """Return a page of entries from a position on (pravega.md A13, E3-15).

        Raises:
            NoSuchSegment, WrongKind: There is no such segment, or it is no table.
            OffsetBeyondEnd: The position is negative or beyond the end.
        """
        found, table = self._table(segment)
        if not 0 <= from_position <= found.length:
            raise OffsetBeyondEnd(segment, from_position, found.length)
        return table.delta(segment, from_position, max_entries, found.length)

    def table_entries(
        self, segment: str, from_position: int, max_entries: int
    ) -> tuple[list[TableEntry], int]:
        """Return a page of entries by position, and the position of the next page. The last page is
        empty.

        A key that exists during the whole iteration is returned at least once. A key that is updated during
        it may be returned again.
        """
        _, table = self._table(segment)
        page = table.entries_from(from_position, max_entries)
        return page, page[-1].version + 1 if page else from_position

    def table_range(self, segment: str, low: bytes, high: bytes, max_entries: int) -> list[TableEntry]:
        """Return entries of a table with keys of one length, in the order of keys.

        ``low`` and ``high`` are included, and an empty one is no bound. Raises NoSuchSegment, WrongKind, and
        BadTableEntry if the table has no order or a bound has the wrong length.
        """
        return self._table(segment)[1].range(segment, low, high, max_entries)

    def table_size(self, segment: str) -> tuple[int, int]:
        """Return (number of keys, key length or 0) of a table. Raises NoSuchSegment, WrongKind."""
        _, table = self._table(segment)
        return len(table.values), table.key_length

    def _table(self, segment: str) -> tuple[Segment, Table]:
        found = self._synced.get(segment)
        if found.table is None:
            raise WrongKind(segment, is_table=False)
        return found, found.table

    def record(self, key: str) -> bytes | None:
        """Return the value of one record, None if there is none."""
        return self._synced.records.get(key)

    def records(self, prefix: str = "") -> Iterable[tuple[str, bytes]]:
        """Return the records whose key begins with ``prefix``, in the order of keys."""
        return self._synced.records_with(prefix)

    @property
    def on_append(self) -> AppendHook | None:
        """Return the hook that is called for every synced append, but not during recovery."""
        return self._synced.on_append

    @on_append.setter
    def on_append(self, hook: AppendHook | None) -> None:
        self._synced.on_append = hook

    @property
    def on_merge(self) -> MergeHook | None:
        """Return the hook that is called for every synced merge, but not during recovery."""
        return self._synced.on_merge

    @on_merge.setter
    def on_merge(self, hook: MergeHook | None) -> None:
        self._synced.on_merge = hook

    # The log, for the pump

    @property
    def is_idle(self) -> bool:
        """Return whether everything that was submitted is synced."""
        return not self._queue and self._in_flight is None

    def synced_place(self) -> tuple[int, str, int] | None:
        """Return the sequence of the last group, and the file and offset at which it ends.

        Return None while something that was submitted is not on disk.
        """
        if self._failure is not None or not self.is_idle:
            return None
        current = self._files.current
        where = ("", 0) if current is None else (self._files.name(current.file_id), current.position)
        return self._files.sequence, *where

    @property
    def has_failed(self) -> bool:
        """Return whether a write to the log failed, after which nothing is served."""
        return self._failure is not None

    @property
    def queued(self) -> int:
        """Return the number of submissions that wait for a group."""
        return len(self._queue)

    @property
    def log_file_count(self) -> int:
        """Return the number of log files."""
        files = self._files
        return len(files.closed) + (files.current is not None) + (files.spare is not None)

    @property
    def is_full(self) -> bool:
        """Return whether the disk had no room when it was last asked for a file."""
        return self._files.is_full

    def take_group(self) -> Group | None:
        """Return everything that is queued as one group.

        Return None while a group is in flight, nothing is queued, or a new file is needed first.
        """
        if self._in_flight is not None or self._failure is not None or not self._queue:
            return None
        first = self._queue[0].cost
        if first and not self._make_room(first + GROUP_OVERHEAD_BYTES):
            return None
        batch = self._take_batch(self._files.room_in_current() - GROUP_OVERHEAD_BYTES)
        submitted = [Submitted(queued.now_ms, queued.changes) for queued in batch if queued.changes]
        self._in_flight = self._encode(submitted, batch) if submitted else Group(0, "", 0, b"", 0, {}, batch)
        return self._in_flight

    def _take_batch(self, room: int) -> list[_Queued]:
        room = min(room, MAX_GROUP_BYTES)
        batch: list[_Queued] = []
        queue = self._queue
        changes = MAX_GROUP_CHANGES
        while queue and changes > 0 and (queue[0].cost <= room or not batch):
            queued = queue.popleft()
            batch.append(queued)
            changes -= queued.count
            room -= queued.cost
            self._queued_bytes -= queued.cost
        return batch

    def _encode(self, submitted: Sequence[Submitted], batch: Sequence[_Queued]) -> Group:
        sequence, file_id, offset, salt = self._files.next_group()
        data, starts = encode_group(sequence, salt, offset, submitted)
        self._files.advance(len(data))
        return Group(sequence, self._files.name(file_id), offset, data, file_id, starts, batch)

    def _make_room(self, length: int) -> bool:
        if self._drawing is not None and self._files.room_in_current() < length:
            return False  # the next file follows the next snapshot
        return self._files.make_room(length, self._begin_snapshot)

    def _begin_snapshot(self, sequence: int, name: str, first_file: int) -> None:
        self._drawing = _Begun(
            sequence, name, Drawing(self._synced, self._snapshot_head(first_file, sequence))
        )
        self._draw()  # of most stores, this is all

    def draw_snapshot(self) -> bool:
        """Encode some more of the snapshot that has begun. Return whether there is more to encode."""
        if self._drawing is None:
            return False
        self._draw()
        if self._drawing is None:
            self.on_work()  # groups may have waited for it
        return self._drawing is not None

    def _draw(self) -> None:
        assert self._drawing is not None
        sequence, name, drawing = self._drawing
        for _ in range(DRAWS_AT_ONCE):
            drawing.draw()
            if drawing.is_done:
                self._drawing = None
                return self._files.snapshot_drawn(Snapshot(sequence, name, drawing.finish()))
        return None

    def begin_drawing(self, first_file: int, sequence: int) -> Drawing:
        """Return a snapshot for tier 2 of the state as it is now, after group ``sequence``, in place of an
        earlier one.

        The caller encodes it. Groups that are synced in between do not change what it shows.
        """
        self._tier_drawing = Drawing(self._synced, self._snapshot_head(first_file, sequence))
        return self._tier_drawing

    def _keep_before(self, changes: Iterable[Change]) -> None:
        """Let the snapshots that are not encoded yet keep what the changes are about to change."""
        if self._drawing is not None:
            self._drawing.drawing.keep_before(changes)
        if self._tier_drawing is not None:
            if self._tier_drawing.is_done:
                self._tier_drawing = None
            else:
                self._tier_drawing.keep_before(changes)

    def _snapshot_head(self, first_file: int, sequence: int) -> SnapshotHead:
        with_tier = self._files.tier_first_file is not None or self._synced.next_chunk > 1
        store_id = self._files.store_id if with_tier else b""
        identity = identity_of(self._files.store_id, sequence)
        return SnapshotHead(self._validated.next_id, self.last_now_ms, first_file, store_id, identity)

    def group_synced(self, group: Group) -> None:
        """Note that the group is on disk: apply it, complete its tickets in order, then call the watchers."""
        assert group is self._in_flight
        self._in_flight = None
        dirty: Dirty = {}
        if group.data:
            self._files.remember(group.file_id, group.offset, group.data)
        if self._drawing is not None or self._tier_drawing is not None:
            for queued in group.queued:
                self._keep_before(queued.changes)
        for queued in group.queued:
            self._synced.apply(queued.changes, queued.now_ms, group.file_id, group.starts, dirty)
        for queued in group.queued:
            queued.ticket.complete()
        for segment in dirty:
            for watcher in tuple(segment.watchers.values()):
                watcher()
        self._files.delete_dead()

    def failed(self, failure: BaseException) -> None:
        """Note that a write or sync failed. It is not retried, and the caller stops the process."""
        if self._failure is not None:
            return
        self._failure = failure
        batch = self._in_flight.queued if self._in_flight else ()
        for queued in (*batch, *self._queue):
            queued.ticket.complete(failure)

    @property
    def has_file_work(self) -> bool:
        """Return whether a file or a snapshot may be wanted."""
        files, is_drawing = self._files, self._drawing is not None
        return files.spare is None or files.snapshot is not None or is_drawing or bool(self._queue)

    def file_wanted(self) -> NewFile | None:
        """Return a file to create now. The caller then records `history_wanted` for it, and calls
        `file_created` or `file_refused`.
        """
        head = self._queue[0].cost + GROUP_OVERHEAD_BYTES if self._queue else 0
        return None if self._failure is not None else self._files.wanted(head)

    def history_wanted(self, file: NewFile | None = None) -> History | None:
        """Return the history to write before groups go into ``file``, which was created.

        Without ``file``: into the files that recovery found. None if it is written already.
        """
        newest = file.file_id if file is not None else self._files.newest_id
        if newest <= self.history.newest_file or not self._files.disk.is_reopened:
            return None
        return replace(self.history, newest_file=newest)

    def file_created(self, file: NewFile) -> None:
        """Note that ``disk.create`` is done and recorded, so there is room (again)."""
        self._files.created(file)
        self.on_work()

    def file_refused(self, file: NewFile) -> None:
        """Note that the disk has no room for the file or its record.

        What grows is refused until the pump has succeeded.
        """
        self._files.refused(file)

    def snapshot_wanted(self) -> Snapshot | None:
        """Return a snapshot to write with ``disk.write_file``. The caller then calls `snapshot_written`."""
        return self._files.snapshot

    def snapshot_written(self, snapshot: Snapshot) -> None:
        """Note that the snapshot is on disk, and delete files that only an older snapshot needed."""
        self._files.snapshot_written(snapshot)


def _count(change: Change) -> int:
    """Return how many changes a change counts as: appends are cheap, and a table update has many entries,
    whose bytes are copied twice.
    """
    operation = change.operation
    if type(operation) is ops.Append:
        return 1
    if isinstance(operation, ops.UpdateTable):
        size = sum(len(entry.value) for entry in operation.entries)
        return 4 + len(operation.entries) + size // COPIED_BYTES
    return 4 + len(operation.keys) if isinstance(operation, ops.RemoveTableKeys) else 4


def _cost(operation: ops.Operation) -> int:
    """Return an upper bound of the bytes that an operation takes in the log."""
    kind = type(operation)
    if kind is ops.Append:
        return OPERATION_OVERHEAD_BYTES + len(operation.data)  # type: ignore[union-attr]
    if isinstance(operation, ops.UpdateTable):
        size = sum(len(entry.key) + len(entry.value) + 40 for entry in operation.entries)
    elif isinstance(operation, ops.RemoveTableKeys):
        size = sum(len(removal.key) + 40 for removal in operation.keys)
    elif isinstance(operation, ops.PutRecord):
        size = 4 * len(operation.key) + len(operation.value or b"")
    elif isinstance(operation, ops.CreateSegment):
        size = 4 * len(operation.segment)
    elif isinstance(operation, ops.MoveToTier):
        size = 100 + len(operation.chunk.checksums) + 40 * len(operation.pieces)
    else:
        size = 0
    return OPERATION_OVERHEAD_BYTES + size
