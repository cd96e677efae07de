"""Events that are read one by one: converted together, with a position after each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice

import pyarrow as pa
import pytest

from pravega_lab.client import AsyncClient, Client, Stream
from pravega_lab.client.framing.event_batch import batch_schema
from pravega_lab.client.reader_group import reading
from pravega_lab.client.reader_group.core import pace
from pravega_lab.client.reader_group.core.pace import Pace
from pravega_lab.client.reader_group.errors import ReinitializationRequiredError
from pravega_lab.client.reading.one_by_one import OneByOne
from pravega_lab.errors import StoreUnavailableError
from pravega_lab.protocol.stream_cut import StreamCut
from tests.client.helpers import assert_each_once_in_order, events_of, numbered

NewStream = Callable[..., Stream]


def batch(n: int) -> pa.RecordBatch:
    columns = [[b"%d" % i for i in range(n)], [7] * n, [10 * i for i in range(n)]]
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns)), schema=batch_schema())


def test_a_batch_knows_which_of_its_events_were_returned() -> None:
    begun = OneByOne(batch(3))
    assert (begun.segment_id, begun.next_offset) == (7, 0)
    seen = [(event, begun.next_offset) for event in begun]
    assert seen == [(b"0", 10), (b"1", 20), (b"2", None)]
    assert begun.take_rest() is None


def test_the_rest_of_a_batch_is_returned_once() -> None:
    begun = OneByOne(batch(3))
    iterator = iter(begun)
    assert next(iterator) == b"0"
    rest = begun.take_rest()
    assert rest is not None
    assert rest.column(0).to_pylist() == [b"1", b"2"]
    assert list(iterator) == []
    assert begun.next_offset is None


def test_every_event_with_the_position_after_it(new_stream: NewStream) -> None:
    stream = new_stream(segments=2)
    stream.write(*numbered(40, 5))
    stream.split(0)
    stream.write(*numbered(40, 5, 40))
    with stream.read() as batches:
        found = [(event, batches.position()) for event in batches.events()]
        assert batches.ended
    assert_each_once_in_order([event for event, _ in found], 80)
    for number in (0, 7, 39, 60, 79):
        with stream.read(found[number][1]) as batches:
            rest = list(batches.events())
        assert sorted(rest) == sorted(event for event, _ in found[number + 1 :])


def test_what_a_loop_leaves_comes_with_the_next_call(new_stream: NewStream) -> None:
    stream = new_stream()
    stream.write(*numbered(10, 1))
    batches = stream.read()
    first = batches.events()
    assert list(islice(first, 3)) == numbered(3, 1)[0]
    assert not batches.ended
    assert list(islice(batches.events(), 2)) == numbered(2, 1, 3)[0]
    assert events_of([batches.next_batch()]) == numbered(5, 1, 5)[0]
    assert list(first) == []
    assert batches.ended
    assert events_of(batches.next_batches()) == []
    batches.close()
    with stream.read() as batches:
        next(batches.events())
        assert events_of(batches.next_batches()) == numbered(9, 1, 1)[0]


def test_an_error_loses_no_batches_that_the_call_had_taken(
    uri: str, new_stream: NewStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = new_stream()
    stream.write("before", "k")
    stream.split(0)
    stream.write("after", "k")

    async def refuse(name: str, segment_id: int) -> None:
        raise StoreUnavailableError("the controller does not answer")

    async def read() -> None:
        async with AsyncClient(uri) as client, client.stream(stream.scoped_name).follow() as batches:
            with monkeypatch.context() as patch:
                patch.setattr(client._controller, "successors", refuse)
                with pytest.raises(StoreUnavailableError):
                    await batches.next_batches()
            assert batches.position() == StreamCut(stream.scoped_name, {0: 0})
            assert events_of(await batches.next_batches()) == [b"before"]
            assert events_of(await batches.next_batches()) == [b"after"]

    asyncio.run(read())


def test_events_at_the_tail_come_as_they_are_written(new_stream: NewStream) -> None:
    stream = new_stream()
    with stream.follow() as batches:
        events = batches.events()
        for i in range(3):
            stream.write(f"{i}", "k")
            assert next(events) == b"%d" % i
        stream.seal()
        assert list(events) == []


def test_the_asynchronous_client_has_the_same_call(uri: str, new_stream: NewStream) -> None:
    stream = new_stream()
    stream.write(*numbered(10, 1))

    async def read() -> list[bytes]:
        async with AsyncClient(uri) as client, client.stream(stream.scoped_name).read() as batches:
            async for event in batches.events():
                if event == b"key-0:3":
                    break
            rest = await batches.next_batches()
            return events_of(rest)

    assert asyncio.run(read()) == numbered(6, 1, 4)[0]


# -- readers of a group --------------------------------------------------------------------------------------


def test_the_pace_follows_the_program() -> None:
    found = Pace()
    sizes = []
    for _ in range(12):  # a fast program
        sizes.append(found.bytes_max)
        found.begin(found.bytes_max, 0.0)
        found.end(0.001)
    assert sizes[:3] == [pace.FIRST_BYTES, 2 * pace.FIRST_BYTES, 4 * pace.FIRST_BYTES]
    assert found.bytes_max == pace.BYTES_MAX
    found.begin(100_000, 1.0)
    found.end(2.0)  # a slow one: a tenth of a megabyte a second
    assert found.bytes_max == 5_000
    found.begin(100, 2.0)
    found.end(62.0)
    assert found.bytes_max == 1
    found.begin(100, 62.0)
    found.end(62.0)
    assert found.bytes_max == 2
    found.end(99.0)  # nothing was returned in between
    assert found.bytes_max == 2


def test_a_loop_over_a_reader(client: Client, new_stream: NewStream) -> None:
    stream = new_stream(segments=2)
    stream.write(*numbered(1_000, 5))
    end = {stream.scoped_name: stream.tail()}
    group = client.create_reader_group(f"{stream.scope}/g", reading([stream.scoped_name], end=end.values()))
    with group.create_reader("r") as reader:
        found = list(reader)
        assert all(e.stream == stream.scoped_name and not e.is_checkpoint for e in found)
        assert_each_once_in_order([e.event for e in found if e.event is not None], 1_000)
        for segment in {e.segment_id for e in found}:
            offsets = [e.offset for e in found if e.segment_id == segment]
            assert offsets == sorted(offsets)
    group.close()


def test_a_reader_that_is_closed_in_a_loop_leaves_the_rest_to_others(
    client: Client, new_stream: NewStream
) -> None:
    stream = new_stream()
    stream.write(*numbered(100, 1))
    group = client.create_reader_group(f"{stream.scope}/g", reading([stream.scoped_name]))
    with group.create_reader("one") as reader:
        seen = []
        events = iter(reader)
        for found in events:
            seen.append(found.event)
            if len(seen) == 3:
                break
        [offset] = reader.position().segments.values()
        assert offset == sum(8 + len(event) for event in numbered(3, 1)[0])
        seen += [reader.read_next(60).event, next(events).event]
    with pytest.raises(ReinitializationRequiredError, match="it was closed"):
        next(events)
    with group.create_reader("two") as reader:
        seen += [found.event for found in islice(reader, 95)]
    assert seen == numbered(100, 1)[0]
    group.close()


def test_the_asynchronous_reader_has_the_same_loop(uri: str, new_stream: NewStream) -> None:
    stream = new_stream()
    stream.write(*numbered(100, 1))
    end = stream.tail()

    async def read() -> list[bytes | None]:
        async with AsyncClient(uri) as client:
            config = reading([stream.scoped_name], end=[end])
            group = await client.create_reader_group(f"{stream.scope}/g", config)
            async with await group.create_reader("r") as reader:
                found = [event.event async for event in reader]
            await group.close()
            return found

    assert asyncio.run(read()) == numbered(100, 1)[0]
