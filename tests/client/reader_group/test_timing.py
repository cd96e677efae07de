"""When a reader looks at its group again, and for how long it leaves segments to other readers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from pravega_lab.client.reader_group.core.assignment import TIME_UNIT_MS, leave_to_others_ms
from pravega_lab.client.reader_group.core.reader import (
    Answer,
    Append,
    Compact,
    Decision,
    Fetch,
    FinishReset,
    Step,
    Write,
    go_offline,
)
from pravega_lab.client.reader_group.core.timers import CONFIG_WINDOW_MS
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig
from pravega_lab.protocol.stream_cut import UNBOUNDED
from tests.client.reader_group.box import Box, Member

REFRESH_MS = 3_000


def settled(shared: Box) -> Member:
    """The only reader of a group, which has acquired everything and has refreshed its state since."""
    reader = Member(shared, "r1")
    reader.decide()
    shared.now_ms = reader.core.next_deadline_ms()
    reader.decide()
    return reader


def box(n_segments: int, interval_ms: int = -1, refresh_ms: int = REFRESH_MS) -> Box:
    config = ReaderGroupConfig(
        {"s/x": UNBOUNDED}, automatic_checkpoint_interval_ms=interval_ms, group_refresh_time_ms=refresh_ms
    )
    return Box(n_segments, config)


def test_the_more_a_reader_holds_the_longer_it_leaves_segments_to_others() -> None:
    """And the least loaded reader still gives the others the time to refresh their state."""
    shared = box(6)
    names, held = iter(list(shared.segments)), {"much": 3, "some": 2, "little": 1}
    for name in held:
        Member(shared, name)
    acquired = [rg.AcquireSegment(reader, next(names)) for reader, n in held.items() for _ in range(n)]
    assert shared.write(lambda _: [*acquired])
    waits = [leave_to_others_ms(shared.state(), reader) for reader in held]
    assert waits == [REFRESH_MS + n * TIME_UNIT_MS for n in (3, 2, 1)]


def test_a_reader_that_lacks_a_segment_looks_every_second() -> None:
    """A Java reader acquires again what it released, but not before two seconds have passed."""
    shared = box(2)
    first = settled(shared)
    assert first.core.next_deadline_ms() == shared.now_ms + REFRESH_MS
    second = Member(shared, "r2")
    second.decide()
    assert second.core.held == {}
    assert second.core.next_deadline_ms() == shared.now_ms + TIME_UNIT_MS


def test_a_reader_wakes_for_the_segment_that_was_free_first() -> None:
    """Two segments become free one after the other, and no other reader acquires either."""
    shared = box(4)
    reader = Member(shared, "r1")
    Member(shared, "dead")
    mine, theirs = list(shared.segments)[:2], list(shared.segments)[2:]
    for name, segments in (("r1", mine), ("dead", theirs)):
        assert shared.write(lambda _, n=name, s=segments: [rg.AcquireSegment(n, one) for one in s])  # type: ignore[misc]
    reader.decide()
    free_ms = shared.now_ms
    for segment in theirs:
        assert shared.write(lambda _, one=segment: [rg.ReleaseSegment("dead", one, 0)])  # type: ignore[misc]
        shared.now_ms += REFRESH_MS
        assert reader.decide() is None
    assert reader.core.next_deadline_ms() == free_ms + REFRESH_MS + leave_to_others_ms(shared.state(), "r1")


@pytest.mark.parametrize("interval_ms", [1, 500])
def test_a_reader_wakes_for_an_automatic_checkpoint(interval_ms: int) -> None:
    shared = box(1, interval_ms)
    reader = Member(shared, "r1")
    reader.decide()
    assert reader.core.next_deadline_ms() == shared.now_ms + TIME_UNIT_MS  # the first one
    shared.now_ms = reader.core.next_deadline_ms()
    assert reader.decide() is not None
    assert reader.decide() is None
    assert reader.core.next_deadline_ms() == shared.now_ms + interval_ms


@pytest.mark.parametrize("interval_ms", [-1, 0])
def test_without_automatic_checkpoints_a_reader_wakes_only_to_refresh(interval_ms: int) -> None:
    shared = box(1, interval_ms)
    reader = settled(shared)
    for _ in range(3):
        assert reader.core.next_deadline_ms() == shared.now_ms + REFRESH_MS
        shared.now_ms += REFRESH_MS
        assert reader.decide() is None


def steps_of(member: Member, kind: type[Step], rounds: int) -> list[int]:
    """Let a member decide at each deadline, and return when it asked for a step of this kind, from now on."""
    begin_ms = member.box.now_ms
    found = []
    for _ in range(rounds):
        before = len(member.steps)
        member.decide()
        found += [member.box.now_ms - begin_ms] * member.steps[before:].count(kind.__name__)
        member.box.now_ms = member.core.next_deadline_ms()
    return found


def test_a_reset_that_stopped_halfway_is_finished_but_not_asked_for_at_each_refresh() -> None:
    shared = box(1)
    reader = Member(shared, "r1")
    assert steps_of(reader, FinishReset, 10) == []
    shared.log.append(rg.UpdatingConfig(True))
    asked_ms = steps_of(reader, FinishReset, 20)
    assert len(asked_ms) > 3
    gaps = [after - before for before, after in pairwise(asked_ms)]
    assert all(CONFIG_WINDOW_MS <= gap < CONFIG_WINDOW_MS + REFRESH_MS for gap in gaps)


def test_a_reader_compacts_a_long_log_now_and_then() -> None:
    shared = box(1)
    reader = Member(shared, "r1")
    reader.log_bytes = 512 * 1024
    assert steps_of(reader, Compact, 100) == []
    reader.log_bytes += 1
    assert 1 <= len(steps_of(reader, Compact, 200)) <= 30


def test_a_reader_fetches_at_each_refresh_and_not_before() -> None:
    shared = box(1)
    reader = settled(shared)
    shared.now_ms = reader.core.next_deadline_ms()
    assert steps_of(reader, Fetch, 3) == [0, REFRESH_MS, 2 * REFRESH_MS]
    shared.now_ms = reader.core.next_deadline_ms() - 1
    assert steps_of(reader, Fetch, 1) == []


def test_the_time_that_a_step_takes_counts() -> None:
    """The next refresh is an interval after the answer, and not after the question."""
    shared = box(1)
    reader = settled(shared)
    shared.now_ms = reader.core.next_deadline_ms()
    decision = reader.core.before_read(now_ms=shared.now_ms)
    step = next(decision)
    assert step == Fetch()
    shared.now_ms += 700
    reader.run(_resumed(decision, reader._take(step)))
    assert reader.core.next_deadline_ms() == shared.now_ms + REFRESH_MS


def _resumed(decision: Decision[str | None], answer: Answer) -> Decision[str | None]:
    """Continue a decision with the answer to the step that it waits for."""
    try:
        while True:
            answer = yield decision.send(answer)
    except StopIteration as end:
        found: str | None = end.value
        return found


def test_readers_write_their_progress_less_often_the_more_they_are() -> None:
    """A second for each reader, and one more: their log grows no faster in a larger group."""
    shared = box(5, refresh_ms=1_000)
    reader, *others = (Member(shared, f"r{n}") for n in range(5))
    names = list(shared.segments)
    shared.write(lambda _: [rg.AcquireSegment(m.name, names.pop()) for m in (*others, reader)])
    steps_of(reader, Append, 10)
    written_ms = steps_of(reader, Append, 30)
    assert len(written_ms) > 3
    assert {after - before for before, after in pairwise(written_ms)} == {6_000}


def test_a_reader_that_is_alone_by_now_releases_nothing() -> None:
    """It held more than its share when it looked, and writes after the other reader has gone."""
    shared = box(2)
    reader = settled(shared)
    Member(shared, "r2")
    assert shared.write(lambda _: [rg.CreateCheckpoint("c")])
    shared.now_ms += REFRESH_MS
    assert reader.decide() == "c"
    decision = reader.core.before_read(now_ms=shared.now_ms)
    step = next(decision)
    while not (isinstance(step, Write) and _releases(step.decide(shared.state()))):
        step = decision.send(reader._take(step))
    assert shared.write(go_offline("r2", {}))
    assert shared.write(step.decide) == []


def _releases(updates: Sequence[rg.Update]) -> bool:
    return any(isinstance(update, rg.ReleaseSegment) for update in updates)
