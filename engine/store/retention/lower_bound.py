"""Computes what several readers have all finished: the earliest of their cuts, key by key (pravega.md A7)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pravega_lab.protocol.key_set import KeySet

from ..metadata.cuts import END, Cut, Places, is_valid
from ..metadata.epochs import Epochs


def lower_bound(epochs: Epochs, given: Sequence[Cut]) -> Cut | None:
    """Return the latest cut that is at or before each of ``given``, None if no valid cut expresses it.

    Each cut is valid. For each key, the older segment and the smaller offset count.
    """
    placed = [Places(epochs, cut) for cut in given]
    edges = sorted({edge for places in placed for r in places.ranges for edge in (r.low, r.high)})
    lowest: dict[int, int] = {}
    for low, high in pairwise(edges):
        segment_id, offset = min(places.between(low, high) for places in placed)
        lowest[segment_id] = min(offset, lowest.get(segment_id, END))
    cut = _cut_of(epochs, lowest)
    return cut if is_valid(epochs, cut) else None


def _cut_of(epochs: Epochs, lowest: dict[int, int]) -> Cut:
    """Return the entries of the bound: -1 after the end of a segment, and while older ones are not read."""
    cut: dict[int, int] = {}
    unread = KeySet()
    for segment_id in sorted(lowest):
        segment, offset = epochs.segment(segment_id), lowest[segment_id]
        assert segment is not None
        cut[segment_id] = -1 if offset == END or unread.has_some_of(segment) else offset
        if offset < END:
            unread.add(segment)
    return cut
