"""Epochs, scale checks and stream cuts as pure decisions: tables, and properties under random scales."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.engine.store.metadata import cuts
from pravega_lab.engine.store.metadata.epochs import (
    Epochs,
    first_epoch,
    overlapping,
    rolling_epochs,
    scaled_epoch,
)
from pravega_lab.engine.store.retention.lower_bound import lower_bound
from pravega_lab.engine.store.streams.scaling import (
    ScalePreconditionError,
    check_scale,
)
from pravega_lab.errors import BadInputError, ScaleRefusedError, SegmentNotFoundError
from pravega_lab.protocol.hashing import equal_parts, initial_ranges, joined
from pravega_lab.protocol.names import SegmentRange, segment_id


def history(n: int) -> Epochs:
    return Epochs([first_epoch(initial_ranges(n), 0, now_ms=1)])


def scale(epochs: Epochs, seal: list[int], bounds: list[tuple[float, float]]) -> None:
    epochs.add(scaled_epoch(epochs.active, seal, bounds, now_ms=2))


def active(epochs: Epochs) -> list[tuple[int, float, float]]:
    return [(s.segment_id, s.low, s.high) for s in epochs.active.segments]


def split_and_merged() -> Epochs:
    """Epoch 0: 0, 1. Epoch 1: 0 is split into 2.#1 and 3.#1. Epoch 2: 3.#1 and 1 become 4.#2."""
    epochs = history(2)
    scale(epochs, [0], [(0.0, 0.25), (0.25, 0.5)])
    scale(epochs, [segment_id(1, 3), 1], [(0.25, 1.0)])
    return epochs


LEFT, MIDDLE, MERGED = segment_id(1, 2), segment_id(1, 3), segment_id(2, 4)


@pytest.mark.parametrize(
    ("seal", "bounds", "error"),
    [
        ([0], [(0.0, 0.25), (0.25, 0.5)], None),
        ([0, 1], [(0.0, 0.1), (0.1, 0.7), (0.7, 1.0)], None),
        ([1, 0], [(0.5, 1.0), (0.0, 0.5)], None),  # in any order; replaced by the same ranges
        ([77], [(0.0, 0.5)], ScalePreconditionError),  # rule 2: not active
        ([], [], ScaleRefusedError),
        ([0, 0], [(0.0, 0.25), (0.25, 0.5)], ScaleRefusedError),
        ([0], [(0.5, 0.25)], ScaleRefusedError),  # rule 3: no range
        ([0], [(0.0, 0.5), (0.5, 0.5)], ScaleRefusedError),
        ([0], [(0.0, float("nan"))], ScaleRefusedError),
        ([0], [(0.0, 0.4)], ScaleRefusedError),  # rule 4: a gap
        ([0], [(0.0, 0.25), (0.2, 0.5)], ScaleRefusedError),  # an overlap
        ([0], [(0.0, 0.5000000000000001)], ScaleRefusedError),  # exactly, to the last bit
        ([0, 1], [(0.0, 1.0)], ScalePreconditionError),  # rule 5: fewer than the policy's two
    ],
)
def test_scale_checks(
    seal: list[int], bounds: list[tuple[float, float]], error: type[ScaleRefusedError] | None
) -> None:
    epochs = history(2)
    if error is None:
        check_scale(epochs, seal, bounds, 2)
        return
    with pytest.raises(ScaleRefusedError) as refused:
        check_scale(epochs, seal, bounds, 2)
    assert type(refused.value) is error


def test_numbers_go_on_above_the_active_ones() -> None:
    epochs = split_and_merged()
    assert active(epochs) == [(LEFT, 0.0, 0.25), (MERGED, 0.25, 1.0)]
    scale(epochs, [MERGED], [(0.25, 0.5), (0.5, 1.0)])
    assert [s for s, _, _ in active(epochs)] == [LEFT, segment_id(3, 5), segment_id(3, 6)]
    scale(epochs, [segment_id(3, 5), segment_id(3, 6)], [(0.25, 1.0)])
    scale(epochs, [segment_id(4, 7), LEFT], [(0.0, 1.0)])
    assert active(epochs) == [(segment_id(5, 8), 0.0, 1.0)]


def test_successors_and_their_predecessors() -> None:
    epochs = split_and_merged()
    assert [(f.segment.segment_id, f.predecessors) for f in epochs.successors(0)] == [
        (LEFT, (0,)),
        (MIDDLE, (0,)),
    ]
    assert [(f.segment.segment_id, f.predecessors) for f in epochs.successors(1)] == [(MERGED, (MIDDLE, 1))]
    assert epochs.successors(LEFT) == []
    assert epochs.predecessors(MERGED) == (MIDDLE, 1)
    assert epochs.predecessors(0) == ()
    with pytest.raises(SegmentNotFoundError):
        epochs.successors(99)


def test_a_rolling_transaction_makes_two_epochs() -> None:
    """The case seen on a real server: {2.#1, 3.#1, 1.#0} scaled to {4.#2, 5.#2}, then a commit of epoch 1."""
    epochs = history(2)
    scale(epochs, [0], [(0.0, 0.25), (0.25, 0.5)])
    scale(epochs, [segment_id(1, 2), segment_id(1, 3), 1], [(0.0, 0.5), (0.5, 1.0)])
    for record in rolling_epochs(epochs.active, epochs.epoch(1), now_ms=9):
        epochs.add(record)
    again = [s.segment_id for s in epochs.epoch(3).segments]
    assert again == [segment_id(3, 2), segment_id(3, 3), segment_id(3, 1)]
    assert [s for s, _, _ in active(epochs)] == [segment_id(4, 4), segment_id(4, 5)]
    assert (epochs.epoch(3).reference_epoch, epochs.active.reference_epoch) == (1, 2)
    assert [f.segment.segment_id for f in epochs.successors(segment_id(2, 4))] == again[:2]


@pytest.mark.parametrize(
    ("cut", "valid"),
    [
        ({0: 0, 1: 0}, True),
        ({0: 0}, False),  # keys above 0.5 are missing
        ({LEFT: 5, MIDDLE: 0, 1: 3}, True),
        ({0: 9, LEFT: 0, MIDDLE: 0, 1: 0}, False),  # 0 overlaps what follows it
        ({0: -1, 1: 102}, True),  # 0 is wholly read
        ({LEFT: 5, MIDDLE: 9, MERGED: -1}, True),  # 1 is read to its end, 3 is not: their successor waits
        ({LEFT: 5, MERGED: 7, 1: -1}, False),  # what is wholly read is older than what is being read there
        ({LEFT: 5, MERGED: 0}, True),
        ({LEFT: 5, MERGED: 0, 999: 0}, False),
        ({}, False),
    ],
)
def test_cut_validity(cut: dict[int, int], valid: bool) -> None:
    assert cuts.is_valid(split_and_merged(), cut) is valid


@pytest.mark.parametrize(
    ("later", "earlier", "expected"),
    [
        ({0: 5, 1: 5}, {0: 5, 1: 4}, True),
        ({0: 5, 1: 3}, {0: 5, 1: 4}, False),
        ({LEFT: 0, MIDDLE: 0, 1: 4}, {0: 5, 1: 4}, True),
        ({0: 5, 1: 4}, {LEFT: 0, MIDDLE: 0, 1: 4}, False),
        ({0: -1, 1: 4}, {0: 5, 1: 4}, True),
        ({0: 6, 1: 4}, {0: -1, 1: 4}, False),
        ({LEFT: 0, MIDDLE: 12, MERGED: -1}, {LEFT: 0, MIDDLE: 9, MERGED: -1}, True),
        ({LEFT: 0, MERGED: 1}, {LEFT: 0, MIDDLE: 9, MERGED: -1}, True),
    ],
)
def test_which_cut_is_later(later: dict[int, int], earlier: dict[int, int], expected: bool) -> None:
    assert cuts.is_not_before(split_and_merged(), later, earlier) is expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ({0: 0, 1: 0}, {}, [0, 1, LEFT, MIDDLE, MERGED]),
        ({}, {0: 3, 1: 0}, [0, 1]),
        ({LEFT: 0, MIDDLE: 0, 1: 0}, {}, [1, LEFT, MIDDLE, MERGED]),
        ({LEFT: 0, MERGED: 0}, {}, [LEFT, MERGED]),
        ({0: 0}, {}, [0, 1, LEFT, MIDDLE, MERGED]),  # what the start leaves out begins with the stream
        # A cut taken in the middle of a merge: 3 is not wholly read, so it is part of what follows.
        ({LEFT: 5, MIDDLE: 9, MERGED: -1}, {}, [LEFT, MIDDLE, MERGED]),
        ({}, {LEFT: 5, MIDDLE: 9, MERGED: -1}, [0, 1, LEFT, MIDDLE]),
    ],
)
def test_segments_between(start: dict[int, int], end: dict[int, int], expected: list[int]) -> None:
    assert cuts.between(split_and_merged(), start, end) == expected


def test_a_segment_that_was_read_is_not_between_a_cut_that_lists_older_and_newer_ones_and_the_tail() -> None:
    """Segment 1 covers keys whose next segment waits. After it, segments 4 and 5 were read, too."""
    epochs = history(2)
    scale(epochs, [0, 1], [(0.0, 0.25), (0.25, 0.75), (0.75, 1.0)])
    low, waiting, read = (segment.segment_id for segment in epochs.active.segments)
    scale(epochs, [read], [(0.75, 1.0)])
    newest = epochs.active.segments[-1].segment_id
    scale(epochs, [waiting, newest], [(0.25, 1.0)])
    tail = epochs.active.segments[-1].segment_id
    assert cuts.between(epochs, {0: 5, 1: -1, newest: -1}, {}) == [0, low, waiting, newest, tail]


def test_segments_between_refusals() -> None:
    epochs = split_and_merged()
    with pytest.raises(BadInputError):
        cuts.between(epochs, {}, {})
    with pytest.raises(BadInputError):
        cuts.between(epochs, {LEFT: 0, MERGED: 0}, {0: 0, 1: 0})
    with pytest.raises(SegmentNotFoundError):
        cuts.between(epochs, {99: 0}, {})


def test_what_truncation_deletes() -> None:
    epochs = split_and_merged()
    everything = list(epochs.ids)
    assert cuts.before(epochs, {LEFT: 0, MIDDLE: 0, 1: 0}, everything) == [0]
    assert cuts.before(epochs, {LEFT: 0, MERGED: 0}, everything) == [0, 1, MIDDLE]
    assert cuts.before(epochs, {LEFT: 0, MIDDLE: 9, MERGED: -1}, everything) == [0, 1]
    assert cuts.resolved(epochs, {LEFT: 0, MIDDLE: 9, MERGED: -1}) == {LEFT: 0, MIDDLE: 9, MERGED: 0}
    assert cuts.resolved(epochs, {0: -1, 1: 0}) == {0: -1, 1: 0}


def merged_wholly() -> Epochs:
    epochs = history(4)
    scale(epochs, [0, 1, 2, 3], [(0.0, 1.0)])
    return epochs


def split_and_merged_inside() -> Epochs:
    epochs = history(1)
    scale(epochs, [0], [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)])
    scale(epochs, [segment_id(1, 2), segment_id(1, 3)], [(0.25, 0.75)])
    return epochs


@pytest.mark.parametrize("make", [split_and_merged, merged_wholly, split_and_merged_inside])
def test_what_is_before_any_valid_cut(make: Callable[[], Epochs]) -> None:
    """Entries that are read to their ends may lie over each other, however they are nested."""
    epochs = make()
    segments = [epochs.segment(i) for i in epochs.ids]
    checked = 0
    for offsets in itertools.product((None, -1, 3), repeat=len(segments)):
        cut = {i: offset for i, offset in zip(epochs.ids, offsets, strict=True) if offset is not None}
        if not cuts.is_valid(epochs, cut):
            continue
        expected = []
        for segment in segments:
            assert segment is not None
            over = [o for o in segments if o is not None and o.segment_id in cut and o.overlaps(segment)]
            if segment.segment_id not in cut and all(o.segment_id > segment.segment_id for o in over):
                expected.append(segment.segment_id)
        assert cuts.before(epochs, cut, epochs.ids) == expected, cut
        checked += 1
    assert checked > 10


def test_split_ends_exactly_where_the_segment_does() -> None:
    bounds = equal_parts(0.1, 0.7, 7)
    assert (len(bounds), bounds[0][0], bounds[-1][1]) == (7, 0.1, 0.7)
    assert joined(bounds) == [(0.1, 0.7)]


def random_history(seed: int, steps: int) -> Epochs:
    chance = random.Random(seed)
    epochs = history(chance.randint(1, 5))
    for _ in range(steps):
        segments = epochs.active.segments
        if chance.random() < 0.15 and len(epochs) > 1:
            old = epochs.epoch(epochs.epoch(chance.randrange(len(epochs))).reference_epoch)
            for record in rolling_epochs(epochs.active, old, now_ms=5):
                epochs.add(record)
            continue
        first = chance.randrange(len(segments))
        chosen = segments[first : first + chance.randint(1, 3)]
        bounds = equal_parts(chosen[0].low, chosen[-1].high, chance.randint(1, 3))
        check_scale(epochs, [s.segment_id for s in chosen], bounds, 1)
        scale(epochs, [s.segment_id for s in chosen], bounds)
    return epochs


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 12))
def test_every_epoch_covers_all_keys_once_and_successors_fit_predecessors(seed: int, steps: int) -> None:
    epochs = random_history(seed, steps)
    for number in range(len(epochs)):
        assert joined((s.low, s.high) for s in epochs.epoch(number).segments) == [(0.0, 1.0)]
        times = [epochs.epoch(n).created_ms for n in range(number + 1)]
        assert times == sorted(set(times))
    for one in epochs.ids:
        for follower in epochs.successors(one):
            assert one in follower.predecessors
            assert follower.predecessors == epochs.predecessors(follower.segment.segment_id)
        for before in epochs.predecessors(one):
            assert one in [f.segment.segment_id for f in epochs.successors(before)]
    assert list(epochs.ids) == sorted(set(epochs.ids))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 12))
def test_segments_between_two_epochs_are_those_of_the_epochs_between(seed: int, steps: int) -> None:
    epochs = random_history(seed, steps)
    chance = random.Random(seed)
    first, last = sorted(chance.randrange(len(epochs)) for _ in range(2))
    start = {s.segment_id: 0 for s in epochs.epoch(first).segments}
    end = {s.segment_id: 0 for s in epochs.epoch(last).segments}
    expected = {s.segment_id for n in range(first, last + 1) for s in epochs.epoch(n).segments}
    assert cuts.between(epochs, start, end) == sorted(expected)
    assert cuts.is_valid(epochs, start)
    assert cuts.is_not_before(epochs, end, start)
    gone = cuts.before(epochs, start, epochs.ids)
    assert set(gone) == {
        s for n in range(first) for s in (r.segment_id for r in epochs.epoch(n).segments)
    } - set(start)


def test_overlaps_of_a_range() -> None:
    segments = history(10).active.segments
    assert [s.segment_id for s in overlapping(segments, 0.25, 0.45)] == [2, 3, 4]
    assert [s.segment_id for s in overlapping(segments, segments[3].low, segments[3].high)] == [3]


class Progress:
    """What a reader has read, and the cut that says so: for each key, the first segment that is not read."""

    def __init__(self, epochs: Epochs, chance: random.Random, steps: int) -> None:
        self._epochs, self._chance = epochs, chance
        self.at = dict.fromkeys(epochs.ids, 0)
        self.read: dict[int, None] = {}
        self.go_on(steps)

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            segment = self._chance.choice([s for s in self._epochs.ids if self._may_read(s)])
            self.at[segment] += self._chance.randint(0, 3)
            if self._chance.random() < 0.7 and not self._epochs.is_active(segment):
                self.read[segment] = None

    def _may_read(self, segment: int) -> bool:
        return segment not in self.read and all(p in self.read for p in self._epochs.predecessors(segment))

    def cut(self) -> dict[int, int]:
        known = [s for i in self._epochs.ids if (s := self._epochs.segment(i)) is not None]
        edges = sorted({edge for s in known for edge in (s.low, s.high)})
        cells = [SegmentRange(-1, low, high) for low, high in itertools.pairwise(edges)]
        unread = [s for s in known if s.segment_id not in self.read]
        listed = sorted({next(s.segment_id for s in unread if s.overlaps(cell)) for cell in cells})
        return {i: self.at[i] if self._may_read(i) else -1 for i in listed}


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 8))
def test_the_cut_of_any_reader_says_what_it_has_not_read(seed: int, steps: int) -> None:
    """Segments of several epochs may be in it, and some that wait for one that has not begun either."""
    epochs, chance = random_history(seed, steps), random.Random(seed)
    reader, other = Progress(epochs, chance, chance.randint(0, 15)), Progress(epochs, chance, 15)
    cut, read = reader.cut(), dict(reader.read)
    assert cuts.is_valid(epochs, cut)
    assert cuts.before(epochs, cut, epochs.ids) == sorted(read)
    assert cuts.between(epochs, cut, {}) == [i for i in epochs.ids if i not in read]
    assert cuts.resolved(epochs, cut) == {i: max(offset, 0) for i, offset in cut.items()}
    bound = lower_bound(epochs, [cut, other.cut()])
    assert bound is not None
    assert cuts.before(epochs, bound, epochs.ids) == sorted(read.keys() & other.read.keys())
    assert all(cuts.is_not_before(epochs, later, bound) for later in (cut, other.cut()))
    reader.go_on(5)
    assert cuts.is_not_before(epochs, reader.cut(), cut)
    assert cuts.is_not_before(epochs, cut, reader.cut()) == (reader.cut() == cut)


def in_the_middle_of_merges(n: int) -> tuple[Epochs, dict[int, int]]:
    """Pairs of ``n`` segments were merged; one of each pair is read to its end."""
    epochs = history(n)
    first = [(s.low, s.high) for s in epochs.active.segments]
    scale(epochs, list(range(n)), [(first[i][0], first[i + 1][1]) for i in range(0, n, 2)])
    read = {i: -(i % 2) for i in range(n)}
    return epochs, {**read, **{s.segment_id: -1 for s in epochs.active.segments}}


def calls_of(work: Callable[[], object]) -> int:
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "question",
    [
        lambda epochs, cut: cuts.is_not_before(epochs, cut, cut),
        lambda epochs, cut: cuts.between(epochs, cut, cut),
        lambda epochs, cut: cuts.before(epochs, cut, epochs.ids),
        lambda epochs, cut: cuts.resolved(epochs, cut),
        lambda epochs, cut: lower_bound(epochs, [cut, cut]),
    ],
    ids=["order", "between", "before", "resolved", "bound"],
)
def test_four_times_as_many_segments_are_little_more_than_four_times_the_work(
    question: Callable[[Epochs, dict[int, int]], object],
) -> None:
    """No other client is served while the store compares cuts."""
    few, many = (calls_of(partial(question, *in_the_middle_of_merges(n))) for n in (200, 800))
    assert many < 6 * few
