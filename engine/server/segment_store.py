"""What all connections of the segment store share: the storage, the clock, ids, and the limits.

Time, ids and the storage are arguments, so the same code runs on a real loop and on the simulated one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Protocol
from uuid import UUID

from ..store.log.operations import Operation
from ..store.security.access_control import AccessControl
from ..store.storage.storage import Storage, Ticket
from .limits.frame_room import FrameRoom
from .limits.limits import Limits
from .limits.turns import Turns
from .tiers.reads import ChunkReader

SHARES_MIN = 16
"""The share of a connection in the changes that wait for the disk is not larger than one of so many."""
DISMISSED_AT_ONCE = 32


class Served(Protocol):
    """A connection as the store sees it: something to hold back, to notify and to end."""

    is_throttled: bool
    lacks_room: bool

    def work(self, commands: int | None = None) -> None:
        """Handle the commands that have arrived, as far as peer, disk and its share of turns allow."""

    def answer_held_reads(self) -> None:
        """Answer every held read with no data, because the server stops."""

    def flush(self) -> None:
        """Write the collected replies to the transport."""

    def close(self) -> None:
        """Close as soon as earlier commands are answered."""

    def dismiss(self, why: str) -> None:
        """Report the reason to the peer, and close. Commands that wait are not handled any more."""

    def abort(self) -> None:
        """Close at once, whatever is still to be sent."""


class SegmentStore:
    """The shared part of the segment store.

    It knows which connections are open, which of them have not sent a command yet (*strangers*) or have only
    greeted (*visitors*), and how many bytes of changes wait for the disk.

    Args:
        storage: The store.
        loop: Where replies are collected (``call_soon``).
        clock: Return milliseconds since 1970; the time never goes back.
        new_id: Return a random id, for the names of transient segments.
        limits: What connections may take.
        access: Checks the tokens of requests. None: no request needs one.
    """

    def __init__(
        self,
        storage: Storage,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], int],
        new_id: Callable[[], UUID],
        limits: Limits | None = None,
        access: AccessControl | None = None,
    ) -> None:
        self.storage = storage
        self.loop = loop
        self.new_id = new_id
        self.access = access
        self.connections: dict[Served, None] = {}
        self.limits = limits = limits or Limits()
        self.turns = Turns(loop, limits.turn_commands, limits.turn_ms / 1000)
        self.frames = FrameRoom(limits.frame_bytes, loop.time)
        self.held_reads = 0
        self.pieces_received = self.connections_ended = 0
        self._strangers: dict[Served, float] = {}  # when they connected
        self._visitors: dict[Served, float] = {}  # when they greeted
        self._clock = clock
        self._unsynced_bytes = 0
        self._unsynced: dict[Served, int] = {}  # by connection
        self._throttled: dict[Served, None] = {}
        self._resuming: dict[Served, None] = {}  # those that were held back before the others
        self._resumes = 0  # how many of them the loop will resume
        self.chunk_reader: ChunkReader | None = None
        self._unflushed: list[Served] | None = None
        self._is_flush_due = False
        self.is_handling_alone = False  # what arrived is being handled, and nothing else arrived in this pass
        self.on_handled: Callable[[], None] = lambda: None
        """Called after that."""
        self.is_behind: Callable[[], bool] = lambda: False

    def now_ms(self) -> int:
        """Return the time of day in ms."""
        return self._clock()

    def admit(self, one: Served) -> bool:
        """Register a new connection. Return False if there are as many as the limit allows.

        A new connection replaces the stranger or visitor that has been silent longest, so connections that
        request nothing keep no client out.
        """
        if len(self.connections) >= self.limits.connections:
            oldest = [next(iter(silent.items()), None) for silent in (self._strangers, self._visitors)]
            replaced = min((one for one in oldest if one is not None), key=lambda one: one[1], default=None)
            if replaced is None:
                return False
            self.forget(replaced[0])
            replaced[0].abort()
        self.connections[one] = None
        self._strangers[one] = self.loop.time()
        return True

    def introduce(self, one: Served) -> None:
        """Note that a connection has sent its first command."""
        if self._strangers.pop(one, None) is not None:
            self._visitors[one] = self.loop.time()

    def settle(self, one: Served) -> None:
        """Note that a connection has made its first request, with a token that allows it."""
        self._visitors.pop(one, None)

    def dismiss_the_slow(self) -> int:
        """Close connections that sent no command in time, and unfinished frames that others wait for.

        The process calls this about once a second, and again at once if it returned ``DISMISSED_AT_ONCE``.
        Return how many connections without a command were closed.
        """
        limit_s = self.limits.frame_s
        before_s = self.loop.time() - limit_s
        oldest = islice(self._strangers.items(), DISMISSED_AT_ONCE)
        strangers = [one for one, since_s in oldest if since_s <= before_s]
        for one in strangers:
            self.introduce(one)
            one.dismiss(f"no command arrived within {limit_s} s (--max-frame-s)")
        slow = self.frames.overdue(limit_s)
        room = self.limits.frame_bytes
        for holder in slow:
            holder.dismiss(
                f"a frame was not complete after {limit_s} s (--max-frame-s), and unfinished frames fill"
                f" {room} bytes (--max-frame-bytes); send it again on a new connection"
            )
        return len(strangers)

    def flush_together(self) -> None:
        """Have `flush` write the replies of all connections, at the end of a turn of the loop or earlier.

        A call of the loop for each of 1,000 connections takes longer than the replies. The simulation leaves
        it as it is, so that connections reply in an order of their own.
        """
        self._unflushed = []

    def flush_soon(self, one: Served) -> None:
        """Write the replies of a connection at the end of this turn of the loop."""
        if self._unflushed is None:
            self.loop.call_soon(one.flush)
            return
        if not self._is_flush_due:
            self._is_flush_due = True
            self.loop.call_soon(self.flush)
        self._unflushed.append(one)

    def expect_flush(self) -> None:
        """Note that the caller calls `flush` in this turn, so that the loop need not."""
        self._is_flush_due = True

    def flush(self) -> None:
        """Write the replies that wait for the end of the turn."""
        self._is_flush_due = False
        if self._unflushed:
            waiting, self._unflushed = self._unflushed, []
            for one in waiting:
                one.flush()

    def submit(self, operations: Sequence[Operation]) -> Ticket:
        """Submit operations to the storage with the present time; see `Storage.submit`."""
        return self.storage.submit(operations, now_ms=self._clock())

    def throttle(self, source: Served, size_bytes: int) -> None:
        """Count the bytes of a connection's changes, and stop reading from it while too many wait for the
        disk, or for tier 2.

        A connection with less than its share of what waits is read from all the same: it need not wait for
        those that have more.
        """
        self._unsynced_bytes += size_bytes
        own_bytes = self._unsynced[source] = self._unsynced.get(source, 0) + size_bytes
        share_bytes = self.limits.unsynced_bytes // max(SHARES_MIN, len(self._unsynced))
        if self.is_behind() or (self.has_enough and own_bytes > share_bytes):
            self.hold_back(source)

    @property
    def has_enough(self) -> bool:
        """Return whether as many changes wait for the disk as the limit allows."""
        return self._unsynced_bytes > self.limits.unsynced_bytes

    def hold_back(self, source: Served) -> None:
        """Stop reading from a connection until there is room for changes, after those that wait already."""
        source.is_throttled = True
        self._throttled[source] = None

    @property
    def waiting_bytes(self) -> int:
        """Return the appended bytes that wait for the disk."""
        return self._unsynced_bytes

    @property
    def throttled_count(self) -> int:
        """Return the number of connections that are not read from because the disk is slower."""
        return len(self._throttled) + len(self._resuming)

    def release(self, source: Served, size_bytes: int) -> None:
        """Count bytes that are on disk now. Connections resume once half of the limit is free."""
        self._unsynced_bytes -= size_bytes
        left_bytes = self._unsynced.get(source, 0) - size_bytes
        if left_bytes > 0:
            self._unsynced[source] = left_bytes
        else:
            self._unsynced.pop(source, None)
        self.resume()

    def resume(self) -> None:
        """Read again from connections that were held back, one after the other as long as there is room."""
        has_room = self._unsynced_bytes <= self.limits.unsynced_bytes // 2
        if has_room and not self._resumes and self.throttled_count and not self.is_behind():
            self._resuming.update(self._throttled)
            self._throttled.clear()
            self._resumes = len(self._resuming)
            for _ in range(self._resumes):
                self.loop.call_soon(self._resume_next)

    def _resume_next(self) -> None:
        self._resumes -= 1
        if self._resuming and not self.has_enough:
            one = next(iter(self._resuming))
            del self._resuming[one]
            one.is_throttled = False
            one.work(self.turns.commands)

    def forget(self, ended: Served) -> None:
        """Forget a connection that has ended."""
        if ended in self.connections:
            del self.connections[ended]
            self.connections_ended += 1
        self._strangers.pop(ended, None)
        self._visitors.pop(ended, None)
        self._throttled.pop(ended, None)
        self._resuming.pop(ended, None)
        self.turns.forget(ended)
        self.frames.note(ended, 0)

    def answer_held_reads(self) -> None:
        """Answer the held reads of all connections with no data, because the server stops."""
        for one in list(self.connections):
            one.answer_held_reads()

    def close(self) -> None:
        """Close every connection as soon as its last replies are written to the transport."""
        for one in list(self.connections):
            one.close()

    def abort(self) -> None:
        """Close every connection at once."""
        for one in list(self.connections):
            one.abort()
