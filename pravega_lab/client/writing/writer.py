"""Provide `AsyncEventWriter`: pipelined writing to a stream. `sync.EventWriter` states the contract."""

from __future__ import annotations

import os
import warnings
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pravega_lab.client.context import StreamContext
from pravega_lab.client.definite import uncertain
from pravega_lab.client.framing.events import prepare
from pravega_lab.client.reading import cuts
from pravega_lab.client.writing.appender import Ticket
from pravega_lab.client.writing.appends import Appends, Target
from pravega_lab.errors import BadInputError, Definite, PravegaError, StreamSealedError
from pravega_lab.protocol.names import SegmentRange

if TYPE_CHECKING:
    from pravega_lab.client.values import Events, Keys


class StreamTarget:
    """Provides the active segments of a stream, then their successors."""

    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self.segment_name = context.segment_name

    async def first_segments(self) -> list[SegmentRange]:
        """Return the active segments. Raises `StreamSealedError`."""
        found = await self._context.controller.current_segments(self._context.name)
        return self._taking_events(found)

    async def successors(self, segment_id: int) -> list[SegmentRange]:
        """Return the successors of a segment. Raises `StreamSealedError`."""
        found = await self._context.controller.successors(self._context.name, segment_id)
        return self._taking_events([successor.segment for successor in found])

    def _taking_events(self, segments: list[SegmentRange]) -> list[SegmentRange]:
        if not segments:
            raise StreamSealedError(
                f"stream {self._context.name} is sealed: it can be read, not written. Events of this writer "
                "that were not acknowledged before are not in it"
            )
        self._context.learn(segments)
        return segments


class AsyncEventWriter:
    """Implements `sync.EventWriter` with asyncio, under the same contract. It connects at the first event.

    ``open_writers`` contains the writer from its first event until it is closed.

    Args:
        warns: Warn of a writer that is still open when the program ends, or when nothing refers to its client
            any more.
    """

    def __init__(
        self,
        context: StreamContext,
        open_writers: dict[AsyncEventWriter, None] | None = None,
        *,
        warns: bool = False,
    ) -> None:
        self._context = context
        self.warns = warns
        self._forgotten: weakref.finalize[..., AsyncEventWriter] | None = None
        self._open_writers = {} if open_writers is None else open_writers
        self._is_closed = False
        self._appends = Appends(context, self._target())
        self._id = str(context.new_id())  # the name under which it notes times

    def _target(self) -> Target:
        return StreamTarget(self._context)

    @property
    def name(self) -> str:
        """Return the scoped name of the stream."""
        return self._context.name

    @property
    def is_open(self) -> bool:
        """Return whether events were written, and the writer was not closed since."""
        return self in self._open_writers

    @property
    def appends(self) -> Appends:
        """Return what takes single events without waiting."""
        return self._appends

    @property
    def is_failed(self) -> bool:
        """Return whether the writer was closed, or ended by an error."""
        return self._appends.error is not None

    async def write(self, events: Events, keys: Keys = None) -> int:
        """Queue events, and return their number. `flush` waits until they are durable."""
        if self._appends.add(events, keys):
            return 1
        batch = prepare(events, keys, self._context.chance)
        try:
            await self._appends.put(batch)
        except PravegaError as error:
            _raise_if_in_part(error, self._appends)
            raise
        finally:
            if self._appends.has_begun and not self._is_closed:  # also when this call was cancelled
                self._open()
        return len(batch)

    def _open(self) -> None:
        self._open_writers[self] = None
        if self.warns and self._forgotten is None:
            self._forgotten = weakref.finalize(self, _warn_of_forgotten, self.name, os.getpid())

    async def write_durably(self, events: Events, keys: Keys = None) -> int:
        """Write events, and wait until they are durable. Return their number."""
        batch, ticket = prepare(events, keys, self._context.chance), Ticket()
        try:
            await self._appends.put(batch, ticket)
            await self._appends.wait_for(ticket)
        except PravegaError as error:
            _raise_if_in_part(error, self._appends, ticket)
            raise
        return len(batch)

    async def flush(self) -> None:
        """Wait until all events written before are durable."""
        try:
            await self._appends.flush()
        except PravegaError as error:
            _raise_if_in_part(error, self._appends)
            raise

    async def note_time(self, time: int) -> None:
        """Flush, and note ``time`` at the stream's tail for this writer."""
        if not -(2**63) <= time < 2**63:
            raise BadInputError(f"note_time({time}): a time is a whole number of 64 bits")
        await self.flush()
        behind = await cuts.tail(self._context)
        await self._context.controller.note_time(self._context.name, self._id, behind.positions, time)

    async def close_unclosed(self) -> None:
        """Close the writer that the program has not closed, and warn that it has not."""
        warn_of_unclosed(self.name)
        await self.close()

    async def close(self) -> None:
        """Flush and close. An error that no call has raised before is raised now."""
        try:
            if not (self._is_closed or self._appends.is_error_raised):
                await self.flush()
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Close at once. Events that were not flushed may or may not be written."""
        self._is_closed = True
        self._open_writers.pop(self, None)
        if self._forgotten is not None:
            self._forgotten.detach()
        await self._appends.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
        else:
            await self.stop()


def warn_of_unclosed(name: str) -> None:
    """Warn that the program has not closed its writer of the stream ``name``."""
    warnings.warn(
        f"the writer of '{name}' was not closed: use it in a with block, or call close(). Otherwise no "
        "error is raised when its last events cannot be written",
        RuntimeWarning,
        stacklevel=2,
    )


def _warn_of_forgotten(name: str, process_id: int) -> None:
    """Warn of an open writer that was dropped together with its client, unless a parent process opened it."""
    if os.getpid() == process_id:
        warn_of_unclosed(name)


def _raise_if_in_part(error: PravegaError, appends: Appends, ticket: Ticket | None = None) -> None:
    """Raise the error as an uncertain one if events were stored before it or may be stored.

    These are the events of one call, or those since the last flush. An error that says that nothing happened
    would be wrong for them.
    """
    if error.definite is not Definite.NO:
        return
    if appends.has_stored if ticket is None else ticket.stored:
        n_stored = "Some" if ticket is None else ticket.stored
        why = f"{n_stored} of the events had been stored before: find out which, then write the others"
    elif appends.has_in_doubt(ticket):
        why = "Events that were on their way may be stored: look for them before you write them again"
    else:
        return
    raise uncertain(error, why) from error
