"""Epochs as they follow from what a reader may see: the same that the controller tells a writer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from pravega_lab.client import Client, Stream
from pravega_lab.client.controller.visible_epochs import VisibleEpochs, segments_in
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.values import Successor
from pravega_lab.errors import AccessDeniedError, SegmentNotFoundError
from pravega_lab.protocol.names import SegmentRange, epoch_of


def visible(client: Client, stream: Stream) -> Callable[[int], list[SegmentRange]]:
    epochs = VisibleEpochs(client._core._controller, stream.scoped_name)
    return lambda epoch: loop_thread().run(epochs.segments(epoch))


def scale_at_will(stream: Stream, chance: Random, n_times: int) -> None:
    for _ in range(n_times):
        active = stream.segments()
        at = chance.randrange(len(active))
        neighbours = active[at : at + chance.choice([1, 2, 3])]
        low, high = neighbours[0].low, neighbours[-1].high
        middles = sorted(low + (high - low) * chance.random() for _ in range(chance.choice([0, 1, 2])))
        edges = [low, *middles, high]
        stream.scale([s.segment_id for s in neighbours], list(pairwise(edges)))


@pytest.mark.parametrize("seed", range(4))
def test_all_epochs_of_a_stream_scaled_at_will(
    client: Client, new_stream: Callable[..., Stream], seed: int
) -> None:
    """Every epoch is told as it is, or not at all: the first may have been cut too wildly to follow."""
    chance = Random(seed)
    stream = new_stream(segments=chance.choice([1, 3, 4]))
    scale_at_will(stream, chance, 8)
    see = visible(client, stream)
    newest = max(epoch_of(s.segment_id) for s in stream.segments())
    assert newest == 8
    told = []
    for epoch in range(newest + 1):
        with contextlib.suppress(AccessDeniedError):
            assert see(epoch) == stream.epoch_segments(epoch)
            told.append(epoch)
    assert told[-2:] == [7, 8]
    with pytest.raises(SegmentNotFoundError, match="no epoch 9"):
        see(9)


def test_splits_and_merges_follow_entirely(client: Client, new_stream: Callable[..., Stream]) -> None:
    stream = new_stream(segments=4)
    first = [s.segment_id for s in stream.segments()]
    stream.merge(first[1:3])
    stream.split(first[0], 3)
    stream.merge([stream.segments()[-2].segment_id, first[3]])
    see = visible(client, stream)
    assert [see(e) for e in range(4)] == [stream.epoch_segments(e) for e in range(4)]
    stream.seal()
    assert [see(e) for e in range(4)] == [stream.epoch_segments(e) for e in range(4)]


def test_behind_a_truncation(client: Client, new_stream: Callable[..., Stream]) -> None:
    stream = new_stream(segments=2)
    stream.write(["a"] * 10, [str(i) for i in range(10)])
    stream.split(0)
    stream.split(1)
    stream.truncate(stream.tail())
    newest = stream.segments()
    stream.merge([newest[0].segment_id, newest[1].segment_id])
    see = visible(client, stream)
    assert see(3) == stream.epoch_segments(3)
    with pytest.raises(AccessDeniedError, match="READ_UPDATE"):
        see(0)


def segment(number: int, epoch: int, low: float, high: float) -> SegmentRange:
    return SegmentRange(epoch << 32 | number, low, high)


@pytest.mark.parametrize(
    ("successors", "epoch"),
    [
        # parents of a later epoch were merged: how wide each was is nowhere
        ({1 << 32: [((2, 2, 0.0, 1.0), [1 << 32, 1 << 32 | 1])]}, 1),
        # of the first ones, but one had another successor too
        ({0: [((2, 1, 0.0, 0.5), [0, 1]), ((3, 1, 0.5, 1.0), [0, 1])]}, 0),
    ],
)
def test_nothing_is_made_up(successors: dict[int, Any], epoch: int) -> None:
    found = {
        at: [Successor(segment(*new), tuple(before)) for new, before in following]
        for at, following in successors.items()
    }
    head = sorted({p for following in found.values() for s in following for p in s.predecessors})
    whole = {parent: next(iter(found.values())) for parent in head}
    active = [s.segment for s in next(iter(found.values()))]
    assert segments_in(epoch, head, active, whole) is None
    assert segments_in(epoch_of(active[0].segment_id), head, active, whole) == active
