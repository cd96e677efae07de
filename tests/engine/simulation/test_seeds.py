"""Some hundred seeds pass. ``pravega-lab simulate --seeds A..B`` runs more."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from pravega_lab.engine.simulation.store.scenarios import SCENARIOS, run_seed, scenario_of

SEEDS = 200
CHUNK = 25


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_seeds(first: int) -> None:
    failed = [result for seed in range(first, first + CHUNK) if (result := run_seed(seed)).problems]
    assert not failed, "\n".join(f"{r.summary()}\n  {r.problems[:3]}\n  repeat: {r.command}" for r in failed)


def test_a_state_is_known_by_what_was_merged_into_it() -> None:
    """An empty segment was merged before a crash, and nothing else showed that this was recovered."""
    assert run_seed(6_023_504, "log").problems == []


@pytest.mark.slow
def test_seeds_of_single_events() -> None:
    failed = [result for seed in range(2 * CHUNK) if (result := run_seed(seed, "singles")).problems]
    assert not failed, "\n".join(f"{r.summary()}\n  {r.problems[:3]}\n  repeat: {r.command}" for r in failed)


@pytest.mark.slow
def test_seeds_with_tier_2() -> None:
    results = [run_seed(seed, "tiers") for seed in range(2 * CHUNK)]
    failed = [result for result in results if result.problems]
    assert not failed, "\n".join(f"{r.summary()}\n  {r.problems[:3]}\n  repeat: {r.command}" for r in failed)
    faults = sum((result.faults for result in results), Counter[str]())
    assert {"rebuild", "failed upload", "half an upload", "failed tier read", "late list"} <= set(faults)
    assert any(kind.startswith("unfinished upload") for kind in faults)


def test_a_rebuilt_store_keeps_the_file_in_which_its_log_continues() -> None:
    """The snapshot from tier 2 ended with the last group of a file, and the file was deleted early.

    The store could not start again.
    """
    assert run_seed(6_000_824, "tiers").problems == []


def test_a_snapshot_in_tier_2_outlives_a_failed_upload_of_the_same_state() -> None:
    """The failed upload had its name, and was deleted after the log file that only it replaced."""
    assert run_seed(6_020_064, "tiers").problems == []


@pytest.mark.slow
def test_seeds_of_retention() -> None:
    failed, truncated = [], 0
    for seed in range(24):
        result = run_seed(seed, "retention")
        failed += [result] if result.problems else []
        surveys = [entry.about["segments"] for entry in result.journal.of("survey")]
        truncated += any(start > 0 for survey in surveys for start, _ in survey.values())
    assert not failed, "\n".join(f"{r.summary()}\n  {r.problems[:3]}\n  repeat: {r.command}" for r in failed)
    assert truncated > 12


def test_a_subscriber_at_the_end_of_a_segment_is_not_too_slow() -> None:
    """Its successors had been empty for longer than the maximum age before events came."""
    assert run_seed(6_010_365, "retention").problems == []


def test_events_that_are_truncated_as_soon_as_they_are_stored_are_known() -> None:
    """A write took 470 ms, and what waited for it was old enough to be truncated 6 ms after it was stored."""
    result = run_seed(6_000_162, "retention")
    times_us = [entry.time_us for entry in result.journal.of("survey")]
    assert min(after - before for before, after in pairwise(times_us)) < 50_000
    assert not result.problems


def test_a_removed_log_file_is_noticed_with_the_next_write() -> None:
    """Everything that was submitted after its removal was refused, so there was none."""
    assert run_seed(6_021_786, "damage").problems == []


def test_a_repeated_merge_is_answered_without_a_place_in_the_log() -> None:
    """Its log file was removed while the store ran, and the answer promised nothing new."""
    assert run_seed(6_010_351, "damage").problems == []


def test_nothing_is_unmounted_while_the_store_is_rebuilt() -> None:
    """The store was killed, and its last life had been attached to tier 2."""
    assert run_seed(7_230_178, "mounts").problems == []


def test_an_upload_of_a_dead_store_ends_late_in_the_folder_in_which_it_began() -> None:
    """It was the marker. In the empty folder under an unmounted tier 2, the next life took it for its own."""
    assert run_seed(7_240_135, "mounts").problems == []


@pytest.mark.parametrize("seed", [3, 152])
def test_a_snapshot_without_room_gets_room_before_it_is_tried_again(seed: int) -> None:
    """Only uploads did. Objects that could be deleted stayed, and the snapshot failed without end."""
    assert run_seed(seed, "full-tier").problems == []


def test_a_full_tier_is_first_freed_of_what_needs_no_further_snapshot() -> None:
    """The store wanted to store a snapshot before, and there was no room for it."""
    assert run_seed(189, "full-tier").problems == []


def test_an_object_that_cannot_be_deleted_does_not_end_the_search_for_others() -> None:
    """A list had shown a snapshot late, and the store never listed tier 2 again."""
    assert run_seed(1310, "full-tier").problems == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "lines"),
    [
        ("damage", {"damage", "refused", "stop", "crash"}),
        ("clocks", {"clock-jump", "lease-seen"}),
        ("tokens", {"token-reply", "acked", "txn-committed"}),
        ("key-values", {"kv-transferred", "kv-refused", "kv-listed"}),
        ("mounts", {"unmount", "mount", "acked"}),
        ("full-tier", {"truncate", "acked", "rebuild", "log lost"}),
        ("copies", {"copied", "restored", "rebuild", "judged"}),
        ("conditions", {"claimed", "claim-refused", "claim-unknown"}),
    ],
)
def test_seeds_of_a_scenario(scenario: str, lines: set[str]) -> None:
    results = [run_seed(seed, scenario) for seed in range(2 * CHUNK)]
    failed = [result for result in results if result.problems]
    assert not failed, "\n".join(f"{r.summary()}\n  {r.problems[:3]}\n  repeat: {r.command}" for r in failed)
    assert lines <= {entry.what for result in results for entry in result.journal.entries}
    faults = sum((result.faults for result in results), Counter[str]())
    if scenario == "full-tier":
        assert {"full tier", "undeletable object"} <= set(faults)
    if scenario == "damage":
        kinds = ("flip", "cut", "remove", "zero", "flip while running", "removed while running")
        assert {f"damage: {kind}" for kind in kinds} <= set(faults)


@pytest.mark.slow
def test_a_few_seeds_meet_every_kind_of_fault_and_every_kind_of_line() -> None:
    """The checkers have something to check. Otherwise a run that does nothing would pass them all."""
    faults: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for seed in range(2 * len(SCENARIOS)):
        result = run_seed(seed)
        faults += result.faults
        lines.update(entry.what for entry in result.journal.entries)
    assert {"cut", "split", "half-close", "stall", "store crash", "application crash", "slow write"} <= set(
        faults
    )
    assert {"acked", "read", "txn-committed", "txn-aborted", "table-put-ok", "scaled", "stored"} <= set(lines)
    assert {scenario_of(seed) for seed in range(len(SCENARIOS))} == set(SCENARIOS)
