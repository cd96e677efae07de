"""Watermarks from the time windows of a reader group, for sources that read through one.

The lower bound of a window says that the group has read every event that was noted before it. Source:
``AssignerWithTimeWindows`` and ``LowerBoundAssigner`` of flink-connectors (flink.md 13.2).
"""

from __future__ import annotations

from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.connector.flow.reader_group.settings import GroupSettings
from pravega_lab.engine.flow.elements import Watermark


class WindowWatermarks:
    """The watermarks of one reader. Makes no request if the settings ask for no watermarks."""

    def __init__(self, settings: GroupSettings, reader: AsyncReader) -> None:
        self._settings, self._reader = settings, reader
        self._stream = settings.config.resolve(settings.streams[0])
        self._next_look_ms = 0
        self._told_ms: int | None = None

    async def after_read(self) -> Watermark | None:
        """Return the watermark to emit after the events of the last read, or None if there is no new one."""
        interval_ms, now_ms = self._settings.watermark_interval_ms, self._settings.config.clock_ms()
        if interval_ms is None or now_ms < self._next_look_ms:
            return None
        self._next_look_ms = now_ms + interval_ms
        lower_ms = (await self._reader.time_window(self._stream)).lower
        if lower_ms is None or (self._told_ms is not None and lower_ms <= self._told_ms):
            return None
        self._told_ms = lower_ms
        return Watermark(lower_ms)
