"""Define the arguments and results of framing and decoding: runs of frames, decoded blocks.

An event in a segment is i32 type 0, i32 length, payload, big-endian (pravega.md A11).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

HEADER = struct.Struct(">ii")
HEADER_BYTES = HEADER.size
EVENT_TYPE = 0


class Routed(Protocol):
    """Describes the source of runs, which knows each event's position in the key space, to route it again."""

    def positions_of(self, number: int) -> Sequence[float]:
        """Return the position in the key space of each event of run ``number``."""
        ...


class Run(NamedTuple):
    """Holds consecutive frames of one route in the order of writing, about one append block at most."""

    route: int
    frames: memoryview
    n_events: int
    source: Routed
    number: int  # of the run in its source

    @property
    def positions(self) -> Sequence[float]:
        """Return each event's position in the key space. Looked up on demand: few runs are routed again."""
        return self.source.positions_of(self.number)


class Decoded(NamedTuple):
    """Holds the whole events of a block: the buffers of an Arrow binary array, and where frames start."""

    payload: Array  # uint8
    offsets: Array  # int32, one more than events
    starts: Array  # int64; undefined for an event that was put in front
    end: int  # bytes of the block that whole events take


class SliceFraming(Protocol):
    """Frames a slice of events and sorts them by route, in one or several steps."""

    def fill(self, start: int, end: int) -> None:
        """Frame events ``start`` to ``end`` (exclusive). Call it for all events, in order."""
        ...

    def runs(self) -> list[Run]:
        """Return all events by route; see ``pure_python.runs_of``."""
        ...


class ArrayFraming(Protocol):
    """Describes the functions over whole arrays, which `compiled` and `uncompiled` both have.

    Items are ``data[offsets[i]:offsets[i + 1]]``: ``offsets`` is an int32 or int64 array with one entry more
    than items, ``data`` a uint8 array.
    """

    def positions_of(self, offsets: Array, data: Array) -> Array:
        """Return the positions (float64) of UTF-8 keys, as ``hashing.key_position`` computes them."""
        ...

    def longest(self, offsets: Array) -> int:
        """Return the length of the longest item in bytes, 0 if there is no item."""
        ...

    def frame_slice(
        self, offsets: Array, data: Array, positions: Array, highs: Array, bytes_max: int
    ) -> SliceFraming:
        """Return a framing of the items, routed by ``positions`` to the ranges that end at ``highs``."""
        ...

    def split(self, frames: memoryview, positions: Array, highs: Array, bytes_max: int) -> list[Run]:
        """Route framed events again; see ``pure_python.split``."""
        ...

    def decode(self, block: Any, first: bytes | None = None) -> Decoded:
        """Return the whole events at the start of ``block``, after the payload ``first`` if there is one.

        Raises:
            ProtocolError: A frame does not begin with a valid header.
        """
        ...
