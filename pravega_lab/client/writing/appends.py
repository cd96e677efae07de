"""Append the events of one writer or transaction to all segments: routes, acknowledgements, and seals.

Routes are ranges of the key space in ascending order, each with the appender of the segment that owns it. A
sealed segment's ranges pass to its successors in one step, together with all events that it did not store, so
that events of one key stay in order. Source: pravega.md A3, A5, E7.

Single events are collected first (`EventBuffer`). They are framed and routed together when all appenders have
nothing in flight, so that one message to a store and one sync of its log serve all segments. No segment waits
long for another: they are also routed when enough have come together, or after some milliseconds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from pravega_lab.client.context import StreamContext
from pravega_lab.client.framing import events as inputs
from pravega_lab.client.framing.events import FewEvents, ManyEvents, Slice
from pravega_lab.client.segment_stores import SharedConnections
from pravega_lab.client.values import MIB
from pravega_lab.client.writing.appender import BLOCK_BYTES, Chunk, SegmentAppender, Ticket
from pravega_lab.client.writing.event_buffer import Added, Collected, EventBuffer
from pravega_lab.errors import AppendUnknownError, PravegaError
from pravega_lab.portable.waiting import call_all, is_being_cancelled, shield
from pravega_lab.protocol.names import SegmentRange

UNACKNOWLEDGED_BYTES_MAX = 32 * MIB
PATIENCE_S = 0.005
"""So long does an appender without work wait for the others, to send at the same time as they."""


class Target(Protocol):
    """Describes where the segments of a writer or a transaction come from."""

    async def first_segments(self) -> list[SegmentRange]:
        """Return the segments to begin with. Raises `PravegaError` if nothing can be written."""
        ...

    async def successors(self, segment_id: int) -> list[SegmentRange]:
        """Return the segments that take a sealed segment's events. Raises `PravegaError` without any."""
        ...

    def segment_name(self, segment_id: int) -> str:
        """Return the segment's name on the wire."""
        ...


class Route(NamedTuple):
    """Holds the keys up to ``high`` that no earlier route has, and their appender."""

    high: float
    appender: SegmentAppender


class Appends:
    """Accepts events, and reports when they are durable."""

    def __init__(self, context: StreamContext, target: Target) -> None:
        self.context = context
        self._connections: SharedConnections | None = None
        self.error: Exception | None = None
        self.is_error_raised = False  # by a call of the writer
        self.buffer = EventBuffer(context.chance)  # open while there are routes and no error
        self._target = target
        self._routes: list[Route] = []
        self._highs: list[float] = []
        self._appenders: dict[int, SegmentAppender] = {}
        self._idle: dict[SegmentAppender, None] = {}  # all events that were put to them are acknowledged
        self._is_collecting_late = False  # since too many bytes are unacknowledged
        self._patience: asyncio.TimerHandle | None = None  # while an appender waits for others
        self._loading: asyncio.Task[None] | None = None
        self._tickets: dict[int, Ticket] = {}  # not acknowledged yet, in the order of their numbers
        self._last_ticket = 0
        self._last_stored = 0  # the last ticket of which an event was stored
        self._last_flushed = 0  # the last ticket that a flush has reported
        self._unacknowledged_bytes = 0
        self._waiting: list[asyncio.Future[None]] = []  # woken whenever something was acknowledged
        self._flushes: deque[tuple[int, Callable[[bool], None]]] = deque()  # the last ticket of each

    @property
    def connections(self) -> SharedConnections:
        """Return the connections of the appenders, taken at first use and given back by `close`."""
        if self._connections is None:
            self._connections = self.context.stores.writers.take()
        return self._connections

    def _send_joined(self) -> None:
        if self._connections is not None:
            self._connections.flush_joined()

    async def put(self, events: FewEvents | ManyEvents, ticket: Ticket | None = None) -> None:
        """Queue events. Waits while too many bytes are unacknowledged.

        Args:
            ticket: A new ticket, by which the caller follows these events.

        Raises:
            PravegaError: The error that ended the writer earlier, or now.
        """
        self._check()
        self.context.stores.check_loop()
        await self._load_routes()
        await self._empty_buffer()
        ticket = self._enter(ticket or Ticket(), len(events))
        left = len(events)
        try:
            for part in events.slices(len(self._routes)):
                await self._wait_while(self._is_too_much_unacknowledged)
                await self._put(part, ticket)
                left -= len(part)
        finally:
            self._settle(ticket, left)  # nothing waits for events that were not put

    async def wait_for(self, ticket: Ticket) -> None:
        """Wait until all events of one call are durable."""
        await self._wait_while(lambda: ticket.remaining > 0)

    async def flush(self) -> None:
        """Wait until all events put or added before are durable."""
        if self._tickets or len(self.buffer):
            self._check()
            self.context.stores.check_loop()
        if len(self.buffer):
            await self._empty_buffer()
        self._send_joined()
        last = self._last_ticket
        while next(iter(self._tickets), last + 1) <= last:
            await self._news()
        self._last_flushed = max(self._last_flushed, last)

    def begin_flush(self, report: Callable[[bool], None]) -> None:
        """Call ``report(True)`` as soon as all events put or added before are durable.

        Call ``report(False)`` where `flush` has to wait for room in between, or to raise.
        """
        if len(self.buffer):
            self.collect()
            if self._is_collecting_late:
                return report(False)
        if self.error is not None:
            return report(False)
        self._send_joined()
        if self._tickets:
            self._flushes.append((self._last_ticket, report))
            return None
        self._last_flushed = self._last_ticket
        return report(True)

    def _report_flushes(self) -> None:
        oldest = next(iter(self._tickets), self._last_ticket + 1)
        while self._flushes and (self.error is not None or self._flushes[0][0] < oldest):
            last, report = self._flushes.popleft()
            if self.error is None:
                self._last_flushed = max(self._last_flushed, last)
            report(self.error is None)

    @property
    def has_stored(self) -> bool:
        """Return whether events were stored of which no flush has reported that they are."""
        return self._last_stored > self._last_flushed

    def has_in_doubt(self, ticket: Ticket | None = None) -> bool:
        """Return whether unacknowledged events may be stored: those of one call, or any."""
        in_doubt = (chunk for appender in self._appenders.values() for chunk in appender.in_doubt)
        return any(ticket in (None, chunk.ticket) for chunk in in_doubt)

    async def close(self) -> None:
        """Stop at once and give back the connections."""
        if self.error is None:
            self.failed(PravegaError(f"the writer of {self.context.name} is closed"))
        if self._loading is not None:
            self._loading.cancel()
        if self._patience is not None:
            self._patience.cancel()
        appenders = [appender.stop for appender in self._appenders.values()]
        await call_all(*appenders, self._give_back_connections)

    async def _give_back_connections(self) -> None:
        connections, self._connections = self._connections, None
        if connections is not None:
            await self.context.stores.writers.give_back(connections)

    # single events

    def add(self, event: object, key: object) -> bool:
        """Take one event without waiting. Return False where `put` has to wait for something or to raise."""
        added = self.buffer.add(event, key)
        if added is Added.WANTED:
            self.collect()
        return added is not Added.REFUSED

    def collect(self) -> None:
        """Route the added events. While too many bytes are unacknowledged, a later reply does this."""
        if self.error is not None:
            return
        self._is_collecting_late = self._is_too_much_unacknowledged()
        if self._is_collecting_late:
            return
        if len(self.buffer):
            self._put_collected(self.buffer.take())
        if self._are_all_idle():
            self._want()
        elif self._patience is None:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(PATIENCE_S, self._lose_patience)

    def _are_all_idle(self) -> bool:
        return len(self._idle) == len(self._appenders)

    def _want(self) -> None:
        """Have the next event collected at once."""
        if not self.buffer.want():
            asyncio.get_running_loop().call_soon(self.collect)

    def _lose_patience(self) -> None:
        self._patience = None
        if len(self.buffer):
            self.collect()
        elif self._idle:
            self._want()

    def _put_collected(self, events: Collected) -> None:
        ticket = self._enter(Ticket(), len(events.payloads))
        try:
            runs = inputs.runs_of(events.payloads, events.places, self._highs, BLOCK_BYTES)
        except Exception as error:
            self.failed(error)
            return
        for run in runs:
            self._unacknowledged_bytes += len(run.frames)
            self._give(self._routes[run.route].appender, Chunk(run, ticket))

    async def _empty_buffer(self) -> None:
        """Route the events that were added before, and possibly later ones."""
        if len(self.buffer):
            await self._wait_while(self._is_too_much_unacknowledged)
            self.collect()

    def _is_too_much_unacknowledged(self) -> bool:
        return self._unacknowledged_bytes > UNACKNOWLEDGED_BYTES_MAX

    # routes

    @property
    def has_begun(self) -> bool:
        """Return whether there are appenders, whose tasks end only with `close`, or will be in a moment."""
        return bool(self._routes) or (self._loading is not None and not self._loading.done())

    async def _load_routes(self) -> None:
        if self._routes:
            return
        if self._loading is None or self._loading.done():
            self._loading = asyncio.get_running_loop().create_task(self._load())
        loading = self._loading
        try:
            await shield(loading)
        except asyncio.CancelledError:
            if loading.cancelled() and not is_being_cancelled():  # by `close`
                self._check()
            raise
        self._check()

    async def _load(self) -> None:
        segments = await self._target.first_segments()
        self._set_routes([Route(segment.high, self._appender(segment.segment_id)) for segment in segments])
        if self.error is None:
            self.buffer.open()
            self.collect()

    def _set_routes(self, routes: Sequence[Route]) -> None:
        self._routes = list(routes)
        self._highs = [route.high for route in routes]

    def _appender(self, segment_id: int) -> SegmentAppender:
        if segment_id not in self._appenders:
            name = self._target.segment_name(segment_id)
            self._appenders[segment_id] = SegmentAppender(self, segment_id, name)
            self._idle[self._appenders[segment_id]] = None
        return self._appenders[segment_id]

    async def _put(self, events: FewEvents | Slice, ticket: Ticket) -> None:
        highs = self._highs
        runs = await events.runs(highs, BLOCK_BYTES)
        self._check()
        for run in runs:
            self._unacknowledged_bytes += len(run.frames)
            if highs is self._highs:
                self._give(self._routes[run.route].appender, Chunk(run, ticket))
            else:  # a segment was sealed while awaiting runs
                self._put_anew(Chunk(run, ticket))

    def _put_anew(self, chunk: Chunk) -> None:
        for run in inputs.split(chunk.run, self._highs, BLOCK_BYTES):
            self._give(self._routes[run.route].appender, Chunk(run, chunk.ticket))

    def _give(self, appender: SegmentAppender, chunk: Chunk) -> None:
        self._idle.pop(appender, None)
        appender.put(chunk)

    # reports of appenders

    def acknowledged(self, chunk: Chunk) -> None:
        """See `Owner.acknowledged`."""
        n_events, ticket = chunk.run.n_events, chunk.ticket
        self._unacknowledged_bytes -= len(chunk.run.frames)
        ticket.stored += n_events
        if ticket.number > self._last_stored:
            self._last_stored = ticket.number
        self._settle(ticket, n_events)

    def has_room(self, appender: SegmentAppender) -> None:
        """See `Owner.has_room`."""
        if appender.is_idle:
            self._idle[appender] = None
        if self._is_collecting_late or self._are_all_idle() or self.buffer.has_enough:
            self.collect()

    async def sealed(self, appender: SegmentAppender) -> None:
        """See `Owner.sealed`.

        Raises:
            AppendUnknownError: The segment was truncated, so whether events in flight were stored is unknown.
        """
        successors = await self._target.successors(appender.segment_id)
        if appender.in_doubt:
            raise AppendUnknownError(
                f"{appender.name} was truncated away while the connection to it was lost: events on their "
                "way may have been in it. Writing them again could double them; look for what they contain"
            )
        if self.error is None:  # a closed writer would take connections again
            self._replace(appender, successors)

    def _replace(self, appender: SegmentAppender, successors: Sequence[SegmentRange]) -> None:
        routes: list[Route] = []
        low = 0.0
        for route in self._routes:
            if route.appender is appender:
                routes += self._pieces(low, route.high, successors)
            else:
                routes.append(route)
            low = route.high
        self._set_routes(routes)
        del self._appenders[appender.segment_id]
        self._idle.pop(appender, None)
        for chunk in appender.take_back():
            self._put_anew(chunk)
        self.collect()

    def _pieces(self, low: float, high: float, successors: Sequence[SegmentRange]) -> list[Route]:
        inside = [s for s in successors if s.low < high and low < s.high]
        if not inside or inside[0].low > low or inside[-1].high < high:
            raise PravegaError(f"{self.context.name}: {successors} do not cover the keys ({low}, {high}]")
        return [Route(min(s.high, high), self._appender(s.segment_id)) for s in inside]

    def failed(self, error: Exception) -> None:
        """See `Owner.failed`."""
        if self.error is None:
            self.error = error
            for appender in self._appenders.values():
                appender.drop_pending()
            if n_dropped := self.buffer.close():
                self._enter(Ticket(), n_dropped)  # it is never settled, so that a flush raises the error
            self._wake()

    # waiting

    def _enter(self, ticket: Ticket, n_events: int) -> Ticket:
        self._last_ticket += 1
        ticket.number, ticket.remaining = self._last_ticket, n_events
        self._tickets[self._last_ticket] = ticket
        return ticket

    def _settle(self, ticket: Ticket, n_events: int) -> None:
        ticket.remaining -= n_events
        if ticket.remaining == 0:
            self._tickets.pop(ticket.number, None)
        self._wake()

    def _wake(self) -> None:
        if self._flushes:
            self._report_flushes()
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def _wait_while(self, unfinished: _Condition) -> None:
        while unfinished():
            await self._news()

    def _news(self) -> asyncio.Future[None]:
        """Return a future that is done when something was acknowledged. Raises the writer's error."""
        self._check()
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(woken)
        return woken

    def _check(self) -> None:
        if self.error is not None:
            self.is_error_raised = True
            raise self.error


class _Condition(Protocol):
    def __call__(self) -> bool: ...
