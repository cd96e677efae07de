"""Who should read how much (B3): pure functions of the shared state, the numbers as in Java.

Every reader decides for itself from the same state; timers (`reader`) order who goes first.
"""

from __future__ import annotations

from functools import reduce
from math import floor

from pravega_lab.client.reader_group.state import LAG_MS_MIN, GroupState
from pravega_lab.protocol.hashing import murmur3_x64_128

TIME_UNIT_MS = 1_000
_WORD = 2**64 - 1


def relative_sizes(state: GroupState) -> dict[str, float]:
    """How loaded each reader is: its segments, weighted by how far it is behind; 0.0 without segments."""
    lags = {r: max(LAG_MS_MIN, state.distance_to_tail_ms[r]) for r in state.distance_to_tail_ms}
    longest = max((lags[r] for r, held in state.assigned.items() if held and r in lags), default=1)
    return {
        r: len(held) * (lags.get(r, LAG_MS_MIN) / longest) if held else 0.0
        for r, held in state.assigned.items()
    }


def ranking(state: GroupState, reader: str) -> int:
    """0 for the most loaded reader; -1 for one that is not online."""
    sizes = relative_sizes(state)
    return sorted(sizes, key=lambda r: -sizes[r]).index(reader) if reader in sizes else -1


def acquire_wait_ms(state: GroupState, reader: str) -> int:
    """How long to wait before acquiring again: the most loaded waits longest."""
    return TIME_UNIT_MS * max(1, len(state.assigned) - ranking(state, reader))


def release_wait_ms(state: GroupState, reader: str) -> int:
    """How long to wait before releasing again: the most loaded waits shortest."""
    return TIME_UNIT_MS * (1 + ranking(state, reader))


def n_to_acquire(state: GroupState, reader: str) -> int:
    """How many unassigned segments to take at once; at least one if there is one."""
    free, n_readers = len(state.unassigned), len(state.assigned)
    if free == 0:
        return 0
    fair = floor(state.n_segments / n_readers + 0.5) - len(state.assigned[reader])
    return max(free // n_readers, min(free, fair), 1)


def segments_to_acquire(state: GroupState, reader: str) -> list[str]:
    return list(state.unassigned)[: n_to_acquire(state, reader)]


def owns_too_much(state: GroupState, reader: str) -> bool:
    """Is there somebody who has so much less that a segment should move?"""
    if len(state.assigned.get(reader, ())) <= 1:
        return False
    sizes = relative_sizes(state)
    return sizes[reader] > min(sizes.values()) + max(1, len(state.unassigned))


def segment_to_release(state: GroupState, reader: str) -> str | None:
    """A segment that another reader should have, if so; chosen by a hash, so that all differ in taste."""
    if not owns_too_much(state, reader):
        return None
    seed = _java_hash(reader) & _WORD
    return max(state.assigned[reader], key=lambda segment: _hash(segment, seed))


def _hash(segment: str, seed: int) -> int:
    """Orders segments as upstream's ``hashToRange``, which makes a fraction of the upper 52 bits."""
    return murmur3_x64_128(segment.encode("utf-16-le"), seed)[0] >> 12


def _java_hash(text: str) -> int:
    """Java's hashCode of a string, signed."""
    words = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    found = reduce(lambda hashed, word: hashed * 31 + word & 0xFFFFFFFF, words, 0)
    return found - 2**32 if found >= 2**31 else found
