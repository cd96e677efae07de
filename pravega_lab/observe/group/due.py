"""`CheckpointDue`: when the next automatic checkpoint of a reader group is due, from its observations.

Any checkpoint restarts the timers of all readers (reader-groups.md B5-6). The log has no times, so nothing
is known of a checkpoint that was in it before the observer began.
"""

from __future__ import annotations

from pravega_lab.observe.group.observations import GroupCheckpointAsked, GroupSeen
from pravega_lab.observe.journal.observations import Observation

UNCERTAIN_MS_MAX = 5_000  # above it, the time of a checkpoint says too little about the next one


class CheckpointDue:
    """Holds the interval of automatic checkpoints and the time of the last checkpoint, by group."""

    def __init__(self) -> None:
        self._interval_ms: dict[str, int] = {}
        self._asked_ms: dict[str, int] = {}

    def apply(self, observation: Observation) -> None:
        """Take the next observation. Most kinds do not matter."""
        if isinstance(observation, GroupSeen):
            self._interval_ms[observation.group] = observation.automatic_checkpoint_interval_ms
            self._asked_ms.pop(observation.group, None)
        elif isinstance(observation, GroupCheckpointAsked):
            is_known = observation.uncertain_ms is not None and observation.uncertain_ms <= UNCERTAIN_MS_MAX
            if is_known:
                self._asked_ms[observation.group] = observation.time_ms
            else:
                self._asked_ms.pop(observation.group, None)

    def interval_ms(self, group: str) -> int:
        """Return the interval of automatic checkpoints, not positive if there are none."""
        return self._interval_ms.get(group, -1)

    def due_ms(self, group: str) -> int | None:
        """Return the time of the next automatic checkpoint, None if there is none or it is not known."""
        asked_ms, interval_ms = self._asked_ms.get(group), self.interval_ms(group)
        return None if asked_ms is None or interval_ms <= 0 else asked_ms + interval_ms
