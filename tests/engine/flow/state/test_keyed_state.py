"""Keyed state as user functions see it: defaults."""

from __future__ import annotations

from pravega_lab.engine.flow.state.state import KeyedState, ValueState


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
