"""The watermark of a subtask's channels. `tests/conformance/flink/event_time.py` compares it with Flink's."""

from __future__ import annotations

import pytest

from pravega_lab.engine.flow.elements import MAX_WATERMARK, Watermark, WatermarkStatus
from pravega_lab.engine.flow.time.watermarks import GateWatermarks

IDLE, ACTIVE = WatermarkStatus(True), WatermarkStatus(False)
ONE_INPUT, TWO_INPUTS = [0, 0], [0, 1]


@pytest.mark.parametrize("inputs", [ONE_INPUT, TWO_INPUTS])
def test_a_channel_that_ends_while_it_is_idle_does_not_end_event_time_for_the_others(
    inputs: list[int],
) -> None:
    """What the other reads later would be late, all of it."""
    gate = GateWatermarks(inputs)
    gate.watermark(0, Watermark(4))
    assert gate.watermark(1, Watermark(2)) == [Watermark(2)]
    assert gate.status(0, IDLE) == []
    assert gate.status(1, IDLE) == [Watermark(4), IDLE]
    assert gate.watermark(0, MAX_WATERMARK) == []
    assert gate.status(1, ACTIVE) == [ACTIVE]
    assert gate.watermark(1, Watermark(9)) == [Watermark(9)]
    assert gate.watermark(1, MAX_WATERMARK) == [MAX_WATERMARK]


@pytest.mark.parametrize("inputs", [ONE_INPUT, TWO_INPUTS])
def test_the_end_of_event_time_is_told_when_all_have_come_to_it_idle_or_not(inputs: list[int]) -> None:
    gate = GateWatermarks(inputs)
    gate.status(0, IDLE)
    assert gate.status(1, IDLE) == [IDLE]
    assert gate.watermark(1, MAX_WATERMARK) == []
    assert gate.watermark(0, MAX_WATERMARK) == [MAX_WATERMARK]


@pytest.mark.parametrize(
    ("inputs", "told"), [(ONE_INPUT, [[Watermark(9)], []]), (TWO_INPUTS, [[], [Watermark(9)]])]
)
def test_a_channel_that_was_idle_and_is_behind(inputs: list[int], told: list[list[Watermark]]) -> None:
    """It holds back the other inputs, but not the other channels of its own."""
    gate = GateWatermarks(inputs)
    gate.watermark(0, Watermark(2))
    gate.watermark(1, Watermark(6))
    assert gate.status(0, IDLE) == [Watermark(6)]
    gate.status(0, ACTIVE)
    assert gate.watermark(0, Watermark(3)) == []
    assert [gate.watermark(1, Watermark(9)), gate.watermark(0, Watermark(20))] == told
