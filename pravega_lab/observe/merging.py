"""`merge`: several journals as one, on one clock: an observer here and one at the cluster, a stream and a
query.

Clocks of different machines differ. Two observers of one state log saw the same entries, each within a
stated time after it was written. So the difference of their clocks lies in the intersection of as many
intervals. Where a clock was set, the difference is another one from the next entry on. Everything else is
assumed to have the same clock, and the result says that this is uncertain.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from heapq import merge as merge_sorted
from math import inf
from operator import attrgetter
from statistics import median
from typing import Any, TypeAlias

from pravega_lab.errors import BadInputError
from pravega_lab.observe.group.observations import GroupObservation, GroupSeen, GroupUpdated
from pravega_lab.observe.journal.gap import Gap
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentOpened,
    SegmentSealed,
    SourceMerged,
    StreamDeleted,
    StreamScaled,
    StreamSealed,
)

GIVEN = "given"
REFERENCE = "its clock is the one of all"
ASSUMED = "taken as the same clock: nothing in them tells how far theirs are apart"
_Log: TypeAlias = tuple[str, str]  # a group, and its id: another group may have the name later
_Place: TypeAlias = tuple[_Log, int]  # offset in a log
_Seen: TypeAlias = tuple[int, int | None, int]  # when, how much earlier it may have been, and seq
_Both: TypeAlias = tuple[_Seen, _Seen]  # one entry as the first journal and another one saw it
SET_MS = 1_000  # clocks do not drift so far between two entries: one was set


@dataclass(frozen=True, slots=True)
class Clock:
    """What to add to a journal's times, and by how much that may be wrong (``None``: not known)."""

    moved_ms: int
    uncertain_ms: int | None
    how: str


def merge(journals: Sequence[Journal], *, clocks: Mapping[str, tuple[int, int]] | None = None) -> Journal:
    """Return one recording of all that the journals hold now, in the order of one clock, the first
    journal's.

    What several journals have is in the recording once: an entry of a group's log, a fact of a stream (when
    the first of them saw it), and every observation that is the same, as in two recordings of one observer. A
    `SourceMerged` for each journal says how its clock was moved, and how uncertain that is. There is another
    one where a clock was set.

    Args:
        clocks: For the ``source`` of a journal: ms to add to its times, and by how much that may be wrong.
            Other clocks follow from the entries of state logs that both journals saw; without such entries
            they are assumed to be equal.

    Raises:
        BadInputError: There is no journal, or ``clocks`` names a source that none of them has.
    """
    if not journals:
        raise BadInputError("merge() needs at least one journal")
    strangers = [source for source in clocks or {} if source not in [j.source for j in journals]]
    if strangers:
        raise BadInputError(
            f"merge(clocks=...): no journal has the source {strangers[0]!r}; they have "
            f"{', '.join(repr(j.source) for j in journals)}"
        )
    contents = [journal.since() for journal in journals]
    logs = [list(_placed(part)) for part in contents]
    entries = [_entries(log) for log in logs]
    found = [_clocks(n, journal.source, entries, clocks or {}) for n, journal in enumerate(journals)]
    parts = zip(journals, _logs_once(logs), found, strict=True)
    moved = [_moved(journal.source, part, of) for journal, part, of in parts]
    merged = Journal(" + ".join(journal.source for journal in journals), capacity=2**62, live=False)
    start_ms = min((o.time_ms for part in moved for _, o in part), default=0)
    merged.extend(_said(start_ms, j.source, of[0][1]) for j, of in zip(journals, found, strict=True))
    merged.extend(_facts_once(moved))
    lasts = [of[-1][1] for of in found]
    untils = [j.until_ms + c.moved_ms for j, c in zip(journals, lasts, strict=True) if j.until_ms is not None]
    merged.until_ms = max(untils, default=None)
    merged.adopt(_gap(journals))
    return merged


def _gap(journals: Iterable[Journal]) -> Gap:
    gaps = [journal.gap for journal in journals]
    reasons = dict.fromkeys(gap.reason for gap in gaps if gap.reason)
    return Gap(sum(gap.facts for gap in gaps), sum(gap.samples for gap in gaps), "; ".join(reasons))


# ---- clocks --------------------------------------------------------------------------------------


def _clocks(
    n: int, source: str, entries: Sequence[dict[_Place, _Seen]], given: Mapping[str, tuple[int, int]]
) -> list[tuple[int, Clock]]:
    """Return the clocks of a journal, each with the ``seq`` from which on it holds."""
    if source in given:
        return [(0, Clock(*given[source], GIVEN))]
    if n == 0:
        return [(0, Clock(0, 0, REFERENCE))]
    ours, theirs = entries[0], entries[n]
    shared = [(ours[place], theirs[place]) for place in theirs if place in ours]
    if not shared:
        return [(0, Clock(0, None, ASSUMED))]
    return [(part[0][1][2], _from_shared(part)) for part in _between_settings(shared)]


def _between_settings(shared: Sequence[_Both]) -> list[list[_Both]]:
    """Split the entries, in the order of the other journal, where one of the clocks was set."""
    parts: list[list[_Both]] = [[]]
    low, high = -inf, inf
    for both in shared:
        (seen, uncertain, _), (other, late, _) = both
        least = -inf if uncertain is None else seen - uncertain - other
        most = inf if late is None else seen - other + late
        if least - high > SET_MS or low - most > SET_MS:
            parts.append([])
            low, high = -inf, inf
        if max(low, least) <= min(high, most):  # else a clock drifts
            low, high = max(low, least), min(high, most)
        parts[-1].append(both)
    return parts


def _said(time_ms: int, source: str, clock: Clock) -> SourceMerged:
    return SourceMerged(
        time_ms=time_ms, source=source, moved_ms=clock.moved_ms, uncertain_ms=clock.uncertain_ms,
        how=clock.how,
    )  # fmt: skip


def _from_shared(shared: Sequence[_Both]) -> Clock:
    """Return a clock from entries that both saw: each was written within [seen - uncertain, seen] of
    either clock.
    """
    how = f"from {len(shared):,} entries of a state log that both saw"
    lows = [seen - uncertain - other for (seen, uncertain, _), (other, *_) in shared if uncertain is not None]
    highs = [seen - other + late for (seen, *_), (other, late, _) in shared if late is not None]
    if lows and highs and max(lows) <= min(highs):
        low, high = max(lows), min(highs)
        return Clock((low + high) // 2, (high - low + 1) // 2, how)
    moved_ms = round(median(ours[0] - theirs[0] for ours, theirs in shared))
    if lows and highs:  # they contradict each other
        uncertain_ms = max(max(highs) - moved_ms, moved_ms - min(lows))
        return Clock(moved_ms, uncertain_ms, f"{how}; the clocks drift")
    return Clock(moved_ms, None, f"{how}, none of them as it was written")


def _entries(log: Iterable[tuple[_Place | None, Observation]]) -> dict[_Place, _Seen]:
    """Return when each entry of a state log was seen, by its place."""
    found: dict[_Place, _Seen] = {}
    for place, observation in log:
        if place is not None and isinstance(observation, GroupUpdated):
            found.setdefault(place, (observation.time_ms, observation.uncertain_ms, observation.seq))
    return found


def _placed(observations: Sequence[Observation]) -> Iterator[tuple[_Place | None, Observation]]:
    """Yield each observation with its place in a log."""
    lives: list[tuple[str, int] | None] = []
    ids: dict[tuple[str, int], str] = {}
    last: dict[str, tuple[int, int]] = {}
    for o in observations:
        if not isinstance(o, GroupObservation) or o.revision < 0:
            lives.append(None)
            continue
        life, before = last.get(o.group, (0, -1))
        life += o.revision < before  # offsets only grow in one log: this is another log
        last[o.group] = (life, o.revision)
        lives.append((o.group, life))
        if isinstance(o, GroupSeen):
            ids.setdefault((o.group, life), o.group_id)
    for life_of, o in zip(lives, observations, strict=True):
        if life_of is None or not isinstance(o, GroupObservation):
            yield None, o
        else:
            yield ((life_of[0], ids.get(life_of, "")), o.revision), o


# ---- contents ------------------------------------------------------------------------------------


def _logs_once(logs: Sequence[Sequence[tuple[_Place | None, Observation]]]) -> list[list[Observation]]:
    """Keep of each log the journal that begins earliest in it, and of the others what they saw after its
    end.
    """
    spans = [_spans(log) for log in logs]
    kept_from: list[dict[_Log, int]] = [{} for _ in logs]
    for log in dict.fromkeys(log for span in spans for log in span):
        covered = -1
        for n in sorted((n for n in range(len(spans)) if log in spans[n]), key=lambda n: spans[n][log][0]):
            kept_from[n][log] = covered
            covered = max(covered, spans[n][log][1])
    return [
        [o for place, o in logs[n] if place is None or place[1] > kept_from[n][place[0]]]
        for n in range(len(logs))
    ]


def _spans(log: Iterable[tuple[_Place | None, Observation]]) -> dict[_Log, tuple[int, int]]:
    """Return the first and the last offset seen of each log."""
    found: dict[_Log, tuple[int, int]] = {}
    for place, _ in log:
        if place is not None:
            begin, end = found.get(place[0], (place[1], place[1]))
            found[place[0]] = (min(begin, place[1]), max(end, place[1]))
    return found


def _moved(
    source: str, observations: Iterable[Observation], clocks: Sequence[tuple[int, Clock]]
) -> list[tuple[int, Observation]]:
    """Move the times to the one clock. A late report of the past stays where it was, so the order holds."""
    found: list[tuple[int, Observation]] = []
    (_, clock), *later = clocks
    for o in observations:
        was_set = False
        while later and o.seq >= later[0][0]:
            (_, clock), was_set = later.pop(0), True
        time_ms = o.time_ms + clock.moved_ms
        at_ms = max(time_ms, found[-1][0]) if found else time_ms
        if was_set:
            found.append((at_ms, _said(time_ms, source, clock)))
        found.append((at_ms, replace(o, time_ms=time_ms) if clock.moved_ms else o))
    return found


def _facts_once(moved: Sequence[Iterable[tuple[int, Observation]]]) -> Iterator[Observation]:
    """Yield the observations in the order of their times, without those that an earlier one of another
    journal says, too.
    """
    first: dict[Hashable, int] = {}  # the journal that has it first
    newest: list[dict[str, int]] = [{} for _ in moved]
    numbered = [[(at_ms, n, o) for at_ms, o in part] for n, part in enumerate(moved)]
    for _, n, o in merge_sorted(*numbered, key=lambda dated: dated[0]):
        if isinstance(o, SegmentOpened):
            newest[n][o.stream] = max(o.segment_id, newest[n].get(o.stream, -1))
        if first.setdefault(_fact(o, newest[n]), n) == n:
            yield o


def _fact(o: Observation, newest_segments: Mapping[str, int]) -> Hashable:
    """Return what is equal for two observers of one fact. Segments of a stream that was deleted and created
    again have other ids, so that the newest one says which of the two streams ended.
    """
    match o:
        case SegmentOpened() | SegmentSealed():
            return o.kind, o.stream, o.segment_id
        case StreamScaled():
            return o.kind, o.stream, o.created
        case StreamSealed() | StreamDeleted():
            return o.kind, o.stream, newest_segments.get(o.stream)
    kind: Any = type(o)  # hashable, though mypy doubts it
    return kind, _values(kind)(o)


@cache
def _values(kind: Any) -> attrgetter[Any]:
    """Return what gets all fields of an observation except ``seq``, which is its place in one journal."""
    return attrgetter(*(field.name for field in fields(kind) if field.name != "seq"))
