"""A daemon for Spark's Python workers that has its modules loaded before it forks (local use).

The stock daemon forks first and imports afterwards, in every worker. With this one a batch takes less than
half the time (reference/spark.md 3). It is switched on by
``spark.python.daemon.module``, and only where driver and workers share one machine and one installed pyspark.

What it loads starts no thread and opens no socket, so that a fork is a whole copy: no gRPC in here.
"""

from __future__ import annotations

import gc
import importlib
import sys
import types
from typing import Any

#: Imported before the first fork. Spark starts only its tasks from this daemon; planning and committing have
#: stock daemons of their own.
PRELOADED = (
    "numpy",
    "pyarrow",
    "pandas",
    "pyspark.worker",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "pravega_lab.connector.spark.source",
    "pravega_lab.connector.spark.preload",
)


def without_archives(path: list[str]) -> list[str]:
    """``sys.path`` without Spark's zips and jars, so that the installed pyspark with its compiled files is
    used.
    """
    return [entry for entry in path if not entry.endswith((".zip", ".jar"))]


def load() -> Any:
    """Import everything, freeze it out of the collector's sight, and return Spark's daemon module."""
    sys.path[:] = without_archives(sys.path)
    daemon = importlib.import_module("pyspark.daemon")
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    # The stock worker collects everything after every task; what was frozen above need not be looked at
    # again.
    daemon.gc = types.SimpleNamespace(collect=lambda: None)  # type: ignore[attr-defined]
    return daemon


if __name__ == "__main__":
    load().manager()
