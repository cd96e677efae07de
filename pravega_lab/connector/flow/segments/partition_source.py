"""(d) A source like that for Kafka: offsets in the state of tasks, and partitions assigned by modulo. For
lessons.

It treats segments as partitions that exist forever and have nothing to do with each other. No event is lost
or doubled. But when a stream scales, a segment's successors are read concurrently with it or before it, and
events of one key come out of order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pravega_lab.client.reading.single_segments import SingleSegments
from pravega_lab.client.values import HEAD, TAIL, Edge
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.segments.source import split_of
from pravega_lab.connector.flow.segments.split_reader import BATCH_BYTES, SplitReader
from pravega_lab.connector.flow.segments.split_source import OneStreamSource, Splits
from pravega_lab.connector.flow.segments.splits import SegmentSplit
from pravega_lab.engine.flow.source.sources import (
    Boundedness,
    ReaderOutput,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from pravega_lab.protocol.names import number_of
from pravega_lab.protocol.stream_cut import StreamCut


class PartitionReader(SplitReader):
    """Keeps the offset of every partition that it ever read, also of those that ended."""

    def split_read(self, split: SegmentSplit, output: ReaderOutput) -> None:
        """Do nothing: the split stays in the state."""
        return


class PartitionEnumerator(SplitEnumerator[SegmentSplit, Splits]):
    """Looks for new partitions periodically. Its state is every partition that it ever assigned."""

    def __init__(
        self,
        source: PravegaPartitionSource,
        context: SplitEnumeratorContext[SegmentSplit],
        restored: Splits | None,
    ) -> None:
        self._source, self._context = source, context
        self._is_fresh = restored is None
        self._known: dict[int, SegmentSplit] = {split.segment_id: split for split in restored or ()}
        self._pending: dict[int, Splits] = {}  # by owner
        self._client = source.config.client(f"enumerator of {source.stream}")
        self._segments = SingleSegments(self._client, source.stream)

    async def start(self) -> None:
        if self._is_fresh:
            begins = await self._segments.positions(self._source.start)
            self._deal([split_of(self._source.stream, s, at) for s, at in begins.items()])
            self._deal(await self._find())
        self._discover()

    async def close(self) -> None:
        await self._segments.close()
        await self._client.close()

    def _discover(self) -> None:
        async def later() -> Splits:
            await asyncio.sleep(self._source.discovery_ms / 1000)
            return await self._find()

        self._context.call_async(later, self._found)

    async def _find(self) -> Splits:
        found = await self._segments.between(HEAD, TAIL)
        oldest = min(self._known, default=0)
        return [split_of(self._source.stream, s) for s in found if s.segment_id > oldest]

    def _found(self, splits: Splits | None, error: BaseException | None) -> None:
        if error is not None:
            raise error
        self._deal(splits or [])
        self._discover()

    def _deal(self, splits: Splits) -> None:
        for split in splits:
            if split.segment_id not in self._known:
                self._known[split.segment_id] = split
                self._pending.setdefault(self._owner(split), []).append(split)
        self._assign()

    def _owner(self, split: SegmentSplit) -> int:
        return number_of(split.segment_id) % self._context.current_parallelism

    def _assign(self) -> None:
        for reader in self._context.registered_readers:
            splits = self._pending.pop(reader, [])
            if splits:
                self._context.assign_splits({reader: splits})

    def add_reader(self, subtask: int) -> None:
        self._assign()

    def add_splits_back(self, splits: Sequence[SegmentSplit], subtask: int) -> None:
        self._pending.setdefault(subtask, []).extend(splits)

    def snapshot_state(self, checkpoint_id: int) -> Splits:
        pending = {split.segment_id for splits in self._pending.values() for split in splits}
        return [split for split in self._known.values() if split.segment_id not in pending]


class PravegaPartitionSource(OneStreamSource):
    """(d) Reads a stream, not in order; the module explains why.

    ``discovery_ms`` is the interval between two searches for new segments.
    """

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED
    reader = PartitionReader

    def __init__(
        self,
        config: PravegaConfig,
        stream: str,
        *,
        start: StreamCut | Edge = HEAD,
        rows: EventRows | None = None,
        discovery_ms: int = 1_000,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        super().__init__(config, stream, rows, batch_bytes)
        self.start, self.discovery_ms = start, discovery_ms

    def enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit], restored: Splits | None
    ) -> PartitionEnumerator:
        """Return an enumerator."""
        return PartitionEnumerator(self, context, restored)
