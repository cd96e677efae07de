"""The engine's sources read the same between two positions in all their forms as cuts."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from pravega_lab.client.reading.single_segments import SingleSegments
from pravega_lab.connector.flow.segments.source import initial_splits
from tests.client.reading.test_forms_of_cuts import Reader, Stream


@pytest.mark.parametrize("seed", range(60))
def test_splits_between_all_forms_are_the_same(seed: int) -> None:
    async def story() -> None:
        stream, chance = Stream(seed), random.Random(seed)
        segments: Any = SingleSegments.__new__(SingleSegments)
        segments._context = stream
        reader = Reader(stream, chance)
        reader.go_on(chance.randint(0, 15))
        first, starts = dict(reader.at), await reader.forms()
        reader.go_on(chance.randint(0, 6))
        expected = {i: (first[i], last) for i, last in reader.at.items() if last > first[i]}
        for end in await reader.forms():
            for start in starts:
                splits = await initial_splits(segments, stream.name, start, end)
                lengths = stream.lengths
                found = {
                    s.segment_id: (s.offset, lengths[s.segment_id] if s.end is None else s.end)
                    for s in splits
                }
                assert {i: part for i, part in found.items() if part[0] < part[1]} == expected, (start, end)

    asyncio.run(story())
