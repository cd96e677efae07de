"""Room for frames that have arrived in part: they may be 16 MiB each, and every connection may hold one.

While there is room, nothing happens. Above the limit, connections with a large unfinished frame are not read
from, except the one whose frame began first. A client that sends the rest of its frame therefore always
finishes, and a client that does not loses its connection after a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

SMALL_BYTES = 16 << 10
"""An unfinished frame of this size is always read on. Only larger ones count."""
PIECE_BYTES = 256 << 10
"""The most that asyncio reads from a connection at once."""


class Holder(Protocol):
    """A connection that may hold an unfinished frame."""

    lacks_room: bool

    def work(self, commands: int | None = None) -> None:
        """Handle the commands that have arrived, and read on if nothing forbids it."""

    def dismiss(self, why: str) -> None:
        """Report the reason to the peer, and close."""


@dataclass(slots=True)
class Unfinished:
    """The bytes of an unfinished frame that have arrived, and since when it may be read on."""

    size_bytes: int
    since_s: float


class FrameRoom:
    """The unfinished frames of all connections.

    Args:
        bytes_max: What they may hold together, apart from small ones.
        now_s: Return the time in seconds, from any starting point.
    """

    def __init__(self, bytes_max: int, now_s: Callable[[], float]) -> None:
        self.held_bytes = 0
        self._bytes_max = bytes_max
        self._now_s = now_s
        self._held: dict[Holder, Unfinished] = {}  # the oldest frame first

    def note(self, holder: Holder, size_bytes: int) -> None:
        """Note the size of a connection's unfinished frame, 0 if it has none or has ended."""
        known = self._held.get(holder)
        size_bytes = size_bytes if size_bytes > SMALL_BYTES else 0
        if known is None and not size_bytes:
            return
        before = known.size_bytes if known else 0
        if known is not None and size_bytes < before:  # that frame is finished, and another may have begun
            del self._held[holder]
            known = None
        self.held_bytes += size_bytes - before
        if not size_bytes:
            self._read_on()
        elif known is not None:
            known.size_bytes = size_bytes
        else:
            self._held[holder] = Unfinished(size_bytes, self._now_s())
        holder.lacks_room = (
            self.held_bytes > self._bytes_max and size_bytes > 0 and holder is not next(iter(self._held))
        )

    def _read_on(self) -> None:
        """Read on from the oldest frame, and from as many others as there is room for one more piece of."""
        room = (self._bytes_max - self.held_bytes) // PIECE_BYTES
        for place, (holder, frame) in enumerate(list(self._held.items())):
            if holder.lacks_room and (place == 0 or room > 0):
                room -= 1
                holder.lacks_room = False
                frame.since_s = self._now_s()
                holder.work()

    def overdue(self, limit_s: float) -> list[Holder]:
        """Return the connections whose frames have been read on for ``limit_s`` and are not finished, while
        room is short.
        """
        if self.held_bytes <= self._bytes_max:
            return []
        before_s = self._now_s() - limit_s
        return [h for h, frame in self._held.items() if not h.lacks_room and frame.since_s <= before_s]
