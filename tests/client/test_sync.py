"""The synchronous client has the methods of the core, starts nothing by itself, and works after a fork."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import client, stream, sync
from pravega_lab.client.byte_streams import reader as byte_reader
from pravega_lab.client.byte_streams import writer as byte_writer
from pravega_lab.client.loop_thread import loop_thread
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
]
# What the core's parts offer to each other.
INTERNAL = {
    "AsyncStream": {"close"},
    "AsyncEventWriter": {
        "appends", "close_unclosed", "is_failed", "is_open", "name", "stop", "write_durably",
    },
    "AsyncBatches": {"next_events"},
    "AsyncTransaction": {"appends", "end_writing"},
    "AsyncOrderedSegmentReader": {
        "take", "wait", "wait_for_many", "set_ready", "next_ready", "open_available", "is_available",
        "check_open",
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
        "import sys, threading, pravega_lab.client\n"
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


def test_a_call_that_its_loop_cancels_raises_what_threads_expect() -> None:
    async def call() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CancelledError):
        loop_thread().run(call())


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
