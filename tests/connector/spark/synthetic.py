"""Streams made up for the tests of the connector's arithmetic: epochs, segments, events, and a controller's
answers.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

Span = tuple[float, float]
HEADER_BYTES = 8


def segment_id(epoch: int, number: int) -> int:
    return epoch << 32 | number


@dataclass
class SyntheticStream:
    """Segments with key ranges and event boundaries. An event has a key (a point of the key space) and a
    number.
    """

    active: dict[int, Span] = field(default_factory=dict)
    spans: dict[int, Span] = field(default_factory=dict)
    epochs: list[list[int]] = field(default_factory=list)
    bounds: dict[int, list[int]] = field(default_factory=dict)
    events: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    written: int = 0

    @classmethod
    def with_segments(cls, n: int) -> SyntheticStream:
        stream = cls()
        stream._open([(i / n, (i + 1) / n) for i in range(n)])
        return stream

    def _open(self, spans: list[Span]) -> None:
        epoch = len(self.epochs)
        for number, span in enumerate(spans):
            segment = segment_id(epoch, number)
            self.active[segment] = self.spans[segment] = span
            self.bounds[segment] = [0]
            self.events[segment] = []
        self.epochs.append(sorted(self.active))

    def scale(self, sealed: list[int], spans: list[Span]) -> None:
        for segment in sealed:
            del self.active[segment]
        self._open(spans)

    def write(self, key: float, size: int) -> None:
        segment = next(s for s, (low, high) in self.active.items() if low <= key < high)
        self.bounds[segment].append(self.bounds[segment][-1] + HEADER_BYTES + size)
        self.events[segment].append((key, self.written))
        self.written += 1

    def length(self, segment: int) -> int:
        return self.bounds[segment][-1]

    def head(self) -> dict[int, int]:
        return dict.fromkeys(self.epochs[0], 0)

    def tail(self) -> dict[int, int]:
        return {segment: self.length(segment) for segment in sorted(self.active)}

    def boundary(self, segment: int, begin: int, at_least: int) -> int:
        assert begin in self.bounds[segment]
        return next(bound for bound in self.bounds[segment] if bound >= at_least)

    def between(self, start: dict[int, int], end: dict[int, int]) -> list[int]:
        """What getSegmentsBetween answers (pravega.md A9)."""
        return [s for s in sorted(self.spans) if self._after(s, start) and self._before(s, end)]

    def _after(self, segment: int, cut: dict[int, int]) -> bool:
        return all(other <= segment for other in cut if self._overlap(segment, other))

    def _before(self, segment: int, cut: dict[int, int]) -> bool:
        return all(segment <= other for other in cut if self._overlap(segment, other))

    def _overlap(self, one: int, other: int) -> bool:
        return self.spans[one][0] < self.spans[other][1] and self.spans[other][0] < self.spans[one][1]

    def read(self, segment: int, begin: int, end: int) -> list[tuple[float, int]]:
        first, last = self.bounds[segment].index(begin), self.bounds[segment].index(end)
        return self.events[segment][first:last]


def scale_at_random(stream: SyntheticStream, chance: random.Random) -> None:
    """Replace one to three neighbouring segments by one to three others, boundaries chosen freely."""
    row = sorted(stream.active, key=lambda s: stream.active[s])
    first = chance.randrange(len(row))
    sealed = row[first : first + chance.randint(1, 3)]
    low, high = stream.active[sealed[0]][0], stream.active[sealed[-1]][1]
    parts = chance.randint(1, 3)
    steps = sorted(chance.sample(range(1, 16), parts - 1))
    bounds = [low, *(low + (high - low) * step / 16 for step in steps), high]
    stream.scale(sealed, list(itertools.pairwise(bounds)))


def stream_at_random(seed: int, events: int = 200, scales: int = 6) -> SyntheticStream:
    chance = random.Random(seed)
    stream = SyntheticStream.with_segments(chance.randint(1, 4))
    for _ in range(scales):
        for _ in range(chance.randint(0, 2 * events // scales)):
            stream.write(chance.random(), chance.randint(0, 100))
        scale_at_random(stream, chance)
    for _ in range(events // scales):
        stream.write(chance.random(), chance.randint(0, 100))
    return stream
