"""The position of a key in the key space [0, 1], bit for bit as upstream's clients compute it.

This is plain Python for one key at a time, and the oracle in the tests of every faster version. The writer
decides to which segment an event goes, never the server.

Source: pravega.md A3.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import pairwise

ROUTING_SEED = 1741865571  # Java's hashCode of "EventRouter"
TABLE_SEED = -2020233499 % 2**64  # Java's hashCode of "KeyValueTableRouter", widened to 64 bits with its sign

_MASK = (1 << 64) - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F
_TWO_WORDS = struct.Struct("<QQ")
_WORD = struct.Struct("<Q")
_DOUBLE = struct.Struct("<d")

Range = tuple[float, float]
"""The keys above the first position, up to the second one."""


def key_position(routing_key: str) -> float:
    """Return the position of ``routing_key`` in [0, 1), as Java computes it.

    ``""`` is a key like any other.

    The Rust writer places keys with non-ASCII characters elsewhere, because of a bug in its buffer
    (pravega.md A3). The events of such a key keep their order only if all its writers are of one kind.
    """
    return _position(routing_key.encode("utf-16-le", "surrogatepass"), ROUTING_SEED)


def table_key_position(primary_key: bytes) -> float:
    """Return the position in [0, 1) of a primary key of a key-value table, as Java computes it."""
    return _position(primary_key, TABLE_SEED)


def _position(data: bytes, seed: int) -> float:
    hashed = murmur3_x64_128(data, seed)[0]
    # The upper 52 bits become the fraction of a double in [1, 2).
    one_to_two: float = _DOUBLE.unpack(_WORD.pack(hashed >> 12 | 0x3FF0000000000000))[0]
    return one_to_two - 1.0


def initial_ranges(n: int) -> list[Range]:
    """Return the key ranges of ``n`` equal segments. The last one ends at exactly 1.0.

    Upstream's ``n * (1.0 / n)`` is below 1.0 for n = 49, 98, 103 and others, which both upstream clients
    refuse.
    """
    return equal_parts(0.0, 1.0, n)


def equal_parts(low: float, high: float, n: int) -> list[Range]:
    """Return ``n`` ranges of equal width. The last one ends at exactly ``high`` (pravega.md A6)."""
    width = (high - low) / n
    return list(pairwise([low + i * width for i in range(n)] + [high]))


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Return the ranges in order. Ranges that touch at exactly one double are joined."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and found[-1][1] == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found


def murmur3_x64_128(data: bytes, seed: int) -> tuple[int, int]:
    """Return both halves of the 128-bit MurmurHash3 for 64-bit machines, as unsigned integers."""
    h1 = h2 = seed
    whole = len(data) & ~15
    for k1, k2 in _TWO_WORDS.iter_unpack(data[:whole]):
        h1 = (_rotate(h1 ^ _mix_1(k1), 27) + h2) * 5 + 0x52DCE729 & _MASK
        h2 = (_rotate(h2 ^ _mix_2(k2), 31) + h1) * 5 + 0x38495AB5 & _MASK
    k1, k2 = _TWO_WORDS.unpack(data[whole:].ljust(16, b"\0"))  # zeros mix to zero
    h1 ^= _mix_1(k1) ^ len(data)
    h2 ^= _mix_2(k2) ^ len(data)
    h1 = h1 + h2 & _MASK
    h2 = h1 + h2 & _MASK
    h1, h2 = _finish(h1), _finish(h2)
    h1 = h1 + h2 & _MASK
    return h1, h1 + h2 & _MASK


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _MASK


def _mix_1(word: int) -> int:
    return _rotate(word * _C1 & _MASK, 31) * _C2 & _MASK


def _mix_2(word: int) -> int:
    return _rotate(word * _C2 & _MASK, 33) * _C1 & _MASK


def _finish(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return word ^ word >> 33
