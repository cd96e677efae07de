"""The cut of a group's checkpoint says exactly what was read, also in a merge and next to an ending cut."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from pravega_lab.client.reader_group.values import by_stream
from pravega_lab.client.reader_group.whole_cuts import end_segments, whole
from pravega_lab.client.reading.cuts import settled_end
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import KeyRange, ReaderGroupConfig
from pravega_lab.protocol.names import SegmentRange, parse_segment_name, segment_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ, UNBOUNDED, StreamCut
from tests.client.reader_group.box import Box, Member, Segment
from tests.client.reading.test_forms_of_cuts import Reader, Stream, bytes_between


class GroupStream(Stream):
    """A stream for groups; it may be sealed."""

    def __init__(self, seed: int, *, is_sealed: bool) -> None:
        super().__init__(seed)
        self._is_sealed = is_sealed

    async def head(self, _: str) -> dict[int, int]:
        return {s.segment_id: 0 for s in self.epochs.epoch(0).segments}

    async def current_segments(self, _: str) -> list[SegmentRange]:
        return [] if self._is_sealed else list(self.epochs.active.segments)

    def is_sealed(self, segment_id: int) -> bool:
        return self._is_sealed or not self.epochs.is_active(segment_id)

    def box(self, end: StreamCut) -> Box:
        """Return a group that reads the stream from its beginning, and begins a checkpoint at each time."""
        config = ReaderGroupConfig({self.name: UNBOUNDED}, {self.name: end}, 1, 1)
        box = Box(0, config)
        names = {i: segment_name("s", "x", i) for i in self.epochs.ids}
        for i, name in names.items():
            segment: Any = self.epochs.segment(i)
            box.segments[name] = Segment(
                KeyRange(segment.low, segment.high),
                self.lengths[i],
                self.is_sealed(i),
                tuple(names[f.segment.segment_id] for f in self.epochs.successors(i)),
                tuple(names[p] for p in self.epochs.predecessors(i)),
            )
        first = {names[s.segment_id]: 0 for s in self.epochs.epoch(0).segments}
        box.log[0] = rg.ReaderGroupStateInit(config, first, end_segments(config))
        return box


def read_some(member: Member, chance: random.Random) -> dict[int, int]:
    """Read from each segment, up to the end of the group. Return how far."""
    found = {}
    for name in member.core.readable():
        segment, end = member.box.segments[name], member.box.state().end_of(name)
        last = segment.length if end is None else end
        at = min(last, member.core.held[name] + chance.randint(0, 3))
        member.core.advance(name, at)
        if at == last and (segment.is_sealed or end is not None):
            member.core.end(name, SEGMENT_READ if end is None else end)
        found[parse_segment_name(name).segment_id] = at
    return found


@pytest.mark.parametrize("seed", range(120))
def test_a_checkpoint_in_a_random_history_says_what_was_read(seed: int) -> None:
    async def story() -> None:
        chance = random.Random(seed)
        stream: Any = GroupStream(seed, is_sealed=chance.random() < 0.5)
        end = UNBOUNDED
        if chance.random() < 0.6:
            reader = Reader(stream, chance)
            reader.go_on(chance.randint(0, 25))
            end = await settled_end(stream, chance.choice(await reader.forms()))
        box, read = stream.box(end), dict.fromkeys(stream.epochs.ids, 0)
        member = Member(box, "r")
        for _ in range(25):
            box.now_ms += 1_000
            if member.decide() is not None:
                member.decide()  # reports
                at = by_stream(box.state().checkpoints.last_positions).get(stream.name, {})
                cut = StreamCut(stream.name, await whole(stream, at, end))
                left = {i: n - read[i] for i, n in stream.lengths.items() if n > read[i]}
                assert await bytes_between(stream, cut, None) == left, (cut, end)
            read |= read_some(member, chance)

    asyncio.run(story())
