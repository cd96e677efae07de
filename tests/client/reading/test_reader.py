"""Reading: every event between two cuts once, predecessors first, whatever the stream does meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from itertools import groupby, product
from typing import Any

import pyarrow as pa
import pytest

from pravega_lab.client import HEAD, TAIL, AsyncClient, Client, Stream
from pravega_lab.client.reading.batches import AsyncBatches
from pravega_lab.errors import BadInputError, ProtocolError, TruncatedDataError
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut
from tests.client.helpers import (
    CuttingProxy,
    assert_each_once_in_order,
    events_of,
    numbered,
    until_a_request_waits,
)

NewStream = Callable[..., Stream]


def written(stream: Stream, n: int, begin: int = 0) -> StreamCut:
    stream.write(*numbered(n, 13, begin))
    return stream.tail()


@pytest.fixture
def scaled(new_stream: NewStream) -> tuple[Stream, list[StreamCut]]:
    """300 events over a split and two merges, and the cut after each hundred."""
    stream = new_stream(segments=2)
    cuts = [written(stream, 100)]
    stream.split(0)
    cuts.append(written(stream, 100, 100))
    stream.merge([segment.segment_id for segment in stream.segments()[1:]])
    stream.merge([segment.segment_id for segment in stream.segments()])
    cuts.append(written(stream, 100, 200))
    return stream, cuts


def test_all_of_a_stream_in_order(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, cuts = scaled
    for start, end in ((HEAD, TAIL), (HEAD, cuts[2]), (UNBOUNDED, UNBOUNDED)):
        with stream.read(start, end) as batches:
            found = list(batches)
            assert batches.ended
            assert batches.position() == cuts[2]
        assert_each_once_in_order(events_of(found), 300)


def test_a_read_without_a_with_block_begins_at_its_first_use(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, cuts = scaled
    assert_each_once_in_order(events_of(stream.read()), 300)
    assert stream.read(cuts[1]).next_batches()
    assert stream.read(cuts[1]).position() == cuts[1]
    assert not stream.read().ended
    following = stream.follow(cuts[2])
    stream.write("one more", "key")
    assert events_of([following.next_batch(30)]) == [b"one more"]
    with following:  # begins no second time
        assert following.next_batch(0.0) is None


def test_a_read_without_a_with_block_is_closed_when_nothing_refers_to_it(
    scaled: tuple[Stream, list[StreamCut]], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = threading.Event()
    close = AsyncBatches.close

    async def close_and_say(core: AsyncBatches) -> None:
        await close(core)
        closed.set()

    monkeypatch.setattr(AsyncBatches, "close", close_and_say)
    for _ in scaled[0].read():
        break
    assert closed.wait(60)


def test_a_read_gives_nothing_outside_its_with_block(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, cuts = scaled
    with stream.read() as batches:
        list(batches)
    assert batches.position() == cuts[2]
    for use in (batches.next_batch, batches.next_batches):
        with pytest.raises(BadInputError, match="is closed: read inside its with block"):
            use()
    reader = stream.segment_reader()
    for use in (reader.available, lambda: reader.read(0), lambda: reader.ended, reader.position):
        with pytest.raises(BadInputError, match="has not begun: it begins with its with block"):
            use()


def test_an_async_read_without_its_block_raises(uri: str, scaled: tuple[Stream, list[StreamCut]]) -> None:
    async def read() -> None:
        async with AsyncClient(uri) as client:
            stream = client.stream(scaled[0].scoped_name)
            for batches in (stream.read(), stream.follow()):
                for use in (batches.next_batch, batches.next_batches, batches.__anext__):
                    with pytest.raises(BadInputError, match="'async with' for the async client"):
                        await use()
                with pytest.raises(BadInputError, match="has not begun"):
                    batches.position()

    asyncio.run(read())


@pytest.mark.parametrize("kind", ["batches", "segments"])
def test_a_read_that_waits_raises_when_another_task_closes_it(
    uri: str, new_stream: NewStream, kind: str
) -> None:
    name = new_stream().scoped_name

    async def follow() -> None:
        async with AsyncClient(uri) as client:
            batches, segments = client.stream(name).follow(), client.stream(name).segment_reader()
            async with batches, segments:
                call = batches.next_batch() if kind == "batches" else segments.read(0, timeout_s=None)
                waiting = asyncio.ensure_future(call)
                reader = batches._reader if kind == "batches" else segments
                await until_a_request_waits(reader._connections)
                await reader.close()
                with pytest.raises(BadInputError, match="is closed"):
                    await asyncio.wait_for(waiting, 10)
                assert reader._connections._opening == {}

    asyncio.run(follow())


def test_between_any_two_cuts(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, cuts = scaled
    bounds = [stream.head(), *cuts]
    for i, start in enumerate(bounds):
        for j in range(i, len(bounds)):
            with stream.read(start, bounds[j]) as batches:
                numbers = sorted(int(e.split(b":")[1]) for e in events_of(batches))
            assert numbers == list(range(100 * i, 100 * j))


def test_a_place_has_several_forms(new_stream: NewStream) -> None:
    """Between two forms of one place there is nothing. An end that lies before the start is refused."""
    stream = new_stream()
    stream.write(["a", "b"], ["0", "1"])
    low, high = (segment.segment_id for segment in stream.split(0))
    after_split = [{0: 18}, {0: -1}, {low: 0, high: 0}]
    stream.write(["c", "d"], ["1", "0"])  # into the lower and into the upper half
    merged = stream.merge([low, high]).segment_id
    in_merge = [{low: -1, high: 0}, {low: 9, high: 0}, {high: 0, merged: -1}, {high: 0, merged: 0}]
    stream.write(["e"], ["0"])
    stream.seal()
    places = [after_split, in_merge, [{low: -1, high: 9}, {merged: 0}], [{merged: 9}, {merged: -1}]]
    earlier: list[StreamCut] = []
    for forms in places:
        cuts = [StreamCut(stream.scoped_name, positions) for positions in forms]
        for start, end in product(cuts, cuts):
            assert not events_of(stream.read(start, end)), (start, end)
        for cut in earlier:
            assert all(events_of(stream.read(cut, end)) for end in cuts), cut
            with pytest.raises(BadInputError, match=r"lies? before the"):
                events_of(stream.read(cuts[0], cut))
        earlier += cuts


def test_batches_say_where_their_events_are(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, _ = scaled
    with stream.read(batch_bytes=50) as batches:
        for batch in batches:
            payload = sum(map(len, batch.column("event").to_pylist()))
            assert payload <= 50 or batch.num_rows == 1
            assert batch.num_rows > 0
            segments = batch.column("segment_id").to_pylist()
            offset = batch.column("offset")[0].as_py()
            assert segments == segments[:1] * len(segments)
            for event, found in zip(
                batch.column("event").to_pylist(), batch.column("offset").to_pylist(), strict=True
            ):
                assert found == offset
                offset += 8 + len(event)
            assert batches.position().positions.get(segments[0]) in (offset, None)


def test_reading_on_from_any_position_gives_the_rest(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, _ = scaled
    seen: list[bytes] = []
    position: Any = HEAD
    while True:
        with stream.read(position, batch_bytes=150) as batches:
            batch = batches.next_batch()
            if batch is None:
                break
            seen += batch.column("event").to_pylist()
            position = batches.position()
    assert_each_once_in_order(seen, 300)


def test_some_segments_and_no_order(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, _ = scaled
    everything = stream.segments_between(HEAD, TAIL)
    parts = []
    for segment in everything:
        with stream.read(segments=[segment]) as batches:
            parts += events_of(batches)
    assert_each_once_in_order(parts, 300)
    with stream.read(ordered=False) as batches:
        assert sorted(events_of(batches)) == sorted(parts)


def test_a_repeatable_read_returns_one_segment_after_the_other(
    scaled: tuple[Stream, list[StreamCut]],
) -> None:
    stream, _ = scaled

    def turns(**how: bool) -> list[int]:
        with stream.read(batch_bytes=20, **how) as batches:
            return [segment for segment, _ in groupby(batch.column(1)[0].as_py() for batch in batches)]

    assert turns(repeatable=True) == sorted(set(turns()))
    assert len(turns()) > len(turns(repeatable=True))


def test_the_ordered_segment_reader(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, cuts = scaled
    seen: list[bytes] = []
    with stream.segment_reader(HEAD, TAIL) as reader:
        last = stream.segments()[0].segment_id
        with pytest.raises(BadInputError, match="waits for its predecessors"):
            reader.read(last)
        with pytest.raises(BadInputError, match="not part of this read"):
            reader.read(12345)
        while not reader.ended:
            segment = reader.available()[-1]
            batch = reader.read(segment, max_bytes=300, timeout_s=None)
            if batch is None:
                assert segment not in reader.available()
                with pytest.raises(BadInputError):
                    reader.read(segment)
                continue
            seen += batch.column("event").to_pylist()
            with stream.read(reader.position(), cuts[2]) as rest:
                assert len(seen) + len(events_of(rest)) == 300
        assert reader.position() == cuts[2]
    assert_each_once_in_order(seen, 300)


def test_following_a_stream_that_scales_until_it_is_sealed(new_stream: NewStream) -> None:
    stream = new_stream()
    seen: list[bytes] = []
    with stream.follow() as batches:
        assert batches.next_batch(0.05) is None
        assert not batches.ended
        for i in range(6):
            if i % 2:
                stream.split(stream.segments()[0].segment_id)
            elif i:
                stream.merge([segment.segment_id for segment in stream.segments()])
            written(stream, 50, i * 50)
            while len(seen) < (i + 1) * 50:
                batch = batches.next_batch(20)
                assert batch is not None
                seen += batch.column("event").to_pylist()
        stream.seal()
        assert batches.next_batch(20) is None
        assert batches.ended
    assert_each_once_in_order(seen, 300)


def test_an_end_of_minus_one_is_the_sealed_length(new_stream: NewStream) -> None:
    stream = new_stream()
    written(stream, 10)
    stream.split(0)
    written(stream, 10, 10)
    with stream.read(HEAD, StreamCut(stream.scoped_name, {0: -1})) as batches:
        assert len(events_of(batches)) == 10


def test_a_start_at_the_end_of_an_open_segment_is_refused(new_stream: NewStream) -> None:
    stream = new_stream()
    written(stream, 10)
    end = StreamCut(stream.scoped_name, {0: -1})
    for read in (stream.read(end), stream.follow(end)):
        with pytest.raises(BadInputError, match=r"segment 0 was read to its end, but .* not sealed"), read:
            pass
    stream.split(0)
    written(stream, 10, 10)
    with stream.read(end) as batches:
        assert len(events_of(batches)) == 10


def test_a_cut_behind_the_end_of_a_sealed_segment(new_stream: NewStream) -> None:
    """The read asked for what cannot come, again and again, until its time was over."""
    stream = new_stream()
    written(stream, 10)
    length = stream.tail().positions[0]
    stream.split(0)
    behind = StreamCut(stream.scoped_name, {0: length + 5000})
    with (
        pytest.raises(BadInputError, match=rf"from {length} to {length + 5000}"),
        stream.read(HEAD, behind) as all_,
    ):
        events_of(all_)
    with pytest.raises(BadInputError, match=rf"ends at {length}"), stream.read(behind) as none:
        events_of(none)
    with pytest.raises(BadInputError, match=rf"ends at {length}"), stream.follow(behind) as none:
        none.next_batch(30)


def test_the_end_is_fixed_on_entering(new_stream: NewStream) -> None:
    stream = new_stream()
    written(stream, 10)
    with stream.read() as batches:
        written(stream, 10, 10)
        assert len(events_of(batches)) == 10


def test_truncated_events_are_reported_with_where_to_go_on(scaled: tuple[Stream, list[StreamCut]]) -> None:
    stream, cuts = scaled
    begin = stream.head()
    stream.truncate(cuts[0])
    with pytest.raises(TruncatedDataError) as caught, stream.read(begin) as batches:
        events_of(batches)
    assert caught.value.resume_at == cuts[0]
    with stream.read(caught.value.resume_at) as batches:  # type: ignore[arg-type]
        assert len(events_of(batches)) == 200
    stream.truncate(cuts[2])
    with pytest.raises(TruncatedDataError) as caught, stream.read(cuts[0]) as batches:
        events_of(batches)
    assert caught.value.resume_at == cuts[2]
    with pytest.raises(TruncatedDataError), stream.follow(begin) as batches:
        batches.next_batch(10)


def test_cuts_that_do_not_fit(scaled: tuple[Stream, list[StreamCut]], new_stream: NewStream) -> None:
    stream, cuts = scaled
    with pytest.raises(BadInputError, match="a cut of stream"), new_stream("other").read(cuts[0]):
        pass
    with pytest.raises(BadInputError), stream.read(cuts[1], cuts[0]):
        pass
    with pytest.raises(BadInputError, match="pass a StreamCut"), stream.read("earliest"):  # type: ignore[arg-type]
        pass
    ends = {s: stream.segment_info(s).write_offset for s in cuts[0].positions}
    # Not behind the end of a segment that was sealed at the cut: that is another error.
    inside = StreamCut(stream.scoped_name, {s: min(o + 4, ends[s]) for s, o in cuts[0].positions.items()})
    assert inside != cuts[0]
    with (
        pytest.raises(ProtocolError, match="Does the start lie between events"),
        stream.read(inside, cuts[1]) as batches,
    ):
        events_of(batches)
    with pytest.raises(BadInputError, match="lie between events"), stream.read(HEAD, inside) as batches:
        events_of(batches)


def test_many_megabytes_over_a_connection_that_is_cut_again_and_again(
    uri: str, new_stream: NewStream
) -> None:
    stream = new_stream(segments=2)
    events, keys = numbered(20_000, 13)
    stream.write(pa.array([event.ljust(400, b".") for event in events]), keys)

    async def read() -> list[bytes]:
        async with CuttingProxy([200, 1_000_000, 70, 3_000_000, 10_000]) as proxy:
            async with (
                AsyncClient(uri, link=proxy.to(uri)) as client,
                client.stream(stream.scoped_name).read() as batches,
            ):
                found = [event async for batch in batches for event in batch.column("event").to_pylist()]
            assert not proxy.cuts_left
        return found

    assert_each_once_in_order([event.rstrip(b".") for event in asyncio.run(read())], 20_000)


def test_following_over_a_cut_connection(uri: str, new_stream: NewStream) -> None:
    stream = new_stream(segments=2)

    async def follow() -> list[bytes]:
        seen: list[bytes] = []
        async with (
            CuttingProxy([2_000 + i for i in range(10)]) as proxy,
            AsyncClient(uri, link=proxy.to(uri)) as client,
            AsyncClient(uri) as writing,
            client.stream(stream.scoped_name).follow() as batches,
        ):
            for i in range(30):
                await writing.stream(stream.scoped_name).write(*numbered(20, 13, i * 20))
                while len(seen) < (i + 1) * 20:
                    batch = await batches.next_batch(20)
                    assert batch is not None
                    seen += batch.column("event").to_pylist()
        return seen

    assert_each_once_in_order(asyncio.run(follow()), 600)


async def fail_on_first(batches: Any) -> None:
    async with batches:
        async for _ in batches:
            raise ZeroDivisionError


def test_leaving_a_read_in_the_middle_closes_everything(uri: str, new_stream: NewStream) -> None:
    stream = new_stream(segments=3)
    written(stream, 300)

    async def read() -> None:
        async with AsyncClient(uri) as client:
            reading = client.stream(stream.scoped_name)
            async with reading.follow() as batches:
                await batches.next_batch()
                await batches.next_batch(0.05)
            with pytest.raises(ZeroDivisionError):
                await fail_on_first(reading.read(batch_bytes=1))
            assert len(client._stores._own) >= 1
            still = [c for c in client._stores._own if c.is_open]
            assert len(still) == 1, "only the one for short requests"
        assert [c for c in client._stores._own if c.is_open] == []
        assert [t for t in asyncio.all_tasks() if t is not asyncio.current_task()] == []

    asyncio.run(read())


def test_two_reads_of_one_client_at_once(client: Client, new_stream: NewStream) -> None:
    stream = new_stream()
    written(stream, 100)
    with stream.read() as one, stream.read() as other:
        assert events_of(one) == events_of(other)
