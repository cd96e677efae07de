"""The controller's part of auto-scaling: hot segments split, cold neighbours merge (pravega.md A6).

``scaling_hints`` collects what segments ask for. This module decides what the stream does. Averages, ages
and cold markers are not in the log: after a restart every segment starts afresh, as upstream's do when their
container moves. Each scale writes a line to the program's log: ``s/a: #2 -> #4 #5: 210/s > 2 x 100/s``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pravega_lab.errors import ScaleRefusedError
from pravega_lab.protocol.hashing import Range, equal_parts
from pravega_lab.protocol.names import SegmentRange, number_of, parent_of, parse_segment_name

from ..errors import StorageError
from ..log.operations import CreateSegment, Delete, Operation, Seal, SetPolicy
from ..log_fields import log_fields
from ..metadata.catalog import Catalog, StreamEntry
from ..metadata.epochs import Ranges
from ..metadata.metadata import Metadata
from ..metadata.replies import RpcError
from ..streams.segment_calls import SegmentCalls
from .rates import Clock
from .scaling_hints import Hint, Hints

log = logging.getLogger(__name__)

FOREVER_MS = 1 << 62
"""A silent segment stays cold for ever (pravega.md A6)."""


class AutoScaler:
    """Follows the appends and changes of one store, and scales its streams."""

    def __init__(self, metadata: Metadata, segments: SegmentCalls, scaling_clock: int) -> None:
        self._catalog: Catalog = metadata.catalog
        self._segments = segments
        self._clock = Clock(scaling_clock)
        self._hints = Hints(self._clock)
        self._cold_until_ms: dict[str, int] = {}
        metadata.watchers.append(lambda change, now_ms: self._follow(change.operations, now_ms))
        metadata.storage.on_append = self._hints.on_append
        metadata.storage.on_merge = self._hints.on_merge

    def start(self, now_ms: int) -> None:
        """Begin after a restart: treat every active segment under a policy as new."""
        for stream in self._catalog.streams():
            if not stream.is_sealed and stream.config.scalingPolicy.scaleType:
                self._follow(stream.creations(stream.epochs.active.segments), now_ms)

    def tick(self, now_ms: int) -> None:
        """Do what segments have asked for."""
        self._hints.tick(now_ms)
        for hint in self._hints.pop():
            self._act(hint, now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return when ``tick`` has something to do next, None if nothing is due."""
        return self._hints.next_deadline_ms()

    def _follow(self, operations: Sequence[Operation], now_ms: int) -> None:
        """Note which segments begin, change their policy, and end."""
        for operation in operations:
            match operation:
                case CreateSegment(name, scale_type=scale_type, target_rate=rate) if scale_type:
                    if parent_of(name) is None:  # the segment of a transaction is counted when it is merged
                        self._hints.track(name, scale_type, rate, now_ms)
                case SetPolicy(name, scale_type, rate):
                    self._hints.track(name, scale_type, rate, now_ms)
                case Seal(name) | Delete(name):
                    self._hints.forget(name)
                    self._cold_until_ms.pop(name, None)

    def _act(self, hint: Hint, now_ms: int) -> None:
        name = parse_segment_name(hint.segment)
        stream = self._catalog.find(name.scope, name.stream)
        segment = stream.epochs.segment(name.segment_id) if stream else None
        if stream is None or stream.is_sealed or segment is None:
            return
        if not stream.epochs.is_active(name.segment_id):
            return
        if hint.splits:
            splits = min(hint.splits, max(2, stream.config.scalingPolicy.scaleFactor))
            self._scale(
                stream, [segment], equal_parts(segment.low, segment.high, splits), hint.reason, now_ms
            )
        else:
            self._cold_until_ms[hint.segment] = FOREVER_MS if hint.silent else now_ms + self._clock.mute_ms
            self._merge_around(stream, segment, hint.reason, now_ms)

    def _merge_around(self, stream: StreamEntry, segment: SegmentRange, reason: str, now_ms: int) -> None:
        cold = [
            s for s in neighbours(stream.epochs.active.segments, segment) if self._is_cold(stream, s, now_ms)
        ]
        chosen = to_merge(stream, cold)
        if len(chosen) >= 2:
            self._scale(stream, chosen, [(chosen[0].low, chosen[-1].high)], reason, now_ms)

    def _is_cold(self, stream: StreamEntry, segment: SegmentRange, now_ms: int) -> bool:
        return self._cold_until_ms.get(stream.segment_name(segment.segment_id), -1) >= now_ms

    def _scale(
        self,
        stream: StreamEntry,
        seal: Sequence[SegmentRange],
        bounds: Sequence[Range],
        reason: str,
        now_ms: int,
    ) -> None:
        try:
            epoch = self._segments.scale_now(stream, [s.segment_id for s in seal], bounds, now_ms)
        except (ScaleRefusedError, StorageError, RpcError) as refusal:
            fields = log_fields("scale_refused", stream=stream.scoped_name, reason=reason)
            log.info("%s: not scaled for %s: %s", stream.scoped_name, reason, refusal, extra=fields)
            return
        log.info(
            "%s: %s -> %s: %s",
            stream.scoped_name,
            _numbers(seal),
            _numbers(epoch.created),
            reason,
            extra=log_fields("scaled", stream=stream.scoped_name, epoch=epoch.epoch, reason=reason),
        )


def neighbours(active: Ranges, segment: SegmentRange) -> list[SegmentRange]:
    """Return the segment with the one below it and the one above it, in the order of keys."""
    at = active.index(segment)
    return list(active[max(0, at - 1) : at + 2])


def to_merge(stream: StreamEntry, cold: Sequence[SegmentRange]) -> list[SegmentRange]:
    """Return which of up to three cold neighbours are merged, so that the policy's minimum is kept.

    Source: pravega.md A6.
    """
    spare = len(stream.epochs.active.segments) - stream.config.scalingPolicy.minNumSegments
    if spare <= 0:
        return []
    return list(cold[:2] if spare == 1 else cold)


def _numbers(segments: Sequence[SegmentRange]) -> str:
    return " ".join(f"#{number_of(s.segment_id)}" for s in segments)
