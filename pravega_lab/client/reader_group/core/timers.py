"""Hold the timers of one reader. They read no clock: the reader passes the time."""

from __future__ import annotations

from pravega_lab.client.reader_group.core.assignment import TIME_UNIT_MS

CONFIG_WINDOW_MS = 10_000  # how often a reader checks for a reset that stopped halfway


class Timers:
    """Holds the earliest time of each next action, in ms of the caller's clock."""

    def __init__(self, now_ms: int) -> None:
        self.fetch_ms = now_ms
        self.acquire_ms = now_ms
        self.checkpoint_ms = now_ms + TIME_UNIT_MS
        self.lag_ms = now_ms + TIME_UNIT_MS
        self.config_ms = now_ms + TIME_UNIT_MS
