"""Sizes of windows, times of timers, and keys that could never work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.graph.stream import DataStream, StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.operators.functions import KeyedContext, KeyedProcessFunction, count
from pravega_lab.engine.flow.operators.windows import SessionWindows, SlidingWindows, TumblingWindows
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.errors import BadInputError
from tests.engine.flow.jobs import Virtual, collect


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingWindows(0),
        lambda: TumblingWindows(timedelta(seconds=1)),  # type: ignore[arg-type]
        lambda: SlidingWindows(1000, -1),
        lambda: SlidingWindows(0, 10),
        lambda: SessionWindows(0),
        lambda: WatermarkStrategy("at", out_of_orderness_ms=-1),
        lambda: WatermarkStrategy("at", idle_after_ms=0),
        lambda: (
            StreamEnvironment().from_rows([]).key_by("at").window(TumblingWindows(1), allowed_lateness_ms=-1)
        ),
    ],
)
def test_sizes_that_would_drop_records_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(BadInputError, match=r"_ms=.*: it must be a number of at least"):
        make()


def test_a_record_between_two_windows_is_not_late() -> None:
    virtual, env, got, late = Virtual(), StreamEnvironment(), [], []
    rows = env.from_rows([{"key": "a", "at": at} for at in (0, 50, 100)], WatermarkStrategy("at"))
    windows = rows.key_by("key").window(SlidingWindows(10, 100), late_tag="late").aggregate(count())
    collect(windows, got)
    collect(windows.side_output("late"), late)
    virtual.finish(env)
    assert [row["window_start"] for row, _ in got] == [0, 100]
    assert late == []


class Sets(KeyedProcessFunction):
    def __init__(self, event_time: bool, at_ms: float) -> None:
        self.event_time, self.at_ms = event_time, at_ms

    def process(self, row: Row, context: KeyedContext) -> None:
        register = context.register_event_timer if self.event_time else context.register_processing_timer
        register(self.at_ms)  # type: ignore[arg-type]


def keyed_by_nan(stream: DataStream) -> DataStream:
    return stream.key_by(lambda row: (1, float("nan"))).aggregate(count())


@pytest.mark.parametrize("event_time", [True, False])
@pytest.mark.parametrize("at_ms", [float("nan"), float("inf"), 2**63])
def test_a_timer_that_can_never_fire_is_refused(event_time: bool, at_ms: float) -> None:
    """A timer at NaN would also keep all timers after it from firing."""
    with pytest.raises(JobFailedError, match=r"process, subtask 1/1.*a timer at .* ms never fires"):
        run_on_one_row(lambda stream: stream.key_by("n").process(Sets(event_time, at_ms)))


def test_nan_is_no_key() -> None:
    """Each NaN would be a key of its own, with a state that is never found again."""
    with pytest.raises(JobFailedError, match="NaN is not equal to itself"):
        run_on_one_row(keyed_by_nan)


@pytest.mark.parametrize(
    ("key", "words"), [([1], r"list \(\[1\]\)"), ((1, {2}), r"set \(\{2\}\)"), ({"a": 1}, "dict")]
)
def test_a_value_that_python_cannot_look_up_is_no_key(key: object, words: str) -> None:
    message = f"a key is None, a bool, a number, a text, bytes or a tuple of these, not {words}"
    with pytest.raises(JobFailedError, match=message):
        run_on_one_row(lambda stream: stream.key_by(lambda row: key).aggregate(count()).set_parallelism(2))


def run_on_one_row(program: Callable[[DataStream], DataStream]) -> None:
    virtual, env = Virtual(), StreamEnvironment()
    collect(program(env.from_rows([{"n": 1}])), [])
    virtual.finish(env, JobConfig(None))
