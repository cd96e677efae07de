"""The synchronous client has the methods of the core, starts nothing by itself, and works after a fork."""

from __future__ import annotations

import ast
import asyncio
import gc
import importlib
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pravega_lab.client import JsonFormat, TransactionState, Whole, client, stream, sync
from pravega_lab.client import loop_thread as loop
from pravega_lab.client.byte_streams import reader as byte_reader
from pravega_lab.client.byte_streams import writer as byte_writer
from pravega_lab.client.connection.receiver import FrameReceiver
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.reader_group import event_reader, group, reading
from pravega_lab.client.reader_group import sync as group_sync
from pravega_lab.client.reading import batches, segment_reader
from pravega_lab.client.registry import (
    AsyncDeserializer,
    AsyncSchemaRegistry,
    AsyncSerializer,
    Deserializer,
    SchemaRegistry,
    Serializer,
)
from pravega_lab.client.shared_state import revisioned, synchronizer
from pravega_lab.client.shared_state.sync import RevisionedStream, StateSynchronizer
from pravega_lab.client.tables import entries, key_value_table, table
from pravega_lab.client.writing import transaction, writer
from pravega_lab.errors import PravegaError

T = TypeVar("T")
PAIRS = [
    (sync.Client, client.AsyncClient),
    (sync.Stream, stream.AsyncStream),
    (sync.EventWriter, writer.AsyncEventWriter),
    (sync.Transaction, transaction.AsyncTransaction),
    (sync.Batches, batches.AsyncBatches),
    (sync.OrderedSegmentReader, segment_reader.AsyncOrderedSegmentReader),
    (sync.Table, table.AsyncTable),
    (sync.ByteWriter, byte_writer.AsyncByteWriter),
    (sync.ByteReader, byte_reader.AsyncByteReader),
    (RevisionedStream, revisioned.AsyncRevisionedStream),
    (StateSynchronizer, synchronizer.AsyncStateSynchronizer),
    (sync.KeyValueTable, key_value_table.AsyncKeyValueTable),
    (sync.Entries, entries.AsyncEntries),
    (SchemaRegistry, AsyncSchemaRegistry),
    (Serializer, AsyncSerializer),
    (Deserializer, AsyncDeserializer),
    (group_sync.ReaderGroup, group.AsyncReaderGroup),
    (group_sync.PendingCheckpoint, group.AsyncPendingCheckpoint),
    (group_sync.Reader, event_reader.AsyncReader),
]
# What the core's parts offer to each other.
INTERNAL = {
    "AsyncStream": {"close"},
    "AsyncEventWriter": {
        "appends", "close_unclosed", "is_failed", "is_open", "name", "stop", "write_durably",
    },
    "AsyncBatches": {"has_begun", "next_events", "put_back", "put_back_one"},
    "AsyncByteReader": {"put_back"},
    "AsyncEntries": {"put_back"},
    "AsyncTransaction": {"appends"},
    "AsyncReader": {"next_events", "put_back"},
    "AsyncOrderedSegmentReader": {
        "take", "wait", "wait_for_many", "set_ready", "next_ready", "first_ready", "open_available",
        "is_available", "check_open", "position_before", "put_back",
    },
}  # fmt: skip


def public(kind: type) -> dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


def signature(value: Any) -> str:
    found = inspect.signature(value.fget if isinstance(value, property) else value)
    return str(found).replace("Async", "")


@pytest.mark.parametrize(("sync", "core"), PAIRS, ids=lambda kind: kind.__name__)
def test_same_names_and_signatures(sync: type, core: type) -> None:
    ours = public(sync)
    theirs = {n: v for n, v in public(core).items() if n not in INTERNAL.get(core.__name__, set())}
    assert sorted(ours) == sorted(theirs)
    for name, value in ours.items():
        assert signature(value) == signature(theirs[name]), name


@pytest.mark.parametrize(("sync", "core"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_call_says_what_it_does(sync: type, core: type) -> None:
    for name, value in public(sync).items():
        assert (value.fget if isinstance(value, property) else value).__doc__, name


def test_importing_starts_nothing_and_imports_nothing_heavy() -> None:
    program = (
        "import sys, threading, pravega_lab.client.reader_group\n"
        "heavy = {'grpc', 'numba', 'numpy', 'pyarrow', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_the_core_uses_no_thread_and_no_module_level_chance_or_clock() -> None:
    folder = Path(client.__file__).parent
    for path in sorted(folder.glob("*.py")):
        names = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        allowed = {"loop_thread.py": {"threading"}}.get(path.name, set())
        assert not names & {"threading", "time", "random", "socket", "secrets"} - allowed, path.name
        if path.name != "grpc_link.py":
            assert "grpc" not in names, path.name


def test_what_is_dropped_without_a_close_leaves_no_connection(uri: str, new_stream: Any) -> None:
    events, notes, log = new_stream(), new_stream("notes").scoped_name, new_stream("log").scoped_name

    def use(client: Any) -> None:
        client.create_reader_group(f"{events.scope}/group", reading([events.scoped_name]))
        client.stream(notes).byte_writer().write(b"bytes")
        assert client.stream(notes).byte_reader().read() == b"bytes"
        client.revisioned_stream(log).latest()
        client.state_synchronizer(log, JsonFormat(list.append)).initialize(Whole([]))
        gc.collect()

    with sync.connect(uri) as client:
        use(client)
        connections = client._core._stores._own
        shared = client._core._stores._shared._opening.values()
        deadline = time.monotonic() + 30
        while (n_open := sum(one.is_open for one in connections)) > len(shared):
            assert time.monotonic() < deadline, n_open
            time.sleep(0.01)


FOLLOWING = """
import sys, threading
from pravega_lab.client import connect

def follow():
    with connect(sys.argv[1]).stream(sys.argv[2]).follow() as batches:
        for batch in batches:
            arrived.set()

arrived = threading.Event()
threading.Thread(target=follow, daemon=True).start()
assert arrived.wait(60.0)
"""


def test_a_program_that_ends_while_a_daemon_thread_reads_says_nothing(uri: str, new_stream: Any) -> None:
    made = new_stream()
    made.write("event", "k")
    command = [sys.executable, "-c", FOLLOWING, uri, made.scoped_name]
    assert subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stderr == ""


def test_a_closed_client_that_a_program_keeps_holds_no_buffers(uri: str, new_stream: Any) -> None:
    stream = new_stream().scoped_name

    def closed_client() -> sync.Client:
        with sync.connect(uri) as client:
            client.stream(stream).write("event", "key")
        return client

    def buffers() -> int:
        held = (one._buffer for one in gc.get_objects() if isinstance(one, FrameReceiver))
        return sum(map(len, held))

    before = buffers()
    kept = [closed_client() for _ in range(3)]
    deadline = time.monotonic() + 30
    while (held := buffers()) > before:  # a connection is lost in a later turn of the loop
        assert time.monotonic() < deadline, f"{len(kept)} closed clients hold {held - before} bytes"
        time.sleep(0.01)


def test_one_thread_for_all_and_not_to_be_called_from_itself() -> None:
    before = threading.active_count()
    assert loop_thread() is loop_thread()
    assert threading.active_count() <= before + 1

    async def wrong() -> None:
        sync.connect("tcp://127.0.0.1:1").list_scopes()

    with pytest.raises(RuntimeError, match="its own loop"):
        loop_thread().run(wrong())


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that was started in the background ignores interrupts: let this one notice them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("at_once", [True, False])
def test_an_interrupt_of_the_caller_cancels_the_call_and_sees_its_end(at_once: bool) -> None:
    """Else a writer could take the event of the call after the events that its program wrote next."""
    begun, ended = threading.Event(), threading.Event()

    async def call() -> None:
        begun.set()
        try:
            await asyncio.sleep(60.0)
        finally:
            await asyncio.sleep(0.01)
            ended.set()

    def interrupt() -> None:
        while sys._current_frames()[caller].f_code.co_name != "run":
            time.sleep(0.01)
        time.sleep(0.05)  # by now the caller waits
        assert at_once or begun.wait(10.0)
        signal.pthread_kill(caller, signal.SIGINT)
        left.set()

    caller, left = threading.get_ident(), threading.Event()
    if at_once:  # the call has not begun when the caller is interrupted
        loop_thread().call_soon(lambda: left.wait(10.0))
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        loop_thread().run(call())
    assert ended.is_set()


@pytest.fixture
def interrupted(interruptible: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Interrupts a call when what it does on the loop has ended, and its result is on its way."""
    caller = threading.get_ident()
    made = loop._Call

    async def then_interrupt(call: Any) -> Any:
        result = await call
        signal.pthread_kill(caller, signal.SIGINT)
        return result

    def interrupt(call: Callable[[], Any]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(loop, "_Call", lambda begun: made(then_interrupt(begun)))
            with pytest.raises(KeyboardInterrupt):
                call()

    return interrupt


def test_an_interrupt_does_not_wait_for_a_call_that_has_ended(interrupted: Any) -> None:
    async def call() -> int:
        return 7

    found: list[int] = []
    begin_s = time.monotonic()
    interrupted(lambda: loop_thread().run(call(), found.append))
    assert found == [7]
    assert time.monotonic() - begin_s < loop.INTERRUPT_S


def events_of(*batches: Any) -> list[bytes]:
    return [event for batch in batches for event in batch.column("event").to_pylist()]


def test_an_interrupt_loses_no_events_of_a_read(interrupted: Any, new_stream: Any) -> None:
    made = new_stream()
    made.write(["a", "b"], "k")
    before_split = made.tail()
    made.split(0)
    made.write(["c", "d"], "k")
    with made.read() as found:
        for call in (found.next_batch, found.next_batches, lambda: next(found.events())):
            interrupted(call)
            assert found.position() == made.head()
            assert not found.ended
        assert next(found.events()) == b"a"
        interrupted(found.next_batch)
        assert events_of(found.next_batch()) == [b"b"]
        assert found.position() == before_split
        assert events_of(*found) == [b"c", b"d"]
        assert found.ended
    with made.follow() as found:
        interrupted(lambda: found.next_batch(timeout_s=10.0))
        assert events_of(found.next_batch()) == [b"a", b"b"]


def test_a_read_that_was_interrupted_as_it_began_can_be_used(interrupted: Any, new_stream: Any) -> None:
    made = new_stream()
    made.write(["a", "b"], "k")
    batches = made.read()
    interrupted(batches.position)
    assert list(batches.events()) == [b"a", b"b"]
    batches.close()


def test_an_interrupt_leaves_no_reader_and_no_transaction_that_its_program_does_not_have(
    interrupted: Any, new_stream: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group would wait for such a reader at every checkpoint, and the lease would be renewed for ever."""
    made = new_stream()
    group = client.create_reader_group(f"{made.scope}/group", reading([made.scoped_name]))
    interrupted(lambda: group.create_reader("one"))
    assert group.online_readers() == []

    begun = []
    begin = stream.begin
    monkeypatch.setattr(stream, "begin", lambda *given: noted(begin(*given), begun))
    interrupted(made.begin_transaction)
    [txn] = begun
    made.transaction(txn.txn_id).wait_until(TransactionState.ABORTED, timeout_s=10.0)
    assert not made._core._transactions


async def noted(call: Coroutine[Any, Any, T], found: list[T]) -> T:
    found.append(await call)
    return found[-1]


def test_an_interrupt_loses_no_events_of_a_segment(interrupted: Any, new_stream: Any) -> None:
    made = new_stream()
    made.write(["a", "b"], "k")
    with made.segment_reader() as segments:
        interrupted(lambda: segments.read(0, max_bytes=1, timeout_s=10.0))
        assert segments.position() == made.head()
        assert events_of(segments.read(0)) == [b"a", b"b"]


def test_an_interrupt_loses_no_bytes(interrupted: Any, new_stream: Any) -> None:
    made = new_stream()
    with made.byte_writer() as writer, made.byte_reader() as reader:
        writer.write(b"hello")
        interrupted(lambda: reader.read(3))
        assert reader.offset == 0
        assert reader.read() == b"hello"


def test_an_interrupt_loses_no_entries(interrupted: Any, new_stream: Any, client: Any) -> None:
    table = client.create_key_value_table(f"{new_stream().scope}/table", 1)
    table.put(b"a", b"1")
    table.put(b"b", b"2")
    entries = table.entries()
    interrupted(lambda: next(entries))
    interrupted(entries.next_page)
    assert [entry.value for entry in entries] == [b"1", b"2"]


def test_an_interrupt_loses_no_event_and_no_checkpoint_of_a_group(
    interrupted: Any, new_stream: Any, client: Any
) -> None:
    made = new_stream()
    made.write(["a", "b", "c"], "k")
    config = reading([made.scoped_name], automatic_checkpoint_interval_ms=-1, group_refresh_time_ms=100)
    group = client.create_reader_group(f"{made.scope}/group", config)
    with group.create_reader("one") as reader:
        assert reader.read_next(timeout_s=10.0).event == b"a"
        place = reader.position()
        interrupted(lambda: reader.read_next(timeout_s=10.0))
        assert reader.position() == place
        interrupted(lambda: reader.read_batch(timeout_s=10.0))
        assert reader.position() == place
        assert reader.read_next().event == b"b"
        interrupted(lambda: reader.read_batch(timeout_s=10.0))
        assert reader.read_next().event == b"c"
        pending = group.initiate_checkpoint("now")
        interrupted(lambda: reader.read_next(timeout_s=10.0))
        assert pending.waiting_for() == ("one",)
        assert reader.read_next().checkpoint == "now"
        assert reader.read_next().event is None
        assert pending.result(timeout_s=10.0).name == "now"


def test_a_call_that_its_loop_cancels_raises_what_threads_expect() -> None:
    async def call() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CancelledError):
        loop_thread().run(call())


def in_child(call: Callable[[], None]) -> None:
    """Run ``call`` in a forked child and check that it returns."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a call that waits for ever
        try:
            call()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(4)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def next_event(reader: Any) -> bytes:
    """Return the next event. On a released store, this takes so long that a checkpoint may come first."""
    while (found := reader.read_next(timeout_s=10.0)).checkpoint is not None:
        pass
    event: bytes = found.event
    return event


def test_a_forked_child_cannot_use_what_its_parent_opened(new_stream: Any, client: Any) -> None:
    made, log_stream, notes = (new_stream(name) for name in ("s", "log", "notes"))
    made.write(["a", "b", "c"], "k")
    group = client.create_reader_group(f"{made.scope}/group", reading([made.scoped_name]))
    table = client.create_key_value_table(f"{made.scope}/table", 1)
    table.put(b"a", b"1")
    state = client.state_synchronizer(log_stream.scoped_name, JsonFormat(dict.update))
    state.initialize(Whole({}))
    state.fetch()
    with (
        made.writer() as writer,
        made.begin_transaction() as transaction,
        made.follow() as batches,
        made.segment_reader() as segments,
        notes.byte_writer() as byte_writer,
        notes.byte_reader() as byte_reader,
        group.create_reader("one") as reader,
    ):
        log, entries = client.revisioned_stream(log_stream.scoped_name), table.entries()
        opened = [batches, segments, byte_writer, byte_reader, reader, log, state, writer, transaction]
        calls: list[Callable[[], object]] = [
            lambda: writer.write("child", "k"),
            writer.flush,
            lambda: transaction.write("child", "k"),
            transaction.flush,
            transaction.commit,
            lambda: batches.next_batch(timeout_s=5.0),
            lambda: segments.read(0, timeout_s=5.0),
            lambda: byte_writer.write(b"child"),
            lambda: byte_reader.read(timeout_s=5.0),
            lambda: reader.read_next(timeout_s=5.0),
            log.latest,
            state.fetch,
            lambda: next(entries),
        ]

        def use() -> None:
            for call in calls:
                with pytest.raises(PravegaError, match="opened before fork"):
                    call()
            for one in opened:
                one.close()
            made.write("of the child", "k")

        writer.write("before", "k")
        byte_writer.write(b"bytes")
        writer.flush()
        assert next_event(reader) == b"a"
        in_child(use)
        writer.write("after", "k")
        writer.flush()
        transaction.write("committed", "k")
        transaction.commit(wait=True)
        assert next_event(reader) == b"b"
        assert byte_reader.read() == b"bytes"
        assert [entry.value for entry in entries] == [b"1"]
        assert state.update(lambda known: [{"by": "parent"}])
    with made.read() as found:
        assert events_of(*found) == [b"a", b"b", b"c", b"before", b"of the child", b"after", b"committed"]
    for one in (log, state):
        one.close()


def test_a_fork_waits_until_the_loop_has_imported_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the child would wait for ever for the lock of the module, which the loop of the parent held."""
    name = "imported_by_the_loop"
    (tmp_path / f"{name}.py").write_text("import time\n\ntime.sleep(0.2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    loop_thread().call_soon(lambda: importlib.import_module(name))
    while name not in sys.modules:
        time.sleep(0.001)
    in_child(lambda: importlib.import_module(name))
    loop_thread().run(asyncio.sleep(0.0))  # the loop continues in the parent


def test_a_forked_child_makes_its_own_connections(uri: str, new_stream: Any) -> None:
    made = new_stream()
    made.write("parent", "k")
    child = os.fork()
    if child == 0:
        try:
            made.write("child", "k")
            with made.read() as found:
                events = [event for batch in found for event in batch.column("event").to_pylist()]
            os._exit(0 if events == [b"parent", b"child"] else 3)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(4)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    made.write("parent again", "k")
    with made.read() as found:
        assert sum(batch.num_rows for batch in found) == 3


CLOSING_CHILDREN = """
import os, sys, time
from pravega_lab.client import connect

with connect(sys.argv[1]) as client:
    client.list_scopes()
    ended = []
    for _ in range(40):
        child = os.fork()
        if child == 0:
            os.closerange(3, 1000)
            time.sleep(0.01)
            os._exit(0)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print({code: ended.count(code) for code in ended})
"""


def test_a_forked_child_may_close_its_files(store: str) -> None:
    """As pyspark's does before it runs the JVM. A thread of gRPC aborted the child when it noticed that."""
    call = [sys.executable, "-c", CLOSING_CHILDREN, store]
    done = subprocess.run(call, capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout == "{0: 40}\n"
