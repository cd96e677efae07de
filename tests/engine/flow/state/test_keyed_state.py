"""Keyed state as user functions see it: defaults and names."""

from __future__ import annotations

import pytest

from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.state.state import KeyedState, MapState, ReducingState, ValueState
from pravega_lab.engine.flow.time.timers import TimerService


def test_each_key_gets_its_own_copy_of_the_default() -> None:
    state = KeyedState(16, range(16))
    values = ValueState(state, "seen", default=[])
    for key in "ab":
        state.set_key(key)
        seen = values.get()
        seen.append(key)
        values.update(seen)
    assert values.get() == ["b"]
    state.set_key("c")
    assert values.get() == []


def test_a_name_belongs_to_one_kind_of_state() -> None:
    state = KeyedState(16, range(16))
    TimerService(state)
    first, second = ValueState(state, "n"), ValueState(state, "n")
    state.set_key("a")
    first.update(1)
    assert second.get() == 1
    with pytest.raises(IllegalStateError, match="state 'n' is value state; asked for as reducing state"):
        ReducingState(state, "n", max)
    with pytest.raises(IllegalStateError, match="'_event_timers' is the operator's timers"):
        MapState(state, "_event_timers")
