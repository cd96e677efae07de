"""What the sources share whose split is a segment: (c), (d) and the bounded read."""

from __future__ import annotations

from abc import abstractmethod

from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.segment_splits import SegmentSplit, SplitSerializer, SplitsSerializer
from pravega_lab.connector.flow.split_reader import SplitReader
from pravega_lab.engine.flow.sources import ReaderContext, Source, SplitEnumerator, SplitEnumeratorContext

Splits = list[SegmentSplit]


class SplitSource(Source[SegmentSplit, Splits]):
    """A stream, its ``reader`` and its enumerator, whose state is splits."""

    reader: type[SplitReader]

    def __init__(self, config: PravegaConfig, stream: str, rows: EventRows | None, batch_bytes: int) -> None:
        self.config, self.stream = config, config.resolve(stream)
        self.rows, self.batch_bytes = rows or EventRows(), batch_bytes

    @abstractmethod
    def enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit], restored: Splits | None
    ) -> SplitEnumerator[SegmentSplit, Splits]:
        """``restored``: the state that it goes on from; None for a new one."""

    def create_enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit]
    ) -> SplitEnumerator[SegmentSplit, Splits]:
        return self.enumerator(context, None)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit], checkpoint: Splits
    ) -> SplitEnumerator[SegmentSplit, Splits]:
        return self.enumerator(context, checkpoint)

    def create_reader(self, context: ReaderContext) -> SplitReader:
        return self.reader(self.config, self.stream, self.rows, context, self.batch_bytes)

    def split_serializer(self) -> SplitSerializer:
        return SplitSerializer()

    def enumerator_serializer(self) -> SplitsSerializer:
        return SplitsSerializer()
