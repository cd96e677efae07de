"""Provide `ByteWriter` and `ByteReader`: a stream of one segment as a file that grows at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pravega_lab.client.loop_thread import OfThisProcess, close_when_dropped, keep_to_this_process
from pravega_lab.client.sync.core import run
from pravega_lab.client.values import MIB
from pravega_lab.portable.closing import ClosedByWith

if TYPE_CHECKING:
    from pravega_lab.client.byte_streams.reader import AsyncByteReader
    from pravega_lab.client.byte_streams.writer import AsyncByteWriter

READ_BYTES_MAX = 2 * MIB


class ByteWriter(ClosedByWith, OfThisProcess):
    """Appends bytes to a stream of one segment. `Stream.byte_writer` returns it; use it in a ``with`` block.

    Calls raise `BadInputError` for a stream with several segments. Bytes of several writers may alternate
    every 1 MiB. Do not write events into the same stream.
    """

    def __init__(self, core: AsyncByteWriter) -> None:
        self._core = core
        keep_to_this_process(self)
        close_when_dropped(self, core.close)

    def write(self, data: bytes) -> int:
        """Append bytes and return their number when all are durable. After a lost connection none is doubled.

        Raises:
            StreamSealedError: The stream is sealed. A part of a large ``data`` may have been written before.
            StoreUnavailableError: Definite is UNKNOWN: a part of them may be in the stream.
        """
        return run(self._core.write(data))

    def tail(self) -> int:
        """Return the offset after the last byte."""
        return run(self._core.tail())

    def truncate(self, offset: int) -> None:
        """Drop the bytes before ``offset``. Raises `BadInputError` outside `ByteReader.head` and `tail`."""
        run(self._core.truncate(offset))

    def seal(self) -> None:
        """Seal the stream: nothing can be appended any more, and its readers come to an end."""
        run(self._core.seal())

    def close(self) -> None:
        """Close the connection."""
        run(self._core.close())


class ByteReader(ClosedByWith, OfThisProcess):
    """Reads bytes of a stream of one segment. `Stream.byte_reader` returns it; use it in a ``with`` block.

    Calls raise `BadInputError` for a stream with several segments.
    """

    def __init__(self, core: AsyncByteReader) -> None:
        self._core = core
        keep_to_this_process(self)
        close_when_dropped(self, core.close)

    @property
    def offset(self) -> int:
        """Return where the next read begins."""
        return self._core.offset

    def seek(self, offset: int) -> None:
        """Move to an offset, in bytes from the beginning of the stream. Raises `BadInputError` below 0.

        A read that another thread waits for is not changed: it returns bytes from where it began.
        """
        self._core.seek(offset)

    def head(self) -> int:
        """Return the offset of the first byte that was not truncated."""
        return run(self._core.head())

    def tail(self) -> int:
        """Return the offset after the last byte."""
        return run(self._core.tail())

    def read(self, size: int = READ_BYTES_MAX, timeout_s: float | None = None) -> bytes | None:
        """Return the next bytes, at least 1 and at most ``size``. At the end of an open stream, wait.

        Args:
            size: At most 2 MiB come at once.
            timeout_s: How long to wait. None: until bytes come or the stream is sealed. 0: return what is
                there. A read whose time is over continues for the next call.

        Returns:
            ``b""`` at the end of a sealed stream, None if no byte came in time.

        Raises:
            TruncatedDataError: The bytes at `offset` were truncated. ``error.resume_at`` is the present head.
            BadInputError: `offset` lies after the tail.
        """
        return run(self._core.read(size, timeout_s), self._core.put_back)

    def close(self) -> None:
        """Close the connection."""
        run(self._core.close())
