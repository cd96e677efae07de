"""Which readers of a group the board shows, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pravega_lab.observe.group.rows import ReaderRow, Waiting

from ..groups.history import BoardHistory
from ..svg.picture import due_text

GONE_MAX = 5  # of the lanes, when there are too many


def waits_since(waiting: Waiting, start_ms: int) -> str:
    """Return what a segment waits for, and when the checkpoint is due, counted from ``start_ms``."""
    due_ms = waiting.due_ms if waiting.is_at_checkpoint else None
    return waiting.words + due_text(None if due_ms is None else (due_ms - start_ms) / 1000)


def busiest(
    history: BoardHistory, group: str, n: int, *, only: str = "", sort: str = "joined"
) -> list[ReaderRow]:
    """Return at most ``n`` readers of a group, in the order of ``sort``: joined, lag, held or name.

    Where there are more, the readers that left last (five at most) are kept first, then those that hold most
    segments. ``only`` keeps readers whose name contains it, in any case of letters.
    """
    lanes = [row for row in history.lanes(group) if only.lower() in row.reader.lower()]
    gone = sorted((r for r in lanes if not r.is_online), key=lambda r: -(r.left_ms or 0))[:GONE_MAX]
    busy = [r for r in lanes if r not in gone]
    busy.sort(key=lambda r: (-len(r.held), -(r.unread_bytes or 0), r.index))
    shown = lanes if len(lanes) <= n else [*gone, *busy][:n]
    keys: dict[str, Callable[[ReaderRow], Any]] = {
        "joined": lambda r: r.index,
        "lag": lambda r: (-(r.unread_bytes or 0), r.index),
        "held": lambda r: (-len(r.held), r.index),
        "name": lambda r: r.reader,
    }
    return sorted(shown, key=keys[sort])
