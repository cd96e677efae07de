"""What the meter changes, and what has to notice: the cores, the folders of their tests, and seeds."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

CORES = {
    "store": (
        "engine/store/clock.py",
        "engine/store/log/format.py",
        "engine/store/metadata/epochs.py",
        "engine/store/metadata/cuts.py",
        "engine/store/retention/choice.py",
        "engine/store/storage/recovery.py",
        "engine/store/storage/segment.py",
        "engine/store/storage/storage.py",
        "engine/store/storage/synced_state.py",
        "engine/store/storage/table.py",
        "engine/store/storage/validated_state.py",
        "engine/store/streams/scaling.py",
        "engine/store/streams/segment_calls.py",
        "engine/store/transactions/commits.py",
        "engine/store/transactions/leases.py",
        "engine/store/transactions/transactions.py",
    ),
    "client": (
        "pravega_lab/client/reading/lineage.py",
        "pravega_lab/client/shared_state/synchronizer.py",
        "pravega_lab/client/writing/appender.py",
        "pravega_lab/client/writing/appends.py",
        "pravega_lab/client/writing/event_buffer.py",
    ),
    "reader group": (
        "pravega_lab/client/reader_group/core/assignment.py",
        "pravega_lab/client/reader_group/core/checkpoints.py",
        "pravega_lab/client/reader_group/core/reader.py",
        "pravega_lab/client/reader_group/core/state.py",
        "pravega_lab/client/reader_group/time_windows.py",
    ),
    "coordinator": (
        "engine/flow/checkpoint/alignment.py",
        "engine/flow/checkpoint/coordinator.py",
        "engine/flow/checkpoint/pending.py",
        "engine/flow/checkpoint/plan.py",
        "engine/flow/checkpoint/stop.py",
        "engine/flow/checkpoint/storage.py",
        "engine/flow/checkpoint/trigger_order.py",
    ),
}

TESTS = {
    "store": ("tests/engine/store", "tests/engine/simulation"),
    "client": ("tests/client", "tests/engine/simulation"),
    "reader group": ("tests/client", "tests/engine/simulation"),
    "coordinator": tuple(
        f"tests/engine/flow/{place}"
        for place in (
            "checkpoint",
            "master",
            "source/test_induced_ends.py",
            "task/test_closing.py",
            "task/test_lifecycle.py",
            "test_finishing.py",
            "test_jobs.py",
            "test_two_phase.py",
        )
    ),
}

# The first seeds of these scenarios are tests, too.
SEEDS = {
    "log": 8,
    "damage": 6,
    "table": 2,
    "clocks": 3,
    "transactions": 4,
    "writers": 4,
    "full": 2,
    "singles": 1,
    "conditions": 1,
    "key-values": 1,
    "tokens": 1,
    "retention": 1,
    "everything": 1,
    "tiers": 1,
    "groups": 8,
    "flow": 6,
}
