"""`milliseconds`: timestamps of Spark as numbers. The tracker itself may not import a module with a clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any


def milliseconds(timestamp: Any) -> int | None:
    """Return ``2026-11-21T09:00:00.123Z`` in ms since 1970, None for what is no timestamp."""
    try:
        return round(datetime.fromisoformat(str(timestamp)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
