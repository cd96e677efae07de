"""(e) A bounded read: all segments between two cuts, in parallel, without an order between segments.

A reader asks for the next segment when it has finished one. Source: ``FlinkPravegaInputFormat``.
"""

from __future__ import annotations

from pravega_lab.client.reading.single_segments import SingleSegments
from pravega_lab.client.values import HEAD, TAIL, Edge
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.segments.source import initial_splits
from pravega_lab.connector.flow.segments.split_reader import BATCH_BYTES, SplitReader
from pravega_lab.connector.flow.segments.split_source import OneStreamSource, Splits
from pravega_lab.connector.flow.segments.splits import SegmentSplit
from pravega_lab.engine.flow.source.collections import SplitQueue
from pravega_lab.engine.flow.source.sources import (
    Boundedness,
    ReaderOutput,
    SplitEnumeratorContext,
)
from pravega_lab.protocol.stream_cut import StreamCut


class BatchReader(SplitReader):
    """Reads one segment at a time."""

    def start(self) -> None:
        """Ask for a segment, unless one was restored."""
        if not self.splits:
            self.context.send_split_request()

    def split_read(self, split: SegmentSplit, output: ReaderOutput) -> None:
        """Forget the finished segment, and ask for the next one."""
        self.forget(split.key)
        if not self.splits:
            self.context.send_split_request()


class BatchEnumerator(SplitQueue[SegmentSplit]):
    """Assigns the next segment to the reader that asks."""

    def __init__(
        self,
        source: PravegaBatchSource,
        context: SplitEnumeratorContext[SegmentSplit],
        restored: Splits | None,
    ) -> None:
        super().__init__(context, restored or ())
        self._source, self._is_fresh = source, restored is None

    async def start(self) -> None:
        """Find all segments between the two cuts, unless they were restored."""
        if not self._is_fresh:
            return
        source = self._source
        async with source.config.client(f"enumerator of {source.stream}") as client:
            segments = SingleSegments(client, source.stream)
            try:
                self._splits.extend(await initial_splits(segments, source.stream, source.start, source.end))
            finally:
                await segments.close()


class PravegaBatchSource(OneStreamSource):
    """Reads a stream from ``start`` to ``end``, its segments in parallel, without order per routing key.

    The default of ``end`` is the tail at the time when the job starts.
    """

    boundedness = Boundedness.BOUNDED
    reader = BatchReader

    def __init__(
        self,
        config: PravegaConfig,
        stream: str,
        *,
        start: StreamCut | Edge = HEAD,
        end: StreamCut | Edge = TAIL,
        rows: EventRows | None = None,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        super().__init__(config, stream, rows, batch_bytes)
        self.start, self.end = start, end

    def enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit], restored: Splits | None
    ) -> BatchEnumerator:
        """Return an enumerator."""
        return BatchEnumerator(self, context, restored)
