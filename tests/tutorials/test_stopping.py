"""The job of tutorial 10: what a stop leaves in the savepoint, what a drain says early, what was lost."""

from __future__ import annotations

import pytest

from pravega_lab.engine.flow.checkpoint.history import History
from pravega_lab.tutorials.stop_with_savepoint import SALES, counted, never_stopped, said_twice, stopped

OLD = History(drain_before_flip_147=True)


@pytest.mark.parametrize("seed", [0, 1])
def test_without_drain_it_is_as_if_it_had_never_stopped(seed: int) -> None:
    told = stopped(drain=False, seed=seed)
    assert counted(told.at_the_stop) == 25
    assert told.in_the_end == never_stopped(seed=seed)


def test_with_drain_everything_is_said_and_a_window_in_two_parts_if_it_goes_on() -> None:
    told = stopped(drain=True)
    assert counted(told.at_the_stop) == 36
    assert told.at_the_stop[3, "north"] == [3]
    assert told.in_the_end[3, "north"] == [3, 2]
    assert said_twice(told.in_the_end) == [3]
    assert counted(told.in_the_end) == SALES


def test_the_old_order_lost_what_was_made_when_operators_finished() -> None:
    told = stopped(drain=True, resumed=False, history=OLD)
    assert counted(told.at_the_stop) == counted(told.in_the_end) == 25
    kinds = told.observer.to_pandas("checkpoint_completed")
    assert list(kinds.path)[-1] == told.savepoint


def test_never_stopped_says_each_window_once() -> None:
    whole = never_stopped()
    assert len(whole) == 12
    assert all(said == [5] for said in whole.values())
