"""The comparison of output and input finds each planted bug of the connector."""

from __future__ import annotations

import pytest

from pravega_lab.connector.simulation.bugs import CONNECTOR_BUGS, FORM_OF
from pravega_lab.connector.simulation.families import PLANTED, run_any
from pravega_lab.connector.simulation.scenario import run_connector
from pravega_lab.connector.simulation.table import ROWS, SIZE
from pravega_lab.engine.simulation.kernel.faults import plan_of
from tests.connector.flow import test_config
from tests.engine.simulation.planted_page import seeds_and_rules

SEEDS = range(30)  # tried after the one that the page names; the first that finds it ends the search
# No run of the simulation changes the streams of a job: a test that is made for it does.
CAUGHT_BY = {"uid-without-streams": test_config.test_the_default_uid_names_the_group_and_the_streams}


@pytest.mark.parametrize("name", CAUGHT_BY)
def test_a_planted_bug_is_caught_by_a_test_made_for_it(name: str) -> None:
    CAUGHT_BY[name]()
    with CONNECTOR_BUGS[name].planted(), pytest.raises(AssertionError):
        CAUGHT_BY[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CONNECTOR_BUGS if name not in CAUGHT_BY])
def test_a_planted_bug_is_found(name: str) -> None:
    bug = CONNECTOR_BUGS[name]
    page_seed, _ = seeds_and_rules()[name]
    for seed in (page_seed, *SEEDS):
        with bug.planted():
            result, _ = run_connector(seed, FORM_OF[name], ROWS, SIZE)
        if any(bug.checker in problem for problem in result.problems):
            without, _ = run_connector(seed, FORM_OF[name], ROWS, SIZE)
            assert not without.problems
            return
    pytest.fail(f"{name} was not found: {bug.what}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "name"),
    [(kind, name) for kind in ("files", "connector") for name in PLANTED[kind] if name not in CAUGHT_BY],
)
def test_a_planted_bug_violates_the_rule_that_the_page_names(scenario: str, name: str) -> None:
    seed, rule = seeds_and_rules()[name]
    problems = run_any(seed, scenario, name, plan_of("")).problems
    assert any(rule in problem for problem in problems), problems[:3]
