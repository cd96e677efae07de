"""Times that writers note, and the watermarks made of them (pravega.md A12)."""

from __future__ import annotations

from pravega_lab.engine.store import cuts
from pravega_lab.engine.store import records as rec
from pravega_lab.engine.store.catalog import Catalog, StreamEntry
from pravega_lab.engine.store.metadata import Change, Metadata
from pravega_lab.protocol import controller_pb2 as pb


class WriterTimes:
    """noteTimestampFromWriter and removeWriter."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog

    def start(self, now_ms: int) -> None:
        """Begin after a restart."""

    def note(self, request: pb.TimestampFromWriter, now_ms: int) -> pb.TimestampResponse:
        """Remember the writer's time and position, unless one of them goes back."""
        response = pb.TimestampResponse
        info = request.position.streamInfo
        stream = self._catalog.stream(info.scope, info.stream)
        position = dict(sorted(request.position.cut.items()))
        before = stream.writers.get(request.writer)
        if before is not None and request.timestamp < before.timestamp:
            return response(result=response.INVALID_TIME)
        if not _is_position(stream, position) or (
            before is not None and not cuts.is_not_before(stream.epochs, position, before.position)
        ):
            return response(result=response.INVALID_POSITION)
        change = Change()
        change.write(
            rec.WriterRecord(now_ms, stream.scope, stream.name, request.writer, request.timestamp, position)
        )
        self._metadata.commit(change, now_ms=now_ms)
        return response(result=response.SUCCESS)

    def remove(self, request: pb.RemoveWriterRequest, now_ms: int) -> pb.RemoveWriterResponse:
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
        """Nothing is due yet."""

    def next_deadline_ms(self) -> int | None:
        return None


def _is_position(stream: StreamEntry, position: dict[int, int]) -> bool:
    return bool(position) and all(stream.epochs.segment(i) is not None for i in position)
