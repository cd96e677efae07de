"""Byte streams, large events and event pointers, on the embedded store and on a real Pravega."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from random import Random
from typing import Any

import pytest

from pravega_lab.client import AsyncClient, EventPointer, ScalingPolicy, Stream
from pravega_lab.client.byte_streams import writer as byte_writer
from pravega_lab.client.byte_streams.reader import AsyncByteReader
from pravega_lab.client.connection.connection import ConnectionLostError
from pravega_lab.client.connection.retry import FullError
from pravega_lab.client.context import NO_TOKEN
from pravega_lab.client.writing import large_event
from pravega_lab.client.writing.large_event import LargeEventWriter
from pravega_lab.errors import (
    AccessDeniedError,
    AppendUnknownError,
    BadInputError,
    Definite,
    EventTooLargeError,
    PravegaError,
    SegmentNotFoundError,
    StreamSealedError,
    TruncatedDataError,
)
from pravega_lab.protocol.wire.commands import GetStreamSegmentInfo, MergeSegments
from pravega_lab.testing.simulated import SimulatedPravega
from tests.client.conftest import FREE_TO_SCALE
from tests.client.helpers import CuttingProxy, events_of, until_a_request_waits


def test_bytes_are_written_read_truncated_and_sealed(new_stream: Callable[..., Stream]) -> None:
    stream = new_stream()
    with stream.byte_writer() as writer, stream.byte_reader() as reader:
        assert writer.write(b"hello") == 5
        assert writer.write(b" world") == 6
        assert (reader.head(), reader.tail()) == (0, 11)
        assert reader.read(5) == b"hello"
        assert (reader.offset, reader.read()) == (5, b" world")
        assert reader.read(timeout_s=0.05) is None
        reader.seek(6)
        assert reader.read(100) == b"world"
        writer.truncate(6)
        writer.truncate(6)
        assert reader.head() == 6
        reader.seek(2)
        with pytest.raises(TruncatedDataError) as truncated:
            reader.read()
        assert truncated.value.resume_at == 6
        with pytest.raises(BadInputError, match="it has the bytes from 6 to 11"):
            writer.truncate(99)
        writer.seal()
        with pytest.raises(StreamSealedError):
            writer.write(b"more")
        reader.seek(11)
        assert reader.read() == b""
    with stream.byte_reader(8) as late:
        assert late.read() == b"rld"
    with stream.byte_writer() as late_writer, pytest.raises(StreamSealedError):
        late_writer.write(b"more")


def test_a_closed_writer_writes_nothing(new_stream: Callable[..., Stream]) -> None:
    stream = new_stream()
    with stream.byte_writer() as writer:
        writer.write(b"a")
    with pytest.raises(PravegaError, match=f"the writer of {stream.scoped_name} is closed"):
        writer.write(b"b")
    with stream.byte_reader() as reader:
        assert reader.tail() == 1


def test_a_read_at_the_tail_waits(uri: str, new_stream: Callable[..., Stream]) -> None:
    name = new_stream().scoped_name

    async def follow() -> None:
        async with AsyncClient(uri) as client:
            stream = client.stream(name)
            async with stream.byte_writer() as writer, stream.byte_reader() as reader:
                await writer.write(b"a")
                assert await reader.read() == b"a"
                held = asyncio.ensure_future(reader.read())
                await asyncio.sleep(0.05)
                await writer.write(b"b")
                assert await held == b"b"
                held = asyncio.ensure_future(reader.read())
                await asyncio.sleep(0.05)
                await writer.seal()
                assert await held == b""

    asyncio.run(follow())


def test_a_read_with_a_time_limit_continues_for_the_next_call(
    new_stream: Callable[..., Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ask = AsyncByteReader._ask

    async def counted(self: AsyncByteReader, offset: int, size: int) -> Any:
        asked.append(offset)
        return await ask(self, offset, size)

    monkeypatch.setattr(AsyncByteReader, "_ask", counted)
    stream = new_stream()
    with stream.byte_writer() as writer, stream.byte_reader() as reader:
        assert reader.read(timeout_s=0) is None
        writer.write(b"hello")
        assert reader.read(3, timeout_s=0) == b"hel"
        assert next(filter(None, (reader.read(timeout_s=1e-6) for _ in count()))) == b"lo"
        asked.clear()
        while not asked:
            assert reader.read(timeout_s=0.001) is None
        for _ in range(10):
            assert reader.read(timeout_s=0.001) is None
        assert asked == [5]
        writer.write(b" world")
        assert reader.read(1, timeout_s=10.0) == b" "
        assert reader.read(timeout_s=10.0) == b"world"
        assert reader.read(timeout_s=0.001) is None
        reader.seek(6)
        assert reader.read(timeout_s=10.0) == b"world"
        assert reader.read(timeout_s=0.001) is None


@pytest.mark.parametrize("timeout_s", [60.0, None])
def test_a_seek_while_a_read_waits_holds_for_the_next_read(
    uri: str, new_stream: Callable[..., Stream], timeout_s: float | None
) -> None:
    name = new_stream().scoped_name

    async def seek() -> None:
        async with (
            AsyncClient(uri) as client,
            client.stream(name).byte_writer() as writer,
            client.stream(name).byte_reader() as reader,
        ):
            await writer.write(b"hello")
            assert await reader.read() == b"hello"
            held = asyncio.ensure_future(reader.read(timeout_s=timeout_s))
            await until_a_request_waits(reader._connections)
            reader.seek(1)
            await writer.write(b" world")
            assert await held == b" world"
            assert (reader.offset, await reader.read()) == (1, b"ello world")

    asyncio.run(seek())


def test_a_byte_stream_does_not_end_where_it_is_scaled(new_stream: Callable[..., Stream]) -> None:
    stream = new_stream()
    with stream.byte_writer() as writer, stream.byte_reader() as reader:
        writer.write(b"hello")
        assert reader.read() == b"hello"
        stream.update(scaling=FREE_TO_SCALE)
        stream.split(0)
        for call in (lambda: writer.write(b" world"), reader.read):
            with pytest.raises(BadInputError, match="one that is never scaled"):
                call()


def test_threads_that_share_a_reader_get_every_byte_once(new_stream: Callable[..., Stream]) -> None:
    stream = new_stream()
    with stream.byte_writer() as writer:
        writer.write(bytes(range(200)))
        writer.seal()
    found: list[bytes] = []
    with stream.byte_reader() as reader, ThreadPoolExecutor(4) as threads:
        for done in [
            threads.submit(lambda: found.extend(iter(lambda: reader.read(1), b""))) for _ in range(4)
        ]:
            done.result()
    assert sorted(found) == [bytes([number]) for number in range(200)]


@pytest.mark.parametrize("timeout_s", [60.0, None])
def test_a_read_of_a_reader_that_is_closed_ends(
    uri: str, new_stream: Callable[..., Stream], timeout_s: float | None
) -> None:
    name = new_stream().scoped_name

    async def close() -> None:
        async with AsyncClient(uri) as client, client.stream(name).byte_reader() as reader:
            held = asyncio.ensure_future(reader.read(timeout_s=timeout_s))
            await until_a_request_waits(reader._connections)
            await reader.close()
            with pytest.raises(PravegaError, match=r"is closed: byte_reader\(0\) returns another one"):
                await asyncio.wait_for(held, 10)
            assert reader._connections._opening == {}


def test_a_write_of_a_writer_that_is_closed_opens_no_connection_again(
    uri: str, new_stream: Callable[..., Stream]
) -> None:
    name = new_stream().scoped_name

    async def close() -> None:
        async with AsyncClient(uri) as client, client.stream(name).byte_writer() as writer:
            await writer.write(b"first")
            writing = asyncio.ensure_future(writer.write(bytes(3 * byte_writer.PIECE_BYTES)))
            await until_a_request_waits(writer._connections)
            await writer.close()
            with pytest.raises(PravegaError, match="is closed") as caught:
                await asyncio.wait_for(writing, 10)
            assert caught.value.definite is Definite.UNKNOWN
            assert writer._connections._opening == {}

    asyncio.run(close())


def test_what_is_no_byte_stream(new_stream: Callable[..., Stream]) -> None:
    several = new_stream(segments=2)
    with several.byte_writer() as writer, pytest.raises(BadInputError, match="one that is never scaled"):
        writer.write(b"x")
    with several.byte_reader() as reader, pytest.raises(BadInputError):
        reader.read()
    one = new_stream("one")
    with one.byte_writer() as writer, one.byte_reader() as reader:
        text: Any = "1"
        calls: list[Callable[[], object]] = [
            lambda: reader.seek(-1),
            lambda: reader.read(0),
            lambda: reader.seek(text),
            lambda: reader.read(text),
            lambda: writer.truncate(text),
            lambda: writer.write(text),
            lambda: writer.write(memoryview(b"text")[::2]),
        ]
        for call in calls:
            with pytest.raises(BadInputError):
                call()
        reader.seek(5)
        with pytest.raises(BadInputError, match="ends at 0"):
            reader.read()


def test_bytes_are_there_once_whatever_is_cut(uri: str, new_stream: Callable[..., Stream]) -> None:
    stream, data = new_stream(), Random(3).randbytes(3_000_000)

    async def write() -> None:
        cuts = [200, 700_000, 1_500_000]
        async with CuttingProxy(cuts) as proxy, AsyncClient(uri, link=proxy.to(uri)) as client:
            async with client.stream(stream.scoped_name).byte_writer() as writer:
                await writer.write(data)
            assert proxy.connections > 3

    asyncio.run(write())
    stream.seal()
    with stream.byte_reader() as reader:
        found = b"".join(iter(reader.read, b""))  # type: ignore[arg-type]
    assert found == data


@pytest.mark.parametrize("seed", [0, 5, 14, 20, 31])
def test_bytes_are_there_once_through_trouble(seed: int) -> None:
    """Connections are cut, answers get lost, and the store is killed, while bytes are written and read."""
    pravega = SimulatedPravega(seed)
    pieces = [bytes([number]) * pravega.chance.randint(1, 300) for number in range(25)]

    async def read() -> bytes:
        found = bytearray()
        async with pravega.client("reader") as client, client.stream("s/bytes").byte_reader() as reader:
            while piece := await reader.read(pravega.chance.randint(1, 500)):
                found += piece
        return bytes(found)

    async def story() -> bytes:
        async with pravega.client() as client:
            stream = await client.create_stream("s/bytes")
            reading = asyncio.create_task(read())
            pravega.trouble(2.0)
            async with stream.byte_writer() as writer:
                for piece in pieces:
                    assert await writer.write(piece) == len(piece)
                    await asyncio.sleep(pravega.chance.choice((0.0, 0.1)))
                pravega.heal()
                await writer.seal()
            return await reading

    assert pravega.run(story()) == b"".join(pieces)


@pytest.mark.parametrize("seed", [101, 120, 126, 136, 146])
def test_large_events_are_there_once_through_trouble(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, with segments that split. An event whose fate is unknown may be there or not."""
    monkeypatch.setattr(large_event, "PIECE_BYTES", 1_500)
    pravega = SimulatedPravega(seed)
    sure: dict[tuple[int, int], bool] = {}
    written: dict[tuple[int, int], bytes] = {}

    async def story() -> list[bytes]:
        async with pravega.client() as client:
            stream = await client.create_stream("s/events", scaling=ScalingPolicy.fixed(2))

            async def write(key: int) -> None:
                for number in range(4):
                    n_bytes = pravega.chance.choice((10, 2_000, 9_000))
                    event = b"%d:%d:" % (key, number) + Random(n_bytes).randbytes(n_bytes)
                    sure[key, number], written[key, number] = True, event
                    try:
                        await stream.write_large_event(event, f"{key}")
                    except AppendUnknownError:
                        sure[key, number] = False
                    await asyncio.sleep(pravega.chance.random() / 4)

            async def split() -> None:
                for _ in range(2):
                    await asyncio.sleep(pravega.chance.random())
                    await stream.split((await stream.segments())[0].segment_id)

            pravega.trouble(2.0)
            await asyncio.gather(split(), *(write(key) for key in range(3)))
            pravega.heal()
            async with stream.read() as batches:
                return [event async for event in batches.events()]

    events = pravega.run(story())
    assert set(events) <= set(written.values())
    found = [tuple(map(int, event.split(b":")[:2])) for event in events]
    assert len(found) == len(set(found))
    assert {event for event, is_sure in sure.items() if is_sure} <= set(found) <= set(sure)
    for key in range(3):
        numbers = [number for of_key, number in found if of_key == key]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize("refusal", [AccessDeniedError("the permission was taken away"), FullError("full")])
def test_a_large_event_that_is_refused_after_a_lost_answer_may_be_there(refusal: Exception) -> None:
    pravega = SimulatedPravega(1)

    async def story() -> None:
        async with pravega.client() as client:
            stream = await client.create_stream("s/events")
            ask_once, merges = client._stores.ask_once, []

            async def lose_answer(name: str, segment_id: int, request: Any) -> Any:
                if isinstance(request, MergeSegments):
                    merges.append(request)
                    if len(merges) > 1:
                        raise refusal
                    await ask_once(name, segment_id, request)
                    raise ConnectionLostError("the answer is lost")
                return await ask_once(name, segment_id, request)

            client._stores.ask_once = lose_answer  # type: ignore[method-assign]
            with pytest.raises(PravegaError) as raised:
                await stream.write_large_event(b"stored", "k")
            assert raised.value.definite is Definite.UNKNOWN
            async with stream.read() as batches:
                assert [event async for event in batches.events()] == [b"stored"]

    pravega.run(story())


def test_bytes_of_which_a_seal_cuts_off_the_end_are_stored_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_writer, "PIECE_BYTES", 100)
    pravega = SimulatedPravega(1)

    async def story() -> None:
        async with pravega.client() as client:
            stream = await client.create_stream("s/bytes")
            writing = asyncio.ensure_future(stream.byte_writer().write(bytes(100_000)))
            while (await stream.segment_info(0)).write_offset < 300:
                await asyncio.sleep(0.0001)
            await stream.seal()
            with pytest.raises(StreamSealedError) as raised:
                await writing
            stored = (await stream.segment_info(0)).write_offset
            assert f"The first {stored} of 100000 bytes had been stored before" in str(raised.value)
            assert raised.value.definite is Definite.UNKNOWN
            with pytest.raises(StreamSealedError) as raised:
                await stream.byte_writer().write(b"late")
            assert raised.value.definite is Definite.NO

    pravega.run(story())


def test_bytes_that_are_refused_after_a_lost_answer_may_be_there() -> None:
    pravega = SimulatedPravega(1)

    async def story() -> None:
        async with pravega.client() as client:
            stream = await client.create_stream("s/bytes")
            writer = stream.byte_writer()
            append_once, attempts = writer._append_once, []

            async def lose_answer(segment_id: int, piece: bytes) -> None:
                attempts.append(piece)
                if len(attempts) > 1:
                    raise AccessDeniedError("the permission was taken away")
                await append_once(segment_id, piece)
                raise ConnectionLostError("the answer is lost")

            writer._append_once = lose_answer  # type: ignore[method-assign]
            with pytest.raises(AccessDeniedError) as raised:
                await writer.write(b"stored")
            assert raised.value.definite is Definite.UNKNOWN
            assert await writer.tail() == 6
            await writer.close()

    pravega.run(story())


def test_a_large_event_is_one_event_and_can_be_fetched(new_stream: Callable[..., Stream]) -> None:
    stream, large = new_stream(segments=2), Random(1).randbytes(20_000_000)
    stream.write(b"before", "k")
    stream.write_large_event(large, "k")
    stream.write_large_event(b"", "k")
    stream.write(b"after", "k")
    with stream.read() as batches:
        found = list(batches)
    assert events_of(found) == [b"before", large, b"", b"after"]
    place = next((b["segment_id"][i].as_py(), b["offset"][i].as_py()) for b in found for i in range(len(b))
                 if b["event"][i].as_py() == large)  # fmt: skip
    pointer = EventPointer.of(stream.scoped_name, *place, large)
    assert stream.fetch(EventPointer.from_bytes(pointer.to_bytes())) == large
    assert stream.fetch(EventPointer.from_text(pointer.to_text())) == large
    end = stream.tail()
    with pytest.raises(EventTooLargeError, match="write_large_event"):
        stream.write(large)
    with pytest.raises(BadInputError):
        stream.write_large_event("text")  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="half a character"):
        stream.write_large_event(b"event", "\ud800")
    assert stream.tail() == end


def test_a_large_event_follows_a_scale_and_a_cut(uri: str, new_stream: Callable[..., Stream]) -> None:
    stream, large = new_stream(), Random(2).randbytes(9_000_000)

    async def write() -> None:
        async with CuttingProxy([300, 4_000_000, 9_000_500]) as proxy:
            async with AsyncClient(uri, link=proxy.to(uri)) as client:
                await client.stream(stream.scoped_name).write_large_event(large, "k")
            assert proxy.connections > 2

    asyncio.run(write())
    stream.split(0)
    stream.write_large_event(large, "k")
    with stream.read() as batches:
        assert events_of(batches) == [large, large]
    stream.seal()
    with pytest.raises(StreamSealedError):
        stream.write_large_event(large)


def test_a_large_event_continues_where_a_connection_ended(
    uri: str, new_stream: Callable[..., Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after the end of a token: a writer with short ones would never reach the end of the event."""
    monkeypatch.setattr(large_event, "PIECE_BYTES", 1_000_000)
    stream, large = new_stream(), Random(3).randbytes(9_000_000)

    async def write() -> None:
        async with CuttingProxy([2_500_000] * 40) as proxy:
            async with AsyncClient(uri, link=proxy.to(uri)) as client:
                await client.stream(stream.scoped_name).write_large_event(large, "k")
            assert 3 < proxy.connections < 15

    asyncio.run(write())
    with stream.read() as batches:
        assert events_of(batches) == [large]


def test_a_large_event_that_is_cancelled_leaves_no_segment(
    uri: str, new_stream: Callable[..., Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = new_stream().scoped_name
    filled: list[str] = []

    async def never(self: LargeEventWriter, segment_id: int, target: str, source: str) -> None:
        filled.append(source)
        await asyncio.Event().wait()

    monkeypatch.setattr(LargeEventWriter, "_merge", never)

    async def cancel() -> None:
        async with AsyncClient(uri) as client:
            stream = client.stream(name)
            writing = asyncio.ensure_future(stream.write_large_event(b"large"))
            while not filled:
                await asyncio.sleep(0.001)
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
            request = GetStreamSegmentInfo(0, filled[0], NO_TOKEN)
            with pytest.raises(SegmentNotFoundError):
                await stream._context.stores.ask_once(name, 0, request)

    asyncio.run(cancel())


def test_pointers_to_nothing(new_stream: Callable[..., Stream]) -> None:
    stream, other = new_stream(), new_stream("other")
    stream.write([b"first", b"second"])
    pointer = EventPointer.of(stream.scoped_name, 0, 13, b"second")
    assert stream.fetch(pointer) == b"second"
    for wrong in (
        EventPointer(stream.scoped_name, 0, 12, 14),
        EventPointer(stream.scoped_name, 0, -1, 14),
        EventPointer(stream.scoped_name, 0, 13, 99),
        EventPointer(stream.scoped_name, 0, 13, 3),
    ):
        with pytest.raises(BadInputError, match="points to no event"):
            stream.fetch(wrong)
    with pytest.raises(BadInputError, match="points into"):
        other.fetch(pointer)
    with pytest.raises(BadInputError, match="pass an EventPointer"):
        stream.fetch(pointer.to_text())  # type: ignore[arg-type]
    stream.truncate(stream.tail())
    with pytest.raises(TruncatedDataError):
        stream.fetch(pointer)
    for bad in ("", "s/x/0.#epoch.0:1", "x:0-13"):
        with pytest.raises(BadInputError):
            EventPointer.from_text(bad)
    with pytest.raises(BadInputError):
        EventPointer.from_bytes(b"\0\0\1")


def test_a_stream_of_a_fixed_segment_is_a_byte_stream(new_stream: Callable[..., Stream]) -> None:
    stream = new_stream()
    stream.update(scaling=ScalingPolicy.fixed(1))
    with stream.byte_writer() as first, stream.byte_writer() as second:
        first.write(b"1")
        second.write(b"2")
        assert second.tail() == 2


def test_a_read_that_waits_for_long_outlasts_every_lost_connection() -> None:
    """Each outage has the budget of retries for itself: no byte comes in between, and nothing is wrong."""
    pravega = SimulatedPravega()

    async def story() -> None:
        async with pravega.client() as client:
            notes = await client.create_stream("s/notes")
            reader = notes.byte_reader()
            reading = asyncio.create_task(reader.read(5))
            for _ in range(3):
                await asyncio.sleep(60)
                await pravega.restart_store()
            async with notes.byte_writer() as writer:
                await writer.write(b"hello")
            assert await reading == b"hello"
            await reader.close()

    pravega.run(story())
