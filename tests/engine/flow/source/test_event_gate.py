"""The event gate alone: a table of moves, and events that wait or pass."""

from __future__ import annotations

import itertools

import pytest

from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.source.event_gate import MOVES, EventGate, GateState, Happening

CALLS = {
    Happening.MARK: EventGate.mark,
    Happening.CLOSE: EventGate.close,
    Happening.PASS: EventGate.passed,
    Happening.END: EventGate.end,
}


def gate() -> tuple[EventGate, list[str]]:
    sent: list[str] = []
    return EventGate(sent.append), sent


def test_events_wait_between_the_two_snapshots() -> None:
    it, sent = gate()
    it.mark(1)
    it.send("before")
    assert it.close(1)
    it.send("for 1")
    it.mark(2)
    assert it.close(2)
    it.send("for 2")
    it.passed(1)
    assert sent == ["before", "for 1"]
    it.passed(2)
    it.send("after")
    assert sent == ["before", "for 1", "for 2", "after"]


def test_a_part_that_comes_after_the_abort_does_not_close_the_gate() -> None:
    """The gate used to close for good, and an assigned split never arrived."""
    it, sent = gate()
    it.mark(1)
    it.end(1)
    assert not it.close(1)
    it.send("an assignment")
    assert sent == ["an assignment"]


def test_the_end_of_one_checkpoint_does_not_open_the_gate_for_another() -> None:
    """A failed trigger used to open every gate, also for a checkpoint whose barrier was still on its way."""
    it, sent = gate()
    it.mark(1)
    it.close(1)
    it.send("between the parts of 1")
    it.mark(2)
    it.end(2)
    assert sent == []
    it.passed(1)
    assert sent == ["between the parts of 1"]


def test_events_of_a_later_checkpoint_that_ends_first_keep_their_order() -> None:
    it, sent = gate()
    for number in (1, 2):
        it.mark(number)
        it.close(number)
        it.send(f"after {number}")
    it.end(2)
    assert sent == []
    it.end(1)
    assert sent == ["after 1", "after 2"]


def test_a_subtask_that_was_first_finds_the_gate_open() -> None:
    it, sent = gate()
    it.mark(1)
    it.passed(1)
    assert it.state(1) is GateState.PASSED
    assert it.close(1)
    it.send("event")
    assert sent == ["event"]


def test_a_reset_drops_events_and_forgets_the_checkpoints() -> None:
    it, sent = gate()
    it.mark(1)
    it.close(1)
    it.send("for an attempt that has ended")
    it.reset()
    it.send("for the next one")
    assert sent == ["for the next one"]
    assert it.state(1) is GateState.IDLE


@pytest.mark.parametrize(
    "order", list(itertools.permutations((Happening.CLOSE, Happening.PASS, Happening.END)))
)
def test_whatever_the_order_every_move_is_in_the_table_and_the_gate_is_open_at_the_end(
    order: tuple[Happening, ...],
) -> None:
    it, sent = gate()
    state = GateState.IDLE
    for n, happening in enumerate((Happening.MARK, *order)):
        CALLS[happening](it, 1)
        state = MOVES.get((state, happening), state)
        assert it.state(1) is state
        assert it.is_closed == (state is GateState.CLOSED)
        it.send(str(n))
    assert it.state(1) is GateState.IDLE
    assert sent == ["0", "1", "2", "3"]


def test_every_checkpoint_can_end_wherever_it_is() -> None:
    for state in GateState:
        if state is not GateState.IDLE:
            assert MOVES[state, Happening.END] is GateState.IDLE


@pytest.mark.parametrize("number", [4, 5])
def test_checkpoints_come_in_ascending_order(number: int) -> None:
    it, _ = gate()
    it.mark(5)
    with pytest.raises(IllegalStateError, match=f"checkpoint {number} cannot begin .* after checkpoint 5"):
        it.mark(number)
