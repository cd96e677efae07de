"""The Spark session of the tests: the one of ``Lab().spark``, on two cores and started quickly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.spark.jvm import QUICK_START


def two_cores() -> Iterator[Any]:
    """For a fixture of a session: stopped when the tests are over."""
    from pravega_lab.connector.spark import create_session

    conf = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_START}
    session = create_session("tests", conf=conf)
    yield session
    session.stop()
