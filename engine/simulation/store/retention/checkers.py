"""The rules of retention, checked from the surveys of the storage in the journal (pravega.md A7).

Runs without a retention policy pass all of them. Ages are counted from the time at which a client wrote an
event, which is before the store recorded it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..history import History, Place, Segment, Survey

EVENT_HEADER_BYTES = 8
SLACK_MS = 600
"""What a survey, a slow disk and a restart may add to two periods."""


def minimum_is_kept(history: History) -> list[str]:
    """No event is truncated that is younger than the minimum, and the minimum of bytes is left."""
    policy, problems = history.policy, []
    if policy is None:
        return []
    for before, survey in history.survey_pairs():
        gone = list(_gone(history, before, survey))
        for place, event in gone if policy.by_time else []:
            age_ms = (survey.time_us - history.write_us[event]) / 1000
            if age_ms < policy.minimum - 1:
                problems.append(f"{event} at {place} was truncated at an age of {age_ms:g} ms")
        left = sum(length - start for start, length in survey.segments.values())
        if gone and not policy.by_time and left < policy.minimum:
            problems.append(f"{left} bytes are left after {gone[-1][0]} was truncated")
    return problems


def subscribers_are_waited_for(history: History) -> list[str]:
    """What a subscriber has not released is only truncated while some subscriber exceeds the maximum."""
    problems = []
    for before, survey in history.survey_pairs():
        if any(_is_too_slow(history, group, before, survey) for group in history.subscribing):
            continue
        for group, seq in history.subscribed.items():
            if seq > before.seq:
                continue
            asked = history.latest_release(history.asked, group, survey.seq)
            for place, event in _gone(history, before, survey):
                if not _is_before(history, place, asked):
                    problems.append(f"{event} at {place} was truncated, and {group} had released {asked}")
    return problems


def _is_too_slow(history: History, group: str, before: Survey, survey: Survey) -> bool:
    policy = history.policy
    if policy is None or history.subscribing[group] > survey.seq:
        return False
    done = history.latest_release(history.released, group, before.seq)
    unread = [
        (place, event)
        for place, event in history.archive.items()
        if history.first_seen_us[place] <= survey.time_us and not _is_before(history, place, done)
    ]
    if policy.by_time:
        return any((survey.time_us - history.write_us[e]) / 1000 >= policy.maximum - 1 for _, e in unread)
    return sum(EVENT_HEADER_BYTES + len(e) for _, e in unread) >= policy.maximum


def maximum_is_kept(history: History) -> list[str]:
    """Long after the last write, nothing is left that is older than the policy by time allows."""
    policy = history.policy
    if policy is None or not policy.by_time or not history.surveys or history.sealed_us is None:
        return []
    limit_ms = policy.maximum if history.subscribing else policy.minimum
    last = [survey for survey in history.surveys if survey.time_us <= history.sealed_us][-1]
    oldest_us = last.time_us - 1000 * (limit_ms + 2 * policy.period_ms + SLACK_MS)
    return [
        f"{event} at {place} is left, {last.time_us - history.first_seen_us[place]} us after it was stored"
        for place, event in history.archive.items()
        if history.first_seen_us[place] < oldest_us and _is_left(last, place)
    ]


def head_never_moves_back(history: History) -> list[str]:
    """No segment begins earlier than before, or comes back, in the storage and in what clients are told."""
    problems = []
    stored = [{s: start for s, (start, _) in survey.segments.items()} for survey in history.surveys]
    for what, observed in (("the storage", stored), ("the head", history.heads)):
        last: dict[int, int] = {}
        gone: set[int] = set()
        for positions in observed:
            gone |= last.keys() - positions.keys()
            problems += [f"{what}: segment {s} is back" for s in sorted(gone & positions.keys())]
            problems += [
                f"{what}: segment {s} went back from {last[s]} to {offset}"
                for s, offset in positions.items()
                if 0 <= offset < last.get(s, 0)
            ]
            last = dict(positions)
    return problems


def head_is_where_the_bytes_begin(history: History) -> list[str]:
    """At the end, the storage has nothing that is before the head, and everything from there."""
    if history.policy is None or not history.heads:
        return []
    head, problems = history.heads[-1], []
    for segment_id, stored in history.stored_segments.items():
        offset = head.get(segment_id)
        if offset is not None and 0 <= offset != stored.start:
            problems.append(f"segment {segment_id} begins at {stored.start}, and the head is {offset}")
        if offset is None and _is_before(history, Place(segment_id, 0), head):
            problems.append(f"segment {segment_id} is left, and the head {head} is after it")
    return problems


def _gone(history: History, before: Survey, survey: Survey) -> Iterator[tuple[Place, str]]:
    """Yield the events that were truncated between two surveys."""
    for segment_id, (start, length) in before.segments.items():
        now = survey.segments.get(segment_id, (length, length))[0]
        if now > start:
            for place, event in history.archive_of(segment_id):
                if start <= place.offset < now:
                    yield place, event


def _is_left(survey: Survey, place: Place) -> bool:
    start, _ = survey.segments.get(place.segment_id, (place.offset + 1, 0))
    return place.offset >= start


def _is_before(history: History, place: Place, cut: Mapping[int, int] | None) -> bool:
    """Return whether an event is before a cut. Without a cut, nothing is."""
    if cut is None:
        return False
    offset = cut.get(place.segment_id)
    if offset is not None:
        return offset < 0 or place.offset < offset
    return any(s > place.segment_id and _overlap(history, s, place.segment_id) for s in cut)


def _overlap(history: History, one: int, other: int) -> bool:
    ranges: dict[int, Segment] = history.ranges
    return one in ranges and other in ranges and ranges[one].overlaps(ranges[other])
