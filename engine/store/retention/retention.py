"""Truncates streams as their retention policies say, once per period (pravega.md A7).

In each period the tail of the stream is recorded as a cut, with its time and its size. Then one of the
recorded cuts, or what the subscribers have finished, becomes the head. The new cut and the truncation are
one change of the log.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Mapping

from pravega_lab.protocol.controller import controller_pb2 as pb

from ..errors import NoSuchSegment, SegmentTruncated
from ..log_fields import log_fields
from ..metadata import cuts
from ..metadata import records as rec
from ..metadata.catalog import Catalog, StreamEntry
from ..metadata.metadata import Change, Metadata
from ..streams.reader_groups import start_of
from ..streams.streams import StreamCalls, offset_at
from .choice import Limits, truncation_point
from .lower_bound import lower_bound

log = logging.getLogger(__name__)

PERIOD_MS = 30 * 60_000
STREAMS_PER_TICK = 100
"""More streams that are due wait for the next tick, so that clients are answered in between."""


class Retention:
    """Follows the policies of one store's streams, and truncates what is due.

    A sealed stream is never truncated (pravega.md A8).
    """

    def __init__(self, metadata: Metadata, streams: StreamCalls, period_ms: int = PERIOD_MS) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._streams = streams
        self._period_ms = period_ms
        self._due_ms: dict[tuple[str, str], int] = {}  # the streams with a policy
        self._queue: list[tuple[int, tuple[str, str]]] = []  # may contain entries that no longer hold
        metadata.watchers.append(self._follow)

    def start(self, now_ms: int) -> None:
        """Begin after a restart: the period of a stream continues from its last recorded cut."""
        for stream in self._catalog.streams():
            last_ms = stream.recorded[-1].now_ms if stream.recorded else now_ms
            self._expect(stream, last_ms + self._period_ms)

    def tick(self, now_ms: int) -> None:
        """Record cuts and truncate where a period is over.

        Raises:
            StorageError: The storage refused it, for lack of room for example. The stream stays due.
        """
        for _ in range(STREAMS_PER_TICK):
            due_ms = self.next_deadline_ms()
            if due_ms is None or due_ms > now_ms:
                return
            _, key = self._queue[0]
            stream = self._catalog.stream(*key)
            try:
                self._retain(stream, now_ms)
            except (
                NoSuchSegment,
                SegmentTruncated,
            ) as refusal:  # a client has removed it at the segment store
                fields = log_fields("retention_failed", stream=stream.scoped_name)
                log.warning(
                    "%s: not truncated by its retention policy: %s", stream.scoped_name, refusal, extra=fields
                )
            heapq.heappop(self._queue)
            self._expect(stream, now_ms + self._period_ms)

    def next_deadline_ms(self) -> int | None:
        """Return when ``tick`` has something to do next, None if no stream has a policy."""
        while self._queue and self._due_ms.get(self._queue[0][1]) != self._queue[0][0]:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def _follow(self, change: Change, now_ms: int) -> None:
        """Note which streams get a policy, lose it, are sealed or are deleted."""
        for record in (*change.removed, *change.written):
            if isinstance(record, rec.StreamRecord):
                key = record.scope, record.stream
                stream = self._catalog.find(*key)
                if stream is None or not _has_policy(stream):
                    self._due_ms.pop(key, None)
                elif key not in self._due_ms:
                    self._expect(stream, now_ms + self._period_ms)

    def _expect(self, stream: StreamEntry, due_ms: int) -> None:
        if _has_policy(stream):
            key = stream.scope, stream.name
            self._due_ms[key] = due_ms
            heapq.heappush(self._queue, (due_ms, key))

    def _retain(self, stream: StreamEntry, now_ms: int) -> None:
        """Record the tail, and truncate at the cut that the policy chooses."""
        change = Change()
        recorded = list(stream.recorded)
        tail = self._tail(stream, now_ms)
        if not recorded or recorded[-1].cut != tail.cut:  # otherwise nothing was written since
            recorded.append(tail)
        bound = self._bound(stream)
        kept = self._bytes_after(stream, bound) if bound is not None else 0
        limits = Limits.of(stream.config.retentionPolicy)
        point = truncation_point(stream.epochs, limits, recorded, bound, kept, now_ms)
        head = stream.head
        if point and cuts.is_before(stream.epochs, head, point) and self._streams.may_truncate(stream, point):
            fields = log_fields("retention_truncated", stream=stream.scoped_name)
            log.info(
                "%s: truncated at %s by its retention policy", stream.scoped_name, dict(point), extra=fields
            )
            self._streams.add_truncation(change, stream, point, now_ms)
            head = point
        if recorded[-1] is tail and cuts.is_before(stream.epochs, head, tail.cut):
            change.write(tail)
        if change.all_operations():
            self._metadata.commit_what_is_left(change, now_ms=now_ms)

    def _tail(self, stream: StreamEntry, now_ms: int) -> rec.RetentionRecord:
        cut = {s.segment_id: self._length(stream, s.segment_id) for s in stream.epochs.active.segments}
        last = stream.recorded[-1] if stream.recorded else None
        size = (
            last.size + self._bytes_after(stream, last.cut)
            if last
            else self._bytes_after(stream, stream.head)
        )
        return rec.RetentionRecord(now_ms, stream.scope, stream.name, size, dict(sorted(cut.items())))

    def _length(self, stream: StreamEntry, segment_id: int) -> int:
        """Return the synced length of a segment, 0 if its creation is still on its way to the disk."""
        name, storage = stream.segment_name(segment_id), self._metadata.storage
        return storage.info(name).length if storage.exists(name) else 0

    def _bytes_after(self, stream: StreamEntry, cut: cuts.Cut) -> int:
        """Return the bytes from ``cut`` to the tail that are still stored."""
        storage, total, resolved = self._metadata.storage, 0, cuts.resolved(stream.epochs, cut)
        for segment_id in cuts.between(stream.epochs, cut, {}):
            name = stream.segment_name(segment_id)
            if storage.exists(name):
                info = storage.info(name)
                start = offset_at(resolved.get(segment_id, 0), info)
                total += info.length - max(start, info.start_offset)
        return total

    def _bound(self, stream: StreamEntry) -> cuts.Cut | None:
        """Return what all subscribers have finished, None without subscribers.

        Where no cut expresses it, in the middle of unlike merges, everything counts as unfinished.
        """
        if not stream.subscribers:
            return None
        finished = [s.cut or self._begin_of(stream, s) for s in stream.subscribers.values()]
        return lower_bound(stream.epochs, finished) or stream.head

    def _begin_of(self, stream: StreamEntry, subscriber: rec.SubscriberRecord) -> Mapping[int, int]:
        """Return where a group begins that has not reported a cut: at its starting cut, or at the head."""
        scope, _, name = subscriber.subscriber.partition("/")
        group = self._catalog.scopes[scope].groups.get(name) if scope in self._catalog.scopes else None
        if group is None:
            return stream.head
        return start_of(stream, pb.ReaderGroupConfiguration.FromString(group.config))


def _has_policy(stream: StreamEntry) -> bool:
    return not stream.is_sealed and stream.config.HasField("retentionPolicy")
