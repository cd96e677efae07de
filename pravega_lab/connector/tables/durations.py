"""Durations as Flink writes them: ``10 s``, ``500 ms``, ``1 min``."""

from __future__ import annotations

import re

#: Milliseconds of each unit, by the names that Flink accepts.
UNITS_MS = {
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
EXAMPLES = "500 ms, 10 s, 5 min, 1 h or 1 d"


def milliseconds(text: str) -> int | None:
    """Return a duration in milliseconds, or None if the text is none. A number alone is milliseconds."""
    found = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if found is None or (found[2] or "ms") not in UNITS_MS:
        return None
    return int(found[1]) * UNITS_MS[found[2] or "ms"]
