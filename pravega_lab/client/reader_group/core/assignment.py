"""Decide who should read how much (reader-groups.md B3).

All functions are pure functions of the shared state, in which every reader decides for itself. Updates are
written on the condition that no other member writes first, so two readers never act on the same state.

The rule differs from Java's, and its updates are the same (docs/differences.md). Java's readers order
themselves by waiting times only. A reader that releases a segment may acquire it again before another reader
has refreshed its state, and can starve that reader for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.protocol.hashing import murmur3_x64_128

TIME_UNIT_MS = 1_000
_WORD = 2**64 - 1


def by_load(state: GroupState) -> list[str]:
    """Return the readers online, the one with the most segments first, and the earlier first among equals."""
    return sorted(state.assigned, key=lambda reader: -len(state.assigned[reader]))


def fair_share(state: GroupState, reader: str) -> int:
    """Return the number of segments that ``reader`` should hold.

    The shares of two readers differ by at most one. Where the segments cannot be divided evenly, readers that
    hold more already keep the larger shares, so that few segments move. Of readers that hold a larger share
    or more, the earlier ones keep it, also while they release, one after the other, what exceeds it.
    """
    share, n_larger = divmod(state.n_segments, len(state.assigned))
    larger = [other for other, held in state.assigned.items() if len(held) > share]
    n_ahead = larger.index(reader) if reader in larger else len(larger)
    return share + (n_ahead < n_larger)


def n_missing(state: GroupState, reader: str) -> int:
    """Return how many segments ``reader`` lacks to its fair share: negative if it holds more."""
    return fair_share(state, reader) - len(state.assigned[reader])


def leave_to_others_ms(state: GroupState, reader: str) -> int:
    """Return how long, in ms, a reader that has its share leaves an unassigned segment to other readers.

    Every reader refreshes its state within the refresh time. Java's readers then wait for up to a second per
    reader before they acquire. The most loaded reader waits longest.
    """
    rank = by_load(state).index(reader)
    return state.config.group_refresh_time_ms + TIME_UNIT_MS * (len(state.assigned) - rank)


def n_to_take_over(state: GroupState, n_left: int) -> int:
    """Return how many of ``n_left`` segments that others did not acquire a reader acquires beyond its share.

    At least one reader does not acquire its share, so the segments are divided among the others.
    """
    return max(1, n_left // max(1, len(state.assigned) - 1))


def in_order_of_release(reader: str, segments: Iterable[str]) -> list[str]:
    """Return segments in the order in which ``reader`` releases them.

    A hash seeded with the reader's id decides, so that readers choose differently. It is Java's.
    """
    seed = _java_hash(reader) & _WORD
    return sorted(segments, key=lambda segment: -_hash(segment, seed))


def _hash(segment: str, seed: int) -> int:
    """Return a number that orders segments as Java's ``hashToRange`` does, from the upper 52 bits."""
    return murmur3_x64_128(segment.encode("utf-16-le"), seed)[0] >> 12


def _java_hash(text: str) -> int:
    """Return what Java's ``String.hashCode`` returns, as a signed number."""
    words = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    found = reduce(lambda hashed, word: hashed * 31 + word & 0xFFFFFFFF, words, 0)
    return found - 2**32 if found >= 2**31 else found
