"""One Spark session for all tests of this folder that need one, and one worker of pytest-xdist that runs
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.spark_session import two_cores


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    yield from two_cores()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.spark)
