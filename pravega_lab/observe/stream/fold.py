"""`SegmentHistory`: segments over time, a pure fold of a journal.

The segment map draws it, and its ``.frame`` holds it. It takes a journal at once or bit by bit, with the
same result. It remembers which rows changed, so that a view sends only those. It decides nothing about
Pravega: ranges, predecessors and causes are in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.observe.group.observations import GroupObservation, ReaderJoined
from pravega_lab.observe.group.rows import label_of, remember_growth, time_of_offset, waits_words
from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentAcquired,
    SegmentMeasured,
    SegmentOpened,
    SegmentRead,
    SegmentReleased,
    SegmentSealed,
    SegmentTiered,
    StreamDeleted,
    StreamScaled,
    StreamSealed,
    StreamSeen,
)
from pravega_lab.observe.stream.owners import Key, SegmentOwners
from pravega_lab.observe.stream.tracker import RATE_WINDOW_MS
from pravega_lab.protocol.names import epoch_of, number_of

SAMPLES_MAX = 100_000  # rates kept by a fold; older ones are dropped, and counted


@dataclass(slots=True)
class SegmentRow:
    """One segment, which owns the keys (low, high]. Times are in ms; ``end_ms`` is ``None`` while it is
    active.
    """

    index: int
    stream: str
    segment_id: int
    low: float
    high: float
    start_ms: int
    end_ms: int | None = None
    exact: bool = True
    predecessors: tuple[int, ...] = ()
    reader: str | None = None
    group: str = ""  # of ``reader``, if it is in a reader group
    state: str = ""  # to that group: held, nobody, waits or finished; "" if no group reported
    waits_for: tuple[int, ...] = ()  # predecessors that the group has still to read
    start_offset: int = 0
    write_offset: int | None = None
    read_offset: int | None = None
    bytes_per_s: float | None = None
    events_per_s: float | None = None
    events_how: str = ""
    last_rates: tuple[float | None, float | None] = (None, None)  # events, bytes; they stay after the seal
    truncated_ms: int | None = None  # about when the oldest byte that is left was written
    tiered_offset: int | None = None  # all bytes before it are in tier 2; None if the store did not say
    tiered_ms: int | None = None  # about when the last byte in tier 2 was written
    growth: list[tuple[int, int]] = field(default_factory=list)  # see `remember_growth`

    @property
    def epoch(self) -> int:
        """Return the epoch in which the segment was created."""
        return epoch_of(self.segment_id)

    @property
    def number(self) -> int:
        """Return the segment's number in its stream."""
        return number_of(self.segment_id)

    @property
    def label(self) -> str:
        """Return the segment's short name: ``#5 e2``."""
        return label_of(self.segment_id)

    @property
    def waits_words(self) -> str:
        """Return ``waits for #2``, or "" if it waits for nothing."""
        return waits_words(self.waits_for)

    @property
    def tier2_bytes(self) -> int | None:
        """Return the bytes that are in tier 2, None if the store did not say."""
        if self.tiered_offset is None or self.write_offset is None:
            return None
        return max(0, min(self.tiered_offset, self.write_offset) - self.start_offset)

    @property
    def log_bytes(self) -> int | None:
        """Return the bytes that are in the log, None if the store did not say."""
        if self.tiered_offset is None or self.write_offset is None:
            return None
        return max(0, self.write_offset - max(self.tiered_offset, self.start_offset))

    @property
    def unread_bytes(self) -> int | None:
        """Return the bytes that are not read yet, None if they are not known."""
        if self.read_offset == -1:  # read to its end
            return 0
        if self.read_offset is None or self.write_offset is None:
            return None
        return max(0, self.write_offset - max(self.read_offset, self.start_offset))


@dataclass(frozen=True, slots=True)
class RateSample:
    """The rates of a segment from ``time_ms`` until its next sample."""

    index: int
    time_ms: int
    events_per_s: float | None
    bytes_per_s: float | None
    unread_bytes: int | None
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """A line of the rate strip, in events/s or bytes/s, with its name."""

    rate: float
    label: str


class SegmentHistory:
    """All segments of the journal's streams, in order of opening, with rates, owners and scales."""

    def __init__(self) -> None:
        self.rows: list[SegmentRow] = []
        self.samples: list[RateSample] = []
        self.samples_dropped = 0
        self.scales: list[StreamScaled] = []
        self.streams: dict[str, StreamSeen] = {}
        self.sealed_streams: list[str] = []
        self.readers: list[str] = []  # in order of joining, which decides the colour
        self.start_ms: int | None = None
        self.now_ms: int | None = None
        self.changed: dict[int, None] = {}  # indexes, in order; the caller clears it
        self._index: dict[Key, int] = {}
        self._owners = SegmentOwners()
        self._places: dict[str, int] = {}  # of readers in `readers`

    def apply(self, observation: Observation) -> None:
        """Take the next observation. Kinds that do not concern segments only move ``now_ms``."""
        handler = _HANDLERS.get(type(observation))
        if self.start_ms is None and handler is not None:
            self.start_ms = observation.time_ms
        if self.start_ms is not None:
            self.start_ms = min(self.start_ms, observation.time_ms) if handler else self.start_ms
            self.now_ms = max(self.now_ms or 0, observation.time_ms)
        if handler is not None:
            handler(self, observation)
        elif isinstance(observation, GroupObservation):
            self._of_group(observation)

    def find(self, stream: str, segment_id: int) -> SegmentRow | None:
        """Return the row of a segment, None if the journal does not know it."""
        index = self._index.get((stream, segment_id))
        return None if index is None else self.rows[index]

    @property
    def rates_since_ms(self) -> int | None:
        """Return since when rates are known, None if none is: an observer may have come late, and dropped
        measurements say nothing. The first sample is the rate of the time before it.
        """
        return self.samples[0].time_ms - RATE_WINDOW_MS if self.samples else None

    @property
    def active(self) -> list[SegmentRow]:
        """Return the open segments, by their place in the key space."""
        return sorted((r for r in self.rows if r.end_ms is None), key=lambda r: (r.stream, r.low))

    @property
    def knows_owners(self) -> bool:
        """Return whether a group or a query has reported owners. If so, a segment without one has no
        reader.
        """
        return bool(self.readers or self._owners.owners)

    def successors(self, row: SegmentRow) -> list[SegmentRow]:
        """Return the segments that follow a segment."""
        return [r for r in self.rows if row.segment_id in r.predecessors and r.stream == row.stream]

    def _touch(self, stream: str, segment_id: int) -> SegmentRow | None:
        row = self.find(stream, segment_id)
        if row is not None:
            self.changed[row.index] = None
        return row

    def _stream_seen(self, o: StreamSeen) -> None:
        self.streams[o.stream] = o

    def _opened(self, o: SegmentOpened) -> None:
        if (o.stream, o.segment_id) in self._index:
            return
        index = len(self.rows)
        row = SegmentRow(
            index,
            o.stream,
            o.segment_id,
            o.low,
            o.high,
            o.time_ms,
            exact=o.exact,
            predecessors=o.predecessors,
        )
        self.rows.append(row)
        self._index[(o.stream, o.segment_id)] = index
        self.changed[index] = None
        self._take_owner(row)

    def _sealed(self, o: SegmentSealed) -> None:
        row = self._touch(o.stream, o.segment_id)
        if row is None:
            return
        row.end_ms = o.time_ms
        row.bytes_per_s = row.events_per_s = None
        if o.length_bytes is not None:
            row.write_offset = o.length_bytes

    def _scaled(self, o: StreamScaled) -> None:
        self.scales.append(o)

    def _stream_sealed(self, o: StreamSealed) -> None:
        self.sealed_streams.append(o.stream)

    def _stream_deleted(self, o: StreamDeleted) -> None:
        if o.stream in self.sealed_streams:  # another stream with this name may follow
            self.sealed_streams.remove(o.stream)

    def _measured(self, o: SegmentMeasured) -> None:
        row = self._touch(o.stream, o.segment_id)
        if row is None:
            return
        row.write_offset = o.write_offset
        if row.end_ms is None:  # a sealed segment can only be truncated, and keeps its last rates
            row.bytes_per_s, row.events_per_s = o.bytes_per_s, o.events_per_s
            row.events_how, row.last_rates = o.events_how, (o.events_per_s, o.bytes_per_s)
            remember_growth(row.growth, o.time_ms, o.write_offset)
        if o.start_offset > row.start_offset:
            row.start_offset = o.start_offset
            is_empty = row.end_ms is not None and o.start_offset >= o.write_offset
            row.truncated_ms = row.end_ms if is_empty else _time_of(row, o.start_offset)
        self._sample(row, o.time_ms)

    def _tiered(self, o: SegmentTiered) -> None:
        row = self._touch(o.stream, o.segment_id)
        if row is None:
            return
        row.tiered_offset = o.offset
        if o.offset <= row.start_offset:
            row.tiered_ms = row.truncated_ms  # nothing of it is in tier 2
        elif row.write_offset is not None and o.offset >= row.write_offset:
            row.tiered_ms = o.time_ms if row.end_ms is None else row.end_ms
        else:
            row.tiered_ms = _time_of(row, o.offset)

    def _sample(self, row: SegmentRow, time_ms: int) -> None:
        if len(self.samples) >= SAMPLES_MAX:
            del self.samples[: SAMPLES_MAX // 4]
            self.samples_dropped += SAMPLES_MAX // 4
        stored = max(0, (row.write_offset or 0) - row.start_offset)
        events, n_bytes = row.last_rates
        self.samples.append(RateSample(row.index, time_ms, events, n_bytes, row.unread_bytes, stored))

    def _of_group(self, o: GroupObservation) -> None:
        if isinstance(o, ReaderJoined):
            self._learn_reader(o.reader)
        for stream, segment_id in self._owners.apply(o):
            row = self._touch(stream, segment_id)
            if row is not None:
                self._take_owner(row)
                self._sample(row, o.time_ms)

    def _take_owner(self, row: SegmentRow) -> None:
        owner = self._owners.owners.get((row.stream, row.segment_id))
        if owner is None:
            return
        row.group, row.state, row.reader = owner.group, owner.state, owner.reader
        row.waits_for, row.read_offset = owner.waits_for, owner.read_offset
        if owner.reader is not None:
            self._learn_reader(owner.reader)

    def _learn_reader(self, reader: str) -> None:
        if reader not in self._places:
            self._places[reader] = len(self.readers)
            self.readers.append(reader)

    def _acquired(self, o: SegmentAcquired) -> None:
        row = self._touch(o.stream, o.segment_id)
        self._learn_reader(o.reader)
        if row is not None:
            row.reader = o.reader

    def _released(self, o: SegmentReleased) -> None:
        row = self._touch(o.stream, o.segment_id)
        if row is not None and row.reader == o.reader:
            row.reader = None

    def _read(self, o: SegmentRead) -> None:
        row = self._touch(o.stream, o.segment_id)
        if row is not None:
            row.read_offset = max(o.offset, row.read_offset or 0)
            self._sample(row, o.time_ms)


_HANDLERS: dict[type[Observation], Callable[[Any, Any], None]] = {
    StreamSeen: SegmentHistory._stream_seen,
    SegmentOpened: SegmentHistory._opened,
    SegmentSealed: SegmentHistory._sealed,
    StreamScaled: SegmentHistory._scaled,
    StreamSealed: SegmentHistory._stream_sealed,
    StreamDeleted: SegmentHistory._stream_deleted,
    SegmentMeasured: SegmentHistory._measured,
    SegmentTiered: SegmentHistory._tiered,
    SegmentAcquired: SegmentHistory._acquired,
    SegmentReleased: SegmentHistory._released,
    SegmentRead: SegmentHistory._read,
}


def _time_of(row: SegmentRow, offset: int) -> int:
    """Return when the segment reached this offset, as near as the measurements say."""
    reached_ms = time_of_offset(row.growth, offset)
    return row.start_ms if reached_ms is None else reached_ms


def fold_segments(observations: Iterable[Observation]) -> SegmentHistory:
    """Return the history of all segments in the observations."""
    history = SegmentHistory()
    for observation in observations:
        history.apply(observation)
    return history


def thresholds(stream: StreamSeen | None) -> list[Threshold]:
    """Return the rates of a segment at which the auto-scaler of this policy acts; it acts sooner at
    higher rates.

    Above the target it splits, below half of it it merges. Rates are events/s for an event policy and
    bytes/s for a data policy. A fixed policy has none.

    Source: pravega.md A6.
    """
    if stream is None or stream.target_rate <= 0 or stream.policy not in ("events", "kbytes"):
        return []
    unit = 1024 if stream.policy == "kbytes" else 1
    target = stream.target_rate * unit
    return [
        Threshold(5 * target, "5 × target"),
        Threshold(2 * target, "2 × target"),
        Threshold(target, "target"),
        Threshold(target / 2, "target ÷ 2"),
    ]
