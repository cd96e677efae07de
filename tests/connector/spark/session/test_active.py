"""Threads without an active session: new ones, and the one whose call of Spark was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import pravega_lab
from pravega_lab import connect
from pravega_lab.connector.spark import create_session
from pravega_lab.engine.cluster.spark import SparkLauncher
from pravega_lab.observe.query.sources import Listener
from tests.spark.connect import needs_jvm

pytestmark = [pytest.mark.spark, needs_jvm]


@pytest.fixture
def elsewhere(spark: Any) -> Iterator[ThreadPoolExecutor]:
    """One thread without an active session."""
    from pyspark.sql import SparkSession

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(SparkSession.getActiveSession).result() is None
        yield pool


def test_a_registered_session_writes(
    elsewhere: ThreadPoolExecutor, spark: Any, store: str, scope_name: Callable[[], str]
) -> None:
    with connect(store) as client:
        stream = client.create_stream(f"{scope_name()}/out")
        frame = spark.range(3).selectExpr("cast(id as string) AS event")
        writer = frame.write.format("pravega").mode("append").options(**stream.options())
        elsewhere.submit(pravega_lab.register, spark).result()
        elsewhere.submit(writer.save).result()
        with stream.read() as batches:
            assert sorted(batches.events()) == [b"0", b"1", b"2"]


def test_the_session_of_the_process_is_found(elsewhere: ThreadPoolExecutor, spark: Any) -> None:
    assert elsewhere.submit(SparkLauncher, None, "job").result()._context is spark.sparkContext
    assert elsewhere.submit(create_session).result() is spark


def test_a_query_is_observed(elsewhere: ThreadPoolExecutor, spark: Any) -> None:
    query = spark.readStream.format("rate").load().writeStream.format("noop").start()
    try:
        elsewhere.submit(Listener, query).result().close()
    finally:
        query.stop()
