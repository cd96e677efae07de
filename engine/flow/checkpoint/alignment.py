"""Decide how barriers of a subtask with inputs are aligned: what blocks, what is performed, what is given up.

The subtask carries out the decisions. `AlignedBarriers` blocks a channel that is ahead (exactly once),
`BarrierTracker` only counts (at least once). Source: Flink's `SingleCheckpointBarrierHandler`,
`CheckpointBarrierTracker` (flink.md 3.3); FLIP-147 for channels that have ended.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..elements import Barrier
from ..errors import Reason

TRACKED_MAX = 50


@dataclass(frozen=True, slots=True)
class Perform:
    """Orders the checkpoint of ``barrier`` to be taken now."""

    barrier: Barrier


@dataclass(frozen=True, slots=True)
class Abort:
    """The decision to give a checkpoint up. ``reason`` is None if it was declined elsewhere."""

    checkpoint_id: int
    reason: Reason | None


Decision = Perform | Abort


class AlignedBarriers:
    """Aligns barriers for exactly once: a channel whose barrier has arrived is blocked until all have.

    ``checkpoints_after_end``: a channel that has ended counts as aligned, instead of aborting the checkpoint.
    """

    def __init__(self, channels: int, *, checkpoints_after_end: bool = True) -> None:
        self._open = [True] * channels
        self._arrived = [False] * channels
        self._pending: Barrier | None = None
        self._last_id = -1
        self._after_end = checkpoints_after_end

    @property
    def pending(self) -> Barrier | None:
        """Return the barrier of the checkpoint that is being aligned, None if there is none."""
        return self._pending

    def is_blocked(self, channel: int) -> bool:
        """Return whether the channel must not be read now."""
        return self._pending is not None and self._arrived[channel]

    def missing(self) -> tuple[int, ...]:
        """Return the channels that the pending checkpoint waits for, in order."""
        if self._pending is None:
            return ()
        return tuple(c for c, is_open in enumerate(self._open) if is_open and not self._arrived[c])

    def barrier(self, channel: int, barrier: Barrier) -> list[Decision]:
        """Take a barrier that has arrived on ``channel``; return what to do, in order."""
        decisions = self._begin(barrier)
        if self._pending is not None and self._pending.checkpoint_id == barrier.checkpoint_id:
            self._arrived[channel] = True
            decisions += self._complete()
        return decisions

    def trigger(self, barrier: Barrier) -> list[Decision]:
        """Take a trigger of the coordinator as if the barrier had arrived on every channel at once.

        The coordinator triggers a subtask with inputs only if none of its producers runs any more.
        """
        decisions = self._begin(barrier)
        if self._pending is not None and self._pending.checkpoint_id == barrier.checkpoint_id:
            self._pending = None
            decisions.append(Perform(barrier))
        return decisions

    def cancel(self, channel: int, checkpoint_id: int) -> list[Decision]:
        """Take a marker that a producer has given the checkpoint up; return what to do."""
        return self.abort(checkpoint_id, None)

    def abort(self, checkpoint_id: int, reason: Reason | None) -> list[Decision]:
        """Give a checkpoint up that was given up elsewhere; return what to do, nothing if it is over."""
        pending = self._pending
        if checkpoint_id < self._last_id or (checkpoint_id == self._last_id and pending is None):
            return []
        decisions: list[Decision] = []
        if pending is not None and pending.checkpoint_id < checkpoint_id:
            decisions.append(Abort(pending.checkpoint_id, Reason.CHECKPOINT_DECLINED_SUBSUMED))
        self._last_id, self._pending = checkpoint_id, None
        return [*decisions, Abort(checkpoint_id, reason)]

    def end_of_partition(self, channel: int) -> list[Decision]:
        """Take the end of a channel, which counts as aligned from now on; return what to do."""
        self._open[channel] = False
        pending = self._pending
        if pending is None or self._arrived[channel]:
            return []
        if not self._after_end:
            self._pending = None
            return [Abort(pending.checkpoint_id, Reason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM)]
        return self._complete()

    def _begin(self, barrier: Barrier) -> list[Decision]:
        if barrier.checkpoint_id <= self._last_id:
            return []
        given_up = self._pending
        self._pending, self._last_id = barrier, barrier.checkpoint_id
        self._arrived = [False] * len(self._open)
        if given_up is None:
            return []
        return [Abort(given_up.checkpoint_id, Reason.CHECKPOINT_DECLINED_SUBSUMED)]

    def _complete(self) -> list[Decision]:
        if self._pending is None or self.missing():
            return []
        barrier, self._pending = self._pending, None
        return [Perform(barrier)]


class BarrierTracker:
    """Counts barriers for at least once: no channel is blocked.

    Records that overtake a barrier are in the checkpoint and are read again after a restore.
    """

    def __init__(self, channels: int, *, checkpoints_after_end: bool = True) -> None:
        self._open = [True] * channels
        self._tracked: dict[int, tuple[Barrier, list[bool]]] = {}
        self._last_id = -1
        self._after_end = checkpoints_after_end

    @property
    def pending(self) -> Barrier | None:
        """Return the barrier of the oldest checkpoint that is not complete, None if there is none."""
        return next((barrier for barrier, _ in self._tracked.values()), None)

    def is_blocked(self, channel: int) -> bool:
        """Return False: nothing is ever blocked."""
        return False

    def missing(self) -> tuple[int, ...]:
        """Return the channels that the oldest pending checkpoint waits for, in order."""
        for _, arrived in self._tracked.values():
            return self._missing(arrived)
        return ()

    def _missing(self, arrived: list[bool]) -> tuple[int, ...]:
        return tuple(c for c, is_open in enumerate(self._open) if is_open and not arrived[c])

    def barrier(self, channel: int, barrier: Barrier) -> list[Decision]:
        """Take a barrier that has arrived on ``channel``; return what to do, in order."""
        number = barrier.checkpoint_id
        if number <= self._last_id:
            return []
        _, arrived = self._tracked.setdefault(number, (barrier, [False] * len(self._open)))
        arrived[channel] = True
        decisions: list[Decision] = []
        if len(self._tracked) > TRACKED_MAX:
            oldest = min(self._tracked)
            del self._tracked[oldest]
            decisions.append(Abort(oldest, Reason.CHECKPOINT_DECLINED_SUBSUMED))
        return decisions + self._complete()

    def trigger(self, barrier: Barrier) -> list[Decision]:
        """Take a trigger of the coordinator as if the barrier had arrived on every channel at once."""
        if barrier.checkpoint_id <= self._last_id:
            return []
        self._tracked[barrier.checkpoint_id] = (barrier, [True] * len(self._open))
        return self._complete()

    def cancel(self, channel: int, checkpoint_id: int) -> list[Decision]:
        """Take a marker that a producer has given the checkpoint up; return what to do."""
        return self.abort(checkpoint_id, None)

    def abort(self, checkpoint_id: int, reason: Reason | None) -> list[Decision]:
        """Give a checkpoint up, and every older one with it; return what to do."""
        if checkpoint_id <= self._last_id:
            return []
        self._last_id = checkpoint_id
        older = [n for n in self._tracked if n < checkpoint_id]
        for number in [*older, checkpoint_id]:
            self._tracked.pop(number, None)
        return [*(Abort(n, Reason.CHECKPOINT_DECLINED_SUBSUMED) for n in older), Abort(checkpoint_id, reason)]

    def end_of_partition(self, channel: int) -> list[Decision]:
        """Take the end of a channel, which counts as arrived from now on; return what to do."""
        self._open[channel] = False
        if not self._after_end:
            pending = list(self._tracked)
            self._tracked.clear()
            return [Abort(n, Reason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM) for n in pending]
        return self._complete()

    def _complete(self) -> list[Decision]:
        done = [n for n, (_, arrived) in self._tracked.items() if not self._missing(arrived)]
        if not done:
            return []
        newest = max(done)
        barrier = self._tracked[newest][0]
        older = [n for n in self._tracked if n < newest]
        for number in [*older, newest]:
            del self._tracked[number]
        self._last_id = newest
        return [*(Abort(n, Reason.CHECKPOINT_DECLINED_SUBSUMED) for n in older), Perform(barrier)]
