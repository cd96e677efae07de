"""One way to run a seed of any scenario, and all planted bugs with the scenario that shows each.

The scenarios are in several worlds: the store's, the reader groups', the jobs', and the connectors'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pravega_lab.connector.simulation.bugs import CONNECTOR_BUGS, FORM_OF
from pravega_lab.connector.simulation.scenario import SCENARIO as CONNECTOR
from pravega_lab.connector.simulation.scenario import run_connector
from pravega_lab.connector.simulation.table import ROWS, SIZE
from pravega_lab.engine.simulation.flow.bugs import FLOW_BUGS
from pravega_lab.engine.simulation.flow.race import RACE_BUGS, run_race_seed
from pravega_lab.engine.simulation.flow.race import SCENARIO as RACE
from pravega_lab.engine.simulation.flow.scenario import run_flow
from pravega_lab.engine.simulation.groups.bugs import GROUP_BUGS
from pravega_lab.engine.simulation.groups.scenario import STREAMS, run_groups
from pravega_lab.engine.simulation.kernel.faults import EVERYTHING, Plan
from pravega_lab.engine.simulation.kernel.run import Result
from pravega_lab.engine.simulation.store.bugs import BUGS
from pravega_lab.engine.simulation.store.scenarios import NAMES, run_seed

GROUPS, FLOW, FILES = "groups", "flow", "files"
SCENARIOS = (*NAMES, GROUPS, STREAMS, FLOW, CONNECTOR, RACE)
"""The scenarios that run anywhere. `FILES` needs pyarrow: its jobs read Parquet files, and then a stream."""
# Scenarios with bugs of their own. The bugs of the store belong to all other scenarios.
PLANTED: dict[str, tuple[str, ...]] = {
    GROUPS: tuple(name for name, bug in GROUP_BUGS.items() if bug.scenario == GROUPS),
    STREAMS: tuple(name for name, bug in GROUP_BUGS.items() if bug.scenario == STREAMS),
    FLOW: tuple(name for name, bug in FLOW_BUGS.items() if bug.scenario == FLOW),
    FILES: tuple(name for name, bug in FLOW_BUGS.items() if bug.scenario == FILES),
    RACE: tuple(RACE_BUGS),
    CONNECTOR: tuple(CONNECTOR_BUGS),
}
ALL_BUGS = (*BUGS, *(name for names in PLANTED.values() for name in names))


def scenario_of_bug(bug: str) -> str:
    """Return the scenario that shows a planted bug soonest."""
    return next((name for name, bugs in PLANTED.items() if bug in bugs), "") or BUGS[bug].scenario


def checker_of(bug: str | None) -> str:
    """Return how the problems begin that the checker responsible for a bug reports, "" for any."""
    found = {**BUGS, **GROUP_BUGS}.get(bug or "")
    return "" if found is None else found.checker


def run_any(seed: int, scenario: str | None, bug: str | None, plan: Plan = EVERYTHING) -> Result:
    """Run one seed of a scenario, and return its result. Errors are recorded in it and not raised.

    Args:
        scenario: One of `SCENARIOS`, `FILES`, or None for that which the seed draws or the bug belongs to.
        bug: One of `ALL_BUGS` that belongs to the scenario.
        plan: What happens of that which the seed draws. `RACE` draws no faults.
    """
    run = _RUNS.get(scenario or "")
    return run_seed(seed, scenario, bug, plan) if run is None else run(seed, bug, plan)


def _run_files(seed: int, bug: str | None, plan: Plan) -> Result:
    from pravega_lab.engine.simulation.flow.files_then_stream import run_history

    return run_history(seed, bug, plan)


def _run_race(seed: int, bug: str | None, plan: Plan) -> Result:
    return run_race_seed(seed, bug)


def _run_connector(seed: int, bug: str | None, plan: Plan) -> Result:
    """Run the connector. A bug is planted in the form that shows it, in the smaller runs of `table`."""
    if bug is None:
        return run_connector(seed, plan=plan)[0]
    with CONNECTOR_BUGS[bug].planted():
        result, _ = run_connector(seed, FORM_OF[bug], ROWS, SIZE, plan=plan)
    return replace(result, bug=bug)


_RUNS: dict[str, Callable[[int, str | None, Plan], Result]] = {
    GROUPS: run_groups,
    STREAMS: partial(run_groups, scenario=STREAMS),
    FLOW: run_flow,
    FILES: _run_files,
    RACE: _run_race,
    CONNECTOR: _run_connector,
}
