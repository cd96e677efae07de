"""A daemon for Spark's Python workers that loads its modules before it forks, for sessions on one machine.

Spark's own daemon forks first, and then every worker imports its modules. With this daemon a batch takes less
than half the time (spark.md 3). ``spark.python.daemon.module`` switches it on, and only where driver and
workers share one machine and one installed pyspark.

The loaded modules start no thread and open no socket, so that a fork is a complete copy. gRPC must not be
among them.
"""

from __future__ import annotations

import gc
import importlib
import sys
import types
from typing import Any

from pravega_lab.connector.spark.worker_end import end_quietly

#: The modules to import before the first fork. Spark starts only its tasks from this daemon; planning and
#: committing use separate daemons of Spark.
PRELOADED = (
    "numpy",
    "pyarrow",
    "pandas",
    "pyspark.worker",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "pravega_lab.connector.spark.data_source",
    "pravega_lab.connector.spark.session.worker_imports",
)


def without_archives(path: list[str]) -> list[str]:
    """Return ``sys.path`` without Spark's zips and jars.

    Python then imports the installed pyspark with its compiled files.
    """
    return [entry for entry in path if not entry.endswith((".zip", ".jar"))]


def load() -> Any:
    """Import all modules, exclude them from garbage collection, and return Spark's daemon module."""
    sys.path[:] = without_archives(sys.path)
    daemon = importlib.import_module("pyspark.daemon")
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    # Spark's worker runs a full collection after every task, which would only visit the frozen modules.
    daemon.gc = types.SimpleNamespace(collect=lambda: None)  # type: ignore[attr-defined]
    end_quietly(daemon)
    return daemon


if __name__ == "__main__":
    load().manager()
