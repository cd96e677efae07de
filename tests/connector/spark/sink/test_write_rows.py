"""Writing the rows of a task, without Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from pravega_lab.client import connect
from pravega_lab.connector.spark.connections import client_of
from pravega_lab.connector.spark.options import parse_options
from pravega_lab.connector.spark.sink.writer import write_rows
from pravega_lab.errors import StreamSealedError


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
            deadline = time.monotonic() + 60
            while not writer.is_failed:
                assert time.monotonic() < deadline
                time.sleep(0.01)

        with pytest.raises(StreamSealedError):
            write_rows(options, batches())
