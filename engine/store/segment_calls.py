"""The controller's calls on segments: which there are, who follows whom, where they are, scaling by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pravega_lab.engine.store import cuts
from pravega_lab.engine.store import records as rec
from pravega_lab.engine.store.catalog import Catalog, StreamEntry
from pravega_lab.engine.store.epochs import EpochRecord, scaled_epoch
from pravega_lab.engine.store.metadata import Change, Metadata
from pravega_lab.engine.store.operations import Seal
from pravega_lab.engine.store.scaling import Bounds, ScalePreconditionError, check_scale
from pravega_lab.engine.store.states import IllegalMoveError, StreamAct, after_stream
from pravega_lab.engine.store.transactions import segment_range
from pravega_lab.errors import ScaleRefusedError
from pravega_lab.protocol import controller_pb2 as pb
from pravega_lab.protocol.names import SegmentRange


class SegmentCalls:
    """getCurrentSegments and all that surrounds it; scale and checkScale."""

    def __init__(self, metadata: Metadata, host: str, port: int) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._uri = pb.NodeUri(endpoint=host, port=port)

    def current(self, request: pb.StreamInfo, now_ms: int) -> pb.SegmentRanges:
        """The active segments in the order of their keys; none once the stream is sealed (A4)."""
        stream = self._catalog.stream(request.scope, request.stream)
        return _ranges(stream, () if stream.is_sealed else stream.epochs.active.segments)

    def of_epoch(self, request: pb.GetEpochSegmentsRequest, now_ms: int) -> pb.SegmentRanges:
        stream = self._stream(request.streamInfo)
        return _ranges(stream, stream.epochs.epoch(request.epoch).segments)

    def head(self, request: pb.GetSegmentsRequest, now_ms: int) -> pb.SegmentsAtTime:
        """Where the stream begins; the timestamp is ignored, as upstream does (A4)."""
        stream = self._stream(request.streamInfo)
        first = {s.segment_id: 0 for s in stream.epochs.epoch(0).segments}
        cut = stream.truncation.cut if stream.truncation else first
        return pb.SegmentsAtTime(
            segments=[{"segmentId": _id(stream, i), "offset": offset} for i, offset in cut.items()]
        )

    def successors(self, request: pb.SegmentId, now_ms: int) -> pb.SuccessorResponse:
        stream = self._stream(request.streamInfo)
        found = stream.epochs.successors(request.segmentId)
        return pb.SuccessorResponse(
            segments=[{"segment": segment_range(stream, f.segment), "value": f.predecessors} for f in found]
        )

    def between(self, request: pb.StreamCutRange, now_ms: int) -> pb.StreamCutRangeResponse:
        stream = self._stream(request.streamInfo)
        found = cuts.between(stream.epochs, dict(getattr(request, "from")), dict(request.to))
        return pb.StreamCutRangeResponse(segments=[_id(stream, i) for i in found])

    def is_segment_valid(self, request: pb.SegmentId, now_ms: int) -> pb.SegmentValidityResponse:
        stream = self._stream(request.streamInfo)
        active = not stream.is_sealed and stream.epochs.is_active(request.segmentId)
        return pb.SegmentValidityResponse(response=active)

    def is_cut_valid(self, request: pb.StreamCut, now_ms: int) -> pb.StreamCutValidityResponse:
        stream = self._stream(request.streamInfo)
        return pb.StreamCutValidityResponse(response=cuts.is_valid(stream.epochs, dict(request.cut)))

    def uri(self, request: pb.SegmentId, now_ms: int) -> pb.NodeUri:
        """The one segment store, also for segments that nobody made here (E3-8)."""
        return self._uri

    def scale(self, request: pb.ScaleRequest, now_ms: int) -> pb.ScaleResponse:
        response = pb.ScaleResponse
        stream = self._catalog.find(request.streamInfo.scope, request.streamInfo.stream)
        if stream is None:
            return response(status=response.FAILURE)
        epoch = stream.epochs.active.epoch
        bounds = dict(
            reversed([(r.start, r.end) for r in request.newKeyRanges])
        )  # the first of a start counts
        try:
            created = self.scale_now(stream, list(request.sealedSegments), list(bounds.items()), now_ms)
        except ScalePreconditionError:
            return response(status=response.PRECONDITION_FAILED)
        except (ScaleRefusedError, IllegalMoveError):
            return response(status=response.FAILURE)
        return response(
            status=response.STARTED, segments=[segment_range(stream, s) for s in created.created], epoch=epoch
        )

    def scale_now(
        self, stream: StreamEntry, seal: Sequence[int], bounds: Sequence[Bounds], now_ms: int
    ) -> EpochRecord:
        """Replace segments by others, in one step: the new ones, the epoch, the seals (A5).

        Raises:
            IllegalMoveError: the stream is sealed.
            ScaleRefusedError: a rule of A5 is against it; ``ScalePreconditionError`` for rules 2 and 5.
        """
        after_stream(stream.scoped_name, stream.record.state, StreamAct.SCALE)
        check_scale(stream.epochs, seal, bounds, stream.config.scalingPolicy.minNumSegments)
        epoch = scaled_epoch(stream.epochs.active, seal, bounds, now_ms=now_ms)
        change = Change()
        change.do(stream.creations(epoch.created))
        change.do(Seal(name) for name in stream.segment_names(seal))
        change.write(rec.StreamEpochRecord(now_ms, stream.scope, stream.name, epoch))
        self._metadata.commit_what_is_left(change, now_ms=now_ms)
        return epoch

    def check_scale(self, request: pb.ScaleStatusRequest, now_ms: int) -> pb.ScaleStatusResponse:
        """Whether the scale that was asked for in ``request.epoch`` is done; upstream's answers (A5)."""
        status = pb.ScaleStatusResponse
        stream = self._catalog.find(request.streamInfo.scope, request.streamInfo.stream)
        if stream is None:
            return status(status=status.INVALID_INPUT)
        active = stream.epochs.active
        if request.epoch > active.epoch:
            return status(status=status.INVALID_INPUT)
        going_on = request.epoch in (active.epoch, active.reference_epoch)
        return status(status=status.IN_PROGRESS if going_on else status.SUCCESS)

    def _stream(self, info: pb.StreamInfo) -> StreamEntry:
        return self._catalog.stream(info.scope, info.stream)


def _ranges(stream: StreamEntry, segments: Iterable[SegmentRange]) -> pb.SegmentRanges:
    return pb.SegmentRanges(segmentRanges=[segment_range(stream, s) for s in segments])


def _id(stream: StreamEntry, segment_id: int) -> Mapping[str, Any]:
    """The fields of a ``pb.SegmentId``; no message, see `segment_range`."""
    return {"streamInfo": {"scope": stream.scope, "stream": stream.name}, "segmentId": segment_id}
