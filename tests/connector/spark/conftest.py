"""One Spark session for all tests of this folder that need one, and one worker of pytest-xdist that runs
them. `make spark-connect` runs the same tests in a session of a Spark Connect server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.spark.connect import OVER_CONNECT, connect_server
from tests.spark.session import two_cores


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    if OVER_CONNECT:
        store, folders = (request.getfixturevalue(name) for name in ("store", "tmp_path_factory"))
        with connect_server(store, folders.mktemp("connect")) as server:
            session = server.session()
            yield session
            session.stop()  # at the end of the process it would ask a server that is gone
    else:
        yield from two_cores()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.spark)
    if OVER_CONNECT:  # the other tests start Spark by themselves, and `make spark` runs them
        others = [item for item in items if not _has_the_session(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def _has_the_session(item: pytest.Item) -> bool:
    own_server = item.path.stem == "test_connect"
    return "spark" in getattr(item, "fixturenames", ()) and not own_server
