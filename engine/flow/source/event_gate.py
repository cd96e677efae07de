"""The gate between an operator coordinator and one subtask, which keeps checkpoints consistent.

From the moment when the coordinator's part of a checkpoint is taken until the subtask has taken its own part,
events to the subtask wait. An assignment is therefore in the state of the coordinator or in the state of the
subtask, and never in both or in neither.

A gate has a state for each checkpoint, and `MOVES` is the table of what changes it. A checkpoint that was
aborted is idle again. If the coordinator's part of it arrives late, the gate does not close for it, because
no barrier would open the gate again. Source: Flink's `SubtaskGatewayImpl`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from ..errors import IllegalStateError


class GateState(Enum):
    """The state of one checkpoint at one gate. Events wait only while it is CLOSED."""

    IDLE = "idle"  # not begun, or over
    MARKED = "marked"  # the coordinator was asked for its part
    CLOSED = "closed"  # the coordinator's part is taken, and the subtask's is not
    PASSED = "passed"  # the subtask's part was taken first, as a reader with barriers from outside may do


class Happening(Enum):
    """What changes the state of a checkpoint at a gate."""

    MARK = "mark"  # the coordinator is asked for its part
    CLOSE = "close"  # the coordinator's part is taken
    PASS = "pass"  # the subtask's part is taken
    END = "end"  # the checkpoint is complete, or was aborted


MOVES: dict[tuple[GateState, Happening], GateState] = {
    (GateState.IDLE, Happening.MARK): GateState.MARKED,
    (GateState.MARKED, Happening.CLOSE): GateState.CLOSED,
    (GateState.MARKED, Happening.PASS): GateState.PASSED,
    (GateState.MARKED, Happening.END): GateState.IDLE,
    (GateState.CLOSED, Happening.PASS): GateState.IDLE,
    (GateState.CLOSED, Happening.END): GateState.IDLE,
    (GateState.PASSED, Happening.CLOSE): GateState.IDLE,
    (GateState.PASSED, Happening.END): GateState.IDLE,
}
"""The state that follows. What is not in the table changes nothing."""


class EventGate:
    """Pass events to one subtask with ``send``, or keep them while the gate is closed for a checkpoint.

    An event waits for the latest checkpoint for which the gate is closed when the event is sent. With two
    checkpoints in progress, an event that was sent between their snapshots is delivered between their
    barriers.
    """

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._states: dict[int, GateState] = {}  # by checkpoint; without those that are idle
        self._waiting: dict[int, list[Any]] = {}  # by checkpoint for which the gate is closed
        self._latest = -1

    @property
    def is_closed(self) -> bool:
        """Return whether the gate is closed for a checkpoint."""
        return bool(self._waiting)

    def state(self, checkpoint_id: int) -> GateState:
        """Return the state of a checkpoint."""
        return self._states.get(checkpoint_id, GateState.IDLE)

    def send(self, event: Any) -> None:
        """Pass the event on, or keep it until the gate opens."""
        if self._waiting:
            self._waiting[max(self._waiting)].append(event)
        else:
            self._send(event)

    def mark(self, checkpoint_id: int) -> None:
        """Note that the coordinator is asked for its part of a checkpoint.

        Raises:
            IllegalStateError: this checkpoint, or a later one, was marked before.
        """
        if checkpoint_id <= self._latest:
            raise IllegalStateError(
                f"checkpoint {checkpoint_id} cannot begin at an event gate after checkpoint {self._latest}"
            )
        self._latest = checkpoint_id
        self._move(checkpoint_id, Happening.MARK)

    def close(self, checkpoint_id: int) -> bool:
        """Close the gate, because the coordinator's part is taken.

        Return whether the checkpoint is under way. If it is not, or if the subtask has taken its part
        already, the gate does not close.
        """
        is_under_way = self.state(checkpoint_id) is not GateState.IDLE
        self._move(checkpoint_id, Happening.CLOSE)
        return is_under_way

    def passed(self, checkpoint_id: int) -> None:
        """Open the gate for this checkpoint, because the subtask has taken its part."""
        self._move(checkpoint_id, Happening.PASS)

    def end(self, checkpoint_id: int) -> None:
        """Open the gate for this checkpoint, because it is complete or was aborted."""
        self._move(checkpoint_id, Happening.END)

    def reset(self) -> None:
        """End all checkpoints, and drop the waiting events, which were for an attempt that has ended."""
        self._states.clear()
        self._waiting.clear()

    def _move(self, checkpoint_id: int, happening: Happening) -> None:
        state = self.state(checkpoint_id)
        following = MOVES.get((state, happening), state)
        self._states[checkpoint_id] = following
        if following is GateState.IDLE:
            del self._states[checkpoint_id]
        if following is GateState.CLOSED:
            self._waiting.setdefault(checkpoint_id, [])
        elif state is GateState.CLOSED:
            self._release(checkpoint_id)

    def _release(self, checkpoint_id: int) -> None:
        """Pass on the events that wait for this checkpoint, or let them wait for an earlier one."""
        events = self._waiting.pop(checkpoint_id)
        earlier = [number for number in self._waiting if number < checkpoint_id]
        if earlier:
            self._waiting[max(earlier)] += events
        else:
            for event in events:
                self._send(event)
