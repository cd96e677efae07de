"""Provide `AsyncReader`, one reader of a group: `ReaderCore` decides, this module takes steps and reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, TypeVar

from pravega_lab.client.framing.event_batch import event_batch
from pravega_lab.client.reader_group.access import GroupAccess
from pravega_lab.client.reader_group.core.pace import Pace
from pravega_lab.client.reader_group.core.reader import Answer, Decision, ReaderCore, come_online, go_offline
from pravega_lab.client.reader_group.errors import (
    ReaderExistsError,
    ReaderGroupNotFoundError,
    ReinitializationRequiredError,
)
from pravega_lab.client.reader_group.time_windows import StreamClock
from pravega_lab.client.reader_group.values import (
    BatchRead,
    EventRead,
    Position,
    TimeWindow,
    by_stream,
    stream_of,
)
from pravega_lab.client.reading.event_source import SegmentSource
from pravega_lab.client.reading.one_by_one import OneByOne
from pravega_lab.client.reading.segment_input import TruncatedError
from pravega_lab.client.segment_stores import Connections
from pravega_lab.client.values import MIB, check_timeout
from pravega_lab.errors import BadInputError, NotFoundError, PravegaError, TruncatedDataError
from pravega_lab.portable.closing import ClosedByAsyncWith
from pravega_lab.portable.waiting import call_all, shield
from pravega_lab.protocol.metadata.reader_group import RemoveReader
from pravega_lab.protocol.names import check_stream, parse_segment_name, segment_name, split_scoped_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ

if TYPE_CHECKING:
    from pravega_lab.client.framing.event_batch import EventBatch

T = TypeVar("T")
READ_AGAIN_S = 1.0  # of an iteration that finds nothing
LEAVE_AGAIN_S = 2.0  # for a caller that has cancelled the call


class AsyncReader(ClosedByAsyncWith):
    """Implements `sync.Reader` with asyncio, under the same contract. `open_reader` returns it."""

    def __init__(self, access: GroupAccess, core: ReaderCore) -> None:
        self.reader_id = core.reader
        self._access = access
        self._core = core
        self._connections = Connections(access.stores)
        self._sources: dict[str, SegmentSource] = {}
        self._clocks: dict[str, StreamClock] = {}  # for streams that time_window was called for
        self._ready: dict[str, None] = {}  # segments that may have events, in the order of their turns
        self._news = asyncio.Event()
        self._reading = asyncio.Lock()
        self._closed: str | None = None
        self._is_offline = False  # the group knows that it is
        self._pace = Pace()
        self._begun: OneByOne | None = None  # the events that `next_events` returned last
        self._begun_segment = ""
        self._missed_checkpoint: str | None = None  # its name was put back

    # reading

    async def read_next(self, timeout_s: float = 0.0) -> EventRead:
        """Return the next event, the name of a checkpoint, or nothing after ``timeout_s`` seconds."""
        found = await self._read(timeout_s, self._take_event)
        if isinstance(found, EventRead):
            return found
        return EventRead(checkpoint=found[0], is_completed=found[1])

    async def read_batch(self, timeout_s: float = 0.0, *, max_bytes: int = 8 * MIB) -> BatchRead:
        """Return the next events of one segment, at most ``max_bytes`` of payload."""
        found = await self._read(timeout_s, lambda: self._take_batch(max_bytes))
        if isinstance(found, BatchRead):
            return found
        return BatchRead(checkpoint=found[0], is_completed=found[1])

    def __aiter__(self) -> AsyncIterator[EventRead]:
        """Return the events as they arrive, without checkpoints, until the group has read everything."""
        return self._events()

    async def _events(self) -> AsyncIterator[EventRead]:
        while (begun := await self.next_events()) is not None:
            for event in begun:
                yield event

    async def next_events(self) -> Iterator[EventRead] | None:
        """Return events that are to be taken one by one, or None when the group has read everything.

        The events that were not taken when another call comes are returned again.
        """
        clock = asyncio.get_running_loop().time
        self._pace.end(clock())
        while (found := await self.read_batch(READ_AGAIN_S, max_bytes=self._pace.bytes_max)).batch is None:
            if found.is_completed:
                return None
        assert found.stream is not None
        self._pace.begin(found.batch.nbytes, clock())
        begun = self._begun = OneByOne(found.batch)
        self._begun_segment = segment_name(*split_scoped_name(found.stream), begun.segment_id)
        offsets, nothing = found.batch.column(2).to_pylist(), repeat(None)
        rows = zip(begun, repeat(found.stream), repeat(begun.segment_id), offsets, nothing, repeat(False))
        return map(tuple.__new__, repeat(EventRead), rows)

    def _place_of_begun(self) -> dict[str, int]:
        """Return the segment of which `next_events` offered events that were not all taken, and its place."""
        offset = None if self._begun is None else self._begun.next_offset
        return {} if offset is None else {self._begun_segment: offset}

    def _put_back(self) -> None:
        """Put back the events that `next_events` offered and that were not taken."""
        begun, self._begun = self._begun, None
        rest = None if begun is None else begun.take_rest()
        if rest is not None:
            self._offer_again(self._begun_segment, rest)

    def put_back(self, found: EventRead | BatchRead) -> None:
        """Take back what `read_next` or `read_batch` returned last, to return it again."""
        self._missed_checkpoint = found.checkpoint
        batch = _batch_of(found)
        if batch is not None and found.stream is not None:
            segment_id = batch.column(1)[0].as_py()
            self._offer_again(segment_name(*split_scoped_name(found.stream), segment_id), batch)

    def _offer_again(self, segment: str, batch: EventBatch) -> None:
        if segment in self._sources:  # else the reader was closed
            self._sources[segment].put_back(batch)
            self._set_ready(segment)
            self._core.advance(segment, batch.column(2)[0].as_py())

    async def _read(self, timeout_s: float, take: Callable[[], T | None]) -> T | tuple[str | None, bool]:
        """Return what ``take`` returns, else the name of a checkpoint and whether everything is read."""
        check_timeout(timeout_s, may_be_none=False)
        async with self._reading:
            self._put_back()
            end = asyncio.get_running_loop().time() + timeout_s
            while True:
                self._check_open()
                checkpoint, self._missed_checkpoint = self._missed_checkpoint, None
                checkpoint = checkpoint or await self._look_after_group()
                if checkpoint is not None:
                    return checkpoint, False
                try:
                    found = take()
                except _ReadFailedError as failure:
                    raise await self._recover(failure) from failure.error
                if found is not None:
                    return found
                if self._core.is_end_of_data:
                    return None, True
                left_s = end - asyncio.get_running_loop().time()
                if left_s <= 0:
                    return None, False
                self._check_open()  # before it waits for news: another task may have closed the reader since
                await self._wait(left_s)

    async def _look_after_group(self) -> str | None:
        now_ms = self._access.clock_ms()
        if not self._core.is_quiet(now_ms):
            try:
                checkpoint = await self._decide(self._core.before_read(now_ms=now_ms))
            except (ReinitializationRequiredError, ReaderGroupNotFoundError) as error:
                self._is_offline = True
                await self._let_go(str(error))
                raise
            if checkpoint is not None:
                return checkpoint
        await self._open_and_close()
        return None

    async def _decide(self, decision: Decision[T]) -> T:
        try:
            step = next(decision)
            while True:
                result = await self._access.take(step)
                step = decision.send(Answer(self._access.state, self._access.clock_ms(), result))
        except StopIteration as end:
            found: T = end.value
            return found
        finally:
            decision.close()

    async def _wait(self, left_s: float) -> None:
        until_s = (self._core.next_deadline_ms() - self._access.clock_ms()) / 1000
        try:
            async with asyncio.timeout(max(0.0, min(left_s, until_s))):
                await self._news.wait()
        except TimeoutError:
            pass

    # segments

    async def _open_and_close(self) -> None:
        readable, given_away = self._core.readable(), self._core.given_away
        if list(self._sources) == readable and not given_away:
            return
        for segment in [s for s in self._sources if s not in readable or s in given_away]:
            await self._drop(segment)
        given_away.clear()
        for segment in readable:
            if segment not in self._sources:
                self._sources[segment] = self._open(segment)
                self._set_ready(segment)

    def _open(self, segment: str) -> SegmentSource:
        begin = self._core.held[segment]
        return SegmentSource(
            self._access.stream(stream_of(segment)),
            self._connections,
            parse_segment_name(segment).segment_id,
            begin,
            self._access.state.end_of(segment),
            lambda: self._set_ready(segment),
        )

    def _set_ready(self, segment: str) -> None:
        self._ready[segment] = None
        self._news.set()

    async def _drop(self, segment: str) -> None:
        self._ready.pop(segment, None)
        await self._sources.pop(segment).close()

    def _take_event(self) -> EventRead | None:
        def take(segment: str, source: SegmentSource) -> EventRead | None:
            event = source.take_event()
            if event is None:
                return None
            self._core.advance(segment, event.behind)
            return EventRead(event.data, source.stream, source.segment_id, event.offset)

        return self._take(take)

    def _take_batch(self, bytes_max: int) -> BatchRead | None:
        def take(segment: str, source: SegmentSource) -> BatchRead | None:
            found = source.take_batch(bytes_max)
            if found is None:
                return None
            self._core.advance(segment, found[1])
            return BatchRead(found[0], source.stream)

        return self._take(take)

    def _take(self, take: Callable[[str, SegmentSource], T | None]) -> T | None:
        """Return something from the segment whose turn it is, and move that segment to the queue's end."""
        while self._ready:
            segment = next(iter(self._ready))
            del self._ready[segment]
            source = self._sources[segment]
            try:
                found = take(segment, source)
            except (TruncatedError, PravegaError) as error:
                raise _ReadFailedError(segment, error) from error
            if found is not None:
                self._ready[segment] = None
                return found
            if source.is_ended:
                end = self._access.state.end_of(segment)
                self._core.end(segment, SEGMENT_READ if end is None else end)
        self._news.clear()
        return None

    async def _recover(self, failure: _ReadFailedError) -> Exception:
        """Drop the segment's source, so that the next read opens it again, and return the error to raise.

        After a truncation the next read begins where the segment begins now, or after the segment if it is
        gone.
        """
        segment, error = failure.segment, failure.error
        await self._drop(segment)
        if not isinstance(error, TruncatedError):
            return error
        if error.start_offset is None:
            self._core.end(segment)
        else:
            self._core.advance(segment, error.start_offset)
        where = "it is gone" if error.start_offset is None else f"it begins at {error.start_offset} now"
        return TruncatedDataError(
            f"reader {self.reader_id}: events of {segment} were truncated before they were read; {where}. "
            "The next read goes on there",
            self.position(),
        )

    # time

    async def time_window(self, stream: str) -> TimeWindow:
        """Return the noted times between which the group reads ``stream`` now."""
        async with self._reading:
            self._check_open()
            state = self._access.state
            if stream not in state.streams():
                raise BadInputError(f"group {self._access.group} reads {state.streams()}, not {stream!r}")
            if stream not in self._clocks:
                self._clocks[stream] = StreamClock(self._access.stream(stream))
            return await self._clocks[stream].window(
                by_stream({**self._core.places(), **self._place_of_begun()}).get(stream, {}),
                now_ms=self._access.clock_ms(),
                every_ms=state.config.group_refresh_time_ms,
            )

    # going offline

    @property
    def is_closed(self) -> bool:
        """Return whether the reader was closed, by the program or by the group."""
        return self._closed is not None

    def position(self) -> Position:
        """Return the offset after all returned events, for every segment that this reader holds."""
        held = {**self._core.held, **self._place_of_begun()}
        return Position(held, {segment: self._access.state.range_of(segment) for segment in held})

    async def close(self) -> None:
        """Go offline at the present position. May be called twice, and again after an error.

        A read that another task waits for raises.
        """
        await self._close_at(None)

    async def close_at(self, position: Position) -> None:
        """Go offline at an earlier position."""
        await self._close_at(position.segments)

    async def _close_at(self, positions: Mapping[str, int] | None) -> None:
        self._refuse_reads("it was closed")
        async with self._reading:
            if self._is_offline:
                return
            self._put_back()
            leave = go_offline(self.reader_id, dict(self._core.held if positions is None else positions))
            try:
                await self._access.sync.fetch()
                # A reader that was replaced leaves the segments of its successor alone.
                await self._access.sync.update(lambda s: leave(s) if self._core.is_member_in(s) else [])
                self._is_offline = True
            except NotFoundError:
                self._is_offline = True  # the group was deleted
            finally:
                await self._let_go("it was closed")

    async def abandon(self) -> None:
        """Close all connections without going offline, as if the program had died."""
        self._is_offline = True
        await self._let_go("it was abandoned")

    async def _let_go(self, why: str) -> None:
        self._put_back()
        self._refuse_reads(why)
        drops = [partial(self._drop, segment) for segment in self._sources]
        clocks = [clock.close for clock in self._clocks.values()]
        await call_all(*drops, *clocks, self._connections.close, self._access.close)

    def _refuse_reads(self, why: str) -> None:
        """Have all reads raise from now on, also one that waits."""
        self._closed = self._closed or why
        self._news.set()

    def _check_open(self) -> None:
        if self._closed is not None:
            raise ReinitializationRequiredError(f"reader {self.reader_id} is closed ({self._closed})")


def _batch_of(found: EventRead | BatchRead) -> EventBatch | None:
    if isinstance(found, BatchRead):
        return found.batch
    if found.event is None or found.segment_id is None or found.offset is None:
        return None
    return event_batch([found.event], found.segment_id, [found.offset])


class _ReadFailedError(Exception):
    def __init__(self, segment: str, error: Exception) -> None:
        super().__init__(segment, error)
        self.segment = segment
        self.error = error


async def open_reader(
    access: GroupAccess, reader_id: str, initial_delay_ms: int, *, checkpoint_at_segment_end: bool = False
) -> AsyncReader:
    """Bring a reader online and return it. After an error it is offline, and ``access`` is closed.

    Args:
        initial_delay_ms: Wait about this long before acquiring segments.
        checkpoint_at_segment_end: As for `ReaderCore`.

    Raises:
        ReaderExistsError: A reader of this id is online.
    """
    may_be_online = False
    try:
        check_stream(reader_id)  # the same rule (pravega.md A1)
        state = await access.fetch()
        may_be_online = not state.is_online(reader_id)
        if not await access.sync.update(come_online(reader_id)):
            may_be_online = False
            raise ReaderExistsError(
                f"reader {reader_id} is online in group {access.group} already. If its program died, call "
                f"reader_offline({reader_id!r}) first"
            )
        now_ms, chance = access.clock_ms(), access.stores.chance
        core = ReaderCore(
            reader_id,
            access.state,
            now_ms=now_ms,
            chance=chance,
            checkpoint_at_segment_end=checkpoint_at_segment_end,
        )
        delay_ms = min(initial_delay_ms, access.state.config.group_refresh_time_ms)
        core.timers.acquire_ms += initial_delay_ms + int(chance.random() * delay_ms)
        return AsyncReader(access, core)
    except GeneratorExit:  # the loop is gone
        raise
    except BaseException:
        leave_again = [partial(_leave_again, access, reader_id)] if may_be_online else []
        # A second cancellation ends the waiting, and not what it waits for.
        await shield(call_all(*leave_again, access.close))
        raise


async def _leave_again(access: GroupAccess, reader_id: str) -> None:
    """Take the reader offline that no program will have: every checkpoint would wait for it.

    The request that adds it may still be on its way. It is refused when the log has gone on, so a removal is
    written in any case.
    """
    with suppress(PravegaError, OSError, TimeoutError):
        async with asyncio.timeout(LEAVE_AGAIN_S):
            await access.sync.fetch()
            await access.sync.update(lambda _: [RemoveReader(reader_id, {})])
