"""What the simulated network has carried, by name, and how much of it a run must have seen to count.

Everything that arrives is counted here and nowhere else, when it arrives: what is lost, refused or dropped
with a connection is not. A run of a job that saw less than `RULE` says is no proof, and its seed fails.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

ELEMENTS = "elements of channels"  # batches, barriers, watermarks, ends: between two subtasks
CREDITS = "messages back along channels"  # there is room again; all was processed
CALLS = "calls between coordinator and tasks"
FRAMES = "frames of the wire protocol"  # between a client and the store, both ways
REQUESTS = "requests to the controller"
ANSWERS = "answers of the controller"
HEADER_BYTES = 8  # of a frame: type and length of what follows, four bytes each


@dataclass(frozen=True)
class Size:
    """How much a run of a job has to see at least. ``scales``: of a stream, where there is one."""

    messages: int = 0
    failures: int = 0
    scales: int = 0


RULE = Size(messages=5_000, failures=2, scales=2)
ANY_SIZE = Size()


class Traffic:
    """One run's: ``carried`` by kind, ``failures`` of the job, ``scales`` of the stream (None:
    there is none)."""

    def __init__(self) -> None:
        self.carried: Counter[str] = Counter()
        self.failures: int | None = None
        self.scales: int | None = None

    @property
    def messages(self) -> int:
        """All that was delivered, of every kind."""
        return self.carried.total()

    def words(self) -> str:
        """For the line of a run: ``5,321 messages, 3 failures, 2 scales``."""
        counted = ((self.failures, "failures"), (self.scales, "scales"))
        return ", ".join(
            [f"{self.messages:,} messages", *(f"{n} {what}" for n, what in counted if n is not None)]
        )

    def short_of(self, wanted: Size) -> list[str]:
        """What the run has too little of, as problems."""
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
    """Counts the frames in one direction of a connection, however they are cut into pieces."""

    def __init__(self) -> None:
        self._head = b""
        self._rest = 0  # bytes of the frame that has begun

    def ended_in(self, piece: bytes) -> int:
        """How many frames have their last byte in the next piece."""
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
