"""The reads of one connection, including those that are held at the tail of a segment (pravega.md D4).

A held read has no time limit, as upstream. It ends with data, with the seal, truncation or deletion of the
segment, with the connection, or with the server. While the peer does not read its replies, a read that is
ready waits here as a request and not as bytes.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from typing import Protocol

from pravega_lab.protocol.wire import commands as c

from ..store import errors as e
from ..store.log_fields import log_fields
from .handlers import Connection, Handlers

log = logging.getLogger(__name__)

READ_BYTES_MIN, READ_BYTES_MAX = 8, 2 << 20
"""The least and the most bytes of one reply, whatever was asked for, as in a released 0.13.0."""

HELD_READS_MAX = 4096
"""Held reads per connection. A further read is answered at once with no data, and its client asks again."""

HELD_READS_MIN = 16
"""Held reads that a connection may have whatever others hold. Without them, one client that waits at many
tails would let no other wait.
"""


SERVED_AT_ONCE_MAX = 64
"""A connection with more held reads answers them in its turns: one append may make all of them ready."""


class Tail:
    """The held reads of one segment, those of the lowest offset first, and the watch of the segment.

    A group of appends therefore costs nothing for reads of an offset that the segment has not reached.
    """

    __slots__ = ("cancel", "waiting")

    def __init__(self, cancel: Callable[[], None]) -> None:
        self.cancel = cancel
        self.waiting: list[tuple[int, int]] = []  # a heap of offsets with numbers

    def take_below(self, offset: int) -> list[int]:
        """Remove the reads below an offset, and return their numbers in the order in which they came."""
        taken = []
        while self.waiting and self.waiting[0][0] < offset:
            taken.append(heapq.heappop(self.waiting)[1])
        return sorted(taken)


class Reads:
    """The reads of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._storage = connection.store.storage
        self._held: dict[int, c.ReadSegment] = {}
        self._tails: dict[str, Tail] = {}  # the same reads, by segment
        self._ready: dict[str, None] = {}  # segments that changed, with reads that wait for peer or turn
        self._fetching: dict[int, Callable[[], None]] = {}  # reads that wait for tier 2, by number
        self._number = 0

    @property
    def held_count(self) -> int:
        """Return the number of held reads."""
        return len(self._held)

    def read(self, request: c.ReadSegment) -> None:
        """Answer a read, or hold it if it is at the tail of an open segment."""
        try:
            reply = self._read(request)
        except e.NoSuchSegment:
            reply = c.NoSuchSegment(request.request_id, request.segment, "", request.offset)
        except e.NotAtHand as need:
            return self._fetch(request, need)
        except (e.OffsetBeyondEnd, e.WrongKind) as error:
            return self._connection.close(str(error))
        except (e.CorruptStoreError, OSError) as error:  # the rest of the disk can still be read
            return self._report(request, error)
        if reply is not None:
            return self._connection.send(reply)
        store, held = self._connection.store, len(self._held)
        is_full = store.held_reads >= store.limits.held_reads and held >= HELD_READS_MIN
        if is_full or held >= HELD_READS_MAX:
            return self._connection.send(empty_at_tail(request))
        return self._hold(request)

    def _read(self, request: c.ReadSegment) -> c.Command | None:
        """Return the reply, or None while there is nothing to report."""
        size = min(max(request.suggested_length, READ_BYTES_MIN), READ_BYTES_MAX)
        segment, offset = request.segment, request.offset
        try:
            found = self._storage.read(segment, offset, size)
        except e.SegmentTruncated as error:
            return c.SegmentIsTruncated(request.request_id, segment, error.start_offset, "", offset)
        if not found.data and found.at_tail:
            return None
        end = found.end_of_segment
        return c.SegmentRead(segment, offset, found.at_tail, end, found.data, request.request_id)

    def _report(self, request: c.ReadSegment, error: Exception) -> None:
        fields = log_fields("read_failed", segment=request.segment, offset=request.offset)
        log.error("segment %s cannot be read at %d: %s", request.segment, request.offset, error, extra=fields)
        reply = c.ErrorMessage(request.request_id, request.segment, str(error), c.ErrorCode.UNSPECIFIED)
        self._connection.send(reply)

    def _fetch(self, request: c.ReadSegment, need: e.NotAtHand) -> None:
        """Read again when the bytes have come from tier 2. Other requests are handled in the meantime."""
        reader = self._connection.store.chunk_reader
        assert reader is not None, "a store with chunks runs with tier 2"
        if len(self._fetching) >= HELD_READS_MAX:
            return self._connection.send(empty_at_tail(request))
        self._number += 1
        number = self._number

        def then(failure: e.CorruptStoreError | None) -> None:
            del self._fetching[number]
            if failure is None:
                self.read(request)
            else:
                self._report(request, failure)

        self._fetching[number] = reader.fetch(need, then)
        return None

    def _hold(self, request: c.ReadSegment) -> None:
        segment = request.segment
        self._number += 1
        tail = self._tails.get(segment)
        if tail is None:
            cancel = self._storage.watch(segment, lambda: self._changed(segment))
            tail = self._tails[segment] = Tail(cancel)
        heapq.heappush(tail.waiting, (request.offset, self._number))
        self._held[self._number] = request
        self._connection.store.held_reads += 1

    def _changed(self, segment: str) -> None:
        if self._connection.is_paused:
            self._ready[segment] = None
        elif len(self._held) > SERVED_AT_ONCE_MAX:
            self._ready[segment] = None
            self._connection.store.turns.wait(self._connection)
        else:
            for number in self._tails[segment].take_below(self._storage.answers_below(segment)):
                self._serve(number)
            self._end_watch(segment)

    def _end_watch(self, segment: str) -> None:
        """Stop watching a segment of which no read is held any more."""
        tail = self._tails.get(segment)
        if tail is not None and not tail.waiting:
            tail.cancel()
            del self._tails[segment]

    @property
    def has_ready(self) -> bool:
        """Return whether reads are ready and wait for the peer, or for a turn of the connection."""
        return bool(self._ready)

    def serve_ready(self, until_s: float) -> None:
        """Answer the reads that are ready, until the peer does not read any more or the time is over."""
        time = self._connection.store.loop.time
        while self._ready and not self._connection.is_paused and time() <= until_s:
            segment = next(iter(self._ready))
            tail, end = self._tails.get(segment), self._storage.answers_below(segment)
            if tail is None or not tail.waiting or tail.waiting[0][0] >= end:
                del self._ready[segment]
                self._end_watch(segment)
            else:
                self._serve(heapq.heappop(tail.waiting)[1])

    def _serve(self, number: int) -> None:
        request = self._held.pop(number)
        self._connection.store.held_reads -= 1
        try:
            reply = self._reply_to_held(request)
        except e.NotAtHand as need:  # it moved to tier 2 while the peer did not read
            return self._fetch(request, need)
        except (e.CorruptStoreError, OSError) as error:
            return self._report(request, error)
        if reply is None:  # another segment has the name now
            return self._hold(request)
        return self._connection.send(reply)

    def _reply_to_held(self, request: c.ReadSegment) -> c.Command | None:
        """Return the reply to a held read. Unlike other reads, it reports a seal and a deletion by replies
        of their own.
        """
        sealed = c.SegmentIsSealed(request.request_id, request.segment, "", request.offset)
        try:
            reply = self._read(request)
        except e.NoSuchSegment:
            return empty_at_tail(request)
        except e.OffsetBeyondEnd:
            return sealed
        return sealed if isinstance(reply, c.SegmentRead) and not reply.data else reply

    def answer_all(self) -> None:
        """Answer all held reads with no data, because the server stops (as upstream)."""
        for request in self._held.values():
            self._connection.send(empty_at_tail(request))
        self._forget_held()

    def drop_all(self) -> None:
        """Forget all held reads, because the connection is gone."""
        self._forget_held()
        for cancel in self._fetching.values():
            cancel()
        self._fetching.clear()

    def _forget_held(self) -> None:
        self._connection.store.held_reads -= len(self._held)
        for tail in self._tails.values():
            tail.cancel()
        self._held.clear()
        self._tails.clear()
        self._ready.clear()


def empty_at_tail(request: c.ReadSegment) -> c.SegmentRead:
    """Return the reply that means "no data yet, ask again"."""
    return c.SegmentRead(request.segment, request.offset, True, False, b"", request.request_id)


class ReadConnection(Connection, Protocol):
    """What the handler of reads needs of its connection."""

    @property
    def reads(self) -> Reads:
        """Return the reads of this connection."""


def read(connection: ReadConnection, command: c.ReadSegment) -> None:
    """Handle ReadSegment."""
    connection.reads.read(command)


HANDLERS: Handlers = {c.ReadSegment: read}
