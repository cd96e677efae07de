"""Reader groups in simulated worlds: seeds pass, deliberate bugs are found, equal seeds are equal runs.

More of them: ``python -m pravega_lab.engine.simulation.groups.scenario FIRST LAST``.
"""

from __future__ import annotations

import pytest

from pravega_lab.engine.simulation.groups.bugs import GROUP_BUGS
from pravega_lab.engine.simulation.groups.checkers import twin_problems
from pravega_lab.engine.simulation.groups.scenario import STREAMS, run_groups
from pravega_lab.engine.simulation.kernel.journal import Journal
from pravega_lab.engine.simulation.store.bugs import BUGS

SEEDS_MAX = 25  # within which a bug has to show
# Seeds that show a bug, where it is not 0 or takes long with it. They are tried first.
KNOWN: dict[str, int] = {
    "mark-behind-the-state": 3,
    "reported-late": 2,
    "compaction-forgets-offsets": 8,
    "first-predecessor-only": 2,
    "predecessors-of-all-streams": 11,
    "checkpoint-too-early": 7,
    "released-at-the-beginning": 2,
    "goes-on-after-release": 27,
    "skips-after-takeover": 3,
    "begins-at-zero": 2,
    "never-releases": 2,
    "java-rule": 3,
    "dead-as-done": 2,
    "gone-as-done": 5,
    "reset-to-the-head": 8,
    "watermarks-once": 2,
    "fastest-writer": 3,
    "acquires-again-at-once": 1,
    "no-condition": 6,
}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 16, 4))
def test_seeds(first: int) -> None:
    n_windows = 0
    for seed in range(first, first + 4):
        result = run_groups(seed)
        assert result.problems == [], f"seed {seed}"
        assert sum(1 for _ in result.journal.of("scaled")) >= 2
        assert result.faults["application crash"] + result.faults["store crash"] >= 2
        assert result.steps > 2_000
        n_windows += len({entry.about["lower"] for entry in result.journal.of("window")} - {None})
    assert n_windows >= 4


@pytest.mark.slow
def test_seeds_of_a_group_of_two_streams() -> None:
    for seed in range(6):
        result = run_groups(seed, scenario=STREAMS)
        assert result.problems == [], f"seed {seed}"
        logs = [entry.who.partition(".")[0] for entry in result.journal.of("scaled")]
        assert set(logs) >= {"scaler", "twin-scaler"}
        assert sum(len(entry.about["events"]) for entry in result.journal.of("twin-stored")) > 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "seed"), [("sealed-means-stored", 0), ("rerouted-backwards", 0), ("new-writer-on-reconnect", 2)]
)
def test_a_bug_of_writers_shows_in_the_second_stream(bug: str, seed: int) -> None:
    with BUGS[bug].planted():
        problems = run_groups(seed, scenario=STREAMS).problems
    assert any(problem.startswith("second stream: ") for problem in problems)


@pytest.mark.parametrize(
    ("stored", "is_right"),
    [
        ([["w|a|0|", "w|b|1|"], ["w|a|2|", "w|a|3|"]], True),
        ([["w|a|0|", "w|b|1|"], ["w|a|2|"]], True),  # the last one was not flushed
        ([["w|a|0|"], ["w|a|2|", "w|a|3|"]], False),
        ([["w|a|0|", "w|b|1|"]], False),
        ([["w|a|0|", "w|b|1|"], ["w|a|2|", "w|a|2|"]], False),
        ([["w|a|2|", "w|b|1|"], ["w|a|0|", "w|a|3|"]], False),
        ([["w|a|0|", "w|b|1|", "v|a|0|"], ["w|a|2|"]], False),
    ],
)
def test_the_second_stream_has_what_was_written_once_and_in_order(
    stored: list[list[str]], is_right: bool
) -> None:
    journal = Journal(lambda: 0)
    for event in ("w|a|0|", "w|b|1|", "w|a|2|"):
        journal.add("w", "twin-wrote", event=event)
    journal.add("w", "twin-flushed")
    journal.add("w", "twin-wrote", event="w|a|3|")
    for events in stored:
        journal.add("world", "twin-stored", events=events)
    assert (list(twin_problems(journal)) == []) is is_right


@pytest.mark.slow
def test_the_shares_are_judged_after_the_last_reader_reported() -> None:
    """On a slow disk the last of eight readers reported long after the checkpoint began."""
    assert run_groups(6_063_134).problems == []


@pytest.mark.slow
def test_nobody_is_declared_dead_at_the_position_of_an_earlier_life() -> None:
    """Its second life joined after a reset, and was killed before its first event."""
    assert run_groups(7_231_059).problems == []


@pytest.mark.slow
def test_a_member_that_joins_after_it_was_declared_dead_is_declared_dead_again() -> None:
    """A slow disk held up its request to join, and nobody removed it: all readers waited for it for ever."""
    assert run_groups(6_000_238).problems == []


@pytest.mark.slow
def test_a_member_reports_a_segment_as_read_that_another_had_read_to_its_end() -> None:
    """It had held the segment before, and the checker wanted the place where it had released it."""
    assert run_groups(6_031_436).problems == []


@pytest.mark.slow
def test_a_segment_given_away_does_not_take_the_reads_of_others_with_it() -> None:
    """On a new connection, an input that was closed forgot the read of another, which waited for ever."""
    assert run_groups(6_000_269).problems == []


@pytest.mark.slow
def test_shares_are_judged_when_all_programs_have_read() -> None:
    """A member asked for a time window for a second, and acquired its segments after that."""
    assert run_groups(6_020_186).problems == []


@pytest.mark.slow
def test_a_checkpoint_covers_a_merge_that_a_later_reader_has_ended() -> None:
    """Those that reported did not hold the read segments, and the merge was over when they reported."""
    assert run_groups(6_051_169).problems == []


@pytest.mark.slow
def test_readers_that_release_one_after_the_other_leave_a_whole_share() -> None:
    """Two readers with five segments each kept four, and the new one had two until the next checkpoint."""
    assert run_groups(6_020_655).problems == []


@pytest.mark.slow
def test_a_checkpoint_that_began_before_the_group_was_calm_does_not_count() -> None:
    """A reader released its surplus at it, and had too many when three other segments became one."""
    assert run_groups(6_040_863).problems == []


@pytest.mark.slow
def test_a_checkpoint_that_was_dropped_is_not_judged() -> None:
    """A slow reader left long after it, and the checker took the checkpoint for complete then."""
    assert run_groups(6_060_213).problems == []


@pytest.mark.slow
def test_shares_are_judged_only_while_nobody_comes() -> None:
    """A reader came back in the last moment before the shares were looked at."""
    assert run_groups(6_060_624).problems == []


def test_equal_seeds_are_equal_runs() -> None:
    assert run_groups(3).journal.to_bytes() == run_groups(3).journal.to_bytes()
    assert run_groups(3).journal.to_bytes() != run_groups(4).journal.to_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUP_BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    bug = GROUP_BUGS[name]
    for seed in (KNOWN.get(name, 0), *range(SEEDS_MAX)):
        result = run_groups(seed, bug=name, scenario=bug.scenario)
        if any(problem.startswith(bug.checker) for problem in result.problems):
            return
    pytest.fail(f"{name} ({bug.what}) passed {SEEDS_MAX} seeds")


def test_there_are_enough_of_them() -> None:
    assert len(GROUP_BUGS) >= 15
    assert all(bug.what.endswith(".") for bug in GROUP_BUGS.values())
