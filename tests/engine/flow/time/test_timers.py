"""The heaps of timers stay in step with the timers in keyed state."""

from __future__ import annotations

from random import Random

from pravega_lab.engine.flow.state.state import KeyedState
from pravega_lab.engine.flow.time.timers import HEAP_MIN, TimerService


def services() -> tuple[KeyedState, TimerService]:
    state = KeyedState(16, range(16))
    return state, TimerService(state)


def test_deleted_timers_do_not_fill_the_heap() -> None:
    state, timers = services()
    state.set_key("a")
    for at_ms in range(1000, 11_000):  # a timer that each event moves
        timers.register_event_timer(at_ms)
        timers.delete_event_timer(at_ms - 1)
    assert len(timers.event._heap) <= HEAP_MIN
    assert [timer.at_ms for timer in timers.event.due(20_000)] == [10_999]
    assert timers.event._live == 0


def test_a_tidy_heap_fires_the_same_timers_in_the_same_order() -> None:
    (state, timers), (plain_state, plain) = services(), services()
    plain.event._tidy = lambda: None  # type: ignore[method-assign]
    chance = Random(1)
    for _ in range(3000):
        key, at_ms, namespace = chance.choice("abc"), chance.randrange(200), chance.choice([(0, 9), (5, 14)])
        sets = chance.random() < 0.5
        for one, service in ((state, timers), (plain_state, plain)):
            one.set_key(key)
            (service.register_event_timer if sets else service.delete_event_timer)(at_ms, namespace)
        assert len(timers.event._heap) <= max(HEAP_MIN, 2 * timers.event._live + 1)
    assert list(timers.event.due(99)) == list(plain.event.due(99))
    again = TimerService(state)
    again.restore(of_windows=True)
    assert again.event._live == timers.event._live
    assert list(timers.event.due(200)) == list(plain.event.due(200))
