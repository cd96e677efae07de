"""The controller's calls that create, change, truncate, seal and delete streams (pravega.md A4, A8, D7).

Each is one atomic change of the log, except that `removals` deletes large streams in several.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.hashing import initial_ranges
from pravega_lab.protocol.names import MARK_PREFIX, TAG_LENGTH_MAX, TAGS_MAX, is_valid_stream

from ..errors import NoSuchSegment, SegmentTruncated
from ..log.operations import Delete, Operation, Seal, SetPolicy, Truncate
from ..metadata import cuts
from ..metadata import records as rec
from ..metadata.catalog import Catalog, StreamEntry
from ..metadata.counts import refuse_many_segments
from ..metadata.epochs import first_epoch, scaled_epoch
from ..metadata.jobs import Steps
from ..metadata.metadata import Change, Metadata
from ..metadata.states import IllegalMoveError, StreamAct, StreamState, after_stream
from ..storage.segment import SegmentInfo
from ..transactions.transactions import Transactions
from .removals import Removals


class StreamCalls:
    """The calls createStream, updateStream, truncateStream, sealStream, deleteStream, and the look-ups
    of a stream.
    """

    def __init__(
        self, metadata: Metadata, transactions: Transactions, removals: Removals, segments_max: int
    ) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._transactions = transactions
        self._removals = removals
        self._segments_max = segments_max

    def create(self, request: pb.StreamConfig, now_ms: int) -> pb.CreateStreamStatus:
        """Create a stream."""
        status = pb.CreateStreamStatus
        scope, stream = request.streamInfo.scope, request.streamInfo.stream
        _check(request)
        if not is_valid_stream(stream):
            return status(status=status.INVALID_STREAM_NAME)
        if not self._catalog.accepts(scope):
            return status(status=status.SCOPE_NOT_FOUND)
        if self._catalog.find(scope, stream) is not None:
            return status(status=status.STREAM_EXISTS)
        if not _is_sound(request.scalingPolicy):
            return status(status=status.FAILURE)
        refuse_many_segments(
            f"stream {scope}/{stream}", request.scalingPolicy.minNumSegments, self._segments_max
        )
        change = Change()
        self.add_creation(change, request, now_ms)
        self._metadata.commit(change, now_ms=now_ms)
        return status(status=status.SUCCESS)

    def add_creation(self, change: Change, asked: pb.StreamConfig, now_ms: int) -> None:
        """Add to ``change`` the creation of a stream, and of its mark stream unless the stream is
        internal.

        Source: pravega.md A1.
        """
        self._add_one(change, asked, now_ms)
        name = asked.streamInfo.stream
        if not name.startswith("_"):
            self._add_one(change, fixed_config(asked.streamInfo.scope, MARK_PREFIX + name), now_ms)

    def update(self, request: pb.StreamConfig, now_ms: int) -> pb.UpdateStreamStatus:
        """Replace the configuration of a stream, and scale it if the new policy requires that."""
        status = pb.UpdateStreamStatus
        _check(request)
        stream = self._catalog.find(request.streamInfo.scope, request.streamInfo.stream)
        if stream is None:
            return status(status=status.STREAM_NOT_FOUND)
        try:
            after_stream(stream.scoped_name, stream.record.state, StreamAct.UPDATE)
        except IllegalMoveError:
            return status(status=status.STREAM_SEALED)
        if not _is_sound(request.scalingPolicy):
            return status(status=status.FAILURE)
        change = Change()
        record = _stream_record(request, stream.record.state, now_ms)
        change.do(_new_policies(stream, request.scalingPolicy))
        change.write(record)
        n_segments = _wanted_segments(request.scalingPolicy, len(stream.epochs.active.segments))
        if n_segments is not None:
            refuse_many_segments(f"stream {stream.scoped_name}", n_segments, self._segments_max)
            self._add_resize(change, stream, record, n_segments, now_ms)
        self._metadata.commit_what_is_left(change, now_ms=now_ms)
        return status(status=status.SUCCESS)

    def _add_resize(
        self, change: Change, stream: StreamEntry, record: rec.StreamRecord, n_segments: int, now_ms: int
    ) -> None:
        """Add to ``change`` the replacement of all active segments by ``n_segments`` of equal width."""
        active = stream.epochs.active
        seal = [s.segment_id for s in active.segments]
        epoch = scaled_epoch(active, seal, initial_ranges(n_segments), now_ms=now_ms)
        change.do(StreamEntry(record).creations(epoch.created))
        change.do(Seal(name) for name in stream.segment_names(seal))
        change.write(rec.StreamEpochRecord(now_ms, stream.scope, stream.name, epoch))

    def truncate(self, request: pb.StreamCut, now_ms: int) -> pb.UpdateStreamStatus:
        """Truncate a stream at a cut."""
        status = pb.UpdateStreamStatus
        stream = self._catalog.find(request.streamInfo.scope, request.streamInfo.stream)
        if stream is None:
            return status(status=status.STREAM_NOT_FOUND)
        try:
            after_stream(stream.scoped_name, stream.record.state, StreamAct.TRUNCATE)
        except IllegalMoveError:
            return status(status=status.STREAM_SEALED)
        cut = dict(sorted(request.cut.items()))
        if not self.may_truncate(stream, cut):
            return status(status=status.FAILURE)
        change = Change()
        try:
            self.add_truncation(change, stream, cut, now_ms)
            self._metadata.commit_what_is_left(change, now_ms=now_ms)
        except (SegmentTruncated, NoSuchSegment):  # an offset is beyond the end
            return status(status=status.FAILURE)
        return status(status=status.SUCCESS)

    def seal(self, request: pb.StreamInfo, now_ms: int) -> Steps:
        """Seal a stream."""
        status = pb.UpdateStreamStatus
        stream = self._catalog.find(request.scope, request.stream)
        if stream is None:
            return status(status=status.STREAM_NOT_FOUND)
        yield from self._removals.seal(stream, now_ms)
        return status(status=status.SUCCESS)

    def delete(self, request: pb.StreamInfo, now_ms: int) -> Steps:
        """Delete a sealed stream."""
        status = pb.DeleteStreamStatus
        stream = self._catalog.find(request.scope, request.stream)
        if stream is None:
            return status(status=status.STREAM_NOT_FOUND)
        try:
            after_stream(stream.scoped_name, stream.record.state, StreamAct.DELETE)
        except IllegalMoveError:
            return status(status=status.STREAM_NOT_SEALED)
        yield from self._removals.delete(stream, now_ms)
        return status(status=status.SUCCESS)

    def exists(self, request: pb.StreamInfo, now_ms: int) -> pb.ExistsResponse:
        """Return whether a stream exists."""
        return pb.ExistsResponse(exists=self._catalog.find(request.scope, request.stream) is not None)

    def configuration(self, request: pb.StreamInfo, now_ms: int) -> pb.StreamConfig:
        """Return the configuration of a stream."""
        return self._catalog.stream(request.scope, request.stream).config

    def _add_one(self, change: Change, asked: pb.StreamConfig, now_ms: int) -> None:
        scope, name, policy = asked.streamInfo.scope, asked.streamInfo.stream, asked.scalingPolicy
        bounds = initial_ranges(policy.minNumSegments)
        epoch = first_epoch(bounds, self._last_number(scope, name) + 1, now_ms=now_ms)
        record = _stream_record(asked, StreamState.ACTIVE, now_ms)
        stream = StreamEntry(record)
        change.do(stream.creations(epoch.created))
        change.write(record, rec.StreamEpochRecord(now_ms, scope, name, epoch))

    def _last_number(self, scope: str, name: str) -> int:
        """Return the highest segment number that deleted streams of this name have used, -1 without any.

        A stream and its mark stream share the record of it.
        """
        names = name, name.removeprefix(MARK_PREFIX)
        records = [self._catalog.last_numbers.get((scope, one)) for one in names]
        return max((record.last_number for record in records if record is not None), default=-1)

    def may_truncate(self, stream: StreamEntry, cut: Mapping[int, int]) -> bool:
        """Return whether the stream may begin at ``cut`` (pravega.md A8).

        The cut must be valid, not before the head, and not at the end of a segment that is not sealed.
        """
        if not cut or not cuts.is_valid(stream.epochs, cut) or self.open_ends(stream, cut):
            return False
        if stream.truncation is None:
            return True
        head = stream.truncation.cut
        # Earlier releases accepted a head at an open end. It holds nothing back, so that it can be replaced.
        begun = {**head, **dict.fromkeys(self.open_ends(stream, head), 0)}
        return cuts.is_not_before(stream.epochs, cut, begun)

    def open_ends(self, stream: StreamEntry, cut: Mapping[int, int]) -> list[int]:
        """Return the segments that are read to their end according to ``cut``, and are not sealed.

        Events that are written to them later would be before the cut, and no reader would return them.
        """
        resolved = cuts.resolved(stream.epochs, cut)
        return [i for i, offset in resolved.items() if offset < 0 and self._is_open(stream.segment_name(i))]

    def _is_open(self, name: str) -> bool:
        storage = self._metadata.storage
        return storage.exists(name) and not storage.info(name).is_sealed

    def add_truncation(
        self, change: Change, stream: StreamEntry, cut: Mapping[int, int], now_ms: int
    ) -> None:
        """Add to ``change`` the truncation of a stream at ``cut``, which `may_truncate` allows.

        Recorded cuts that are not after ``cut`` have no more use, and are removed.

        Raises:
            NoSuchSegment: A client has deleted a segment of the cut directly at the segment store.
        """
        older = stream.live_ids[: bisect_right(stream.live_ids, max(cut))]
        change.do(Delete(name) for name in stream.segment_names(cuts.before(stream.epochs, cut, older)))
        for segment_id, offset in cuts.resolved(stream.epochs, cut).items():
            change.do(self._truncation_of(stream.segment_name(segment_id), offset))
        change.remove(*(r for r in stream.recorded if not cuts.is_before(stream.epochs, cut, r.cut)))
        change.write(rec.TruncationRecord(now_ms, stream.scope, stream.name, cut))

    def _truncation_of(self, name: str, offset: int) -> list[Operation]:
        info = self._metadata.storage.info(name)
        before = offset_at(offset, info)
        # A client may have truncated the segment further, directly at the segment store.
        return [Truncate(name, before)] if before > info.start_offset else []


def offset_at(resolved: int, info: SegmentInfo) -> int:
    """Return the offset that a resolved cut means by its entry of a segment (pravega.md A9)."""
    if resolved >= 0:
        return resolved
    return info.length if info.is_sealed else 0


def fixed_config(scope: str, stream: str) -> pb.StreamConfig:
    """Return the configuration of a stream of one segment that never scales."""
    return pb.StreamConfig(
        streamInfo=pb.StreamInfo(scope=scope, stream=stream), scalingPolicy=pb.ScalingPolicy(minNumSegments=1)
    )


def _stream_record(asked: pb.StreamConfig, state: StreamState, now_ms: int) -> rec.StreamRecord:
    """Return the record of a stream, with its configuration as clients will receive it.

    A retention policy without a type is left out, and tags are always present, each once.
    """
    info = pb.StreamInfo(scope=asked.streamInfo.scope, stream=asked.streamInfo.stream)
    config = pb.StreamConfig()
    config.CopyFrom(asked)
    config.streamInfo.CopyFrom(info)
    config.scalingPolicy.SetInParent()
    config.tags.CopyFrom(pb.Tags(tag=dict.fromkeys(asked.tags.tag)))
    config.tags.SetInParent()
    if config.retentionPolicy.retentionType == pb.RetentionPolicy.UNKNOWN:
        config.ClearField("retentionPolicy")
    return rec.StreamRecord(
        now_ms, info.scope, info.stream, config.SerializeToString(deterministic=True), state
    )


def _is_sound(policy: pb.ScalingPolicy) -> bool:
    if policy.minNumSegments <= 0:
        return False
    return policy.scaleType == pb.ScalingPolicy.FIXED_NUM_SEGMENTS or policy.targetRate > 0


def _wanted_segments(policy: pb.ScalingPolicy, active: int) -> int | None:
    """Return how many segments an update of the policy requires, None if the ``active`` ones are right.

    A fixed number is exact, and the minimum of the other policies is a minimum, as in a real 0.13.0.
    """
    wanted: int = policy.minNumSegments
    is_fixed = policy.scaleType == pb.ScalingPolicy.FIXED_NUM_SEGMENTS
    return wanted if active < wanted or (is_fixed and active != wanted) else None


def _check(config: pb.StreamConfig) -> None:
    tags = config.tags.tag
    if config.rolloverSizeBytes < 0:
        raise BadInputError(f"a rollover size of {config.rolloverSizeBytes} bytes; it is 0 or more")
    if len(tags) > TAGS_MAX or any(len(tag) > TAG_LENGTH_MAX for tag in tags):
        raise BadInputError(
            f"a stream has at most {TAGS_MAX} tags of at most {TAG_LENGTH_MAX} characters each"
        )


def _new_policies(stream: StreamEntry, policy: pb.ScalingPolicy) -> list[Operation]:
    old = stream.config.scalingPolicy
    if (old.scaleType, old.targetRate) == (policy.scaleType, policy.targetRate):
        return []
    names = stream.segment_names(s.segment_id for s in stream.epochs.active.segments)
    return [SetPolicy(name, int(policy.scaleType), policy.targetRate) for name in names]
