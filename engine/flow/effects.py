"""What the checkpoint coordinator wants done; the job master does it and reports back.

The coordinator is a core that decides: it is told what happened and when, and answers with these, in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from pravega_lab.engine.flow.elements import CheckpointOptions, SubtaskId
from pravega_lab.engine.flow.handles import CompletedCheckpoint
from pravega_lab.engine.flow.pending import Request


@dataclass(frozen=True)
class AllocateId:
    """Report to `CheckpointCoordinator.id_allocated` or `triggering_failed`."""

    request: Request


@dataclass(frozen=True)
class PrepareLocation:
    """Report to `location_ready` or `triggering_failed`."""

    checkpoint_id: int
    target: str | None


@dataclass(frozen=True)
class AskCoordinators:
    """Report each to `coordinator_acknowledged`, or `triggering_failed`."""

    checkpoint_id: int
    operators: tuple[str, ...]


@dataclass(frozen=True)
class AskHooks:
    """Report each to `hook_acknowledged`, or `triggering_failed`."""

    checkpoint_id: int
    timestamp_ms: int
    hooks: tuple[str, ...]


@dataclass(frozen=True)
class TriggerTask:
    """Report a failure to `triggering_failed`."""

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
    """First the tasks, then the operator coordinators."""

    checkpoint_id: int
    subtasks: tuple[SubtaskId, ...]


@dataclass(frozen=True)
class NotifyAborted:
    """Tasks and operator coordinators. ``latest_id``: the newest completed one, -1 if none."""

    checkpoint_id: int
    latest_id: int
    subtasks: tuple[SubtaskId, ...]


@dataclass(frozen=True)
class AbortTriggering:
    """Event gates open again."""


@dataclass(frozen=True)
class Discard:
    """Files, and folders (ending in ``/``), that nobody needs. Report to `cleaned`."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class FailJob:
    """Too many checkpoints failed, or a stop-with-savepoint did in a task."""

    error: BaseException


@dataclass(frozen=True)
class Answer:
    """The request is done: with a checkpoint, or with an error."""

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
    | AbortTriggering
    | Discard
    | FailJob
    | Answer
)
