"""Where the bytes of a segment are after a part of them has moved to a chunk."""

from __future__ import annotations

import pytest

from pravega_lab.engine.store.storage.segment import Extents, Segment


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


def test_neighbours_in_the_log_are_one_range() -> None:
    """What continues in a file is one run, and runs that follow each other in wanted files are one range."""
    extents = Extents()
    runs = [(0, 1, 100, 30), (30, 1, 130, 10), (40, 1, 200, 5), (45, 2, 205, 5), (50, -3, 0, 50)]
    assert [extents.add(*run) for run in (*runs, (100, 2, 210, 10))] == [True, False, True, True, True, True]
    assert len(extents) == 5
    assert extents.log_bytes() == 60
    assert extents.log_ranges(lambda _: True) == [(0, 50), (100, 10)]
    assert extents.log_ranges({1}.__contains__) == [(0, 45)]
    assert extents.log_ranges({2}.__contains__) == [(45, 5), (100, 10)]
    assert extents.log_start() == 0
    for offset, dropped, start in (
        (0, ([], 0), 0),
        (39, ([], 0), 0),
        (40, ([1], 40), 40),
        (50, ([1, 2], 10), 100),
    ):
        files, log_bytes = extents.drop_below(offset)
        assert (list(files), log_bytes) == dropped
        assert extents.log_start() == start
    assert list(extents.pieces(60, 105)) == [(-3, 10, 40), (2, 210, 5)]


def test_what_is_moved_has_to_be_there() -> None:
    """A move that ends before what is left, or begins after it, changes nothing."""
    extents = Extents()
    assert [list(files) for files in extents.move(0, 10, -1, 0)[:2]] == [[], []]
    extents.add(50, 1, 0, 10)
    for offset, length in ((0, 50), (60, 5), (50, 0)):
        before, after, moved_bytes = extents.move(offset, length, -1, 0)
        assert (list(before), list(after), moved_bytes) == ([], [], 0)
    before, after, moved_bytes = extents.move(40, 15, -1, 7)
    assert (list(before), list(after), moved_bytes) == ([1], [-1, 1], 5)
    assert list(extents.pieces(50, 60)) == [(-1, 17, 5), (1, 5, 5)]


def test_segments_without_bytes_share_extents_that_take_none() -> None:
    """Bytes added there would appear in every empty segment."""
    empty, other = Segment(1, "s/a/0.#epoch.0", None), Segment(2, "s/b/0.#epoch.0", None)
    assert empty.extents is other.extents
    with pytest.raises(AssertionError):
        empty.extents.add(0, 1, 100, 10)
    with pytest.raises(AssertionError):
        empty.extents.join(Extents(), 0)
    empty.own_extents().add(0, 1, 100, 10)
    assert (len(empty.extents), len(other.extents)) == (1, 0)
