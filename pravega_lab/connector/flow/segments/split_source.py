"""The common part of the sources whose splits are segments: (c), (d) and the bounded read (e)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from pravega_lab.connector.flow.bounds import resolved
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.segments.split_reader import SplitReader
from pravega_lab.connector.flow.segments.splits import SegmentSplit, SplitSerializer, SplitsSerializer
from pravega_lab.engine.flow.source.sources import (
    ReaderContext,
    Source,
    SplitEnumerator,
    SplitEnumeratorContext,
)

Splits = list[SegmentSplit]
StateT = TypeVar("StateT")


class SplitSource(Source[SegmentSplit, StateT]):
    """A source of some streams. Subclasses define its ``reader`` and its enumerator."""

    reader: type[SplitReader]

    def __init__(
        self, config: PravegaConfig, streams: str | Sequence[str], rows: EventRows | None, batch_bytes: int
    ) -> None:
        self.config, self.streams = config, resolved(config, streams)
        self.rows, self.batch_bytes = rows or EventRows(), batch_bytes

    @abstractmethod
    def enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit], restored: StateT | None
    ) -> SplitEnumerator[SegmentSplit, StateT]:
        """Return an enumerator that resumes from the state ``restored``, or a new one if that is None."""

    def create_enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit]
    ) -> SplitEnumerator[SegmentSplit, StateT]:
        return self.enumerator(context, None)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[SegmentSplit], checkpoint: StateT
    ) -> SplitEnumerator[SegmentSplit, StateT]:
        return self.enumerator(context, checkpoint)

    def create_reader(self, context: ReaderContext) -> SplitReader:
        return self.reader(self.config, self.streams, self.rows, context, self.batch_bytes)

    def split_serializer(self) -> SplitSerializer:
        return SplitSerializer()


class OneStreamSource(SplitSource[Splits]):
    """A source of one ``stream``, whose enumerator has splits as its state."""

    def __init__(self, config: PravegaConfig, stream: str, rows: EventRows | None, batch_bytes: int) -> None:
        super().__init__(config, stream, rows, batch_bytes)
        [self.stream] = self.streams

    def enumerator_serializer(self) -> SplitsSerializer:
        return SplitsSerializer()
