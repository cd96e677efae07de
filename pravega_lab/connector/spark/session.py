"""`create_session`: a Spark session on this machine in which ``format("pravega")`` works and is fast.

What it sets, and why each, is in reference/spark.md 9 and 12. It changes variables of this process's
environment, because Spark's launcher and its Python workers take them from there: ``JAVA_HOME``,
``PYSPARK_PYTHON``, ``PYSPARK_DRIVER_PYTHON``, ``SPARK_LOCAL_IP``, ``PRAVEGA_LAB_HOLD_FOLDER`` (see `gate`)
and, where the package is not installed, ``PYTHONPATH``.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .gate import HOLD_FOLDER_VARIABLE
from .java import find_java
from .progress import PROGRESS_FILE_VARIABLE, write_progress
from .registration import installed_spark, register

_STREAMING = "org.apache.spark.sql.execution.streaming"
_CHECKPOINTS = f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
#: Set in a Python that was started by ``spark-submit``: its JVM is there already.
SUBMITTED_VARIABLE = "PYSPARK_GATEWAY_PORT"
#: For machines that are smaller than they say, such as a Binder.
MEMORY_VARIABLE, CORES_VARIABLE = "PRAVEGA_LAB_SPARK_MEMORY", "PRAVEGA_LAB_SPARK_CORES"
WORKER_DAEMON = "pravega_lab.connector.spark.worker_daemon"

#: In every session. Loopback: works offline and in containers. The checkpoint manager and the state store are
#: the fast ones (3, 8); a barrier stage that finds no slots says so after seconds, not after ten minutes (6).
LOCAL_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
    "spark.sql.streaming.stateStore.providerClass": f"{_STREAMING}.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataProgressEventInterval": "1000",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "3",
}


def local_conf(*, cores: int, memory: str, warehouse: str, fast_workers: bool) -> dict[str, str]:
    """The configuration of a local session; pure."""
    conf = {
        "spark.master": f"local[{max(2, cores)}]",
        "spark.driver.memory": memory,
        "spark.sql.warehouse.dir": warehouse,
        **LOCAL_CONF,
    }
    return {**conf, "spark.python.daemon.module": WORKER_DAEMON} if fast_workers else conf


def create_session(
    app_name: str = "pravega_lab",
    *,
    memory: str | None = None,
    fast_workers: bool = True,
    conf: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Any:
    """A Spark session that knows ``format("pravega")``: on this machine, or as ``spark-submit`` says.

    Called again, it gives the same session. In a script run by ``spark-submit`` the command decides about
    master, memory and workers, and only ``conf`` is added to it; so one script serves both.

    Args:
        app_name: What Spark calls it.
        memory: Heap of the JVM; without it what ``PRAVEGA_LAB_SPARK_MEMORY`` says, else 512 MiB, which carry
            the lab's work, and with which a session fits into a machine of 2 GiB. Where a machine shares its
            cores, ``PRAVEGA_LAB_SPARK_CORES`` says how many tasks run at a time.
        fast_workers: Worker processes with their modules loaded before they fork; halves the time of a
            micro-batch. Uses a hook of pyspark that is not public, so it can be switched off.
        conf: More configuration; wins over what is set here. Seen in Spark's logs and pages.
        environment: Variables for the JVM, and so for the workers that it starts, and not for this process:
            credentials, for example. Without effect on a JVM that runs already.

    Raises:
        SetupError: No suitable Java, no pyspark, or one older than 4.3; says how to mend it.

    Source: reference/spark.md 9, 12.
    """
    installed_spark()
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        settings = {} if SUBMITTED_VARIABLE in os.environ else _local_settings(memory, fast_workers)
        builder = SparkSession.builder.appName(app_name)
        for name, value in {**settings, **(conf or {})}.items():
            builder = builder.config(name, value)
        with _environment(environment or {}):
            spark = builder.getOrCreate()
        if os.environ.get(PROGRESS_FILE_VARIABLE):
            write_progress(spark, os.environ[PROGRESS_FILE_VARIABLE])
    register(spark)
    return spark


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _local_settings(memory: str | None, fast_workers: bool) -> dict[str, str]:
    prepare_environment(os.environ)
    if HOLD_FOLDER_VARIABLE not in os.environ:  # a submitted driver has it from who submits it
        os.environ[HOLD_FOLDER_VARIABLE] = _own_folder("pravega-lab-holds-")
    warehouse = _own_folder("pravega-lab-warehouse-")
    cores = int(os.environ.get(CORES_VARIABLE) or os.cpu_count() or 2)
    memory = memory or os.environ.get(MEMORY_VARIABLE) or "512m"
    return local_conf(cores=cores, memory=memory, warehouse=warehouse, fast_workers=fast_workers)


def _own_folder(prefix: str) -> str:
    """Deleted when this process ends."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Tell Spark's launcher which Java, and its workers which Python and where this package is."""
    environ["JAVA_HOME"] = str(find_java(environ).home)
    environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    environ["PYSPARK_PYTHON"] = environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    root = Path(__file__).resolve().parents[3]
    if not _installed(root):
        found = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        if str(root) not in found:
            environ["PYTHONPATH"] = os.pathsep.join([str(root), *found])


def _installed(root: Path) -> bool:
    return root.name in ("site-packages", "dist-packages")
