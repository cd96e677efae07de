"""Keyed state as user functions see it: defaults, names, and values that are changed in place."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pytest

from pravega_lab.engine.flow.errors import IllegalStateError, RestoreError
from pravega_lab.engine.flow.state import plain_values as plain
from pravega_lab.engine.flow.state import state as states
from pravega_lab.engine.flow.state.handles import Blob
from pravega_lab.engine.flow.state.state import (
    KeyedListState,
    KeyedSnapshot,
    KeyedState,
    MapState,
    ReducingState,
    ValueState,
)
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


@pytest.mark.parametrize(("kind", "wanted"), [(KeyedListState, "list"), (MapState, "dict")])
def test_restored_values_of_another_kind_are_refused(kind: Callable[..., object], wanted: str) -> None:
    restored = KeyedState(16, range(16))
    restored.restore(3, plain.to_bytes({"n": {"a": 7}}), None)
    with pytest.raises(
        RestoreError, match=f"has 7 in state 'n', where this job keeps a {wanted} for each key"
    ):
        kind(restored, "n")
    assert ValueState(restored, "n")


def checkpoint(state: KeyedState, checkpoint_id: int) -> KeyedSnapshot:
    """Take a snapshot and pretend that its files were written and its checkpoint completed."""
    snapshot = state.snapshot(full=False)
    blobs = {
        group: Blob(f"{checkpoint_id}/{group}", 0, len(data), zlib.crc32(data))
        for group, (_, data) in snapshot.written.items()
    }
    state.written(checkpoint_id, snapshot, blobs)
    state.confirm(checkpoint_id)
    return snapshot


def in_value(state: KeyedState, inner: Any) -> None:
    ValueState(state, "s").update(inner)


def in_tuple(state: KeyedState, inner: Any) -> None:
    ValueState(state, "s").update((1, ("x", inner)))


def in_map(state: KeyedState, inner: Any) -> None:
    MapState(state, "s").put("x", inner)


def in_list(state: KeyedState, inner: Any) -> None:
    KeyedListState(state, "s").add(inner)


def reduced(state: KeyedState, inner: Any) -> None:
    ReducingState(state, "s", max).add(inner)


@pytest.mark.parametrize("put", [in_value, in_tuple, in_map, in_list, reduced])
def test_a_value_that_is_changed_in_place_is_in_the_next_checkpoint(
    put: Callable[[KeyedState, Any], None],
) -> None:
    state, inner = KeyedState(16, range(16)), [1]
    state.set_key("a")
    put(state, inner)
    assert list(checkpoint(state, 1).written) == [state.current_group]
    assert checkpoint(state, 2).written == {}
    inner.append(2)
    [(_, data)] = checkpoint(state, 3).written.values()
    assert "[1, 2]" in str(plain.from_bytes(data))
    assert list(checkpoint(state, 4).reused.values()) == [
        Blob(f"3/{state.current_group}", 0, len(data), zlib.crc32(data))
    ]


def test_constant_values_are_neither_encoded_nor_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    state = KeyedState(16, range(16))
    for key in "abc":
        state.set_key(key)
        ValueState(state, "value").update((1, "x"))
        MapState(state, "map").put("x", None)
        KeyedListState(state, "list").add(b"x")
        TimerService(state).register_event_timer(5, (0, 6))
    groups = list(checkpoint(state, 1).written)
    monkeypatch.setattr(plain, "to_bytes", lambda value: pytest.fail("encoded"))
    assert list(checkpoint(state, 2).reused) == groups
    monkeypatch.setattr(states, "are_constant", lambda values: pytest.fail("looked at"))
    assert list(checkpoint(state, 3).reused) == groups


def test_state_that_is_first_asked_for_after_a_checkpoint_is_watched_from_then_on() -> None:
    before = KeyedState(16, range(16))
    before.set_key("a")
    in_value(before, [1])
    [(group, (_, data))] = before.snapshot(full=True).written.items()
    state = KeyedState(16, range(16))
    state.restore(group, data, Blob("old", 0, len(data), zlib.crc32(data)))
    assert list(checkpoint(state, 1).reused) == [group]
    state.set_key("a")
    ValueState(state, "s").get().append(2)
    assert list(checkpoint(state, 2).written) == [group]
