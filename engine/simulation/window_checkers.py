"""What must hold of time windows, asked of a run's journal and of the group's state log.

The time of an event is the virtual millisecond at which it was handed to its writer, less the writer's lag;
so are the times that it notes. So all that a writer writes after a note of ``t`` is of ``t`` or later, and a
watermark of ``t`` was not written before ``t``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from pravega_lab.engine.simulation.group_model import LogModel
from pravega_lab.engine.simulation.history import Segment, source_of
from pravega_lab.engine.simulation.journal import Entry, Journal
from pravega_lab.protocol.names import parse_segment_name

READ = -1
STEADY_US = 3_000_000  # a store drops writers after 10 s; its clock may leap by 6 s at a restart
Lives = Mapping[tuple[str, int], Sequence[Entry]]


@dataclass
class Stream:
    """The stream as a recovered store holds it, by full names of segments."""

    ranges: dict[str, Segment] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    predecessors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    events: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # offset, event

    def is_before(self, segment: str, begin: Iterable[str]) -> bool:
        """Does a group that begins with these segments begin behind this one: at a newer one of its keys?"""
        its, others = self.ranges[segment], [self.ranges[name] for name in begin]
        return segment not in begin and any(o.segment_id > its.segment_id and o.overlaps(its) for o in others)


class Told(NamedTuple):
    """A window that a member was told, how far it was in its segments, and which life of it."""

    life: tuple[str, int]
    entry: Entry
    own: dict[str, int]
    is_new: bool  # the lower bound is not the one before


class Windows:
    """Asked after each entry of the state log has been folded; ``problems`` says what is not true."""

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
        """Hold the windows that were told at this place of the log against what it says."""
        while self._told and self._told[0].entry.about["at"] <= behind:
            told = self._told.popleft()
            if told.entry.about["at"] < behind:
                self.problems.append(
                    f"time window: {told.entry.who} was at {told.entry.about}, no entry's end"
                )
            elif told.is_new:
                self.problems += self._too_early(told, self._places(model, told))

    def _places(self, model: LogModel, told: Told) -> dict[str, int]:
        """Where the group will read on, as the log says, and the member itself of its own segments."""
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
        """Events that are still to be delivered, and of an earlier time than was promised."""
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
    """Which writers' lives noted times when."""

    def __init__(self, journal: Journal) -> None:
        self._notes: dict[str, list[tuple[int, int, int]]] = {}  # time_ms, asked us, answered us
        asked: dict[str, Entry] = {}
        for entry in journal.of("noting", "noted"):
            if entry.what == "noting":
                asked[entry.who] = entry
            else:
                note = (entry.about["time"], asked[entry.who].time_us, entry.time_us)
                self._notes.setdefault(entry.who, []).append(note)
        self.vouch = cache(self._vouch)

    def _vouch(self, life: str, lower_ms: int, now_us: int) -> bool:
        """Did this life note times steadily, from before ``lower_ms`` on, up to one of ``lower_ms`` or later?

        Then a watermark of that time waited for it, and all that it wrote before lies before the mark.
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
    """Predecessors that were read when a group began in the middle of a merge."""
    waiting = model.begun_waiting
    return [
        segment
        for successor, ids in waiting.items()
        for segment in stream.predecessors.get(successor, ())
        if parse_segment_name(segment).segment_id not in ids
    ]


def _last(told: Sequence[Told], marks: Sequence[int]) -> Iterator[str]:
    """Who has read everything, and waited a while, has passed the last watermark."""
    for one in told:
        if one.entry.about["is_last"] and one.entry.about["lower"] != (marks[-1] if marks else None):
            yield f"time window: {one.entry.who} had read all, and was told {one.entry.about} of {marks}"
