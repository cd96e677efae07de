"""The fold of a group's state log, against upstream's own: random logs go through both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pravega_lab.protocol.metadata import reader_group as rg
from tests.client.reader_group.logs import session_of_seed
from tests.conformance.java.programs import run_java

N_LOGS = 150


@pytest.mark.real_pravega
def test_java_comes_to_the_same_state() -> None:
    sessions = [session_of_seed(seed) for seed in range(N_LOGS)]
    given = "".join(
        "".join(f"{update.to_bytes().hex()}\n" for update in session.log) + "\n" for session in sessions
    )
    states = run_java("io.pravega.client.stream.impl.FoldLogs", given=given).splitlines()
    assert len(states) == N_LOGS
    for seed, (session, state) in enumerate(zip(sessions, states, strict=True)):
        found = rg.update_from_bytes(bytes.fromhex(state))
        assert _comparable(found) == _comparable(session.state.to_compact()), f"seed {seed}"


@pytest.mark.real_pravega
def test_java_reads_our_compaction() -> None:
    """A compacted state of ours, read and compacted by Java, says the same again."""
    states = [session_of_seed(seed).state.to_compact() for seed in range(N_LOGS)]
    given = "".join(f"{state.to_bytes().hex()}\n\n" for state in states)
    answers = run_java("io.pravega.client.stream.impl.FoldLogs", given=given).splitlines()
    read_back = [rg.update_from_bytes(bytes.fromhex(answer)) for answer in answers]
    assert [_comparable(state) for state in read_back] == [_comparable(state) for state in states]


def _comparable(state: Any) -> rg.CompactReaderGroupState:
    """Without the order that Java's hash maps give to what has none."""
    waiting = state.checkpoint_state.uncheckpointed_hosts
    return replace(
        state,
        checkpoint_state=replace(
            state.checkpoint_state,
            uncheckpointed_hosts={name: tuple(sorted(readers)) for name, readers in waiting.items()},
        ),
        future_segments={name: tuple(sorted(ids)) for name, ids in state.future_segments.items()},
    )
