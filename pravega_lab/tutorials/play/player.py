"""`play`: runs a `RunSpec`, with its planted bug. `planted_bugs` has all bugs that scenarios of the
page show.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from importlib import import_module

from pravega_lab.connector.simulation.bugs import CONNECTOR_BUGS
from pravega_lab.engine.simulation.flow.bugs import FLOW_BUGS
from pravega_lab.engine.simulation.groups.bugs import GROUP_BUGS
from pravega_lab.engine.simulation.kernel.planted import Bug
from pravega_lab.engine.simulation.store.bugs import BUGS
from pravega_lab.tutorials.play.catalogue import scenario_of
from pravega_lab.tutorials.play.spec import RunSpec
from pravega_lab.tutorials.play.worlds.played import Played


@cache
def planted_bugs() -> dict[str, Bug]:
    """Return the planted bugs of the store, the groups, the jobs and the connector by name."""
    return {**CONNECTOR_BUGS, **FLOW_BUGS, **GROUP_BUGS, **BUGS}


def play(spec: RunSpec) -> Played:
    """Run it to its end, which takes about a second.

    Raises:
        BadInputError: There is no such scenario, or it does not have the bug, a switch or an act.
    """
    scenario = scenario_of(spec)
    with ExitStack() as stack:
        if spec.bug in planted_bugs():
            stack.enter_context(planted_bugs()[spec.bug].planted())
        world = import_module(f"pravega_lab.tutorials.play.worlds.{scenario.world}")
        played: Played = world.play(scenario, spec)
    played.too_late = [act for act in spec.acts or () if act.at_s > played.virtual_s]
    return played
