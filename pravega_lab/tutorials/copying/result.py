"""The result of a run of `copying.copy_job`: the cut beside the barrier, and events in the wrong order.

Positions are given in events and not in bytes: the number of events of a segment before them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pravega_lab.engine.flow.batch import Row
from pravega_lab.protocol.names import SegmentRange, epoch_of, number_of
from pravega_lab.protocol.stream_cut import SEGMENT_READ
from pravega_lab.tutorials.copying.notes import Taken, Where
from pravega_lab.widgets.drawings.cut_picture import CutLine

if TYPE_CHECKING:
    import pandas as pd

Stored = Mapping[SegmentRange, Sequence[tuple[int, int]]]
"""Of each segment the offset and the number of every event, in order."""


def name_of(segment_id: int) -> str:
    """Return a segment's name, such as ``#4 e2``."""
    return f"#{number_of(segment_id)} e{epoch_of(segment_id)}"


def events_before(offset: int, events: Sequence[tuple[int, int]]) -> int:
    """Return how many events begin before this offset; all of them for -1, which is the end."""
    return len(events) if offset == SEGMENT_READ else bisect_left(events, (offset, -1))


def kept_rows(taken: Taken, stored: Stored) -> pd.DataFrame:
    """Return a row for each position in a checkpoint: stored by, segment, events before it, of how many."""
    from pravega_lab.portable.frames import pd

    known = {segment.segment_id: events for segment, events in stored.items()}
    rows = [
        (who, name_of(segment), events_before(offset, known[segment]), len(known[segment]))
        for who, where in taken.kept.items()
        for segment, offset in sorted(where.items(), key=lambda at: number_of(at[0]))
    ]
    return pd.DataFrame(rows, columns=["kept by", "segment", "events before", "of"])


def cut_lines(
    taken: Taken, read_on_at: Where, stored: Stored, rows: Sequence[Row], *, is_cut: bool
) -> list[CutLine]:
    """Return a line per segment.

    Args:
        taken: The checkpoint to which the job went back.
        read_on_at: Where it resumed, for the segments that it read at all.
        rows: The copy.
        is_cut: Whether the stored positions are a cut, and so decide for every key: segments that they do not
        name
            are before the cut, or after it.
    """
    times = Counter(row["n"] for row in rows)
    named = {segment for where in taken.kept.values() for segment in where}
    lines = []
    for segment, events in stored.items():
        kept = [
            (who, events_before(where[segment.segment_id], events))
            for who, where in taken.kept.items()
            if segment.segment_id in where
        ]
        if not kept and is_cut:
            is_before = any(s.segment_id in named and s.follows(segment) for s in stored)
            kept = [("", len(events) if is_before else 0)]
        lines.append(
            CutLine(
                segment=name_of(segment.segment_id),
                events=len(events),
                barrier=events_before(taken.passed.get(segment.segment_id, 0), events),
                kept=tuple(kept),
                read_on=events_before(read_on_at.get(segment.segment_id, SEGMENT_READ), events),
                lost=sum(not times[n] for _, n in events),
                doubled=sum(times[n] > 1 for _, n in events),
            )
        )
    return lines


def disorder(rows: Sequence[Row]) -> pd.DataFrame:
    """Return a row for each event that came first after a younger event of its key."""
    from pravega_lab.portable.frames import pd

    newest: dict[str, Row] = {}
    known: set[int] = set()
    found: list[dict[str, Any]] = []
    for place, row in enumerate(rows):
        before = newest.get(row["k"])
        if before is None or row["n"] > before["n"]:
            newest[row["k"]] = row
        elif row["n"] not in known:
            found.append(
                {
                    "key": row["k"],
                    "event": row["n"],
                    "from": f"{name_of(row['segment_id'])} offset {row['offset']:,}",
                    "came after": before["n"],
                    "which is from": f"{name_of(before['segment_id'])} offset {before['offset']:,}",
                    "row of the copy": place,
                }
            )
        known.add(row["n"])
    columns = ["key", "event", "from", "came after", "which is from", "row of the copy"]
    return pd.DataFrame(found, columns=columns)
