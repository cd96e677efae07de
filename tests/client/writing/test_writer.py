"""Writing: everything acknowledged is there once, in order per key, through scales and broken connections."""

from __future__ import annotations

import asyncio
import gc
import itertools
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from pravega_lab.client import AsyncClient, Client, Stream, connect
from pravega_lab.client.framing import events as inputs
from pravega_lab.client.framing.events import prepare
from pravega_lab.client.segment_stores import WRITER_CONNECTIONS_MAX
from pravega_lab.errors import (
    BadInputError,
    EventTooLargeError,
    PravegaError,
    StoreUnavailableError,
    StreamSealedError,
)
from pravega_lab.protocol.hashing import key_position
from pravega_lab.testing.simulated import SimulatedPravega
from tests.client.helpers import CuttingProxy, assert_each_once_in_order, events_of, numbered, numbers_by_key

NewStream = Callable[..., Stream]


def read_all(stream: Stream) -> list[bytes]:
    with stream.read() as batches:
        return events_of(batches)


@pytest.mark.parametrize(
    "events",
    [
        b"one",
        "one",
        ["a", "b"],
        [b"a", bytearray(b"b"), memoryview(b"c"), "d"],
        [f"e{i}" for i in range(100)],
        [b"%d" % i for i in range(99)] + ["mixed"],
        pa.array([b"a", b"", b"c"]),
        pa.array(["a"] * 40, pa.large_string()),
        pa.array([b"ab", b"cd"], pa.binary(2)),
        pa.array(["x", "y"] * 30).dictionary_encode(),
        pa.chunked_array([pa.array([b"a"]), pa.array([b"b"])]),
        pa.array([b"0", b"1", b"2", b"3"]).slice(1, 2),
        pd.Series(["p", "q"] * 30),
        [],
    ],
    ids=lambda events: f"{type(events).__name__}-{len(events)}",
)
def test_all_kinds_of_events(new_stream: NewStream, events: Any) -> None:
    stream = new_stream(segments=3)
    single = isinstance(events, (str, bytes))
    wanted = [events] if single else list(events.to_pylist() if hasattr(events, "to_pylist") else events)
    expected = [e.encode() if isinstance(e, str) else bytes(e) for e in wanted]
    assert stream.write(events, "one key, so one order") == len(expected)
    assert read_all(stream) == expected


def test_many_writers_of_a_client_write_in_turns(new_stream: NewStream) -> None:
    """More than have a connection of their own. Each is closed in the middle of the others' work."""
    stream = new_stream(segments=2)
    with ExitStack() as stack:
        writers = [stack.enter_context(stream.writer()) for _ in range(25)]
        for i in range(25):
            for number, writer in enumerate(writers[i:], i):
                writer.write(f"{number}:{i}", f"{number}")
            writers[-1].flush()
            writers[i].close()
    assert numbers_by_key(read_all(stream)) == {f"{n}": list(range(n + 1)) for n in range(25)}


# In seed 6 the answer to a split is lost; in 28 and 55 a connection dies unnoticed after an earlier failure.
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 6, 28, 55])
def test_writers_that_share_connections_keep_their_events_through_trouble(seed: int) -> None:
    """Connections are cut, the store is killed, segments split, and some writers close before others."""
    pravega = SimulatedPravega(seed)

    async def story() -> list[bytes]:
        async with pravega.client() as client:
            stream = await client.create_stream("s/events")
            writers = [stream.writer() for _ in range(3 * WRITER_CONNECTIONS_MAX)]

            async def write(number: int) -> None:
                for i in range(20):
                    await writers[number].write(f"{number}:{i}", f"{number}")
                    if (i + number) % 5 == 0:
                        await writers[number].flush()
                        await asyncio.sleep(pravega.chance.random() / 5)
                await writers[number].close()

            async def split() -> None:
                for _ in range(3):
                    await asyncio.sleep(pravega.chance.random())
                    await stream.split((await stream.segments())[0].segment_id)

            pravega.trouble(2.0)
            await asyncio.gather(split(), *(write(number) for number in range(len(writers))))
            pravega.heal()
            assert client._stores.writers._in_use == []
            async with stream.read() as batches:
                return [event async for event in batches.events()]

    found = numbers_by_key(pravega.run(story()))
    assert found == {f"{number}": list(range(20)) for number in range(3 * WRITER_CONNECTIONS_MAX)}


def pandas_frame(columns: dict[str, Any]) -> Any:
    return pd.DataFrame(columns)


def polars_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns: dict[str, Any]) -> Any:
    return pa.table(columns)


def arrow_batch(columns: dict[str, Any]) -> Any:
    return pa.record_batch(columns)


@pytest.mark.parametrize("frame", [pandas_frame, polars_frame, arrow_table, arrow_batch])
@pytest.mark.parametrize("n_events", [0, 3, 300])
def test_a_data_frame_is_written_as_its_columns_are(frame: Callable[..., Any], n_events: int) -> None:
    events, keys = numbered(n_events, 7)
    columns = {"routing_key": pa.array(keys, pa.string()), "event": pa.array(events, pa.binary())}
    if frame in (pandas_frame, polars_frame):
        columns = {name: values.to_pylist() for name, values in columns.items()}
    expected = _written(events, keys)
    assert _written(frame(columns), None) == expected
    del columns["routing_key"]
    assert _written(frame(columns), keys) == expected


def test_a_key_that_is_missing_in_a_data_frame_spreads_its_event() -> None:
    frame = pd.DataFrame({"event": ["a", "b"], "routing_key": ["k", None]})
    assert prepare(frame, None, Random(1)).positions(0, 1) == key_position("k")
    assert len({float(prepare(frame, None, Random(seed)).positions(0, 2)[1]) for seed in range(9)}) == 9


def test_a_data_frame_without_rows_of_its_own_is_refused() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(BadInputError, match="polars LazyFrame holds no rows yet: collect it"):
        prepare(polars.LazyFrame({"event": ["a"]}), None, Random(1))


def test_python_objects_of_polars_are_written_by_their_values() -> None:
    """Polars exports them to Arrow as their addresses in memory."""
    polars = pytest.importorskip("polars")
    events, keys = numbered(50, 7)
    series = [polars.Series(values, dtype=polars.Object) for values in (events, keys)]
    assert _written(*series) == _written(events, keys)
    with pytest.raises(BadInputError, match="an event is bytes or str, not dict"):
        prepare(polars.Series([{"id": 1}], dtype=polars.Object), None, Random(1))


def _written(events: Any, keys: Any) -> list[tuple[bytes, float]]:
    """What ``prepare`` makes of the arguments: each event's bytes and its position in the key space."""
    found = prepare(events, keys, Random(1))
    if len(found) == 0 or isinstance(found, inputs.FewEvents):
        return list(zip(found._payloads, found._positions, strict=True))  # type: ignore[union-attr]
    offsets, data = found.offsets.tolist(), bytes(found.data)
    payloads = [data[begin:end] for begin, end in itertools.pairwise(offsets)]
    return list(zip(payloads, found.positions(0, len(found)).tolist(), strict=True))


@pytest.mark.parametrize("n_events", [5, 500])
def test_keys_keep_order_and_none_spreads(new_stream: NewStream, n_events: int) -> None:
    stream = new_stream(segments=4)
    events, keys = numbered(n_events, 7)
    stream.write(events, keys)
    assert_each_once_in_order(read_all(stream), n_events)
    stream.write([b"spread"] * 200)
    stream.write(pa.array([b"spread"] * 200), pa.array([None] * 199 + ["k"]))
    assert all(stream.segment_info(s.segment_id).write_offset > 14 * 20 for s in stream.segments())


def test_the_same_key_goes_to_the_same_place_however_it_is_passed() -> None:
    keys = ["a", "", "日本", "😀", None] * 20
    few = prepare([b"x"] * 5, keys[:5], Random(1))
    many = prepare(pa.array([b"x"] * 100), pa.array(keys), Random(1))
    assert list(many.positions(0, 4)) == few._positions[:4]


def test_what_is_no_event_or_key() -> None:
    for events, keys in (
        (5, None),
        ([5], None),
        (["a"], ["k", "l"]),
        (["a"], [5]),
        (pa.array([1, 2]), None),
        (pa.array([b"a", None]), None),
        (pa.array([b"a"]), pa.array([1])),
        (pa.array([b"a"]), pa.array(["k", "l"])),
        ("\ud800", None),
        ("a", "\ud800"),
    ):
        with pytest.raises(BadInputError):
            prepare(events, keys, Random(1))  # type: ignore[arg-type]


def test_events_of_8_mib_and_not_one_byte_more(new_stream: NewStream) -> None:
    stream = new_stream()
    largest = b"x" * (8 * 1024 * 1024)
    for too_large in (largest + b"y", pa.array([b"a", largest + b"y"])):
        with pytest.raises(EventTooLargeError, match="8388609 bytes"):
            stream.write(too_large)
    assert stream.tail() == stream.head()
    stream.write([b"before", largest, b"after"], "k")
    assert read_all(stream) == [b"before", largest, b"after"]


def test_a_sealed_stream_refuses_and_keeps_what_it_acknowledged(new_stream: NewStream) -> None:
    stream = new_stream(segments=2)
    with stream.writer() as writer:
        writer.write("in", "k")
        writer.flush()
        stream.seal()
        writer.write("out", "k")
        with pytest.raises(StreamSealedError):
            writer.flush()
        with pytest.raises(StreamSealedError):
            writer.write("out", "k")
    assert read_all(stream) == [b"in"]


UNCLOSED = "the writer of '{}' was not closed: use it in a with block"
FORGETFUL = """
import sys
from pravega_lab import connect
writer = connect(sys.argv[1]).stream(sys.argv[2]).writer()
writer.write("written", "k")
"""


def test_a_writer_that_is_dropped_writes_its_events_and_warns(new_stream: NewStream) -> None:
    stream = new_stream()
    with stream.follow() as batches:
        writer = stream.writer()
        writer.write("written", "k")
        with pytest.warns(RuntimeWarning, match=UNCLOSED.format(stream.scoped_name)):
            del writer
        assert events_of([batches.next_batch(60)]) == [b"written"]


def test_a_writer_that_is_open_when_its_client_is_closed(uri: str, new_stream: NewStream) -> None:
    stream = new_stream()
    client = connect(uri)
    writer = client.stream(stream.scoped_name).writer()
    writer.write("written", "k")
    with pytest.warns(RuntimeWarning, match=UNCLOSED.format(stream.scoped_name)):
        client.close()
    assert read_all(stream) == [b"written"]
    with pytest.raises(PravegaError, match="is closed"):
        writer.write("late", "k")


def test_a_program_that_ends_without_closing_its_writer(uri: str, new_stream: NewStream) -> None:
    stream = new_stream()
    command = [sys.executable, "-c", FORGETFUL, uri, stream.scoped_name]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stderr
    assert UNCLOSED.format(stream.scoped_name) in said
    assert "Task was destroyed" not in said
    assert read_all(stream) == [b"written"]


LEFT_OPEN = """
import gc
from pravega_lab.client import connect
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import PravegaError
with StoreProcess(None) as store:
    clients = [connect(store.uri, retry_for_s=0.1) for _ in range(2)]
    clients[0].create_stream("left/open")
    for client in clients:
        client.stream("left/open").write("written", "k")
try:
    client.list_scopes()
except PravegaError:
    print("the store is gone")
del client, clients[1]
gc.collect()
print("one client is dropped, and one is left")
"""


def test_clients_that_outlive_their_store_are_dropped_in_silence() -> None:
    command = [sys.executable, "-c", LEFT_OPEN]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["the store is gone", "one client is dropped, and one is left"]
    assert done.stderr == ""


FORGETFUL_OF_CLIENT = """
import asyncio, sys
from pravega_lab.client import AsyncClient

async def write():
    global client  # a cycle of objects may also be collected before the program ends
    client = AsyncClient(sys.argv[1])
    writer = client.stream(sys.argv[2]).writer()
    await writer.write("written", "k")
    await writer.flush()

asyncio.run(write())
"""


def test_a_program_that_ends_without_closing_its_asynchronous_client(uri: str, new_stream: NewStream) -> None:
    stream = new_stream()
    command = [sys.executable, "-c", FORGETFUL_OF_CLIENT, uri, stream.scoped_name]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stderr
    assert said.count(UNCLOSED.format(stream.scoped_name)) == 1
    assert "Task was destroyed" not in said
    assert read_all(stream) == [b"written"]


def test_an_asynchronous_client_that_is_dropped_with_an_open_writer(uri: str, new_stream: NewStream) -> None:
    stream = new_stream()

    async def write(closes: bool) -> None:
        client = AsyncClient(uri)
        writer = client.stream(stream.scoped_name).writer()
        await writer.write(["a", "b"], ["k", "k"])
        await client.stream(stream.scoped_name).write("c", "k")  # its writer is none of the program's
        if closes:
            await writer.close()

    for closes in (True, False):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            asyncio.run(write(closes))
            gc.collect()
        said = [str(each.message) for each in caught if each.category is RuntimeWarning]
        assert [UNCLOSED.format(stream.scoped_name) in each for each in said] == [True] * (not closes)


def kill_a_simulated_writer() -> None:
    world, written = SimulatedPravega(7), asyncio.Event()

    async def write() -> None:
        writer = world.client("program").stream("s/events").writer()
        await writer.write("written", "k")
        await writer.flush()
        written.set()
        await asyncio.Event().wait()

    async def kill() -> None:
        async with world.client() as client:
            await client.create_stream("s/events")
        program = world.start("program", write())
        await written.wait()
        program.kill()

    world.run(kill())


def test_no_warning_of_a_simulated_program_that_is_killed() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kill_a_simulated_writer()
        gc.collect()
    assert [str(each.message) for each in caught if each.category is RuntimeWarning] == []


def test_no_warning_without_events_or_after_a_close(new_stream: NewStream) -> None:
    stream = new_stream()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for use in (lambda writer: None, lambda writer: writer.write("x", "k")):
            with stream.writer() as writer:
                use(writer)
            stream.writer()
        del writer
        stream.seal()
        with pytest.raises(StreamSealedError):
            stream.writer().write("out", "k")  # never had a segment to write to


def test_a_writer_that_failed_unnoticed_is_warned_of(new_stream: NewStream) -> None:
    stream = new_stream()
    writer = stream.writer()
    writer.write("in", "k")
    writer.flush()
    stream.seal()
    writer.write("out", "k")
    with pytest.warns(RuntimeWarning, match=UNCLOSED.format(stream.scoped_name)):
        del writer
    assert read_all(stream) == [b"in"]


def test_order_and_completeness_through_scales_while_writing(uri: str, new_stream: NewStream) -> None:
    stream, part, least = new_stream(), 500, 60
    scaled = asyncio.Event()
    written = 0

    async def scale(found: Any) -> None:
        for turn in range(6):
            segments = await found.segments()
            if turn % 3 == 2:
                await found.merge([s.segment_id for s in segments[:2]])
            else:
                await found.split(segments[turn % len(segments)].segment_id)
        scaled.set()

    async def write(found: Any) -> None:
        nonlocal written
        async with found.writer() as writer:
            while not scaled.is_set() or written < least * part:
                await writer.write(*numbered(part, 23, written))
                written += part
                await asyncio.sleep(0.01)

    async def write_and_scale() -> None:
        async with AsyncClient(uri) as client:
            found = client.stream(stream.scoped_name)
            async with asyncio.TaskGroup() as both:
                both.create_task(write(found))
                both.create_task(scale(found))

    asyncio.run(write_and_scale())
    assert_each_once_in_order(read_all(stream), written)


def test_events_that_were_routed_before_a_scale_follow_it(
    uri: str, new_stream: NewStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large slice is routed in turns; here its segment is sealed, and replaced, in one of them."""
    stream, part = new_stream(), 500
    monkeypatch.setattr(inputs, "SLICE_EVENTS", 100)  # so that a part takes several turns
    in_turns = inputs._in_turns

    async def split_in_between() -> None:
        async with AsyncClient(uri) as client:
            found = client.stream(stream.scoped_name)
            async with found.writer() as writer:
                await writer.write(*numbered(part, 23))
                await writer.flush()
                await found.split(0)
                await writer.write(*numbered(1, 23, part))  # by which the writer hears of it

                async def after_the_scale(work: Any, n_events: int) -> None:
                    await in_turns(work, n_events)
                    while len(writer._appends._highs) == 1:
                        await asyncio.sleep(0.01)

                monkeypatch.setattr(inputs, "_in_turns", after_the_scale)
                await writer.write(*numbered(part, 23, part + 1))

    asyncio.run(split_in_between())
    assert_each_once_in_order(read_all(stream), 2 * part + 1)
    for segment in stream.segments():
        with stream.read(segments=[segment.segment_id]) as batches:
            keys = {event.decode().split(":")[0] for event in events_of(batches)}
        assert keys
        assert all(segment.low < key_position(key) <= segment.high for key in keys)


CUTS = [[500] * 4, [60, 100, 150, 200, 250], [60_000, 20_000, 1_000, 20_000], [40_000] * 12]


@pytest.mark.slow
@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_nothing_lost_and_nothing_doubled_over_a_cut_connection(
    uri: str, new_stream: NewStream, cuts: list[int]
) -> None:
    stream = new_stream(segments=3)
    n_parts, part = 20, 400

    async def write() -> int:
        async with CuttingProxy(cuts) as proxy, AsyncClient(uri, link=proxy.to(uri)) as client:
            async with client.stream(stream.scoped_name).writer() as writer:
                for i in range(n_parts):
                    await writer.write(*numbered(part, 23, i * part))
                    await asyncio.sleep(0)
            assert not proxy.cuts_left
            return proxy.connections

    assert asyncio.run(write()) > len(cuts)
    assert_each_once_in_order(read_all(stream), n_parts * part)


def test_single_events_over_a_cut_connection(uri: str, new_stream: NewStream) -> None:
    stream = new_stream()

    async def write() -> None:
        proxy = CuttingProxy([170 + 13 * i for i in range(10)])
        async with proxy, AsyncClient(uri, link=proxy.to(uri)) as client:
            for i in range(40):
                await client.stream(stream.scoped_name).write(f"k:{i}", "k")

    asyncio.run(write())
    assert numbers_by_key(read_all(stream)) == {"k": list(range(40))}


def test_a_store_that_stays_away_is_reported_and_the_blocks_close(uri: str, new_stream: NewStream) -> None:
    stream = new_stream()

    async def write() -> None:
        proxy = CuttingProxy([0] * 1000)
        async with proxy, AsyncClient(uri, link=proxy.to(uri), retry_for_s=0.5) as client:
            with pytest.raises(StoreUnavailableError, match="append to"):
                async with client.stream(stream.scoped_name).writer() as writer:
                    await writer.write("x", "k")
        assert [t for t in asyncio.all_tasks() if t is not asyncio.current_task()] == []

    asyncio.run(write())
    assert read_all(stream) == []


def test_writers_of_one_client_do_not_wait_for_each_other(client: Client, new_stream: NewStream) -> None:
    streams = [new_stream(f"s{i}") for i in range(3)]
    writers = [stream.writer() for stream in streams]
    for i in range(50):
        for writer in writers:
            writer.write(f"k:{i}", "k")
    for writer in reversed(writers):
        writer.close()
    for stream in streams:
        assert numbers_by_key(read_all(stream)) == {"k": list(range(50))}
