"""What a fork copies is what random readers have not read, in all forms of their cuts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any, cast

import pytest

from pravega_lab.client.values import SegmentInfo
from pravega_lab.lab.fork_plan import plan
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import StreamCut
from tests.client.reading.test_forms_of_cuts import Reader, Stream


class Blocking:
    """A stream with the calls that `plan` makes."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.scoped_name = stream.name

    def epoch_segments(self, epoch: int) -> Sequence[SegmentRange]:
        return self._stream.epochs.epoch(epoch).segments

    def tail(self) -> StreamCut:
        active = [segment.segment_id for segment in self._stream.epochs.active.segments]
        return StreamCut(self.scoped_name, {i: self._stream.lengths[i] for i in active})

    def segment_info(self, segment_id: int) -> SegmentInfo:
        return asyncio.run(self._stream.info(segment_id))


@pytest.mark.parametrize("seed", range(60))
def test_a_fork_copies_what_was_not_read(seed: int) -> None:
    stream, chance = Stream(seed), random.Random(seed)
    reader = Reader(stream, chance)
    reader.go_on(chance.randint(0, 15))
    expected = [(i, reader.at[i], n) for i, n in stream.lengths.items() if n > reader.at[i]]
    for form in asyncio.run(reader.forms()):
        made = plan(cast(Any, Blocking(stream)), form)
        pieces = [(p.segment_id, p.start, p.end) for epoch in made.epochs for p in epoch.pieces]
        assert sorted(pieces) == expected, form
