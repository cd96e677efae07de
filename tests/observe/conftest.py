"""The Spark session is the one of the connector's tests: one JVM at a time."""

from __future__ import annotations

import pytest

from tests.connector.spark.conftest import spark

__all__ = ["spark"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
