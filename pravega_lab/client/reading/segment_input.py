"""Read the bytes of one segment in order, requesting them ahead of the reader.

Several requests at once cover what lies before the known end. At the tail there is one request, which the
store holds until something arrives. A request after the end of a sealed segment would cost the connection
(pravega.md D4), so only this one request goes beyond what is known to exist.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from pravega_lab.client.connection.connection import Connection, ConnectionLostError, Listener, Reply
from pravega_lab.client.connection.receiver import ReadReply
from pravega_lab.client.connection.retry import Retries, TransientError
from pravega_lab.client.context import NO_TOKEN, StreamContext
from pravega_lab.client.segment_stores import Connections, check_reply
from pravega_lab.client.values import MIB
from pravega_lab.errors import BadInputError, PravegaError, SegmentNotFoundError
from pravega_lab.portable.waiting import cancel_all
from pravega_lab.protocol.wire.commands import ReadSegment, SegmentIsSealed, SegmentIsTruncated

READ_BYTES = 2 * MIB  # the most that a store gives in one reply
READS_AHEAD = 3
BYTES_AHEAD = READS_AHEAD * READ_BYTES


class TruncatedError(Exception):
    """Raised when the bytes at the position are gone.

    ``start_offset`` is the first offset that is left, None if the segment is gone.
    """

    def __init__(self, start_offset: int | None) -> None:
        super().__init__(start_offset)
        self.start_offset = start_offset


class _Read:
    """Holds one requested read. At the tail fewer than ``length`` bytes may arrive."""

    __slots__ = ("data", "is_tail", "length", "offset", "request_id")

    def __init__(self, offset: int, length: int, is_tail: bool) -> None:
        self.offset = offset
        self.length = length
        self.is_tail = is_tail
        self.request_id = 0
        self.data: memoryview | None = None


class SegmentInput:
    """Reads one segment from ``start`` to ``end``, or, without ``end``, to where it was sealed.

    It never waits: `take` returns what has arrived, and ``news`` is called when `take` may return something.
    """

    def __init__(
        self,
        context: StreamContext,
        connections: Connections,
        segment_id: int,
        start: int,
        end: int | None,
        news: Callable[[], None],
    ) -> None:
        self.is_ended = start == end
        self.size_bytes = BYTES_AHEAD if end is None else end - start  # at most this much is requested ahead
        self.error: Exception | None = None
        self._context = context
        self._connections = connections
        self._segment_id = segment_id
        self._name = context.segment_name(segment_id)
        self._next = start  # offset of the next byte to request
        self._taken = start  # offset of the next byte to return
        self._end = end
        self._known_end = start if end is None else end  # bytes before it exist
        self._sealed_at: int | None = None
        self._is_again = False
        self._token = NO_TOKEN
        self._news = news
        self._reads: deque[_Read] = deque()
        self._connection: Connection | None = None
        self._over: asyncio.Future[None] | None = None
        self._growing: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        if not self.is_ended and not self._begin_at_once():
            self._start(None)

    def take(self) -> memoryview | None:
        """Return the next bytes, or None if none have arrived or none will (``is_ended``).

        Raises:
            TruncatedError: The next bytes were truncated.
            PravegaError: Reading failed for good.
        """
        while self._reads and self._reads[0].data is not None:
            data = self._reads.popleft().data
            assert data is not None
            self._taken += len(data)
            self._look_for_end()
            self._ask_ahead()
            if data:
                return data
        if self.error is not None:
            raise self.error
        return None

    async def close(self) -> None:
        """Stop requesting. The caller closes the connection, which drops the reads that the store holds."""
        for task in (self._task, self._growing):
            if task is not None:
                await cancel_all(task)

    # requests

    def _ask_ahead(self) -> None:
        if self._connection is None or self.is_ended:
            return
        if not self._connection.is_open:  # lost while no read was waiting to be notified
            self._stop(ConnectionLostError(f"{self._name}: the connection was lost between two reads"))
            return
        if self._end is not None and self._next >= self._known_end:
            return  # everything is requested
        if any(read.is_tail and read.data is None for read in self._reads):
            return  # the offset of the next read depends on its reply
        while len(self._reads) < READS_AHEAD and self._next < self._known_end:
            length = min(READ_BYTES, self._known_end - self._next)
            self._ask(_Read(self._next, length, is_tail=False), len(self._reads))
            self._next += length
        if self._may_wait_at_tail():
            self._ask(_Read(self._next, READ_BYTES, is_tail=True), len(self._reads))

    def _may_wait_at_tail(self) -> bool:
        if self._end is not None or self._sealed_at is not None or len(self._reads) >= READS_AHEAD:
            return False
        return all(read.data is not None for read in self._reads)

    def _ask(self, read: _Read, index: int) -> None:
        assert self._connection is not None
        read.request_id = self._connection.listen(
            Listener(lambda reply: self._replied(read, reply), self._lost)
        )
        self._reads.insert(index, read)
        self._connection.send(ReadSegment(self._name, read.offset, read.length, self._token, read.request_id))

    # replies

    def _replied(self, read: _Read, reply: Reply) -> None:
        if self._connection is None or read not in self._reads:
            return
        self._connection.forget(read.request_id)
        try:
            if isinstance(reply, ReadReply):
                self._accept(read, reply)
            elif isinstance(reply, SegmentIsSealed):
                self._ask_again(read)
            elif isinstance(reply, SegmentIsTruncated):
                raise TruncatedError(reply.start_offset)
            else:
                check_reply(reply)
                raise ConnectionLostError(f"{type(reply).__name__} is no answer to a read")
        except SegmentNotFoundError:
            self._stop(TruncatedError(None))
        except (PravegaError, TransientError, TruncatedError) as error:
            self._stop(error)
        self._news()

    def _accept(self, read: _Read, reply: ReadReply) -> None:
        if reply.offset != read.offset:
            raise ConnectionLostError(f"{self._name}: asked for offset {read.offset}, got {reply.offset}")
        data = reply.data[: read.length]
        end = read.offset + len(data)
        if not data and not reply.end_of_segment:
            raise ConnectionLostError(f"{self._name}: an empty answer at offset {read.offset}")
        read.data = data
        if read.is_tail:
            self._grow(end, reply)
        elif len(data) < read.length and reply.end_of_segment:  # the segment ends before the read does
            self._sealed_at = self._known_end = end
        elif len(data) < read.length:
            rest = _Read(end, read.length - len(data), is_tail=False)
            self._ask(rest, self._reads.index(read) + 1)
        self._look_for_end()
        self._ask_ahead()

    def _grow(self, end: int, reply: ReadReply) -> None:
        """Note that ``end`` bytes exist, and ask for the length of the segment if that is not the tail."""
        self._next, self._known_end = end, max(end, self._known_end)
        if reply.end_of_segment and len(reply.data) == end - reply.offset:
            self._sealed_at = end
        elif not reply.at_tail and self._growing is None:
            self._growing = asyncio.get_running_loop().create_task(self._ask_how_much_more())

    async def _ask_how_much_more(self) -> None:
        try:
            await self._look_for_more()
        except (TransientError, TruncatedError, PravegaError, OSError):
            return  # the read at the tail meets the same error and reports it
        finally:
            self._growing = None
        self._ask_ahead()

    def _ask_again(self, read: _Read) -> None:
        """Repeat a held read that was answered with "sealed": the reply says whether that was the end.

        Source: pravega.md D4.
        """
        index = self._reads.index(read)
        del self._reads[index]
        self._ask(_Read(read.offset, read.length, is_tail=True), index)

    def _look_for_end(self) -> None:
        if self._taken in (self._end, self._sealed_at) and not self.is_ended:
            self.is_ended = True
            self._stop(None)

    # the session

    def _lost(self, error: Exception) -> None:
        self._stop(error)

    def _begin_at_once(self) -> bool:
        """Begin without a task if store, connection and token are known, which makes small segments cheap."""
        if self._end is None:
            return False
        endpoint = self._context.stores.known_endpoint(self._context.name, self._segment_id)
        connection = None if endpoint is None else self._connections.get_open(endpoint)
        token = self._context.stores.tokens.known(self._context.name, write=False)
        if connection is None or token is None:
            return False
        self._is_again, self._token = True, token
        self._connection = connection
        self._ask_ahead()
        return True

    def _start(self, failure: Exception | None) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(failure))

    def _stop(self, error: Exception | None) -> None:
        if self._task is None:
            self._leave_connection()
            if error is not None:
                self._start(error)
        elif self._over is not None and not self._over.done():
            if error is None:
                self._over.set_result(None)
            else:
                self._over.set_exception(error)

    async def _run(self, failure: Exception | None) -> None:
        """Run sessions until the end of the segment, or until an error that a retry does not fix."""
        context = self._context
        retries = Retries(f"read {self._name}", context.retry_for_s, context.chance)
        while True:
            before = self._taken
            try:
                if failure is None:
                    await self._session()
                    return self._news()
                raise failure
            except (TransientError, OSError) as error:
                lost = error
            except Exception as error:
                self.error = TruncatedError(None) if isinstance(error, SegmentNotFoundError) else error
                return self._news()
            failure = None
            if self._taken > before:
                retries.start_over()
            context.stores.forget(context.name, self._segment_id)
            try:
                await retries.pause(lost)
            except PravegaError as error:
                self.error = error
                return self._news()

    async def _session(self) -> None:
        """Read over one connection, from where the last session ended. Return at the end of the segment."""
        context = self._context
        endpoint = await context.stores.endpoint(context.name, self._segment_id)
        connection = await self._connections.get(endpoint)
        if self._end is None or self._is_again:  # a read after a sealed end costs the connection
            await self._look_for_more()
        self._is_again = True
        self._token = await context.token(write=False)
        if self.is_ended:  # the last bytes were taken in the meantime, so no reply ends this session
            return
        self._drop_unanswered()
        self._over = asyncio.get_running_loop().create_future()
        self._connection = connection
        try:
            self._look_for_end()
            self._ask_ahead()
            await self._over
        finally:
            self._leave_connection()

    def _leave_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            for read in self._reads:
                if read.data is None:  # the id of an answered read may be of an earlier connection
                    connection.forget(read.request_id)

    async def _look_for_more(self) -> None:
        info = await self._context.info(self._segment_id)
        if self._taken < info.start_offset:
            raise TruncatedError(info.start_offset)
        if self._end is None:
            self._known_end = max(self._known_end, info.write_offset)
        if info.is_sealed:
            self._sealed_at = info.write_offset
            self._known_end = min(self._known_end, info.write_offset)
        if info.is_sealed and self._taken > info.write_offset:
            raise BadInputError(
                f"{self._name} ends at {info.write_offset}, and reading was to begin after that, at "
                f"{self._taken}. Pass a cut as tail() or position() gave it"
            )

    def _drop_unanswered(self) -> None:
        """Keep the replies that continue from the position without a gap. Request all other bytes again."""
        kept: deque[_Read] = deque()
        at = self._taken
        for read in self._reads:
            if read.data is None or read.offset != at:
                break
            kept.append(read)
            at += len(read.data)
        self._reads, self._next = kept, at
