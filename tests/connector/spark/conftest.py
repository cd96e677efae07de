"""One Spark session for all tests of this folder that need one, and one worker of pytest-xdist that runs
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pravega_lab.connector.spark import create_session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The session of ``Lab().spark``, on two cores."""
    quick_start = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    conf = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": quick_start}
    session = create_session("tests", conf=conf)
    yield session
    session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.spark)
