"""Implement the functions of `compiled` in numpy and Python, for machines without numba.

They frame and decode about a million events per second, one Python step per event. Keys of ASCII are hashed
together, a numpy step for 16 bytes of all keys.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pravega_lab.client.framing import pure_python
from pravega_lab.client.framing.values import EVENT_TYPE, HEADER, HEADER_BYTES, Decoded, Run
from pravega_lab.protocol.hashing import ROUTING_SEED, key_position

if TYPE_CHECKING:
    from pravega_lab.client.framing.values import Array


KEY_BYTES_MAX = 64  # of the keys that are hashed together; each takes as much memory as the longest
UNITS_PER_BLOCK = 8  # characters of two bytes that a round of the hash takes
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)


@lru_cache(maxsize=65_536)
def _position(key: bytes) -> float:
    # Text that is not valid UTF-8 gets some position, as in `compiled`.
    return key_position(key.decode(errors="replace"))


def positions_of(offsets: Array, data: Array) -> Array:
    """Return the positions of UTF-8 keys; see `values.ArrayFraming`."""
    text = data[offsets[0] : offsets[-1]]
    if longest(offsets) <= KEY_BYTES_MAX and text.max(initial=0) < 0x80:
        return _ascii_positions(np.diff(offsets), text)
    view = memoryview(np.ascontiguousarray(data))  # type: ignore[arg-type]
    spans = pairwise(offsets.tolist())
    return np.fromiter((_position(bytes(view[a:b])) for a, b in spans), np.float64, len(offsets) - 1)


def _ascii_positions(lengths: Array, text: Array) -> Array:
    """Hash all keys as ``hashing.murmur3_x64_128`` does one. The letters of all keys are in ``text``."""
    whole = lengths // UNITS_PER_BLOCK
    units = np.zeros((len(lengths), (whole.max(initial=0) + 1) * UNITS_PER_BLOCK), "<u2")
    units[np.arange(units.shape[1]) < lengths[:, None]] = text
    words = units.view("<u8").astype(np.uint64)
    first, second = words[:, ::2], words[:, 1::2]
    h1 = np.full(len(lengths), ROUTING_SEED, np.uint64)
    h2 = h1.copy()
    for block in range(whole.max(initial=0)):
        rows = np.flatnonzero(whole > block)
        h1[rows] = (_rotate(h1[rows] ^ _mix_1(first[rows, block]), 27) + h2[rows]) * 5 + 0x52DCE729
        h2[rows] = (_rotate(h2[rows] ^ _mix_2(second[rows, block]), 31) + h1[rows]) * 5 + 0x38495AB5
    rows, n_bytes = np.arange(len(lengths)), (2 * lengths).astype(np.uint64)
    h1 ^= _mix_1(first[rows, whole]) ^ n_bytes
    h2 ^= _mix_2(second[rows, whole]) ^ n_bytes
    h1 += h2
    h2 += h1
    found: Array = (_finish(h1) + _finish(h2) >> 12) * 2.0**-52
    return found


def _rotate(words: Array, bits: int) -> Array:
    rotated: Array = words << bits | words >> 64 - bits
    return rotated


def _mix_1(words: Array) -> Array:
    return _rotate(words * _C1, 31) * _C2


def _mix_2(words: Array) -> Array:
    return _rotate(words * _C2, 33) * _C1


def _finish(words: Array) -> Array:
    words = (words ^ words >> 33) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> 33) * np.uint64(0xC4CEB9FE1A85EC53)
    finished: Array = words ^ words >> 33
    return finished


def longest(offsets: Array) -> int:
    """Return the length of the longest item."""
    return int(np.diff(offsets).max(initial=0))


class Framing:
    """Frames items and sorts them by route; see `values.SliceFraming`."""

    def __init__(self, offsets: Array, data: Array, positions: Array, highs: Array, bytes_max: int) -> None:
        self._offsets, self._data = offsets, memoryview(np.ascontiguousarray(data))  # type: ignore[arg-type]
        self._positions, self._highs, self._bytes_max = positions, highs, bytes_max
        self._frames: list[bytes] = []

    def fill(self, start: int, end: int) -> None:
        """Frame items ``start`` to ``end``."""
        data = self._data
        self._frames += [
            HEADER.pack(EVENT_TYPE, b - a) + data[a:b]
            for a, b in pairwise(self._offsets[start : end + 1].tolist())
        ]

    def runs(self) -> list[Run]:
        """Return all items by route."""
        return pure_python.runs_of(
            self._frames, self._positions.tolist(), self._highs.tolist(), self._bytes_max
        )


def frame_slice(offsets: Array, data: Array, positions: Array, highs: Array, bytes_max: int) -> Framing:
    """Return a framing of the items; see `values.ArrayFraming`."""
    return Framing(offsets, data, positions, highs, bytes_max)


def split(frames: memoryview, positions: Array, highs: Array, bytes_max: int) -> list[Run]:
    """Route framed events again; see ``pure_python.split``."""
    return pure_python.split(frames, np.asarray(positions).tolist(), highs.tolist(), bytes_max)


def decode(block: Any, first: bytes | None = None) -> Decoded:
    """Return the whole events at the start of ``block``; see `values.ArrayFraming`."""
    spans = list(pure_python.walk(block))
    end = spans[-1][1] if spans else 0
    n_first = 0 if first is None else 1
    starts = np.zeros(n_first + len(spans), np.int64)
    starts[n_first:] = [start for start, _ in spans]
    is_payload = np.ones(end, bool)
    is_payload[starts[n_first:, None] + np.arange(HEADER_BYTES)] = False
    payload = np.frombuffer(block, np.uint8, end)[is_payload]
    lengths = [stop - start - HEADER_BYTES for start, stop in spans]
    if first is not None:
        payload = np.concatenate((np.frombuffer(first, np.uint8), payload))
        lengths.insert(0, len(first))
    return Decoded(payload, np.cumsum([0, *lengths], dtype=np.int32), starts, end)
