"""Auto-scaling (pravega.md A6)."""

from __future__ import annotations

from pravega_lab.engine.store.metadata import Metadata
from pravega_lab.engine.store.segment_calls import SegmentCalls


class AutoScaler:
    """Splits what is hot, merges what is cold."""

    def __init__(self, metadata: Metadata, segments: SegmentCalls, scaling_clock: int) -> None:
        self._metadata = metadata

    def start(self, now_ms: int) -> None: ...

    def tick(self, now_ms: int) -> None: ...

    def next_deadline_ms(self) -> int | None:
        return None
