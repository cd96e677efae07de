"""The pytest plugin: fixtures ``pravega``, ``pravega_session``, ``pravega_simulation``.

pytest loads it by its entry point in every run of an environment that has pravega_lab. So it imports
nothing until a test asks for a fixture. ``-p no:pravega_lab`` leaves it out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pravega_lab.testing.scopes import PravegaScope, PravegaStore
    from pravega_lab.testing.simulated import SimulatedPravega

SEEDS = "0..4"
STORE_OPTIONS = ("durable", "scaling_clock")  # of the mark `pravega_store`
_scopes = count()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options ``--pravega-uri`` and ``--pravega-seeds``."""
    group = parser.getgroup("pravega_lab", "Pravega")
    group.addoption(
        "--pravega-uri",
        metavar="tcp://HOST:PORT",
        help="run the tests that take `pravega` on this Pravega, not on a store started for the session",
    )
    group.addoption(
        "--pravega-seeds",
        metavar="A..B",
        help=f"seeds for the tests that take `pravega_simulation`, instead of their own (by default {SEEDS})",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    for line in (
        "pravega_store(durable=False, scaling_clock=1): give `pravega` a store of its own, to kill",
        "pravega_seeds(seeds): run the test with these seeds of `pravega_simulation`: 'A..B', or how many",
    ):
        config.addinivalue_line("markers", line)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for a simulation once per seed."""
    if "pravega_simulation" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("pravega_seeds")
        asked = metafunc.config.getoption("--pravega-seeds") or (_marked(marker) if marker else SEEDS)
        seeds = list(_seeds(asked))
        ids = [f"seed{seed}" for seed in seeds]
        metafunc.parametrize("pravega_simulation", seeds, ids=ids, indirect=True)


@pytest.fixture(scope="session")
def _pravega_store(request: pytest.FixtureRequest) -> Iterator[PravegaStore]:
    from pravega_lab.testing.scopes import PravegaStore

    with PravegaStore(request.config.getoption("--pravega-uri"), is_shared=True) as store:
        yield store


@pytest.fixture(scope="session")
def pravega_session(_pravega_store: PravegaStore) -> Iterator[PravegaScope]:
    """Return a scope that all tests of the session share, for what is written once and read by many."""
    yield from _scope_in(_pravega_store)


@pytest.fixture
def pravega(request: pytest.FixtureRequest) -> Iterator[PravegaScope]:
    """Return an empty scope for one test, in the session's store. It is deleted after the test.

    With ``@pytest.mark.pravega_store(durable=True)`` the test has its own store, which it may kill and
    start.
    """
    marker = request.node.get_closest_marker("pravega_store")
    if marker is None:
        yield from _scope_in(request.getfixturevalue("_pravega_store"))
        return
    uri = request.config.getoption("--pravega-uri")
    if uri is not None:
        pytest.skip(f"needs a store of its own, and --pravega-uri says {uri}")
    from pravega_lab.testing.scopes import PravegaStore

    strange = [*map(repr, marker.args), *(name for name in marker.kwargs if name not in STORE_OPTIONS)]
    if strange:
        pytest.fail(f"pravega_store takes {' and '.join(STORE_OPTIONS)} by name: {strange[0]}", pytrace=False)
    options = dict(marker.kwargs)
    data = request.getfixturevalue("tmp_path") / "store" if options.pop("durable", False) else None
    with PravegaStore(data=data, **options) as store:
        yield store.scope("test")


@pytest.fixture
def pravega_simulation(request: pytest.FixtureRequest) -> SimulatedPravega:
    """Return a simulated world. The test runs once per seed."""
    from pravega_lab.testing.simulated import SimulatedPravega

    return SimulatedPravega(request.param, repeat=f"pytest {request.node.nodeid!r}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test which world it ran in, also if it failed after the run."""
    report = yield
    world = getattr(item, "funcargs", {}).get("pravega_simulation")
    if report.failed and world is not None:
        report.sections.append(("pravega_simulation", world.summary()))
    return report


def _scope_in(store: PravegaStore) -> Iterator[PravegaScope]:
    from pravega_lab.errors import PravegaError

    scope = store.scope(f"test-{os.getpid()}-{next(_scopes)}")
    yield scope
    try:
        scope.clear()
    except PravegaError as error:
        if not store.is_embedded:  # nothing else would delete it
            raise AssertionError(f"the scope {scope.name} is left on {store.uri}: {error}") from error


def _marked(marker: pytest.Mark) -> str | int:
    if len(marker.args) != 1 or marker.kwargs:
        raise pytest.UsageError(
            "pravega_seeds takes one value without a name: pravega_seeds('0..19') for example"
        )
    asked: str | int = marker.args[0]
    return asked


def _seeds(asked: str | int) -> range:
    found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", str(asked))
    if isinstance(asked, int) and asked > 0:
        return range(asked)
    if found is None or isinstance(asked, int) or int(found[2] or found[1]) < int(found[1]):
        raise pytest.UsageError(
            f"pravega_seeds {asked!r}: write A..B with A up to B, '0..19' for example, one seed as text, "
            "or how many as a number"
        )
    return range(int(found[1]), int(found[2] or found[1]) + 1)
