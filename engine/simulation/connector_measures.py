"""What is measured in a run of `connector_scenario`, and what a form promises of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.handles import CompletedCheckpoint
from pravega_lab.engine.flow.observer import CheckpointCompleted, JobStateChanged, Observer, Restored
from pravega_lab.engine.simulation.connector_forms import Form


@dataclass
class Measures:
    """What one run of one form showed. Times in virtual ms, sizes in bytes."""

    form: str
    rows: int = 0
    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    failures: int = 0  # of the job, that it restarted from; kills of the store are none
    scales: int = 0  # of the stream
    recovery_ms: list[int] = field(default_factory=list)
    position_bytes: int = 0  # of the source, in the last checkpoint
    group_updates: int = 0  # entries in the state log of the reader group
    first_out_of_order: str = ""
    messages: int = 0  # all that the network delivered

    def compare(self, written: Sequence[Row], out: Sequence[Row]) -> None:
        """What came out, in its order, with what went in."""
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
        """What the form promised and did not keep."""
        found = []
        if form.is_exactly_once and (self.lost or self.doubled):
            found.append(f"exactly once: ({form.letter}) lost {self.lost} and doubled {self.doubled}")
        if form.is_in_order and self.out_of_order:
            found.append(f"in order: ({form.letter}) {self.first_out_of_order}")
        return found


class Watch(Observer):
    """Failures, and recovery times: from a failure to the first record that is read after the restore."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._failed_ms: int | None = None
        self._is_restored = False
        self.recovery_ms: list[int] = []
        self.completed = 0
        self.failures = 0
        self._state = ""  # of the job

    def failed(self) -> None:
        if self._failed_ms is None:
            self._failed_ms, self._is_restored = self._now_ms(), False

    def observe(self, observation: Any) -> None:
        if isinstance(observation, Restored) and self._failed_ms is not None:
            self._is_restored = True
        elif isinstance(observation, CheckpointCompleted):
            self.completed += 1
        elif isinstance(observation, JobStateChanged):
            # What fails while it restarts already is no further failure of the job.
            self.failures += observation.state == "restarting" != self._state
            self._state = observation.state

    def read(self) -> None:
        """A record was read."""
        if self._is_restored and self._failed_ms is not None:
            self.recovery_ms.append(self._now_ms() - self._failed_ms)
            self._failed_ms, self._is_restored = None, False


def position_bytes(checkpoint: CompletedCheckpoint | None, operator_id: str) -> int:
    """Of a source in a checkpoint: the hook's, the coordinator's and the subtasks' part."""
    if checkpoint is None:
        return 0
    size = sum(len(state.data) for state in checkpoint.master.values())
    state = checkpoint.operators.get(operator_id)
    if state is None:
        return size
    size += len(state.coordinator or b"")
    return size + sum(part.size_bytes for part in state.subtasks.values())
