"""Hold the coordinator of one operator, through its restarts, with an event gate to each subtask.

`event_gate` decides which events wait. This module calls the coordinator, counts the events that are on their
way, and waits for them before a checkpoint continues. Source: Flink's `OperatorCoordinatorHolder`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pravega_lab.portable.waiting import gather

from ..closing import close_in_time
from ..errors import CheckpointFailedError, Reason
from .event_gate import EventGate
from .operator_coordinator import (
    NO_CHECKPOINT,
    CoordinatorContext,
    FinishedCoordinator,
    OperatorCoordinator,
    SubtaskGateway,
)

Transport = Callable[[int, int, Any, Callable[[bool], None]], None]
"""(subtask, attempt, event, confirm): deliver it, then call ``confirm(delivered)``."""


class _Gateway:
    """Send to one attempt, in the next turn of the loop: a snapshot that is done by then comes first."""

    def __init__(self, holder: CoordinatorHolder, subtask: int, attempt: int) -> None:
        self._holder, self._subtask, self._attempt = holder, subtask, attempt

    def send_event(self, event: Any) -> None:
        asyncio.get_running_loop().call_soon(self._holder.send, self._subtask, self._attempt, event)


class CoordinatorHolder:
    """Hold one operator's coordinator through its restarts, with a gate to each subtask."""

    def __init__(
        self,
        context: CoordinatorContext,
        make: Callable[[CoordinatorContext], OperatorCoordinator],
        transport: Transport,
    ) -> None:
        self._context, self._make, self._transport = context, make, transport
        self.coordinator = make(context)
        self._attempts: dict[int, int] = {}
        self._gates = {n: self._gate(n) for n in range(context.current_parallelism)}
        self._flying: dict[int, tuple[int, asyncio.Future[None]]] = {}
        self._asked: dict[asyncio.Future[bytes], None] = {}  # snapshots in progress
        self._sent = 0

    def _gate(self, subtask: int) -> EventGate:
        return EventGate(lambda numbered: self._send_now(subtask, numbered))

    def send(self, subtask: int, attempt: int, event: Any) -> None:
        """Send an event through the gate if the attempt is the current one."""
        if self._attempts.get(subtask) == attempt:
            # The event counts as sent from here on, also while it waits at the gate: the next checkpoint
            # waits until it was delivered.
            self._sent += 1
            confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._flying[self._sent] = (subtask, confirmed)
            self._gates[subtask].send((self._sent, event))

    def _send_now(self, subtask: int, numbered: tuple[int, Any]) -> None:
        number, event = numbered
        attempt, flying = self._attempts.get(subtask), self._flying.get(number)
        if attempt is None or flying is None:
            return
        confirmed = flying[1]

        def confirm(was_delivered: bool) -> None:
            self._flying.pop(number, None)
            if not confirmed.done():
                if was_delivered:
                    confirmed.set_result(None)
                else:
                    confirmed.cancel()

        self._transport(subtask, attempt, event, confirm)

    # -- checkpoints ---------------------------------------------------------------------------------------

    def checkpoint(
        self, checkpoint_id: int, done: Callable[[bytes | None, BaseException | None], None]
    ) -> None:
        """Ask the coordinator for its part of a checkpoint, and call ``done(state, error)``.

        ``done`` is called when the part is taken, the gates are closed, and all events that were sent before
        have arrived.
        """
        for gate in self._gates.values():
            gate.mark(checkpoint_id)
        future = asyncio.ensure_future(self.coordinator.checkpoint_coordinator(checkpoint_id))
        self._asked[future] = None

        def taken(taken: asyncio.Future[bytes]) -> None:
            self._asked.pop(taken, None)
            if taken.cancelled() or taken.exception() is not None:
                done(None, asyncio.CancelledError() if taken.cancelled() else taken.exception())
            elif self._close_gates(checkpoint_id):
                flying = [future for _, future in self._flying.values()]
                _after(flying, lambda error: done(None if error else taken.result(), error))
            else:
                why = f"Checkpoint {checkpoint_id} was aborted before the coordinator's part was taken."
                done(None, CheckpointFailedError(Reason.CHECKPOINT_COORDINATOR_SUSPEND, why))

        future.add_done_callback(taken)

    def _close_gates(self, checkpoint_id: int) -> bool:
        """Close all gates. Return False if the checkpoint was aborted, so that no gate closes."""
        return False not in [gate.close(checkpoint_id) for gate in self._gates.values()]

    def barrier_taken(self, subtask: int, checkpoint_id: int) -> None:
        """Open the gate of a subtask that has taken the checkpoint."""
        self._gates[subtask].passed(checkpoint_id)

    def open_gates(self, checkpoint_id: int) -> None:
        """Open all gates for a checkpoint that is complete or was aborted."""
        for gate in self._gates.values():
            gate.end(checkpoint_id)

    def notify_complete(self, checkpoint_id: int) -> None:
        """Open the gates for the checkpoint, and notify the coordinator that it is complete."""
        self.open_gates(checkpoint_id)
        self.coordinator.notify_checkpoint_complete(checkpoint_id)

    def notify_aborted(self, checkpoint_id: int) -> None:
        """Open the gates for the checkpoint, and notify the coordinator that it was aborted."""
        self.open_gates(checkpoint_id)
        self.coordinator.notify_checkpoint_aborted(checkpoint_id)

    # -- attempts ------------------------------------------------------------------------------------------

    def attempt_ready(self, subtask: int, attempt: int) -> None:
        """Give the coordinator a gateway to a new attempt."""
        self._attempts[subtask] = attempt
        gateway: SubtaskGateway = _Gateway(self, subtask, attempt)
        self.coordinator.execution_attempt_ready(subtask, attempt, gateway)

    def attempt_failed(self, subtask: int, attempt: int, reason: str) -> None:
        """Drop the events to the attempt, and notify the coordinator if it knows the attempt."""
        if self._attempts.get(subtask) != attempt:
            return
        del self._attempts[subtask]
        self._lose(subtask)
        self.coordinator.execution_attempt_failed(subtask, attempt, reason)

    def _lose(self, subtask: int) -> None:
        for number, (of, future) in list(self._flying.items()):
            if of == subtask:
                del self._flying[number]
                future.cancel()

    def handle_event(self, subtask: int, attempt: int, event: Any) -> None:
        """Pass an event to the coordinator if it is from the current attempt."""
        if self._attempts.get(subtask) == attempt:
            self.coordinator.handle_event_from_operator(subtask, attempt, event)

    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        """Reset a subtask to a checkpoint in a regional recovery."""
        self._gates[subtask].reset()
        self.coordinator.subtask_reset(subtask, checkpoint_id)

    def retire(self) -> None:
        """Replace the coordinator, which was not started: its operator has finished in the checkpoint."""
        self.coordinator = FinishedCoordinator()

    async def restart(self, checkpoint_id: int, data: bytes | None, *, has_finished: bool = False) -> None:
        """Replace the coordinator in a global recovery. Without a checkpoint, its id is `NO_CHECKPOINT`.

        An error of the old coordinator's `close` is logged.

        ``has_finished``: its operator has finished in the checkpoint.
        """
        old = self.coordinator
        for subtask in self._gates:
            self._gates[subtask].reset()
            self._lose(subtask)
        self._attempts.clear()
        for future in list(self._asked):
            future.cancel()  # its coordinator is closed, so nothing else would end it
        await self._close(old)
        if has_finished:
            self.retire()
            return
        self.coordinator = self._make(self._context)
        if checkpoint_id != NO_CHECKPOINT or data is not None:
            self.coordinator.reset_to_checkpoint(checkpoint_id, data)
        self.coordinator.start()

    async def close(self) -> None:
        """Close the coordinator."""
        await self._close(self.coordinator)

    async def _close(self, coordinator: OperatorCoordinator) -> None:
        await close_in_time(coordinator.close, f"the coordinator of operator {self._context.operator_id!r}")


def _after(flying: list[asyncio.Future[None]], done: Callable[[BaseException | None], None]) -> None:
    """Call ``done`` when all of these events have arrived, with an error if one was lost."""
    if not flying:
        done(None)
        return
    together = gather(*flying)

    def arrived(future: asyncio.Future[Any]) -> None:
        is_lost = future.cancelled() or future.exception() is not None
        lost = CheckpointFailedError(Reason.TRIGGER_CHECKPOINT_FAILURE, "An event was lost.")
        done(lost if is_lost else None)

    together.add_done_callback(arrived)
