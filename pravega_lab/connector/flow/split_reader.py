"""Reads segments in a subtask, each a split: what the readers of segments, partitions and batches share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.source import SegmentSource
from pravega_lab.client.segment_input import TruncatedError
from pravega_lab.client.single_segments import SingleSegments
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.segment_plan import at_offset
from pravega_lab.connector.flow.segment_splits import SegmentSplit
from pravega_lab.engine.flow.sources import InputStatus, ReaderContext, ReaderOutput, SourceReader
from pravega_lab.protocol.stream_cut import SEGMENT_READ

BATCH_BYTES = 256 * 1024
_log = logging.getLogger(__name__)


class SplitReader(SourceReader[SegmentSplit]):
    """Takes turns among its segments. ``splits``: by segment id, each behind what was emitted of it.

    What was truncated away before it was read is skipped, with a warning.
    """

    def __init__(
        self,
        config: PravegaConfig,
        stream: str,
        rows: EventRows,
        context: ReaderContext,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        self._stream, self._rows, self.context = stream, rows, context
        self._batch_bytes = batch_bytes
        self._client: AsyncClient = config.client(context.task_name)
        self._segments = SingleSegments(self._client, stream)
        self.splits: dict[int, SegmentSplit] = {}
        self._sources: dict[int, SegmentSource] = {}
        self._left: list[SegmentSource] = []  # to be closed where one may wait
        self._ready: dict[int, None] = {}
        self._news = asyncio.Event()
        self.no_more_splits = False
        self.skipped_bytes = 0

    # -- splits --------------------------------------------------------------------------------------------

    def add_splits(self, splits: Sequence[SegmentSplit]) -> None:
        for split in splits:
            self.splits[split.segment_id] = split
            if not split.is_read:
                self._open(split)
        self._news.set()

    def _open(self, split: SegmentSplit) -> None:
        segment_id = split.segment_id
        self._sources[segment_id] = self._segments.open(
            segment_id, split.offset, split.end, lambda: self._set_ready(segment_id)
        )
        self._set_ready(segment_id)

    def _set_ready(self, segment_id: int) -> None:
        if segment_id in self._sources:
            self._ready[segment_id] = None
            self._news.set()

    def leave(self, segment_id: int) -> SegmentSplit:
        """Stop reading it; it stays among ``splits``."""
        source = self._sources.pop(segment_id, None)
        self._ready.pop(segment_id, None)
        if source is not None:
            self._left.append(source)
        return self.splits[segment_id]

    def forget(self, segment_id: int) -> None:
        """It is not this reader's any more."""
        if segment_id in self.splits:
            self.leave(segment_id)
            del self.splits[segment_id]
            self._news.set()

    def notify_no_more_splits(self) -> None:
        self.no_more_splits = True
        self._news.set()

    def split_read(self, split: SegmentSplit, output: ReaderOutput) -> None:
        """It was read to its end."""
        raise NotImplementedError

    @property
    def is_at_end(self) -> bool:
        """Nothing is left, and nothing will come."""
        return self.no_more_splits and not self.splits

    # -- reading -------------------------------------------------------------------------------------------

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        while self._ready:
            segment_id = next(iter(self._ready))
            del self._ready[segment_id]
            if self._emit(segment_id, output):
                return InputStatus.MORE_AVAILABLE
        self._news.clear()
        return InputStatus.END_OF_INPUT if self.is_at_end else InputStatus.NOTHING_AVAILABLE

    def _emit(self, segment_id: int, output: ReaderOutput) -> bool:
        source, split = self._sources[segment_id], self.splits[segment_id]
        try:
            found = source.take_batch(self._batch_bytes)
        except TruncatedError as error:
            self._skip(split, error, output)
            return False
        if found is not None:
            events, behind = found
            self.splits[segment_id] = at_offset(split, behind)
            self._ready[segment_id] = None
            output.emit(self._rows.batch(self._stream, events), split.split_id)
            return True
        if source.is_ended:
            self._end(segment_id, output)
        return False

    def _skip(self, split: SegmentSplit, error: TruncatedError, output: ReaderOutput) -> None:
        self.leave(split.segment_id)
        if error.start_offset is None:
            _log.warning("%s was truncated away before it was read from %d on", split.split_id, split.offset)
            self._end(split.segment_id, output)
            return
        self.skipped_bytes += error.start_offset - split.offset
        _log.warning(
            "%s: bytes %d to %d were truncated before they were read",
            split.split_id,
            split.offset,
            error.start_offset,
        )
        split = self.splits[split.segment_id] = at_offset(split, error.start_offset)
        self._open(split)

    def _end(self, segment_id: int, output: ReaderOutput) -> None:
        split = at_offset(self.leave(segment_id), SEGMENT_READ)
        self.splits[segment_id] = split
        output.release_split(split.split_id)
        self.split_read(split, output)

    async def available(self) -> None:
        await self._close_left()
        if not self.is_at_end:
            await self._news.wait()

    # -- checkpoints, end ----------------------------------------------------------------------------------

    def snapshot_state(self, checkpoint_id: int) -> list[SegmentSplit]:
        return list(self.splits.values())

    async def _close_left(self) -> None:
        while self._left:
            await self._left[-1].close()
            self._left.pop()

    async def close(self) -> None:
        for segment_id in list(self._sources):
            self.leave(segment_id)
        try:
            await self._close_left()
            await self._segments.close()
        finally:
            await self._client.close()
