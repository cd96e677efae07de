"""Everything that the rules look at: the records by stream, decoded once, and the segments of the storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import SegmentRange, parse_segment_name, segment_name

from ..metadata import records as rec
from ..metadata.catalog import SYSTEM_SCOPE
from ..metadata.epochs import EpochRecord, Epochs
from ..metadata.states import StreamState
from ..storage.segment import Segment
from ..storage.storage import Storage
from .findings import Finding, damage

RULE = "records can be read"


@dataclass(slots=True)
class StreamFacts:
    """The records of one stream. ``epochs`` is None if its epochs contradict each other."""

    scope: str
    name: str
    record: rec.StreamRecord | None = None
    epoch_records: list[EpochRecord] = field(default_factory=list)
    truncation: rec.TruncationRecord | None = None
    watermark: rec.WatermarkRecord | None = None
    transactions: list[rec.TransactionRecord] = field(default_factory=list)
    subscribers: list[rec.SubscriberRecord] = field(default_factory=list)
    writers: list[rec.WriterRecord] = field(default_factory=list)
    retained: list[rec.RetentionRecord] = field(default_factory=list)
    epochs: Epochs | None = None

    @property
    def key(self) -> str:
        """Return the key of the stream's record, for findings."""
        return f"{rec.PREFIX}stream/{self.scope}/{self.name}"

    @property
    def is_sealed(self) -> bool:
        """Return whether the stream is sealed."""
        return self.record is not None and self.record.state is StreamState.SEALED

    def segment(self, segment_id: int) -> str:
        """Return the full name of a segment of the stream."""
        return segment_name(self.scope, self.name, segment_id)


class Facts:
    """The state of a store, with the findings that arose while it was decoded."""

    def __init__(self, storage: Storage) -> None:
        self.findings: list[Finding] = []
        self.segments: Mapping[str, Segment] = storage._synced.names
        self.next_id = storage._validated.next_id
        self.streams: dict[tuple[str, str], StreamFacts] = {}
        self.tables: dict[rec.TableRecord, pb.KeyValueTableConfig] = {}
        self.groups: dict[tuple[str, str], pb.ReaderGroupConfiguration] = {}
        self.scopes: dict[str, None] = {SYSTEM_SCOPE: None}
        self.last_numbers: dict[tuple[str, str], int] = {}
        self.counters_reserved = 0
        for key, value in storage.records(rec.PREFIX):
            self._take(key, value)
        for stream in self.streams.values():
            stream.epoch_records.sort(key=lambda record: record.epoch)
            stream.epochs = _epochs(stream.epoch_records)

    def _take(self, key: str, value: bytes) -> None:
        try:
            record = rec.decode(key, value)
            if isinstance(record, rec.StreamRecord):
                pb.StreamConfig.FromString(record.config)
            self._keep(record)
        except Exception as error:  # whatever the bytes are, the other records are checked too
            self.findings.append(damage(RULE, key, f"The record cannot be decoded: {error!r}."))
            return
        if record.key() != key:
            what = f"The record under this key describes {record.key()!r}."
            self.findings.append(damage(RULE, key, what))

    def _keep(self, record: rec.Record) -> None:
        match record:
            case rec.ScopeRecord():
                self.scopes[record.scope] = None
            case rec.NumberRecord():
                self.last_numbers[record.scope, record.stream] = record.last_number
            case rec.CounterRecord():
                self.counters_reserved = record.reserved
            case rec.GroupRecord():
                config = pb.ReaderGroupConfiguration.FromString(record.config)
                self.groups[record.scope, record.group] = config
            case rec.TableRecord():
                self.tables[record] = pb.KeyValueTableConfig.FromString(record.config)
            case rec.OfStream():
                self._keep_of_stream(record)

    def _keep_of_stream(self, record: rec.OfStream) -> None:
        stream = self._stream(record.scope, record.stream)
        match record:
            case rec.StreamRecord():
                stream.record = record
            case rec.StreamEpochRecord():
                stream.epoch_records.append(record.epoch)
            case rec.TruncationRecord():
                stream.truncation = record
            case rec.WatermarkRecord():
                stream.watermark = record
            case rec.TransactionRecord():
                stream.transactions.append(record)
            case rec.SubscriberRecord():
                stream.subscribers.append(record)
            case rec.WriterRecord():
                stream.writers.append(record)
            case rec.RetentionRecord():
                stream.retained.append(record)

    def _stream(self, scope: str, name: str) -> StreamFacts:
        found = self.streams.get((scope, name))
        if found is None:
            found = self.streams[scope, name] = StreamFacts(scope, name)
        return found

    def whole_streams(self) -> Iterator[tuple[StreamFacts, Epochs]]:
        """Yield the streams whose record and epochs are there, for the rules that build on them."""
        for stream in self.streams.values():
            if stream.record is not None and stream.epochs is not None:
                yield stream, stream.epochs

    def owner_of(self, segment: str) -> tuple[StreamFacts | None, int] | None:
        """Return the stream and the id of a stream segment by its name, None for other names."""
        try:
            name = parse_segment_name(segment)
        except BadInputError:
            return None
        return self.streams.get((name.scope, name.stream)), name.segment_id


def _epochs(records: list[EpochRecord]) -> Epochs | None:
    if not records or [record.epoch for record in records] != list(range(len(records))):
        return None
    return Epochs(records)


def in_order(segments: Iterator[SegmentRange] | tuple[SegmentRange, ...]) -> list[SegmentRange]:
    """Return segments in the order of their keys."""
    return sorted(segments, key=lambda segment: (segment.low, segment.high))
