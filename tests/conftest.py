"""Fixtures that every folder of tests may use: a running embedded store, and a real Pravega to compare with.

Both are URIs of servers that live as long as the test session (of one worker): make scopes of your own,
with names that nobody else takes (``scope_name``). A test that stops, kills or fills its store starts its
own `Standalone`.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import shared
from tests.conformance.flink.flink import may_have_flink
from tests.conformance.real_pravega import NoRealPravegaError, RealPravega
from tests.conformance.wheel.bounded import bounded
from tests.standalone import Standalone

if TYPE_CHECKING:
    from pravega_lab.engine.simulation.store.world import World

ROOT = Path(__file__).parents[1]
WHEEL = ROOT / "tests" / "conformance" / "wheel"

# An example may be slow because other tests use the machine.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_configure(config: pytest.Config) -> None:
    """Bundle the views' TypeScript if it has changed, before workers start; without Node, report it."""
    shared.begin()
    if not hasattr(config, "workerinput"):
        shared.begin_session()
        command = [sys.executable, ROOT / "build_backend" / "bundle_views.py"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


@pytest.fixture(scope="session")
def store() -> Iterator[str]:
    """The controller URI of an embedded store in a process of its own, kept in memory only."""
    with Standalone("--memory") as uri:
        yield uri


@pytest.fixture(scope="session")
def real_pravega() -> str:
    """The controller URI of a released Pravega 0.13.0; the test is skipped, in words, where none can run.

    The workers of a pytest share one server: it takes about a minute of processor time to warm up.
    """
    try:
        return shared.real_pravega()
    except NoRealPravegaError as error:
        why = f"NOT COMPARED WITH A REAL PRAVEGA: {error}"
        print(why, file=sys.stderr)
        pytest.skip(why)


def pytest_unconfigure() -> None:
    shared.end()


@pytest.fixture
def world() -> Iterator[World]:
    """A store and its clients in virtual time. `tests.simulated` runs stories in it."""
    from pravega_lab.engine.simulation.kernel.journal import Journal
    from pravega_lab.engine.simulation.kernel.loop import SimulationLoop
    from pravega_lab.engine.simulation.store.world import World

    loop = SimulationLoop(1)  # type: ignore[abstract]
    yield World(loop, Journal())
    loop.dispose()


_names = itertools.count()


@pytest.fixture
def scope_name() -> Callable[[], str]:
    """Names that no other test of this session uses."""
    return lambda: f"s{os.getpid()}-{next(_names)}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The official wheel blocks in Rust, where no signal comes: its tests run in a thread that can be left.

    One that the wheel left waiting, and no other, is run once more. A fixture that hangs ends the worker.
    """
    for item in items:
        is_of_wheel = item.path.parent == WHEEL or item.path.name == "test_wheel.py"
        if is_of_wheel and isinstance(item, pytest.Function):
            item.obj = bounded(item.obj)
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=["WheelStalledError"]))
            item.add_marker(pytest.mark.timeout(400, method="thread"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if shutil.which("java") is None or not (shutil.which("mvn") or RealPravega.has_jars()):
        terminalreporter.write_line(
            "NOT COMPARED WITH A REAL PRAVEGA: it needs Java 17 and Maven on the PATH", red=True
        )
    if not may_have_flink():
        terminalreporter.write_line(
            "NOT COMPARED WITH A REAL FLINK: it needs Java 17 and Maven on the PATH", red=True
        )
