"""The times that writers note, and the watermarks made of them every ten seconds (pravega.md A12)."""

from __future__ import annotations

import struct

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import MARK_PREFIX

from ..log.operations import Append
from ..metadata import cuts
from ..metadata import records as rec
from ..metadata.catalog import Catalog, StreamEntry
from ..metadata.metadata import Change, Metadata
from .watermarks import SILENCE_MS_DEFAULT, next_watermark, silent, to_event

PERIOD_MS = 10_000
_EVENT_HEADER = struct.Struct(">ii")


class WriterTimes:
    """The calls noteTimestampFromWriter and removeWriter, and the watermarks that are due by time."""

    def __init__(self, metadata: Metadata, period_ms: int = PERIOD_MS) -> None:
        self._period_ms = period_ms
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._streams: dict[tuple[str, str], None] = {}  # the streams whose writers note times
        self._next_ms: int | None = None
        metadata.watchers.append(self._follow)

    def start(self, now_ms: int) -> None:
        """Begin after a restart: streams with writers get their next watermark a period from now."""
        for stream in self._catalog.streams():
            if stream.writers:
                self._expect(stream, now_ms)

    def note(self, request: pb.TimestampFromWriter, now_ms: int) -> pb.TimestampResponse:
        """Keep the writer's time and position, unless one of them goes back."""
        response = pb.TimestampResponse
        info = request.position.streamInfo
        stream = self._catalog.stream(info.scope, info.stream)
        position = dict(sorted(request.position.cut.items()))
        before = stream.writers.get(request.writer)
        if before is not None and request.timestamp < before.timestamp:
            return response(result=response.INVALID_TIME)
        if not _is_position(stream, position) or not _is_later(stream, position, before):
            return response(result=response.INVALID_POSITION)
        change = Change()
        change.write(
            rec.WriterRecord(now_ms, stream.scope, stream.name, request.writer, request.timestamp, position)
        )
        self._metadata.commit(change, now_ms=now_ms)
        return response(result=response.SUCCESS)

    def remove(self, request: pb.RemoveWriterRequest, now_ms: int) -> pb.RemoveWriterResponse:
        """Forget a writer, so that it no longer holds watermarks back."""
        response = pb.RemoveWriterResponse
        stream = self._catalog.find(request.stream.scope, request.stream.stream)
        if stream is None:
            return response(result=response.STREAM_DOES_NOT_EXIST)
        record = stream.writers.get(request.writer)
        if record is None:
            return response(result=response.UNKNOWN_WRITER)
        change = Change()
        change.remove(record)
        self._metadata.commit(change, now_ms=now_ms)
        return response(result=response.SUCCESS)

    def tick(self, now_ms: int) -> None:
        """Write the watermarks that are due.

        Raises:
            StorageError: The storage refused it. The next period tries again.
        """
        if self._next_ms is None or now_ms < self._next_ms:
            return
        self._next_ms = now_ms + self._period_ms
        for key in list(self._streams):
            stream = self._catalog.find(*key)
            if stream is None or not stream.writers:
                del self._streams[key]
            else:
                self._mark(stream, now_ms)
        if not self._streams:
            self._next_ms = None

    def next_deadline_ms(self) -> int | None:
        """Return when ``tick`` has something to do next, None if no writer notes times."""
        return self._next_ms

    def _follow(self, change: Change, now_ms: int) -> None:
        """Note the streams whose writers noted times, in a call or with the commit of a transaction."""
        for record in change.written:
            if isinstance(record, rec.WriterRecord):
                self._expect(self._catalog.stream(record.scope, record.stream), now_ms)

    def _expect(self, stream: StreamEntry, now_ms: int) -> None:
        self._streams[stream.scope, stream.name] = None
        if self._next_ms is None:
            self._next_ms = now_ms + self._period_ms

    def _mark(self, stream: StreamEntry, now_ms: int) -> None:
        """Drop silent writers, and write a watermark if all others have advanced."""
        change = Change()
        silence_ms = stream.config.timestampAggregationTimeout or SILENCE_MS_DEFAULT
        gone = silent(stream.writers.values(), stream.watermark, silence_ms, now_ms)
        change.remove(*gone)
        writers = [w for w in stream.writers.values() if w not in gone]
        mark = next_watermark(stream.epochs, writers, stream.watermark)
        target = self._catalog.find(stream.scope, MARK_PREFIX + stream.name)
        if mark is not None and target is not None and not target.is_sealed:
            event = to_event(stream.epochs, mark)
            segment = target.segment_name(target.epochs.active.segments[0].segment_id)
            change.do([Append(segment, _EVENT_HEADER.pack(0, len(event)) + event)])
            record = rec.WatermarkRecord(now_ms, stream.scope, stream.name, mark.lower, mark.upper, mark.cut)
            change.write(record)
        if change.all_operations():
            self._metadata.commit(change, now_ms=now_ms)


def _is_position(stream: StreamEntry, position: dict[int, int]) -> bool:
    return bool(position) and all(stream.epochs.segment(i) is not None for i in position)


def _is_later(stream: StreamEntry, position: dict[int, int], before: rec.WriterRecord | None) -> bool:
    return before is None or cuts.is_not_before(stream.epochs, position, before.position)
