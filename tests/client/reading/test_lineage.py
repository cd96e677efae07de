"""What may be read when, over splits, merges and cuts in the middle of them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pravega_lab.client.reading.lineage import READ_SEGMENTS_KEPT, Lineage, without_placeholders
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ


def segment(number: int, epoch: int, low: float, high: float) -> SegmentRange:
    return SegmentRange(epoch << 32 | number, low, high)


A, B = segment(0, 0, 0.0, 0.5), segment(1, 0, 0.5, 1.0)
MERGED = segment(2, 1, 0.0, 1.0)
LEFT, RIGHT = segment(3, 2, 0.0, 0.5), segment(4, 2, 0.5, 1.0)


def test_a_merged_segment_waits_for_both() -> None:
    lineage = Lineage()
    lineage.add([(A, 0), (B, 0), (MERGED, 0)])
    assert lineage.available() == [A.segment_id, B.segment_id]
    lineage.finish(A.segment_id)
    assert lineage.available() == [B.segment_id]
    assert lineage.waits_for(MERGED.segment_id) == [B.segment_id]
    lineage.finish(B.segment_id)
    assert lineage.available() == [MERGED.segment_id]


def test_the_position_covers_all_keys_in_the_middle_of_a_merge() -> None:
    lineage = Lineage()
    lineage.add([(A, 10), (B, 20)])
    lineage.add([(MERGED, 0)])
    lineage.finish(A.segment_id)
    assert lineage.advance(B.segment_id, 30) == 10, "the bytes between both offsets"
    assert lineage.positions() == {A.segment_id: -1, B.segment_id: 30}
    lineage.finish(B.segment_id)
    assert lineage.positions() == {MERGED.segment_id: 0}


def test_the_position_before_events_that_were_put_back() -> None:
    lineage = Lineage()
    lineage.add([(A, 10), (B, 20)])
    lineage.add([(MERGED, 0)])
    lineage.finish(A.segment_id)
    lineage.finish(B.segment_id)
    lineage.advance(MERGED.segment_id, 30)
    assert lineage.positions_before([(MERGED, 5)]) == {MERGED.segment_id: 5}
    assert lineage.positions_before([(B, 20)]) == {A.segment_id: -1, B.segment_id: 20}
    assert lineage.positions_before([(MERGED, 5), (B, 20), (A, 10)]) == {A.segment_id: 10, B.segment_id: 20}
    assert lineage.positions() == {MERGED.segment_id: 30}, "nothing has changed"


def test_a_segment_behind_one_that_is_not_known_yet_waits_all_the_same() -> None:
    # 0.5..1 is read and leads on to MERGED and RIGHT; A is not, so both wait although MERGED came second.
    lineage = Lineage()
    lineage.add([(A, 0), (RIGHT, 0), (LEFT, 0)])
    assert lineage.available() == [A.segment_id, RIGHT.segment_id]
    lineage.add([(MERGED, 0)])
    assert lineage.available() == [A.segment_id]
    assert lineage.waits_for(RIGHT.segment_id) == [MERGED.segment_id]


def test_without_order_everything_may_be_read() -> None:
    lineage = Lineage(ordered=False)
    lineage.add([(A, 0), (B, 0), (MERGED, 0)])
    assert lineage.available() == [A.segment_id, B.segment_id, MERGED.segment_id]


def test_segments_read_before_the_start_block_nothing() -> None:
    lineage = Lineage()
    lineage.add([(A, -1), (B, 5), (MERGED, 0)])
    assert lineage.waits_for(MERGED.segment_id) == [B.segment_id]


def test_a_negative_offset_over_an_unread_older_segment_is_a_placeholder() -> None:
    positions = {B.segment_id: 5, MERGED.segment_id: -1}
    assert without_placeholders(positions, [B, MERGED]) == {B.segment_id: 5}
    positions = {A.segment_id: 3, B.segment_id: 5, MERGED.segment_id: -1, LEFT.segment_id: -1}
    assert without_placeholders(positions, [A, B, MERGED, LEFT]) == {A.segment_id: 3, B.segment_id: 5}
    positions = {A.segment_id: 0, B.segment_id: 0, MERGED.segment_id: -1}
    assert without_placeholders(positions, [A, B, MERGED]) == {A.segment_id: 0, B.segment_id: 0}
    positions = {A.segment_id: 3, B.segment_id: 5, MERGED.segment_id: 0}
    assert without_placeholders(positions, [A, B, MERGED]) == positions, "it is to be read from its beginning"
    positions = {A.segment_id: -1, B.segment_id: 5}
    assert without_placeholders(positions, [A, B]) == positions


def test_a_long_read_keeps_what_its_position_needs_and_no_more() -> None:
    """The lower half changes its segment 200 times, while the upper half has read nothing but a part."""
    lower = [segment(n + 2, n + 1, 0.0, 0.5) for n in range(200)]
    ended = segment(600, 600, 0.0, 1.0)  # of the start cut: nothing of it is to be read, and it waits for B
    last = segment(601, 601, 0.0, 1.0)
    lineage = Lineage()
    lineage.add([(A, 0), (B, 20), (ended, SEGMENT_READ)])
    for before, after in pairwise([A, *lower]):
        lineage.add([(after, 0)])
        assert lineage.available() == sorted([B.segment_id, before.segment_id])
        lineage.finish(before.segment_id)
        assert lineage.positions() == {B.segment_id: 20, after.segment_id: 0}
        assert len(lineage) < 3 * READ_SEGMENTS_KEPT
    lineage.finish(lower[-1].segment_id)
    assert lineage.positions() == {B.segment_id: 20, lower[-1].segment_id: SEGMENT_READ}
    lineage.add([(last, 0)])
    assert lineage.waits_for(last.segment_id) == [B.segment_id]
    assert lineage.waits_for(ended.segment_id) == [B.segment_id]
    lineage.finish(B.segment_id)
    assert lineage.available() == [last.segment_id]
    assert lineage.positions() == {last.segment_id: 0}


def epochs(moves: list[tuple[bool, int]]) -> list[list[SegmentRange]]:
    """A stream's epochs, made by splitting or merging at a place."""
    active = [segment(0, 0, 0.0, 0.5), segment(1, 0, 0.5, 1.0)]
    found = [active]
    number = 2
    for epoch, (is_split, place) in enumerate(moves, start=1):
        at = place % len(active)
        if is_split:
            middle = (active[at].low + active[at].high) / 2
            new = [segment(number, epoch, active[at].low, middle)]
            new.append(segment(number + 1, epoch, middle, active[at].high))
            active = active[:at] + new + active[at + 1 :]
        elif len(active) > 1:
            at = min(at, len(active) - 2)
            new = [segment(number, epoch, active[at].low, active[at + 1].high)]
            active = active[:at] + new + active[at + 2 :]
        number += 2
        found.append(active)
    return found


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=12), st.randoms(use_true_random=False))
def test_any_history_is_read_predecessors_first_and_never_stops(
    moves: list[tuple[bool, int]], chance: object
) -> None:
    history = epochs(moves)
    successors: dict[int, list[SegmentRange]] = {}
    for before, after in pairwise(history):
        for old in before:
            if old not in after:
                successors[old.segment_id] = [new for new in after if new not in before and new.overlaps(old)]
    everything = {s.segment_id: s for active in history for s in active}
    lineage = Lineage()
    lineage.add((s, 0) for s in history[0])
    order: list[SegmentRange] = []
    while lineage.available():
        chosen = chance.choice(lineage.available())  # type: ignore[attr-defined]
        lineage.add((s, 0) for s in successors.get(chosen, []))
        lineage.finish(chosen)
        order.append(everything[chosen])
        covered = sorted((everything[i].low, everything[i].high) for i in lineage.positions())
        at = 0.0
        for low, high in covered:
            assert low <= at, "a hole in the position"
            at = max(at, high)
        assert at == 1.0
    assert len(order) == len(everything)
    for i, later in enumerate(order):
        assert not any(e.segment_id > later.segment_id and e.overlaps(later) for e in order[:i])
