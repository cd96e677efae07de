"""The leases of open transactions: which to abort, and when to look again.

There is no clock here. The caller passes ``now_ms`` and waits until ``next_deadline_ms``. Renewing and
dropping cost O(log n). The entries that they leave in the heap are skipped when they come to its top.
Limits: pravega.md A10.
"""

from __future__ import annotations

import heapq

from pravega_lab.errors import BadInputError

LEASE_MS_MIN = 10_000
LEASE_MS_MAX = 600_000
EXECUTION_MS_MAX = 24 * 3_600_000
RUST_LEASE_MS = 90_000
"""The lease that the Rust and Python clients always request. No other client does so by default."""

RUST_LEASE_FACTOR = 3
"""That client pings every 90 s, too late for a lease of 90 s, so its lease is longer (pravega.md E4-1)."""

TransactionKey = tuple[str, str, int]
"""Scope, stream, transaction id."""


def granted_lease_ms(asked_ms: int) -> int:
    """Return the lease that is granted for the requested one."""
    return asked_ms * RUST_LEASE_FACTOR if asked_ms == RUST_LEASE_MS else asked_ms


def check_lease(asked_ms: int) -> None:
    """Raise ``BadInputError`` for a lease with which no transaction is created (pravega.md A10)."""
    if asked_ms < LEASE_MS_MIN:
        raise BadInputError(f"a lease of {asked_ms} ms is too short; the least is {LEASE_MS_MIN} ms")
    if asked_ms > LEASE_MS_MAX:
        raise BadInputError(f"a lease of {asked_ms} ms is too long; the most is {LEASE_MS_MAX} ms")


def execution_ms_max(lease_ms: int) -> int:
    """Return how long a transaction may stay open, however often it is renewed (pravega.md A10)."""
    return min(1000 * lease_ms, EXECUTION_MS_MAX)


STALE_MAX = 1000

EXPIRED_MAX = 100
"""Transactions that are aborted before others have a turn, because their leases have expired."""


class Leases:
    """The time until which each open transaction is kept open."""

    def __init__(self) -> None:
        self._deadlines_ms: dict[TransactionKey, int] = {}
        self._heap: list[tuple[int, TransactionKey]] = []

    def renew(self, key: TransactionKey, lease_ms: int, *, now_ms: int) -> None:
        """Open ``key``, or extend it, until ``now_ms + lease_ms``."""
        deadline_ms = now_ms + lease_ms
        self._deadlines_ms[key] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, key))
        if len(self._heap) > STALE_MAX + 2 * len(self._deadlines_ms):  # each renewal leaves an old entry
            self._heap = [(due_ms, known) for known, due_ms in self._deadlines_ms.items()]
            heapq.heapify(self._heap)

    def drop(self, key: TransactionKey) -> None:
        """Forget a transaction that is no longer open."""
        self._deadlines_ms.pop(key, None)

    def pop_expired(self, *, now_ms: int, most: int = EXPIRED_MAX) -> list[TransactionKey]:
        """Forget and return up to ``most`` transactions to abort now, earliest deadline first."""
        expired: list[TransactionKey] = []
        while self._heap and self._heap[0][0] <= now_ms and len(expired) < most:
            deadline_ms, key = heapq.heappop(self._heap)
            if self._deadlines_ms.get(key) == deadline_ms:
                del self._deadlines_ms[key]
                expired.append(key)
        return expired

    def next_deadline_ms(self) -> int | None:
        """Return when ``pop_expired`` has something to return next, None if no transaction is open."""
        while self._heap and self._deadlines_ms.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None
