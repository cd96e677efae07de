"""What the checkpoint coordinator wants done, as values. The job master carries them out and reports back.

`CheckpointCoordinator.take_effects` returns them in the order in which they must be carried out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..elements import CheckpointOptions, SubtaskId
from .handles import CompletedCheckpoint
from .pending import Request


@dataclass(frozen=True)
class AllocateId:
    """Allocate a checkpoint id. Report to `CheckpointCoordinator.id_allocated` or `triggering_failed`."""

    request: Request


@dataclass(frozen=True)
class PrepareLocation:
    """Create the checkpoint's folder. Report to `location_ready` or `triggering_failed`."""

    checkpoint_id: int
    target: str | None


@dataclass(frozen=True)
class AskCoordinators:
    """Ask operator coordinators. Report each to `coordinator_acknowledged` or `triggering_failed`."""

    checkpoint_id: int
    operators: tuple[str, ...]


@dataclass(frozen=True)
class AskHooks:
    """Trigger master hooks. Report each to `hook_acknowledged`, or `triggering_failed`."""

    checkpoint_id: int
    timestamp_ms: int
    hooks: tuple[str, ...]


@dataclass(frozen=True)
class TriggerTask:
    """Trigger the checkpoint in a subtask. Report a failure of the call to `triggering_failed`."""

    subtask: SubtaskId
    checkpoint_id: int
    timestamp_ms: int
    options: CheckpointOptions


@dataclass(frozen=True)
class Finalize:
    """Write the metadata. Report to `finalized` or `finalize_failed`."""

    checkpoint: CompletedCheckpoint


@dataclass(frozen=True)
class NotifyComplete:
    """Notify the subtasks, and then the operator coordinators, that the checkpoint is complete."""

    checkpoint_id: int
    subtasks: tuple[SubtaskId, ...]


@dataclass(frozen=True)
class NotifyAborted:
    """Notify the subtasks and the operator coordinators that the checkpoint was aborted.

    ``latest_id`` is the newest complete checkpoint, -1 if there is none.
    """

    checkpoint_id: int
    latest_id: int
    subtasks: tuple[SubtaskId, ...]


@dataclass(frozen=True)
class OpenGates:
    """Open the event gates: a savepoint is complete, of which no subtask and no coordinator is notified.

    A subtask that has finished takes no part in the savepoint and would never open its own gate.
    """

    checkpoint_id: int


@dataclass(frozen=True)
class Discard:
    """Delete files, and folders (ending in ``/``), that no checkpoint needs. Report to `cleaned`."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class FailJob:
    """Fail the job: too many checkpoints failed, or a subtask declined a stop-with-savepoint."""

    error: BaseException


@dataclass(frozen=True)
class Answer:
    """Answer a request, with a checkpoint or with an error."""

    request: Request
    checkpoint: CompletedCheckpoint | None
    error: BaseException | None = None


Effect = (
    AllocateId
    | PrepareLocation
    | AskCoordinators
    | AskHooks
    | TriggerTask
    | Finalize
    | NotifyComplete
    | NotifyAborted
    | OpenGates
    | Discard
    | FailJob
    | Answer
)
