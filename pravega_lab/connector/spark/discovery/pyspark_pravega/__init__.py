"""The entry point for Spark, which imports every top-level package ``pyspark_*`` for its ``DefaultSource``
(spark.md 11).

An exception during this import would break the search for *every* Python data source of the session. Any
error therefore becomes a data source that raises it only when a query uses ``format("pravega")``.
"""

import sys

from pyspark.sql.datasource import DataSource

try:
    from pravega_lab.connector.spark.session.registration import installed_spark

    installed_spark()
    from pravega_lab.connector.spark.data_source import PravegaDataSource as DefaultSource
except Exception as _error:
    _reason = (
        f"format('pravega') cannot run in '{sys.executable}', the Python of Spark's workers. "
        f"{type(_error).__name__}: {_error}. Repair this Python, or set PYSPARK_PYTHON, and "
        "PYSPARK_DRIVER_PYTHON if it is set, to another Python with 'pravega-lab[spark]' before the session "
        "starts"
    )

    class DefaultSource(DataSource):  # type: ignore[no-redef]
        """Raises the error of the import when a query uses the format."""

        def __init__(self, options):  # type: ignore[no-untyped-def]
            raise RuntimeError(_reason)

        @classmethod
        def name(cls):  # type: ignore[no-untyped-def]
            return "pravega"


__all__ = ["DefaultSource"]
