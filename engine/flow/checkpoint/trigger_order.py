"""The order in which a checkpoint is triggered: coordinators, hooks, tasks (flink.md 2.2, 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from .history import History, Triggering
from .pending import Stage


@dataclass(frozen=True)
class TriggerOrder:
    """The rules by which the coordinator triggers a checkpoint.

    ``phases``: what is asked one after the other, before the tasks. ``holds_acknowledgements``: while a
    checkpoint is triggered, acknowledgements wait. ``completes_with_tasks``: a checkpoint is complete as soon
    as the tasks have acknowledged, whatever hooks and coordinators did.
    """

    phases: tuple[Stage, ...] = (Stage.COORDINATORS, Stage.HOOKS)
    holds_acknowledgements: bool = False
    completes_with_tasks: bool = False

    def after(self, phase: Stage) -> Stage | None:
        """Return the phase that follows, None after the last one or outside the phases."""
        following = dict(zip(self.phases, self.phases[1:], strict=False))
        return following.get(phase)


_TRIGGER_ORDERS = {
    Triggering.FIXED: TriggerOrder(),
    Triggering.LOCK: TriggerOrder((Stage.HOOKS, Stage.COORDINATORS), holds_acknowledgements=True),
    Triggering.MAILBOX_1_11_0: TriggerOrder((Stage.BOTH,), completes_with_tasks=True),
}


def trigger_order(history: History) -> TriggerOrder:
    """Return the rules by which the coordinator triggers checkpoints."""
    return _TRIGGER_ORDERS[history.triggering]
