"""Splits and limits on made-up streams: everything once, in order per key, cuts valid, limits kept."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.connector.spark.source.limits import Backlog, advance, takes
from pravega_lab.connector.spark.source.lineage import Lineage, groups
from pravega_lab.connector.spark.source.splits import SegmentSlice, pack, plan, slices
from tests.connector.spark.synthetic import SyntheticStream, scale_at_random, segment_id, stream_at_random

NAME = "scope/stream"
Cut = dict[int, int]


def backlog_of(stream: SyntheticStream, start: Cut, target: Cut) -> Backlog:
    ids = stream.between(start, target)
    return Backlog(
        spans={s: stream.spans[s] for s in ids},
        begin={s: start.get(s, 0) for s in ids},
        end={s: target.get(s, stream.length(s)) for s in ids},
        target=frozenset(target),
    )


def batch(stream: SyntheticStream, start: Cut, limit: int) -> Cut:
    [cut] = advance([backlog_of(stream, start, stream.tail())], limit, [stream.boundary])
    return cut


def partitions(
    stream: SyntheticStream, start: Cut, end: Cut, **how: object
) -> list[tuple[SegmentSlice, ...]]:
    ids = stream.between(start, end)
    found = slices(NAME, ids, start, end, {s: stream.length(s) for s in ids})
    return plan([(found, stream.spans)], **how)  # type: ignore[arg-type]


def assert_covers_key_space_once(stream: SyntheticStream, cut: Cut) -> None:
    row = sorted(stream.spans[s] for s in cut)
    assert row[0][0] == 0.0
    assert row[-1][1] == 1.0
    assert all(left[1] == right[0] for left, right in itertools.pairwise(row))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), limit=st.integers(1, 3000))
@settings(max_examples=150)
def test_batches_under_a_limit_read_everything_once_and_in_order_per_key(seed: int, limit: int) -> None:
    stream = stream_at_random(seed)
    cut, seen, rounds = stream.head(), [], 0
    while cut != stream.tail():
        end = batch(stream, cut, limit)
        assert end != cut
        assert_covers_key_space_once(stream, end)
        for partition in partitions(stream, cut, end, wanted_bytes=1):
            for piece in partition:
                seen += stream.read(piece.segment_id, piece.start, piece.end)
        cut, rounds = end, rounds + 1
        assert rounds < 5000
    assert sorted(number for _, number in seen) == list(range(stream.written))
    newest: dict[float, int] = {}
    for key, number in seen:
        assert newest.get(key, -1) < number
        newest[key] = number


@given(seed=st.integers(0, 2**32), limit=st.integers(1, 3000))
@settings(max_examples=100)
def test_a_batch_exceeds_its_limit_by_one_event_per_segment_at_most(seed: int, limit: int) -> None:
    stream = stream_at_random(seed)
    start = stream.head()
    end = batch(stream, start, limit)
    size = sum(piece.size_bytes for unit in partitions(stream, start, end) for piece in unit)
    assert 0 < size <= limit + (100 + 8) * len(stream.between(start, end)) or stream.written == 0


@given(seed=st.integers(0, 2**32))
@settings(max_examples=50)
def test_one_range_of_keys_never_lies_in_two_partitions(seed: int) -> None:
    stream = stream_at_random(seed)
    owner: dict[float, int] = {}
    for i, partition in enumerate(partitions(stream, stream.head(), stream.tail(), wanted_bytes=1)):
        for piece in partition:
            for key, _ in stream.read(piece.segment_id, piece.start, piece.end):
                assert owner.setdefault(key, i) == i


@given(seed=st.integers(0, 2**32))
@settings(max_examples=50)
def test_unordered_reads_the_same_bytes_in_parallel(seed: int) -> None:
    stream = stream_at_random(seed)
    found = partitions(stream, stream.head(), stream.tail(), wanted_bytes=1, ordered=False)
    assert all(len(partition) == 1 for partition in found)
    size = sum(stream.length(s) for s in stream.spans)
    assert sum(partition[0].size_bytes for partition in found) == size


def two_segments_merged(first: int, second: int, merged: int) -> SyntheticStream:
    stream = SyntheticStream.with_segments(2)
    for _ in range(first):
        stream.write(0.25, 92)
    for _ in range(second):
        stream.write(0.75, 92)
    stream.scale(list(stream.active), [(0.0, 1.0)])
    for _ in range(merged):
        stream.write(0.5, 92)
    return stream


def test_a_batch_may_end_inside_a_merge() -> None:
    stream = two_segments_merged(first=2, second=50, merged=10)
    cut = batch(stream, stream.head(), 3000)
    assert cut[segment_id(0, 0)] == stream.length(segment_id(0, 0))
    assert 0 < cut[segment_id(0, 1)] < stream.length(segment_id(0, 1))
    assert segment_id(1, 0) not in cut
    assert batch(stream, cut, 10**6) == stream.tail()


def test_three_made_of_two_are_begun_together() -> None:
    """The first of the three follows one finished segment only, yet a cut with both would overlap."""
    stream = SyntheticStream.with_segments(2)
    stream.write(0.25, 10)
    for _ in range(20):
        stream.write(0.75, 92)
    stream.scale(list(stream.active), [(0.0, 0.25), (0.25, 0.75), (0.75, 1.0)])
    stream.write(0.1, 10)
    cut = batch(stream, stream.head(), 600)
    assert sorted(cut) == [segment_id(0, 0), segment_id(0, 1)]
    assert_covers_key_space_once(stream, cut)


def test_siblings_of_one_scale_do_not_hold_each_other_back() -> None:
    stream = SyntheticStream.with_segments(1)
    stream.scale(list(stream.active), [(0.0, 0.5), (0.5, 1.0)])
    for _ in range(10):
        stream.write(0.25, 92)
        stream.write(0.75, 92)
    cut = batch(stream, stream.head(), 1000)
    assert cut == {segment_id(1, 0): 500, segment_id(1, 1): 500}


def test_lineages_advance_in_proportion_to_their_backlog() -> None:
    stream = SyntheticStream.with_segments(2)
    for _ in range(10):
        stream.write(0.25, 92)
    for _ in range(90):
        stream.write(0.75, 92)
    assert batch(stream, stream.head(), 5000) == {segment_id(0, 0): 500, segment_id(0, 1): 4500}


def test_no_range_of_keys_runs_ahead_of_another_before_a_merge() -> None:
    """The key range of the merged segment does not tell how much of it belongs to each of the two halves."""
    stream = SyntheticStream.with_segments(2)
    for i in range(1000):
        stream.write(0.25 if i % 10 == 0 else 0.75, 92)
        if i == 199:
            stream.scale(list(stream.active), [(0.0, 1.0)])
    found = takes(backlog_of(stream, stream.head(), stream.tail()), 10_000)
    assert found[segment_id(0, 0)] == pytest.approx(1000, rel=0.3)
    assert found[segment_id(0, 1)] == pytest.approx(9000, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_events_of_one_time_are_read_together_also_with_hot_keys(seed: int) -> None:
    """An event that is read many batches after events of its time would be late for every watermark."""
    chance, keys = random.Random(seed), [number / 13 for number in range(13)]
    stream = SyntheticStream.with_segments(1)
    for _ in range(10):
        for _ in range(300):
            stream.write(min(0.99, chance.choice(keys) ** 2), 92)
        scale_at_random(stream, chance)
    cut, newest, worst = stream.head(), 0, 0
    while cut != stream.tail():
        end = batch(stream, cut, 15_000)
        read = [
            number
            for partition in partitions(stream, cut, end)
            for piece in partition
            for _, number in stream.read(piece.segment_id, piece.start, piece.end)
        ]
        worst, newest, cut = max(worst, newest - min(read)), max(newest, *read), end
    assert worst < 250


def test_what_a_sealed_segment_does_not_need_goes_to_its_busier_successor() -> None:
    stream = SyntheticStream.with_segments(1)
    stream.write(0.1, 92)
    stream.scale(list(stream.active), [(0.0, 0.5), (0.5, 1.0)])
    for i in range(100):
        stream.write(0.25 if i % 10 == 0 else 0.75, 92)
    found = takes(backlog_of(stream, stream.head(), stream.tail()), 5050)
    assert found[segment_id(0, 0)] == 100
    assert found[segment_id(1, 0)] == pytest.approx(495, abs=5)
    assert found[segment_id(1, 1)] == pytest.approx(4455, abs=5)


def test_two_streams_share_a_limit_by_backlog() -> None:
    small, large = two_segments_merged(5, 5, 0), two_segments_merged(50, 50, 0)
    backlogs = [backlog_of(s, s.head(), s.tail()) for s in (small, large)]
    cuts = advance(backlogs, 5500, [small.boundary, large.boundary])
    assert [sum(cut.values()) for cut in cuts] == [600, 5000]


def test_the_lineages_of_a_thousand_segments_cost_little() -> None:
    spans = {segment_id(0, i): (i / 1000, (i + 1) / 1000) for i in range(1000)}
    lineage = Lineage(spans)
    assert len(lineage.paths) == 1000
    assert len(groups(spans)) == 1000


def test_sealed_ends_written_as_minus_one() -> None:
    found = slices(NAME, [1, 2, 3], {1: -1, 2: 10}, {2: -1, 3: 40}, {1: 100, 2: 50})
    assert found == [SegmentSlice(NAME, 2, 10, 50), SegmentSlice(NAME, 3, 0, 40)]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([30, 30, 50, 200, 200, 10], [[0, 1, 2], [3], [4], [5]]),
        ([40, 40, 40, 40], [[0, 1], [2, 3]]),  # not three segments for one task and one for the other
        ([10, 20, 30], [[0, 1, 2]]),
        ([], []),
    ],
)
def test_small_units_share_partitions_of_similar_sizes(sizes: list[int], expected: list[list[int]]) -> None:
    units = [(SegmentSlice(NAME, i, 0, size),) for i, size in enumerate(sizes)]
    assert [[piece.segment_id for piece in part] for part in pack(units, 100)] == expected


def test_the_plan_is_a_function_of_the_cuts() -> None:
    stream = stream_at_random(7)
    spans = dict(random.Random(1).sample(sorted(stream.spans.items()), len(stream.spans)))
    ids = list(spans)
    found = slices(NAME, ids, stream.head(), stream.tail(), {s: stream.length(s) for s in ids})
    assert plan([(found, spans)]) == partitions(stream, stream.head(), stream.tail())
