"""Options and a home with which short-lived Sparks start quickly, with about a third of the processor time.

    python -m tests.spark.jvm
    python -m tests.spark.jvm --home

print them for the variables ``SPARK_SUBMIT_OPTS`` and ``SPARK_HOME``. Besides simple compilation and
collection the options name an archive of the classes that Spark loads. A small run of Spark makes it once; it
is kept in ``.cache/spark``. The home has no archives of Python, see `home_without_archives`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "spark"
QUICK_START = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
QUIET = "-Xlog:disable -Xlog:all=error:stderr"  # an archive that does not fit is left out without a word
TRAINING_S_MAX = 240


def options() -> str:
    """Return the options, with the archive if it can be made."""
    archive = _archive()
    with_archive = f" -XX:SharedArchiveFile={archive} {QUIET}" if archive.exists() else ""
    return QUICK_START + with_archive


def home() -> Path:
    """Return the home of a session that `create_session` starts, for sessions that tests start otherwise."""
    import pyspark

    from pravega_lab.connector.spark.session.session import home_without_archives

    return Path(home_without_archives({}).get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _digest(*parts: str) -> str:
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def _archive() -> Path:
    """The archive for this Java and this Spark; made if it is not there, which takes some seconds."""
    import pyspark

    from pravega_lab.connector.spark.session.java import find_java

    java, spark = find_java().home, home()
    release = (java / "release").read_text() if (java / "release").is_file() else ""
    archive = CACHE / f"{_digest(str(java), str(spark), pyspark.__version__, release)}.jsa"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            for old in CACHE.glob("*.jsa"):
                old.unlink()
            _make(archive, spark)
    return archive


def _make(archive: Path, spark: Path) -> None:
    made = archive.with_suffix(".part")
    dump = f"{QUICK_START} -XX:ArchiveClassesAtExit={made} {QUIET}"
    environ = {
        **os.environ,
        "SPARK_SUBMIT_OPTS": dump,
        "SPARK_HOME": str(spark),
        "PYSPARK_PYTHON": sys.executable,
    }
    with suppress(subprocess.TimeoutExpired):  # tests without the archive are slower, and pass
        subprocess.run(
            [sys.executable, "-m", "tests.spark.jvm", "--train"],
            cwd=ROOT,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TRAINING_S_MAX,
            check=False,
        )
    if made.exists():
        made.rename(archive)


def train() -> None:
    """Run a little of what the tests run, so that Spark loads most of its classes."""
    from pravega_lab.connector.spark import create_session

    spark = create_session("train", conf={"spark.master": "local[2]"})
    rows = spark.range(1000)
    rows.groupBy((rows.id % 7).alias("key")).count().orderBy("key").collect()
    rows.rdd.map(lambda row: row.id).sum()
    with tempfile.TemporaryDirectory() as folder:
        rate = spark.readStream.format("rate").load()
        windows = rate.withWatermark("timestamp", "1 second").groupBy("timestamp").count()
        writing = windows.writeStream.format("noop").option("checkpointLocation", folder).outputMode("append")
        query = writing.trigger(availableNow=True).start()
        query.awaitTermination(30)
        query.stop()
    _end_jvm(spark)


def _end_jvm(spark: Any) -> None:
    """Wait until the JVM has ended: it writes the archive as its last act."""
    gateway, jvm = spark.sparkContext._gateway, spark.sparkContext._jvm
    spark.stop()
    with suppress(Exception):  # no answer comes
        jvm.java.lang.System.exit(0)
    gateway.proc.wait(TRAINING_S_MAX / 2)


if __name__ == "__main__":
    if sys.argv[1:] == ["--train"]:
        train()
    elif sys.argv[1:] == ["--home"]:
        print(home())
    else:
        print(options())
