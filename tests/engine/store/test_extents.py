"""Where the bytes of a segment are after a part of them has moved to a chunk."""

from __future__ import annotations

import pytest

from pravega_lab.engine.store.storage.segment import Extents


@pytest.mark.parametrize(("offset", "length"), [(0, 100), (10, 20), (30, 70), (0, 40), (95, 5), (40, 1)])
def test_only_the_moved_bytes_are_elsewhere(offset: int, length: int) -> None:
    """Three runs hold 100 bytes. Each byte is looked up before and after the move."""
    extents = Extents()
    for at, file, position, size in ((0, 1, 1_000, 30), (30, 2, 2_000, 10), (40, 2, 3_000, 60)):
        extents.add(at, file, position, size)

    def places() -> list[tuple[int, int]]:
        found = list(extents.pieces(0, 100))
        return [(file, position + n) for file, position, size in found for n in range(size)]

    before = places()
    *_, moved_bytes = extents.move(offset, length, -7, 500)
    moved = range(offset, offset + length)
    assert places() == [(-7, 500 + n - offset) if n in moved else before[n] for n in range(100)]
    assert moved_bytes == length == 100 - extents.log_bytes()
