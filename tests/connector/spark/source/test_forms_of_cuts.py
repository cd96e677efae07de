"""Spark reads the same between two positions in all their forms as cuts, in random histories."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Sequence
from typing import Any, cast

import pytest

from pravega_lab.client.context import StreamContext
from pravega_lab.client.reading import cuts
from pravega_lab.client.values import SegmentInfo
from pravega_lab.connector.spark.source import streams
from pravega_lab.connector.spark.source.streams import StreamView
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import StreamCut
from tests.client.reading.test_forms_of_cuts import Reader, Stream


class Blocking:
    """A stream with the calls of the synchronous client that a `StreamView` makes."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._context = cast(StreamContext, stream)

    def segments_between(self, start: StreamCut, end: StreamCut) -> list[int]:
        return asyncio.run(cuts.segments_between(self._context, start, end))

    def settled_cut(self, cut: StreamCut, *, latest: bool = False, read: Collection[int] = ()) -> StreamCut:
        if latest:
            return asyncio.run(cuts.latest_form(self._context, cut))
        return asyncio.run(cuts.settled_end(self._context, cut, read))

    def epoch_segments(self, epoch: int) -> Sequence[SegmentRange]:
        return self._stream.epochs.epoch(epoch).segments

    def segment_info(self, segment_id: int) -> SegmentInfo:
        return asyncio.run(self._stream.info(segment_id))


@pytest.mark.parametrize("seed", range(60))
def test_spark_reads_the_same_between_all_forms(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    stream, chance = Stream(seed), random.Random(seed)
    monkeypatch.setattr(streams, "stream_of", lambda *_: Blocking(stream))
    reader: Any = Reader(stream, chance)
    reader.go_on(chance.randint(0, 15))
    first, starts = dict(reader.at), asyncio.run(reader.forms())
    reader.go_on(chance.randint(0, 6))
    expected = {i: (first[i], last) for i, last in reader.at.items() if last > first[i]}
    for start, end in zip(starts, chance.sample(asyncio.run(reader.forms()), len(starts)), strict=True):
        streams.forget_facts()
        view = StreamView(cast(Any, None), stream.name)
        begin, stop = view.resolve(start.to_text()), view.resolve(end.to_text())
        pieces = view.slices(begin, view.not_before(begin, stop))
        assert {p.segment_id: (p.start, p.end) for p in pieces} == expected, (start, end)
