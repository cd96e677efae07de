"""The measurements of a run of `scenario`, and the check of what a form promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.connector.simulation.forms import Form
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.handles import CompletedCheckpoint
from pravega_lab.engine.flow.observer import CheckpointCompleted, JobStateChanged, Observer, Restored


@dataclass
class Measures:
    """The measurements of one run of one form. Times are in virtual ms, sizes in bytes."""

    form: str
    rows: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    failures: int = 0  # restarts of the job; kills of the store do not count
    scales: int = 0  # scales of the stream
    recovery_ms: list[int] = field(default_factory=list)
    position_bytes: int = 0  # size of the source's state in the last checkpoint
    group_updates: int = 0  # entries in the state log of the reader group
    first_out_of_order: str = ""
    messages: int = 0  # messages that the network delivered

    def compare(self, written: Sequence[Row], out: Sequence[Row]) -> None:
        """Compare the output, in its order, with the written rows."""
        seen = Counter(row["n"] for row in out)
        self.rows = len(written)
        self.lost = len(written) - len(seen)
        self.doubled = sum(seen.values()) - len(seen)
        newest: dict[str, int] = {}
        known: dict[int, None] = {}
        for place, row in enumerate(out):
            key, n = row["k"], row["n"]
            if n not in known and n < newest.get(key, -1):
                self.out_of_order += 1
                if not self.first_out_of_order:
                    self.first_out_of_order = f"{key}: {n} came behind {newest[key]} (row {place})"
            known[n] = None
            newest[key] = max(n, newest.get(key, -1))

    def problems(self, form: Form) -> list[str]:
        """Return the promises of the form that the run broke."""
        found = []
        if form.is_exactly_once and (self.lost or self.doubled):
            found.append(f"exactly once: ({form.letter}) lost {self.lost} and doubled {self.doubled}")
        if form.is_in_order and self.out_of_order:
            found.append(f"in order: ({form.letter}) {self.first_out_of_order}")
        return found


class Watch(Observer):
    """Counts failures and measures recovery: from a failure to the first record that is read after the
    restore.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._failed_ms: int | None = None
        self._is_restored = False
        self.recovery_ms: list[int] = []
        self.completed = 0
        self.failures = 0
        self._state = ""

    def failed(self) -> None:
        """Record the time of an injected failure."""
        if self._failed_ms is None:
            self._failed_ms, self._is_restored = self._now_ms(), False

    def observe(self, observation: Any) -> None:
        """Count checkpoints and failures, and note a restore."""
        if isinstance(observation, Restored) and self._failed_ms is not None:
            self._is_restored = True
        elif isinstance(observation, CheckpointCompleted):
            self.completed += 1
        elif isinstance(observation, JobStateChanged):
            # A failure during a restart is not counted again.
            self.failures += observation.state == "restarting" != self._state
            self._state = observation.state

    def read(self) -> None:
        """Record that a record was read."""
        if self._is_restored and self._failed_ms is not None:
            self.recovery_ms.append(self._now_ms() - self._failed_ms)
            self._failed_ms, self._is_restored = None, False


def position_bytes(checkpoint: CompletedCheckpoint | None, operator_id: str) -> int:
    """Return the size of a source's state in a checkpoint: that of hook, coordinator and subtasks."""
    if checkpoint is None:
        return 0
    size = sum(len(state.data) for state in checkpoint.master.values())
    state = checkpoint.operators.get(operator_id)
    if state is None:
        return size
    size += len(state.coordinator or b"")
    return size + sum(part.size_bytes for part in state.subtasks.values())
