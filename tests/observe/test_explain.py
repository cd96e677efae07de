"""Journals in sentences: what is behind and since when, whom a checkpoint waits for, what has no owner."""

from __future__ import annotations

import pytest

from pravega_lab.client.reader_group.core.reader import Successors
from pravega_lab.client.reader_group.core.state import GroupState, fold
from pravega_lab.client.reader_group.explain import Explanation, explain_state
from pravega_lab.observe.durations import span
from pravega_lab.observe.journal.gap import Gap
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import (
    BatchDone,
    Observation,
    QueryStarted,
    SegmentMeasured,
    SegmentOpened,
    Trouble,
    TroubleOver,
)
from pravega_lab.observe.stream.fold import SegmentHistory
from pravega_lab.portable.words import listed
from pravega_lab.protocol.metadata import reader_group as rg
from tests.client.reader_group.logs import session_of_seed
from tests.observe.examples import killed_query, splitting_story
from tests.observe.group.logs import (
    A_HAS_BOTH,
    PASSED,
    init,
    log_of,
    read_up_to,
    segment,
    split_journal,
    told,
)


def journal_of(*entries: list[rg.Update], more: list[Observation] | None = None, wait_ms: int = 0) -> Journal:
    """Of a group; the last entry was ``wait_ms`` ago."""
    journal = Journal("s/g")
    log = log_of([*A_HAS_BOTH, *entries])
    journal.extend([*told(log), *(more or [])])
    journal.tick(log[-1].end + wait_ms)
    return journal


def said(journal: Journal) -> list[str]:
    return list(journal.explain())


def test_the_fold_of_segments_takes_nothing_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would note an offset for every segment in every report of a reader, and no sentence needs them."""
    taken: list[Observation] = []
    monkeypatch.setattr(SegmentHistory, "apply", lambda _self, o: taken.append(o))
    said(journal_of([rg.AddReader("b")], more=[Trouble(time_ms=1, source="s/g", message="gone")]))
    assert [o.kind for o in taken] == ["trouble"]


def test_who_reads() -> None:
    assert said(journal_of([rg.AddReader("b")])) == [
        "s/g reads s/x with 2 readers (a and b) online; a fair share is 1 segment."
    ]


def test_whom_a_checkpoint_waits_for_and_since_when() -> None:
    journal = journal_of(
        [rg.AddReader("b"), rg.CreateCheckpoint("cp")],
        [rg.CheckpointReader("cp", "b", {})],
        wait_ms=2_400,
    )
    entry_ms = journal.since()[-1].time_ms - next(
        o.time_ms for o in journal.since() if o.kind == "group_checkpoint_asked"
    )
    assert said(journal)[1].startswith(
        f"Checkpoint cp has waited {span(2_400 + entry_ms)} for a (has #0 e0 and #1 e0); 1 of 2 passed."
    )


def test_what_has_no_owner_and_since_when() -> None:
    journal = journal_of([rg.RemoveReader("a", {})], wait_ms=65_000)
    assert said(journal) == [
        "s/g reads s/x, and no reader is online for 1 min 5 s.",
        "Nobody has #0 e0 of s/x, for 1 min 5 s, since a went.",
        "Nobody has #1 e0 of s/x, for 1 min 5 s, since a went.",
    ]


def test_what_waits_for_what() -> None:
    journal = journal_of([rg.SegmentCompleted("a", segment(0), {segment(2, 1): (0, 1)})], wait_ms=500)
    assert "#2 e1 of s/x has waited 0.5 s for #1." in said(journal)


def test_successors_that_wait_for_a_checkpoint() -> None:
    """A predecessor that was read to its end is completed at the next checkpoint."""
    unread = split_journal([PASSED, *read_up_to(500, 70)])
    assert not any("checkpoint" in sentence for sentence in said(unread))
    waiting = split_journal([PASSED, *read_up_to(-1, 70)])
    assert "#2 and #3 of s/x wait for a checkpoint after #0; the next is due in 11 s." in said(waiting)
    running = split_journal(read_up_to(-1, 70))
    assert "#2 and #3 of s/x wait for a checkpoint after #0; one is under way." in said(running)
    off = split_journal([PASSED, *read_up_to(-1, 70)], interval_ms=-1)
    assert said(off)[1] == (
        "#2 and #3 of s/x wait for a checkpoint after #0; automatic checkpoints are off, so a program has to "
        "initiate one."
    )
    done = split_journal(
        [PASSED, rg.SegmentCompleted("a", segment(0), {segment(2, 1): (0,), segment(3, 1): (0,)})]
    )
    assert not any("for a checkpoint" in sentence for sentence in said(done))


def test_a_merge_waits_for_a_checkpoint_when_both_halves_are_read() -> None:
    """After one of them was completed, the log names the successor."""
    completed = rg.SegmentCompleted("a", segment(0), {segment(2, 1): (0, 1)})
    half = journal_of([completed], read_up_to(0, 70)[:1])
    assert any("#2 e1 of s/x has waited" in sentence for sentence in said(half))
    both = journal_of([completed], [rg.UpdateDistanceToTail("a", 0, {rg.SegmentWithRange(segment(1)): -1})])
    assert "#2 of s/x waits for a checkpoint after #1; there is one every 30 s." in said(both)
    assert not any("has waited" in sentence for sentence in said(both))


def test_a_reader_that_dies_at_the_end_of_a_segment_reads_it_again() -> None:
    """Without its position the group knows nothing of the end."""
    journal = split_journal([PASSED, *read_up_to(-1, 70), rg.RemoveReader("a", {})])
    assert not any("for a checkpoint" in sentence for sentence in said(journal))


def test_a_state_says_when_a_checkpoint_is_due() -> None:
    """Readers report their clocks, and that is all that a state knows of times."""
    begun_ms, now_ms = 1_700_000_000_000, 1_700_000_018_000
    after = {segment(0): Successors({segment(2, 1): (0,), segment(3, 1): (0,)})}
    updates = [u for entry in A_HAS_BOTH for u in entry]
    updates += [*read_up_to(0, 70), rg.CreateCheckpoint("cp"), PASSED, *read_up_to(-1, 70)]
    state = fold(updates)
    assert state.ended() == [segment(0)]
    says = explain_state("s/g", state, {}, after, now_ms=now_ms)
    assert "#2 and #3 of s/x wait for a checkpoint after #0; the next is due in about 12 s." in says
    late = explain_state("s/g", state, {}, after, now_ms=begun_ms + 31_000)
    assert "#2 and #3 of s/x wait for a checkpoint after #0; the next is due now." in late
    unknown = explain_state("s/g", state, {}, after, now_ms=begun_ms + 3_600_000)
    assert "#2 and #3 of s/x wait for a checkpoint after #0; there is one every 30 s." in unknown


def test_what_is_behind_and_since_when() -> None:
    begin_ms = log_of(A_HAS_BOTH)[-1].end
    lengths: list[Observation] = [
        SegmentMeasured(
            time_ms=begin_ms + ms, stream="s/x", segment_id=1, start_offset=0, write_offset=length
        )
        for ms, length in ((1_000, 700), (2_000, 1_900))
    ]
    journal = journal_of(more=lengths, wait_ms=4_000)
    assert said(journal)[-1] == "#1 e0 of s/x (a) is at most 1,900 bytes behind, for 3.0 s."


def test_a_reset_under_way_and_the_end_of_one() -> None:
    assert "A reset of s/g has been under way for 1.0 s." in said(
        journal_of([rg.UpdatingConfig(True)], wait_ms=1_000)
    )
    over = said(journal_of([rg.UpdatingConfig(True)], [init(segment(0), generation=1)]))
    assert not any("reset" in sentence for sentence in over)
    assert "since the group began" in over[1]


def test_trouble_comes_first_and_gaps_last() -> None:
    journal = journal_of(more=[Trouble(time_ms=2_000, source="s/g", message="no answer.")])
    journal.adopt(Gap(3, 0, ""))
    sentences = said(journal)
    assert sentences[0].endswith("ago: no answer.")
    assert sentences[-1] == "Not all was seen: 3 facts dropped (the oldest; the journal is full)."


def test_trouble_lasts_until_its_source_reports_the_end() -> None:
    journal = Journal()
    journal.append(Trouble(time_ms=1, source="s/x", message="no answer"))
    journal.append(Trouble(time_ms=2, source="s/y", message="not there"))
    journal.append(SegmentOpened(time_ms=3, stream="s/x", segment_id=0, low=0.0, high=1.0))
    assert [o.message for o in journal.troubles.values()] == ["no answer", "not there"]
    journal.append(TroubleOver(time_ms=4, source="s/x"))
    assert [o.message for o in journal.troubles.values()] == ["not there"]
    assert [sentence for sentence in said(journal) if "Trouble" in sentence] == [
        "Trouble, 0.0 s ago: not there."
    ]


def test_a_query_says_how_far_it_is() -> None:
    journal = splitting_story().journal
    killed_query(journal)
    sentences = said(journal)
    assert any(s.startswith("delays has run for") and "(run 2)" in s for s in sentences)
    assert any("bytes behind; there has been something left for" in s for s in sentences)
    assert any(s.startswith("Done again after a restart: batch 14") for s in sentences)


def test_a_query_says_where_most_of_its_lag_is() -> None:
    journal = Journal()
    journal.append(QueryStarted(time_ms=0, query="q", run=1))
    journal.append(
        BatchDone(
            time_ms=1_000, query="q", batch_id=3, run=1, duration_ms=500, lag_bytes=900,
            end_offset='{"s/x":{"0":100,"4294967297":50}}',
            latest_offset='{"s/x":{"0":200,"4294967297":850}}',
        )
    )  # fmt: skip
    journal.tick(5_000)
    assert said(journal)[1:] == [
        "After batch 3 it was 900 bytes behind; there has been something left for 4.0 s.",
        "Most of it is in #1 e1 of s/x: 800 bytes.",
    ]


def test_a_stream_alone_and_nothing_at_all() -> None:
    assert said(splitting_story().journal) == ["demo/flights has 2 active segments; nobody reads here."]
    assert said(Journal()) == ["Nothing was observed yet."]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_a_log_says_it_can_be_explained(seed: int) -> None:
    session = session_of_seed(seed, steps=80)
    journal = Journal()
    journal.extend(told(log_of([u] for u in session.log)))
    text = str(journal.explain())
    lengths = dict.fromkeys(session.state.positions(), 5_000)
    now = str(explain_state("s/g", session.state, lengths, {}, now_ms=0))
    for name in session.state.checkpoints.outstanding():
        assert f"Checkpoint {name}" in text
        assert f"Checkpoint {name}" in now
    assert ("Nobody has" in text) == bool(session.state.unassigned) == ("Nobody reads" in now)


def test_a_state_is_explained_without_times() -> None:
    state = fold([update for entry in A_HAS_BOTH for update in entry])
    assert explain_state("s/g", state, {segment(0): 70}, {}, now_ms=0) == (
        "s/g reads s/x: 1 reader online (a), 2 segments, so a fair share is 2.",
        "At most unread behind what the group has stored: #0 e0 of s/x 70 bytes (a). Readers may be further: "
        "they store where they are at checkpoints.",
    )
    assert "no reader is online" in explain_state("s/g", GroupState(init()), {}, {}, now_ms=0)[0]
    one = fold([init(segment(0)), rg.AddReader("a"), rg.AcquireSegment("a", segment(0))])
    assert "1 reader online (a), 1 segment, so a fair share is 1." in str(
        explain_state("s/g", one, {}, {}, now_ms=0)
    )


def test_sentences_have_a_line_each() -> None:
    assert repr(Explanation(["One.", "Two."])) == "One.\nTwo."


def test_many_are_counted() -> None:
    assert listed("abcdefgh") == "a, b, c, d, e and 3 more"
    assert [listed(""), listed("a"), listed("ab"), listed("abc")] == ["", "a", "a and b", "a, b and c"]


def test_durations_are_spelled() -> None:
    assert [span(ms) for ms in (-5, 40, 3_240, 65_000, 7_500_000)] == [
        "0.0 s", "0.0 s", "3.2 s", "1 min 5 s", "2 h 5 min"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "offset", ['{"s/a": {"x": 1}}', '{"s/a": {"0": []}}', "[" * 100_000, '{"s/a": 1e999}']
)
def test_offsets_that_are_not_ours_are_left_out(offset: str) -> None:
    journal = Journal()
    journal.append(QueryStarted(time_ms=1, query="q", run=1))
    done = BatchDone(
        time_ms=2, query="q", batch_id=0, run=1, lag_bytes=7, duration_ms=1, latest_offset=offset
    )
    journal.append(done)
    assert "After batch 0 it was 7 bytes behind" in str(journal.explain())
