"""The controller's calls on segments: which exist, which succeed which, where they are, and manual
scaling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pravega_lab.errors import BadInputError, ScaleRefusedError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.hashing import Range
from pravega_lab.protocol.names import SegmentRange

from ..log.operations import Seal
from ..metadata import cuts
from ..metadata import records as rec
from ..metadata.catalog import Catalog, StreamEntry, segment_range
from ..metadata.counts import refuse_many_segments
from ..metadata.epochs import EpochRecord, scaled_epoch
from ..metadata.metadata import Change, Metadata
from ..metadata.states import IllegalMoveError, StreamAct, after_stream
from .scaling import ScalePreconditionError, check_scale


class SegmentCalls:
    """The calls getCurrentSegments and its relatives, scale and checkScale."""

    def __init__(self, metadata: Metadata, host: str, port: int, segments_max: int) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._segments_max = segments_max
        self._uri = pb.NodeUri(endpoint=host, port=port)

    def current(self, request: pb.StreamInfo, now_ms: int) -> pb.SegmentRanges:
        """Return the active segments in the order of their keys, none of a sealed stream (pravega.md A4)."""
        stream = self._catalog.stream(request.scope, request.stream)
        return _ranges(stream, () if stream.is_sealed else stream.epochs.active.segments)

    def of_epoch(self, request: pb.GetEpochSegmentsRequest, now_ms: int) -> pb.SegmentRanges:
        """Return the segments of an epoch."""
        stream = self._stream(request.streamInfo)
        return _ranges(stream, stream.epochs.epoch(request.epoch).segments)

    def head(self, request: pb.GetSegmentsRequest, now_ms: int) -> pb.SegmentsAtTime:
        """Return the cut at which the stream begins.

        As upstream, the timestamp is ignored (pravega.md A4).
        """
        stream = self._stream(request.streamInfo)
        return pb.SegmentsAtTime(
            segments=[{"segmentId": _id(stream, i), "offset": offset} for i, offset in stream.head.items()]
        )

    def successors(self, request: pb.SegmentId, now_ms: int) -> pb.SuccessorResponse:
        """Return the successors of a segment, each with all its predecessors."""
        stream = self._stream(request.streamInfo)
        found = stream.epochs.successors(request.segmentId)
        return pb.SuccessorResponse(
            segments=[{"segment": segment_range(stream, f.segment), "value": f.predecessors} for f in found]
        )

    def between(self, request: pb.StreamCutRange, now_ms: int) -> pb.StreamCutRangeResponse:
        """Return the segments between two cuts; see `cuts.between`."""
        stream = self._stream(request.streamInfo)
        found = cuts.between(stream.epochs, dict(getattr(request, "from")), dict(request.to))
        return pb.StreamCutRangeResponse(segments=[_id(stream, i) for i in found])

    def is_segment_valid(self, request: pb.SegmentId, now_ms: int) -> pb.SegmentValidityResponse:
        """Return whether a segment is active."""
        stream = self._stream(request.streamInfo)
        active = not stream.is_sealed and stream.epochs.is_active(request.segmentId)
        return pb.SegmentValidityResponse(response=active)

    def is_cut_valid(self, request: pb.StreamCut, now_ms: int) -> pb.StreamCutValidityResponse:
        """Return whether a cut covers the key space exactly once."""
        stream = self._stream(request.streamInfo)
        return pb.StreamCutValidityResponse(response=cuts.is_valid(stream.epochs, dict(request.cut)))

    def uri(self, request: pb.SegmentId, now_ms: int) -> pb.NodeUri:
        """Return the address of the one segment store, also for unknown segments (pravega.md E3-8)."""
        return self._uri

    def scale(self, request: pb.ScaleRequest, now_ms: int) -> pb.ScaleResponse:
        """Scale a stream as a client requests."""
        response = pb.ScaleResponse
        stream = self._catalog.find(request.streamInfo.scope, request.streamInfo.stream)
        if stream is None:
            return response(status=response.FAILURE)
        epoch = stream.epochs.active.epoch
        bounds = {r.start: r.end for r in request.newKeyRanges}
        if len(bounds) < len(request.newKeyRanges):
            raise BadInputError("two of the new key ranges begin at the same key")
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
        self, stream: StreamEntry, seal: Sequence[int], bounds: Sequence[Range], now_ms: int
    ) -> EpochRecord:
        """Replace segments by others in one change: new segments, epoch and seals (pravega.md A5).

        Raises:
            IllegalMoveError: The stream is sealed.
            ScaleRefusedError: A rule of pravega.md A5 forbids it.
            ScalePreconditionError: The rule is 2 or 5.
            RpcError: The stream would have more segments than the store allows.
        """
        after_stream(stream.scoped_name, stream.record.state, StreamAct.SCALE)
        active = len(stream.epochs.active.segments)
        if len(bounds) > len(seal):
            count = active - len(seal) + len(bounds)
            refuse_many_segments(f"stream {stream.scoped_name}", count, self._segments_max)
        check_scale(stream.epochs, seal, bounds, stream.config.scalingPolicy.minNumSegments)
        epoch = scaled_epoch(stream.epochs.active, seal, bounds, now_ms=now_ms)
        change = Change()
        change.do(stream.creations(epoch.created))
        change.do(Seal(name) for name in stream.segment_names(seal))
        change.write(rec.StreamEpochRecord(now_ms, stream.scope, stream.name, epoch))
        self._metadata.commit_what_is_left(change, now_ms=now_ms)
        return epoch

    def check_scale(self, request: pb.ScaleStatusRequest, now_ms: int) -> pb.ScaleStatusResponse:
        """Return whether the scale that was requested in ``request.epoch`` is done, as upstream answers
        it.

        Source: pravega.md A5.
        """
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
    """Return the fields of a ``pb.SegmentId`` instead of a message; `segment_range` gives the reason."""
    return {"streamInfo": {"scope": stream.scope, "stream": stream.name}, "segmentId": segment_id}
