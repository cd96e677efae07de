"""A read over a long history of scales, in any order offered: each segment once, none before its older ones.

The case that failed first: segments that are empty by the cuts are done from the start, while older ones over
the same keys are still unread; those must not be forgotten before the older ones have been read.
"""

from __future__ import annotations

import random

import pytest

from pravega_lab.client.reading.lineage import Lineage
from pravega_lab.protocol.names import SegmentRange, segment_id

SCALES = 150


def random_history(chance: random.Random) -> list[SegmentRange]:
    """All segments of a stream that was split and merged ``SCALES`` times."""
    active = [SegmentRange(0, 0.0, 1.0)]
    every = list(active)
    number = 0
    for epoch in range(1, SCALES + 1):
        k = chance.randrange(len(active))
        if len(active) > 1 and chance.random() < 0.45:
            k = min(k, len(active) - 2)
            ranges = [(active[k].low, active[k + 1].high)]
            sealed = 2
        else:
            middle = (active[k].low + active[k].high) / 2
            ranges = [(active[k].low, middle), (middle, active[k].high)]
            sealed = 1
        new = [SegmentRange(segment_id(epoch, number + 1 + i), *r) for i, r in enumerate(ranges)]
        number += len(new)
        active[k : k + sealed] = new
        every += new
    return every


@pytest.mark.parametrize("seed", range(20))
def test_every_segment_is_read_once_and_after_its_older_ones(seed: int) -> None:
    chance = random.Random(seed)
    every = random_history(chance)
    by_id = {segment.segment_id: segment for segment in every}
    empty = {segment.segment_id for segment in every if chance.random() < 0.4}
    lineage = Lineage()
    lineage.add((segment, 0) for segment in every)
    for segment in sorted(empty):
        lineage.finish(segment, 0)
    read: list[int] = []
    while lineage.available():
        read.append(chance.choice(lineage.available()))
        lineage.finish(read[-1])
    assert sorted(read) == sorted(by_id.keys() - empty)
    for place, segment in enumerate(read):
        later = [by_id[other] for other in read[place + 1 :]]
        assert not any(o.segment_id < segment and o.overlaps(by_id[segment]) for o in later)


def test_a_segment_waits_only_for_those_right_before_it() -> None:
    """Otherwise a read of thousands of epochs takes the square of their number."""
    every = random_history(random.Random(0))
    lineage = Lineage()
    lineage.add((segment, 0) for segment in every)
    assert sum(len(lineage.waits_for(segment.segment_id)) for segment in every) < 4 * len(every)
