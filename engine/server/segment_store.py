"""What all connections of the segment store share: the storage, the clock, ids, and the limit of appended
bytes.

Time, ids and the storage are arguments, so the same code runs on a real loop and on the simulated one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol
from uuid import UUID

from ..store.log.operations import Operation
from ..store.storage.storage import Storage, Ticket

APPEND_BYTES_MAX = 64 << 20
"""Appended bytes of all connections that may wait for the disk."""


class Served(Protocol):
    """A connection as the store sees it: something to hold back, to notify and to end."""

    is_throttled: bool

    def work(self) -> None:
        """Handle the commands that have arrived, as far as peer and disk keep up."""

    def answer_held_reads(self) -> None:
        """Answer every held read with no data, because the server stops."""

    def close(self) -> None:
        """Close as soon as earlier commands are answered."""

    def abort(self) -> None:
        """Close at once, whatever is still to be sent."""


class SegmentStore:
    """The shared part of the segment store.

    It knows which connections are open and how many appended bytes wait for the disk.

    Args:
        storage: The store.
        loop: Where replies are collected (``call_soon``).
        clock: Return milliseconds since 1970; the time never goes back.
        new_id: Return a random id, for the names of transient segments.
        append_bytes_max: Bytes that may wait for the disk before connections that append are not read from.
    """

    def __init__(
        self,
        storage: Storage,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], int],
        new_id: Callable[[], UUID],
        append_bytes_max: int = APPEND_BYTES_MAX,
    ) -> None:
        self.storage = storage
        self.loop = loop
        self.new_id = new_id
        self.connections: dict[Served, None] = {}
        self._clock = clock
        self._append_bytes_max = append_bytes_max
        self._append_bytes = 0
        self._throttled: dict[Served, None] = {}

    def submit(self, operations: Sequence[Operation]) -> Ticket:
        """Submit operations to the storage with the present time; see `Storage.submit`."""
        return self.storage.submit(operations, now_ms=self._clock())

    def throttle(self, source: Served, size_bytes: int) -> None:
        """Count the submitted bytes of a connection, and stop reading from it while too many wait for the
        disk.
        """
        self._append_bytes += size_bytes
        if self._append_bytes > self._append_bytes_max:
            source.is_throttled = True
            self._throttled[source] = None

    def release(self, size_bytes: int) -> None:
        """Count bytes that are on disk now. Connections resume once half of the limit is free."""
        self._append_bytes -= size_bytes
        if self._throttled and self._append_bytes <= self._append_bytes_max // 2:
            throttled, self._throttled = self._throttled, {}
            for one in throttled:
                one.is_throttled = False
                self.loop.call_soon(one.work)

    def forget(self, ended: Served) -> None:
        """Forget a connection that has ended."""
        self.connections.pop(ended, None)
        self._throttled.pop(ended, None)

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
