"""Reads of one connection, and those that are held at the tail until something happens (pravega.md D4).

A hold has no time limit, as upstream; it ends with data, with the seal, truncation or deletion of the
segment, with the connection or with the server. While the peer does not take what it asked for, what is ready
waits in here as a request, not as bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pravega_lab.engine.server.handlers import Handlers
from pravega_lab.engine.server.replies import UNSPECIFIED
from pravega_lab.engine.store import errors as e
from pravega_lab.protocol import commands as c

if TYPE_CHECKING:
    from pravega_lab.engine.server.connection import SegmentStoreProtocol

log = logging.getLogger(__name__)

READ_BYTES_MIN, READ_BYTES_MAX = 8, 2 << 20
"""What one reply holds at least and at most, whatever was asked for; as a released 0.13.0."""

HELD_READS_MAX = 4096
"""Per connection. A read beyond it is answered at once with no data, which clients take for "ask again"."""


class Held(NamedTuple):
    request: c.ReadSegment
    cancel: Callable[[], None]


class Reads:
    """What one connection reads."""

    def __init__(self, connection: SegmentStoreProtocol) -> None:
        self._connection = connection
        self._storage = connection.store.storage
        self._held: dict[int, Held] = {}
        self._ready: dict[int, None] = {}  # held reads whose segment changed while the peer did not read
        self._number = 0

    @property
    def held_count(self) -> int:
        """How many reads are held."""
        return len(self._held)

    def read(self, request: c.ReadSegment) -> None:
        """Answer, or hold."""
        try:
            reply = self._read(request)
        except e.NoSuchSegment:
            reply = c.NoSuchSegment(request.request_id, request.segment, "", request.offset)
        except (e.OffsetBeyondEnd, e.WrongKind) as error:
            return self._connection.close(str(error))
        except (e.CorruptStoreError, OSError) as error:  # what is elsewhere on the disk can still be read
            log.error("segment %s cannot be read at %d: %s", request.segment, request.offset, error)
            reply = c.ErrorMessage(request.request_id, request.segment, str(error), UNSPECIFIED)
        if reply is not None:
            return self._connection.send(reply)
        if len(self._held) >= HELD_READS_MAX:
            return self._connection.send(empty_at_tail(request))
        return self._hold(request)

    def _read(self, request: c.ReadSegment) -> c.Command | None:
        """The reply, None while there is nothing to tell."""
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
        """The peer reads again: answer what has become ready, as long as it does."""
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
        """As a read that was not held, but for the seal and the deletion, which have replies of their own."""
        sealed = c.SegmentIsSealed(request.request_id, request.segment, "", request.offset)
        try:
            reply = self._read(request)
        except e.NoSuchSegment:
            return empty_at_tail(request)
        except e.OffsetBeyondEnd:
            return sealed
        return sealed if isinstance(reply, c.SegmentRead) and not reply.data else reply

    def answer_all(self) -> None:
        """The server stops: tell all that are held, as upstream does."""
        for held in self._held.values():
            held.cancel()
            self._connection.send(empty_at_tail(held.request))
        self._held.clear()
        self._ready.clear()

    def drop_all(self) -> None:
        """The connection is gone."""
        for held in self._held.values():
            held.cancel()
        self._held.clear()
        self._ready.clear()


def empty_at_tail(request: c.ReadSegment) -> c.SegmentRead:
    """What says "nothing yet, ask again"."""
    return c.SegmentRead(request.segment, request.offset, True, False, b"", request.request_id)


def read(connection: SegmentStoreProtocol, command: c.ReadSegment) -> None:
    """ReadSegment."""
    connection.reads.read(command)


HANDLERS: Handlers = {c.ReadSegment: read}
