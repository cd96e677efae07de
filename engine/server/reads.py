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
from .handlers import Connection, Handlers

log = logging.getLogger(__name__)

READ_BYTES_MIN, READ_BYTES_MAX = 8, 2 << 20
"""The least and the most bytes of one reply, whatever was asked for, as in a released 0.13.0."""

HELD_READS_MAX = 4096
"""Held reads per connection. A further read is answered at once with no data, and its client asks again."""


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
        except (e.OffsetBeyondEnd, e.WrongKind) as error:
            return self._connection.close(str(error))
        except (e.CorruptStoreError, OSError) as error:  # the rest of the disk can still be read
            log.error("segment %s cannot be read at %d: %s", request.segment, request.offset, error)
            reply = c.ErrorMessage(request.request_id, request.segment, str(error), c.ErrorCode.UNSPECIFIED)
        if reply is not None:
            return self._connection.send(reply)
        if len(self._held) >= HELD_READS_MAX:
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

    def _hold(self, request: c.ReadSegment) -> None:
        self._number += 1
        number = self._number
        cancel = self._storage.watch(request.segment, lambda: self._changed(number))
        self._held[number] = Held(request, cancel)

    def _changed(self, number: int) -> None:
        if self._connection.is_paused:
            self._ready[number] = None
        else:
            self._serve(number)

    def serve_ready(self) -> None:
        """Answer the reads that became ready while the peer did not read, until it pauses again."""
        while self._ready and not self._connection.is_paused:
            number = next(iter(self._ready))
            del self._ready[number]
            self._serve(number)

    def _serve(self, number: int) -> None:
        held = self._held.get(number)
        if held is None:
            return
        reply = self._reply_to_held(held.request)
        if reply is not None:
            del self._held[number]
            held.cancel()
            self._connection.send(reply)

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
        self._held.clear()
        self._ready.clear()

    def drop_all(self) -> None:
        """Forget all held reads, because the connection is gone."""
        for held in self._held.values():
            held.cancel()
        self._held.clear()
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
