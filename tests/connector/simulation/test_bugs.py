"""The comparison of output and input finds each planted bug of the connector."""

from __future__ import annotations

import pytest

from pravega_lab.connector.simulation.bugs import CONNECTOR_BUGS, FORM_OF
from pravega_lab.connector.simulation.scenario import run_connector
from pravega_lab.connector.simulation.table import ROWS, SIZE

SEEDS = range(30)  # the first that finds it ends the search


@pytest.mark.slow
@pytest.mark.parametrize("name", CONNECTOR_BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    bug = CONNECTOR_BUGS[name]
    for seed in SEEDS:
        with bug.planted():
            result, _ = run_connector(seed, FORM_OF[name], ROWS, SIZE)
        if any(bug.checker in problem for problem in result.problems):
            without, _ = run_connector(seed, FORM_OF[name], ROWS, SIZE)
            assert not without.problems
            return
    pytest.fail(f"{name} was not found: {bug.what}")
