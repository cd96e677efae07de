"""A live wheel writer over kill -9 and restart of our durable store: nothing lost, nothing doubled.

Ours only: the released standalone keeps nothing over a restart.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.real_pravega import free_ports
from tests.conformance.wheel.background_writer import KEYS
from tests.conformance.wheel.calls import by_key, manager_of, read_events, read_stream
from tests.standalone import ROOT, Standalone


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Standalone]:
    """A durable store on ports that it gets again after each start."""
    controller, segment_store = free_ports(2)
    where = ("--data", str(tmp_path / "store"))
    process = Standalone(*where, controller_port=controller, segment_store_port=segment_store)
    process.start()
    yield process
    process.stop()


class Background:
    """The wheel writer of `background_writer`, in its own process."""

    def __init__(self, uri: str, stream: str, in_flight: int) -> None:
        pipe = subprocess.PIPE
        command = [
            sys.executable,
            "-m",
            "tests.conformance.wheel.background_writer",
            uri,
            stream,
            str(in_flight),
        ]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self.written = 0

    def write_on(self, rounds: int) -> None:
        """Wait until so many more rounds are written."""
        goal = self.written + rounds
        while self.written < goal:
            self.written = int(self._next_line())

    def stop(self) -> dict[str, list[int]]:
        """End and flush; what has to be in the stream."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        while (line := self._next_line()) != "flushed":
            self.written = int(line)
        self._process.wait(60)
        return {key: list(range(self.written)) for key in KEYS}

    def _next_line(self) -> str:
        assert self._process.stdout is not None
        watchdog = threading.Timer(90, self._process.kill)
        watchdog.start()
        line = self._process.stdout.readline()
        watchdog.cancel()
        assert line, f"the writer ended or hung after {self.written} rounds"
        return line.strip()


def restart(process: Standalone) -> None:
    process.kill()
    process.start()


@pytest.mark.slow
@pytest.mark.parametrize("in_flight", [0, 200])
def test_a_writer_lives_through_a_kill_of_the_store(durable: Standalone, in_flight: int) -> None:
    manager = manager_of(durable.uri)
    manager.create_scope("scope")
    manager.create_stream("scope", "stream", 3)
    writer = Background(durable.uri, "stream", in_flight)
    writer.write_on(20)
    restart(durable)
    writer.write_on(20)
    expected = writer.stop()
    found = by_key(read_stream(manager, "scope", "stream", sum(map(len, expected.values()))))
    assert found == expected


@pytest.mark.slow
def test_a_reader_goes_on_after_a_kill(durable: Standalone) -> None:
    manager = manager_of(durable.uri)
    manager.create_scope("scope")
    manager.create_stream("scope", "stream", 2)
    reader = manager.create_reader_group("group", "scope", "stream").create_reader("reader")
    writer = Background(durable.uri, "stream", 0)
    writer.write_on(10)
    events = read_events(reader, 10)
    restart(durable)
    writer.write_on(10)
    expected = writer.stop()
    total = sum(map(len, expected.values()))
    events += read_events(reader, total - len(events), timeout_s=80)
    assert by_key(events) == expected


@pytest.mark.slow
def test_everything_is_there_after_a_kill(durable: Standalone) -> None:
    """Scopes, tags, the state of a group, an open transaction: all of it lies in the log."""
    manager = manager_of(durable.uri)
    manager.create_scope("scope")
    manager.create_stream("scope", "stream", 2)
    transactions = manager.create_transaction_writer("scope", "stream", 1)
    txn = transactions.begin_txn()
    txn.write_event("key:0", "key")
    manager.create_writer("scope", "stream").write_event("plain:0", "plain")
    group = manager.create_reader_group("group", "scope", "stream")
    restart(durable)
    again = manager_of(durable.uri)
    assert again.list_scope().count("scope") == 1
    assert again.create_stream("scope", "stream", 2) is False
    assert txn.is_open() is True
    txn.commit()
    assert by_key(read_stream(again, "scope", "stream", 2)) == {"key": [0], "plain": [0]}
    assert group.get_streamcut().get_segment_offset_map() == {0: 0, 1: 0}
