"""Numbers and lists in sentences, for everything that explains what happens."""

from __future__ import annotations

from collections.abc import Iterable

LISTED_MAX = 5  # per list; the others are only counted


def plural(n: int, noun: str, nouns: str = "") -> str:
    """Return ``n`` things in words: "1 segment", "1,234 segments"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {nouns or noun + 's'}"


def listed(items: Iterable[str], most: int = LISTED_MAX) -> str:
    """Return ``a, b and c``, or the first few names and the number of the others."""
    all_items = list(items)
    more = len(all_items) - most
    if more > 0:
        return f"{', '.join(all_items[:most])} and {more:,} more"
    return " and ".join(part for part in (", ".join(all_items[:-1]), *all_items[-1:]) if part)
