"""The fold of a group's state log: the log that Java wrote, each update by itself, and random logs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.client.reader_group.core.state import LAG_MS_MIN, NO_END, GroupState, fold
from pravega_lab.client.reader_group.errors import StateLogError
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import KeyRange, ReaderGroupConfig, StateEvent, Update
from pravega_lab.protocol.stream_cut import UNBOUNDED
from tests.client.reader_group.logs import Session, session_of_seed
from tests.protocol.golden import state_events

A, B, C, D = (f"s/x/{n}.#epoch.{e}" for n, e in ((0, 0), (1, 0), (2, 1), (3, 1)))
ID_A, ID_B = 0, 1
CONFIG = ReaderGroupConfig({"s/x": UNBOUNDED})
INIT = rg.ReaderGroupStateInit(CONFIG, {A: 0, B: 8}, {})
R1_HAS_A = [INIT, rg.AddReader("r1"), rg.AcquireSegment("r1", A)]
BOTH = [*R1_HAS_A, rg.AddReader("r2"), rg.AcquireSegment("r2", B)]
SPLIT = rg.SegmentCompleted("r1", A, {C: (ID_A,), D: (ID_A,)}, {C: KeyRange(0.0, 0.2), D: KeyRange(0.2, 0.5)})
MERGE_A = rg.SegmentCompleted("r1", A, {C: (ID_A, ID_B)}, {C: KeyRange(0.0, 1.0)})
MERGE_B = rg.SegmentCompleted("r2", B, {C: (ID_A, ID_B)}, {C: KeyRange(0.0, 1.0)})


def test_the_log_that_java_wrote() -> None:
    """The session that ``rg-state-golden.txt`` describes, to its end."""
    updates = [u for payload in state_events("_RGgrp") for u in StateEvent.from_bytes(payload).updates]
    state = fold(updates)
    assert state.readers == []
    assert state.unassigned == {
        "jf/x/1.#epoch.0": 102,
        "jf/x/2.#epoch.1": 48,
        "jf/x/3.#epoch.1": 36,
    }
    assert state.checkpoints.begun == ["cp-three"]
    assert state.checkpoints.last_positions == state.unassigned
    assert state.range_of("jf/x/3.#epoch.1") == KeyRange(0.25, 0.5)
    assert not state.is_end_of_data


def test_a_fresh_state() -> None:
    state = fold([INIT])
    assert state.unassigned == {A: 0, B: 8}
    assert (state.readers, state.n_segments, state.future) == ([], 2, {})
    assert state.streams() == ["s/x"]
    assert state.checkpoints.is_last_published, "there is nothing to publish"
    assert (state.clock_ms, state.checkpoint_begun_ms) == (0, 0), "no reader has said the time"
    assert state.end_of(A) is None


EFFECTS: dict[str, tuple[list[Update], dict[str, dict[str, int]], dict[str, int]]] = {
    "a reader comes": ([INIT, rg.AddReader("r1")], {"r1": {}}, {A: 0, B: 8}),
    "acquire": (R1_HAS_A, {"r1": {A: 0}}, {B: 8}),
    "release": ([*R1_HAS_A, rg.ReleaseSegment("r1", A, 40)], {"r1": {}}, {B: 8, A: 40}),
    "gone at a position": ([*R1_HAS_A, rg.RemoveReader("r1", {A: 40})], {}, {B: 8, A: 40}),
    "gone without a position": ([*R1_HAS_A, rg.RemoveReader("r1", {})], {}, {B: 8, A: 0}),
    "gone twice": ([INIT, rg.RemoveReader("r1", {})], {}, {A: 0, B: 8}),
    "split": ([*R1_HAS_A, SPLIT], {"r1": {}}, {B: 8, C: 0, D: 0}),
    "half a merge": ([*BOTH, MERGE_A], {"r1": {}, "r2": {B: 8}}, {}),
    "a merge": ([*BOTH, MERGE_A, MERGE_B], {"r1": {}, "r2": {}}, {C: 0}),
    "a checkpoint moves the stored offset": (
        [*R1_HAS_A, rg.CreateCheckpoint("c"), rg.CheckpointReader("c", "r1", {A: 40})],
        {"r1": {A: 40}},
        {B: 8},
    ),
    "a silent one does not": (
        [*R1_HAS_A, rg.CreateCheckpoint("c_SILENT_"), rg.CheckpointReader("c_SILENT_", "r1", {A: 40})],
        {"r1": {A: 0}},
        {B: 8},
    ),
    "a segment that it does not hold": (
        [*R1_HAS_A, rg.CreateCheckpoint("c"), rg.CheckpointReader("c", "r1", {A: 40, C: -1})],
        {"r1": {A: 40}},
        {B: 8},
    ),
}


@pytest.mark.parametrize(("log", "assigned", "unassigned"), EFFECTS.values(), ids=EFFECTS)
def test_effects_on_segments(
    log: list[Update], assigned: dict[str, dict[str, int]], unassigned: dict[str, int]
) -> None:
    state = fold(log)
    assert state.assigned == assigned
    assert list(state.unassigned.items()) == list(unassigned.items())


REFUSED: dict[str, list[Update]] = {
    "an empty log": [],
    "no state first": [rg.AddReader("r1")],
    "a state later": [rg.AddReader("r1"), INIT],
    "online twice": [INIT, rg.AddReader("r1"), rg.AddReader("r1")],
    "acquire, offline": [INIT, rg.AcquireSegment("r1", A)],
    "acquire what is held": [*R1_HAS_A, rg.AcquireSegment("r1", A)],
    "release what is not held": [*R1_HAS_A, rg.ReleaseSegment("r1", B, 0)],
    "complete what is not held": [*R1_HAS_A, rg.SegmentCompleted("r1", B, {})],
    "complete, offline": [INIT, rg.SegmentCompleted("r1", A, {})],
    "report twice": [
        *BOTH,
        rg.CreateCheckpoint("c"),
        *[rg.CheckpointReader("c", "r1", {})] * 2,
    ],
}


@pytest.mark.parametrize("log", REFUSED.values(), ids=REFUSED)
def test_what_no_group_writes(log: list[Update]) -> None:
    with pytest.raises(StateLogError):
        fold(log)


def test_a_checkpoint_is_complete_when_all_have_reported() -> None:
    state = fold([*BOTH, rg.CreateCheckpoint("c"), rg.CheckpointReader("c", "r1", {A: 40})])
    assert not state.checkpoints.is_complete("c")
    assert state.checkpoints.waiting_for("c") == ("r2",)
    assert state.checkpoints.pending("r1") is None
    assert state.checkpoints.last_positions == {}
    state.apply(rg.CheckpointReader("c", "r2", {B: 80}))
    assert state.checkpoints.is_complete("c")
    assert state.checkpoints.last_positions == {A: 40, B: 80}


def test_a_reader_that_goes_has_reported() -> None:
    state = fold([*BOTH, rg.CreateCheckpoint("c"), rg.CheckpointReader("c", "r1", {A: 40})])
    state.apply(rg.RemoveReader("r2", {B: 24}))
    assert state.checkpoints.last_positions == {A: 40, B: 24}
    assert list(state.distance_to_tail_ms) == ["r1"], "nothing of it is left"


def test_only_after_the_end_a_checkpoint_has_no_positions() -> None:
    """Clients before 0.10 did not write whether the last checkpoint is published, also if there is none."""
    unpublished = replace(fold([INIT]).to_compact(), checkpoint_state=rg.CheckpointState())
    assert not fold([unpublished]).has_last_checkpoint
    assert fold([replace(unpublished, unassigned_segments={})]).has_last_checkpoint
    assert not fold([INIT]).has_last_checkpoint


def test_a_checkpoint_without_readers_is_complete_but_no_reset_starts_from_it() -> None:
    state = fold([INIT, rg.CreateCheckpoint("c")])
    assert state.checkpoints.is_complete("c")
    assert state.checkpoints.positions["c"] == {A: 0, B: 8}
    assert state.checkpoints.last_positions == {}


def test_clearing_and_cancelling() -> None:
    names = ["a", "b_SILENT_", "c"]
    state = fold([*BOTH, *(rg.CreateCheckpoint(name) for name in names)])
    assert state.checkpoints.outstanding() == ["a", "c"]
    state.apply(rg.ClearCheckpointsBefore("b_SILENT_"))
    state.apply(rg.ClearCheckpointsBefore("never begun"))
    assert state.checkpoints.begun == ["b_SILENT_", "c"]
    assert not state.checkpoints.is_complete("a")
    state.apply(rg.RemoveOutstandingCheckpoints())
    assert state.checkpoints.outstanding() == []
    assert state.checkpoints.pending("r1") == "b_SILENT_"
    state.apply(rg.CheckpointReader("c", "r1", {}))  # too late; ignored
    assert not state.checkpoints.is_complete("c")


def test_the_hole_of_a_merge_is_known() -> None:
    state = fold([*BOTH, MERGE_A])
    assert state.positions() == {B: 8}
    assert state.merged_positions() == {A: -1}
    state.apply(MERGE_B)
    assert state.merged_positions() == {}


def test_the_hole_is_found_again_after_a_compaction() -> None:
    state = fold([fold([*BOTH, MERGE_A]).to_compact()])
    assert state.merged_positions() == {}
    assert state.unknown_merges() == {C: B}
    state.learn_predecessors(C, (ID_A, ID_B))
    assert state.merged_positions() == {A: -1}
    assert state.unknown_merges() == {}


@pytest.mark.parametrize("is_compacted", [False, True])
def test_the_hole_of_a_merge_that_ended_after_a_checkpoint_began_is_known(is_compacted: bool) -> None:
    """A reader that came later ended the merge, and does not report for the checkpoint."""
    merging = [*BOTH, MERGE_A, rg.RemoveReader("r2", {B: -1})]
    begin = [fold(merging).to_compact()] if is_compacted else merging
    state = fold([*begin, rg.CreateCheckpoint("cp")])
    for update in (rg.AddReader("r2"), rg.AcquireSegment("r2", B), MERGE_B):
        state.apply(update)
    assert state.unknown_merges() == {}
    assert state.unknown_merges("cp") == ({C: B} if is_compacted else {})
    state.learn_predecessors(C, (ID_A, ID_B), "cp")
    assert state.merged_positions("cp") == {A: -1}
    assert state.unknown_merges("cp") == {}
    assert state.merged_positions() == state.merged_positions("another") == {}


def test_a_segment_of_another_stream_with_the_same_id_ends_no_merge() -> None:
    other = "s/y/1.#epoch.0"
    begin = rg.ReaderGroupStateInit(CONFIG, {A: 0, B: 8, other: 0}, {})
    acquired = [rg.AddReader("r1"), *(rg.AcquireSegment("r1", name) for name in (A, B, other))]
    state = fold([begin, *acquired, MERGE_A, rg.SegmentCompleted("r1", other, {})])
    assert state.future[C].waits_for == (ID_B,)
    assert state.unassigned == {}, "successors are read after all their predecessors"


def test_a_successor_that_a_java_reader_acquires_early_is_held_by_it() -> None:
    """Java's state lets it begin when a segment of another stream with the same id as B is completed."""
    state = fold([*BOTH, MERGE_A, rg.AcquireSegment("r2", C)])
    assert state.assigned == {"r1": {}, "r2": {B: 8, C: 0}}
    assert (state.future, state.unassigned) == ({}, {})


def test_end_offsets() -> None:
    state = fold([rg.ReaderGroupStateInit(CONFIG, {A: 0, B: 0}, {A: 64, B: NO_END, C: 0, D: -1})])
    ends = [state.end_of(segment) for segment in (A, B, C, D, "s/x/9.#epoch.0")]
    assert ends == [64, None, 0, None, None]


def test_successors_are_read_from_their_beginning() -> None:
    """Java's readers expect a last offset of each segment that may be read, and of no other."""
    state = fold([*R1_HAS_A, SPLIT])
    assert state.last_read == {B: 8, C: 0, D: 0}
    assert fold([*BOTH, MERGE_A]).last_read == {B: 8}
    assert fold([*BOTH, MERGE_A, MERGE_B]).last_read == {C: 0}


def reached(reader: str, clock_ms: int, **offsets: int) -> rg.UpdateDistanceToTail:
    named = {"a": A, "b": B}
    return rg.UpdateDistanceToTail(
        reader, clock_ms, {rg.SegmentWithRange(named[name]): at for name, at in offsets.items()}
    )


def test_what_readers_have_told_of_their_progress() -> None:
    """A report counts while its reader holds the segment; an end is an end whoever told it first."""
    state = fold([*BOTH, reached("r1", 40_000, a=-1), reached("r2", 35_000, a=24, b=24)])
    assert state.places() == {A: -1, B: 24}
    assert state.ended() == [A]
    assert state.last_read == {A: 24, B: 24}
    assert state.clock_ms == 40_000
    assert state.distance_to_tail_ms == {"r1": 40_000, "r2": 35_000}
    state.apply(rg.CreateCheckpoint("c"))
    state.apply(reached("r2", 50, b=16))
    assert (state.checkpoint_begun_ms, state.clock_ms) == (40_000, 40_000)
    assert state.distance_to_tail_ms["r2"] == LAG_MS_MIN
    assert state.places()[B] == 16
    state.apply(rg.ReleaseSegment("r2", B, 12))
    assert (state.places()[B], state.last_read[B]) == (12, 12)
    state.apply(rg.AcquireSegment("r1", B))
    assert state.places()[B] == 12
    state.apply(MERGE_A)
    assert (state.places(), state.ended()) == ({B: 12}, [])
    assert A not in state.last_read


@settings(max_examples=60)
@given(st.data())
def test_any_log(data: st.DataObject) -> None:
    session = Session(lambda n: data.draw(st.integers(0, n - 1)))
    for _ in range(data.draw(st.integers(0, 25))):
        session.step()
    _check(session)


@pytest.mark.parametrize("seed", range(20))
def test_long_logs(seed: int) -> None:
    _check(session_of_seed(seed, 150))


def _check(session: Session) -> None:
    """A segment is in one place only; a compacted log is as good as the log."""
    state = session.state
    held = [segment for segments in state.assigned.values() for segment in segments]
    places = [*held, *state.unassigned, *state.future]
    assert len(places) == len(dict.fromkeys(places))
    assert all(future.waits_for for future in state.future.values())
    compact = state.to_compact()
    read_back = rg.update_from_bytes(compact.to_bytes())
    again = GroupState(read_back)
    assert again.to_compact() == compact
    assert fold([rg.update_from_bytes(u.to_bytes()) for u in session.log]).to_compact() == compact
