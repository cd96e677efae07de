"""Several journals on one clock: how far clocks are apart is bounded and said; nothing stands twice."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe import merge
from pravega_lab.observe.group.entries import read_entry
from pravega_lab.observe.group.fold import fold_groups
from pravega_lab.observe.group.tracker import GroupTracker
from pravega_lab.observe.journal.gap import Gap
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import (
    Note,
    Observation,
    SegmentMeasured,
    SegmentOpened,
    SegmentSealed,
    SourceMerged,
    StreamDeleted,
    StreamScaled,
    StreamSealed,
)
from pravega_lab.protocol.metadata import reader_group as rg
from tests.client.reader_group.logs import session_of_seed
from tests.observe.group.logs import GROUP, Logged, check, init, log_of, told


def journal_of(source: str, observations: list[Observation]) -> Journal:
    journal = Journal(source, live=False)
    journal.extend(observations)
    return journal


def seen(log: list[Logged], *, late_ms: int, clock_ms: int, uncertain_ms: int | None) -> list[Observation]:
    """By an observer whose clock is ``clock_ms`` ahead; each entry ``late_ms`` after it was written."""
    tracker = GroupTracker(GROUP)
    return [
        o
        for entry in log
        for o in tracker.take(
            read_entry(entry.data),
            entry.end,
            now_ms=entry.end + late_ms + clock_ms,
            uncertain_ms=uncertain_ms,
        )
    ]


LOG = log_of([u] for u in session_of_seed(3).log)


def clocks(merged: Journal) -> list[SourceMerged]:
    return [o for o in merged.since() if isinstance(o, SourceMerged)]


def test_two_observers_of_one_log_find_how_far_their_clocks_are_apart() -> None:
    here = journal_of("here", seen(LOG, late_ms=4, clock_ms=0, uncertain_ms=6))
    there = journal_of("there", seen(LOG, late_ms=2, clock_ms=5_000, uncertain_ms=3))
    reference, other = clocks(merge([here, there]))
    assert (reference.source, reference.moved_ms, reference.uncertain_ms) == ("here", 0, 0)
    assert other.uncertain_ms is not None
    assert abs(other.moved_ms + 5_000) <= other.uncertain_ms  # the truth lies within what is stated
    assert other.uncertain_ms <= 5
    assert "entries of a state log that both saw" in other.how


def test_what_both_saw_stands_once_and_adds_up() -> None:
    one = seen(LOG, late_ms=1, clock_ms=0, uncertain_ms=2)
    merged = merge(
        [journal_of("a", one), journal_of("b", seen(LOG, late_ms=2, clock_ms=-300, uncertain_ms=4))]
    )
    found = [replace(o, seq=-1) for o in merged.since() if not isinstance(o, SourceMerged)]
    assert found == one
    check(fold_groups(merged.since()), session_of_seed(3).state)


def test_one_who_came_late_and_stayed_longer_adds_only_what_follows() -> None:
    session = session_of_seed(5, steps=90)
    log = log_of([u] for u in session.log)
    half = len(log) // 2
    early = seen(log[:half], late_ms=1, clock_ms=0, uncertain_ms=2)
    whole = told(log)
    merged = merge([journal_of("late", whole), journal_of("early", early)])
    check(fold_groups(merged.since()), session.state)
    swapped = merge([journal_of("early", early), journal_of("late", whole)])
    check(fold_groups(swapped.since()), session.state)


def stream_facts(since_ms: int) -> list[Observation]:
    """Of a stream that splits, is deleted, and created again, by an observer that was there since then."""
    scaled = {"epoch": 1, "sealed": (0,), "created": (1, 2), "cause": "a split", "cause_kind": "logged"}
    facts: list[Observation] = [
        SegmentOpened(time_ms=10, stream="s/a", segment_id=0, low=0, high=1),
        StreamScaled(time_ms=20, stream="s/a", **scaled),
        SegmentSealed(time_ms=20, stream="s/a", segment_id=0, length_bytes=70),
        SegmentOpened(time_ms=20, stream="s/a", segment_id=1, low=0, high=0.5, predecessors=(0,)),
        SegmentOpened(time_ms=20, stream="s/a", segment_id=2, low=0.5, high=1, predecessors=(0,)),
        SegmentMeasured(time_ms=since_ms + 40, stream="s/a", segment_id=1, start_offset=0, write_offset=9),
        StreamSealed(time_ms=since_ms + 50, stream="s/a"),
        StreamDeleted(time_ms=since_ms + 60, stream="s/a"),
        SegmentOpened(time_ms=200, stream="s/a", segment_id=3, low=0, high=1),
        StreamDeleted(time_ms=since_ms + 220, stream="s/a"),
    ]
    return facts


@pytest.mark.parametrize("late_ms", [0, 25])
def test_a_stream_that_two_observers_saw_has_each_segment_once(late_ms: int) -> None:
    merged = merge([journal_of("b", stream_facts(late_ms)), journal_of("a", stream_facts(0))])
    found = [replace(o, seq=-1) for o in merged.since() if not isinstance(o, SourceMerged)]
    measured = [o for o in found if isinstance(o, SegmentMeasured)]
    assert [o.time_ms for o in measured] == sorted({40, 40 + late_ms})  # what each measured stays
    assert [o for o in found if not isinstance(o, SegmentMeasured)] == [
        o for o in stream_facts(0) if not isinstance(o, SegmentMeasured)
    ]


def test_a_recording_and_its_continuation_are_one() -> None:
    facts = [*stream_facts(0), Note(time_ms=300, text="x"), Note(time_ms=300, text="x")]
    merged = merge([journal_of("recording", facts[:7]), journal_of("watch", facts)])
    assert [replace(o, seq=-1) for o in merged.since() if not isinstance(o, SourceMerged)] == facts


def test_another_group_of_the_same_name_is_not_the_same_log() -> None:
    first = init()
    second = replace(first, config=replace(first.config, reader_group_id=UUID(int=9)))
    one = told(log_of([[first], [rg.AddReader("a")]]))
    other = told(log_of([[second], [rg.AddReader("z")]]))
    merged = merge([journal_of("one", one), journal_of("other", other)])
    assert clocks(merged)[1].uncertain_ms is None
    joined = [o for o in merged.since() if o.kind == "reader_joined"]
    assert sorted(o.reader for o in joined) == ["a", "z"]  # type: ignore[attr-defined]


def test_without_anything_in_common_it_says_that_nothing_is_known() -> None:
    a = journal_of("a", [Note(time_ms=10, text="x"), Note(time_ms=30, text="y")])
    b = journal_of("b", [Note(time_ms=20, text="z")])
    merged = merge([a, b])
    assert [o.text for o in merged.since() if isinstance(o, Note)] == ["x", "z", "y"]
    assert clocks(merged)[1].uncertain_ms is None
    assert "taken as the same clock" in clocks(merged)[1].how
    assert (merged.source, merged.live) == ("a + b", False)


def test_a_clock_that_is_known_is_used() -> None:
    a = journal_of("a", [Note(time_ms=10, text="x")])
    b = journal_of("b", [Note(time_ms=1_005, text="z")])
    merged = merge([a, b], clocks={"b": (-1_000, 20)})
    assert [(o.text, o.time_ms) for o in merged.since() if isinstance(o, Note)] == [("z", 5), ("x", 10)]
    assert (clocks(merged)[1].moved_ms, clocks(merged)[1].uncertain_ms) == (-1_000, 20)


def test_clocks_that_contradict_themselves_are_said_to_drift() -> None:
    here = journal_of("here", seen(LOG, late_ms=0, clock_ms=0, uncertain_ms=2))
    drifting = [replace(o, time_ms=o.time_ms + o.time_ms // 50) for o in here.since()]
    other = clocks(merge([here, journal_of("there", drifting)]))[1]
    assert "the clocks drift" in other.how
    assert other.uncertain_ms is not None
    assert other.uncertain_ms > 2
    apart_ms = [o.time_ms // 50 for o in here.since()]
    assert max(abs(other.moved_ms + ms) for ms in apart_ms) <= other.uncertain_ms


@pytest.mark.parametrize("set_ms", [3_600_000, -3_600_000])
def test_a_clock_that_was_set_and_set_back_is_followed(set_ms: int) -> None:
    def watched(source: str, first: int = 0, last: int = 0) -> Journal:
        """The clock is set from entry ``first`` until ``last``; after each entry there is a note."""
        tracker, found = GroupTracker(GROUP), list[Observation]()
        for n, entry in enumerate(LOG):
            now_ms = 10_000_000 + 1_000 * n + (set_ms if first <= n < last else 0)
            found += tracker.take(read_entry(entry.data), entry.end, now_ms=now_ms, uncertain_ms=4)
            found.append(Note(time_ms=now_ms, text=str(n), source=source))
        return journal_of(source, found)

    third = len(LOG) // 3
    merged = merge([watched("right"), watched("set", third, 2 * third)])
    notes = [(o.time_ms, int(o.text)) for o in merged.since() if isinstance(o, Note)]
    assert notes == sorted([(10_000_000 + 1_000 * n, n) for n in range(len(LOG))] * 2)
    said = [(o.moved_ms, o.uncertain_ms) for o in clocks(merged) if o.source == "set"]
    assert said == [(0, 4), (-set_ms, 4), (0, 4)]
    began = [o.time_ms for o in clocks(merged) if o.source == "set"][1:]
    assert began == [10_000_000 + 1_000 * third, 10_000_000 + 2_000 * third]


def test_what_was_told_late_keeps_its_place() -> None:
    """A stream's past is told with its old times: it stays before what its journal told after it."""
    a = journal_of(
        "a", [Note(time_ms=100, text="1"), Note(time_ms=50, text="2"), Note(time_ms=120, text="3")]
    )
    merged = merge([a, journal_of("b", [Note(time_ms=110, text="b")])])
    assert [o.text for o in merged.since() if isinstance(o, Note)] == ["1", "2", "b", "3"]


def test_gaps_and_ends_are_kept() -> None:
    a, b = journal_of("a", []), journal_of("b", [])
    a.adopt(Gap(1, 2, "cut short"))
    a.until_ms, b.until_ms = 10, 30
    merged = merge([a, b], clocks={"b": (5, 0)})
    assert (merged.gap, merged.until_ms) == (Gap(1, 2, "cut short"), 35)


def test_bad_input_is_named() -> None:
    with pytest.raises(BadInputError, match="at least one"):
        merge([])
    with pytest.raises(BadInputError, match="'c'"):
        merge([journal_of("a", [])], clocks={"c": (0, 0)})
