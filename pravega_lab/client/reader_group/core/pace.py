"""Decide how many events a reader passes on together when its program takes them one by one.

The reader looks after its group (checkpoints, segments to release) only between two such portions. A portion
therefore contains about what the program processed in `PORTION_S`, judged by the portion before.
"""

from __future__ import annotations

from pravega_lab.client.values import KIB, MIB

PORTION_S = 0.05
FIRST_BYTES = 4 * KIB
BYTES_MAX = 1 * MIB


class Pace:
    """Follows how fast a program takes events. Times are in seconds, on any clock that only advances."""

    def __init__(self) -> None:
        self.bytes_max = FIRST_BYTES  # of the next portion
        self._began_s = 0.0
        self._bytes = 0

    def begin(self, n_bytes: int, now_s: float) -> None:
        """Note that the program received a portion."""
        self._began_s, self._bytes = now_s, n_bytes

    def end(self, now_s: float) -> None:
        """Note that the program asks for the next portion, which may have twice the bytes of this one."""
        n_bytes, self._bytes = self._bytes, 0
        if n_bytes:
            took_s = max(now_s - self._began_s, 1e-9)
            likely = min(n_bytes * PORTION_S / took_s, 2 * self.bytes_max, BYTES_MAX)
            self.bytes_max = max(int(likely), 1)
