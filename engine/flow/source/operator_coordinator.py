"""Operator coordinators: the part of an operator that runs in the job master.

A `coordinator.SourceCoordinator` runs every source. Connectors rarely need a coordinator of their own.
Source: Flink's `OperatorCoordinator`, FLINK-10740.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any, Protocol

NO_CHECKPOINT = -1


class SubtaskGateway(Protocol):
    """Send events to one attempt of a subtask, in order, through the event gate.

    Between the snapshots of the coordinator and of the subtask, events wait.
    """

    def send_event(self, event: Any) -> None:
        """Send an event. Does not wait."""


class CoordinatorContext(Protocol):
    """A context has what a coordinator may know and do."""

    @property
    def operator_id(self) -> str:
        """Return the id of the operator."""

    @property
    def current_parallelism(self) -> int:
        """Return the number of subtasks."""

    @property
    def is_checkpointing(self) -> bool:
        """Return whether the job takes checkpoints."""

    def now_ms(self) -> int:
        """Return the job's time in ms."""

    def fail_job(self, cause: BaseException) -> None:
        """Fail the job globally: everything restarts, as the restart strategy says."""


class OperatorCoordinator(ABC):
    """A coordinator is the part of an operator in the job master. This is the base of coordinators.

    The job master creates it, perhaps calls `reset_to_checkpoint`, and then `start`. A global recovery does
    the same with a new instance. Every other method is called after `start` only; a coordinator raises
    `IllegalStateError` if it is not.
    """

    @abstractmethod
    def start(self) -> None:
        """Begin. Called once."""

    @abstractmethod
    def handle_event_from_operator(self, subtask: int, attempt: int, event: Any) -> None:
        """Receive an event of an attempt."""

    @abstractmethod
    def checkpoint_coordinator(self, checkpoint_id: int) -> Awaitable[bytes]:
        """Return the state, when it is taken. The gates of all subtasks close then."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Act on the completion of a checkpoint. The tasks were notified before."""
        return

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Act on the end of a checkpoint that will not complete."""
        return

    @abstractmethod
    def reset_to_checkpoint(self, checkpoint_id: int, data: bytes | None) -> None:
        """Restore the state, before `start`. Without any, the arguments are `NO_CHECKPOINT` and None."""

    @abstractmethod
    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        """Note that a subtask goes back to this checkpoint (`NO_CHECKPOINT`: to the start) in a regional
        recovery.
        """

    @abstractmethod
    def execution_attempt_failed(self, subtask: int, attempt: int, reason: str) -> None:
        """Note that an attempt has failed."""

    @abstractmethod
    def execution_attempt_ready(self, subtask: int, attempt: int, gateway: SubtaskGateway) -> None:
        """Receive the gateway to a new attempt."""

    async def close(self) -> None:
        """Release everything."""
        return


class FinishedCoordinator(OperatorCoordinator):
    """The coordinator of an operator that had finished in the restored checkpoint. It does nothing.

    The operator has no readers, and its checkpoint has no state of a coordinator. A new coordinator would
    begin again without readers, or would look for a stream that was deleted.
    """

    def start(self) -> None:
        """Do nothing."""
        return

    def handle_event_from_operator(self, subtask: int, attempt: int, event: Any) -> None:
        """Drop the event."""
        return

    def checkpoint_coordinator(self, checkpoint_id: int) -> Awaitable[bytes]:
        """Return an empty state, which the checkpoint does not keep."""
        state: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        state.set_result(b"")
        return state

    def reset_to_checkpoint(self, checkpoint_id: int, data: bytes | None) -> None:
        """Do nothing: there is no state."""
        return

    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        """Do nothing: the subtask was assigned nothing."""
        return

    def execution_attempt_failed(self, subtask: int, attempt: int, reason: str) -> None:
        """Do nothing."""
        return

    def execution_attempt_ready(self, subtask: int, attempt: int, gateway: SubtaskGateway) -> None:
        """Do nothing: no event is sent."""
        return
