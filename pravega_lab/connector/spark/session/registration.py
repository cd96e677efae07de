"""The check of the Spark version, and the registration of the format ``pravega`` with a session."""

from __future__ import annotations

import re
from typing import Any

from pravega_lab.connector.spark.catalog.jar import install
from pravega_lab.connector.spark.options.parsing import FALLBACKS
from pravega_lab.connector.spark.session.connect import is_connect
from pravega_lab.connector.spark.source.hold import ensure_hold_folder
from pravega_lab.connector.spark.worker_python import set_worker_python
from pravega_lab.errors import BadInputError, SetupError

#: The first version with admission control and Arrow sinks for Python data sources.
SPARK_NEEDED = (4, 3)
JVM_CONNECTOR = "io.pravega:pravega-connectors-spark (https://github.com/pravega/spark-connectors)"


def check_spark(version: str) -> None:
    """Refuse a Spark version that this connector cannot work with.

    Raises:
        SetupError: ``version`` is older than 4.3. The message names the official connector for older
            versions.
    """
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if found < SPARK_NEEDED:
        needed = ".".join(str(part) for part in SPARK_NEEDED)
        raise SetupError(
            f"Spark {version} was found, format('pravega') of pravega_lab needs Spark {needed} or newer. "
            f"Install it with: pip install 'pravega-lab[spark]'. "
            f"For Spark 3.4, use the official JVM connector, {JVM_CONNECTOR}."
        )


def installed_spark() -> str:
    """Return the version of the installed pyspark.

    Raises:
        SetupError: pyspark is not installed, or is older than 4.3.
    """
    try:
        import pyspark
    except ImportError as error:
        raise SetupError(
            "pyspark is needed and not installed in this Python. "
            "Install it with: pip install 'pravega-lab[spark]'"
        ) from error
    version: str = pyspark.__version__
    check_spark(version)
    return version


def register(spark: Any) -> None:
    """Make ``format("pravega")`` known to a session.

    Spark finds the format itself where the package ``pyspark_pravega`` is in a folder of ``sys.path`` (a
    regular or a strict editable install). Elsewhere, and on clusters whose driver has only a zip of the code,
    call this once per session. Repeated calls do no harm.

    The session becomes the active one of the calling thread: without an active session, Spark finds no
    format of Python for a write. Call this again in a thread of your own, and after an interrupt of a call of
    Spark, which loses the active session. `Lab.spark` does that by itself.

    The workers of a session on this machine run this process's Python from then on, unless the user chose
    another one (`worker_python`). A session of Spark Connect gets the folder in which
    `stop_with_savepoint` of this process asks its sources to pause.

    Raises:
        BadInputError: ``spark`` is no session.
        SetupError: The session's Spark, or the installed pyspark, is older than 4.3, or the Python that the
            user chose for the workers cannot run the data source.

    Source: spark.md 11.
    """
    installed_spark()
    if not isinstance(getattr(spark, "version", None), str):
        raise BadInputError(f"register({spark!r}): give a session of Spark, such as register(spark)")
    check_spark(spark.version)
    set_worker_python(spark)
    from pravega_lab.connector.spark.data_source import PravegaDataSource

    source: Any = PravegaDataSource
    found = _properties(spark)
    # The server's processes do not have the environment of the client.
    holds = ensure_hold_folder() if is_connect(spark) else ""
    if found or holds:
        # Spark pickles a class of a function by value, so that the workers receive the properties too.
        class WithProperties(PravegaDataSource):
            properties = found
            hold_folder = holds

        source = WithProperties
    spark.dataSource.register(source)
    install(spark)
    make_active(spark)


def make_active(spark: Any) -> None:
    """Make a session the active one of this thread. Does nothing for a session of Spark Connect."""
    if not is_connect(spark):
        spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


def current_session() -> Any:
    """Return the active session of this thread, else the one of this process, else None."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    return None if session is None or has_stopped(session) else session


def has_stopped(spark: Any) -> bool:
    """Return whether the program has stopped a session, which is of no more use."""
    return bool(spark.is_stopped) if is_connect(spark) else spark.sparkContext._jsc is None


def _properties(spark: Any) -> dict[str, str]:
    """Return the properties of the session that stand in for missing options (flink.md 13.3).

    Spark accepts other names than ``spark.…`` only from a program, so both forms are looked up.
    """
    found: dict[str, str] = {}
    for _, name, _ in FALLBACKS:
        value = spark.conf.get(f"spark.{name}", None) or spark.conf.get(name, None)
        if value:
            found[name] = value
    return found
