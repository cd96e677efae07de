"""The segment store's front: what all of its connections share, and the table of commands.

``loop.create_server(lambda: SegmentStoreProtocol(store), host, port)`` serves it, on a real loop or on the
simulated one. Time, ids and the storage are handed in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID

from pravega_lab.engine.server import appends, connection, reads, segments, tables
from pravega_lab.engine.server.connection import SegmentStoreProtocol
from pravega_lab.engine.server.handlers import Handlers
from pravega_lab.engine.store.operations import Operation
from pravega_lab.engine.store.storage import Storage, Ticket

__all__ = ["SegmentStore", "SegmentStoreProtocol"]

APPEND_BYTES_MAX = 64 << 20
"""Appended bytes on their way to the disk, of all connections. Above it, who appends is not read from."""

HANDLERS: Handlers = {
    **connection.HANDLERS,
    **appends.HANDLERS,
    **reads.HANDLERS,
    **segments.HANDLERS,
    **tables.HANDLERS,
}


class SegmentStore:
    """Storage, clock and ids for the connections; who is connected; how much is on its way to the disk.

    Args:
        storage: The store.
        loop: Where replies are collected (``call_soon``).
        clock: Milliseconds since 1970, never going back.
        new_id: A random id, for the names of transient segments.
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
        self.handlers = HANDLERS
        self.connections: dict[SegmentStoreProtocol, None] = {}
        self._clock = clock
        self._append_bytes_max = append_bytes_max
        self._append_bytes = 0
        self._throttled: dict[SegmentStoreProtocol, None] = {}

    def submit(self, operations: Sequence[Operation]) -> Ticket:
        """To the storage, with the time."""
        return self.storage.submit(operations, now_ms=self._clock())

    def throttle(self, source: SegmentStoreProtocol, size_bytes: int) -> None:
        """A connection submitted bytes; if they are too many it waits until the disk has caught up."""
        self._append_bytes += size_bytes
        if self._append_bytes > self._append_bytes_max:
            source.is_throttled = True
            self._throttled[source] = None

    def release(self, size_bytes: int) -> None:
        """Bytes are on disk."""
        self._append_bytes -= size_bytes
        if self._throttled and self._append_bytes <= self._append_bytes_max // 2:
            throttled, self._throttled = self._throttled, {}
            for one in throttled:
                one.is_throttled = False
                self.loop.call_soon(one.work)

    def forget(self, ended: SegmentStoreProtocol) -> None:
        """A connection is gone."""
        self.connections.pop(ended, None)
        self._throttled.pop(ended, None)

    def answer_held_reads(self) -> None:
        """The server stops: nothing more will come for them."""
        for one in list(self.connections):
            one.reads.answer_all()

    def close(self) -> None:
        """Close every connection once its last replies are with the transport."""
        for one in list(self.connections):
            one.close()

    def abort(self) -> None:
        """Cut every connection off."""
        for one in list(self.connections):
            one.abort()
