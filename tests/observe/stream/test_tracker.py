"""From a store's answers to observations: epochs, rates, causes. No store, no clock."""

from __future__ import annotations

from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentMeasured,
    SegmentOpened,
    SegmentSealed,
    StreamDeleted,
    StreamScaled,
    StreamSealed,
    StreamSeen,
)
from pravega_lab.observe.stream.causes import Part, Policy, infer
from pravega_lab.observe.stream.tracker import StreamTracker
from pravega_lab.protocol.names import SegmentRange, segment_id

EVENTS = Policy("events", 100, 2, 1)
A = SegmentRange(segment_id(0, 0), 0.0, 1.0)
B = SegmentRange(segment_id(1, 1), 0.0, 0.5)
C = SegmentRange(segment_id(1, 2), 0.5, 1.0)
D = SegmentRange(segment_id(2, 3), 0.0, 1.0)
E = SegmentRange(segment_id(3, 4), 0.0, 1.0)


def tracker(policy: Policy = EVENTS) -> StreamTracker:
    made = StreamTracker("demo/a", event_bytes=10)
    made.saw_policy(policy, now_ms=0)
    made.saw_epoch(0, [A], now_ms=0)
    return made


def run_at(
    made: StreamTracker, rate_bytes: int, *, start_ms: int = 0, ids: tuple[SegmentRange, ...] = (A,)
) -> int:
    """Five seconds at this rate in each segment; the time after it."""
    for k in range(11):
        for r in ids:
            made.measured(r.segment_id, 0, rate_bytes * k // 2, now_ms=start_ms + 500 * k)
    return start_ms + 5000


def scaled(found: list[Observation]) -> StreamScaled:
    (only,) = [o for o in found if isinstance(o, StreamScaled)]
    return only


def test_a_policy_is_told_once() -> None:
    made = StreamTracker("demo/a")
    (seen,) = made.saw_policy(EVENTS, now_ms=5)
    assert isinstance(seen, StreamSeen)
    assert (seen.policy, seen.target_rate) == ("events", 100)
    assert made.saw_policy(EVENTS, now_ms=6) == []
    assert len(made.saw_policy(Policy("fixed"), now_ms=7)) == 1


def test_segments_of_a_stream_end_when_it_is_gone() -> None:
    made = tracker()
    made.saw_epoch(1, [B, C], now_ms=5)
    found = made.vanished(now_ms=9)
    assert [type(o) for o in found] == [SegmentSealed, SegmentSealed, StreamDeleted]
    assert [o.segment_id for o in found if isinstance(o, SegmentSealed)] == [B.segment_id, C.segment_id]
    assert {o.time_ms for o in found} == {9}


def test_the_first_epoch_opens_without_a_scale() -> None:
    found = StreamTracker("demo/a").saw_epoch(0, [A], now_ms=3)
    assert [type(o) for o in found] == [SegmentOpened]


def test_a_split_seals_opens_and_names_predecessors() -> None:
    found = tracker().saw_epoch(1, [B, C], now_ms=9, lengths={A.segment_id: 77})
    assert [o.kind for o in found] == ["segment_sealed", "segment_opened", "segment_opened", "stream_scaled"]
    assert isinstance(found[0], SegmentSealed)
    assert found[0].length_bytes == 77
    assert [o.predecessors for o in found if isinstance(o, SegmentOpened)] == [(A.segment_id,)] * 2


def test_a_split_under_load_is_explained_by_the_rate() -> None:
    made = tracker()
    now_ms = run_at(made, 2100)
    scale = scaled(made.saw_epoch(1, [B, C], now_ms=now_ms))
    assert (scale.cause, scale.cause_kind) == ("210/s > 2 × 100/s", "inferred")
    assert "measured" in scale.rule


def test_a_merge_without_load_is_explained_by_the_rates() -> None:
    made = tracker()
    made.saw_epoch(1, [B, C], now_ms=10)
    now_ms = run_at(made, 30, start_ms=20, ids=(B, C))
    scale = scaled(made.saw_epoch(2, [D], now_ms=now_ms))
    assert scale.cause == "3/s, 3/s < 100/s ÷ 2"
    assert (scale.sealed, scale.created) == ((B.segment_id, C.segment_id), (D.segment_id,))


def test_what_this_process_asked_for_is_done_here() -> None:
    made = tracker()
    now_ms = run_at(made, 9000)
    made.scaled_by_us([B.segment_id, C.segment_id])
    scale = scaled(made.saw_epoch(1, [B, C], now_ms=now_ms))
    assert (scale.cause, scale.cause_kind) == ("by hand", "done here")
    later = scaled(made.saw_epoch(2, [D], now_ms=now_ms + 10))
    assert later.cause_kind == "inferred"


def test_causes_that_rates_do_not_explain_are_not_claimed() -> None:
    one, two = [Part(0, 1, 40.0)], [Part(0, 0.5), Part(0.5, 1)]
    assert infer(EVENTS, one, two).text == "not explained (40/s seen)"
    assert infer(Policy("fixed"), one, two).text == "by hand"
    assert infer(EVENTS, [Part(0, 1, None)], two).text == "rates not measured"
    assert infer(Policy(), one, two).text == "the policy is not known"
    assert infer(Policy("kbytes", 5), [Part(0, 1, 26.0)], two).text == "26 KiB/s > 5 × 5 KiB/s"
    assert infer(EVENTS, one, [Part(0, 1)]).text == "a transaction rolled over"


def test_a_transaction_that_is_committed_after_a_scale_scales_twice() -> None:
    made = tracker(Policy("fixed"))
    assert scaled(made.saw_epoch(1, [B, C], now_ms=1)).cause == "by hand"
    rolled = SegmentRange(segment_id(2, 0), 0.0, 1.0)
    again = [SegmentRange(segment_id(3, 1), 0.0, 0.5), SegmentRange(segment_id(3, 2), 0.5, 1.0)]
    for epoch, ranges in ((2, [rolled]), (3, again)):
        scale = scaled(made.saw_epoch(epoch, ranges, now_ms=epoch))
        assert (scale.cause, scale.cause_kind) == ("a transaction rolled over", "inferred")
    assert scaled(made.saw_epoch(4, [SegmentRange(segment_id(4, 3), 0.0, 1.0)], now_ms=4)).cause == "by hand"


def test_an_epoch_of_two_scales_at_once_is_told_as_two() -> None:
    made = StreamTracker("demo/a")
    made.saw_epoch(1, [B, C], now_ms=0)
    halves = [SegmentRange(segment_id(2, k + 3), k / 4, (k + 1) / 4) for k in range(4)]
    found = [o for o in made.saw_epoch(2, halves, now_ms=1) if isinstance(o, StreamScaled)]
    assert [o.sealed for o in found] == [(B.segment_id,), (C.segment_id,)]
    assert [len(o.created) for o in found] == [2, 2]


def test_a_rate_is_not_known_at_the_first_look() -> None:
    made = tracker()
    (first,) = made.measured(A.segment_id, 0, 500, now_ms=100)
    assert isinstance(first, SegmentMeasured)
    assert (first.bytes_per_s, first.events_per_s) == (None, None)
    (second,) = made.measured(A.segment_id, 0, 1500, now_ms=600)
    assert isinstance(second, SegmentMeasured)
    assert (second.bytes_per_s, second.events_per_s) == (2000, 200)


def test_a_clock_that_goes_back_hides_no_rate() -> None:
    made = tracker()
    for now_ms, length in ((3_600_000, 0), (3_600_500, 500), (500, 1000)):
        (seen,) = made.measured(A.segment_id, 0, length, now_ms=now_ms)
    assert isinstance(seen, SegmentMeasured)
    assert seen.bytes_per_s is None  # the first look by this clock
    (seen,) = made.measured(A.segment_id, 0, 1500, now_ms=1000)
    assert isinstance(seen, SegmentMeasured)
    assert seen.bytes_per_s == 1000


def test_a_new_segment_has_a_rate_at_once() -> None:
    made = tracker()
    made.saw_epoch(1, [B, C], now_ms=1000)
    (first,) = made.measured(B.segment_id, 0, 400, now_ms=1500)
    assert isinstance(first, SegmentMeasured)
    assert first.bytes_per_s == 800


def test_nothing_is_said_when_nothing_moves() -> None:
    made = tracker()
    told = [made.measured(A.segment_id, 0, 500, now_ms=500 * k) for k in range(8)]
    assert [len(t) for t in told] == [1, 1, 0, 0, 0, 0, 0, 0]
    still, moved = made.measured(A.segment_id, 0, 900, now_ms=4000)
    assert isinstance(still, SegmentMeasured)
    assert isinstance(moved, SegmentMeasured)
    assert (still.time_ms, still.write_offset, still.bytes_per_s) == (3500, 500, 0)
    assert (moved.time_ms, moved.write_offset) == (4000, 900)


def test_event_sizes_follow_the_samples() -> None:
    made = StreamTracker("demo/a")
    made.saw_epoch(0, [A], now_ms=0)
    made.sampled(10, 1000)
    assert made.event_bytes == 100
    made.sampled(10, 2000)
    assert made.event_bytes == 130
    made.measured(A.segment_id, 0, 0, now_ms=0)
    (seen,) = made.measured(A.segment_id, 0, 1300, now_ms=1000)
    assert isinstance(seen, SegmentMeasured)
    assert seen.events_per_s == 10
    assert seen.events_how.startswith("estimated")


def test_a_sealed_stream_is_told_once() -> None:
    made = tracker()
    found = made.saw_sealed({A.segment_id: 5}, now_ms=4)
    assert [type(o) for o in found] == [SegmentSealed, StreamSealed]
    assert made.saw_sealed({}, now_ms=5) == []


def test_a_head_that_moves_truncates_the_sealed_segments_before_it() -> None:
    made = tracker()
    made.saw_epoch(1, [B, C], now_ms=9, lengths={A.segment_id: 77})
    assert made.has_stored_segments

    def starts(head: dict[int, int]) -> list[tuple[int, int, int]]:
        found = made.saw_head(head, now_ms=20)
        measured = [o for o in found if isinstance(o, SegmentMeasured)]
        return [(o.segment_id, o.start_offset, o.write_offset) for o in measured]

    assert starts({A.segment_id: 0}) == []
    assert starts({A.segment_id: 40}) == [(A.segment_id, 40, 77)]
    made.saw_epoch(2, [D], now_ms=30, lengths={B.segment_id: 0, C.segment_id: 5})
    assert starts({B.segment_id: 0, C.segment_id: 2}) == [(A.segment_id, 77, 77), (C.segment_id, 2, 5)]
    assert starts({D.segment_id: 3}) == [(C.segment_id, 5, 5)]
    assert not made.has_stored_segments


def test_a_successor_that_has_not_begun_in_the_head_is_not_truncated() -> None:
    made = tracker()
    made.saw_epoch(1, [B, C], now_ms=9, lengths={A.segment_id: 7})
    made.saw_epoch(2, [D], now_ms=30, lengths={B.segment_id: 3, C.segment_id: 5})
    made.saw_epoch(3, [E], now_ms=40, lengths={D.segment_id: 9})
    found = made.saw_head({B.segment_id: 0, D.segment_id: -1}, now_ms=50)
    measured = [o.segment_id for o in found if isinstance(o, SegmentMeasured)]
    assert measured == [A.segment_id, C.segment_id]
