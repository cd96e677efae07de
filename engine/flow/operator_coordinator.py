"""Operator coordinators: the part of an operator that lives beside the checkpoint coordinator.

`sources` are run by one (`source_coordinator.SourceCoordinator`); connectors rarely need their own.
Source: Flink's `OperatorCoordinator`, FLINK-10740.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Any, Protocol

NO_CHECKPOINT = -1


class SubtaskGateway(Protocol):
    """To one attempt of a subtask, in order, through the event gate.

    Between the coordinator's snapshot and the subtask's, events wait: they are in neither or in both.
    """

    def send_event(self, event: Any) -> None: ...


class CoordinatorContext(Protocol):
    """What a coordinator is given."""

    @property
    def operator_id(self) -> str: ...

    @property
    def current_parallelism(self) -> int: ...

    def now_ms(self) -> int: ...

    def fail_job(self, cause: BaseException) -> None:
        """Global failover."""


class OperatorCoordinator(ABC):
    """Created anew, then perhaps `reset_to_checkpoint`, then `start`; the same again on a global failover."""

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def handle_event_from_operator(self, subtask: int, attempt: int, event: Any) -> None: ...

    @abstractmethod
    def checkpoint_coordinator(self, checkpoint_id: int) -> Awaitable[bytes]:
        """Its state. The gates of all subtasks close when this is done."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """After the tasks were told."""
        return

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        return

    @abstractmethod
    def reset_to_checkpoint(self, checkpoint_id: int, data: bytes | None) -> None:
        """Before `start`; `NO_CHECKPOINT` and None when there is none."""

    @abstractmethod
    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        """Regional recovery: the subtask goes back to this checkpoint; `NO_CHECKPOINT`: to the start."""

    @abstractmethod
    def execution_attempt_failed(self, subtask: int, attempt: int, reason: str) -> None: ...

    @abstractmethod
    def execution_attempt_ready(self, subtask: int, attempt: int, gateway: SubtaskGateway) -> None: ...

    async def close(self) -> None:
        return
