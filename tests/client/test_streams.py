"""Scopes, streams, scaling and cuts, against the embedded store and a real Pravega alike."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import psutil
import pytest

from pravega_lab.client import (
    HEAD,
    TAIL,
    AsyncClient,
    Client,
    RetentionPolicy,
    ScalingPolicy,
    Stream,
    StreamConfiguration,
    connect,
)
from pravega_lab.client.byte_streams.reader import AsyncByteReader
from pravega_lab.client.controller import calls, grpc_link
from pravega_lab.client.controller.grpc_link import GrpcLink
from pravega_lab.client.controller.link import ControllerCallError
from pravega_lab.client.loop_thread import new_loop
from pravega_lab.client.reader_group import RetentionType, reading
from pravega_lab.client.reader_group.opening import async_reader_group
from pravega_lab.client.stream import AsyncStream
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    BadInputError,
    ConditionFailedError,
    Definite,
    NotEmptyError,
    PravegaError,
    ScaleRefusedError,
    ScopeNotFoundError,
    SegmentNotFoundError,
    StoreUnavailableError,
    StreamNotFoundError,
    StreamNotSealedError,
    StreamSealedError,
)
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.hashing import key_position
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import StreamCut
from pravega_lab.testing.simulated import SimulatedPravega
from tests.client.helpers import RedirectedLink

NewStream = Callable[..., Stream]


def test_scopes(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    assert client.create_scope(scope) is True
    assert client.create_scope(scope) is False
    assert scope in client.list_scopes()
    client.create_stream(f"{scope}/a")
    with pytest.raises(NotEmptyError):
        client.delete_scope(scope)
    stream = client.stream(f"{scope}/a")
    stream.seal()
    stream.delete()
    assert client.delete_scope(scope) is True
    assert client.delete_scope(scope) is False


def test_the_life_of_a_stream(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    scaling, retention = ScalingPolicy.by_data_rate(100, 3, 2), RetentionPolicy.by_size(1 << 30)
    stream = client.create_stream(f"{scope}/a", scaling=scaling, retention=retention, tags=["x", "y"])
    assert stream.exists()
    found = stream.configuration()
    assert (found.scaling, found.retention, sorted(found.tags)) == (scaling, retention, ["x", "y"])
    client.create_stream(f"{scope}/b")
    assert client.list_streams(scope) == ["a", "b"]
    assert client.list_streams(scope, tag="y") == ["a"]
    stream.update(scaling=ScalingPolicy.by_event_rate(7, 4, 1), tags=["z"])
    assert stream.configuration() == StreamConfiguration(
        ScalingPolicy.by_event_rate(7, 4, 1), retention, ("z",)
    )
    with pytest.raises(StreamNotSealedError):
        stream.delete()
    stream.seal()
    stream.seal()
    with pytest.raises(StreamSealedError):
        stream.update(tags=["late"])
    with pytest.raises(StreamSealedError):
        stream.write("late")
    with pytest.raises(StreamSealedError):
        stream.begin_transaction()
    assert stream.segments() == []
    stream.delete()
    assert not stream.exists()


def test_a_stream_of_the_same_name_again(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    for turn in ("first", "second"):
        stream = client.create_stream(f"{scope}/a")
        stream.write(turn)
        with stream.read() as batches:
            assert [batch.column("event").to_pylist() for batch in batches] == [[turn.encode()]]
        stream.seal()
        stream.delete()


def test_a_write_to_a_stream_that_another_client_created_again(
    uri: str, client: Client, scope_name: Callable[[], str]
) -> None:
    stream = client.create_stream(f"{scope_name()}/s")
    stream.write("first", "k")
    with connect(uri) as other:
        again = other.stream(stream.scoped_name)
        again.seal()
        again.delete()
        other.create_stream(stream.scoped_name)
    assert stream.write("second", "k") == 1
    with stream.read() as batches:
        assert list(batches.events()) == [b"second"]


def test_a_deleted_stream_keeps_no_connection(uri: str, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    with connect(uri) as client:
        for name in "abcdef":
            stream = client.create_stream(f"{scope}/{name}")
            stream.write("event")
            stream.seal()
            stream.delete()
            if name == "a":
                before = len(psutil.Process().net_connections())
        # Connections of this process that other tests closed may end only now.
        deadline = time.monotonic() + 10
        while (now := len(psutil.Process().net_connections())) > before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert now <= before


def test_what_is_not_there_is_named(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    with pytest.raises(ScopeNotFoundError, match=scope):
        client.create_stream(f"{scope}/a", create_scope=False)
    with pytest.raises(ScopeNotFoundError, match=scope):
        client.list_streams(scope)
    client.create_scope(scope)
    missing = client.stream(f"{scope}/none")
    assert not missing.exists()
    for ask in (
        missing.segments,
        missing.head,
        missing.tail,
        missing.configuration,
        missing.seal,
        missing.delete,
    ):
        with pytest.raises(StreamNotFoundError, match=f"{scope}/none"):
            ask()
    with pytest.raises(StreamNotFoundError):
        missing.write("x")
    with pytest.raises(StreamNotFoundError), missing.read():
        pass
    with pytest.raises(StreamNotFoundError):
        missing.begin_transaction()


def test_names_and_numbers_that_never_work(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    client.create_stream(f"{scope}/a")
    with pytest.raises(AlreadyExistsError, match=f"{scope}/a"):
        client.create_stream(f"{scope}/a")
    for name in (f"{scope}/under_score", f"{scope}/", "no-slash", f"{scope}/a/b", "bad_scope/a"):
        with pytest.raises(BadInputError):
            client.create_stream(name)
    with pytest.raises(BadInputError, match="give a whole number from 1"):
        client.create_stream(f"{scope}/b", scaling=ScalingPolicy.fixed(0))
    with pytest.raises(BadInputError, match=r"scaling=3 is no policy; give ScalingPolicy.fixed\(segments\)"):
        client.create_stream(f"{scope}/b", scaling=3)  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="scaling=0 is no policy"):
        client.stream(f"{scope}/a").update(scaling=0)  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="batch_bytes"):
        client.stream(f"{scope}/a").read(batch_bytes=0)
    stream = client.stream(f"{scope}/a")
    epoch_0 = stream.segments()
    for ids in (0, [0], [0, 0]):
        with pytest.raises(BadInputError, match="give at least two segment ids"):
            stream.merge(ids)  # type: ignore[arg-type]
    assert stream.segments() == epoch_0
    with pytest.raises(BadInputError, match="lease_ms='5': a lease is"):
        stream.begin_transaction("5")  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="scope None: its name is a text"):
        client.create_scope(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("uri", ["http://localhost:9090", "localhost", "tcp://:1", "tcp://host:port", ""])
def test_addresses_that_are_none(uri: str) -> None:
    with pytest.raises(BadInputError):
        connect(uri)


@pytest.mark.slow
def test_an_unreachable_controller_is_named_within_seconds() -> None:
    begin = time.monotonic()
    with (
        connect("tcp://127.0.0.1:1") as client,
        pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1:1") as caught,
    ):
        client.list_scopes()
    assert caught.value.definite is Definite.UNKNOWN
    assert time.monotonic() - begin < 20


def test_a_closed_client_does_not_go_on_trying() -> None:
    with StoreProcess() as store:
        client = connect(store.uri, retry_for_s=60)
        assert client.list_scopes() is not None
        store.kill()
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(client.list_scopes)
            time.sleep(1)
            assert not asked.done()
            begin = time.monotonic()
            client.close()
            with pytest.raises(StoreUnavailableError) as caught:
                asked.result(30)
    assert caught.value.definite is Definite.UNKNOWN
    assert time.monotonic() - begin < 5


def test_an_async_client_belongs_to_one_event_loop(uri: str, new_stream: NewStream) -> None:
    client, loop = AsyncClient(uri), asyncio.new_event_loop()
    stream = client.stream(new_stream().scoped_name)
    writer = stream.writer()
    loop.run_until_complete(stream.write("one", "k"))
    loop.run_until_complete(writer.write("two", "k"))
    for call in (stream.write("three", "k"), writer.flush(), stream.tail(), stream.byte_reader().read()):
        with pytest.raises(BadInputError, match="in another event loop"):
            asyncio.run(asyncio.wait_for(call, 10.0))
    with pytest.raises(BadInputError, match="in another event loop"):
        asyncio.run(asyncio.wait_for(client.close(), 10.0))
    loop.run_until_complete(writer.close())
    loop.run_until_complete(client.close())
    loop.close()


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, new_loop])
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:the writer of:RuntimeWarning")
def test_an_async_client_can_be_closed_after_the_end_of_its_event_loop(
    uri: str,
    new_stream: NewStream,
    make_loop: Callable[[], asyncio.AbstractEventLoop],
    caplog: pytest.LogCaptureFixture,
) -> None:
    name = new_stream().scoped_name
    before = len(psutil.Process().net_connections())

    def run(call: Coroutine[Any, Any, object]) -> None:
        with asyncio.Runner(loop_factory=make_loop) as runner:
            runner.run(asyncio.wait_for(call, 10.0))

    async def begin(stream: AsyncStream, reader: AsyncByteReader) -> None:
        await stream.write("durable", "k")
        await (await stream.begin_transaction()).write("in doubt", "k")
        await reader.read()

    client = AsyncClient(uri)
    stream = client.stream(name)
    reader = stream.byte_reader()
    run(begin(stream, reader))
    run(reader.close())
    run(client.close())
    run(client.close())
    with pytest.raises(PravegaError, match="was closed"):
        run(stream.segments())

    client = AsyncClient(uri)
    writer = client.stream(name).writer()
    run(writer.write("lost", "k"))
    with pytest.raises(PravegaError, match="Flush or close the writer before that"):
        run(client.close())
    run(client.close())
    gc.collect()
    # gRPC's thread closes its connections a moment later.
    deadline = time.monotonic() + 10
    while (now := len(psutil.Process().net_connections())) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert now <= before
    assert not caplog.records  # no task was destroyed, and no error never retrieved


def test_what_waits_behind_a_segment_that_has_not_begun_is_kept_and_read(
    store: str, scope_name: Callable[[], str]
) -> None:
    """Segment 0 is not read. One of epoch 1 waits for it, and one of epoch 2 for that one."""
    with connect(store) as client:
        policy = ScalingPolicy.by_event_rate(1_000_000_000, 2, 2)
        stream = client.create_stream(f"{scope_name()}/s", scaling=policy)

        def write_to(segment: SegmentRange) -> None:
            stream.write(str(segment), next(k for k in map(str, range(99)) if segment.owns(key_position(k))))

        first, read = stream.segments()
        write_to(first)
        ids = first.segment_id, read.segment_id
        _, middle, high = stream.scale(ids, [(0.0, 0.25), (0.25, 0.75), (0.75, 1.0)])
        ids = middle.segment_id, high.segment_id
        _, behind, begun = stream.scale(ids, [(0.25, 0.5), (0.5, 0.8), (0.8, 1.0)])
        write_to(behind)
        write_to(begun)
        last = stream.merge([behind.segment_id, begun.segment_id])
        write_to(last)
        expected = sorted(map(str, (first, behind, begun, last)))

        def read_from(start: StreamCut) -> list[str]:
            with stream.read(start) as batches:
                return sorted(event.decode() for event in batches.events())

        cut = StreamCut(
            stream.scoped_name,
            {first.segment_id: 0, read.segment_id: -1, high.segment_id: -1, begun.segment_id: 0},
        )
        assert read_from(cut) == expected
        stream.truncate(cut)
        assert read_from(stream.head()) == expected
        group = client.create_reader_group(
            f"{stream.scope}/g", reading([stream.scoped_name], end=[stream.tail()])
        )
        with group.create_reader("r1", checkpoint_at_segment_end=True) as reader:
            assert sorted(read.event.decode() for read in reader) == expected


def test_scaling(new_stream: NewStream) -> None:
    stream = new_stream()
    left, right = stream.split(0)
    assert (left.low, left.high, right.low, right.high) == (0.0, 0.5, 0.5, 1.0)
    assert stream.segments() == [left, right]
    assert [(s.segment, s.predecessors) for s in stream.successors(0)] == [(left, (0,)), (right, (0,))]
    merged = stream.merge([left.segment_id, right.segment_id])
    (successor,) = stream.successors(left.segment_id)
    assert successor.segment == merged
    assert successor.predecessors == (left.segment_id, right.segment_id)
    assert stream.successors(merged.segment_id) == []
    assert stream.epoch_segments(1) == [left, right]
    assert stream.segments_between(HEAD, TAIL) == [0, left.segment_id, right.segment_id, merged.segment_id]
    assert len(stream.split(merged.segment_id, 3)) == 3


@pytest.mark.parametrize("seed", range(5))
def test_a_scale_whose_answer_was_lost_is_no_refusal(seed: int) -> None:
    pravega = SimulatedPravega(seed)

    async def story() -> int:
        async with pravega.client() as client:
            stream = await client.create_stream("s/events")
            pravega.controller.lost_answer_chance = 0.4
            for _ in range(4):
                first = (await stream.segments())[0]
                new = await stream.split(first.segment_id)
                assert [segment.low for segment in new] == [first.low, (first.low + first.high) / 2]
            first, second = (await stream.segments())[:2]
            assert (await stream.merge([first.segment_id, second.segment_id])).high == second.high
            with pytest.raises(ScaleRefusedError, match="not active"):
                await stream.scale([first.segment_id], [(first.low, first.high)])
            pravega.controller.lost_answer_chance = 0.0
            return len(await stream.segments())

    assert pravega.run(story()) == 4
    assert pravega.faults["lost answer"] > 0


class WrappedLink:
    """Stands between a client and its link to the controller."""

    def __init__(self, client: AsyncClient) -> None:
        self._link, client._controller._link = client._controller._link, self

    async def call(self, method: str, request: bytes) -> bytes:
        return await self._link.call(method, request)

    async def close(self) -> None:
        await self._link.close()


class LosingLink(WrappedLink):
    """Loses the answer to a call of ``method``, and lets another program act before the client retries."""

    def __init__(self, client: AsyncClient, method: str, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(client)
        self._method, self._meanwhile = method, meanwhile
        self.has_lost = False

    async def call(self, method: str, request: bytes) -> bytes:
        answer = await self._link.call(method, request)
        if method != self._method or self.has_lost:
            return answer
        self.has_lost = True
        await self._meanwhile()
        raise ControllerCallError("UNAVAILABLE", "the answer is lost")


async def nothing(stream: AsyncStream, cut: StreamCut) -> None:
    pass


async def seal(stream: AsyncStream, cut: StreamCut) -> None:
    await stream.seal()


async def delete(stream: AsyncStream, cut: StreamCut) -> None:
    await stream.seal()
    await stream.delete()


async def truncate(stream: AsyncStream, cut: StreamCut) -> None:
    await stream.truncate(TAIL)


@pytest.mark.parametrize(
    ("method", "change", "meanwhile", "refusal"),
    [
        ("sealStream", lambda stream, _: stream.seal(), delete, StreamNotFoundError),
        ("updateStream", lambda stream, _: stream.update(tags=["new"]), seal, StreamSealedError),
        ("truncateStream", lambda stream, cut: stream.truncate(cut), truncate, BadInputError),
        ("truncateStream", lambda stream, cut: stream.truncate(cut), seal, StreamSealedError),
        ("scale", lambda stream, _: stream.split(0), delete, StreamNotFoundError),
        (
            "noteTimestampFromWriter",
            lambda stream, _: stream.writer().note_time(1),
            delete,
            StreamNotFoundError,
        ),
        ("commitTransaction", lambda stream, _: commit(stream), delete, StreamNotFoundError),
        ("abortTransaction", lambda stream, _: commit(stream, is_kept=False), delete, StreamNotFoundError),
        ("sealStream", lambda stream, _: stream.seal(), nothing, None),
        ("commitTransaction", lambda stream, _: commit(stream), nothing, None),
    ],
)
def test_a_refusal_after_a_lost_answer_does_not_say_that_nothing_happened(
    method: str,
    change: Callable[[AsyncStream, StreamCut], Awaitable[object]],
    meanwhile: Callable[[AsyncStream, StreamCut], Awaitable[object]],
    refusal: type[PravegaError] | None,
) -> None:
    """The change happened. Another program made the repetition impossible before the client sent it."""
    pravega = SimulatedPravega()

    async def story() -> None:
        async with pravega.client("one") as client, pravega.client("other") as other:
            stream = await client.create_stream("s/events")
            await stream.write("first")
            cut = await stream.tail()
            await stream.write("second")
            link = LosingLink(client, method, lambda: meanwhile(other.stream("s/events"), cut))
            if refusal is None:
                await change(stream, cut)
            else:
                with pytest.raises(refusal) as caught:
                    await change(stream, cut)
                assert caught.value.definite is Definite.UNKNOWN
            assert link.has_lost

    pravega.run(story())


async def commit(stream: AsyncStream, is_kept: bool = True) -> None:
    transaction = await stream.begin_transaction()
    try:
        await (transaction.commit() if is_kept else transaction.abort())
    finally:
        await transaction.close()


@pytest.mark.parametrize("what", ["create_scope", "delete_scope", "delete_group", "reset"])
def test_what_a_call_without_an_answer_did_counts_for_its_repetition(what: str) -> None:
    pravega = SimulatedPravega()
    methods = {
        "create_scope": "createScope",
        "delete_scope": "deleteScope",
        "delete_group": "deleteReaderGroup",
        "reset": "updateReaderGroup",
    }

    async def story() -> None:
        async with pravega.client("one") as client, pravega.client("other") as other:
            await client.create_stream("s/events")
            await client.create_scope("empty")
            group = await client.create_reader_group("s/group", reading(["s/events"]))
            again = other.reader_group("s/group").reset if what == "reset" else other.list_scopes
            link = LosingLink(client, methods[what], again)
            if what == "create_scope":
                assert await client.create_scope("new") is True
            elif what == "delete_scope":
                assert await client.delete_scope("empty") is True
            elif what == "delete_group":
                assert await group.delete() is True
            else:
                with pytest.raises(ConditionFailedError, match="its generation is 2, not 0") as caught:
                    await group.reset()
                assert caught.value.definite is Definite.UNKNOWN
            assert link.has_lost

    pravega.run(story())


def test_scopes_are_deleted_with_their_streams_at_the_same_time(
    client: Client, uri: str, scope_name: Callable[[], str]
) -> None:
    scopes = [scope_name() for _ in range(4)]
    for scope in scopes:
        for name in ("a", "b"):
            client.create_stream(f"{scope}/{name}")
    with ThreadPoolExecutor(4) as threads, ExitStack() as clients:
        each = [clients.enter_context(connect(uri)) for _ in scopes]
        deletions = [
            threads.submit(one.delete_scope, scope, recursive=True)
            for one, scope in zip(each, scopes, strict=True)
        ]
        assert [deletion.result() for deletion in deletions] == [True] * 4
    assert not set(scopes) & set(client.list_scopes())


class EarlyLink(WrappedLink):
    """Says after 10 s that a scope is deleted, and deletes it ``after_s`` later, or never."""

    def __init__(self, client: AsyncClient, after_s: float | None) -> None:
        super().__init__(client)
        self._after_s = after_s
        self._late: list[asyncio.Task[None]] = []

    async def call(self, method: str, request: bytes) -> bytes:
        if method != "deleteScopeRecursive":
            return await self._link.call(method, request)
        await asyncio.sleep(10)
        if self._after_s is not None:
            self._late.append(asyncio.create_task(self._delete(request, self._after_s)))
        return pb.DeleteScopeStatus(status=pb.DeleteScopeStatus.SUCCESS).SerializeToString()

    async def _delete(self, request: bytes, after_s: float) -> None:
        await asyncio.sleep(after_s)
        await self._link.call("deleteScopeRecursive", request)


@pytest.mark.parametrize("after_s", [0.0, 15.0, None])
def test_a_scope_is_gone_when_its_deletion_returns(after_s: float | None) -> None:
    pravega = SimulatedPravega()

    async def story() -> None:
        async with pravega.client("one") as client, pravega.client("other") as other:
            await client.create_stream("s/x")
            EarlyLink(client, after_s)
            if after_s is None:
                with pytest.raises(StoreUnavailableError, match=r"said that it is gone, .* again to wait"):
                    await client.delete_scope("s", recursive=True)
            else:
                assert await client.delete_scope("s", recursive=True) is True
            assert ("s" in await other.list_scopes()) is (after_s is None)

    pravega.run(story())


@pytest.mark.parametrize("has_deleted", [False, True])
def test_a_table_whose_creation_got_no_answer_may_have_existed(has_deleted: bool) -> None:
    pravega = SimulatedPravega()

    async def story() -> None:
        async with pravega.client("one") as client, pravega.client("other") as other:
            await client.create_scope("s")

            async def meanwhile() -> None:
                if has_deleted:
                    await other.delete_scope("s", recursive=True)

            link = LosingLink(client, "createKeyValueTable", meanwhile)
            creation = client.create_key_value_table("s/table", 4, create_scope=False)
            if has_deleted:
                with pytest.raises(ScopeNotFoundError) as caught:
                    await creation
                assert caught.value.definite is Definite.UNKNOWN
            else:
                await creation
            assert link.has_lost

    pravega.run(story())


def test_a_controller_is_reached_again_when_its_connection_falls_silent(
    uri: str, scope_name: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network that drops a connection says so to neither end."""
    monkeypatch.setattr(calls, "ATTEMPT_S", 0.5)
    monkeypatch.setattr(grpc_link, "SILENT_S", 0.1)
    host, _, port = uri.removeprefix("tcp://").rpartition(":")
    silent: list[asyncio.Event] = []  # one for each connection

    async def pipe(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_silent: asyncio.Event
    ) -> None:
        while data := await reader.read(1 << 16):
            if not is_silent.is_set():
                writer.write(data)
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        silent.append(asyncio.Event())
        theirs, ours = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pipe(reader, ours, silent[-1]), pipe(theirs, writer, silent[-1]))

    async def run() -> None:
        proxy = await asyncio.start_server(connected, "127.0.0.1", 0)
        uri_of_proxy = f"tcp://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        async with proxy, AsyncClient(uri_of_proxy) as client:
            scope = scope_name()
            await client.create_scope(scope)
            silent[0].set()
            assert scope in await client.list_scopes()
            assert len(silent) > 1

    asyncio.run(run())


class DenyingLink(RedirectedLink):
    """A controller that denies calls of some methods from the moment that a test chooses."""

    denied: tuple[str, ...] = ()

    async def call(self, method: str, request: bytes) -> bytes:
        if method in self.denied:
            raise ControllerCallError("PERMISSION_DENIED", "Authorization failed")
        return await GrpcLink.call(self, method, request)


def test_a_missing_permission_is_named_by_every_call(uri: str, new_stream: NewStream) -> None:
    name = new_stream().scoped_name
    link = DenyingLink(uri, 0)

    async def run() -> None:
        async with AsyncClient(uri, link=link) as client:
            stream = client.stream(name)
            await stream.write([b"event"], "key")
            group = async_reader_group(client, f"{stream.scope}/g")
            config = reading([name], retention_type=RetentionType.MANUAL_RELEASE_AT_USER_STREAMCUT)
            assert await group.create(config)
            tail = await stream.tail()
            link.denied = (
                *("truncateStream", "createReaderGroup", "updateReaderGroup", "deleteReaderGroup"),
                *("getReaderGroupConfig", "updateSubscriberStreamCut"),
            )
            for call in (
                lambda: stream.truncate(tail),
                lambda: group.create(config),
                lambda: group.delete(),
                lambda: group.reset(config=config),
                lambda: group.update_retention_stream_cut({name: tail}),
            ):
                with pytest.raises(AccessDeniedError):
                    await call()

    asyncio.run(run())


def test_a_refused_scale_names_its_rule(client: Client, new_stream: NewStream) -> None:
    stream = new_stream(segments=2)
    first, second = (segment.segment_id for segment in stream.segments())
    with pytest.raises(ScaleRefusedError, match="not active"):
        stream.scale([77], [(0.0, 1.0)])
    with pytest.raises(ScaleRefusedError, match="must be equal"):
        stream.scale([first], [(0.0, 0.4)])
    with pytest.raises(ScaleRefusedError, match="empty or outside"):
        stream.scale([first], [(0.5, 0.0)])
    fixed = client.create_stream(f"{stream.scope}/fixed", scaling=ScalingPolicy.fixed(2))
    with pytest.raises(ScaleRefusedError, match="at least 2"):
        fixed.merge([segment.segment_id for segment in fixed.segments()])
    assert [segment.segment_id for segment in stream.segments()] == [first, second]


def test_cuts_and_truncation(new_stream: NewStream) -> None:
    stream = new_stream(segments=2)
    assert stream.head() == stream.tail() == StreamCut(stream.scoped_name, {0: 0, 1: 0})
    stream.write(["a"] * 20, [f"k{i}" for i in range(20)])
    middle = stream.tail()
    assert sum(middle.positions.values()) == 20 * 9
    stream.truncate(middle)
    stream.truncate(middle)
    assert stream.head() == middle
    with pytest.raises(BadInputError, match="after the head"):
        stream.truncate(StreamCut(stream.scoped_name, {0: 0, 1: 0}))
    with pytest.raises(BadInputError, match="a cut of stream"):
        stream.truncate(StreamCut("other/stream", {0: 0}))
    assert stream.segment_info(0).start_offset == middle.positions[0]
    assert stream.tiered_offset(0) is None  # without tier 2, and of a released store
    with pytest.raises(SegmentNotFoundError):
        stream.segment_info(99)


def test_the_tail_of_a_sealed_stream_is_the_end_of_its_last_segments(new_stream: NewStream) -> None:
    stream = new_stream()
    stream.write("before", "k")
    left, right = stream.split(0)
    stream.write("after", "k")
    stream.seal()
    tail = stream.tail()
    assert sorted(tail.positions) == [left.segment_id, right.segment_id]
    assert sum(tail.positions.values()) == 8 + len("after")


def test_a_tail_taken_during_scales_is_always_a_whole_cut(uri: str, new_stream: NewStream) -> None:
    stream = new_stream(segments=2)

    async def scale_and_look() -> list[StreamCut]:
        async with AsyncClient(uri) as client, AsyncClient(uri) as looking:
            scaling = asyncio.create_task(scale(client.stream(stream.scoped_name)))
            found = []
            while not scaling.done():
                found.append(await looking.stream(stream.scoped_name).tail())
            await scaling
        return found

    async def scale(scaled: AsyncStream) -> None:
        for turn in range(6):
            await scaled.write(f"k:{turn}", "k")
            segments = [segment.segment_id for segment in await scaled.segments()]
            if turn % 2:
                await scaled.merge(segments)
            else:
                await scaled.split(segments[-1])

    cuts = asyncio.run(scale_and_look())
    assert len(cuts) > 3
    ranges = {s.segment_id: s for epoch in range(7) for s in stream.epoch_segments(epoch)}
    for cut in cuts:
        covered = sorted((ranges[s].low, ranges[s].high) for s in cut.positions)
        assert covered[0][0] == 0.0
        assert covered[-1][1] == 1.0
        assert all(before[1] == after[0] for before, after in pairwise(covered))
        with stream.read(HEAD, cut) as before, stream.read(cut, TAIL) as behind:
            assert sum(b.num_rows for b in before) + sum(b.num_rows for b in behind) == 6
