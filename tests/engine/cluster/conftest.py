"""The same tests over plain processes and, with the marker `spark`, over a barrier job of a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from pravega_lab.engine.cluster.cluster_job import ClusterJob
from pravega_lab.engine.cluster.processes import ProcessJob
from pravega_lab.engine.cluster.spark import SparkJob
from tests.spark.session import two_cores

Home = Callable[..., ClusterJob]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    yield from two_cores()


@pytest.fixture(params=["processes", pytest.param("spark", marks=pytest.mark.spark)])
def home(request: pytest.FixtureRequest) -> Home:
    """Makes a job with two workers; more options as of `ClusterJob`."""
    if request.param == "processes":
        return partial(ProcessJob, workers=2)
    return partial(SparkJob, spark=request.getfixturevalue("spark"), workers=2)
