"""Reading ahead: what the thread takes, and what happens at an error and at an early end."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from pravega_lab.connector.spark.source.ahead import read_ahead


def test_the_next_batch_is_taken_while_the_caller_has_one() -> None:
    is_second_taken = threading.Event()

    def batches() -> Generator[str]:
        yield "first"
        is_second_taken.set()
        yield "second"

    rows = read_ahead(batches())
    assert next(rows) == "first"
    assert is_second_taken.wait(10)
    assert list(rows) == ["second"]


def test_an_error_comes_after_the_batches_before_it() -> None:
    def batches() -> Generator[int]:
        yield 1
        yield 2
        raise ValueError("the third")

    rows = read_ahead(batches())
    assert [next(rows), next(rows)] == [1, 2]
    with pytest.raises(ValueError, match="the third"):
        next(rows)
    assert not [thread for thread in threading.enumerate() if "read-ahead" in thread.name]


def test_what_is_read_is_closed_when_the_caller_stops() -> None:
    closed = []

    def batches() -> Generator[int]:
        try:
            yield from range(100)
        finally:
            closed.append(True)

    rows = read_ahead(batches())
    assert next(rows) == 0
    rows.close()
    assert closed == [True]
    assert not [thread for thread in threading.enumerate() if "read-ahead" in thread.name]
