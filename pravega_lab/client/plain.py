"""Event frames and routing in plain Python: for a handful of events, and the measure of the fast versions.

An event in a segment is i32 type 0, i32 length, payload, big-endian (A11). `compiled` has functions of the
same names over whole arrays; tests hold the two against each other.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from pravega_lab.errors import ProtocolError

HEADER = struct.Struct(">ii")
HEADER_BYTES = HEADER.size
EVENT_TYPE = 0


class Routed(Protocol):
    """What runs come from, and what routes them again after a scale."""

    def positions_of(self, number: int) -> Sequence[float]:
        """Where in the key space each event of a run is."""
        ...


class Run(NamedTuple):
    """Consecutive frames of one route's events, at most about a block, in the order they came."""

    route: int
    frames: memoryview
    n_events: int
    source: Routed
    number: int  # of the run there

    @property
    def positions(self) -> Sequence[float]:
        """Of each event in the key space: looked up, for few runs are ever routed again."""
        return self.source.positions_of(self.number)


class _Kept(NamedTuple):
    """Positions by run."""

    positions: Sequence[Sequence[float]]

    def positions_of(self, number: int) -> Sequence[float]:
        return self.positions[number]


def frame(payload: bytes) -> bytes:
    """One event as it stands in a segment."""
    return HEADER.pack(EVENT_TYPE, len(payload)) + payload


def walk(frames: bytes | memoryview) -> Iterator[tuple[int, int]]:
    """Start and end of each whole frame. Raises ``ProtocolError`` where no event begins."""
    at, end = 0, len(frames)
    while end - at >= HEADER_BYTES:
        kind, length = HEADER.unpack_from(frames, at)
        if kind != EVENT_TYPE or length < 0:
            raise ProtocolError(f"byte {at}: an event was expected, found type {kind}, length {length}")
        if at + HEADER_BYTES + length > end:
            return
        yield at, at + HEADER_BYTES + length
        at += HEADER_BYTES + length


def decode(frames: bytes | memoryview) -> tuple[list[bytes], list[int], int]:
    """Payloads, where their frames start, and how many bytes whole frames take."""
    spans = list(walk(frames))
    payloads = [bytes(frames[start + HEADER_BYTES : end]) for start, end in spans]
    return payloads, [start for start, _ in spans], spans[-1][1] if spans else 0


def route_of(position: float, highs: Sequence[float]) -> int:
    """Which of the ranges, given by their upper ends in ascending order, owns ``position`` (A3)."""
    return min(bisect_left(highs, position), len(highs) - 1)


def runs_of(
    frames: Sequence[bytes | memoryview], positions: Sequence[float], highs: Sequence[float], bytes_max: int
) -> list[Run]:
    """Framed events by route, cut into runs of at most ``bytes_max`` bytes (one event may be larger)."""
    open_runs: dict[int, tuple[list[bytes | memoryview], list[float]]] = {}
    found: list[tuple[int, tuple[list[bytes | memoryview], list[float]]]] = []
    for piece, position in zip(frames, positions, strict=True):
        route = route_of(position, highs)
        run = open_runs.get(route)
        if run is None or sum(map(len, run[0])) + len(piece) > bytes_max:
            run = open_runs[route] = ([], [])
            found.append((route, run))
        run[0].append(piece)
        run[1].append(position)
    ordered = sorted(found, key=lambda item: item[0])
    kept = _Kept([places for _, (_, places) in ordered])
    return [
        Run(route, memoryview(b"".join(pieces)), len(pieces), kept, number)
        for number, (route, (pieces, _)) in enumerate(ordered)
    ]


def split(
    frames: bytes | memoryview, positions: Sequence[float], highs: Sequence[float], bytes_max: int
) -> list[Run]:
    """Route framed events again, to other ranges."""
    view = memoryview(frames)
    return runs_of([view[start:end] for start, end in walk(view)], positions, highs, bytes_max)
