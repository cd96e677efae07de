"""Auto-scaling over virtual time: what pravega.md A6 says must happen, when, and what must not."""

from __future__ import annotations

import logging
import math

import pytest

from pravega_lab.engine.store.autoscaling.rates import Clock, Rates
from pravega_lab.engine.store.autoscaling.scaling_hints import EVENTS_PER_S, KBYTES_PER_S, Hints
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import segment_id, segment_name, transaction_segment_name
from tests.engine.store.controller.driver import Driven, info, txn_uuid

MINUTE_MS = 60_000
EVENTS = pb.ScalingPolicy.BY_RATE_IN_EVENTS_PER_SEC
BY_EVENTS = pb.ScalingPolicy(scaleType=EVENTS, targetRate=100, scaleFactor=2, minNumSegments=1)


def name(segment: int) -> str:
    return segment_name("s", "a", segment)


def write_for(driven: Driven, minutes: float, per_s: float, *, event_bytes: int = 1) -> None:
    """Spread ``per_s`` events a second over the segments by the width of their ranges, a batch per tick."""
    tick_ms = Clock(driven.scaling_clock).tick_ms
    for _ in range(round(minutes * MINUTE_MS / driven.scaling_clock / tick_ms)):
        for segment, low, high in driven.segments("a"):
            events = round(per_s * (high - low) * tick_ms / 1000)
            if events:
                driven.append(name(segment), bytes(events * event_bytes), events)
        driven.tick(tick_ms)


def made(policy: pb.ScalingPolicy = BY_EVENTS, *, scaling_clock: int = 1) -> Driven:
    driven = Driven(scaling_clock=scaling_clock)
    driven.make("a", policy)
    return driven


# ---- averages -----------------------------------------------------------------------------------


def test_the_first_rate_sets_all_four_averages() -> None:
    rates = Rates(Clock(), 0)
    rates.add(500, 1_000)
    rates.advance(5_000)
    assert rates.values == (100.0, 100.0, 100.0, 100.0)


def test_averages_follow_the_formula() -> None:
    rates = Rates(Clock(), 0)
    rates.add(500, 0)
    rates.add(1_000, 5_000)
    rates.advance(10_000)
    alphas = [1 - math.exp(-5 / (60 * m)) for m in (2, 5, 10, 20)]
    assert rates.values == pytest.approx([100 + a * 100 for a in alphas])


def test_many_silent_ticks_at_once_are_as_many_one_by_one() -> None:
    once, step = Rates(Clock(), 0), Rates(Clock(), 0)
    for rates in (once, step):
        rates.add(500, 0)
        rates.add_transaction(3_000, 20_000, 1_000)
    for now_ms in range(0, 300_001, 5_000):
        step.advance(now_ms)
    once.advance(300_000)
    assert once.values == pytest.approx(step.values)
    assert 0 < once.values[0] < once.values[3]


def test_a_transaction_counts_over_the_time_it_took() -> None:
    rates = Rates(Clock(), 0)
    rates.add_transaction(600, 60_000, 0)  # 10 a second for a minute
    for now_ms in (5_000, 30_000, 60_000):
        rates.advance(now_ms)
        assert rates.values == pytest.approx([10.0] * 4)
    rates.advance(65_000)
    assert rates.values[0] < 10
    short = Rates(Clock(), 0)
    short.add_transaction(600, 4_999, 0)
    short.advance(5_000)
    assert short.values[0] == 120.0


# ---- what a segment asks ------------------------------------------------------------------------


def traffic(hints: Hints, minutes: int, per_s: float, *, start_ms: int = 0, n_bytes: int = 0) -> int:
    """Append every second; the time after it."""
    end_ms = start_ms + minutes * MINUTE_MS
    for now_ms in range(start_ms, end_ms, 1_000):
        hints.on_append("x", n_bytes, round(per_s), now_ms)
    return end_ms


@pytest.mark.parametrize(
    ("per_s", "minutes", "splits"),
    [
        (90, 40, None),  # below the target
        (1_000, 10, None),  # however hot: nothing before ten minutes
        (150, 12, 2),  # the ten-minute average is over the target
        (250, 12, 2),
        (450, 12, 4),
        (1_000, 12, 10),
    ],
)
def test_when_and_into_how_many_a_segment_asks_to_be_split(
    per_s: float, minutes: int, splits: int | None
) -> None:
    hints = Hints(Clock())
    hints.track("x", EVENTS_PER_S, 100, 0)
    traffic(hints, minutes, per_s)
    hints.on_append("x", 0, 1, minutes * MINUTE_MS)
    asked = hints.pop()
    assert [h.splits for h in asked] == ([splits] if splits else [])


@pytest.mark.parametrize(
    ("per_s", "reason"), [(600, "> 5 x 100/s"), (260, "> 2 x 100/s"), (130, "> 1 x 100/s")]
)
def test_a_hint_says_which_average_was_over_what(per_s: float, reason: str) -> None:
    hints = Hints(Clock())
    hints.track("x", EVENTS_PER_S, 100, 0)
    traffic(hints, 13, per_s)
    (hint,) = hints.pop()
    assert hint.reason.endswith(reason)


def test_a_burst_on_an_old_segment_is_seen_by_the_short_average() -> None:
    hints = Hints(Clock())
    hints.track("x", EVENTS_PER_S, 100, 0)
    now_ms = traffic(hints, 15, 80)
    assert hints.pop() == []
    traffic(hints, 4, 3_000, start_ms=now_ms)
    (hint,) = hints.pop()
    assert hint.reason.endswith("> 5 x 100/s")


def test_a_request_mutes_the_segment() -> None:
    hints = Hints(Clock())
    hints.track("x", EVENTS_PER_S, 100, 0)
    traffic(hints, 21, 300)
    assert len(hints.pop()) == 1  # at 12 minutes; muted until 22
    traffic(hints, 4, 300, start_ms=21 * MINUTE_MS)
    assert len(hints.pop()) == 1


def test_a_segment_is_cold_after_twenty_minutes_below_half() -> None:
    hints = Hints(Clock())
    hints.track("x", EVENTS_PER_S, 100, 0)
    now_ms = traffic(hints, 20, 40)
    assert hints.pop() == []
    traffic(hints, 4, 40, start_ms=now_ms)
    (hint,) = hints.pop()
    assert (hint.splits, hint.silent) == (0, False)


def test_between_half_and_the_target_nothing_is_asked() -> None:
    hints = Hints(Clock())
    hints.track("x", EVENTS_PER_S, 100, 0)
    traffic(hints, 60, 70)
    assert hints.pop() == []


def test_an_idle_segment_is_cold_for_good() -> None:
    hints = Hints(Clock())
    hints.track("x", EVENTS_PER_S, 100, 0)
    hints.on_append("x", 0, 1, 5 * MINUTE_MS)
    hints.tick(25 * MINUTE_MS - 1)
    assert hints.pop() == []
    assert hints.next_deadline_ms() == 25 * MINUTE_MS
    hints.tick(25 * MINUTE_MS)
    (hint,) = hints.pop()
    assert (hint.splits, hint.silent) == (0, True)


def test_data_rates_count_kilobytes_and_fixed_segments_nothing() -> None:
    hints = Hints(Clock())
    hints.track("x", KBYTES_PER_S, 10, 0)
    traffic(hints, 13, 1, n_bytes=30 * 1024)
    (hint,) = hints.pop()
    assert (hint.splits, hint.reason) == (3, "30 kB/s > 2 x 10 kB/s")
    hints.track("x", 0, 0, 0)
    traffic(hints, 13, 1, start_ms=13 * MINUTE_MS, n_bytes=30 * 1024)
    assert hints.pop() == []


# ---- what the stream does -----------------------------------------------------------------------


@pytest.mark.parametrize("scaling_clock", [1, 50])
def test_a_hot_stream_splits_and_a_cold_one_merges(
    scaling_clock: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="pravega_lab.engine.store.autoscaling.autoscale")
    driven = made(scaling_clock=scaling_clock)
    write_for(driven, 9, 210)
    assert len(driven.segments("a")) == 1
    write_for(driven, 4, 210)
    assert driven.segments("a") == [(segment_id(1, 1), 0.0, 0.5), (segment_id(1, 2), 0.5, 1.0)]
    assert caplog.messages[0] == "s/a: #0 -> #1 #2: 210/s > 2 x 100/s"
    write_for(driven, 30, 20)
    assert driven.segments("a") == [(segment_id(2, 3), 0.0, 1.0)]
    assert caplog.messages[1].startswith("s/a: #1 #2 -> #3: ")


def test_an_idle_stream_shrinks_to_its_minimum() -> None:
    policy = pb.ScalingPolicy(scaleType=EVENTS, targetRate=100, scaleFactor=4, minNumSegments=2)
    driven = made(policy)
    driven.scale("a", [0, 1], [(i / 8, (i + 1) / 8) for i in range(8)])
    driven.tick(61 * MINUTE_MS)
    assert len(driven.segments("a")) == 2


def test_splits_are_bounded_by_the_scale_factor() -> None:
    policy = pb.ScalingPolicy(scaleType=EVENTS, targetRate=100, scaleFactor=3, minNumSegments=1)
    driven = made(policy)
    write_for(driven, 13, 1_500)
    assert [(low, high) for _, low, high in driven.segments("a")] == [
        (0.0, 1 / 3),
        (1 / 3, 2 / 3),
        (2 / 3, 1.0),
    ]


def test_a_fixed_stream_never_scales() -> None:
    driven = made(pb.ScalingPolicy(minNumSegments=1))
    write_for(driven, 20, 5_000)
    driven.tick(60 * MINUTE_MS)
    assert driven.segments("a") == [(0, 0.0, 1.0)]
    assert driven.controller.next_deadline_ms() is None


def test_transactions_are_counted_when_they_commit() -> None:
    driven = made()
    for minute in range(14):
        txn, parents = driven.begin("a")
        assert len(parents) == (1 if minute < 11 else 2)
        for parent in parents:
            own = transaction_segment_name(name(parent), txn_uuid(txn))
            driven.append(own, b"x", 300 * 60 // len(parents))
        driven.tick(MINUTE_MS - 1_000)
        driven.commit("a", txn)
        driven.tick(1_000)


def test_a_policy_set_later_counts_from_then_on() -> None:
    driven = made(pb.ScalingPolicy(minNumSegments=1))
    write_for(driven, 15, 300)
    driven.call("updateStream", pb.StreamConfig(streamInfo=info("a"), scalingPolicy=BY_EVENTS))
    write_for(driven, 9, 300)
    assert len(driven.segments("a")) == 1
    write_for(driven, 4, 300)
    assert len(driven.segments("a")) == 2


def test_scaling_goes_on_after_a_restart() -> None:
    driven = made()
    write_for(driven, 8, 300)
    driven = driven.restarted()
    write_for(driven, 9, 300)
    assert len(driven.segments("a")) == 1  # ages begin anew
    write_for(driven, 4, 300)
    assert len(driven.segments("a")) == 2


def test_changes_of_the_policy_leave_one_look_at_a_segment() -> None:
    hints = Hints(Clock())
    for number in range(100):
        hints.track("x", KBYTES_PER_S if number % 2 else EVENTS_PER_S, 100, number)
        if number % 3 == 0:
            hints.track("x", 0, 0, number)
    looks = 0
    while (due_ms := hints.next_deadline_ms()) is not None and due_ms < 61 * MINUTE_MS:
        hints.tick(due_ms)
        looks += 1
        assert len(hints.pop()) <= 1
    assert looks <= 4
    hints.forget("x")
    hints.tick(90 * MINUTE_MS)
    assert (hints.pop(), hints.next_deadline_ms()) == ([], None)


def test_idle_segments_cost_a_look_every_twenty_minutes() -> None:
    hints = Hints(Clock())
    for number in range(1_000):
        hints.track(f"x{number}", EVENTS_PER_S, 100, number)
    deadlines = 0
    now_ms = 0
    while (now_ms := hints.next_deadline_ms() or now_ms) <= 61 * MINUTE_MS:
        hints.tick(now_ms)
        hints.pop()
        deadlines += 1
    assert deadlines == 3 * 1_000
