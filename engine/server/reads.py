"""The reads of one connection, including those that are held at the tail of a segment (pravega.md D4).

A held read has no time limit, as upstream. It ends with data, with the seal, truncation or deletion of the
segment, with the connection, or with the server. While the peer does not read its replies, a read that is
ready waits here as a request and not as bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from pravega_lab.protocol.wire import commands as c

from ..store import errors as e
from ..store.log_fields import log_fields
from .handlers import Connection, Handlers

log = logging.getLogger(__name__)

READ_BYTES_MIN, READ_BYTES_MAX = 8, 2 << 20
"""The least and the most bytes of one reply, whatever was asked for, as in a released 0.13.0."""

HELD_READS_MAX = 4096
"""Held reads per connection. A further read is answered at once with no data, and its client asks again."""


SERVED_AT_ONCE_MAX = 64
"""A connection with more held reads answers them in its turns: one append may make all of them ready."""


class Held(NamedTuple):
    """A held read, and the callable that cancels its watch."""

    request: c.ReadSegment
    cancel: Callable[[], None]


class Reads:
    """The reads of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._storage = connection.store.storage
        self._held: dict[int, Held] = {}
        self._ready: dict[int, None] = {}  # held reads whose segment changed while the peer did not read
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
        store = self._connection.store
        if len(self._held) >= HELD_READS_MAX or store.held_reads >= store.limits.held_reads:
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
        self._number += 1
        number = self._number
        cancel = self._storage.watch(request.segment, lambda: self._changed(number))
        self._held[number] = Held(request, cancel)
        self._connection.store.held_reads += 1

    def _changed(self, number: int) -> None:
        if self._connection.is_paused:
            self._ready[number] = None
        elif len(self._held) > SERVED_AT_ONCE_MAX:
            self._ready[number] = None
            self._connection.store.turns.wait(self._connection)
        else:
            self._serve(number)

    @property
    def has_ready(self) -> bool:
        """Return whether reads are ready and wait for the peer, or for a turn of the connection."""
        return bool(self._ready)

    def serve_ready(self, until_s: float) -> None:
        """Answer the reads that are ready, until the peer does not read any more or the time is over."""
        time = self._connection.store.loop.time
        while self._ready and not self._connection.is_paused and time() <= until_s:
            number = next(iter(self._ready))
            del self._ready[number]
            self._serve(number)

    def _serve(self, number: int) -> None:
        held = self._held.get(number)
        if held is None:
            return None
        try:
            reply = self._reply_to_held(held.request)
        except e.NotAtHand as need:  # it moved to tier 2 while the peer did not read
            del self._held[number]
            self._connection.store.held_reads -= 1
            held.cancel()
            return self._fetch(held.request, need)
        except (e.CorruptStoreError, OSError) as error:
            del self._held[number]
            self._connection.store.held_reads -= 1
            held.cancel()
            return self._report(held.request, error)
        if reply is not None:
            del self._held[number]
            self._connection.store.held_reads -= 1
            held.cancel()
            self._connection.send(reply)
        return None

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
        for held in self._held.values():
            held.cancel()
            self._connection.send(empty_at_tail(held.request))
        self._connection.store.held_reads -= len(self._held)
        self._held.clear()
        self._ready.clear()

    def drop_all(self) -> None:
        """Forget all held reads, because the connection is gone."""
        for held in self._held.values():
            held.cancel()
        self._connection.store.held_reads -= len(self._held)
        for cancel in self._fetching.values():
            cancel()
        self._held.clear()
        self._ready.clear()
        self._fetching.clear()


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
