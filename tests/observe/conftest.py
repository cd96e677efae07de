"""The Spark session is the one of the connector's tests: one JVM at a time."""

from __future__ import annotations

from tests.connector.spark.conftest import spark

__all__ = ["spark"]
