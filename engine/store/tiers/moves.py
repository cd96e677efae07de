"""Which bytes go into the next chunk.

Bytes move in passes. A pass visits every segment that has bytes in the log once, either for its bytes in full
log files or for all of them. A piece of at least half a chunk gets a chunk of its own, so that the chunk goes
with the segment. Smaller pieces share one, so that a thousand small segments are not a thousand objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from ..log.chunks import Piece
from ..storage.tiered import Tiered

PIECES_MAX = 4096
"""Pieces of one chunk: its record in the log stays small."""


class Pass:
    """One pass over the segments in the log.

    Args:
        tiered: The storage.
        chunk_bytes: Bytes of a chunk at most.
        only_in: The log files whose bytes move; None for all.
    """

    def __init__(self, tiered: Tiered, chunk_bytes: int, only_in: Collection[int] | None) -> None:
        self._tiered = tiered
        self._chunk_bytes = chunk_bytes
        self._only_in = only_in
        self._segments = deque(tiered.unmoved())
        self._pieces: deque[Piece] = deque()

    def next_pieces(self) -> list[Piece]:
        """Return the pieces of the next chunk, in their order. An empty list ends the pass."""
        found: list[Piece] = []
        size = 0
        while (piece := self._peek()) is not None and len(found) < PIECES_MAX:
            is_large = 2 * piece.length >= self._chunk_bytes
            if found and (is_large or size + piece.length > self._chunk_bytes):
                break
            found.append(self._take(self._chunk_bytes))
            size += found[-1].length
            if is_large:
                break
        return found

    def _peek(self) -> Piece | None:
        while not self._pieces and self._segments:
            self._pieces.extend(self._tiered.ranges(self._segments.popleft(), self._only_in))
        return self._pieces[0] if self._pieces else None

    def _take(self, limit: int) -> Piece:
        piece = self._pieces.popleft()
        if piece.length <= limit:
            return piece
        self._pieces.appendleft(Piece(piece.segment_id, piece.offset + limit, piece.length - limit))
        return piece._replace(length=limit)
