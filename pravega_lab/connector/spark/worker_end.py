"""How a Python process of Spark ends when the JVM has closed its connection: without a word.

The JVM closes the connections of idle workers before it ends their daemon, that of a task that it gives up,
and that of the source of a query that is stopped. A process that is not ended at the same moment then fails
to send, and prints this error as a traceback. With sockets of the Unix domain, which our sessions use, this
happens at once (spark.md 1.2).
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

#: pyspark's daemon, which is the program of most of Spark's Python processes, or a module of ours.
DAEMON = "pyspark.daemon"
#: The program of the process that a streaming query has for each source.
SOURCE = "pyspark.sql.streaming.python_streaming_source_runner"


def end_quietly(program: Any) -> None:
    """Have a process end quietly when its connection to the JVM is closed; also those that a daemon forks.

    The daemon takes its function ``worker`` from the module for each request, so a worker that was forked
    already may call this too. Does nothing for a module that is not a program of pyspark.
    """
    name = getattr(getattr(program, "__spec__", None), "name", "")
    if name == SOURCE:
        sys.excepthook = _print_unless_closed
    if name != DAEMON:
        return
    serve = program.worker

    def worker(*connection: Any) -> int:
        try:
            return serve(*connection)  # type: ignore[no-any-return]
        except ConnectionError:
            os._exit(1)  # as the daemon does after it has printed the error

    program.worker = worker


def _print_unless_closed(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, ConnectionError):
        sys.__excepthook__(kind, error, trace)
