"""Sessions of Spark Connect: how to open one, where its server is, and whether the server answers.

The client of such a session has no JVM. Sources, sinks and ``foreachBatch`` run in processes of the server,
so folders which client and server both use have to be on a file system that they share (spark.md 14).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any

from pravega_lab.errors import BadInputError, require

#: Spark's own variable with the address of a server, such as ``sc://localhost:15002``.
REMOTE_VARIABLE = "SPARK_REMOTE"
#: Spark's own switch, which makes ``pyspark.sql.functions`` work without a JVM.
_MODE_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"
_SCHEME = "sc://"


def is_connect(thing: Any) -> bool:
    """Return whether a session or a query is one of Spark Connect."""
    return type(thing).__module__.startswith("pyspark.sql.connect.")


def open_session(remote: str, conf: Mapping[str, str]) -> Any:
    """Return a new session of the server at ``remote``. The format is not registered with it.

    A process may have such sessions and a session of its own JVM at the same time. The functions of
    ``pyspark.sql.functions`` are then those of the JVM, and expressions for the server are written as SQL.

    Raises:
        BadInputError: ``remote`` does not begin with ``sc://``.
        MissingExtraError: The extra ``connect`` is not installed.
    """
    if not remote.startswith(_SCHEME):
        raise BadInputError(
            f"create_session(remote='{remote}'): the address of a Spark Connect server begins with "
            f"'{_SCHEME}', such as '{_SCHEME}localhost:15002'"
        )
    for module in ("grpc_status", "zstandard"):
        require(module)
    from pyspark import SparkContext
    from pyspark.sql.connect.session import SparkSession

    if SparkContext._active_spark_context is None:
        os.environ[_MODE_VARIABLE] = "1"
    builder = SparkSession.builder.remote(remote)
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder.create()


def endpoint(spark: Any) -> str:
    """Return the address of the server, ``host:port``."""
    return str(spark.client._builder.endpoint)


def refusal(spark: Any, timeout_s: float) -> str:
    """Return why the server cannot be reached, or "" if its port accepts a connection."""
    host, _, port = endpoint(spark).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return ""
