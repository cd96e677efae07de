"""The rules of reader groups, checked from a run's journal and the state log. One function per rule.

Each yields violations as text that begins with the name of the rule. `check` checks all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from pravega_lab.client.reader_group.core.format import GroupFormat
from pravega_lab.protocol.metadata.reader_group import Update
from pravega_lab.protocol.names import segment_name, split_scoped_name

from ..kernel.journal import Entry, Journal
from ..store.history import Segment, key_of, source_of
from .model import LogModel, Membership, Tenure
from .window_checkers import Stream, Windows

READ = -1


def check(
    journal: Journal, log: list[tuple[int, bytes]], stream_name: str, unchecked: str | None = None
) -> list[str]:
    """Return all violations. ``log`` has the entries of the state log, each with the offset after it.

    ``unchecked`` is another stream of the group, whose segments are left out.
    """
    model, stream = LogModel(), _stream(journal, stream_name)
    lives = _lives(journal)
    windows = Windows(journal, stream, lives)
    for behind, data in log:
        for update in GroupFormat().read(data):
            if unchecked is None:
                model.take(update, behind)
            elif not getattr(update, "segment", "").startswith(f"{unchecked}/"):
                model.take(_without(unchecked, update), behind)
        windows.look(model, behind)
    problems = list(model.problems)
    problems += _deliveries(model, stream, lives)
    problems += _order(model, stream)
    problems += _whole_cuts(model, stream, journal)
    problems += _consistent_cuts(model, stream, lives)
    problems += _resets(model, journal)
    problems += _everything(model, stream)
    problems += _balance(journal)
    problems += twin_problems(journal)
    problems += windows.problems
    return problems


def _stream(journal: Journal, stream_name: str) -> Stream:
    def name(segment_id: int) -> str:
        return segment_name(*split_scoped_name(stream_name), segment_id)

    found = Stream()
    for entry in journal.of("epoch"):
        for segment_id, low, high in entry.about["segments"]:
            found.ranges[name(segment_id)] = Segment(segment_id, low, high)
    for entry in journal.of("successors"):
        for segment_id, _, _, before in entry.about["successors"]:
            found.predecessors[name(segment_id)] = tuple(map(name, before))
    for entry in journal.of("stored"):
        events = entry.about["events"]
        end = events[-1][0] + 8 + len(events[-1][1].encode()) if events else entry.about["start"]
        found.lengths[name(entry.about["segment"])] = end
        found.events[name(entry.about["segment"])] = [(offset, event) for offset, event in events]
    return found


def _without(stream: str, update: Update) -> Update:
    """Return an update of the state log without what it says of the segments of a stream."""
    named = {field.name: getattr(update, field.name) for field in fields(update)}
    changes: dict[str, Any] = {n: _others(stream, of) for n, of in named.items() if isinstance(of, dict)}
    return replace(update, **changes)


def _others(stream: str, of: Mapping[Any, Any]) -> dict[Any, Any]:
    return {
        key: _others(stream, value) if isinstance(value, dict) else value
        for key, value in of.items()
        if not getattr(key, "segment", key).startswith(f"{stream}/")
    }


def _lives(journal: Journal) -> dict[tuple[str, int], list[Entry]]:
    """Return the replies to each membership, by reader and offset of its entry. A membership may have several
    lives.
    """
    found: dict[tuple[str, int], list[Entry]] = {}
    current: dict[str, list[Entry]] = {}
    for entry in journal.of("member", "got", "at-checkpoint", "window", "closed"):
        if entry.what == "member":
            key = (entry.who.rpartition(".")[0], entry.about["at"])
            current[entry.who] = found.setdefault(key, [])
        else:
            current[entry.who].append(entry)
    return found


def _deliveries(model: LogModel, stream: Stream, lives: dict[tuple[str, int], list[Entry]]) -> Iterator[str]:
    """Each member receives the events of its segments without gaps or duplicates, up to where it released
    them.
    """
    known = {(member.reader, member.at): member for member in model.members}
    for key, entries in lives.items():
        if key not in known:
            yield f"membership: {key} is not in the state log"
            continue
        was_closed = any(entry.what == "closed" for entry in entries)
        by_segment: dict[str, list[Entry]] = {}
        for entry in entries:
            if entry.what == "got":
                by_segment.setdefault(entry.about["segment"], []).append(entry)
        yield from _member_deliveries(known[key], stream, by_segment, was_closed)


def _member_deliveries(
    member: Membership, stream: Stream, got: dict[str, list[Entry]], was_closed: bool
) -> Iterator[str]:
    for tenure in member.tenures:
        entries, at = got.setdefault(tenure.segment, []), tenure.begin
        while (
            entries
            and entries[0].about["offset"] == at
            and not (tenure.how == "released" and at == tenure.end)
        ):
            at = entries.pop(0).about["behind"]
        problem = _end_problem(tenure, at, stream.lengths[tenure.segment], was_closed)
        if problem:
            yield f"delivery: {member.reader} (at {member.at}) {problem}: {tenure}"
    for segment, entries in got.items():
        if entries:
            yield (
                f"delivery: {member.reader} (at {member.at}) was handed {segment} at "
                f"{entries[0].about['offset']}, which follows on nothing it held: {member.tenures}"
            )


def _end_problem(tenure: Tenure, at: int, length: int, was_closed: bool) -> str | None:
    """Return what is wrong if a reader had read up to ``at`` when the tenure ended."""
    is_all = at in (READ, length)
    if tenure.how == "completed":
        return None if is_all else f"completed at {at} what has {length} bytes"
    if tenure.how == "released" and tenure.end != at and not (tenure.end == READ and is_all):
        return f"released at {tenure.end}, had come to {at}"
    if tenure.how == "removed" and tenure.end is not None:
        if tenure.end == READ:
            return None if is_all else f"gone as having read all, had come to {at}"
        if tenure.end > at or tenure.end < tenure.begin or (was_closed and tenure.end != at):
            return f"gone at {tenure.end}, had come to {at}"
    return None


def _order(model: LogModel, stream: Stream) -> Iterator[str]:
    """No reader gets a segment before all its predecessors are completed."""
    for segment, completed, begin in model.acquired:
        unread = [p for p in stream.predecessors.get(segment, ()) if p not in completed]
        waits = [p for p in unread if not stream.is_before(p, begin)]
        if waits and segment not in begin:
            yield f"order: {segment} was given out before {waits} were completed"


def _whole_cuts(model: LogModel, stream: Stream, journal: Journal) -> Iterator[str]:
    """Every completed checkpoint, as stored and as returned, covers each key once."""
    before = {p for predecessors in stream.predecessors.values() for p in predecessors}
    for name, positions, completed in model.complete_checkpoints:
        over = {s: READ for s in completed if s not in before}  # the last segments of the sealed stream
        if not _covers(stream, {**over, **positions}):
            yield f"whole cut: checkpoint {name} in the state log does not cover the keys once: {positions}"
    for entry in journal.of("checkpointed", "reset"):
        positions = entry.about["positions"]
        if not _covers(stream, positions):
            yield f"whole cut: {entry.who} was handed {positions}, which does not cover the keys once"


def _covers(stream: Stream, positions: dict[str, int]) -> bool:
    segments = sorted((stream.ranges[name] for name in positions), key=lambda s: s.low)
    begun = [stream.ranges[name] for name, at in positions.items() if at >= 0]
    reached = 0.0
    for segment in segments:
        if segment.low > reached:
            break
        reached = max(reached, segment.high)
    overlap = any(a.overlaps(b) for a in begun for b in begun if a.segment_id < b.segment_id)
    return not overlap and (not positions or reached >= 1.0)


def _consistent_cuts(
    model: LogModel, stream: Stream, lives: dict[tuple[str, int], list[Entry]]
) -> Iterator[str]:
    """A member reports for a checkpoint exactly the positions before the checkpoint."""
    for member in model.members:
        entries = lives.get((member.reader, member.at), [])
        for name, positions, begins in member.reports:
            marks = [
                n for n, e in enumerate(entries) if e.what == "at-checkpoint" and e.about["name"] == name
            ]
            if "_SILENT_" in name or not marks:
                continue
            handed = {e.about["segment"]: e.about["behind"] for e in entries[: marks[-1]] if e.what == "got"}
            for segment, begin in begins.items():
                at = positions.get(segment)
                come = max(handed.get(segment, READ), begin)  # the member may have held the segment twice
                # A segment that another member had read to its end is acquired so.
                is_read = come == stream.lengths[segment] or begin == READ
                fits = at == come or (at == READ and is_read)
                if not fits:
                    yield f"consistent cut: {member.reader} was at {come}, not {at}, in {segment} at {name}"


def _resets(model: LogModel, journal: Journal) -> Iterator[str]:
    """A successful reset begins at the requested cut."""
    asked: dict[int, list[dict[str, int]]] = {}
    for entry in journal.of("reset"):
        asked.setdefault(entry.about["generation"], []).append(entry.about["positions"])
    for generation, begin in model.begins.items():
        fits = [cut for cut in asked.get(generation, []) if _begins_at(begin, cut)]
        if generation > 0 and not fits:
            yield f"reset: generation {generation} begins at {begin}, asked was {asked.get(generation)}"


def _begins_at(begin: dict[str, int], cut: dict[str, int]) -> bool:
    """Return whether the unread part begins at the cut. Successors may replace a segment that was read to its
    end.
    """
    return all(begin.get(name, READ) == at for name, at in cut.items()) and all(
        cut.get(name, 0) == at for name, at in begin.items()
    )


def _everything(model: LogModel, stream: Stream) -> Iterator[str]:
    """At the end all is read: every segment since the last reset was completed."""
    if model.unassigned or model.future or any(model.stored.values()):
        yield f"everything read: left are {model.unassigned}, {model.stored}, {model.future}"
    begin = [stream.ranges[name] for name in model.begins[model.generation]]
    for name, segment in stream.ranges.items():
        older = [b for b in begin if b.overlaps(segment)]
        is_after = bool(older) and all(b.segment_id <= segment.segment_id for b in older)
        if is_after and name not in model.completed:
            yield f"everything read: {name} was never completed"


def is_fair(counts: Sequence[int], free: int) -> bool:
    """Return whether the numbers of segments of all members differ by at most one, and none is unassigned."""
    return not free and max(counts, default=0) - min(counts, default=0) <= 1


def _balance(journal: Journal) -> Iterator[str]:
    """Left alone, members hold numbers of segments that differ by at most one after a checkpoint.

    With members that follow Java's rule, this holds after the last of several checkpoints.
    """
    for entry in list(journal.of("shares"))[-1:]:
        counts, free = entry.about["counts"], entry.about["free"]
        if not is_fair(counts, free):
            yield f"balance: {counts} segments per reader and {free} of no reader, after a checkpoint"


def twin_problems(journal: Journal) -> Iterator[str]:
    """Yield what is wrong with the events of the second stream.

    Of each life of a writer and each key, the stored events are the first ones that it wrote, once and in
    their order, and at least those that it flushed.
    """
    written: dict[tuple[str, str], list[str]] = {}
    flushed: dict[tuple[str, str], int] = {}
    stored: dict[tuple[str, str], list[str]] = {}
    for entry in journal.of("twin-wrote", "twin-flushed", "twin-stored"):
        if entry.what == "twin-wrote":
            written.setdefault((entry.who, key_of(entry.about["event"])), []).append(entry.about["event"])
        elif entry.what == "twin-flushed":
            flushed |= {place: len(events) for place, events in written.items() if place[0] == entry.who}
        else:  # a key is in one segment of each epoch, and later ones have higher ids
            for event in entry.about["events"]:
                stored.setdefault((source_of(event), key_of(event)), []).append(event)
    for place in {**written, **stored}:
        found, expected = stored.get(place, []), written.get(place, [])
        if found != expected[: len(found)] or len(found) < flushed.get(place, 0):
            yield f"second stream: {found} where {expected} were written, {flushed.get(place, 0)} flushed"
