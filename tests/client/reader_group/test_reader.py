"""What readers of a group decide, in a box without clock or store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from uuid import UUID

import pytest

from pravega_lab.client.reader_group.core.assignment import (
    _java_hash,
    in_order_of_release,
    leave_to_others_ms,
    n_to_take_over,
)
from pravega_lab.client.reader_group.core.reader import Write, go_offline
from pravega_lab.client.reader_group.core.state import Decide
from pravega_lab.client.reader_group.errors import ReinitializationRequiredError
from pravega_lab.engine.simulation.groups.java_rule import JavaRuleReader
from pravega_lab.protocol.hashing import ROUTING_SEED, TABLE_SEED, key_position
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig, RetentionType, Update
from pravega_lab.protocol.stream_cut import UNBOUNDED
from tests.client.reader_group.box import EVENT_BYTES, Box, Member

A, B = "s/x/0.#epoch.0", "s/x/1.#epoch.0"


def config(
    interval_ms: int = -1, retention: RetentionType = RetentionType.NONE, refresh_ms: int = 1_000
) -> ReaderGroupConfig:
    return ReaderGroupConfig(
        {"s/x": UNBOUNDED},
        automatic_checkpoint_interval_ms=interval_ms,
        group_refresh_time_ms=refresh_ms,
        retention_type=retention,
    )


def read_all(*members: Member, rounds: int = 200, ms: int = 100) -> None:
    for _ in range(rounds):
        for member in members:
            member.read()
        members[0].box.now_ms += ms


def begin(box: Box, name: str = "c") -> None:
    assert box.write(lambda _: [rg.CreateCheckpoint(name)])


def test_one_reader_takes_everything() -> None:
    box = Box(3, config())
    reader = Member(box, "r1")
    read_all(reader, rounds=40)
    assert len(reader.events) == 30
    assert box.state().unassigned == {}


def test_two_that_come_together_share() -> None:
    box = Box(4, config())
    members = [Member(box, "r1"), Member(box, "r2")]
    read_all(*members)
    assert sorted(len(m.core.held) for m in members) == [2, 2]


def test_a_late_reader_gets_its_share_after_checkpoints() -> None:
    """Segments are given away only right behind a checkpoint (reader-groups.md B3)."""
    box = Box(6, config(interval_ms=5_000))
    first = Member(box, "r1")
    read_all(first, rounds=10)
    late = [Member(box, "r2"), Member(box, "r3")]
    assert [len(m.core.held) for m in late] == [0, 0]
    read_all(first, *late, rounds=800)
    counts = [len(m.core.held) for m in (first, *late)]
    assert sum(counts) == 6
    assert max(counts) - min(counts) <= 1


OUT_OF_STEP_MS = (300, 900, 1_500, 2_100, 2_700, 3_300, 3_900)  # from one reader's start to the next


def share(
    box: Box, until_ms: int, out_of_step_ms: int, *kinds: Callable[[Box, str], Member]
) -> tuple[list[int], int]:
    """Start readers one after the other, which all read every 100 ms, and return who holds how many segments.

    The last number is that of the segments of no reader. The time is from the start of the first reader.
    """
    members: list[Member] = []
    for now_ms in range(0, until_ms, 100):
        if len(members) < len(kinds) and now_ms >= len(members) * out_of_step_ms:
            members.append(kinds[len(members)](box, f"r{len(members) + 1}"))
        read_all(*members, rounds=1)
    state = box.state()
    return [len(held) for held in state.assigned.values()], len(state.unassigned)


def java(box: Box, name: str) -> Member:
    member = Member(box, name)
    member.core = JavaRuleReader(name, box.state(), now_ms=box.now_ms, chance=Random(1))
    return member


def default_box(n_segments: int) -> Box:
    return Box(n_segments, config(interval_ms=30_000, refresh_ms=3_000))


def test_java_starves_a_reader_that_refreshes_after_it_acquired_again() -> None:
    """Why our rule is another one: see docs/differences.md."""
    assert share(default_box(4), 300_000, 3_300, java, java) == ([4, 0], 0)


@pytest.mark.parametrize("out_of_step_ms", OUT_OF_STEP_MS)
def test_one_checkpoint_makes_the_shares_fair(out_of_step_ms: int) -> None:
    """With default settings, two refresh intervals after the checkpoint at 31 s."""
    until_ms = 31_000 + 6_000
    assert share(default_box(4), until_ms, out_of_step_ms, Member, Member) == ([2, 2], 0)
    counts, free = share(default_box(9), until_ms, out_of_step_ms, Member, Member, Member, Member)
    assert (sorted(counts), free) == ([2, 2, 2, 3], 0)


@pytest.mark.parametrize("out_of_step_ms", OUT_OF_STEP_MS)
def test_a_java_reader_does_not_starve_ours(out_of_step_ms: int) -> None:
    """It releases one segment at each checkpoint: at 31 s and at 61 s."""
    assert share(default_box(4), 67_000, out_of_step_ms, java, Member) == ([2, 2], 0)


@pytest.mark.parametrize("out_of_step_ms", OUT_OF_STEP_MS)
def test_a_java_reader_is_not_starved_by_ours(out_of_step_ms: int) -> None:
    assert share(default_box(4), 37_000, out_of_step_ms, Member, java) == ([2, 2], 0)


@pytest.mark.parametrize("out_of_step_ms", [0, 1_000, 2_000])
def test_those_who_stay_share_what_a_dead_reader_held(out_of_step_ms: int) -> None:
    """Without any checkpoint: neither acquires more than its share while the other can acquire it."""
    box = Box(6, config(refresh_ms=3_000))
    members = [Member(box, "r1"), Member(box, "dead"), Member(box, "r3")]
    read_all(*members, rounds=2)
    assert [len(held) for held in box.state().assigned.values()] == [2, 2, 2]
    members[0].core.timers.fetch_ms += out_of_step_ms
    box.write(go_offline("dead", {}))
    read_all(members[0], members[2], rounds=60)
    assert [len(held) for held in box.state().assigned.values()] == [3, 3]


def test_what_a_dead_reader_does_not_acquire_is_taken_over() -> None:
    """The reader leaves it to the other for a refresh interval, and a second for each reader."""
    box = Box(4, config(refresh_ms=3_000))
    alive = Member(box, "r1")
    alive.read()
    Member(box, "dead")
    begin(box)
    box.now_ms += 3_000
    read_all(alive, rounds=3)
    assert len(alive.core.held) == 2
    read_all(alive, rounds=45)
    assert len(alive.core.held) == 2
    read_all(alive, rounds=10)
    assert len(alive.core.held) == 4


def test_shares_that_differ_by_one_stay_as_they_are() -> None:
    """Java's weights, which hold the clock, let the reader with one more release it at each checkpoint."""
    box = Box(5, config(interval_ms=5_000))
    members = [Member(box, "r1"), Member(box, "r2")]
    read_all(*members, rounds=30)
    moves = [u for u in box.log if isinstance(u, rg.AcquireSegment)]
    read_all(*members, rounds=600)
    assert [u for u in box.log if isinstance(u, rg.AcquireSegment)] == moves


def test_a_checkpoint_is_handed_out_then_reported() -> None:
    box = Box(1, config())
    reader = Member(box, "r1")
    reader.read()
    reader.read()
    begin(box)
    box.now_ms += 1_000
    assert reader.read() == "c"
    assert reader.core.at_checkpoint == "c"
    assert not reader.core.is_quiet(box.now_ms)
    assert not box.state().checkpoints.is_complete("c")
    reader.read()
    assert reader.core.at_checkpoint is None
    assert box.state().checkpoints.positions["c"] == {A: 2 * EVENT_BYTES}
    assert len(reader.events) == 3


def test_several_checkpoints_come_one_by_one() -> None:
    box = Box(1, config())
    reader = Member(box, "r1")
    for name in "abc":
        begin(box, name)
    box.now_ms += 1_000
    read_all(reader, rounds=6)
    assert reader.checkpoints == ["a", "b", "c"]
    assert box.state().checkpoints.outstanding() == []


def test_a_silent_checkpoint_is_reported_within_the_read() -> None:
    box = Box(1, config())
    reader = Member(box, "r1")
    begin(box, "x_SILENT_")
    box.now_ms += 1_000
    assert reader.read() is None
    state = box.state()
    assert state.checkpoints.is_complete("x_SILENT_")
    assert state.checkpoints.last_positions == {}


def test_a_step_cut_off_is_taken_again() -> None:
    """The program may die, or be cancelled, at any step of a decision; the next one goes on from the log."""
    for cut_at in range(1, 12):
        box = Box(2, config(retention=RetentionType.AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT))
        reader = Member(box, "r1")
        read_all(reader, rounds=30)
        box.scale([A], 2)
        read_all(reader, rounds=20)
        begin(box)
        box.now_ms += 1_000
        assert reader.read() == "c"
        box.now_ms += 1_000
        reader.run(reader.core.before_read(now_ms=box.now_ms), steps_max=cut_at)
        read_all(reader, rounds=60)
        state = box.state()
        assert state.checkpoints.is_complete("c")
        assert (state.future, state.unassigned) == ({}, {})
        assert len(reader.events) == len(dict.fromkeys(reader.events)) == 40


def test_nothing_changes_hands_while_a_checkpoint_waits() -> None:
    box = Box(2, config())
    reader = Member(box, "r1")
    begin(box)
    box.now_ms += 1_000
    assert reader.read() == "c"
    assert reader.core.held == {}
    reader.read()
    assert len(reader.core.held) == 2


HELD_UP = [rg.AcquireSegment, rg.ReleaseSegment, rg.SegmentCompleted]


@pytest.mark.parametrize("kind", HELD_UP, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("news", ["a checkpoint", "offline", "nothing"])
def test_a_write_is_decided_on_the_newest_state(kind: type[Update], news: str) -> None:
    """Others may have begun a checkpoint, or declared the reader offline, since it last looked."""
    box = Box(6, config(), n_events=2)
    reader = Member(box, "r1")
    if kind is not rg.AcquireSegment:
        reader.read()
        Member(box, "r2")
        box.scale([A], 2)
        for _ in range(14):
            reader.read()
        assert A in reader.core.ended
        begin(box, "first")
        box.now_ms += 3_000
        assert reader.read() == "first"
    box.now_ms += 3_000
    decision = reader.core.before_read(now_ms=box.now_ms)
    step = next(decision)
    while not (isinstance(step, Write) and any(isinstance(u, kind) for u in step.decide(box.state()))):
        step = decision.send(reader._take(step))
    if news == "a checkpoint":
        begin(box)
    elif news == "offline":
        box.write(go_offline("r1", {}))
    written = box.write(step.decide)
    assert any(isinstance(u, kind) for u in written) == bool(written) == (news == "nothing")


def test_a_reader_that_is_called_at_its_deadlines_takes_over_as_soon_as_it_may() -> None:
    """A loop that waits calls no earlier, so every time that matters has to be among the deadlines."""
    box = Box(2, config(refresh_ms=60_000))
    alive = Member(box, "r1")
    Member(box, "dead")
    begin_ms = box.now_ms
    alive.decide()
    assert len(alive.core.held) == 1
    left_ms = leave_to_others_ms(box.state(), "r1")
    assert left_ms > 60_000
    assert not alive.core.is_quiet(alive.core.next_deadline_ms())
    while len(alive.core.held) == 1:
        assert alive.core.next_deadline_ms() > box.now_ms
        box.now_ms = alive.core.next_deadline_ms()
        assert alive.core.is_quiet(box.now_ms - 1)
        alive.decide()
    assert box.now_ms == begin_ms + left_ms


@pytest.mark.parametrize(
    ("n_readers", "n_left", "expected"), [(1, 5, 5), (2, 5, 5), (3, 5, 2), (6, 5, 1), (9, 5, 1), (3, 1, 1)]
)
def test_what_nobody_acquired_is_divided_among_the_others(n_readers: int, n_left: int, expected: int) -> None:
    box = Box(9, config())
    for n in range(n_readers):
        Member(box, f"r{n}")
    assert n_to_take_over(box.state(), n_left) == expected


def test_segments_are_released_in_java_s_order() -> None:
    """Java places routing keys by the same hash; its seed for them is the hash code of ``EventRouter``."""
    hashes = [_java_hash(text) for text in ("EventRouter", "KeyValueTableRouter", "polygenelubricants", "")]
    assert hashes == [ROUTING_SEED, TABLE_SEED - 2**64, -(2**31), 0]
    names = [f"s/x/{n}.#epoch.0" for n in range(200)]
    by_position = sorted(names, key=key_position, reverse=True)
    assert in_order_of_release("EventRouter", names) == by_position
    assert in_order_of_release("another reader", names) != by_position


def test_automatic_checkpoints_by_whoever_is_first() -> None:
    box = Box(2, config(interval_ms=5_000))
    members = [Member(box, "r1"), Member(box, "r2")]
    read_all(*members, rounds=200)
    begun = [u for u in box.log if isinstance(u, rg.CreateCheckpoint)]
    assert 3 <= len(begun) <= 5
    assert all(member.checkpoints == [u.checkpoint_id for u in begun] for member in members)
    assert len(box.state().checkpoints.begun) == 1
    assert all(str(UUID(u.checkpoint_id)) == u.checkpoint_id for u in begun)  # as Java names them


def test_successors_come_after_the_next_checkpoint() -> None:
    box = Box(1, config())
    reader = Member(box, "r1")
    new = box.scale([A], 2)
    read_all(reader, rounds=50)
    assert (len(reader.events), reader.core.held) == (10, {A: -1})
    begin(box)
    read_all(reader, rounds=60)
    assert len(reader.events) == 30
    assert list(reader.core.held) == new


def test_a_reader_may_begin_a_checkpoint_when_a_segment_ends() -> None:
    """So the successors are read at once, and not after 30 s. Nothing more is begun after that."""
    box = default_box(1)
    reader = Member(box, "r1", checkpoint_at_segment_end=True)
    read_all(reader, rounds=30)
    at_start = len(reader.checkpoints)  # the automatic checkpoint after a second
    new = box.scale([A], 2)
    reader.read()  # the end
    assert not reader.core.is_quiet(box.now_ms)
    read_all(reader, rounds=4)
    assert list(reader.core.held) == new
    assert len(reader.checkpoints) == at_start + 1
    read_all(reader, rounds=250)
    assert (len(reader.events), len(reader.checkpoints)) == (30, at_start + 1)


def test_the_end_of_a_segment_waits_for_the_checkpoint_under_way() -> None:
    """This reader passed that one before the end, so it begins another when the other reader has passed."""
    box = Box(2, config())
    asks, slow = Member(box, "r1", checkpoint_at_segment_end=True), Member(box, "r2")
    read_all(asks, slow, rounds=30)
    [segment] = asks.core.held
    begin(box)
    read_all(asks, rounds=12)
    box.scale([segment], 2)
    read_all(asks, rounds=30)
    assert (asks.checkpoints, asks.core.is_quiet(box.now_ms)) == (["c"], True)
    read_all(asks, slow, rounds=30)
    assert len(asks.checkpoints) == 2
    assert segment not in box.state().positions()


def test_a_checkpoint_in_the_middle_of_a_merge_covers_the_keys() -> None:
    """Java's groups forget A here, and a reset to such a checkpoint never reads the successor.

    Source: reader-groups.md B4.
    """
    box = Box(2, config())
    box.segments[B].length = 200 * EVENT_BYTES
    first, second = Member(box, "r1"), Member(box, "r2")
    (merged,) = box.scale([A, B], 1)
    read_all(first, second, rounds=30)
    reads_a = first if A in first.core.held else second
    assert reads_a.core.held[A] == -1
    for name in ("one", "two"):
        begin(box, name)
        read_all(first, second, rounds=20)
        positions = box.state().checkpoints.positions[name]
        assert positions == {A: -1, B: positions[B]}
        assert 0 < positions[B] < 200 * EVENT_BYTES
    assert A not in reads_a.core.held
    assert merged in box.state().future
    read_all(first, second, rounds=200)
    begin(box, "three")
    read_all(first, second, rounds=40)
    assert sum(len(m.events) for m in (first, second)) == 10 + 200 + 10


def half_merged() -> tuple[Box, Member]:
    """A merge whose first half is read and completed, and whose second half a reader still holds."""
    box = Box(2, config())
    box.segments[B].length = 200 * EVENT_BYTES
    reader = Member(box, "r1")
    box.scale([A, B], 1)
    reader.read()
    reader.core.end(A)
    begin(box, "one")
    box.now_ms += 1_000
    read_all(reader, rounds=5)
    assert A not in reader.core.held
    return box, reader


def test_the_hole_is_covered_also_after_a_compaction() -> None:
    box, reader = half_merged()
    box.log.append(box.state().to_compact())
    begin(box, "two")
    box.now_ms += 1_000
    read_all(reader, rounds=5)
    assert box.state().checkpoints.positions["two"][A] == -1


def test_the_hole_is_covered_also_if_a_compaction_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another member compacts the log after this one has looked at it, and before it reports."""
    box, reader = half_merged()
    begin(box, "two")
    box.now_ms += 1_000

    def write(decide: Decide) -> list[Update]:
        monkeypatch.undo()
        box.log.append(box.state().to_compact())
        return box.write(decide)

    monkeypatch.setattr(box, "write", write)
    read_all(reader, rounds=5)
    assert box.state().checkpoints.positions["two"][A] == -1


def test_end_offsets_end_a_segment_without_successors() -> None:
    box = Box(1, config())
    box.log[0] = rg.ReaderGroupStateInit(config(), {A: 50}, {A: 50})
    reader = Member(box, "r1")
    read_all(reader, rounds=10)
    assert (reader.events, reader.core.held) == ([], {A: 50})
    begin(box)
    read_all(reader, rounds=30)
    assert box.end_of_data


def test_a_reader_declared_offline_is_told() -> None:
    box = Box(1, config())
    reader = Member(box, "r1")
    read_all(reader, rounds=3)
    box.write(go_offline("r1", {}))
    box.now_ms += 1_000
    with pytest.raises(ReinitializationRequiredError):
        reader.read()


def test_places_go_back_to_where_others_go_on() -> None:
    """A time window is of what the group will still deliver; what the dead reader noted last is not that."""
    box = Box(2, config())
    dead, alive = Member(box, "dead"), Member(box, "alive")
    read_all(dead, alive, rounds=50)
    [segment] = dead.core.held
    assert alive.core.places()[segment] > 0
    box.write(go_offline("dead", {segment: EVENT_BYTES}))
    box.now_ms += 1_000
    alive.decide()
    assert alive.core.places()[segment] == EVENT_BYTES
    assert sorted(alive.core.places()) == [A, B]


def test_places_stay_back_when_somebody_has_taken_over() -> None:
    """Also what the heir has not said yet counts from where it took over, after a compaction too."""
    box = Box(2, config())
    dead, alive = Member(box, "dead"), Member(box, "alive")
    read_all(dead, alive, rounds=50)
    [segment] = dead.core.held
    box.write(go_offline("dead", {segment: EVENT_BYTES}))
    box.write(lambda state: [rg.AddReader("heir"), rg.AcquireSegment("heir", segment)])
    box.now_ms += 1_000
    alive.decide()
    assert alive.core.places()[segment] == EVENT_BYTES
    reached = {rg.SegmentWithRange(segment): 2 * EVENT_BYTES}
    box.write(lambda state: [rg.UpdateDistanceToTail("heir", 0, reached)])
    box.now_ms += 1_000
    alive.decide()
    assert alive.core.places()[segment] == 2 * EVENT_BYTES
    box.log.append(box.state().to_compact())
    fresh = Member(box, "fresh")
    assert fresh.core.places()[segment] == EVENT_BYTES


def test_a_reader_that_was_replaced_by_one_of_its_name_is_told() -> None:
    box = Box(2, config())
    first = Member(box, "r1")
    read_all(first, rounds=3)
    box.write(go_offline("r1", {}))
    second = Member(box, "r1")
    read_all(second, rounds=3)
    box.now_ms += 1_000
    with pytest.raises(ReinitializationRequiredError):
        first.read()
    box.log.append(box.state().to_compact())
    box.now_ms += 1_000
    read_all(second, rounds=30)
    assert len(second.core.held) == 2


def test_a_reader_that_was_replaced_before_a_compaction_is_told() -> None:
    box = Box(2, config())
    first = Member(box, "r1")
    read_all(first, rounds=3)
    box.write(go_offline("r1", {}))
    read_all(Member(box, "r1"), rounds=3)
    box.log.append(box.state().to_compact())
    box.now_ms += 1_000
    with pytest.raises(ReinitializationRequiredError):
        first.read()


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_reader_that_skips_a_part_of_the_log_knows_whether_it_was_replaced(is_replaced: bool) -> None:
    """The log was compacted twice while it did not look. A successor has written its own clock."""
    box = Box(2, config())
    first = Member(box, "r1")
    read_all(first, rounds=3)
    if is_replaced:
        box.write(go_offline("r1", {}))
        read_all(Member(box, "r1"), rounds=30)
    box.log.append(box.state().to_compact())
    first._state, first._seen = None, len(box.log) - 1
    box.now_ms += 1_000
    if is_replaced:
        with pytest.raises(ReinitializationRequiredError):
            first.read()
    else:
        read_all(first, rounds=30)
        assert len(first.core.held) == 2
        assert len(first.events) == 20


def test_a_reader_knows_itself_also_by_the_clock_that_a_dead_one_of_its_name_wrote_late() -> None:
    """The state keeps that clock. A part of the log was skipped, so that nothing else tells it who it is."""
    box = Box(2, config())
    read_all(Member(box, "r1"), rounds=3)
    box.write(go_offline("r1", {}))
    box.log.append(rg.UpdateDistanceToTail("r1", box.now_ms, {}))
    second = Member(box, "r1")
    box.log.append(box.state().to_compact())
    second._state, second._seen = None, len(box.log) - 1
    box.now_ms += 1_000
    read_all(second, rounds=30)
    assert len(second.core.held) == 2


def test_a_reset_is_noticed_also_when_a_reader_of_that_name_is_back() -> None:
    box = Box(2, config())
    first = Member(box, "r1")
    box.log.append(rg.ReaderGroupStateInit(replace(config(), generation=1), {A: 0, B: 0}, {}))
    Member(box, "r1")
    box.now_ms += 1_000
    with pytest.raises(ReinitializationRequiredError):
        first.read()


def test_a_dead_reader_holds_up_checkpoints_until_it_is_declared_offline() -> None:
    box = Box(2, config())
    alive, dead = Member(box, "r1"), Member(box, "r2")
    read_all(alive, dead, rounds=5)
    begin(box)
    read_all(alive, rounds=30)
    assert box.state().checkpoints.waiting_for("c") == ("r2",)
    box.write(go_offline("r2", {}))
    read_all(alive, rounds=60)
    assert box.state().checkpoints.is_complete("c")
    assert len(alive.core.held) == 2


def test_retention_is_told_once() -> None:
    box = Box(1, config(retention=RetentionType.AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT))
    reader = Member(box, "r1")
    reader.read()
    begin(box)
    box.now_ms += 1_000
    read_all(reader, rounds=40)
    assert box.published == [{A: EVENT_BYTES}]
    assert box.state().checkpoints.is_last_published


@pytest.mark.parametrize("seed", range(12))
def test_every_event_once_and_in_order(seed: int) -> None:
    """Up to five readers that come and go in good order, splits and merges, checkpoints."""
    chance = Random(seed)
    box = Box(chance.randint(1, 4), config(interval_ms=3_000))
    gone: list[Member] = []
    members = [Member(box, f"r{n}", seed) for n in range(chance.randint(1, 5))]
    for n in range(6):
        read_all(*members, rounds=chance.randint(1, 40))
        active = [name for name, s in box.segments.items() if not s.is_sealed]
        active.sort(key=lambda name: box.segments[name].keys.low)
        at = chance.randrange(len(active))
        sealed = active[at : at + chance.randint(1, 2)]
        box.scale(sealed, chance.randint(1, 3))
        if len(members) > 1 and chance.random() < 0.4:
            leaving = members.pop(chance.randrange(len(members)))
            assert box.write(go_offline(leaving.name, dict(leaving.core.held)))
            gone.append(leaving)
        else:
            members.append(Member(box, f"late{n}", seed))
    read_all(*members, rounds=600)
    everything = [(name, o) for name, s in box.segments.items() for o in range(0, s.length, EVENT_BYTES)]
    found = [event for member in gone + members for event in member.events]
    assert sorted(found) == sorted(everything)
    held = sorted(len(m.core.held) for m in members)
    assert held[-1] - held[0] <= 1


@pytest.mark.parametrize("seed", range(8))
def test_a_position_after_any_checkpoint_is_a_whole_cut(seed: int) -> None:
    """Every key is covered by each completed checkpoint, through splits and merges."""
    chance = Random(seed)
    box = Box(3, config(interval_ms=2_000))
    members = [Member(box, f"r{n}", seed) for n in range(3)]
    checked = 0
    for _ in range(8):
        for _ in range(10):
            read_all(*members, rounds=chance.randint(1, 8))
            checked += _check_last(box)
        active = [name for name, s in box.segments.items() if not s.is_sealed]
        active.sort(key=lambda name: box.segments[name].keys.low)
        at = chance.randrange(len(active))
        merge = active[at : at + 2]
        box.scale(merge, 1 if len(merge) == 2 else 2, n_events=chance.randint(0, 60))
    assert checked > 10


def _check_last(box: Box) -> bool:
    positions = box.state().checkpoints.last_positions
    keys = sorted(box.segments[name].keys for name in positions)
    reached = 0.0
    for low, high in keys:
        assert low <= reached + 1e-9, positions
        reached = max(reached, high)
    assert not positions or reached > 1 - 1e-9
    return bool(positions)
