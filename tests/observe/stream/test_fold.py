"""Folds: what a journal says of segments and of micro-batches, whole or bit by bit."""

from __future__ import annotations

from itertools import pairwise

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import (
    BatchDone,
    BatchPlanned,
    QueryEnded,
    QueryStarted,
    SegmentAcquired,
    SegmentMeasured,
    SegmentOpened,
    SegmentRead,
    SegmentSealed,
    SegmentTiered,
    StreamSeen,
)
from pravega_lab.observe.query.fold import BatchHistory, fold_batches
from pravega_lab.observe.stream.fold import SegmentHistory, fold_segments, thresholds
from tests.observe.examples import START_MS, STREAM, QueryStory, killed_query, segment, splitting_story


def test_key_ranges_are_covered_once_at_any_time() -> None:
    history = fold_segments(splitting_story().journal.since())
    for t in range(0, 120_000, 700):
        now = START_MS + t
        open_now = [r for r in history.rows if r.start_ms <= now and (r.end_ms is None or r.end_ms > now)]
        ranges = sorted((r.low, r.high) for r in open_now)
        assert ranges[0][0] == 0
        assert ranges[-1][1] == 1
        assert all(a[1] == b[0] for a, b in pairwise(ranges))


def test_bit_by_bit_is_the_same_as_at_once() -> None:
    observations = splitting_story().journal.since()
    slowly = SegmentHistory()
    for observation in observations:
        slowly.apply(observation)
        slowly.changed.clear()
    assert slowly.rows == fold_segments(observations).rows
    assert slowly.samples == fold_segments(observations).samples


def test_successors_follow_from_predecessors() -> None:
    history = fold_segments(splitting_story().journal.since())
    first = history.rows[0]
    assert [r.label for r in history.successors(first)] == ["#1 e1", "#2 e1"]
    merged = history.rows[7]
    assert merged.predecessors == (segment(2, 3), segment(2, 4))


def test_only_what_changed_is_marked() -> None:
    story = splitting_story()
    history = fold_segments(story.journal.since())
    history.changed.clear()
    story.measure(lambda low, high: 5.0)
    for observation in story.journal.since()[-2:]:
        history.apply(observation)
    assert [history.rows[i].label for i in history.changed] == ["#7 e4", "#8 e5"]


def test_owner_and_unread_bytes() -> None:
    journal = Journal()
    about = {"stream": STREAM, "segment_id": 0}
    journal.append(SegmentOpened(time_ms=0, low=0, high=1, **about))
    journal.append(SegmentAcquired(time_ms=1, reader="r1", **about))
    journal.append(SegmentMeasured(time_ms=2, start_offset=100, write_offset=1100, bytes_per_s=5.0, **about))
    row = fold_segments(journal.since()).rows[0]
    assert (row.reader, row.unread_bytes) == ("r1", None)
    journal.append(SegmentRead(time_ms=3, reader="r1", offset=0, **about))
    assert fold_segments(journal.since()).rows[0].unread_bytes == 1000  # what was truncated cannot be read
    journal.append(SegmentRead(time_ms=4, reader="r1", offset=1100, **about))
    assert fold_segments(journal.since()).rows[0].unread_bytes == 0


def test_truncation_is_placed_where_the_bytes_were_written() -> None:
    journal = Journal()
    about = {"stream": STREAM, "segment_id": 0}
    journal.append(SegmentOpened(time_ms=0, low=0, high=1, **about))
    for t in range(1, 6):
        journal.append(SegmentMeasured(time_ms=t * 1000, start_offset=0, write_offset=t * 100, **about))
    journal.append(SegmentMeasured(time_ms=6000, start_offset=300, write_offset=600, **about))
    assert fold_segments(journal.since()).rows[0].truncated_ms == 3000


def test_bytes_per_tier_and_when_the_last_one_in_tier_2_was_written() -> None:
    journal = Journal()
    about = {"stream": STREAM, "segment_id": 0}
    journal.append(SegmentOpened(time_ms=0, low=0, high=1, **about))
    for t in range(1, 6):
        journal.append(SegmentMeasured(time_ms=t * 1000, start_offset=0, write_offset=t * 100, **about))
    [row] = fold_segments(journal.since()).rows
    assert (row.log_bytes, row.tier2_bytes, row.tiered_ms) == (None, None, None)  # not known is not zero
    journal.append(SegmentMeasured(time_ms=6000, start_offset=100, write_offset=600, **about))
    found = []
    for time_ms, offset in ((7000, 100), (8000, 300), (9000, 600)):
        journal.append(SegmentTiered(time_ms=time_ms, offset=offset, **about))
        [row] = fold_segments(journal.since()).rows
        found.append((row.log_bytes, row.tier2_bytes, row.tiered_ms))
    assert found == [(500, 0, 1000), (300, 200, 3000), (0, 500, 9000)]
    journal.append(SegmentSealed(time_ms=10_000, length_bytes=700, **about))
    journal.append(SegmentTiered(time_ms=20_000, offset=700, **about))
    [row] = fold_segments(journal.since()).rows
    assert (row.log_bytes, row.tier2_bytes, row.tiered_ms) == (0, 600, 10_000)


def test_a_sealed_segment_that_is_gone_keeps_its_rates_and_is_truncated_to_its_end() -> None:
    journal = Journal()
    about = {"stream": STREAM, "segment_id": 0}
    journal.append(SegmentOpened(time_ms=0, low=0, high=1, **about))
    journal.append(SegmentMeasured(time_ms=1000, start_offset=0, write_offset=100, bytes_per_s=9.0, **about))
    journal.append(SegmentSealed(time_ms=2000, length_bytes=150, **about))
    journal.append(SegmentMeasured(time_ms=9000, start_offset=150, write_offset=150, **about))
    [row] = fold_segments(journal.since()).rows
    assert (row.truncated_ms, row.start_offset, row.last_rates) == (2000, 150, (None, 9.0))


def test_thresholds_are_those_of_the_policy() -> None:
    seen = StreamSeen(time_ms=0, stream=STREAM, policy="events", target_rate=100)
    assert [t.rate for t in thresholds(seen)] == [500, 200, 100, 50]
    kbytes = StreamSeen(time_ms=0, stream=STREAM, policy="kbytes", target_rate=2)
    assert thresholds(kbytes)[2].rate == 2048
    assert thresholds(StreamSeen(time_ms=0, stream=STREAM, policy="fixed")) == []
    assert thresholds(None) == []


def test_a_killed_batch_and_its_replay_are_two_attempts() -> None:
    journal = Journal()
    killed_query(journal)
    rows = [r for r in fold_batches(journal.since()).rows if r.batch_id == 14]
    assert [(r.attempt, r.run, r.outcome, r.replayed) for r in rows] == [
        (1, 1, "killed", None),
        (2, 2, "done", True),
    ]
    assert rows[0].duration_ms == 1400


def test_a_batch_that_nobody_saw_begin_is_replayed_if_spark_says_so() -> None:
    journal = Journal()
    journal.append(QueryStarted(time_ms=0, query="q", run=1))
    journal.append(BatchDone(time_ms=500, query="q", batch_id=3, run=1, duration_ms=400, replayed=True))
    (row,) = fold_batches(journal.since()).rows
    assert (row.attempt, row.replayed, row.start_ms, row.duration_ms) == (1, True, 100, 400)


def test_a_restart_that_nobody_saw_coming_cuts_batches_off() -> None:
    journal = Journal()
    journal.append(QueryStarted(time_ms=0, query="q", run=1))
    journal.append(BatchPlanned(time_ms=10, query="q", batch_id=0, run=1))
    journal.append(QueryStarted(time_ms=900, query="q", run=2))
    (row,) = fold_batches(journal.since()).rows
    assert (row.outcome, row.end_ms) == ("gone", 900)


def test_a_batch_heard_of_after_its_run_ended_was_cut_off_then() -> None:
    journal = Journal()
    journal.append(QueryStarted(time_ms=0, query="q", run=1))
    journal.append(QueryEnded(time_ms=50, query="q", run=1, outcome="killed"))
    journal.append(BatchPlanned(time_ms=40, query="q", batch_id=0, run=1))
    journal.append(QueryStarted(time_ms=900, query="q", run=2))
    (row,) = fold_batches(journal.since()).rows
    assert (row.outcome, row.end_ms) == ("killed", 50)


def test_phases_lie_within_their_batch() -> None:
    journal = Journal()
    story = QueryStory(journal)
    story.start()
    for _ in range(5):
        story.batch((10, 20, 300, 40), 100, 0)
    for row in fold_batches(journal.since()).rows:
        assert row.end_ms is not None
        assert all(row.start_ms <= p.start_ms <= p.end_ms <= row.end_ms for p in row.phases)
        assert sum(p.end_ms - p.start_ms for p in row.phases) == row.duration_ms == 370


def test_batches_bit_by_bit() -> None:
    journal = Journal()
    killed_query(journal)
    slowly = BatchHistory()
    for observation in journal.since():
        slowly.apply(observation)
    assert slowly.rows == fold_batches(journal.since()).rows
