"""The timers of one reader. They know no clock: every question brings the time."""

from __future__ import annotations

from pravega_lab.client.reader_group.assignment import TIME_UNIT_MS

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
