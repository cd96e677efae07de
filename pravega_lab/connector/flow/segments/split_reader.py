"""`SplitReader` reads segments in a subtask. It is the common part of the readers of forms (c),
(d) and (e).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reading.event_source import SegmentSource
from pravega_lab.client.reading.segment_input import TruncatedError
from pravega_lab.client.reading.single_segments import SingleSegments
from pravega_lab.connector.flow.bounds import check_streams
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.segments.plan import at_offset
from pravega_lab.connector.flow.segments.splits import SegmentSplit, SplitKey
from pravega_lab.engine.flow.source.sources import InputStatus, ReaderContext, ReaderOutput, SourceReader
from pravega_lab.protocol.stream_cut import SEGMENT_READ

BATCH_BYTES = 256 * 1024
_log = logging.getLogger(__name__)


class SplitReader(SourceReader[SegmentSplit]):
    """Reads its segments in turns. ``splits`` has, by stream and segment, each split after its last emitted
    event.

    It skips what was truncated before it was read, and logs a warning.
    """

    def __init__(
        self,
        config: PravegaConfig,
        streams: Sequence[str],
        rows: EventRows,
        context: ReaderContext,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        self._rows, self.context = rows, context
        self._batch_bytes = batch_bytes
        self._client: AsyncClient = config.client(context.task_name)
        self._segments = {stream: SingleSegments(self._client, stream) for stream in streams}
        self.splits: dict[SplitKey, SegmentSplit] = {}
        self._sources: dict[SplitKey, SegmentSource] = {}
        self._left: list[SegmentSource] = []  # to be closed in `available`, which may wait
        self._forgotten: dict[str, None] = {}  # names of splits whose watermarks are still held
        self._ready: dict[SplitKey, None] = {}
        self._news = asyncio.Event()
        self.no_more_splits = False

    # -- splits --------------------------------------------------------------------------------------------

    def add_splits(self, splits: Sequence[SegmentSplit]) -> None:
        """Begin to read these splits.

        Raises:
            RestoreError: A split is of a stream that the source does not read.
        """
        check_streams((split.stream for split in splits), list(self._segments))
        for split in splits:
            self.splits[split.key] = split
            self._forgotten.pop(split.split_id, None)
            if not split.is_read:
                self._open(split)
        self._news.set()

    def _open(self, split: SegmentSplit) -> None:
        key = split.key
        self._sources[key] = self._segments[split.stream].open(
            split.segment_id, split.offset, split.end, lambda: self._set_ready(key)
        )
        self._set_ready(key)

    def _set_ready(self, key: SplitKey) -> None:
        if key in self._sources:
            self._ready[key] = None
            self._news.set()

    def leave(self, key: SplitKey) -> SegmentSplit:
        """Stop reading a split and return it. It stays among ``splits``."""
        source = self._sources.pop(key, None)
        self._ready.pop(key, None)
        if source is not None:
            self._left.append(source)
        return self.splits[key]

    def forget(self, key: SplitKey) -> None:
        """Stop reading a split and remove it from ``splits``."""
        if key in self.splits:
            self.leave(key)
            self._forgotten[self.splits.pop(key).split_id] = None
            self._news.set()

    def notify_no_more_splits(self) -> None:
        """Record that the enumerator has no more splits."""
        self.no_more_splits = True
        self._news.set()

    def split_read(self, split: SegmentSplit, output: ReaderOutput) -> None:
        """Handle a split that was read to its end. Subclasses implement this."""
        raise NotImplementedError

    @property
    def is_at_end(self) -> bool:
        """Whether no split is left and none will come."""
        return self.no_more_splits and not self.splits

    # -- reading -------------------------------------------------------------------------------------------

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        while self._forgotten:
            output.release_split(self._forgotten.popitem()[0])
        while self._ready:
            key = next(iter(self._ready))
            del self._ready[key]
            if self._emit(key, output):
                return InputStatus.MORE_AVAILABLE
        self._news.clear()
        return InputStatus.END_OF_INPUT if self.is_at_end else InputStatus.NOTHING_AVAILABLE

    def _emit(self, key: SplitKey, output: ReaderOutput) -> bool:
        source, split = self._sources[key], self.splits[key]
        try:
            found = source.take_batch(self._batch_bytes)
        except TruncatedError as error:
            self._skip(split, error, output)
            return False
        if found is not None:
            events, behind = found
            self.splits[key] = at_offset(split, behind)
            self._ready[key] = None
            output.emit(self._rows.batch(split.stream, events), split.split_id)
            return True
        if source.is_ended:
            self._end(key, output)
        return False

    def _skip(self, split: SegmentSplit, error: TruncatedError, output: ReaderOutput) -> None:
        self.leave(split.key)
        if error.start_offset is None:
            _log.warning("%s was truncated away before it was read from %d on", split.split_id, split.offset)
            self._end(split.key, output)
            return
        _log.warning(
            "%s: bytes %d to %d were truncated before they were read",
            split.split_id,
            split.offset,
            error.start_offset,
        )
        split = self.splits[split.key] = at_offset(split, error.start_offset)
        self._open(split)

    def _end(self, key: SplitKey, output: ReaderOutput) -> None:
        split = at_offset(self.leave(key), SEGMENT_READ)
        self.splits[key] = split
        self.split_read(split, output)
        output.release_split(split.split_id)  # after the report, from which on successors hold back

    async def available(self) -> None:
        await self._close_left()
        if not self.is_at_end:
            await self._news.wait()

    # -- checkpoints, end ----------------------------------------------------------------------------------

    def snapshot_state(self, checkpoint_id: int) -> list[SegmentSplit]:
        return list(self.splits.values())

    async def _close_left(self) -> None:
        while self._left:
            source = self._left[-1]
            await source.close()
            self._left.remove(source)  # another one may have been left in the meantime

    async def close(self) -> None:
        for key in list(self._sources):
            self.leave(key)
        try:
            await self._close_left()
            for segments in self._segments.values():
                await segments.close()
        finally:
            await self._client.close()
