"""Barriers of a subtask: who waits, when the checkpoint is taken, when it is given up."""

from __future__ import annotations

from pravega_lab.engine.flow.checkpoint.alignment import Abort, AlignedBarriers, BarrierTracker, Perform
from pravega_lab.engine.flow.elements import Barrier
from pravega_lab.engine.flow.errors import Reason

SUBSUMED = Reason.CHECKPOINT_DECLINED_SUBSUMED


def barrier(number: int) -> Barrier:
    return Barrier(number, 0)


def test_a_channel_that_is_ahead_waits_for_the_others() -> None:
    barriers = AlignedBarriers(3)
    assert barriers.barrier(1, barrier(1)) == []
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
    barriers = AlignedBarriers(2, checkpoints_after_end=False)
    barriers.barrier(0, barrier(1))
    declined = [Abort(1, Reason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM)]
    assert barriers.end_of_partition(1) == declined


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
