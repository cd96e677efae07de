"""Byte streams of the official wheel: write, read, seek, truncate, head and tail (pravega.md E1)."""

from __future__ import annotations

import ctypes
import hashlib
from typing import Any

import pytest


@pytest.fixture
def stream(manager: Any, scope: str) -> Any:
    manager.create_stream(scope, "bytes", 1)
    return manager.create_byte_stream(scope, "bytes")


def read_exactly(stream: Any, count: int) -> bytes:
    found = b""
    while len(found) < count:
        buffer = bytearray(count - len(found))
        size = stream.readinto(buffer)
        assert size > 0, f"nothing more after {len(found)} of {count} bytes"
        found += buffer[:size]
    return found


def test_what_is_written_and_flushed_is_read(stream: Any) -> None:
    assert stream.write(b"0123456789") == 10
    stream.flush()
    assert read_exactly(stream, 10) == b"0123456789"
    assert stream.tell() == 10


def test_more_than_one_append(stream: Any) -> None:
    payload = hashlib.sha256(b"bytes").digest() * 4096  # 128 KiB
    for _ in range(20):
        assert stream.write(payload) == len(payload)
    stream.flush()
    assert stream.current_tail_offset() == 20 * len(payload)
    assert read_exactly(stream, 20 * len(payload)) == 20 * payload


def test_seek_from_start_end_and_here(stream: Any) -> None:
    stream.write(b"0123456789" * 10)
    stream.flush()
    assert stream.seekable() is True
    assert stream.seek(5, 0) == 5
    assert read_exactly(stream, 3) == b"567"
    assert stream.seek(-10, 2) == 90
    assert read_exactly(stream, 10) == b"0123456789"
    assert stream.seek(-20, 1) == 80
    assert stream.tell() == 80
    assert read_exactly(stream, 1) == b"0"


def test_truncation_moves_the_head(stream: Any) -> None:
    stream.write(b"0123456789" * 10)
    stream.flush()
    assert (stream.current_head_offset(), stream.current_tail_offset()) == (0, 100)
    stream.truncate(53)
    assert (stream.current_head_offset(), stream.current_tail_offset()) == (53, 100)
    stream.seek(53, 0)
    assert read_exactly(stream, 4) == b"3456"


def test_an_empty_stream_has_its_head_at_its_tail(stream: Any) -> None:
    assert (stream.current_head_offset(), stream.current_tail_offset()) == (0, 0)


def test_a_second_writer_on_a_stream_that_holds_bytes_is_refused(
    manager: Any, scope: str, stream: Any
) -> None:
    """The wheel's byte writer always expects to begin at offset 0 (pravega.md E4-7)."""
    stream.write(b"first")
    stream.flush()
    second = manager.create_byte_stream(scope, "bytes")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(second))  # freed after a refused write, it may panic

    def write_and_flush() -> None:
        second.write(b"second")
        second.flush()

    with pytest.raises(
        OSError, match="ConditionalCheckFailure"
    ):  # from either call: the answer may come early
        write_and_flush()
    assert stream.current_tail_offset() == 5
    stream.write(b" and on")
    stream.flush()
    assert read_exactly(stream, 12) == b"first and on"
