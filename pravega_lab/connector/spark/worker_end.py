"""How a Python process of Spark ends when the JVM has closed its connection: without a word.

The JVM closes the connections of idle workers before it ends their daemon, and that of a task that it gives
up. A worker that is not ended at the same moment then fails to send, and pyspark's daemon prints this error
as a traceback. With sockets of the Unix domain, which our sessions use, this happens at once (spark.md 1.2).
"""

from __future__ import annotations

from typing import Any

#: The name of pyspark's daemon, which is the program of Spark's Python processes or a module of ours.
DAEMON = "pyspark.daemon"


def end_quietly(daemon: Any) -> None:
    """Have the workers that a daemon forks end quietly when their connection to the JVM is closed.

    The daemon takes its function ``worker`` from the module for each request, so a worker that was forked
    already may call this too. Does nothing for a module that is not pyspark's daemon.
    """
    serve = getattr(daemon, "worker", None)
    if serve is None or getattr(daemon.__spec__, "name", "") != DAEMON:
        return

    def worker(*connection: Any) -> int:
        try:
            return int(serve(*connection))
        except ConnectionError:
            return 1  # the daemon ends the process for any code but 0

    daemon.worker = worker
