"""Writing the rows of a task, without Spark."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from pravega_lab.client import connect
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.connector.spark.connections import client_of
from pravega_lab.connector.spark.options import parse_options
from pravega_lab.connector.spark.sink.writer import write_rows, written_for
from pravega_lab.errors import StreamSealedError
from tests.waiting import wait_until


def rows(event: str) -> Any:
    return pa.record_batch({"event": pa.array([event]), "routing_key": pa.array(["k"])})


def test_a_task_that_writes_at_least_once_fails_if_its_last_rows_are_refused(
    store: str, scope_name: Callable[[], str]
) -> None:
    """The refusal arrives after the last write, while Spark computes further and finds no more rows."""
    scope = scope_name()
    options = parse_options({"controller": store, "scope": scope, "stream": "out", "exactly_once": "false"})
    with connect(store) as client:
        stream = client.create_stream(f"{scope}/out")

        def batches() -> Iterator[Any]:
            yield rows("stored")
            stream.write("before the seal", "k")
            stream.seal()
            yield rows("refused")
            [writer] = client_of(options.cluster)._core.stream(stream.scoped_name)._open_writers
            wait_until(lambda: writer.is_failed)

        with pytest.raises(StreamSealedError):
            write_rows(options, batches(), [])


def renewals() -> int:
    """The number of transactions whose leases this process renews."""

    async def count() -> int:
        return sum("_renew" in repr(task.get_coro()) for task in asyncio.all_tasks())

    return loop_thread().run(count())


def test_a_process_renews_the_leases_of_its_tasks_until_their_query_has_another_batch(
    store: str, scope_name: Callable[[], str]
) -> None:
    """The lease would end before a batch whose tasks end further apart, or whose tasks are many."""
    options = parse_options({"controller": store, "scope": scope_name(), "stream": "out"})
    client_of(options.cluster).create_stream(options.output, create_scope=True)
    others = renewals()
    for _ in range(2):
        write_rows(options, iter([rows("a")]), written_for("query", "0"))
    write_rows(options, iter([rows("a")]), written_for("another query", "0"))
    assert renewals() == others + 3
    write_rows(options, iter([rows("a")]), written_for("query", "1"))
    assert renewals() == others + 2
    for _ in range(2):
        write_rows(options, iter([rows("a")]), written_for("", ""))
    assert renewals() == others + 4
