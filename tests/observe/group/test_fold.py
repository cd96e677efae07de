"""Rows of reader groups: who held what when, what moved and why, how far checkpoints came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pravega_lab.observe.group.fold import GroupHistory, fold_groups
from pravega_lab.observe.group.rows import SegmentPlace, remember_growth
from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentMeasured,
    SegmentOpened,
    SegmentSealed,
)
from pravega_lab.observe.stream.fold import SegmentHistory, fold_segments
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.names import segment_id
from tests.client.reader_group.logs import session_of_seed
from tests.observe.group.logs import GROUP, Logged, init, log_of, segment, told

BEGIN: list[list[rg.Update]] = [
    [init()],
    [rg.AddReader("a")],
    [rg.AcquireSegment("a", segment(0)), rg.AcquireSegment("a", segment(1))],
]


def log_and_fold(*entries: list[rg.Update]) -> tuple[list[Logged], GroupHistory]:
    log = log_of([*BEGIN, *entries])
    return log, fold_groups(told(log))


def test_bars_follow_each_other_without_a_hole() -> None:
    log, history = log_and_fold(
        [rg.AddReader("b")], [rg.ReleaseSegment("a", segment(1), 40)], [rg.AcquireSegment("b", segment(1))]
    )
    bars = [bar for bar in history.holdings if bar.segment_id == 1]
    assert [(bar.reader, bar.start_ms, bar.end_ms, bar.ended_by) for bar in bars] == [
        ("", log[0].end, log[2].end, "acquired"),
        ("a", log[2].end, log[4].end, "released"),
        ("", log[4].end, log[5].end, "acquired"),
        ("b", log[5].end, None, ""),
    ]
    assert [(bar.offset, bar.end_offset) for bar in bars] == [(0, 0), (0, 40), (40, 40), (40, None)]
    (move,) = [move for move in history.moves if move.from_reader]
    assert (move.from_reader, move.to_reader, move.kind) == ("a", "b", "released")
    assert (move.left_ms, move.time_ms, move.gap_ms) == (log[4].end, log[5].end, log[5].end - log[4].end)
    assert (move.reason, move.reason_kind) == (
        "a had given it back; b has 1 now, a fair share is 1",
        "inferred",
    )


def test_lanes_stand_in_order_of_joining_and_stay() -> None:
    _, history = log_and_fold(
        [rg.AddReader("b")], [rg.RemoveReader("a", {segment(0): 3})], [rg.AddReader("c")], [rg.AddReader("a")]
    )
    assert [(row.index, row.reader) for row in history.readers] == [(0, "a"), (1, "b"), (2, "c")]
    first = history.readers[0]
    assert (first.is_online, first.state, len(first.sessions)) == (True, "idle", 2)
    assert [bar.ended_by for bar in history.holdings if bar.reader == "a"] == ["left", "left"]


def test_states_shares_and_holdings_of_a_lane() -> None:
    _, history = log_and_fold([rg.AddReader("b")])
    rows = {row.reader: row for row in history.readers}
    assert (rows["a"].state, rows["b"].state) == ("reading", "idle")
    assert (rows["a"].held, rows["b"].held) == ([("s/x", 0), ("s/x", 1)], [])
    assert (rows["a"].fair_share, rows["b"].fair_share) == (1.0, 1.0)


def test_a_successor_comes_from_who_read_its_last_predecessor() -> None:
    after: dict[str, tuple[int, ...]] = {segment(2, 1): (0, 1)}
    log, history = log_and_fold(
        [rg.SegmentCompleted("a", segment(0), after)],
        [rg.SegmentCompleted("a", segment(1), after)],
        [rg.AcquireSegment("a", segment(2, 1))],
    )
    (waiting,) = history.waits
    assert (waiting.start_ms, waiting.end_ms, waiting.words) == (log[3].end, log[4].end, "waits for #1")
    move = history.moves[-1]
    assert (move.kind, move.from_reader, move.from_segments) == ("successor", "a", (0, 1))
    place = history.place(GROUP, "s/x", 0)
    assert place is not None
    assert place.state == "finished"


def test_a_checkpoint_row_says_who_holds_it_up() -> None:
    entries: list[list[rg.Update]] = [
        [rg.AddReader("b"), rg.CreateCheckpoint("cp")],
        [rg.CheckpointReader("cp", "b", {})],
        [rg.CheckpointReader("cp", "a", {segment(0): 5, segment(1): 6})],
    ]
    _, running = log_and_fold(*entries[:2])
    (row,) = running.checkpoints
    assert (row.state, row.words, row.waiting, row.held_up_by) == ("running", "1 of 2", ("a",), ("a",))
    lane = running.lane(GROUP, "a")
    assert lane is not None
    assert (lane.state, lane.owes) == ("checkpoint", ["cp"])
    log, history = log_and_fold(*entries)
    (row,) = history.checkpoints
    assert (row.state, row.words, row.duration_ms) == ("completed", "completed", log[5].end - log[3].end)
    assert [(p.reader, p.time_ms) for p in row.passes] == [("b", log[4].end), ("a", log[5].end)]
    assert (row.held_up_by, row.held_up_segments) == (("a",), (("s/x", 0), ("s/x", 1)))
    assert row.cut == ((segment(0), 5), (segment(1), 6))
    assert history.readers[0].state == "reading"


@pytest.mark.parametrize(
    ("update", "state"),
    [(rg.RemoveOutstandingCheckpoints(), "cancelled"), (rg.ClearCheckpointsBefore("two"), "cleared")],
)
def test_a_checkpoint_that_will_not_be_done(update: rg.Update, state: str) -> None:
    _, history = log_and_fold([rg.CreateCheckpoint("one")], [rg.CreateCheckpoint("two")], [update])
    assert history.checkpoints[0].state == state
    lane = history.lane(GROUP, "a")
    assert lane is not None
    assert "one" not in lane.owes


def test_a_reset_closes_all_bars() -> None:
    log, history = log_and_fold([rg.UpdatingConfig(True)], [init(segment(0), generation=1)])
    opened = [bar for bar in history.holdings if bar.end_ms is None]
    assert [(bar.reader, bar.segment_id, bar.start_ms) for bar in opened] == [("", 0, log[-1].end)]
    assert [reset.is_begun for reset in history.resets] == [True, False]
    assert [p.segment_id for p in history.current(GROUP)] == [0]


@pytest.mark.parametrize("seed", range(20))
def test_bit_by_bit_gives_the_same_and_names_what_changed(seed: int) -> None:
    observations = told(log_of([u] for u in session_of_seed(seed).log))
    whole, bits = fold_groups(observations), GroupHistory()
    seen: dict[str, dict[int, str]] = {}
    for observation in observations:
        bits.apply(observation)
        for table in ("readers", "holdings", "waits", "moves", "checkpoints"):
            changed = getattr(bits.changed, table)
            seen.setdefault(table, {}).update({i: repr(getattr(bits, table)[i]) for i in changed})
        bits.changed.clear()
    for table, rows in seen.items():
        assert getattr(bits, table) == getattr(whole, table)
        assert rows == {row.index: repr(row) for row in getattr(whole, table)}


# ---- with a stream's observer beside it ---------------------------------------------------------


def measured(time_ms: int, number: int, length: int) -> SegmentMeasured:
    return SegmentMeasured(
        time_ms=time_ms, stream="s/x", segment_id=number, start_offset=0, write_offset=length
    )


def opened(number: int, low: float, high: float) -> SegmentOpened:
    return SegmentOpened(time_ms=0, stream="s/x", segment_id=number, low=low, high=high)


def test_unread_bytes_and_since_when() -> None:
    lengths = [measured(10, 0, 100), measured(20, 0, 300), measured(30, 1, 50)]
    history = fold_groups([*lengths[:1], *told(log_of(BEGIN)), *lengths[1:]])
    lane, place = history.readers[0], history.place(GROUP, "s/x", 0)
    assert place is not None
    assert (place.unread_bytes, place.behind_since_ms) == (300, 10)
    assert (lane.unread_bytes, lane.behind_since_ms) == (350, 10)
    distance = rg.UpdateDistanceToTail("a", 12, {rg.SegmentWithRange(segment(0)): 150})
    for observation in told(log_of([*BEGIN, [distance]]))[-1:]:
        history.apply(observation)
    assert (place.unread_bytes, place.behind_since_ms) == (150, 20)
    assert (lane.unread_bytes, lane.lag_ms) == (200, 12)


class Counted(list[tuple[int, int]]):
    """A list that counts which of its items are read."""

    n_read = 0

    def __getitem__(self, place: Any) -> Any:
        self.n_read += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for item in super().__iter__():
            self.n_read += 1
            yield item


def test_the_age_of_an_unread_byte_is_found_among_few_measurements() -> None:
    growth = Counted((1_000 + n, 10 * n) for n in range(256))
    place = SegmentPlace("s/g", "s/x", 0, "held", 0, "a", 2_400, 2_550, growth=growth)
    assert place.behind_since_ms == 1_241
    assert growth.n_read <= 10


def test_a_second_observer_whose_measurement_is_older_changes_no_age() -> None:
    growth: list[tuple[int, int]] = []
    for time_ms, written in [(10, 100), (20, 200), (21, 150), (30, 300)]:
        remember_growth(growth, time_ms, written)
    ages = {
        read: SegmentPlace("s/g", "s/x", 0, "held", 0, "a", read, 300, growth=growth).behind_since_ms
        for read in (0, 100, 160, 200, 300)
    }
    assert ages == {0: 10, 100: 20, 160: 20, 200: 30, 300: None}


def test_who_passes_a_checkpoint_by_leaving_is_gone_and_not_through() -> None:
    """What it has not read is not known to be nothing; what it held up is what it gave back."""
    entries: list[list[rg.Update]] = [
        [rg.AddReader("b"), rg.CreateCheckpoint("cp")],
        [rg.CheckpointReader("cp", "b", {})],
        [rg.RemoveReader("a", {segment(0): 5, segment(1): 6})],
    ]
    lengths = [measured(10, 0, 100), measured(20, 1, 50)]
    history = fold_groups([*lengths, *told(log_of([*BEGIN, *entries])), measured(900, 0, 400)])
    lane, (row,) = history.readers[0], history.checkpoints
    assert (lane.reader, lane.state, lane.held, lane.owes) == ("a", "left", [], [])
    assert (lane.unread_bytes, lane.behind_since_ms, lane.owes_since_ms) == (None, None, None)
    assert (history.readers[1].reader, history.readers[1].unread_bytes) == ("b", 0)
    assert (row.state, row.held_up_by) == ("completed", ("a",))
    assert row.held_up_segments == (("s/x", 0), ("s/x", 1))
    assert [(p.segment_id, p.unread_bytes) for p in history.current(GROUP)] == [(0, 395), (1, 44)]


def test_a_clock_in_place_of_a_lag_is_no_lag() -> None:
    _, history = log_and_fold([rg.UpdateDistanceToTail("a", 1_795_240_735_878)])
    assert history.readers[0].distance_to_tail_ms == 1_795_240_735_878
    assert history.readers[0].lag_ms is None


def map_of(*parts: list[Observation]) -> SegmentHistory:
    return fold_segments(o for part in parts for o in part)


@pytest.mark.parametrize("stream_first", [True, False])
def test_the_segment_map_takes_its_owners_from_the_group(stream_first: bool) -> None:
    stream: list[Observation] = [opened(0, 0.0, 0.5), opened(1, 0.5, 1.0), measured(5, 1, 900)]
    group = told(log_of([*BEGIN, [rg.AddReader("b")], [rg.ReleaseSegment("a", segment(1), 40)]]))
    history = map_of(stream, group) if stream_first else map_of(group, stream)
    assert [(row.state, row.reader, row.group) for row in history.rows] == [
        ("held", "a", GROUP), ("nobody", None, GROUP)
    ]  # fmt: skip
    assert history.rows[1].unread_bytes == 860
    assert history.readers == ["a", "b"]
    assert history.knows_owners


def test_the_segment_map_says_what_waits() -> None:
    successor = SegmentOpened(
        time_ms=9, stream="s/x", segment_id=segment_id(1, 2), low=0.0, high=1.0, predecessors=(0, 1)
    )
    stream: list[Observation] = [opened(0, 0.0, 0.5), opened(1, 0.5, 1.0), successor]
    sealed: list[Observation] = [
        SegmentSealed(time_ms=9, stream="s/x", segment_id=n, length_bytes=70) for n in (0, 1)
    ]
    entry: list[rg.Update] = [rg.SegmentCompleted("a", segment(0), {segment(2, 1): (0, 1)})]
    history = map_of(stream, sealed, told(log_of([*BEGIN, entry])))
    assert [(row.state, row.waits_words, row.unread_bytes) for row in history.rows] == [
        ("finished", "", 0), ("held", "", 70), ("waits", "waits for #1", None)
    ]  # fmt: skip


def test_a_death_moves_the_position_back() -> None:
    """What comes again after a death is unread again, in the map too."""
    distance = rg.UpdateDistanceToTail("a", 0, {rg.SegmentWithRange(segment(0)): 80})
    group = told(log_of([*BEGIN, [distance], [rg.RemoveReader("a", {})]]))
    history = map_of([opened(0, 0.0, 1.0), measured(1, 0, 100)], group)
    assert history.rows[0].unread_bytes == 100
