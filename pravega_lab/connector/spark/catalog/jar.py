"""Compiles our classes for the JVM with Spark's own compiler, Janino, and makes them known to a session: the
catalog, and the writer of checkpoints in local folders.

Spark contains Janino to compile queries, so nothing has to be built or downloaded. The jar is kept in the
user's cache folder, by the version of Spark and the digest of the source; compiling takes a second or two.
The classes are added to the class loader of the whole JVM: every session of it finds the catalog, new ones
and those of ``foreachBatch`` included.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from pravega_lab.errors import SetupError

CLASS = "pravega_lab.PravegaCatalog"
NAME = "pravega"
SETTING = f"spark.sql.catalog.{NAME}"
SOURCE = Path(__file__).with_name("PravegaCatalog.java")
LOCAL_CHECKPOINTS = "pravega_lab.LocalCheckpoints"
SOURCES = (SOURCE, SOURCE.parents[1] / "session" / "LocalCheckpoints.java")
_JAVA_VERSION = 8  # of the class files; Janino writes no later one


def cache_folder() -> Path:
    """Return the folder of this package among the caches of the user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pravega-lab"


def jar_path(spark_version: str) -> Path:
    """Return where the jar for a version of Spark is kept."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()[:16]
    return cache_folder() / f"catalog-{spark_version}-{digest}.jar"


def make_jar(jvm: Any, spark_version: str) -> Path:
    """Return the jar with the classes, compiling them unless it is in the cache.

    Args:
        jvm: The JVM of a py4j gateway, with Spark on its class path.

    Raises:
        SetupError: This version of Spark does not have the classes that ours use.
    """
    path = jar_path(spark_version)
    if path.exists():
        return path
    files = compiled(jvm)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as jar:
        for name, data in files.items():
            jar.writestr(f"{name.replace('.', '/')}.class", data)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = path.parent
    except OSError:  # a home that cannot be written
        folder = Path(tempfile.mkdtemp(prefix="pravega-lab-catalog-"))
        path = folder / path.name
    handle, unfinished = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(packed.getvalue())
    os.replace(unfinished, path)  # another process may do the same at the same time
    return path


def compiled(jvm: Any) -> dict[str, bytes]:
    """Return the class files by the names of their classes.

    Raises:
        SetupError: Janino cannot compile a source. The message has its reason.
    """
    return {name: data for source in SOURCES for name, data in _compiled(jvm, source).items()}


def _compiled(jvm: Any, source: Path) -> dict[str, bytes]:
    from py4j.protocol import Py4JJavaError

    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.setSourceVersion(_JAVA_VERSION)
    compiler.setTargetVersion(_JAVA_VERSION)
    try:
        compiler.cook(source.read_text())
    except Py4JJavaError as error:
        raise SetupError(
            f"{source.name} does not fit this version of Spark: {error.java_exception.getMessage()}. "
            "format('pravega') and temporary views work without the catalog 'pravega'"
        ) from None
    found = compiler.getBytecodes()
    return {str(name): bytes(found[name]) for name in found}


def install(spark: Any) -> bool:
    """Make the catalog ``pravega`` known to a session and return True, or False over Spark Connect.

    A session of Spark Connect cannot reach the JVM of its server, which needs the jar when it starts.
    """
    jvm = getattr(spark, "_jvm", None) if type(spark).__module__ == "pyspark.sql.session" else None
    if jvm is None:
        return False
    path = make_jar(jvm, spark.version)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm.java.io.File(str(path)).toURI().toURL())
    if spark.conf.get(SETTING, None) is None:
        spark.conf.set(SETTING, CLASS)
    return True
