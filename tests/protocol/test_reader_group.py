"""The state log that a real Java reader group wrote, and every update to itself.

Source: reader-groups.md B1, B2, C2.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import KeyRange, SegmentWithRange, StateEvent
from pravega_lab.protocol.serializer import NOTHING_LEFT, Envelope
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut
from tests.protocol.golden import java_updates, state_events

RECORDED = state_events("_RGgrp")
EVENTS = [StateEvent.from_bytes(payload) for payload in RECORDED]
S0, S1, S2, S3 = "jf/x/0.#epoch.0", "jf/x/1.#epoch.0", "jf/x/2.#epoch.1", "jf/x/3.#epoch.1"


def test_the_log_encodes_back_byte_for_byte() -> None:
    assert len(RECORDED) == 35
    assert [event.to_bytes() for event in EVENTS] == RECORDED


def test_the_log_says_what_happened() -> None:
    """The session that ``rg-state-golden.txt`` describes."""
    updates = [update for event in EVENTS for update in event.updates]
    assert [event.is_initial for event in EVENTS] == [True] + [False] * 34
    assert updates[1:4] == [rg.AddReader("r1"), rg.AddReader("r2"), rg.AcquireSegment("r1", S1)]
    completed = rg.SegmentCompleted(
        "r2",
        S0,
        {S2: (0,), S3: (0,)},
        {S0: rg.UNKNOWN_RANGE, S2: KeyRange(0.0, 0.25), S3: KeyRange(0.25, 0.5)},
    )
    assert completed in updates
    assert rg.CheckpointReader("cp-two", "r2", {S0: -1}) in updates
    assert (
        rg.UpdateDistanceToTail(
            "r2",
            1790945781580,
            {SegmentWithRange(S2, KeyRange(0.0, 0.25)): 48, SegmentWithRange(S3, KeyRange(0.25, 0.5)): 36},
        )
        in updates
    )
    assert updates[-2:] == [rg.RemoveReader("r2", {S2: 48, S3: 36}), rg.RemoveReader("r1", {S1: 102})]


def test_the_initial_state() -> None:
    (state,) = EVENTS[0].updates
    assert isinstance(state, rg.ReaderGroupStateInit)
    assert state.config == rg.ReaderGroupConfig(
        {"jf/x": UNBOUNDED},
        {"jf/x": UNBOUNDED},
        automatic_checkpoint_interval_ms=600_000,
        group_refresh_time_ms=500,
    )
    assert state.config.generation == 0
    assert state.config.reader_group_id == UUID("f9d373ac-1228-4746-bc3d-7b283460cffe")
    assert state.start_segments == {S1: 0, S0: 0}
    assert state.ranged_start_segments == {SegmentWithRange(S1): 0, SegmentWithRange(S0): 0}
    assert not state.updating_config
    assert state.leftover.trailing == bytes(len(state.leftover.trailing)) != b""
    assert rg.initial(replace(state, leftover=NOTHING_LEFT)) == RECORDED[0].rstrip(b"\0") + b"\0"


@pytest.mark.parametrize(("name", "data"), java_updates().items(), ids=java_updates())
def test_what_upstreams_serializers_wrote(name: str, data: bytes) -> None:
    update = rg.update_from_bytes(data)
    assert type(update).__name__ == name
    assert update.leftover == NOTHING_LEFT
    assert update.to_bytes() == data


def test_upstreams_compact_state() -> None:
    state = rg.update_from_bytes(java_updates()["CompactReaderGroupState"])
    assert isinstance(state, rg.CompactReaderGroupState)
    assert state.checkpoint_state.checkpoints == ("c1", "c2")
    assert state.checkpoint_state.uncheckpointed_hosts == {"c2": ("r1",)}
    assert state.distance_to_tail == {"r2": 2**63 - 1, "r1": 30_000}
    named = {*state.future_segments, *state.unassigned_segments, *state.last_read_position}
    assert named
    assert named <= set(state.ranges)


# ---- every update --------------------------------------------------------------------------------

i64 = st.integers(-(2**63), 2**63 - 1)
names = st.sampled_from(["r1", "r2", "cp", "日本語", S0, S1])
positions = st.dictionaries(names, i64, max_size=3)
ranges = st.builds(KeyRange, st.floats(0, 1), st.floats(0, 1))
ranged = st.dictionaries(st.builds(SegmentWithRange, names, ranges), i64, max_size=3)
predecessors = st.dictionaries(names, st.lists(i64, max_size=3).map(tuple), max_size=3)
cuts = st.just(UNBOUNDED) | st.builds(
    StreamCut, st.just("s/a"), st.dictionaries(st.integers(0, 9), st.integers(-1, 2**61 - 1), min_size=1)
)
configs = st.builds(
    rg.ReaderGroupConfig,
    st.dictionaries(names, cuts, max_size=3),
    st.dictionaries(names, cuts, max_size=3),
    i64,
    i64,
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from(rg.RetentionType),
    i64,
    st.uuids(),
)
checkpoint_states = st.builds(
    rg.CheckpointState,
    st.lists(names, max_size=3).map(tuple),
    st.dictionaries(names, st.lists(names, max_size=3).map(tuple), max_size=3),
    st.dictionaries(names, positions, max_size=3),
    positions,
    st.booleans(),
)
UPDATES: dict[type[rg.Update], st.SearchStrategy[rg.Update]] = {
    rg.ReaderGroupStateInit: st.builds(
        rg.ReaderGroupStateInit, configs, positions, positions, ranged, st.booleans()
    ),
    rg.CompactReaderGroupState: st.builds(
        rg.CompactReaderGroupState,
        *(configs, checkpoint_states, positions, predecessors),
        *(st.dictionaries(names, positions, max_size=3), positions, positions),
        *(positions, st.dictionaries(names, ranges, max_size=3), st.booleans()),
    ),
    rg.AddReader: st.builds(rg.AddReader, names),
    rg.RemoveReader: st.builds(rg.RemoveReader, names, positions),
    rg.ReleaseSegment: st.builds(rg.ReleaseSegment, names, names, i64),
    rg.AcquireSegment: st.builds(rg.AcquireSegment, names, names),
    rg.UpdateDistanceToTail: st.builds(rg.UpdateDistanceToTail, names, i64, ranged),
    rg.SegmentCompleted: st.builds(
        rg.SegmentCompleted, names, names, predecessors, st.dictionaries(names, ranges, max_size=3)
    ),
    rg.CheckpointReader: st.builds(rg.CheckpointReader, names, names, positions),
    rg.CreateCheckpoint: st.builds(rg.CreateCheckpoint, names),
    rg.ClearCheckpointsBefore: st.builds(rg.ClearCheckpointsBefore, names),
    rg.UpdateCheckpointPublished: st.builds(rg.UpdateCheckpointPublished, st.booleans()),
    rg.UpdatingConfig: st.builds(rg.UpdatingConfig, st.booleans()),
    rg.RemoveOutstandingCheckpoints: st.builds(rg.RemoveOutstandingCheckpoints),
}
updates = st.sampled_from(list(UPDATES)).flatmap(UPDATES.__getitem__)


def test_every_type_has_its_number() -> None:
    assert list(rg.UPDATES) == list(range(14))
    assert set(UPDATES) == set(rg.UPDATES.values())


@pytest.mark.parametrize("kind", UPDATES, ids=lambda kind: kind.__name__)
def test_an_update_comes_back(kind: type[rg.Update]) -> None:
    @settings(max_examples=25)
    @given(UPDATES[kind])
    def check(update: rg.Update) -> None:
        data = update.to_bytes()
        again = rg.update_from_bytes(data)
        assert again == update
        assert again.leftover == NOTHING_LEFT
        assert again.to_bytes() == data

    check()


@given(st.lists(updates, max_size=4))
def test_updates_of_one_event_come_back(changes: list[rg.Update]) -> None:
    event = StateEvent.from_bytes(rg.updates(changes))
    assert event == StateEvent(False, tuple(changes))


def test_what_a_newer_client_adds_is_kept() -> None:
    _, envelope = Envelope.from_typed_bytes(rg.AddReader("r1").to_bytes())
    (revision,) = envelope.revisions
    newer = Envelope(0, ((0, revision[1] + b"tail"), (1, b"unknown")), b"behind").to_bytes(2)
    update = rg.update_from_bytes(newer)
    assert update == rg.AddReader("r1")
    assert update.to_bytes() == newer


def test_what_an_older_client_left_out_stays_out() -> None:
    _, envelope = Envelope.from_typed_bytes(rg.UpdateDistanceToTail("r1", 5).to_bytes())
    older = Envelope(0, envelope.revisions[:1]).to_bytes(6)
    update = rg.update_from_bytes(older)
    assert update == rg.UpdateDistanceToTail("r1", 5)
    assert update.to_bytes() == older


@pytest.mark.parametrize(
    ("hexadecimal", "complaint"),
    [
        ("", "4 bytes are expected"),
        ("00000003", "type 3 in a state stream"),
        ("00000002 00000004 00 0e 00 00", "has the type 14"),
        ("00000002 00000004 01 02 00 00", "format 1"),
        ("00000002 00000004 00 02 01 00", "version 1"),
        ("00000002 00000004 00 02 00 00", "has no first revision"),
        ("00000002 00000009 00 02 00 01 01 00000000", "at the place of revision 0"),
        ("00000002 7fffffff 00", "bytes are expected"),
        ("00000002 ffffffff 00", "bytes are expected"),
    ],
)
def test_what_is_no_event_of_a_log(hexadecimal: str, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        StateEvent.from_bytes(bytes.fromhex(hexadecimal))


@settings(max_examples=300)
@given(updates, st.data())
def test_mutated_updates_give_an_update_or_one_error(update: rg.Update, data: st.DataObject) -> None:
    mutated = bytearray(update.to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = rg.update_from_bytes(bytes(mutated))
    except ProtocolError:
        return
    assert rg.update_from_bytes(found.to_bytes()).to_bytes() == found.to_bytes()
