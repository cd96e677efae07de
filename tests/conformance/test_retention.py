"""The embedded store truncates where a real Pravega 0.13.0 does."""

from __future__ import annotations

import pytest

from pravega_lab.client import connect
from pravega_lab.engine.server.store_process import StoreProcess
from tests.conformance.retention import DELIBERATE, HEADS, Rounds, TooSlowError

PERIODS_S = 1, 4, 12


def rounds(period_s: int) -> dict[str, list[dict[int, int]]]:
    """Return the heads on a new store with this period."""
    with StoreProcess(scaling_clock=1_800 // period_s) as store, connect(store.uri) as client:
        return Rounds(client, period_s).run()


@pytest.mark.slow
def test_heads_move_as_on_a_real_server() -> None:
    for period_s in PERIODS_S:
        try:
            found = rounds(period_s)
        except TooSlowError:
            if period_s == PERIODS_S[-1]:
                raise
        else:
            assert found == {**HEADS, **DELIBERATE}
            return
