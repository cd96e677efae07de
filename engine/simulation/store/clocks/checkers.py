"""The rules of leases on a machine whose clock jumps: they end in time, and not before (pravega.md A10).

A jump forward may end a lease up to a minute earlier, and a restart renews every lease, as upstream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..history import History

COUNTED_MS_MAX = 60_000
SLACK_MS = 8_000
"""What a slow network, a slow disk and a pause between two lives may add."""
OPEN = "OPEN"


@dataclass
class _Lease:
    begun_us: int
    lease_ms: int
    asked_us: int = 0


@dataclass(frozen=True)
class _Seen:
    """A state that a client received: asked for and received at these times."""

    txn: str
    lease: _Lease
    asked_us: int
    seen_us: int
    state: str


def leases_end_in_time(history: History) -> list[str]:
    """No transaction is open long after its lease, whatever the clock of the machine says."""
    problems = []
    for seen in _states(history):
        started_us = [us for us in _starts_us(history) if us <= seen.asked_us]
        late_ms = (seen.asked_us - max([seen.lease.begun_us, *started_us])) / 1000 - seen.lease.lease_ms
        if seen.state == OPEN and late_ms > SLACK_MS:
            problems.append(f"{seen.txn} is open {late_ms:.0f} ms after its lease")
    return problems


def leases_are_kept(history: History) -> list[str]:
    """No transaction is aborted before its lease is over, but for a minute per jump forward."""
    problems = []
    for seen in _states(history):
        begun_us, lease_ms = seen.lease.begun_us, seen.lease.lease_ms
        restarted = any(begun_us <= us <= seen.seen_us for us in _starts_us(history))
        jumps = sum(begun_us <= us <= seen.seen_us and ms > 0 for us, ms in _jumps(history))
        early_ms = lease_ms - jumps * COUNTED_MS_MAX - (seen.seen_us - begun_us) / 1000
        if seen.state != OPEN and not restarted and early_ms > SLACK_MS:
            problems.append(f"{seen.txn} is {seen.state} {early_ms:.0f} ms before its lease is over")
    return problems


def _states(history: History) -> Iterator[_Seen]:
    leases: dict[str, _Lease] = {}
    for entry in history.journal.entries:
        if entry.what == "leased":
            leases[entry.about["txn"]] = _Lease(entry.time_us, entry.about["lease_ms"])
        elif entry.what == "lease-asked":
            leases[entry.about["txn"]].asked_us = entry.time_us
        elif entry.what == "lease-seen":
            txn = entry.about["txn"]
            yield _Seen(txn, leases[txn], leases[txn].asked_us, entry.time_us, entry.about["state"])


def _starts_us(history: History) -> list[int]:
    return [entry.time_us for entry in history.journal.of("start")]


def _jumps(history: History) -> list[tuple[int, int]]:
    return [(entry.time_us, entry.about["ms"]) for entry in history.journal.of("clock-jump")]
