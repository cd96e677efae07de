"""What the simulated network has carried, by kind, and the minimum for a run to count as evidence.

Data is counted when it arrives, and only here. What is lost, refused or dropped with a connection is not
counted. A run of a job with less than `RULE` proves nothing, so its seed fails.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

ELEMENTS = "elements of channels"  # batches, barriers, watermarks and ends, between two subtasks
CREDITS = "messages back along channels"  # there is room again; everything was processed
CALLS = "calls between coordinator and tasks"
FRAMES = "frames of the wire protocol"  # between a client and the store, in both directions
REQUESTS = "requests to the controller"
ANSWERS = "answers of the controller"
HEADER_BYTES = 8  # a frame's type and the length of the rest, four bytes each


@dataclass(frozen=True)
class Size:
    """The minimum size of a run of a job. ``scales`` counts scales of the stream, if there is one."""

    messages: int = 0
    failures: int = 0
    scales: int = 0


RULE = Size(messages=5_000, failures=2, scales=2)


class Traffic:
    """What one run carried.

    ``carried`` counts messages by kind, ``failures`` those of the job, and ``scales`` those of the stream
    (None without a job or stream).
    """

    def __init__(self) -> None:
        self.carried: Counter[str] = Counter()
        self.failures: int | None = None
        self.scales: int | None = None

    @property
    def messages(self) -> int:
        """The number of delivered messages of all kinds."""
        return self.carried.total()

    def words(self) -> str:
        """Return the counts as text for the line of a run: ``5,321 messages, 3 failures, 2 scales``."""
        counted = ((self.failures, "failures"), (self.scales, "scales"))
        return ", ".join(
            [f"{self.messages:,} messages", *(f"{n} {what}" for n, what in counted if n is not None)]
        )

    def short_of(self, wanted: Size) -> list[str]:
        """Return what the run has less of than ``wanted``, as problems."""
        pairs = (
            (self.messages, wanted.messages, "messages"),
            (self.failures, wanted.failures, "failures of the job"),
            (self.scales, wanted.scales, "scales of the stream"),
        )
        return [
            f"size of the run: {found} {what}, and {least} are the least"
            for found, least, what in pairs
            if found is not None and found < least
        ]


class FrameCounter:
    """Counts the frames in one direction of a connection, however they are divided into pieces."""

    def __init__(self) -> None:
        self._head = b""
        self._rest = 0  # bytes of the current frame that are still to come

    def ended_in(self, piece: bytes) -> int:
        """Return how many frames have their last byte in the next piece."""
        if self._rest > len(piece):
            self._rest -= len(piece)
            return 0
        ended = 1 if self._rest else 0
        data, at = self._head + piece[self._rest :], 0
        self._rest = 0
        while len(data) - at >= HEADER_BYTES:
            end = at + HEADER_BYTES + int.from_bytes(data[at + 4 : at + 8], "big")
            if end > len(data):
                self._head, self._rest = b"", end - len(data)
                return ended
            at, ended = end, ended + 1
        self._head = data[at:]
        return ended
