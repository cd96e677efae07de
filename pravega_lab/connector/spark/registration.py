"""Which Spark this connector runs on, and how Spark gets to know the format ``pravega``."""

from __future__ import annotations

import re
from typing import Any

from ...errors import SetupError

#: Admission control and Arrow sinks of Python data sources, as this connector uses them, came with this
#: version.
SPARK_NEEDED = (4, 3)
JVM_CONNECTOR = "io.pravega:pravega-connectors-spark (https://github.com/pravega/spark-connectors)"


def check_spark(version: str) -> None:
    """Refuse a Spark that this connector cannot work on.

    Raises:
        SetupError: ``version`` is older than 4.3; the message names the official connector for older ones.
    """
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if found < SPARK_NEEDED:
        needed = ".".join(str(part) for part in SPARK_NEEDED)
        raise SetupError(
            f"Spark {version} was found, format('pravega') of pravega_lab needs Spark {needed} or newer. "
            f"Install it with: pip install 'pravega-lab[spark]'. "
            f"For Spark 3.4 there is the official JVM connector, {JVM_CONNECTOR}."
        )


def installed_spark() -> str:
    """The version of the installed pyspark, checked."""
    try:
        import pyspark
    except ImportError as error:
        raise SetupError(
            "pyspark was asked for and is not installed in this Python. "
            "Install it with: pip install 'pravega-lab[spark]'"
        ) from error
    version: str = pyspark.__version__
    check_spark(version)
    return version


def register(spark: Any) -> None:
    """Make ``format("pravega")`` known to a session.

    Spark finds the format by itself where the package ``pyspark_pravega`` lies in a folder of ``sys.path`` (a
    regular or a strict editable install); elsewhere, and on clusters whose driver has only a zip of the code,
    call this once per session. Calling it again does no harm.

    Raises:
        SetupError: The session's Spark, or the installed pyspark, is older than 4.3.

    Source: reference/spark.md 11.
    """
    installed_spark()
    check_spark(spark.version)
    from .source import PravegaDataSource

    spark.dataSource.register(PravegaDataSource)
