"""The rules of `SegmentPlan` alone: which reader may read which segment, and when."""

from __future__ import annotations

import pytest

from pravega_lab.connector.flow.reader_group.reader_slots import SlotSerializer
from pravega_lab.connector.flow.segments.plan import SegmentPlan, at_offset
from pravega_lab.connector.flow.segments.splits import (
    VERSION_OF_SEVERAL,
    SegmentSplit,
    SegmentStateSerializer,
    SplitSerializer,
    SplitsFinished,
    SplitsReturned,
    SplitsSerializer,
    from_event,
    to_event,
)
from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.state import plain_values as plain

BOTH = (0, 1)


def split(segment_id: int, low: float, high: float, offset: int = 0) -> SegmentSplit:
    return SegmentSplit("s/t", segment_id, low, high, offset)


LEFT, RIGHT, WHOLE = split(0, 0.0, 0.5), split(1, 0.5, 1.0), split(2, 0.0, 1.0)


def reading(**options: bool) -> SegmentPlan:
    """Left by reader 0, right by reader 1."""
    plan = SegmentPlan([LEFT, RIGHT], **options)
    assert plan.assignments(BOTH) == {0: [LEFT], 1: [RIGHT]}
    return plan


def test_a_merge_waits_for_both_and_for_a_checkpoint() -> None:
    plan = reading()
    plan.finished(0, LEFT, [WHOLE])
    assert not plan.assignments(BOTH)
    plan.finished(1, RIGHT, [WHOLE])
    assert not plan.assignments(BOTH), "what reader 0 or 1 emitted may be on its way"
    assert plan.snapshot(1) == [WHOLE]
    assert not plan.assignments(BOTH)
    plan.completed(1)
    assert plan.assignments(BOTH) == {0: [WHOLE]}


def test_a_checkpoint_that_began_before_says_nothing() -> None:
    plan = reading()
    plan.snapshot(1)
    for reader, part in enumerate((LEFT, RIGHT)):
        plan.finished(reader, part, [WHOLE])
    plan.completed(1)
    assert not plan.assignments(BOTH)
    plan.snapshot(2)
    plan.aborted(2)
    plan.snapshot(3)
    plan.completed(3)
    assert plan.assignments(BOTH) == {0: [WHOLE]}


def test_who_read_a_segment_goes_on_with_its_parts_at_once() -> None:
    plan = SegmentPlan([WHOLE])
    assert plan.assignments((0, 1)) == {0: [WHOLE]}
    parts = [split(3, 0.0, 0.5), split(4, 0.5, 1.0)]
    plan.finished(0, WHOLE, parts)
    assert plan.assignments(BOTH) == {0: parts}


def test_without_checkpoints_predecessors_alone_count() -> None:
    plan = reading(waits_for_checkpoints=False)
    plan.finished(0, LEFT, [WHOLE])
    assert not plan.assignments(BOTH)
    plan.finished(1, RIGHT, [])
    assert plan.assignments(BOTH) == {0: [WHOLE]}


def test_a_reader_with_too_much_gives_one_back_at_a_checkpoint() -> None:
    plan = SegmentPlan([WHOLE])
    plan.assignments((0,))
    parts = [split(3, 0.0, 0.5), split(4, 0.5, 1.0)]
    plan.finished(0, WHOLE, parts)
    plan.assignments(BOTH)
    assert plan.removal(BOTH) is None, "something is on its way"
    plan.snapshot(1)
    plan.completed(1)
    assert plan.removal(BOTH) == (0, parts[1])
    assert plan.removal(BOTH) is None, "one at a time"
    plan.returned(at_offset(parts[1], 70))
    assert not plan.assignments(BOTH)
    plan.snapshot(2)
    plan.completed(2)
    assert plan.assignments(BOTH) == {1: [at_offset(parts[1], 70)]}


def test_after_a_failure_readers_and_tracker_say_what_is_so() -> None:
    plan = reading()
    for reader, part in enumerate((LEFT, RIGHT)):
        plan.finished(reader, part, [WHOLE])
    plan.snapshot(1)
    plan.completed(1)
    plan.assignments(BOTH)
    # All go back to a checkpoint in which left and right were being read.
    plan.came_back([WHOLE])
    plan.reported(0, [at_offset(LEFT, 10)])
    plan.reported(1, [at_offset(RIGHT, 20)])
    assert not plan.assignments(BOTH)
    assert plan.snapshot(2) == [WHOLE]


def test_what_came_back_twice_begins_where_it_was_first() -> None:
    plan = SegmentPlan()
    plan.came_back([at_offset(LEFT, 90)])
    plan.came_back([at_offset(LEFT, 40)])
    plan.came_back([at_offset(LEFT, 60)])
    assert plan.waiting[LEFT.key].offset == 40


def test_changes_and_splits_travel_as_plain_values() -> None:
    for change in (SplitsFinished((LEFT,), (WHOLE,)), SplitsReturned((at_offset(RIGHT, 7),))):
        assert from_event(to_event(change)) == change
    serializer = SplitSerializer()
    assert serializer.from_bytes(1, serializer.to_bytes(WHOLE)) == WHOLE
    with pytest.raises(DamagedCheckpointError, match="version 7"):
        serializer.from_bytes(7, serializer.to_bytes(WHOLE))


@pytest.mark.parametrize("value", [None, 7, [(1, 2)], "no splits"])
def test_plain_values_that_are_no_splits_are_refused(value: object) -> None:
    data = plain.to_bytes(value)
    for read in (
        lambda: SplitSerializer().from_bytes(1, data),
        lambda: SplitsSerializer().from_bytes(1, data),
        lambda: SegmentStateSerializer(["a/b", "a/c"]).from_bytes(VERSION_OF_SEVERAL, data),
        lambda: SlotSerializer().from_bytes(1, data),
    ):
        with pytest.raises(DamagedCheckpointError):
            read()


def test_everything_is_read_when_no_segment_waits_or_is_read() -> None:
    plan = reading()
    plan.finished(0, LEFT, [])
    assert not plan.is_read
    plan.finished(1, RIGHT, [])
    assert plan.is_read
    plan.reported(0, [LEFT])
    assert not plan.is_read, "reader 0 restarted from a checkpoint in which it has the segment"


def test_a_returned_segment_waits_for_a_checkpoint_in_any_case() -> None:
    """Its last reader may restart alone, from a checkpoint in which it has the segment."""
    plan = reading(waits_for_checkpoints=False)
    plan.returned(LEFT)
    assert not plan.assignments([1])
    plan.snapshot(1)
    plan.completed(1)
    assert plan.assignments([1]) == {1: [LEFT]}


def test_successors_that_were_read_do_not_begin_again() -> None:
    """Reader 0 restarts alone and reads its segment again; reader 1 has read the successor since."""
    plan = reading(waits_for_checkpoints=False)
    plan.snapshot(1)
    plan.completed(1)
    plan.finished(0, LEFT, [])
    plan.finished(1, RIGHT, [WHOLE])
    assert plan.assignments([0]) == {0: [WHOLE]}
    plan.finished(0, WHOLE, [])
    plan.reported(1, [RIGHT])
    plan.finished(1, RIGHT, [WHOLE])
    assert plan.is_read
