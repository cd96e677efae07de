"""`create_session`: a Spark session on this machine in which ``format("pravega")`` works and is fast.

spark.md 9 and 12 explain each setting. The function changes environment variables of this process, because
Spark's launcher and its Python workers read them: ``JAVA_HOME``, ``PYSPARK_PYTHON``,
``PYSPARK_DRIVER_PYTHON``, ``SPARK_LOCAL_IP``, ``PRAVEGA_LAB_HOLD_FOLDER`` (see `hold`) and, where the package
is not installed, ``PYTHONPATH``.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pravega_lab.connector.spark.catalog.jar import CLASS, LOCAL_CHECKPOINTS, SETTING, cache_folder
from pravega_lab.connector.spark.session.connect import REMOTE_VARIABLE, open_session
from pravega_lab.connector.spark.session.java import find_java
from pravega_lab.connector.spark.session.progress import PROGRESS_FILE_VARIABLE, write_progress
from pravega_lab.connector.spark.session.registration import current_session, installed_spark, register
from pravega_lab.connector.spark.source.hold import ensure_hold_folder, own_folder

_STREAMING = "org.apache.spark.sql.execution.streaming"
CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
FILE_SYSTEM_CHECKPOINTS = f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
#: ``spark-submit`` sets this variable in the Python that it starts. The JVM of that Python runs already.
SUBMITTED_VARIABLE = "PYSPARK_GATEWAY_PORT"
#: For machines that have less than they report, such as a Binder.
MEMORY_VARIABLE, CORES_VARIABLE = "PRAVEGA_LAB_SPARK_MEMORY", "PRAVEGA_LAB_SPARK_CORES"
WORKER_DAEMON = "pravega_lab.connector.spark.session.worker_daemon"

#: The settings of every local session. The loopback address works offline and in containers. The checkpoint
#: manager and the state store are the fast ones (spark.md 3, 8). A barrier stage that finds too few slots
#: fails after seconds instead of ten minutes (spark.md 6).
LOCAL_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    CHECKPOINTS: FILE_SYSTEM_CHECKPOINTS,
    "spark.sql.streaming.stateStore.providerClass": f"{_STREAMING}.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataProgressEventInterval": "1000",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    SETTING: CLASS,
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "3",
}


def local_conf(*, cores: int, memory: str, warehouse: str, fast_workers: bool) -> dict[str, str]:
    """Return the configuration of a local session; a pure function."""
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
    remote: str | None = None,
) -> Any:
    """Return a Spark session that knows ``format("pravega")``.

    It is a session on this machine, as ``spark-submit`` says, or of a Spark Connect server.

    A second call returns the same session. In a script that ``spark-submit`` runs, the command decides about
    master, memory and workers, and only ``conf`` is added. One script therefore works both ways.

    Args:
        app_name: The name of the application in Spark.
        memory: Heap of the JVM. The default is the value of ``PRAVEGA_LAB_SPARK_MEMORY``, else 512 MiB. That
            is enough for the lab, and a session then fits into a machine of 2 GiB.
            ``PRAVEGA_LAB_SPARK_CORES`` limits how many tasks run at a time, for machines that share their
            cores.
        fast_workers: Load the modules of worker processes before they fork, which halves the time of a
            micro-batch. This uses a hook of pyspark that is not public, so it can be switched off.
        conf: More configuration, which overrides the settings of this function. Spark shows it in logs and
            web pages.
        environment: Variables for the JVM and the workers that it starts, and not for this process:
            credentials, for example. They have no effect on a JVM that runs already.
        remote: The address of a Spark Connect server, such as ``sc://localhost:15002``; by default the value
            of ``SPARK_REMOTE``. Each call then opens a session, and of the other arguments only ``conf``
            counts. The server needs this package too; docs/spark.md says how to start it.

    Raises:
        SetupError: There is no suitable Java, no pyspark, or a pyspark older than 4.3. The message says how
            to fix it.
        MissingExtraError: ``remote`` is given, and the extra ``connect`` is not installed.

    Source: spark.md 9, 12, 14.
    """
    installed_spark()
    if (address := remote or os.environ.get(REMOTE_VARIABLE)) and SUBMITTED_VARIABLE not in os.environ:
        spark = open_session(address, conf or {})
        register(spark)
        return spark
    from pyspark.sql import SparkSession

    spark = current_session()
    if spark is None:
        is_local = SUBMITTED_VARIABLE not in os.environ
        settings = _local_settings(memory, fast_workers) if is_local else {}
        home = home_without_archives(os.environ) if is_local else {}
        builder = SparkSession.builder.appName(app_name)
        for name, value in {**settings, **(conf or {})}.items():
            builder = builder.config(name, value)
        with _environment({**home, **(environment or {})}):
            spark = builder.getOrCreate()
        if os.environ.get(PROGRESS_FILE_VARIABLE):
            write_progress(spark, os.environ[PROGRESS_FILE_VARIABLE])
    register(spark)
    if spark.conf.get(CHECKPOINTS, None) == FILE_SYSTEM_CHECKPOINTS:  # now that its class is known
        spark.conf.set(CHECKPOINTS, LOCAL_CHECKPOINTS)
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
    ensure_hold_folder()
    warehouse = own_folder("pravega-lab-warehouse-")
    cores = int(os.environ.get(CORES_VARIABLE) or os.cpu_count() or 2)
    memory = memory or os.environ.get(MEMORY_VARIABLE) or "512m"
    return local_conf(cores=cores, memory=memory, warehouse=warehouse, fast_workers=fast_workers)


def home_without_archives(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable ``SPARK_HOME`` for the JVM: links to the installed pyspark, without its archives.

    Spark's Python processes, of which a first query starts about ten, import pyspark from the archive of the
    home if it has one. An archive has no compiled files, so that each of them would compile pyspark again.

    Args:
        environ: The variables of this process. Nothing is returned if they name a home.
    """
    import pyspark

    installed = Path(pyspark.__file__).parent
    if environ.get("SPARK_HOME") or not _installed(installed.parent):
        return {}
    home = cache_folder() / f"spark-home-{hashlib.sha256(str(installed).encode()).hexdigest()[:16]}"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        for entry in ("bin", "sbin", "jars", "conf", "data"):
            if (installed / entry).is_dir():
                with suppress(FileExistsError):  # this process or another one made it before
                    (home / entry).symlink_to(installed / entry)
    except OSError:  # a home that cannot be written, or a system without links
        return {}
    return {"SPARK_HOME": str(home)}


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Set the variables that say to Spark's launcher and workers which Java and Python to use, and where this
    package is.
    """
    environ["JAVA_HOME"] = str(find_java(environ).home)
    environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    environ["PYSPARK_PYTHON"] = environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    root = Path(__file__).resolve().parents[4]
    if not _installed(root):
        found = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        if str(root) not in found:
            environ["PYTHONPATH"] = os.pathsep.join([str(root), *found])


def _installed(root: Path) -> bool:
    return root.name in ("site-packages", "dist-packages")
