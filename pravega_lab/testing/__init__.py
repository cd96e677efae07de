"""Pytest fixtures for tests of your own pipelines, with the store and the simulation that they use.

pytest finds the fixtures by itself if pravega_lab is installed (`plugin`): ``pravega`` is a scope for one
test, ``pravega_session`` a scope for the whole session, ``pravega_simulation`` a world that is a function
of its seed. The classes also work without pytest. Importing this package imports neither Spark nor Jupyter,
and starts nothing. Tests of users and the tutorials import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pravega_lab.portable.lazy import lazy_names

if TYPE_CHECKING:
    from pravega_lab.testing.commit_kills import DirectWriter, Step, killed_at
    from pravega_lab.testing.proxy import StoreProxy
    from pravega_lab.testing.scopes import PravegaScope, PravegaStore
    from pravega_lab.testing.simulated import SimulatedPravega, SimulatedProgram

__all__ = [
    "DirectWriter",
    "PravegaScope",
    "PravegaStore",
    "SimulatedPravega",
    "SimulatedProgram",
    "Step",
    "StoreProxy",
    "killed_at",
]

_HOMES = {
    "DirectWriter": "commit_kills",
    "PravegaScope": "scopes",
    "PravegaStore": "scopes",
    "SimulatedPravega": "simulated",
    "SimulatedProgram": "simulated",
    "Step": "commit_kills",
    "StoreProxy": "proxy",
    "killed_at": "commit_kills",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
