"""The entry point for Spark, which imports every top-level package ``pyspark_*`` for its ``DefaultSource``
(spark.md 11).

An exception during this import would break the search for *every* Python data source of the session. Any
error therefore becomes a data source that raises it only when a query uses ``format("pravega")``.
"""

from pyspark.sql.datasource import DataSource

try:
    from pravega_lab.connector.spark.session.registration import installed_spark

    installed_spark()
    from pravega_lab.connector.spark.data_source import PravegaDataSource as DefaultSource
except Exception as _error:
    _reason = _error

    class DefaultSource(DataSource):  # type: ignore[no-redef]
        """Raises the error of the import when a query uses the format."""

        def __init__(self, options):  # type: ignore[no-untyped-def]
            raise type(_reason)(*_reason.args)

        @classmethod
        def name(cls):  # type: ignore[no-untyped-def]
            return "pravega"


__all__ = ["DefaultSource"]
