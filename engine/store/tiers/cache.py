"""The blocks of chunks that are in memory, so that reads of the same part of tier 2 fetch it once."""

from __future__ import annotations

from ..errors import CorruptStoreError
from ..log.chunks import BLOCK_BYTES, Chunk, blocks_of, damaged_block

FETCH_BLOCKS_MAX = 8
"""Blocks that are fetched by one request: 2 MiB, as much as one reply to a reader can have."""

Key = tuple[int, int]  # number of the chunk, index of the block


class BlockCache:
    """Keeps the blocks that were used last, up to a number of bytes. Only verified blocks get in."""

    def __init__(self, max_bytes: int, store_id: bytes) -> None:
        self._max_bytes = max_bytes
        self._store_id = store_id
        self._blocks: dict[Key, bytes] = {}
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """Return the bytes that are kept."""
        return self._bytes

    def read(self, chunk: Chunk, position: int, length: int) -> bytes | None:
        """Return the bytes from ``position`` on up to the first block that is missing, None if it is the
        first.
        """
        parts: list[bytes] = []
        end = position + length
        while position < end:
            index, within = divmod(position, BLOCK_BYTES)
            block = self._blocks.pop((chunk.number, index), None)
            if block is None:
                break
            self._blocks[chunk.number, index] = block  # the most recent block is the last one
            parts.append(block[within : within + end - position])
            position += len(parts[-1])
        return b"".join(parts) if parts else None

    def wanted(self, chunk: Chunk, position: int, length: int) -> tuple[int, int]:
        """Return where the bytes to fetch for a read begin and end: whole blocks, as many as one request
        may have.
        """
        first = position // BLOCK_BYTES
        count = min(FETCH_BLOCKS_MAX, (position + length - 1) // BLOCK_BYTES - first + 1)
        return first * BLOCK_BYTES, min((first + count) * BLOCK_BYTES, chunk.length)

    def put(self, chunk: Chunk, start: int, data: bytes) -> None:
        """Keep the blocks of a chunk from ``start`` on.

        Raises:
            CorruptStoreError: A block is not as it was written. None is kept.
        """
        first = start // BLOCK_BYTES
        damaged = damaged_block(chunk, first, data, self._store_id)
        if damaged is not None or not data:
            at = (damaged or first) * BLOCK_BYTES
            raise CorruptStoreError(
                f"The chunk {chunk.name!r} in tier 2 is damaged at offset {at} (checksum). Restore it from a"
                " copy. All other data can still be read."
            )
        for index, block in blocks_of(first, data):
            old = self._blocks.pop((chunk.number, index), b"")
            self._blocks[chunk.number, index] = block
            self._bytes += len(block) - len(old)
        while self._bytes > self._max_bytes and len(self._blocks) > 1:
            self._bytes -= len(self._blocks.pop(next(iter(self._blocks))))
