"""The limit of watermarks alone: what holds it back, and for how long."""

from __future__ import annotations

from pravega_lab.connector.flow.segments.holds import WatermarkHolds
from pravega_lab.connector.flow.segments.plan import SegmentPlan
from pravega_lab.engine.flow.elements import MIN_TIMESTAMP_MS
from tests.connector.flow.test_segment_plan import BOTH, LEFT, RIGHT, WHOLE


def begun() -> tuple[SegmentPlan, WatermarkHolds]:
    """Left by reader 0 up to 100, right by reader 1 up to 200."""
    plan = SegmentPlan([LEFT, RIGHT])
    holds = WatermarkHolds(plan)
    holds.added()
    plan.assignments(BOTH)
    assert holds.limit_ms() == MIN_TIMESTAMP_MS
    holds.report(0, 100, True, [LEFT.split_id])
    assert holds.limit_ms() == MIN_TIMESTAMP_MS
    holds.report(1, 200, True, [RIGHT.split_id])
    assert holds.limit_ms() == 100
    return plan, holds


def finish_left(plan: SegmentPlan, holds: WatermarkHolds) -> None:
    plan.finished(0, LEFT, [WHOLE])
    holds.finished(0, LEFT)
    holds.report(0, 100, False, [])


def test_a_successor_holds_back_what_its_predecessors_did_until_its_reader_counts_it() -> None:
    plan, holds = begun()
    finish_left(plan, holds)
    plan.finished(1, RIGHT, [WHOLE])
    holds.finished(1, RIGHT)
    holds.report(1, 200, False, [])
    assert holds.limit_ms() == 100
    plan.snapshot(1)
    plan.completed(1)
    assert plan.assignments(BOTH) == {0: [WHOLE]}
    holds.report(1, 300, False, [])
    assert holds.limit_ms() == 100
    holds.report(0, 150, True, [WHOLE.split_id])
    assert holds.limit_ms() == 150


def test_a_segment_that_moves_holds_back_what_its_reader_did() -> None:
    plan, holds = begun()
    plan.returned(LEFT)
    holds.returned(0, LEFT)
    holds.report(0, 900, False, [])
    assert holds.limit_ms() == 100


def test_a_segment_that_came_back_holds_back_everything_unless_its_predecessor_does() -> None:
    plan, holds = begun()
    finish_left(plan, holds)
    holds.report(1, 300, True, [])
    plan.reported(0, [LEFT])
    holds.restarted(0)
    holds.reported([LEFT])
    holds.report(0, 250, True, [])
    assert holds.limit_ms() == 250
    plan.came_back([LEFT])
    holds.came_back([LEFT])
    assert holds.limit_ms() == MIN_TIMESTAMP_MS


def test_a_reader_that_has_not_reported_since_it_restarted_holds_back_everything() -> None:
    _, holds = begun()
    holds.restarted(1)
    assert holds.limit_ms() == MIN_TIMESTAMP_MS


def test_idle_readers_hold_back_nothing() -> None:
    _, holds = begun()
    holds.report(0, 100, False, [])
    assert holds.limit_ms() == 200
    holds.report(1, 200, False, [])
    assert holds.limit_ms() == 200
