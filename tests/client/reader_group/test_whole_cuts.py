"""Cuts in the middle of merges: what they lack, how a group begins or ends at one. Found by simulation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pravega_lab.client.reader_group.calls import complete
from pravega_lab.client.reader_group.opening import reading
from pravega_lab.client.reader_group.values import full_names
from pravega_lab.client.reader_group.whole_cuts import Start, add_start, whole
from pravega_lab.client.reading.cuts import settled, settled_end
from pravega_lab.client.values import HEAD, TAIL, ScalingPolicy, Successor
from pravega_lab.engine.simulation.groups.apps import group_of
from pravega_lab.engine.simulation.store.world import World
from pravega_lab.protocol.key_set import is_whole
from pravega_lab.protocol.metadata.reader_group import (
    CompactReaderGroupState,
    ReaderGroupConfig,
    ReaderGroupStateInit,
    RetentionType,
)
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut

MANUAL = RetentionType.MANUAL_RELEASE_AT_USER_STREAMCUT


class History:
    """A stream's segments, each with its keys in eighths; predecessors follow from the keys."""

    name = "s/x"

    def __init__(self, epochs: Sequence[dict[int, tuple[int, int]]]) -> None:
        self._ranges: dict[int, SegmentRange] = {}
        self._before: dict[int, tuple[int, ...]] = {}
        active: list[int] = []
        for new in epochs:
            made = {i: SegmentRange(i, low / 8, high / 8) for i, (low, high) in new.items()}
            sealed = [a for a in active if any(self._ranges[a].overlaps(r) for r in made.values())]
            for i, segment in made.items():
                self._before[i] = tuple(a for a in sealed if self._ranges[a].overlaps(segment))
            self._ranges |= made
            active = [a for a in active if a not in sealed] + list(made)
        self._active = active
        self.controller: Any = SimpleNamespace(
            successors=self._successors, current_segments=self._current_segments
        )

    async def ranges(self, ids: Sequence[int]) -> list[SegmentRange]:
        return [self._ranges[i] for i in ids]

    def segment_name(self, segment_id: int) -> str:
        return f"s/x/{segment_id}.#epoch.0"

    async def _successors(self, stream: str, segment_id: int) -> list[Successor]:
        return [Successor(self._ranges[i], b) for i, b in self._before.items() if segment_id in b]

    async def _current_segments(self, stream: str) -> list[SegmentRange]:
        return [self._ranges[i] for i in self._active]


MERGE = History([{0: (0, 4), 1: (4, 8)}, {2: (0, 8)}])
# 8 is split, then its parts are merged with the neighbours: 1 and 5 were read before 8 is.
FAR_MERGE = History(
    [
        {0: (0, 1), 1: (1, 2), 3: (2, 5), 5: (5, 6), 6: (6, 8)},
        {8: (2, 5)},
        {9: (2, 3), 10: (3, 5)},
        {12: (3, 6)},
        {13: (1, 6)},
    ]
)
# 1 and 2 give way to 4 and 5, of which 5 has keys of both.
SHIFTED = History([{0: (0, 2), 1: (2, 4), 2: (4, 6), 3: (6, 8)}, {4: (2, 3), 5: (3, 6)}])
# 5 has keys of 0 and of 2, which follows 1.
TWO_SCALES = History([{0: (0, 4), 1: (4, 8)}, {2: (4, 6), 3: (6, 8)}, {4: (0, 2), 5: (2, 6)}])
# 6 has keys of 0 and of 3, which follows 1.
NESTED = History([{0: (0, 3), 1: (3, 6), 2: (6, 8)}, {3: (3, 4), 4: (4, 6)}, {5: (0, 1), 6: (1, 4)}])


@pytest.mark.parametrize(
    ("history", "positions", "expected"),
    [
        (MERGE, {0: 5, 1: 9}, {0: 5, 1: 9}),
        (MERGE, {1: 9}, {0: -1, 1: 9}),
        (MERGE, {0: -1, 1: 9}, {0: -1, 1: 9}),
        (MERGE, {2: 0}, {2: 0}),
        (FAR_MERGE, {0: 7, 8: 0, 6: 3}, {0: 7, 1: -1, 5: -1, 6: 3, 8: 0}),
        (FAR_MERGE, {0: 7, 9: 0, 10: 4, 6: 3}, {0: 7, 1: -1, 5: -1, 6: 3, 9: 0, 10: 4}),
        (SHIFTED, {0: 0, 3: 0, 4: 2, 2: 8}, {0: 0, 1: -1, 2: 8, 3: 0, 4: 2}),
    ],
)
def test_what_a_cut_lacks(history: Any, positions: dict[int, int], expected: dict[int, int]) -> None:
    found = asyncio.run(whole(history, positions))
    assert found == expected
    assert is_whole(asyncio.run(history.ranges(list(found))))


@pytest.mark.parametrize(
    ("history", "positions", "unassigned", "future"),
    [
        (MERGE, {0: 5, 1: 9}, {0: 5, 1: 9}, {}),
        (MERGE, {1: 9}, {0: -1, 1: 9}, {}),
        (MERGE, {1: 9, 0: 3, 2: -1}, {0: 3, 1: 9}, {}),  # a placeholder of upstream's
        (FAR_MERGE, {0: 7, 8: 0, 6: 3}, {0: 7, 1: -1, 5: -1, 6: 3, 8: 0}, {}),
        # 1 is read and 4, which follows it, is begun: completing 1 again would begin 4 again.
        (SHIFTED, {0: 0, 1: -1, 3: 0, 4: 2, 2: 8}, {0: 0, 2: 8, 3: 0, 4: 2}, {5: (2,)}),
        (SHIFTED, {0: 0, 1: -1, 3: 0, 4: 2, 2: -1}, {0: 0, 2: -1, 3: 0, 4: 2}, {5: (2,)}),
        # 5 waits for 2, which follows 1. A store truncates with a placeholder for 5, at -1.
        (TWO_SCALES, {0: -1, 1: 3, 4: 2}, {1: 3, 4: 2}, {5: (2,)}),
        (TWO_SCALES, {1: 3, 4: 2, 5: -1}, {1: 3, 4: 2}, {5: (2,)}),
        (TWO_SCALES, {1: 3, 4: 2, 5: 0}, {1: 3, 4: 2}, {5: (2,)}),
    ],
)
def test_how_a_group_begins(
    history: Any, positions: dict[int, int], unassigned: dict[int, int], future: dict[int, tuple[int, ...]]
) -> None:
    start = Start()
    asyncio.run(add_start(start, history, positions))
    assert start.unassigned == {history.segment_name(i): at for i, at in unassigned.items()}
    assert start.future == {history.segment_name(i): ids for i, ids in future.items()}
    whole_state = start.to_update(ReaderGroupConfig({"s/x": UNBOUNDED}))
    assert isinstance(whole_state, CompactReaderGroupState if future else ReaderGroupStateInit)


@pytest.mark.parametrize(
    ("history", "end", "expected", "of_a_group"),
    [
        (MERGE, {0: 5, 1: 9}, {0: 5, 1: 9}, {0: 5, 1: 9}),
        (MERGE, {0: -1, 1: 9}, {0: -1, 1: 9}, {0: -1, 1: 9}),
        (MERGE, {0: -1, 1: 9, 2: -1}, {1: 9, 2: -1}, {1: 9, 2: 0}),
        (
            SHIFTED,
            {0: 0, 1: -1, 2: 8, 3: 0, 4: 2},
            {0: 0, 2: 8, 3: 0, 4: 2, 5: -1},
            {0: 0, 2: 8, 3: 0, 4: 2, 5: 0},
        ),
        (SHIFTED, {0: 0, 1: -1, 2: -1, 3: 0, 4: 2}, {0: 0, 3: 0, 4: 2, 5: 0}, {0: 0, 3: 0, 4: 2, 5: 0}),
        (NESTED, {0: -1, 1: -1, 2: 7, 5: 2}, {2: 7, 3: 0, 4: 0, 5: 2, 6: -1}, {2: 7, 3: 0, 4: 0, 5: 2, 6: 0}),
    ],
)
def test_what_takes_the_place_of_read_segments_whose_successors_have_begun(
    history: Any, end: dict[int, int], expected: dict[int, int], of_a_group: dict[int, int]
) -> None:
    cut = StreamCut("s/x", end)
    assert asyncio.run(settled(history, cut)).positions == expected
    assert asyncio.run(settled_end(history, cut)).positions == of_a_group


@pytest.mark.parametrize("is_0_read", [False, True])
def test_reads_and_groups_end_at_a_cut_in_the_middle_of_a_scale(world: World, is_0_read: bool) -> None:
    """#0 and #1 give way to #2, which has keys of both, and to #3, which was begun before #2."""
    low, high = "1", "0"  # keys of #0 and #2, and of #1 and #3

    async def main() -> None:
        await world.store.start()
        async with world.client("story") as client:
            stream = await client.create_stream("sim/stream", scaling=ScalingPolicy.fixed(2))
            await stream.write(["a", "b"], low)
            await stream.write(["c"], high)
            await stream.scale([0, 1], [(0.0, 0.75), (0.75, 1.0)])
            await stream.write(["d", "e"], [low, high])
            of_3 = max((await stream.tail()).positions)
            cut = StreamCut(stream.scoped_name, {0: -1 if is_0_read else 9, 1: -1, of_3: 9})
            before = [b"a", b"b", b"c", b"e"] if is_0_read else [b"a", b"c", b"e"]
            async with stream.read(HEAD, cut) as batches:
                assert sorted([event async for event in batches.events()]) == before
            async with stream.read(cut, TAIL) as batches:
                after = [event async for event in batches.events()]
            assert sorted(before + after) == [b"a", b"b", b"c", b"d", b"e"]
            async with group_of(world, client) as group:
                await group.create(reading(["sim/stream"], end=[cut], automatic_checkpoint_interval_ms=-1))
                async with await group.create_reader("r", checkpoint_at_segment_end=True) as reader:
                    reads = [await reader.read_next(1.0) for _ in range(20)]
            assert sorted(read.event for read in reads if read.event is not None) == before
            assert reads[-1].is_completed
            async with group_of(world, client) as group:
                await group.delete()
            async with group_of(world, client) as group:
                config = reading(["sim/stream"], end=[cut])
                await group._access.calls.create(complete(config))  # as Java does
                assert await group.create(config), "it has no state"
                assert not await group.create(config)
                await group.reset(config=reading(["sim/stream"], retention_type=MANUAL))
                assert await group._access.publish(full_names("sim/stream", cut.positions))
                await group.update_retention_stream_cut({"sim/stream": cut})
            await stream.truncate(cut)
            async with stream.read(HEAD, TAIL) as batches:
                assert [event async for event in batches.events()] == after

    world.loop.run_until_complete(main())


def test_a_reset_to_a_checkpoint_at_the_end_reads_nothing_again(world: World) -> None:
    async def main() -> None:
        await world.store.start()
        async with world.client("story") as client, group_of(world, client) as group:
            stream = await client.create_stream("sim/stream", scaling=ScalingPolicy.fixed(1))
            await stream.write(["a"], "k")
            await stream.seal()
            await group.create(reading(["sim/stream"]))
            for expected in [[b"a"], []]:
                async with await group.create_reader("r", checkpoint_at_segment_end=True) as reader:
                    reads = [await reader.read_next(5.0) for _ in range(5)]
                    assert [read.event for read in reads if read.event is not None] == expected
                    assert reads[-1].is_completed
                    pending = await group.initiate_checkpoint(f"after {expected}")
                    while await pending.waiting_for():
                        await reader.read_next()
                        await asyncio.sleep(1.0)
                    cuts = (await pending.result()).stream_cuts
                    assert cuts == await group.last_checkpoint_cuts()
                await group.reset()

    world.loop.run_until_complete(main())
