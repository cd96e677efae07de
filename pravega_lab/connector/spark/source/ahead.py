"""The rows of a task, read and decoded by a thread while Spark takes those before them.

Spark's worker writes rows into a buffer, and sends it when it is full. The end of a batch therefore stays in
the worker until the next batch is written, and the JVM waits for it before it takes the first row of the
batch. If the worker began to read and decode the next batch only then, one of the two would always wait for
the other.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any


def read_ahead(batches: Generator[Any]) -> Generator[Any]:
    """Yield what ``batches`` yields, in the same order, and take the next one from it in a thread.

    An error is raised after the batches before it. If the caller stops early, the thread finishes its batch,
    and ``batches`` is closed after that.
    """
    with closing(batches), ThreadPoolExecutor(1, "pravega-read-ahead") as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
