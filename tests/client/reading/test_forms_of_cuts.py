"""A position has several forms as a cut. Reads between any two return the same, in random histories."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from pravega_lab.client.context import StreamContext
from pravega_lab.client.reading.cuts import (
    bounds_between,
    latest_form,
    segments_between,
    settled,
    settled_end,
)
from pravega_lab.client.reading.lineage import without_placeholders
from pravega_lab.client.values import SegmentInfo, Successor
from pravega_lab.engine.store.metadata import cuts
from pravega_lab.errors import BadInputError, RefusedError
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ, StreamCut
from tests.engine.store.controller.test_epochs import Progress, random_history

SEEDS = range(150)


class Stream:
    """A stream with a random history, as the client and its controller see it. Some segments are empty."""

    name = "s/x"

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.epochs = random_history(seed, chance.randint(0, 7))
        self.lengths = {i: chance.choice((0, chance.randint(1, 9))) for i in self.epochs.ids}
        self.controller = self

    async def ranges(self, ids: Sequence[int]) -> list[SegmentRange]:
        return [cast(SegmentRange, self.epochs.segment(i)) for i in ids]

    async def successors(self, _: str, segment: int) -> list[Successor]:
        return [Successor(f.segment, tuple(f.predecessors)) for f in self.epochs.successors(segment)]

    async def segments_between(self, _: str, start: Mapping[int, int], end: Mapping[int, int]) -> list[int]:
        try:
            return cuts.between(self.epochs, dict(start), dict(end))
        except BadInputError as error:
            raise RefusedError(str(error)) from error

    async def info(self, segment: int) -> SegmentInfo:
        return SegmentInfo(0, self.lengths[segment], not self.epochs.is_active(segment), 0)


class Reader(Progress):
    """A reader of a `Stream`; `bytes_read` says how far it is in each segment."""

    def __init__(self, stream: Stream, chance: random.Random) -> None:
        self.stream = stream
        super().__init__(stream.epochs, chance, 0)

    def go_on(self, steps: int) -> None:
        super().go_on(steps)
        lengths = self.stream.lengths
        self.at = {i: lengths[i] if i in self.read else min(at, lengths[i]) for i, at in self.at.items()}

    async def forms(self) -> list[StreamCut]:
        context = cast(StreamContext, self.stream)
        own = StreamCut(self.stream.name, self.positions())
        made = [await form(context, own) for form in (settled, settled_end, latest_form)]
        return [own, StreamCut(self.stream.name, self.cut()), *made]

    def positions(self) -> dict[int, int]:
        """What a read reports: it lists read segments at -1, and none that waits."""
        found: dict[int, int] = {}
        ranges = {i: s for i in self.stream.epochs.ids if (s := self.stream.epochs.segment(i)) is not None}
        edges = sorted({edge for s in ranges.values() for edge in (s.low, s.high)})
        left = set(edges[:-1])
        for i in sorted(ranges, reverse=True):
            here = {edge for edge in left if ranges[i].low <= edge < ranges[i].high}
            if here and (i in self.read or self._may_read(i)):
                found[i] = SEGMENT_READ if i in self.read else self.at[i]
                left -= here
        return dict(sorted(found.items()))


async def bytes_between(stream: Stream, start: StreamCut, end: StreamCut | None) -> dict[int, int]:
    """Return how many bytes of each segment a read between two cuts returns."""
    context = cast(StreamContext, stream)
    begins = without_placeholders(start.positions, await stream.ranges(list(start.positions)))
    ends: Mapping[int, int] = {}
    if end is None:
        between = await segments_between(context, start, None)
    else:
        end, between = await bounds_between(context, start, begins, await settled_end(context, end))
        ends = end.positions
    found = {}
    for i in between:
        last = stream.lengths[i] if ends.get(i, SEGMENT_READ) == SEGMENT_READ else ends[i]
        first = begins.get(i, 0)
        found[i] = 0 if first == SEGMENT_READ else max(0, last - first)
    return {i: n for i, n in found.items() if n}


@pytest.mark.parametrize("seed", SEEDS)
def test_reads_between_two_positions_return_the_same_in_all_forms(seed: int) -> None:
    async def story() -> None:
        stream, chance = Stream(seed), random.Random(seed)
        reader = Reader(stream, chance)
        reader.go_on(chance.randint(0, 15))
        read, starts = dict(reader.at), await reader.forms()
        for start in starts:
            truncated = (await settled(cast(StreamContext, stream), start)).positions
            assert cuts.is_valid(stream.epochs, truncated), start
            gone = cuts.before(stream.epochs, truncated, stream.epochs.ids)
            assert {i for i in reader.read if i not in truncated} <= set(gone)
            assert all(read[i] == stream.lengths[i] for i in gone)
        reader.go_on(chance.randint(0, 6))
        then, ends = reader.at, await reader.forms()
        for start in starts:
            left = {i: n - read[i] for i, n in stream.lengths.items() if n > read[i]}
            assert await bytes_between(stream, start, None) == left, start
            for end in ends:
                expected: dict[int, Any] = {i: n - read[i] for i, n in then.items() if n > read[i]}
                assert await bytes_between(stream, start, end) == expected, (start, end)

    asyncio.run(story())
