"""The rules of time windows, checked from a run's journal and the state log of the group.

The time of an event is the virtual millisecond in which it was passed to its writer, minus the lag of the
writer. The times that a writer notes are measured in the same way. Every event that a writer writes after it
noted ``t`` is therefore of ``t`` or later, and a watermark of ``t`` was not written before ``t``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from pravega_lab.protocol.names import parse_segment_name

from ..kernel.journal import Entry, Journal
from ..store.history import Segment, source_of
from .model import LogModel

READ = -1
STEADY_US = 3_000_000  # a store drops writers after 10 s, and its clock may jump by 6 s at a restart
Lives = Mapping[tuple[str, int], Sequence[Entry]]


@dataclass
class Stream:
    """The stream as a recovered store has it, by the full names of segments."""

    ranges: dict[str, Segment] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    predecessors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    events: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # offset and event

    def is_before(self, segment: str, begin: Iterable[str]) -> bool:
        """Return whether a group that begins with the segments ``begin`` begins after this segment."""
        its, others = self.ranges[segment], [self.ranges[name] for name in begin]
        return segment not in begin and any(o.segment_id > its.segment_id and o.overlaps(its) for o in others)


class Told(NamedTuple):
    """A window that a member received, with its positions in its segments and its life."""

    life: tuple[str, int]
    entry: Entry
    own: dict[str, int]
    is_new: bool  # whether the lower bound has changed


class Windows:
    """Checks windows after each entry of the state log. ``problems`` has the violations."""

    def __init__(self, journal: Journal, stream: Stream, lives: Lives) -> None:
        self.problems: list[str] = []
        self._stream = stream
        self._vouchers = Vouchers(journal)
        lags = {entry.who: entry.about["ms"] for entry in journal.of("lag")}
        self._of_ms = {
            event: entry.time_us // 1000 - lags[entry.who.rpartition(".")[0]]
            for entry in journal.of("write")
            for event in entry.about["events"]
        }
        told = [one for life, entries in lives.items() for one in self._windows(life, entries)]
        self._told = deque(sorted(told, key=lambda one: one.entry.about["at"]))
        [marks] = [entry.about["lowers"] for entry in journal.of("marks")]
        self.problems += _last(told, marks)

    def _windows(self, life: tuple[str, int], entries: Sequence[Entry]) -> Iterator[Told]:
        own: dict[str, int] = {}
        lower = None
        for entry in entries:
            if entry.what == "got":
                own[entry.about["segment"]] = entry.about["behind"]
            elif entry.what == "window":
                now, upper = entry.about["lower"], entry.about["upper"]
                if lower is not None and (now is None or now < lower):
                    self.problems.append(f"time window: {entry.who} was told {now} after {lower}")
                if now is not None and upper is not None and upper <= now:
                    self.problems.append(f"time window: {entry.who} was told {now} to {upper}")
                yield Told(life, entry, dict(own), now is not None and now != lower)
                lower = now

    def look(self, model: LogModel, behind: int) -> None:
        """Check the windows that were received at this offset of the log against the model."""
        while self._told and self._told[0].entry.about["at"] <= behind:
            told = self._told.popleft()
            if told.entry.about["at"] < behind:
                self.problems.append(
                    f"time window: {told.entry.who} was at {told.entry.about}, no entry's end"
                )
            elif told.is_new:
                self.problems += self._too_early(told, self._places(model, told))

    def _places(self, model: LogModel, told: Told) -> dict[str, int]:
        """Return where the group will continue to read each segment.

        The log says it for other members, and the member itself for its own segments.
        """
        places = dict.fromkeys((*model.completed, *_begun_behind(model, self._stream)), READ)
        places |= model.unassigned
        for reader, held in model.stored.items():
            is_own = reader == told.life[0]
            for segment, offset in held.items():
                further = told.own.get(segment, offset) if is_own else model.reported.get(segment, offset)
                places[segment] = READ if READ in (further, offset) else max(further, offset)
        begin = [*model.begins[model.generation], *_begun_behind(model, self._stream)]
        for segment in self._stream.ranges:
            if segment not in places:
                places[segment] = READ if self._stream.is_before(segment, begin) else 0
        return places

    def _too_early(self, told: Told, places: Mapping[str, int]) -> Iterator[str]:
        """Yield undelivered events with a time before the promised one."""
        lower = told.entry.about["lower"]
        for segment, offset in places.items():
            events = self._stream.events.get(segment, [])
            first = len(events) if offset == READ else bisect_left(events, (offset, ""))
            for at, event in events[first:]:
                time_ms = self._of_ms[event]
                if time_ms < lower and self._vouchers.vouch(source_of(event), lower, told.entry.time_us):
                    yield (
                        f"time window: {told.entry.who} was told that it is {lower}, and {segment} at {at} "
                        f"is of {time_ms} and unread"
                    )
                    return


class Vouchers:
    """The times that each life of a writer noted."""

    def __init__(self, journal: Journal) -> None:
        self._notes: dict[str, list[tuple[int, int, int]]] = {}  # noted time in ms; request and reply in us
        asked: dict[str, Entry] = {}
        for entry in journal.of("noting", "noted"):
            if entry.what == "noting":
                asked[entry.who] = entry
            else:
                note = (entry.about["time"], asked[entry.who].time_us, entry.time_us)
                self._notes.setdefault(entry.who, []).append(note)
        self.vouch = cache(self._vouch)

    def _vouch(self, life: str, lower_ms: int, now_us: int) -> bool:
        """Return whether this life noted times steadily, from before ``lower_ms`` up to ``lower_ms`` or
        later.

        A watermark of that time then waited for this writer, and everything that it wrote earlier is before
        the mark.
        """
        asked_us = None
        for time_ms, asked, answered in self._notes.get(life, ()):
            if answered <= lower_ms * 1000:
                asked_us = asked
                continue
            if answered > now_us or asked_us is None or answered - asked_us > STEADY_US:
                return False
            if time_ms >= lower_ms:
                return True
            asked_us = asked
        return False


def _begun_behind(model: LogModel, stream: Stream) -> list[str]:
    """Return predecessors that were already read when a group began in the middle of a merge."""
    waiting = model.begun_waiting
    return [
        segment
        for successor, ids in waiting.items()
        for segment in stream.predecessors.get(successor, ())
        if parse_segment_name(segment).segment_id not in ids
    ]


def _last(told: Sequence[Told], marks: Sequence[int]) -> Iterator[str]:
    """Yield members that read everything and waited, but did not pass the last watermark."""
    for one in told:
        if one.entry.about["is_last"] and one.entry.about["lower"] != (marks[-1] if marks else None):
            yield f"time window: {one.entry.who} had read all, and was told {one.entry.about} of {marks}"
