"""The order of segments, computed from their ids and key ranges alone, without I/O.

Two segments that overlap belong to different epochs, and the one with the smaller id is read first
(pravega.md A2, A5). Ids and ranges therefore determine the predecessors of a segment, which segments are
connected, and what must be read to its end before a segment may begin.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from pravega_lab.protocol.names import epoch_of

Span = tuple[float, float]


def groups(spans: Mapping[int, Span]) -> list[list[int]]:
    """Return the connected segments: those whose key ranges overlap, directly or through others.

    Each group is in reading order (predecessors first). The groups are in the order of their first segments.
    Segments of different groups have no order to keep.
    """
    found: list[list[int]] = []
    reach = -1.0
    for segment in sorted(spans, key=lambda s: (spans[s], s)):
        low, high = spans[segment]
        if found and low < reach:
            found[-1].append(segment)
        else:
            found.append([segment])
        reach = max(reach, high)
    return sorted(sorted(group) for group in found)


def is_before(cut: Mapping[int, int], other: Mapping[int, int], spans: Mapping[int, Span]) -> bool:
    """Return whether a stream cut is before another one in any part of the key space.

    Args:
        cut, other: Offsets by segment id.
        spans: Key ranges of the segments that only one of the two has.
    """
    if any(cut[segment] < other[segment] for segment in cut.keys() & other.keys()):
        return True
    older, newer = cut.keys() - other.keys(), other.keys() - cut.keys()
    return any(
        one < two and spans[one][0] < spans[two][1] and spans[two][0] < spans[one][1]
        for one in older
        for two in newer
    )


class Lineage:
    """Some segments of one stream, and their *atoms*: the smallest key ranges that no segment divides.

    ``order`` has all ids, predecessors first. ``atoms[id]`` has the indexes of a segment's atoms, and
    ``widths`` the width of each atom.
    ``paths[atom]`` has the segments that own this atom, one after another. ``gate[id]`` has the atoms on
    which every older segment must be read to its end before ``id`` may begin. These are more than the atoms
    of its predecessors where one scale replaces two segments by three. A cut can leave a segment only for all
    of its successors at once, because it would otherwise name overlapping ranges (pravega.md A9).
    """

    def __init__(self, spans: Mapping[int, Span]) -> None:
        self.order = sorted(spans)
        bounds = sorted({bound for span in spans.values() for bound in span})
        self.widths = [high - low for low, high in itertools.pairwise(bounds)]
        self.atoms = {
            segment: range(bisect_left(bounds, spans[segment][0]), bisect_left(bounds, spans[segment][1]))
            for segment in self.order
        }
        self.paths: list[list[int]] = [[] for _ in self.widths]
        for segment in self.order:
            for atom in self.atoms[segment]:
                self.paths[atom].append(segment)
        self.gate = self._gates()

    def _gates(self) -> dict[int, range]:
        gates = {segment: range(0) for segment in self.order}
        newest: list[int | None] = [None] * len(self.widths)
        for epoch in _by_epoch(self.order):
            replaced = dict.fromkeys(newest[atom] for segment in epoch for atom in self.atoms[segment])
            older = [segment for segment in replaced if segment is not None]
            for group in groups({segment: self._span(segment) for segment in (*epoch, *older)}):
                gate = self._cover(group)
                gates |= {segment: gate for segment in group if segment in epoch and len(group) > 1}
            for segment in epoch:
                for atom in self.atoms[segment]:
                    newest[atom] = segment
        return gates

    def _cover(self, group: list[int]) -> range:
        return range(min(self.atoms[s].start for s in group), max(self.atoms[s].stop for s in group))

    def _span(self, segment: int) -> Span:
        return float(self.atoms[segment].start), float(self.atoms[segment].stop)


def _by_epoch(order: Iterable[int]) -> list[dict[int, None]]:
    epochs: dict[int, dict[int, None]] = {}
    for segment in order:
        epochs.setdefault(epoch_of(segment), {})[segment] = None
    return list(epochs.values())
