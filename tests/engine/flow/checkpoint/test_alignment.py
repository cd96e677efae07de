"""Barriers of a subtask: who waits, when the checkpoint is taken, when it is given up."""

from __future__ import annotations

import pytest

from pravega_lab.engine.flow.checkpoint.alignment import (
    TRACKED_MAX,
    Abort,
    AlignedBarriers,
    BarrierTracker,
    Perform,
)
from pravega_lab.engine.flow.elements import Barrier
from pravega_lab.engine.flow.errors import Reason

SUBSUMED = Reason.CHECKPOINT_DECLINED_SUBSUMED


def barrier(number: int) -> Barrier:
    return Barrier(number, 0)


def test_a_channel_that_is_ahead_waits_for_the_others() -> None:
    barriers = AlignedBarriers(3)
    assert (barriers.pending, barriers.missing()) == (None, ())
    assert barriers.barrier(1, barrier(1)) == []
    assert barriers.pending == barrier(1)
    assert [barriers.is_blocked(c) for c in range(3)] == [False, True, False]
    assert barriers.missing() == (0, 2)
    assert barriers.barrier(0, barrier(1)) == []
    assert barriers.barrier(2, barrier(1)) == [Perform(barrier(1))]
    assert not any(barriers.is_blocked(c) for c in range(3))


def test_a_newer_barrier_gives_the_older_one_up_and_an_older_one_is_ignored() -> None:
    barriers = AlignedBarriers(2)
    barriers.barrier(0, barrier(1))
    assert barriers.barrier(1, barrier(2)) == [Abort(1, SUBSUMED)]
    assert [barriers.is_blocked(c) for c in range(2)] == [False, True]
    assert barriers.barrier(0, barrier(1)) == []
    assert barriers.barrier(0, barrier(2)) == [Perform(barrier(2))]


def test_a_cancel_marker_frees_the_channels_and_is_passed_on_once() -> None:
    barriers = AlignedBarriers(2)
    barriers.barrier(0, barrier(1))
    assert barriers.cancel(1, 1) == [Abort(1, None)]
    assert not barriers.is_blocked(0)
    assert barriers.cancel(0, 1) == []
    assert barriers.barrier(1, barrier(1)) == []


def test_the_end_of_a_channel_counts_as_its_barrier() -> None:
    barriers = AlignedBarriers(2)
    barriers.barrier(0, barrier(1))
    assert barriers.end_of_partition(1) == [Perform(barrier(1))]
    assert barriers.barrier(0, barrier(2)) == [Perform(barrier(2))]


def test_before_flip_147_the_end_of_a_channel_declines() -> None:
    barriers = AlignedBarriers(3, checkpoints_after_end=False)
    assert barriers.end_of_partition(2) == []
    barriers.barrier(0, barrier(1))
    assert barriers.end_of_partition(0) == []  # behind its barrier
    declined = [Abort(1, Reason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM)]
    assert barriers.end_of_partition(1) == declined
    assert (barriers.pending, barriers.is_blocked(0)) == (None, False)


def test_a_trigger_from_the_coordinator_does_not_wait() -> None:
    for barriers in (AlignedBarriers(2), BarrierTracker(2)):
        barriers.barrier(0, barrier(3))
        assert barriers.trigger(barrier(4))[-1] == Perform(barrier(4))
        assert barriers.barrier(1, barrier(3)) == []


def test_at_least_once_blocks_nobody_and_completes_the_newest() -> None:
    barriers = BarrierTracker(2)
    assert barriers.barrier(0, barrier(1)) == []
    assert barriers.barrier(0, barrier(2)) == []
    assert not barriers.is_blocked(0)
    assert barriers.barrier(1, barrier(2)) == [Abort(1, SUBSUMED), Perform(barrier(2))]
    assert barriers.barrier(1, barrier(1)) == []


@pytest.mark.parametrize("after_end", [True, False])
def test_at_least_once_a_channel_that_ended_is_not_waited_for(after_end: bool) -> None:
    barriers = BarrierTracker(2, checkpoints_after_end=after_end)
    for number in (1, 2):
        barriers.barrier(0, barrier(number))
    ended = barriers.end_of_partition(1)
    assert barriers.pending is None
    assert barriers.missing() == ()
    if after_end:
        assert ended == [Abort(1, SUBSUMED), Perform(barrier(2))]
    else:
        assert ended == [Abort(n, Reason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM) for n in (1, 2)]
    assert barriers.barrier(0, barrier(3)) == [Perform(barrier(3))]


def test_at_least_once_an_end_completes_nothing_while_others_are_missing() -> None:
    barriers = BarrierTracker(3)
    barriers.barrier(0, barrier(1))
    assert barriers.end_of_partition(1) == []
    assert barriers.missing() == (2,)
    assert barriers.barrier(2, barrier(1)) == [Perform(barrier(1))]


@pytest.mark.parametrize("kind", [AlignedBarriers, BarrierTracker])
def test_what_was_given_up_or_taken_does_not_begin_again(
    kind: type[AlignedBarriers] | type[BarrierTracker],
) -> None:
    barriers = kind(2)
    barriers.barrier(0, barrier(1))
    assert barriers.abort(2, Reason.CHECKPOINT_EXPIRED) == [
        Abort(1, SUBSUMED),
        Abort(2, Reason.CHECKPOINT_EXPIRED),
    ]
    assert barriers.trigger(barrier(3)) == [Perform(barrier(3))]
    for number in (1, 2, 3):
        assert barriers.abort(number, None) == []
        assert barriers.trigger(barrier(number)) == []
        assert [barriers.barrier(channel, barrier(number)) for channel in (0, 1)] == [[], []]
        assert barriers.pending is None


def test_at_least_once_giving_one_up_keeps_the_newer_ones() -> None:
    barriers = BarrierTracker(2)
    for number in (1, 2, 3):
        barriers.barrier(0, barrier(number))
    assert barriers.cancel(1, 2) == [Abort(1, SUBSUMED), Abort(2, None)]
    assert (barriers.pending, barriers.missing()) == (barrier(3), (1,))
    assert barriers.barrier(1, barrier(3)) == [Perform(barrier(3))]


def test_at_least_once_only_so_many_are_counted() -> None:
    barriers = BarrierTracker(2)
    for number in range(TRACKED_MAX):
        assert barriers.barrier(0, barrier(number)) == []
    assert barriers.barrier(0, barrier(TRACKED_MAX)) == [Abort(0, SUBSUMED)]
    assert barriers.pending == barrier(1)
