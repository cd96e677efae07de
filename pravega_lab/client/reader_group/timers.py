"""The timers of one reader. They know no clock: every question brings the time."""

from __future__ import annotations

from pravega_lab.client.reader_group.assignment import TIME_UNIT_MS

WRITE_WINDOW_MS = 30_000  # while a write is under way nothing else is begun
CONFIG_WINDOW_MS = 10_000  # how often a reader looks whether a reset got stuck


class Timers:
    """When each thing may be done next, in ms of the caller's clock."""

    def __init__(self, now_ms: int) -> None:
        self.fetch_ms = now_ms
        self.acquire_ms = now_ms
        self.release_ms = now_ms
        self.checkpoint_ms = now_ms + TIME_UNIT_MS
        self.lag_ms = now_ms + TIME_UNIT_MS
        self.config_ms = now_ms + TIME_UNIT_MS

    def hold_assignment(self, now_ms: int) -> None:
        """An acquisition or release is being written."""
        self.acquire_ms = self.release_ms = now_ms + WRITE_WINDOW_MS
