"""Durations in words."""

from __future__ import annotations


def span(ms: int) -> str:
    """Return a duration in words: ``3.2 s``, ``4 min 10 s``, ``2 h 5 min``."""
    seconds = max(0, ms) / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
