"""Small micro-batches, read in the process that plans them, while Spark writes its log of offsets.

A task of a Python source starts a Python worker, which connects to the store and reads. For a few thousand
events, this takes longer than the reading. Spark also takes the rows of a batch together with its plan: that
is how it serves a ``SimpleDataSourceStreamReader``. It keeps them in its block manager, and the task reads
them in the JVM. If they are not there any more, the task reads its partition as usual.

Spark asks its own wrapper of simple readers for such rows and no other reader. `offer_rows` presents our
reader as that wrapper in the one place where Spark asks. This uses classes of pyspark that are not public;
where they differ from those of Spark 4.3, tasks read every batch.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

log = logging.getLogger(__name__)

RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
PARAMETERS = ["reader", "data_source", "schema", "max_arrow_batch_size", "infile", "outfile"]
#: Types whose columns Spark's JVM reads from Arrow as it reads those of a task.
PLAIN_TYPES = frozenset(
    ["binary", "string", "bigint", "int", "smallint", "tinyint", "double", "float", "boolean", "date"]
)


class Prefetched(NamedTuple):
    """The plan of a micro-batch, and the Arrow batches of its rows if they were read already."""

    partitions: list[Any]
    rows: list[Any] | None


class Prefetcher:
    """Reads one micro-batch ahead, in a thread of its own."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "pravega-prefetch")
        self._key: Any = None
        self._coming: Future[Prefetched] | None = None

    def begin(self, key: Any, work: Callable[[], Prefetched]) -> None:
        """Begin with a batch, in place of an earlier one. ``key`` names it."""
        if key != self._key:
            self._key, self._coming = key, self._threads.submit(work)

    def result(self, key: Any) -> Prefetched | None:
        """Return what was read for a batch, or None if it was not begun or failed. Waits until it is read."""
        if self._coming is None or key != self._key:
            return None
        try:
            return self._coming.result()
        except Exception as error:  # the task meets the same error, and reports it
            log.debug("a micro-batch was not read ahead: %s", error)
            return None


class PrefetchingReader(Protocol):
    """A stream reader of a data source that may have the rows of a batch when Spark plans it."""

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Any]:
        """Return the partitions of the batch from ``start`` to ``end``."""

    def prefetched(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any] | None:
        """Return the Arrow batches of its one partition, or None if the task has to read them."""


def is_plain(schema: Any) -> bool:
    """Return whether Spark's JVM reads rows of this schema from the process that plans a batch."""
    return all(
        field.nullable and not field.metadata and field.dataType.simpleString() in PLAIN_TYPES
        for field in schema.fields
    )


def _runner() -> Any:
    """Return the module that runs the source. Spark starts it as a program, which has another name."""
    program = sys.modules["__main__"]
    spec = getattr(program, "__spec__", None)
    return program if spec is not None and spec.name == RUNNER else sys.modules.get(RUNNER)


def offer_rows(kind: type[PrefetchingReader]) -> bool:
    """Have Spark ask readers of ``kind`` for rows when it plans a batch. Return False if it cannot ask them.

    Calls after the first one change nothing.
    """
    runner = _runner()
    asks = getattr(runner, "partitions_func", None)
    wrapper = getattr(runner, "_SimpleStreamReaderWrapper", None)
    if asks is None or wrapper is None:
        return False
    if hasattr(asks, "offers"):
        return True
    if list(inspect.signature(asks).parameters) != PARAMETERS:
        return False

    class Offering(wrapper):  # type: ignore[misc, valid-type]
        def __init__(self, reader: PrefetchingReader) -> None:
            self._reader = reader

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Any]:
            return self._reader.partitions(start, end)

        def getCache(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[Any] | None:
            found = self._reader.prefetched(start, end)
            return None if found is None else iter(found)

    def partitions_func(reader: Any, *rest: Any) -> None:
        asks(Offering(reader) if isinstance(reader, kind) else reader, *rest)

    partitions_func.offers = True  # type: ignore[attr-defined]
    runner.partitions_func = partitions_func
    return True
