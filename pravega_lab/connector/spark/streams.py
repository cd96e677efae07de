"""What a driver asks the store about a stream: cuts, segments between them, backlogs, event boundaries.

What never changes (key ranges, lengths of sealed segments) is asked once per process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...errors import BadInputError, SegmentNotFoundError, StreamNotFoundError, TruncatedDataError
from ...protocol.names import short_name
from ...protocol.stream_cut import StreamCut
from .connections import client_of, stream_of
from .limits import Backlog
from .lineage import Span
from .options import EARLIEST, LATEST, UNBOUNDED, Cluster, PravegaOptions
from .splits import SegmentSlice, slices

if TYPE_CHECKING:
    from ...client import RetentionPolicy, ScalingPolicy

Cut = dict[int, int]

_spans: dict[tuple[Cluster, str], dict[int, Span]] = {}
_lengths: dict[tuple[Cluster, str], Cut] = {}
_checked: dict[tuple[Cluster, str], dict[StreamCut, None]] = {}  # cuts that name places of the stream


class StreamView:
    """One stream of one store. Cheap to make; holds nothing live."""

    def __init__(self, cluster: Cluster, scoped_stream: str) -> None:
        self.name = scoped_stream
        self._cluster = cluster
        self._spans = _spans.setdefault((cluster, scoped_stream), {})
        self._lengths = _lengths.setdefault((cluster, scoped_stream), {})
        self._checked = _checked.setdefault((cluster, scoped_stream), {})

    def head(self) -> Cut:
        return dict(stream_of(self._cluster, self.name).head().positions)

    def tail(self) -> Cut:
        return dict(stream_of(self._cluster, self.name).tail().positions)

    def resolve(self, wanted: str) -> Cut:
        """A cut given as an option: ``earliest``, ``latest``, or a cut's text, one or several comma
        separated.

        Raises:
            BadInputError: No cut of this stream is among them, the text is malformed, or it stands behind the
                last event.
            SegmentNotFoundError: It names a segment that the stream never had.
            TruncatedDataError: It names one that was truncated away.
        """
        if wanted == EARLIEST:
            return self.head()
        if wanted in (LATEST, UNBOUNDED):
            return self.tail()
        cuts = [StreamCut.from_text(part.strip()) for part in wanted.split(",")]
        for cut in cuts:
            if cut.scoped_stream == self.name:
                self._check(cut)
                return self.whole(cut.positions)
        found = ", ".join(cut.scoped_stream for cut in cuts)
        raise BadInputError(
            f"the stream cut given is of {found}, the stream read is {self.name}. Pass a cut of {self.name}; "
            f"for several streams one of each, comma separated"
        )

    def _check(self, cut: StreamCut) -> None:
        """One behind the end would pass for one read up to there, and leave events out. Asked once."""
        if cut in self._checked:
            return
        self.spans(list(cut.positions))
        for segment, offset in cut.positions.items():
            if offset > (length := self.length(segment)):
                raise BadInputError(
                    f"the stream cut given stands at {offset} in segment {short_name(segment)} of "
                    f"{self.name}, which has {length} bytes. Pass a cut as tail() or position() gave it"
                )
        self._checked[cut] = None

    def whole(self, cut: Mapping[int, int]) -> Cut:
        """``cut`` with real offsets: -1 stands for the length of a sealed segment (reference/pravega.md
        A9).
        """
        return {segment: self.length(segment) if offset < 0 else offset for segment, offset in cut.items()}

    def between(self, start: Mapping[int, int], end: Mapping[int, int]) -> list[int]:
        """Ids of the segments between two cuts, both ends included, ascending."""
        if start.keys() == end.keys():
            return sorted(start)
        stream = stream_of(self._cluster, self.name)
        return stream.segments_between(StreamCut(self.name, dict(start)), StreamCut(self.name, dict(end)))

    def spans(self, segments: list[int]) -> dict[int, Span]:
        """Key ranges of segments, also of sealed ones."""
        for epoch in dict.fromkeys(segment >> 32 for segment in segments if segment not in self._spans):
            for found in stream_of(self._cluster, self.name).epoch_segments(epoch):
                self._spans[found.segment_id] = (found.low, found.high)
        missing = [segment for segment in segments if segment not in self._spans]
        if missing:
            raise SegmentNotFoundError(f"{self.name} never had segments {missing}. Pass a cut of this stream")
        return {segment: self._spans[segment] for segment in segments}

    def length(self, segment: int) -> int:
        """Length of a segment that is followed by others; asked once, for it is sealed.

        Raises:
            TruncatedDataError: It was truncated away.
        """
        if segment not in self._lengths:
            stream = stream_of(self._cluster, self.name)
            try:
                info = stream.segment_info(segment)
            except SegmentNotFoundError as error:
                head = stream.head()
                raise TruncatedDataError(
                    f"{self.name}: segment {segment} of the batch was truncated away; reading can go on at "
                    f"{head}, as text {head.to_text()}",
                    head,
                ) from error
            if not info.is_sealed:
                return info.write_offset
            self._lengths[segment] = info.write_offset
        return self._lengths[segment]

    def slices(self, start: Mapping[int, int], end: Mapping[int, int]) -> list[SegmentSlice]:
        """What lies between two cuts, segment by segment."""
        between = self.between(start, end)
        lengths = {segment: self.length(segment) for segment in between if end.get(segment, -1) < 0}
        return slices(self.name, between, start, end, lengths)

    def backlog(self, start: Mapping[int, int], target: Mapping[int, int]) -> Backlog:
        """What is to read from ``start`` to ``target``."""
        between = self.between(start, target)
        return Backlog(
            spans=self.spans(between),
            begin={segment: start.get(segment, 0) for segment in between},
            end={s: target[s] if s in target else self.length(s) for s in between},
            target=frozenset(target),
        )

    def boundary(self, segment: int, begin: int, at_least: int) -> int:
        """The end of the first event that ends at ``at_least`` or behind it; see `limits.Boundary`."""
        return stream_of(self._cluster, self.name).event_end(segment, begin, at_least)


def ensure_stream(options: PravegaOptions, scoped_stream: str, *, by_default: bool) -> None:
    """Create scope and stream where the options allow it and they are missing.

    Args:
        by_default: What ``allow_create_scope`` and ``allow_create_stream`` are when not given.

    Raises:
        StreamNotFoundError: There is no such stream, and it may not be created.
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
    scope_allowed = options.allow_create_scope
    from ...errors import AlreadyExistsError

    try:
        client.create_stream(
            scoped_stream,
            scaling=_scaling(options),
            retention=_retention(options),
            create_scope=True if scope_allowed is None else scope_allowed,
        )
    except AlreadyExistsError:
        return


def _scaling(options: PravegaOptions) -> ScalingPolicy:
    from ...client import ScalingPolicy

    segments, factor = options.default_num_segments or 1, options.default_scale_factor
    by_bytes = options.default_segment_target_rate_bytes_per_sec
    by_events = options.default_segment_target_rate_events_per_sec
    if factor and by_bytes:
        return ScalingPolicy.by_data_rate(by_bytes // 1024, factor, segments)
    if factor and by_events:
        return ScalingPolicy.by_event_rate(by_events, factor, segments)
    return ScalingPolicy.fixed(segments)


def _retention(options: PravegaOptions) -> RetentionPolicy:
    from ...client import RetentionPolicy

    if options.default_retention_duration_milliseconds is not None:
        return RetentionPolicy.by_time(options.default_retention_duration_milliseconds)
    if options.default_retention_size_bytes is not None:
        return RetentionPolicy.by_size(options.default_retention_size_bytes)
    return RetentionPolicy.none()
