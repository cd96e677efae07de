"""Watermarks from the time windows of a reader group, for sources that read through one.

A window's lower bound says that nothing noted before it is left to the group; readers ask as they go on.
Source: ``AssignerWithTimeWindows`` and ``LowerBoundAssigner`` of flink-connectors (reference/flink.md, 13.2).
"""

from __future__ import annotations

from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.connector.flow.reader_groups import GroupSettings
from pravega_lab.engine.flow.elements import Watermark


class WindowWatermarks:
    """One reader's; asks nothing if the settings want no watermarks."""

    def __init__(self, settings: GroupSettings, reader: AsyncReader) -> None:
        self._settings, self._reader = settings, reader
        self._stream = settings.config.resolve(settings.streams[0])
        self._next_look_ms = 0
        self._told_ms: int | None = None

    async def after_read(self) -> Watermark | None:
        """What may be told behind the events of the last read; None while it is nothing new."""
        interval_ms, now_ms = self._settings.watermark_interval_ms, self._settings.config.clock_ms()
        if interval_ms is None or now_ms < self._next_look_ms:
            return None
        self._next_look_ms = now_ms + interval_ms
        lower_ms = (await self._reader.time_window(self._stream)).lower
        if lower_ms is None or (self._told_ms is not None and lower_ms <= self._told_ms):
            return None
        self._told_ms = lower_ms
        return Watermark(lower_ms)
