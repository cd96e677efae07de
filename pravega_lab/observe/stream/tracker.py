"""`StreamTracker`: turns a store's answers about a stream into observations. The time is an argument.

`StreamObserver` asks, and passes in the policy, one epoch after another, and the length of each segment.
Epochs come in order and none is left out, so a split that is merged at once is seen as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pravega_lab.observe.journal.observations import (
    DONE_HERE,
    INFERRED,
    Observation,
    SegmentMeasured,
    SegmentOpened,
    SegmentSealed,
    SegmentTiered,
    StreamDeleted,
    StreamScaled,
    StreamSealed,
    StreamSeen,
)
from pravega_lab.observe.stream.causes import ROLLED, ROLLED_AGAIN_RULE, Cause, Part, Policy, infer
from pravega_lab.protocol.key_set import not_begun
from pravega_lab.protocol.names import SegmentRange, number_of

RATE_WINDOW_MS = 2_000
RATE_MS_MIN = 150  # a rate over less time is not reported
PEAK_WINDOW_MS = 10_000  # a segment's rate falls while it is being sealed: the cause is what came before
ESTIMATED = "estimated: bytes/s ÷ mean event size of a sample read from the stream"
GIVEN = "estimated: bytes/s ÷ the event size given"


_Seen = tuple[int, int, float | None]  # start, end, bytes a second


@dataclass(slots=True)
class _Meter:
    """A segment's recent lengths, and the rates that follow from them."""

    lengths: deque[tuple[int, int]] = field(default_factory=deque)
    rates: deque[tuple[int, float]] = field(default_factory=deque)
    told: _Seen | None = None
    quiet_ms: int | None = None  # the last look at which nothing was reported

    def add(self, now_ms: int, length: int) -> float | None:
        """Add a length and return the bytes per second of the last two seconds, None at the first look.

        A clock that was set back makes this the first look again.
        """
        if self.lengths and now_ms < self.lengths[-1][0]:
            self.lengths.clear()
            self.rates.clear()
        self.lengths.append((now_ms, length))
        while len(self.lengths) > 2 and self.lengths[1][0] <= now_ms - RATE_WINDOW_MS:
            self.lengths.popleft()
        before, took_ms = self.lengths[0][1], now_ms - self.lengths[0][0]
        if took_ms < RATE_MS_MIN:
            return None
        rate = 1000 * (length - before) / took_ms
        self.rates.append((now_ms, rate))
        while self.rates and self.rates[0][0] < now_ms - PEAK_WINDOW_MS:
            self.rates.popleft()
        return rate

    def peak(self) -> float | None:
        """Return the highest recent rate."""
        return max((rate for _, rate in self.rates), default=None)

    def mean(self) -> float | None:
        """Return the mean rate."""
        return sum(rate for _, rate in self.rates) / len(self.rates) if self.rates else None


class StreamTracker:
    """One stream as seen from outside. Methods return the observations to append."""

    def __init__(self, stream: str, *, event_bytes: float | None = None, uri: str = "") -> None:
        self.stream, self.uri = stream, uri
        self.policy = Policy()
        self.epoch: int | None = None
        self.event_bytes = event_bytes  # on the wire, header included
        self._events_how = GIVEN if event_bytes else ""
        self._ranges: dict[int, SegmentRange] = {}
        self._meters: dict[int, _Meter] = {}
        self._by_us: set[int] = set()
        self._newest_number = -1  # of all segments so far: only a rolled transaction uses a number again
        self._sealed = False
        self._stored: dict[int, tuple[SegmentRange, int, int]] = {}  # sealed segments: range, start, length
        self._tiered: dict[int, int] = {}  # the offsets that were reported last

    @property
    def active(self) -> list[int]:
        """Return the ids of the active segments."""
        return list(self._ranges)

    def saw_policy(self, policy: Policy, *, now_ms: int) -> list[Observation]:
        """Take the stream's policy, and report it if it is new."""
        if policy == self.policy:
            return []
        self.policy = policy
        return [
            StreamSeen(
                time_ms=now_ms, stream=self.stream, policy=policy.kind, target_rate=policy.target,
                uri=self.uri, scale_factor=policy.factor, min_segments=policy.min_segments,
            )
        ]  # fmt: skip

    def sampled(self, events: int, n_bytes: int) -> None:
        """Take a sample of the stream's events: how many there were, and of how many bytes with their
        headers.
        """
        if events > 0:
            mean = n_bytes / events
            self.event_bytes = mean if self.event_bytes is None else 0.7 * self.event_bytes + 0.3 * mean
            self._events_how = ESTIMATED

    def scaled_by_us(self, created: Iterable[int]) -> None:
        """Note that this process asked for these segments: the scale that creates them is *done here*."""
        self._by_us.update(created)

    def saw_epoch(
        self,
        epoch: int,
        ranges: Sequence[SegmentRange],
        *,
        now_ms: int,
        lengths: Mapping[int, int] | None = None,
        exact: bool = True,
    ) -> list[Observation]:
        """Take the segments of the next epoch, and the lengths of the segments that it sealed, if they
        are known.
        """
        after = {r.segment_id: r for r in ranges}
        before, self._ranges, self.epoch = self._ranges, after, epoch
        sealed = [r for r in before.values() if r.segment_id not in after]
        created = [r for r in ranges if r.segment_id not in before]
        found: list[Observation] = [
            SegmentSealed(
                time_ms=now_ms, stream=self.stream, segment_id=r.segment_id, exact=exact,
                length_bytes=(lengths or {}).get(r.segment_id),
            )
            for r in sealed
        ]  # fmt: skip
        for r in created:
            follows = tuple(old.segment_id for old in sealed if old.overlaps(r))
            found.append(
                SegmentOpened(
                    time_ms=now_ms, stream=self.stream, segment_id=r.segment_id, low=r.low, high=r.high,
                    predecessors=follows, exact=exact,
                )
            )  # fmt: skip
        if before:
            found += self._scales(sealed, created, now_ms)
            if exact:  # they have just begun, empty
                self._meters.update({r.segment_id: _Meter(deque([(now_ms, 0)])) for r in created})
        self._newest_number = max([self._newest_number, *(number_of(r.segment_id) for r in ranges)])
        self._keep(sealed, lengths or {})
        return found

    def _keep(self, sealed: Iterable[SegmentRange], lengths: Mapping[int, int]) -> None:
        """Remember sealed segments of known length: they may still be truncated, or move to tier 2."""
        for r in sealed:
            meter = self._meters.pop(r.segment_id, None)
            start = meter.told[0] if meter is not None and meter.told is not None else 0
            length = lengths.get(r.segment_id)
            if length is not None:
                self._stored[r.segment_id] = (r, start, length)

    @property
    def has_stored_segments(self) -> bool:
        """Return whether sealed segments may still be stored, which a truncation would remove."""
        return bool(self._stored)

    @property
    def stored(self) -> list[int]:
        """Return the sealed segments that may still be stored, and the active ones, oldest first."""
        return [*self._stored, *self._ranges]

    def saw_tiers(self, offsets: Mapping[int, int], *, now_ms: int) -> list[Observation]:
        """Take the offsets before which segments are in tier 2, and report those that have moved."""
        found: list[Observation] = []
        for segment_id, offset in offsets.items():
            if self._tiered.get(segment_id) != offset:
                self._tiered[segment_id] = offset
                found.append(
                    SegmentTiered(time_ms=now_ms, stream=self.stream, segment_id=segment_id, offset=offset)
                )
        return found

    def saw_head(self, head: Mapping[int, int], *, now_ms: int) -> list[Observation]:
        """Take the head of the stream, and report the sealed segments that it has truncated since.

        The starts of active segments come from `measured`.
        """
        newer = [segment for i, segment in self._ranges.items() if i in head]
        newer += [segment for i, (segment, _, _) in self._stored.items() if i in head]
        unread = set(not_begun(head, newer))
        found: list[Observation] = []
        for segment_id, (segment, start, length) in list(self._stored.items()):
            is_before = any(n.follows(segment) for n in newer)
            offset = head.get(segment_id, length if is_before else start)
            if segment_id in unread:
                offset = start
            now = length if offset < 0 else offset
            if is_before and segment_id not in head:
                del self._stored[segment_id]
            else:
                self._stored[segment_id] = (segment, now, length)
            if now > start:
                found.append(
                    SegmentMeasured(
                        time_ms=now_ms, stream=self.stream, segment_id=segment_id, start_offset=now,
                        write_offset=length,
                    )
                )  # fmt: skip
        return found

    def _scales(
        self, sealed: Sequence[SegmentRange], created: Sequence[SegmentRange], now_ms: int
    ) -> list[Observation]:
        """Report a scale per connected group: an epoch of a rolled transaction replaces several groups at
        once.
        """
        found: list[Observation] = []
        for olds, news in _connected(sealed, created):
            cause = self._cause(olds, news)
            found.append(
                StreamScaled(
                    time_ms=now_ms, stream=self.stream, epoch=self.epoch or 0, cause=cause.text,
                    sealed=tuple(r.segment_id for r in olds), created=tuple(r.segment_id for r in news),
                    cause_kind=cause.kind, rule=cause.rule,
                )
            )  # fmt: skip
        return found

    def _cause(self, olds: Sequence[SegmentRange], news: Sequence[SegmentRange]) -> Cause:
        if any(r.segment_id in self._by_us for r in news):
            return Cause("by hand", DONE_HERE, "")
        if any(number_of(r.segment_id) <= self._newest_number for r in news):
            return Cause(ROLLED, INFERRED, ROLLED_AGAIN_RULE)
        split = len(news) > len(olds)
        sealed = [Part(r.low, r.high, self._policy_rate(r.segment_id, peak=split)) for r in olds]
        return infer(self.policy, sealed, [Part(r.low, r.high) for r in news])

    def _policy_rate(self, segment_id: int, *, peak: bool) -> float | None:
        """Return the segment's measured rate in the unit of the policy."""
        meter = self._meters.get(segment_id)
        rate = None if meter is None else meter.peak() if peak else meter.mean()
        if rate is None:
            return None
        if self.policy.kind == "kbytes":
            return rate / 1024
        return None if self.event_bytes is None else rate / self.event_bytes

    def measured(self, segment_id: int, start: int, end: int, *, now_ms: int) -> list[Observation]:
        """Take the length of an active segment. Report nothing while nothing changes.

        When something changes again, first report until when nothing did: a rate concerns the time before
        it.
        """
        if segment_id not in self._ranges:
            return []
        meter = self._meters.setdefault(segment_id, _Meter())
        seen = (start, end, meter.add(now_ms, end))
        if meter.told == seen:
            meter.quiet_ms = now_ms
            return []
        found = []
        if meter.told is not None and meter.quiet_ms is not None:
            found.append(self._measurement(segment_id, meter.told, meter.quiet_ms))
        meter.told, meter.quiet_ms = seen, None
        return [*found, self._measurement(segment_id, seen, now_ms)]

    def _measurement(self, segment_id: int, seen: _Seen, now_ms: int) -> SegmentMeasured:
        start, end, rate = seen
        size = self.event_bytes
        return SegmentMeasured(
            time_ms=now_ms,
            stream=self.stream,
            segment_id=segment_id,
            start_offset=start,
            write_offset=end,
            bytes_per_s=rate,
            events_per_s=0.0 if rate == 0 else None if rate is None or size is None else rate / size,
            events_how=self._events_how,
        )

    def saw_sealed(self, lengths: Mapping[int, int], *, now_ms: int) -> list[Observation]:
        """Take that the stream has no active segment left."""
        if self._sealed or not self._ranges:
            return []
        self._sealed = True
        self._keep(self._ranges.values(), lengths)
        return [*self._all_sealed(lengths, now_ms), StreamSealed(time_ms=now_ms, stream=self.stream)]

    def vanished(self, *, now_ms: int) -> list[Observation]:
        """Report that the stream is gone. Another stream with this name needs another tracker."""
        return [*self._all_sealed({}, now_ms), StreamDeleted(time_ms=now_ms, stream=self.stream)]

    def _all_sealed(self, lengths: Mapping[int, int], now_ms: int) -> list[Observation]:
        ended, self._ranges = self._ranges, {}
        return [
            SegmentSealed(time_ms=now_ms, stream=self.stream, segment_id=i, length_bytes=lengths.get(i))
            for i in ended
        ]


def _connected(
    sealed: Sequence[SegmentRange], created: Sequence[SegmentRange]
) -> list[tuple[list[SegmentRange], list[SegmentRange]]]:
    """Return groups of segments that follow each other, by their place in the key space."""
    groups: list[tuple[list[SegmentRange], list[SegmentRange]]] = []
    reach = -1.0
    sides = [(0, r) for r in sealed] + [(1, r) for r in created]
    for side, r in sorted(sides, key=lambda m: (m[1].low, m[1].high, m[0])):
        if r.low >= reach:
            groups.append(([], []))
        groups[-1][side].append(r)
        reach = max(reach, r.high)
    return [group for group in groups if group[0] and group[1]]
