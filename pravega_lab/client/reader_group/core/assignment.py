"""Decide who should read how much (reader-groups.md B3), with the numbers of Java's client.

All functions are pure functions of the shared state, in which every reader decides for itself. The waiting
times, kept in `timers`, determine which reader acts first.
"""

from __future__ import annotations

from functools import reduce
from math import floor

from pravega_lab.client.reader_group.core.state import LAG_MS_MIN, GroupState
from pravega_lab.protocol.hashing import murmur3_x64_128

TIME_UNIT_MS = 1_000
_WORD = 2**64 - 1


def relative_sizes(state: GroupState) -> dict[str, float]:
    """Return the load of each reader: its number of segments, weighted by its lag; 0.0 without segments."""
    lags = {r: max(LAG_MS_MIN, state.distance_to_tail_ms[r]) for r in state.distance_to_tail_ms}
    longest = max((lags[r] for r, held in state.assigned.items() if held and r in lags), default=1)
    return {
        r: len(held) * (lags.get(r, LAG_MS_MIN) / longest) if held else 0.0
        for r, held in state.assigned.items()
    }


def ranking(state: GroupState, reader: str) -> int:
    """Return a reader's place by load: 0 for the most loaded reader, -1 for a reader that is not online."""
    sizes = relative_sizes(state)
    return sorted(sizes, key=lambda r: -sizes[r]).index(reader) if reader in sizes else -1


def acquire_wait_ms(state: GroupState, reader: str) -> int:
    """Return how long to wait, in ms, before acquiring again. The most loaded reader waits longest."""
    return TIME_UNIT_MS * max(1, len(state.assigned) - ranking(state, reader))


def release_wait_ms(state: GroupState, reader: str) -> int:
    """Return how long to wait, in ms, before releasing again. The most loaded reader waits shortest."""
    return TIME_UNIT_MS * (1 + ranking(state, reader))


def n_to_acquire(state: GroupState, reader: str) -> int:
    """Return how many unassigned segments to acquire at once: at least one if any is unassigned."""
    free, n_readers = len(state.unassigned), len(state.assigned)
    if free == 0:
        return 0
    fair = floor(state.n_segments / n_readers + 0.5) - len(state.assigned[reader])
    return max(free // n_readers, min(free, fair), 1)


def segments_to_acquire(state: GroupState, reader: str) -> list[str]:
    """Return the unassigned segments that ``reader`` should acquire now, in the order of the state."""
    return list(state.unassigned)[: n_to_acquire(state, reader)]


def owns_too_much(state: GroupState, reader: str) -> bool:
    """Return whether another reader has so much less that ``reader`` should release a segment."""
    if len(state.assigned.get(reader, ())) <= 1:
        return False
    sizes = relative_sizes(state)
    return sizes[reader] > min(sizes.values()) + max(1, len(state.unassigned))


def segment_to_release(state: GroupState, reader: str) -> str | None:
    """Return the segment that ``reader`` should release, or None if it should keep all.

    A hash seeded with the reader's id chooses the segment, so that readers choose differently.
    """
    if not owns_too_much(state, reader):
        return None
    seed = _java_hash(reader) & _WORD
    return max(state.assigned[reader], key=lambda segment: _hash(segment, seed))


def _hash(segment: str, seed: int) -> int:
    """Return a number that orders segments as Java's ``hashToRange`` does, from the upper 52 bits."""
    return murmur3_x64_128(segment.encode("utf-16-le"), seed)[0] >> 12


def _java_hash(text: str) -> int:
    """Return what Java's ``String.hashCode`` returns, as a signed number."""
    words = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    found = reduce(lambda hashed, word: hashed * 31 + word & 0xFFFFFFFF, words, 0)
    return found - 2**32 if found >= 2**31 else found
