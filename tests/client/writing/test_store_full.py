"""A store without room: what does not fit is refused in words, what is stored stays, and it goes on later."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pravega_lab.client import Stream, connect
from pravega_lab.client.connection.retry import FullError
from pravega_lab.client.segment_stores import check_reply
from pravega_lab.errors import RefusedError, StoreFullError
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.commands import ErrorCode, ErrorMessage
from pravega_lab.protocol.wire.frames import FrameDecoder
from tests.client.helpers import events_of
from tests.standalone import Standalone

MIB = 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 80 MiB: room for one log file of 64 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def received(error_code: int, message: str) -> ErrorMessage:
    """The error as a client reads it from the wire."""
    [reply] = FrameDecoder().feed(encode(ErrorMessage(1, "s/a/0.#epoch.0", message, error_code)))
    assert isinstance(reply, ErrorMessage)
    return reply


@pytest.mark.parametrize("message", ["Kein Platz auf dem Datenträger.", "no space left", ""])
def test_a_full_store_is_recognised_by_its_error_code_in_every_language(message: str) -> None:
    with pytest.raises(FullError):
        check_reply(received(ErrorCode.STORE_FULL, message))


@pytest.mark.parametrize("error_code", [ErrorCode.UNSPECIFIED, ErrorCode.ILLEGAL_ARGUMENT, 1])
def test_an_error_that_mentions_something_full_is_no_full_store(error_code: int) -> None:
    with pytest.raises(RefusedError, match="the queue is full"):
        check_reply(received(error_code, "the queue is full"))


def written_until_full(stream: Stream) -> int:
    stored = 0
    with contextlib.suppress(StoreFullError):
        while stored < 40:
            stored += stream.write(b"x" * (4 * MIB), "k")
    with pytest.raises(StoreFullError, match="is full"):
        stream.write(b"x" * (4 * MIB), "k")
    return stored


@pytest.mark.slow
def test_a_full_store_is_named_and_written_again_when_there_is_room(small_disk: Path) -> None:
    (small_disk / "other").write_bytes(bytes(8 * MIB))
    with Standalone("--data", str(small_disk / "store")) as uri, connect(uri, retry_for_s=1.0) as client:
        stream = client.create_stream("full/s")
        stored = written_until_full(stream)
        assert 5 < stored < 20
        with stream.read() as batches:
            assert len(events_of(batches)) == stored
        stream.truncate(stream.tail())
        (small_disk / "other").unlink()
        stream.write("again", "k")
        with stream.read() as batches:
            assert events_of(batches) == [b"again"]
