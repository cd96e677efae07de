"""The embedded store truncates where a real Pravega 0.13.0 does."""

from __future__ import annotations

import pytest

from pravega_lab.client import connect
from pravega_lab.engine.server.store_process import StoreProcess
from tests.conformance.retention import DELIBERATE, HEADS, Rounds

PERIOD_S = 1.0


@pytest.mark.slow
def test_heads_move_as_on_a_real_server() -> None:
    with StoreProcess(scaling_clock=int(1_800 / PERIOD_S)) as store, connect(store.uri) as client:
        assert Rounds(client, PERIOD_S).run() == {**HEADS, **DELIBERATE}
