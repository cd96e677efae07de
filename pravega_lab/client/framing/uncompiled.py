"""Implement the functions of `compiled` in numpy and Python, for machines without numba.

They frame and decode about a million events per second, one Python step per event.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pravega_lab.client.framing import pure_python
from pravega_lab.client.framing.values import EVENT_TYPE, HEADER, HEADER_BYTES, Decoded, Run
from pravega_lab.protocol.hashing import key_position

if TYPE_CHECKING:
    from pravega_lab.client.framing.values import Array


@lru_cache(maxsize=65_536)
def _position(key: bytes) -> float:
    # Text that is not valid UTF-8 gets some position, as in `compiled`.
    return key_position(key.decode(errors="replace"))


def positions_of(offsets: Array, data: Array) -> Array:
    """Return the positions of UTF-8 keys; see `values.ArrayFraming`."""
    view = memoryview(np.ascontiguousarray(data))  # type: ignore[arg-type]
    spans = pairwise(offsets.tolist())
    return np.fromiter((_position(bytes(view[a:b])) for a, b in spans), np.float64, len(offsets) - 1)


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
