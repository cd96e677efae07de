"""What moving to tier 2 needs of a storage: what is in the log, what is dead in tier 2, and snapshots.

`tiers` decides what to move with it. A store without tier 2 has no object of this class.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ..errors import TierMismatch
from ..log import operations as ops
from ..log.chunks import Chunk, Piece
from .segment import Segment
from .snapshot import Drawing
from .storage import DRAWS_AT_ONCE, Storage, Ticket


@dataclass(frozen=True, slots=True)
class BytesByTier:
    """How many bytes of a segment are in the log and in tier 2. Bytes below its start may be among them."""

    segment: str
    log_bytes: int
    tier_bytes: int


@dataclass(frozen=True, slots=True)
class TierSnapshot:
    """The state after group ``sequence``. The log continues after it, perhaps inside ``first_file``.

    It is encoded in slices, while others are served. Groups that are applied in between are not in it.
    """

    sequence: int
    first_file: int
    drawing: Drawing

    def draw(self) -> bytes | None:
        """Encode some more of the state. Return the whole snapshot when nothing is left to encode."""
        for _ in range(DRAWS_AT_ONCE):
            self.drawing.draw()
            if self.drawing.is_done:
                return self.drawing.finish()
        return None


class Tiered:
    """The face of a `Storage` towards tier 2. From its construction on, no log file is deleted that a store
    rebuilt from tier 2 would need.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._synced = storage._synced
        self._files = storage._files
        self._files.tier_first_file = 0

    @property
    def store_id(self) -> bytes:
        """Return the 16 bytes that distinguish this store from others."""
        return self._files.store_id

    @property
    def lives(self) -> tuple[str, ...]:
        """Return the tags of the recorded lives of this store, this one last; see `log.history`."""
        return self.storage.history.lives

    @property
    def sequence(self) -> int:
        """Return the number of the last synced group. The synced state is the state after it."""
        in_flight = self.storage._in_flight
        return in_flight.sequence - 1 if in_flight is not None and in_flight.data else self._files.sequence

    @property
    def log_bytes(self) -> int:
        """Return the bytes of segments that are in the log."""
        return self._synced.log_bytes

    @property
    def next_chunk(self) -> int:
        """Return a number that is higher than that of every chunk in the log."""
        return self._synced.next_chunk

    def chunk(self, number: int) -> Chunk | None:
        """Return a chunk, None if no segment has bytes in it."""
        return self._synced.chunks.get(number)

    def chunks(self) -> Collection[Chunk]:
        """Return the chunks in which segments have bytes."""
        return self._synced.chunks.values()

    def full_files(self) -> set[int]:
        """Return the ids of the full log files in which segments have bytes."""
        return set(self._synced.file_use.files()) & self._files.closed.keys()

    def files_to_free(self) -> bool:
        """Return whether a snapshot in tier 2 is all that is missing to delete a log file."""
        closed, durable = self._files.closed, self._files.durable_sequence
        first = self._files.tier_first_file or 0
        return any(file >= first and closed[file] <= durable for file in self._files.unused())

    # Moving

    def unmoved(self) -> list[int]:
        """Return the ids of the segments that may have bytes in the log."""
        return list(self._synced.unmoved)

    def ranges(self, segment_id: int, only_in: Collection[int] | None) -> list[Piece]:
        """Return the ranges of a segment that are in the log, or in the log files ``only_in``."""
        segment = self._synced.unmoved.get(segment_id)
        if segment is None:
            return []
        found = segment.extents.log_ranges(lambda file: only_in is None or file in only_in)
        if not found and not segment.extents.log_ranges(lambda file: True):
            del self._synced.unmoved[segment_id]
        return [Piece(segment_id, offset, length) for offset, length in found]

    def read(self, piece: Piece) -> bytes | None:
        """Return the bytes of a piece from the log, None if they are no longer there.

        Raises CorruptStoreError and OSError as `Storage.read` does.
        """
        segment = self._synced.by_id.get(piece.segment_id)
        if segment is None or not len(segment.extents) or segment.extents.offsets[0] > piece.offset:
            return None
        end = piece.offset + piece.length
        runs = list(segment.extents.pieces(piece.offset, end))
        if any(file <= 0 for file, _, _ in runs):
            return None
        return b"".join(self._files.read(*run) for run in runs)

    def submit_move(self, chunk: Chunk, pieces: Iterable[Piece], *, now_ms: int) -> Ticket:
        """Record that ``chunk`` has the bytes of ``pieces``. Raises StoreFull, StoreFailed."""
        return self.storage.submit([ops.MoveToTier(chunk, tuple(pieces))], now_ms=now_ms)

    # Snapshots and deletion

    def begin_snapshot(self) -> TierSnapshot:
        """Begin a snapshot of the synced state as it is now, in place of one that was not finished."""
        current = self._files.current
        first_file = current.file_id if current is not None else 0
        drawing = self.storage.begin_drawing(first_file, self.sequence)
        return TierSnapshot(self.sequence, first_file, drawing)

    def snapshot_stored(self, first_file: int) -> None:
        """Note that a snapshot after which the log continues in ``first_file`` is in tier 2, and delete files
        that are free now.
        """
        self._files.tier_first_file = first_file
        self._synced.file_use.emptied = True
        self._files.delete_dead()

    def take_dead(self) -> list[Chunk]:
        """Return the chunks that have lost their last segment since the last call."""
        dead = list(self._synced.dead_chunks)
        self._synced.dead_chunks.clear()
        return dead


def leave_tier(storage: Storage) -> None:
    """Run a storage without tier 2.

    Raises:
        TierMismatch: Segments have bytes in tier 2.
    """
    count = len(storage._synced.chunks)
    if count:
        raise TierMismatch(
            f"Segments of this store have bytes in {count} chunks in tier 2. Give the --tier2 that it used."
        )
    storage._files.tier_first_file = None


def bytes_by_tier(storage: Storage) -> list[BytesByTier]:
    """Return the bytes of every segment in the log and in tier 2, in the order of creation.

    Tables have none in either: their entries are in memory and in snapshots.
    """
    return [_bytes_of(segment) for segment in storage._synced.names.values()]


def _bytes_of(segment: Segment) -> BytesByTier:
    log_bytes = segment.extents.log_bytes()
    return BytesByTier(segment.name, log_bytes, sum(segment.extents.lengths) - log_bytes)
