"""Frame, route and decode events in pure Python, without numpy: for a handful of events.

The versions over whole arrays (`compiled`, `uncompiled`) are tested against this one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pravega_lab.client.framing.values import EVENT_TYPE, HEADER, HEADER_BYTES, Run
from pravega_lab.errors import ProtocolError


class _Kept(NamedTuple):
    """Holds the positions of each run's events."""

    positions: Sequence[Sequence[float]]

    def positions_of(self, number: int) -> Sequence[float]:
        return self.positions[number]


def frame(payload: bytes) -> bytes:
    """Return one event as a segment stores it."""
    return HEADER.pack(EVENT_TYPE, len(payload)) + payload


def walk(frames: bytes | memoryview) -> Iterator[tuple[int, int]]:
    """Yield start and end of each whole frame. Raises ``ProtocolError`` where no event begins."""
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
    """Return the payloads, where their frames start, and how many bytes the whole frames take."""
    spans = list(walk(frames))
    payloads = [bytes(frames[start + HEADER_BYTES : end]) for start, end in spans]
    return payloads, [start for start, _ in spans], spans[-1][1] if spans else 0


def route_of(position: float, highs: Sequence[float]) -> int:
    """Return the index of the range that owns ``position`` (pravega.md A3).

    ``highs`` are the upper ends of the ranges in ascending order.
    """
    return min(bisect_left(highs, position), len(highs) - 1)


def run_of(payload: bytes, position: float, highs: Sequence[float]) -> Run:
    """Return one framed event; see `runs_of`."""
    return Run(route_of(position, highs), memoryview(frame(payload)), 1, _Kept(((position,),)), 0)


def runs_of(
    frames: Iterable[bytes | memoryview], positions: Sequence[float], highs: Sequence[float], bytes_max: int
) -> list[Run]:
    """Return framed events sorted by route, the order within a route kept.

    The events of a route are cut into runs of at most ``bytes_max`` bytes; one event may be larger.
    """
    open_runs: dict[int, tuple[list[bytes | memoryview], list[float]]] = {}
    open_bytes: dict[int, int] = {}
    found: list[tuple[int, tuple[list[bytes | memoryview], list[float]]]] = []
    for piece, position in zip(frames, positions, strict=True):
        route = route_of(position, highs)
        run = open_runs.get(route)
        if run is None or open_bytes[route] + len(piece) > bytes_max:
            run = open_runs[route] = ([], [])
            open_bytes[route] = 0
            found.append((route, run))
        run[0].append(piece)
        run[1].append(position)
        open_bytes[route] += len(piece)
    ordered = sorted(found, key=lambda item: item[0])
    kept = _Kept([places for _, (_, places) in ordered])
    return [
        Run(route, memoryview(b"".join(pieces)), len(pieces), kept, number)
        for number, (route, (pieces, _)) in enumerate(ordered)
    ]


def split(
    frames: bytes | memoryview, positions: Sequence[float], highs: Sequence[float], bytes_max: int
) -> list[Run]:
    """Return framed events sorted by other routes, for ranges that a scale has replaced."""
    view = memoryview(frames)
    return runs_of([view[start:end] for start, end in walk(view)], positions, highs, bytes_max)
