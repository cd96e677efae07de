"""Spark imports every top-level package named ``pyspark_*`` and takes its ``DefaultSource``
(reference/spark.md 11).

An exception here would break the look-up of *every* Python data source of the session. So whatever goes wrong
becomes a source that says what, and says it only when somebody asks for ``format("pravega")``.
"""

from pyspark.sql.datasource import DataSource

try:
    from pravega_lab.connector.spark.registration import installed_spark

    installed_spark()
    from pravega_lab.connector.spark.source import PravegaDataSource as DefaultSource
except Exception as _error:
    _reason = _error

    class DefaultSource(DataSource):  # type: ignore[no-redef]
        """Stands for the data source that cannot be imported here, and tells why."""

        def __init__(self, options):  # type: ignore[no-untyped-def]
            raise type(_reason)(*_reason.args)

        @classmethod
        def name(cls):  # type: ignore[no-untyped-def]
            return "pravega"


__all__ = ["DefaultSource"]
