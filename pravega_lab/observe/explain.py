"""`explain`: a journal in sentences: what lags and since when, what a checkpoint waits for, what has no
owner.

It is a pure fold of a live journal or a recording. "For" counts back from the newest moment in the journal.
What was so before the journal began has lasted at least that long.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Protocol

from pravega_lab.client.reader_group.explain import Explanation, checkpoint_words, due_words
from pravega_lab.observe.durations import span
from pravega_lab.observe.group.fold import GroupHistory
from pravega_lab.observe.group.observations import GroupObservation
from pravega_lab.observe.group.rows import (
    CheckpointRow,
    Holding,
    ReaderRow,
    SegmentPlace,
    label_of,
    number_label,
)
from pravega_lab.observe.job.explain import explain_job
from pravega_lab.observe.job.fold import JobHistory
from pravega_lab.observe.journal.gap import Gap
from pravega_lab.observe.journal.observations import Observation, Trouble
from pravega_lab.observe.journal.troubles import take_trouble
from pravega_lab.observe.query.fold import BatchHistory, BatchRow
from pravega_lab.observe.stream.fold import SegmentHistory
from pravega_lab.portable.words import LISTED_MAX, listed, plural
from pravega_lab.protocol.names import short_name


class Explained(Protocol):
    """What `explain` needs of a journal."""

    until_ms: int | None

    @property
    def gap(self) -> Gap: ...

    def outline(self) -> Iterable[Observation]: ...


def explain(journal: Explained) -> Explanation:
    """Return sentences on the journal's reader groups, queries, jobs and streams at its end, the most
    pressing first.
    """
    groups, batches, segments, jobs = GroupHistory(), BatchHistory(), SegmentHistory(), JobHistory()
    troubles: dict[str, Trouble] = {}
    for observation in journal.outline():
        for fold in (groups, batches, jobs):
            fold.apply(observation)
        if not isinstance(observation, GroupObservation):  # who reads segments follows from the groups
            segments.apply(observation)
        take_trouble(troubles, observation)
    ends = (groups.now_ms, batches.now_ms, segments.now_ms, jobs.now_ms, journal.until_ms)
    now_ms = max((end for end in ends if end is not None), default=0)
    said = [f"Trouble, {span(now_ms - t.time_ms)} ago: {t.message.rstrip('.')}." for t in troubles.values()]
    for group in groups.groups:
        said += explain_group(groups, group, now_ms)
    for query in dict.fromkeys(start.query for start in batches.starts):
        said += explain_query(batches, query, now_ms)
    if not groups.groups and not batches.starts:
        said += _streams(segments)
    said += explain_job(jobs, now_ms) if jobs.lives else []
    said += [f"Not all was seen: {journal.gap}."] if journal.gap else []
    return Explanation(said or ["Nothing was observed yet."])


# ---- groups --------------------------------------------------------------------------------------


def explain_group(history: GroupHistory, group: str, now_ms: int) -> list[str]:
    """Return sentences on one reader group at the end of the history."""
    online = history.online(group)
    seen = history.groups[group]
    streams = listed(seen.streams)
    if online:
        fair = online[0].fair_share
        share = f"a fair share is {fair:.3g} segment{'' if fair == 1 else 's'}"
        head = f"{group} reads {streams} with {_count(online)} online; {share}."
    else:
        head = f"{group} reads {streams}, and no reader is online{_since_last(history, group, now_ms)}."
    said = [head]
    said += _reset(history, group, now_ms)
    said += [_nobody(bar, history, now_ms) for bar in history.orphans(group)[:LISTED_MAX]]
    said += _more(len(history.orphans(group)), "segments without a reader")
    said += _waiting(history, group, now_ms)
    said += [_checkpoint(row, history, now_ms) for row in history.running(group)]
    said += _behind(history, group, now_ms)
    return said


def _count(online: list[ReaderRow]) -> str:
    return f"{plural(len(online), 'reader')} ({listed(row.reader for row in online)})"


def _since_last(history: GroupHistory, group: str, now_ms: int) -> str:
    ends = [row.left_ms for row in history.readers if row.group == group and row.left_ms is not None]
    return f" for {span(now_ms - max(ends))}" if ends else ""


def _reset(history: GroupHistory, group: str, now_ms: int) -> list[str]:
    last = next((reset for reset in reversed(history.resets) if reset.group == group), None)
    if last is None or not last.is_begun:
        return []
    return [f"A reset of {group} has been under way for {span(now_ms - last.time_ms)}."]


def _nobody(bar: Holding, history: GroupHistory, now_ms: int) -> str:
    before = history.last_holder(bar)
    why = {
        "start": "since the group began",
        "released": f"since {before} gave it back",
        "left": f"since {before} went",
        "predecessors read": "since its predecessors were read",
    }[bar.why]
    return f"Nobody has {bar.label} of {bar.stream}, for {span(bar.length_ms(now_ms))}, {why}."


def _waiting(history: GroupHistory, group: str, now_ms: int) -> list[str]:
    ready = history.at_checkpoint(group)
    known = {(stream, segment_id) for (stream, _), ids in ready.items() for segment_id in ids}
    waiting = [place for place in history.current(group) if place.state == "waits"]
    said = [_waits(place, now_ms) for place in waiting if (place.stream, place.segment_id) not in known]
    due_ms = history.due.due_ms(group)
    due = due_words(history.due.interval_ms(group), None if due_ms is None else due_ms - now_ms)
    if any(not row.is_silent for row in history.running(group)):
        due = "one is under way"
    for (stream, before), segments in ready.items():
        names = [[f"{stream}/{short_name(i)}" for i in ids] for ids in (segments, before)]
        said.append(checkpoint_words(names[0], names[1], due))
    return said


def _waits(place: SegmentPlace, now_ms: int) -> str:
    waited = ", ".join(map(number_label, place.waits_for))
    return f"{place.label} of {place.stream} has waited {span(now_ms - place.since_ms)} for {waited}."


def _checkpoint(row: CheckpointRow, history: GroupHistory, now_ms: int) -> str:
    owed = []
    for reader in row.waiting[:LISTED_MAX]:
        lane = history.lane(row.group, reader)
        held = [] if lane is None else [label_of(segment_id) for _, segment_id in lane.held]
        owed.append(f"{reader} (has {listed(held, 2)})" if held else f"{reader} (has no segment)")
    waiting = listed(owed + [""] * (len(row.waiting) - len(owed)))
    return (
        f"Checkpoint {row.name} has waited {span(now_ms - row.asked_ms)} for {waiting}; {row.words} passed. "
        "A reader passes with the read after the one that shows it the checkpoint."
    )


def _behind(history: GroupHistory, group: str, now_ms: int) -> list[str]:
    places = [place for place in history.current(group) if place.unread_bytes]
    worst = sorted(places, key=lambda place: -(place.unread_bytes or 0))[:LISTED_MAX]
    said = []
    for place in worst:
        since = place.behind_since_ms
        age = "" if since is None else f", for {span(now_ms - since)}"
        owner = place.reader or "nobody"
        said.append(
            f"{place.label} of {place.stream} ({owner}) is at most {place.unread_bytes:,} bytes behind{age}."
        )
    return said + _more(len(places), "segments that are behind")


def _more(n: int, what: str) -> list[str]:
    return [f"And {n - LISTED_MAX:,} more {what}."] if n > LISTED_MAX else []


# ---- queries -------------------------------------------------------------------------------------


def explain_query(history: BatchHistory, query: str, now_ms: int) -> list[str]:
    """Return sentences on one streaming query at the end of the history."""
    start = next(s for s in reversed(history.starts) if s.query == query)
    end = next((e for e in reversed(history.ends) if (e.query, e.run) == (query, start.run)), None)
    rows = [row for row in history.rows if row.query == query]
    if end is not None:
        cause = f": {end.cause}" if end.cause else ""
        said = [f"{query} {_OUTCOMES.get(end.outcome, end.outcome)} {span(now_ms - end.time_ms)} ago{cause}."]
    else:
        said = [f"{query} has run for {span(now_ms - start.time_ms)} (run {start.run})."]
    said += [_running(row, now_ms) for row in rows[-1:] if row.end_ms is None]
    done = [row for row in rows if row.done is not None]
    said += _lag(done, now_ms)
    replays = [row.batch_id for row in rows if row.replayed]
    if replays:
        said.append(f"Done again after a restart: batch {listed(map(str, replays))}.")
    return said


_OUTCOMES = {"stopped": "was stopped", "failed": "failed", "killed": "was killed", "gone": "is gone, unseen,"}


def _running(row: BatchRow, now_ms: int) -> str:
    return f"Batch {row.batch_id} (attempt {row.attempt}) has run for {span(now_ms - row.start_ms)}."


def _lag(done: list[BatchRow], now_ms: int) -> list[str]:
    """Say how far the query lags, for how long something was unread after every batch, and where most of
    that is.
    """
    last = done[-1].done if done else None
    if last is None or last.lag_bytes is None:
        return []
    if last.lag_bytes == 0:
        return [f"After batch {last.batch_id} nothing was left to read."]
    behind = 0
    while behind < len(done) and (done[-1 - behind].done or last).lag_bytes:
        behind += 1
    since_ms = done[-behind].end_ms or now_ms
    said = (
        f"After batch {last.batch_id} it was {last.lag_bytes:,} bytes behind; there has been something left "
        f"for {span(now_ms - since_ms)}."
    )
    ahead = {
        place: offset - _cut(last.end_offset).get(place, 0)
        for place, offset in _cut(last.latest_offset).items()
    }
    worst = max(ahead, key=lambda place: ahead[place], default=None)
    if worst is None or ahead[worst] <= 0:
        return [said]
    return [said, f"Most of it is in {label_of(worst[1])} of {worst[0]}: {ahead[worst]:,} bytes."]


def _cut(text: str) -> dict[tuple[str, int], int]:
    """Return the offsets of our Spark source by (stream, segment id); {} for those of another source."""
    try:
        offset: Any = json.loads(text) if text else {}
        parts = offset if isinstance(offset, list) else [offset]
        return {
            (stream, int(segment)): int(at)
            for part in parts
            for stream, cut in _items(part)
            if "/" in stream
            for segment, at in _items(cut)
        }
    except (ValueError, TypeError, OverflowError, RecursionError):
        return {}


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    value = json.loads(value) if isinstance(value, str) and value.startswith("{") else value
    return value.items() if isinstance(value, dict) else ()


# ---- streams alone -------------------------------------------------------------------------------


def _streams(segments: SegmentHistory) -> list[str]:
    said = []
    for stream in segments.streams:
        rows = [row for row in segments.active if row.stream == stream]
        if stream in segments.sealed_streams:
            said.append(f"{stream} is sealed.")
        elif rows:
            said.append(f"{stream} has {plural(len(rows), 'active segment')}; nobody reads here.")
    return said
