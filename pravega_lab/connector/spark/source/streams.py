"""What a driver asks the store about a stream: cuts, segments between them, backlogs, event boundaries.

Facts that never change (key ranges, lengths of sealed segments) are requested once per query. A process
outlives its queries, and another store may have the address by the next one (`forget_facts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pravega_lab.connector.spark.connections import client_of, stream_of
from pravega_lab.connector.spark.options import EARLIEST, LATEST, UNBOUNDED, Cluster, PravegaOptions
from pravega_lab.connector.spark.source.limits import Backlog
from pravega_lab.connector.spark.source.lineage import Span, is_before
from pravega_lab.connector.spark.source.reading import CONTINUE, segment_start
from pravega_lab.connector.spark.source.splits import SegmentSlice, slices, without_truncated
from pravega_lab.errors import BadInputError, SegmentNotFoundError, StreamNotFoundError, TruncatedDataError
from pravega_lab.protocol.names import epoch_of, short_name
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    from pravega_lab.client import (
        Client,
        EventPointer,
        RetentionPolicy,
        ScalingPolicy,
        StreamConfiguration,
    )

Cut = dict[int, int]

ANOTHER_STREAM = "If the stream was deleted and created again, or the checkpoint is of another store"
NEW_CHECKPOINT = "start the query with a new checkpointLocation"

_spans: dict[tuple[Cluster, str], dict[int, Span]] = {}
_lengths: dict[tuple[Cluster, str], Cut] = {}
# cuts that were found to be positions of the stream
_checked: dict[tuple[Cluster, str], dict[StreamCut, None]] = {}


def forget_facts() -> None:
    """Let views that are created from now on request again what a store has said."""
    for facts in (_spans, _lengths, _checked):
        facts.clear()


class StreamView:
    """One stream of one store. Creating it makes no request, and it holds no connection.

    With ``fails_on_loss`` False, what was truncated counts as read.
    """

    def __init__(self, cluster: Cluster, scoped_stream: str, *, fails_on_loss: bool = True) -> None:
        self.name = scoped_stream
        self._fails_on_loss = fails_on_loss
        self._cluster = cluster
        self._spans = _spans.setdefault((cluster, scoped_stream), {})
        self._lengths = _lengths.setdefault((cluster, scoped_stream), {})
        self._checked = _checked.setdefault((cluster, scoped_stream), {})

    def head(self) -> Cut:
        """Return the current head of the stream."""
        return self._settled(stream_of(self._cluster, self.name).head().positions)

    def tail(self) -> Cut:
        """Return the current tail of the stream."""
        return dict(stream_of(self._cluster, self.name).tail().positions)

    def resolve(self, wanted: str) -> Cut:
        """Return the cut that an option names: ``earliest``, ``latest``, or the text of one or several cuts.

        Several cuts are separated by commas; the one of this stream is taken.

        Raises:
            BadInputError: No cut is of this stream, the text is malformed, or the cut is after the last
                event.
            SegmentNotFoundError: The cut names a segment that the stream never had.
            TruncatedDataError: The cut names a segment that was truncated.
        """
        if wanted == EARLIEST:
            return self.head()
        if wanted in (LATEST, UNBOUNDED):
            return self.tail()
        cuts = [StreamCut.from_text(part.strip()) for part in wanted.split(",")]
        for cut in cuts:
            if cut.scoped_stream == self.name:
                self._check(cut)
                return self._settled(cut.positions)
        found = ", ".join(cut.scoped_stream for cut in cuts)
        raise BadInputError(
            f"the stream cut given is of {found}, the stream read is {self.name}. Pass a cut of {self.name}; "
            f"for several streams, pass one cut of each, separated by commas"
        )

    def _settled(self, cut: Mapping[int, int]) -> Cut:
        """Return a cut of the same position that lists no segment next to its successors.

        The controller finds nothing after a segment that was read, and -1 would be its length.
        """
        read = [segment for segment, at in cut.items() if at == self._lengths.get(segment)]
        if not read and -1 not in cut.values():
            return dict(cut)
        found = stream_of(self._cluster, self.name).settled_cut(StreamCut(self.name, dict(cut)), read=read)
        return self.whole(found.positions)

    def _check(self, cut: StreamCut) -> None:
        """Raise `BadInputError` for a cut after the end of a segment. Each cut is checked once.

        Reading would take everything before such a cut as already read, and leave events out.
        """
        if cut in self._checked:
            return
        self.spans(list(cut.positions))
        for segment, offset in cut.positions.items():
            if offset > (length := self.length(segment)) and (self._fails_on_loss or length):
                raise BadInputError(
                    f"the stream cut given is at {offset} in segment {short_name(segment)} of "
                    f"{self.name}, which has {length} bytes. Pass a cut that tail() or position() returned"
                )
        self._checked[cut] = None

    def whole(self, cut: Mapping[int, int]) -> Cut:
        """Return ``cut`` with the length of the segment in place of each -1 (pravega.md A9)."""
        return {segment: self.length(segment) if offset < 0 else offset for segment, offset in cut.items()}

    def between(self, start: Mapping[int, int], end: Mapping[int, int]) -> list[int]:
        """Return the ids of the segments between two cuts, including those of both cuts, ascending.

        Raises:
            SegmentNotFoundError: The stream does not have a segment of a cut.
        """
        if start.keys() == end.keys():
            return sorted(start)
        stream = stream_of(self._cluster, self.name)
        try:
            found = stream.segments_between(
                StreamCut(self.name, dict(start)), StreamCut(self.name, dict(end))
            )
            return sorted({*found, *start, *end})
        except SegmentNotFoundError as error:
            raise _of_another_stream(error) from error

    def is_before(self, cut: Cut, other: Cut) -> bool:
        """Return whether a cut is before another one in any part of the key space.

        Raises:
            SegmentNotFoundError: The stream never had a segment of a cut.
        """
        try:
            return is_before(cut, other, self.spans(list(cut.keys() ^ other.keys())))
        except SegmentNotFoundError as error:
            raise _of_another_stream(error) from error

    def not_before(self, start: Cut, end: Cut) -> Cut:
        """Return an end, in another form if it only seems to lie before the start.

        The end may list a segment of which the start lists the successors, and be at the same place.
        """
        if not self.is_before(end, start):
            return end
        stream = stream_of(self._cluster, self.name)
        return self.whole(stream.settled_cut(StreamCut(self.name, end), latest=True).positions)

    def spans(self, segments: list[int]) -> dict[int, Span]:
        """Return the key ranges of segments, also of sealed ones.

        Raises:
            SegmentNotFoundError: The stream never had one of them.
        """
        for epoch in dict.fromkeys(epoch_of(segment) for segment in segments if segment not in self._spans):
            for found in stream_of(self._cluster, self.name).epoch_segments(epoch):
                self._spans[found.segment_id] = (found.low, found.high)
        missing = [segment for segment in segments if segment not in self._spans]
        if missing:
            raise SegmentNotFoundError(f"{self.name} never had segments {missing}. Pass a cut of this stream")
        return {segment: self._spans[segment] for segment in segments}

    def length(self, segment: int) -> int:
        """Return the length of a segment. The length of a sealed segment is requested once.

        Raises:
            TruncatedDataError: The segment was truncated.
        """
        if segment not in self._lengths:
            stream = stream_of(self._cluster, self.name)
            try:
                info = stream.segment_info(segment)
            except SegmentNotFoundError as error:
                if not self._fails_on_loss:
                    return 0
                head = stream.head()
                raise TruncatedDataError(
                    f"{self.name}: segment {segment} of the batch was truncated away; reading can resume at "
                    f"{head}, as text {head.to_text()}. {CONTINUE}",
                    head,
                ) from error
            if not info.is_sealed:
                return info.write_offset
            self._lengths[segment] = info.write_offset
        return self._lengths[segment]

    def slices(self, start: Mapping[int, int], end: Mapping[int, int]) -> list[SegmentSlice]:
        """Return what is between two cuts, segment by segment."""
        start, end = self._settled(start), self._settled(end)
        between = self.between(start, end)
        lengths = {segment: self.length(segment) for segment in between if end.get(segment, -1) < 0}
        found = slices(self.name, between, start, end, lengths)
        if self._fails_on_loss:
            return found
        return without_truncated(found, {piece.segment_id: self._start(piece.segment_id) for piece in found})

    def backlog(self, start: Mapping[int, int], target: Mapping[int, int]) -> Backlog:
        """Return what is left to read from ``start`` to ``target``."""
        start, target = self._settled(start), self._settled(target)
        between = self.between(start, target)
        begin = {segment: start.get(segment, 0) for segment in between}
        end = {s: target[s] if s in target else self.length(s) for s in between}
        if not self._fails_on_loss:
            for segment in between:
                first = self._start(segment)
                end[segment] = max(begin[segment], end[segment])
                begin[segment] = (
                    end[segment] if first is None else min(max(begin[segment], first), end[segment])
                )
        return Backlog(
            spans=self.spans(between),
            begin=begin,
            end=end,
            target=frozenset(target),
        )

    def _start(self, segment: int) -> int | None:
        return segment_start(stream_of(self._cluster, self.name), segment)

    def boundary(self, segment: int, begin: int, at_least: int) -> int:
        """Return the end of the first event that ends at ``at_least`` or later; see `limits.Boundary`."""
        return stream_of(self._cluster, self.name).event_end(segment, begin, at_least)

    def is_event(self, pointer: EventPointer) -> bool:
        """Return whether an event of that length begins where ``pointer`` says."""
        try:
            stream_of(self._cluster, self.name).fetch(pointer)
        except (BadInputError, TruncatedDataError, SegmentNotFoundError):
            return False
        return True


def _of_another_stream(error: SegmentNotFoundError) -> SegmentNotFoundError:
    return SegmentNotFoundError(f"{error}. {ANOTHER_STREAM}, {NEW_CHECKPOINT}")


def ensure_stream(options: PravegaOptions, scoped_stream: str, *, by_default: bool) -> None:
    """Create scope and stream if they are missing and the options allow it.

    Args:
        by_default: The value of ``allow_create_scope`` and ``allow_create_stream`` when they are not given.

    Raises:
        StreamNotFoundError: There is no such stream, and the options do not allow to create it.
    """
    client = client_of(options.cluster)
    if client.stream(scoped_stream).exists():
        return
    allowed = options.allow_create_stream
    if not (by_default if allowed is None else allowed):
        raise StreamNotFoundError(
            f"there is no stream {scoped_stream} at {options.controller}. Check options 'scope' and "
            f"'stream', or let it be created with option 'allow_create_stream'"
        )
    from pravega_lab.errors import AlreadyExistsError

    try:
        create_stream(client, options, scoped_stream)
    except AlreadyExistsError:
        return


def create_stream(client: Client, options: PravegaOptions, scoped_stream: str) -> None:
    """Create a stream with the settings that the options have for it.

    Raises:
        AlreadyExistsError: There is such a stream.
        ScopeNotFoundError: There is no such scope, and the options do not allow to create it.
    """
    scope_allowed = options.allow_create_scope
    client.create_stream(
        scoped_stream,
        scaling=_scaling(options),
        retention=_retention(options),
        create_scope=True if scope_allowed is None else scope_allowed,
    )


def creation_options(about: StreamConfiguration) -> dict[str, str]:
    """Return the options with which `create_stream` makes a stream of this configuration.

    Limits that no option has are left out: the maximum of a retention policy.
    """
    scaling, retention = about.scaling, about.retention
    found = {"default_num_segments": scaling.min_segments}
    if scaling.kind.name != "FIXED":
        found["default_scale_factor"] = scaling.scale_factor
    if scaling.kind.name == "KBYTES_PER_S":
        found["default_segment_target_rate_bytes_per_sec"] = scaling.target_rate * 1024
    if scaling.kind.name == "EVENTS_PER_S":
        found["default_segment_target_rate_events_per_sec"] = scaling.target_rate
    if retention.kind.name == "TIME":
        found["default_retention_duration_milliseconds"] = retention.minimum
    if retention.kind.name == "SIZE":
        found["default_retention_size_bytes"] = retention.minimum
    return {name: str(value) for name, value in found.items()}


def _scaling(options: PravegaOptions) -> ScalingPolicy:
    from pravega_lab.client import ScalingPolicy

    segments, factor = options.default_num_segments or 1, options.default_scale_factor
    by_bytes = options.default_segment_target_rate_bytes_per_sec
    by_events = options.default_segment_target_rate_events_per_sec
    if factor and by_bytes:
        return ScalingPolicy.by_data_rate(by_bytes // 1024, factor, segments)
    if factor and by_events:
        return ScalingPolicy.by_event_rate(by_events, factor, segments)
    return ScalingPolicy.fixed(segments)


def _retention(options: PravegaOptions) -> RetentionPolicy:
    from pravega_lab.client import RetentionPolicy

    if options.default_retention_duration_milliseconds is not None:
        return RetentionPolicy.by_time(options.default_retention_duration_milliseconds)
    if options.default_retention_size_bytes is not None:
        return RetentionPolicy.by_size(options.default_retention_size_bytes)
    return RetentionPolicy.none()
