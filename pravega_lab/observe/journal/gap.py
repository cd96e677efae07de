"""`Gap`: what is missing from a journal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """How many observations a journal has lost, and why others never got into it. False: nothing is missing.

    Every view shows it in its header.
    """

    facts: int = 0
    samples: int = 0
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.facts or self.samples or self.reason)

    def __str__(self) -> str:
        counts = [f"{n:,} {what}" for n, what in ((self.samples, "measurements"), (self.facts, "facts")) if n]
        dropped = f"{' and '.join(counts)} dropped (the oldest; the journal is full)" if counts else ""
        return "; ".join(part for part in (dropped, self.reason) if part)
