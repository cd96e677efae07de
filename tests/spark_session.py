"""The Spark session of the tests: the one of ``Lab().spark``, on two cores and started quickly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def two_cores() -> Iterator[Any]:
    """For a fixture of a session: stopped when the tests are over."""
    from pravega_lab.connector.spark import create_session

    quick_start = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    conf = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": quick_start}
    session = create_session("tests", conf=conf)
    yield session
    session.stop()
