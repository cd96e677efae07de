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
        "pravega_lab/client/controller/visible_epochs.py",
        "pravega_lab/client/framing/events.py",
        "pravega_lab/client/reading/cuts.py",
        "pravega_lab/client/reading/lineage.py",
        "pravega_lab/client/tables/partitions.py",
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

TESTS = ("tests/client", "tests/engine/store", "tests/engine/flow", "tests/protocol")

# The first seeds of these scenarios are tests, too.
SEEDS = {
    "log": 12,
    "damage": 10,
    "table": 3,
    "clocks": 4,
    "transactions": 6,
    "writers": 6,
    "full": 3,
    "singles": 2,
    "conditions": 1,
    "key-values": 1,
    "tokens": 2,
    "retention": 2,
    "everything": 2,
    "tiers": 2,
    "groups": 3,
    "flow": 3,
    "connector": 1,
}
