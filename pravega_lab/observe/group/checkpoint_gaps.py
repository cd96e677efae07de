"""`gaps_of`: the keys that a reader-group checkpoint leaves out. Pure functions of a group's state and
key ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.observe.group.rows import split_segment

Range: TypeAlias = tuple[float, float]  # (low, high]
Gaps: TypeAlias = list[tuple[str, float, float]]  # stream, low, high


def gaps_of(cut: Iterable[str], state: GroupState, ranges: Mapping[str, Range]) -> Gaps:
    """Return the keys, by stream, that the group still has to read and that no segment of ``cut`` covers.

    A stream is left out if the key range of one of its segments is not known.
    """
    had = _by_stream(cut)
    to_read = _by_stream([*state.positions(), *state.future])
    found: Gaps = []
    for stream, segments in to_read.items():
        covering = had.get(stream, [])
        if covering and all(name in ranges for name in (*segments, *covering)):
            left = _without(_union(ranges[name] for name in segments), _union(ranges[n] for n in covering))
            found += [(stream, low, high) for low, high in left]
    return found


def _by_stream(segments: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in segments:
        found.setdefault(split_segment(name)[0], []).append(name)
    return found


def _union(ranges: Iterable[Range]) -> list[Range]:
    """Return the same keys as ranges that do not touch, from low to high."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _without(wanted: list[Range], had: list[Range]) -> list[Range]:
    """Return the keys of ``wanted`` that are not in ``had``; both are results of `_union`."""
    found: list[Range] = []
    for low, high in wanted:
        at = low
        for begin, end in had:
            if end <= at or begin >= high:
                continue
            if begin > at:
                found.append((at, begin))
            at = max(at, end)
        if at < high:
            found.append((at, high))
    return found
