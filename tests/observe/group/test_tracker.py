"""A group's state log as observations: complete, in order, the same for everybody, and never a guess."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest

from pravega_lab.client.reader_group.core.state import GroupState, fold
from pravega_lab.observe.group.fold import fold_groups
from pravega_lab.observe.group.observations import (
    GroupCheckpointAsked,
    GroupCheckpointDone,
    GroupCheckpointDropped,
    GroupCheckpointPassed,
    GroupGap,
    GroupReset,
    GroupSeen,
    GroupSegmentAcquired,
    GroupSegmentFinished,
    GroupSegmentReleased,
    GroupUpdated,
    ReaderJoined,
    ReaderLeft,
    ReaderMeasured,
    SegmentOffered,
    SegmentWaits,
)
from pravega_lab.observe.group.tracker import GroupTracker
from pravega_lab.observe.journal.observations import (
    DONE_HERE,
    INFERRED,
    LOGGED,
    Observation,
)
from pravega_lab.observe.journal.records import from_record, to_record
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.names import segment_id
from tests.client.reader_group.logs import session_of_seed
from tests.observe.group.logs import GROUP, check, check_log, init, log_of, segment, tell, told
from tests.protocol.golden import state_events

N_SEEDS = 60


def facts(observations: list[Observation]) -> list[Observation]:
    return [o for o in observations if not isinstance(o, GroupUpdated)]


def kinds(observations: list[Observation]) -> list[str]:
    return [o.kind for o in observations]


# ---- what a log says is what its observations say ------------------------------------------------


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_the_observations_of_a_log_add_up_to_its_state(seed: int) -> None:
    session = session_of_seed(seed, steps=120)
    check_log(log_of([u] for u in session.log), session.state)


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_at_every_place_of_a_log(seed: int) -> None:
    """Not only in the end: after each update the fold and the state agree."""
    session = session_of_seed(seed, steps=40)
    tracker, history, state = GroupTracker(GROUP), fold_groups([]), None
    for entry, update in zip(log_of([u] for u in session.log), session.log, strict=True):
        for observation in tell(tracker, [entry]):
            history.apply(observation)
        state = fold([update], state)
        check(history, state)


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_who_comes_late_sees_the_same_state(seed: int) -> None:
    """The log begins with a compaction, in the middle of a session."""
    session = session_of_seed(seed, steps=120)
    at = Random(seed).randrange(1, len(session.log))
    whole = fold(session.log[:at]).to_compact()
    check_log(log_of([[whole], *([u] for u in session.log[at:])]), session.state)


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_a_compaction_changes_nothing(seed: int) -> None:
    session = session_of_seed(seed, steps=80)
    at = Random(seed).randrange(1, len(session.log))
    whole = fold(session.log[:at]).to_compact()
    entries = [[u] for u in session.log]
    without = facts(told(log_of(entries)))
    with_one = facts(told(log_of([*entries[:at], [whole], *entries[at:]])))
    assert [_placeless(o) for o in with_one] == [_placeless(o) for o in without]


def _placeless(observation: Observation) -> Observation:
    return replace(observation, time_ms=0, revision=0)  # type: ignore[call-arg]


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_after_a_gap_the_state_is_right_again(seed: int) -> None:
    """Entries are dropped unread; the whole state behind them brings the fold to where the group is."""
    session, chance = session_of_seed(seed, steps=150), Random(seed)
    begin, end = sorted(chance.sample(range(1, len(session.log) + 1), 2))
    whole = fold(session.log[:end]).to_compact()
    log = log_of([*([u] for u in session.log[:end]), [whole], *([u] for u in session.log[end:])])
    tracker = GroupTracker(GROUP)
    seen = tell(tracker, log[:begin])
    tracker.skipped(log[end - 1].end)
    seen += tell(tracker, log[end:])
    (gap,) = [o for o in seen if isinstance(o, GroupGap)]
    assert (gap.from_revision, gap.revision) == (log[begin - 1].end, log[end].end)
    check(fold_groups(seen), session.state)


@pytest.mark.parametrize("seed", range(20))
def test_two_trackers_say_the_same_but_for_the_time(seed: int) -> None:
    log = log_of([u] for u in session_of_seed(seed).log)
    one, other = told(log), []
    tracker = GroupTracker(GROUP)
    for entry in log:
        found = tell(tracker, [entry])
        other += [replace(o, time_ms=o.time_ms - 7, uncertain_ms=3) for o in found]  # type: ignore[call-arg]
    assert [replace(o, time_ms=o.time_ms + 7, uncertain_ms=None) for o in other] == one  # type: ignore[call-arg]


def test_every_kind_goes_to_a_file_and_back() -> None:
    seen = [o for seed in range(8) for o in told(log_of([u] for u in session_of_seed(seed).log))]
    assert all(from_record(json.loads(json.dumps(to_record(o)))) == o for o in seen)
    assert len(set(kinds(seen))) >= 12


# ---- a session that Java recorded ---------------------------------------------------------------


def test_what_java_logged_is_told_in_its_order() -> None:
    seen = facts(told(log_of(state_events("_RGgrp"))))
    story = [o for o in seen if not isinstance(o, ReaderMeasured)]
    assert kinds(story)[:7] == [
        "group_seen", "segment_offered", "segment_offered", "reader_joined", "reader_joined",
        "group_segment_acquired", "group_segment_acquired",
    ]  # fmt: skip
    done = [o for o in story if isinstance(o, GroupCheckpointDone)]
    assert [o.checkpoint for o in done if len(o.checkpoint) < 10] == ["cp-one", "cp-two", "cp-three"]
    assert done[-1].positions == (
        ("jf/x/1.#epoch.0", 102), ("jf/x/2.#epoch.1", 48), ("jf/x/3.#epoch.1", 36)
    )  # fmt: skip
    (finished,) = [o for o in story if isinstance(o, GroupSegmentFinished)]
    assert (finished.reader, finished.successors) == ("r2", (segment_id(1, 2), segment_id(1, 3)))
    assert [o.reader for o in story if isinstance(o, ReaderLeft)] == ["r2", "r1"]
    assert story[-1].revision == 3141  # type: ignore[attr-defined]


def test_every_update_of_java_is_explained() -> None:
    seen = [o for o in told(log_of(state_events("_RGgrp"))) if isinstance(o, GroupUpdated)]
    sentences = [(o.update, o.explained) for o in seen]
    assert sentences[0][1] == "the group begins to read jf/x: 2 segments, no readers"
    assert ("AcquireSegment", "r1 took #1 e0 of jf/x") in sentences
    assert ("CheckpointReader", "r1 passed checkpoint cp-one with #1 e0 of jf/x up to 66") in sentences
    wrote_clock = "r1 wrote its clock as its distance to the tail, as Java's readers do"
    assert ("UpdateDistanceToTail", wrote_clock) in sentences
    split = "r2 read #0 e0 of jf/x to its end; next: #2 e1 of jf/x and #3 e1 of jf/x"
    assert ("SegmentCompleted", split) in sentences
    assert all(json.loads(o.details) is not None for o in seen)


# ---- one thing after the other -------------------------------------------------------------------

TWO: list[list[rg.Update]] = [
    [init()],
    [rg.AddReader("a"), rg.AcquireSegment("a", segment(0)), rg.AcquireSegment("a", segment(1))],
]


def last(*entries: list[rg.Update], before: list[list[rg.Update]] = TWO) -> list[Observation]:
    """The facts that the last entry adds."""
    log = log_of([*before, *entries])
    return [o for o in facts(told(log)) if o.revision == log[-1].end]  # type: ignore[attr-defined]


def test_going_offline_gives_segments_back_and_passes_checkpoints() -> None:
    seen = last(
        [rg.AddReader("b"), rg.CreateCheckpoint("cp")], [rg.RemoveReader("a", {segment(0): 7, segment(1): 9})]
    )
    assert kinds(seen) == [
        "group_segment_released", "group_segment_released", "reader_left", "segment_offered",
        "segment_offered", "group_checkpoint_passed",
    ]  # fmt: skip
    left = next(o for o in seen if isinstance(o, ReaderLeft))
    assert left.held == ((segment(0), 7), (segment(1), 9))
    assert (left.cause_kind, left.was_killed) == (LOGGED, None)
    assert "the log does not say" in left.cause
    passed = next(o for o in seen if isinstance(o, GroupCheckpointPassed))
    assert (passed.reader, passed.waiting, passed.is_by_leaving) == ("a", ("b",), True)


def test_one_that_goes_without_positions_was_declared_offline() -> None:
    left = next(o for o in last([rg.RemoveReader("a", {})]) if isinstance(o, ReaderLeft))
    assert left.cause_kind == INFERRED
    assert left.cause.startswith("declared offline")
    assert left.held == ((segment(0), 0), (segment(1), 0))


def test_what_was_done_here_is_said_so() -> None:
    tracker = GroupTracker(GROUP)
    tracker.done_here("a", "killed by a button", was_killed=True)
    seen = tell(tracker, log_of([*TWO, [rg.RemoveReader("a", {})]]))
    left = next(o for o in seen if isinstance(o, ReaderLeft))
    assert (left.cause, left.cause_kind, left.was_killed) == ("killed by a button", DONE_HERE, True)


def test_a_release_and_who_takes_it_say_why() -> None:
    seen = last([rg.AddReader("b"), rg.ReleaseSegment("a", segment(1), 5)])
    released = next(o for o in seen if isinstance(o, GroupSegmentReleased))
    assert (released.offset, released.cause_kind) == (5, INFERRED)
    assert released.cause == "a held 2 and another reader only 0: one goes after a checkpoint"
    seen = last(
        [rg.AddReader("b"), rg.ReleaseSegment("a", segment(1), 5)], [rg.AcquireSegment("b", segment(1))]
    )
    (acquired,) = seen
    assert isinstance(acquired, GroupSegmentAcquired)
    assert (acquired.reader, acquired.offset) == ("b", 5)
    assert acquired.cause == "a had given it back; b has 1 now, a fair share is 1"


def test_a_merge_waits_and_says_for_what() -> None:
    successors: dict[str, tuple[int, ...]] = {segment(2, 1): (0, 1)}
    first = last([rg.SegmentCompleted("a", segment(0), successors)])
    assert kinds(first) == ["group_segment_finished", "segment_waits"]
    assert isinstance(first[1], SegmentWaits)
    assert first[1].waits_for == (1,)
    then = last(
        [rg.SegmentCompleted("a", segment(0), successors)], [rg.SegmentCompleted("a", segment(1), successors)]
    )
    assert kinds(then) == ["group_segment_finished", "segment_offered"]
    assert isinstance(then[1], SegmentOffered)
    assert (then[1].why, then[1].reader, then[1].segment_id) == ("predecessors read", "a", segment_id(1, 2))


def test_a_segment_of_another_stream_with_the_same_id_is_not_waited_for() -> None:
    successors: dict[str, tuple[int, ...]] = {segment(2, 1): (0, 1)}
    names = segment(0), segment(1), segment(1, stream="s/y")
    seen = last(
        [rg.SegmentCompleted("a", names[0], successors)],
        [rg.SegmentCompleted("a", names[2], {})],
        before=[[init(*names)], [rg.AddReader("a"), *(rg.AcquireSegment("a", name) for name in names)]],
    )
    assert kinds(seen) == ["group_segment_finished"]


def test_checkpoints_that_end_otherwise() -> None:
    cleared = last(
        [rg.CreateCheckpoint("one")], [rg.CreateCheckpoint("two"), rg.ClearCheckpointsBefore("two")]
    )
    assert [(o.checkpoint, o.why) for o in cleared if isinstance(o, GroupCheckpointDropped)] == [
        ("one", "cleared")
    ]
    cancelled = last([rg.CreateCheckpoint("one")], [rg.RemoveOutstandingCheckpoints()])
    assert [o.why for o in cancelled if isinstance(o, GroupCheckpointDropped)] == ["cancelled"]


def test_a_checkpoint_without_readers_is_done_at_once() -> None:
    seen = last([rg.CreateCheckpoint("cp")], before=[[init()]])
    assert kinds(seen) == ["group_checkpoint_asked", "group_checkpoint_done"]
    assert isinstance(seen[0], GroupCheckpointAsked)
    assert seen[0].readers == ()


def test_a_cut_in_the_middle_of_a_merge_has_a_gap_in_javas_words() -> None:
    """Java's readers leave out what was read of a merge (reader-groups.md B4); ours report it, and then there
    is none."""
    tracker = GroupTracker(GROUP)
    tracker.learn_ranges({segment(0): (0.0, 0.5), segment(1): (0.5, 1.0), segment(2, 1): (0.0, 1.0)})
    half: list[list[rg.Update]] = [*TWO, [rg.SegmentCompleted("a", segment(0), {segment(2, 1): (0, 1)})]]
    java: list[rg.Update] = [rg.CreateCheckpoint("java"), rg.CheckpointReader("java", "a", {segment(1): 30})]
    ours: list[rg.Update] = [
        rg.CreateCheckpoint("ours"),
        rg.CheckpointReader("ours", "a", {segment(0): -1, segment(1): 30}),
    ]
    seen = tell(tracker, log_of([*half, java, ours]))
    done = {o.checkpoint: o for o in seen if isinstance(o, GroupCheckpointDone)}
    assert (done["java"].gaps, done["java"].gap_streams) == (((0.0, 0.5),), ("s/x",))
    assert done["ours"].gaps == ()


def test_no_gap_is_claimed_where_keys_are_not_known() -> None:
    half: list[list[rg.Update]] = [*TWO, [rg.SegmentCompleted("a", segment(0), {segment(2, 1): (0, 1)})]]
    cut: list[rg.Update] = [rg.CreateCheckpoint("java"), rg.CheckpointReader("java", "a", {segment(1): 30})]
    done = next(o for o in told(log_of([*half, cut])) if isinstance(o, GroupCheckpointDone))
    assert done.gaps == ()


# ---- other lives -----------------------------------------------------------------------------------


def test_a_reset_ends_the_old_life() -> None:
    seen = last([rg.CreateCheckpoint("cp"), rg.UpdatingConfig(True)], [init(segment(0), generation=1)])
    assert kinds(seen) == [
        "group_checkpoint_dropped", "group_segment_released", "group_segment_released", "reader_left",
        "group_reset", "group_seen", "segment_offered",
    ]  # fmt: skip
    left, over, begun = seen[3], seen[4], seen[5]
    assert isinstance(left, ReaderLeft)
    assert left.cause == "the group was reset"
    assert isinstance(over, GroupReset)
    assert not over.is_begun
    assert isinstance(begun, GroupSeen)
    assert (begun.is_reset, begun.generation) == (True, 1)
    log = log_of([*TWO, [rg.UpdatingConfig(True)], [init(segment(0), generation=1)]])
    check_log(log, GroupState(init(segment(0), generation=1)))


def test_a_group_that_vanishes_leaves_nobody_online() -> None:
    tracker = GroupTracker(GROUP)
    seen = tell(tracker, log_of(TWO)) + tracker.vanished(now_ms=9999)
    left = [o for o in seen if isinstance(o, ReaderLeft)]
    assert [(o.reader, o.cause_kind) for o in left] == [("a", INFERRED)]
    assert tracker.offset == 0
    assert not fold_groups(seen).online(GROUP)
    again = tell(tracker, log_of([[init()], [rg.AddReader("z")]]))
    assert [o.reader for o in again if isinstance(o, ReaderJoined)] == ["z"]


# ---- what is not understood --------------------------------------------------------------------------


def unknown(data: bytes) -> bytes:
    """An entry with these bytes as its one update, in Java's framing."""
    return (2).to_bytes(4, "big") + len(data).to_bytes(4, "big") + data


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (bytes((0, 77, 0, 0)), "unknown: type 77 version 0"),
        (bytes((0, 2, 9, 0)), "unknown: type 2 version 9"),
        (bytes((5,)), "unknown: update"),
        (rg.AddReader("x").to_bytes()[:-1], "unknown: type 2 version 0"),
    ],
)
def test_an_unknown_update_is_said_with_its_bytes_and_healed(data: bytes, name: str) -> None:
    state = fold([u for entry in TWO for u in entry] + [rg.AddReader("b")])
    log = log_of([*TWO, unknown(data), [rg.CreateCheckpoint("cp")], [state.to_compact()]])
    tracker = GroupTracker(GROUP)
    seen = tell(tracker, log[:-1])
    (said,) = [o for o in seen if isinstance(o, GroupUpdated) and o.update.startswith("unknown")]
    assert (said.update, said.details) == (name, data.hex())
    assert "not known until" in said.explained
    assert [o.readers for o in seen if isinstance(o, GroupCheckpointAsked)] == [("a",)]
    seen += tell(tracker, log[-1:])
    check(fold_groups(seen), state)


def test_an_entry_of_an_unknown_sort_is_said() -> None:
    log = log_of([*TWO, b"\0\0\0\x09abc", [rg.AddReader("b")]])
    seen = told(log)
    (said,) = [o for o in seen if isinstance(o, GroupUpdated) and o.update == "unknown: entry"]
    assert bytes.fromhex(said.details) == b"\0\0\0\x09abc"
    assert [o.reader for o in seen if isinstance(o, ReaderJoined)] == ["a", "b"]


def test_an_update_that_does_not_fit_is_said_and_changes_nothing() -> None:
    log = log_of([*TWO, [rg.AcquireSegment("ghost", segment(0))], [rg.AddReader("b")]])
    tracker = GroupTracker(GROUP)
    seen = tell(tracker, log)
    said = next(o for o in seen if isinstance(o, GroupUpdated) and "does not fit" in o.explained)
    assert rg.update_from_bytes(bytes.fromhex(said.details)) == rg.AcquireSegment("ghost", segment(0))
    check(fold_groups(seen), fold([*TWO[0], *TWO[1], rg.AddReader("b")]))


def test_a_log_whose_beginning_is_not_understood_is_followed_from_its_next_whole_state() -> None:
    state = fold([u for entry in TWO for u in entry])
    first = (1).to_bytes(4, "big") + bytes((0, 0, 9, 0))
    seen = told(log_of([first, [rg.AddReader("lost")], [state.to_compact()]]))
    assert kinds(seen)[:2] == ["group_updated", "group_updated"]
    assert "before the first whole state" in seen[1].explained  # type: ignore[attr-defined]
    check(fold_groups(seen), state)


def test_what_a_newer_client_adds_is_kept_in_the_details() -> None:
    newer = bytearray(rg.AddReader("a").to_bytes())
    newer[3] = 2  # revisions
    newer += b"\x01\x00\x00\x00\x02hi"
    seen = told(log_of([[init()], unknown(bytes(newer))]))
    said = next(o for o in seen if isinstance(o, GroupUpdated) and o.update == "AddReader")
    assert json.loads(said.details) == {"reader": "a", "leftover": [b"hi".hex()]}
    assert [o.reader for o in seen if isinstance(o, ReaderJoined)] == ["a"]
