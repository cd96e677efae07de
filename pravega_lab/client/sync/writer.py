"""Provide `EventWriter`: pipelined writing to a stream, or to one of its segments."""

from __future__ import annotations

import os
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from pravega_lab.client.loop_thread import OfThisProcess, keep_to_this_process, loop_thread
from pravega_lab.client.sync.core import collect_soon, run
from pravega_lab.client.writing.event_buffer import Added
from pravega_lab.client.writing.writer import warn_of_unclosed

if TYPE_CHECKING:
    from pravega_lab.client.stream import AsyncStream
    from pravega_lab.client.values import Events, Keys
    from pravega_lab.client.writing.writer import AsyncEventWriter


_TAKEN, _WANTED = Added.TAKEN, Added.WANTED  # looked up once, not for every event


class EventWriter(OfThisProcess):
    """Writes without waiting for each acknowledgement. A context manager: leaving it flushes and closes;
    after an error in the block it closes at once, and what was not flushed may or may not be written.
    A writer that is dropped without being closed is closed in the background, with a ``RuntimeWarning``.

    Events of one routing key stay in order, also through scaling and reconnects, and none is doubled.
    After an error the writer is of no more use: all later calls raise the same error. Closing the writer
    raises it only if no other call has done so.
    """

    def __init__(self, core: AsyncEventWriter) -> None:
        self._core = core
        keep_to_this_process(self)
        core.warns = False  # the finalizer of this object warns
        self._add = core.appends.buffer.add
        weakref.finalize(self, _close_unclosed, core, os.getpid())

    def write(self, events: Events, keys: Keys = None) -> int:
        """Take events for writing; waits only while too much is unacknowledged. See `Stream.write`.

        Single events of one loop are sent together, the first of them at once. If writing an event fails
        later, the error is raised by the next call, or by `flush`.
        """
        try:
            added = self._add(events, keys)
            if added is _TAKEN:
                return 1
            if added is _WANTED:
                return collect_soon(self._core.appends)
        except BaseException:  # an interrupt: the buffer reports the event only once
            collect_soon(self._core.appends)
            raise
        return run(self._core.write(events, keys))

    def flush(self) -> None:
        """Wait until all events taken so far are durable."""
        if not loop_thread().wait_for(self._core.appends.begin_flush):
            run(self._core.flush())  # which waits for room, or raises

    def note_time(self, time: int) -> None:
        """Flush, then announce to readers that later events of this writer are of ``time`` or later.

        Any whole number, by convention milliseconds since 1970; readers see it by `Reader.time_window` once
        all writers of the stream that note times did so, or were silent for 10 s (pravega.md A12).

        Raises:
            BadInputError: ``time`` is earlier than the time that this writer noted before.
        """
        run(self._core.note_time(time))

    def close(self) -> None:
        """Flush, then close the connections. An error that no call has raised before is raised now."""
        run(self._core.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._core.__aexit__(kind, error, trace))


def _close_unclosed(core: AsyncEventWriter, process_id: int) -> None:
    """Close a writer that the program dropped, or that is open when the program ends, and warn of it."""
    if not core.is_open or os.getpid() != process_id:
        return
    loop_thread().begin(core.close)
    warn_of_unclosed(core.name)


class _HasAsyncStream(Protocol):
    @property
    def _core(self) -> AsyncStream: ...


def segment_writer(stream: _HasAsyncStream, segment_id: int) -> EventWriter:
    """Return a pipelined writer to one active segment of a `Stream`, for use in a ``with`` block.

    Leaving the block flushes.

    Raises (when it writes):
        SegmentSealedError: The segment takes no more events.
    """
    from pravega_lab.client.writing.segment_writer import AsyncSegmentWriter

    return EventWriter(AsyncSegmentWriter(stream._core._context, segment_id))
