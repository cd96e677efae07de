"""Several hundred seeds pass. ``pravega-lab simulate --seeds A..B`` runs more."""

from __future__ import annotations

from collections import Counter

import pytest

from pravega_lab.engine.simulation.store.scenarios import SCENARIOS, run_seed, scenario_of

SEEDS = 400
CHUNK = 25


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_seeds(first: int) -> None:
    failed = [result for seed in range(first, first + CHUNK) if (result := run_seed(seed)).problems]
    assert not failed, "\n".join(f"{r.summary()}\n  {r.problems[:3]}\n  repeat: {r.command}" for r in failed)


@pytest.mark.slow
def test_seeds_of_single_events() -> None:
    failed = [result for seed in range(2 * CHUNK) if (result := run_seed(seed, "singles")).problems]
    assert not failed, "\n".join(f"{r.summary()}\n  {r.problems[:3]}\n  repeat: {r.command}" for r in failed)


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
