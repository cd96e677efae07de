"""Times that writers note, as readers of a group see them: on the embedded store and on a real Pravega."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from pravega_lab.client import Client, Stream
from pravega_lab.client.reader_group import ReinitializationRequiredError, TimeWindow, reader_group
from pravega_lab.errors import BadInputError
from tests.conformance.reader_group.readers import Readers, config, new_group, new_stream


@pytest.fixture
def stream(client: Client, scope_name: Callable[[], str]) -> Stream:
    return new_stream(client, f"{scope_name()}/x")


def events(begin: int, end: int) -> tuple[list[str], list[str]]:
    return [f"key-{n}:{n}" for n in range(begin, end)], [f"key-{n}" for n in range(begin, end)]


def until_known(readers: Readers, stream: Stream, wanted: TimeWindow) -> None:
    [reader] = readers.readers
    readers.until(lambda: reader.time_window(stream.scoped_name) == wanted, f"a window of {wanted}")


@pytest.mark.slow
def test_a_window_moves_with_what_was_read(client: Client, stream: Stream) -> None:
    """Through a split: the marks before it, across it and behind it."""
    often = {"automatic_checkpoint_interval_ms": 1000}  # successors are read after a checkpoint
    watching = Readers(new_group(client, stream, **often)).add("w")
    assert watching.readers[0].time_window(stream.scoped_name) == (None, None)
    with stream.writer() as writer:
        for n, time in enumerate((1000, 2000, 3000)):
            if n == 2:
                stream.split(stream.segments()[0].segment_id)
            writer.write(*events(20 * n, 20 * (n + 1)))
            writer.note_time(time)
            watching.read(20 * min(n + 1, 2))
            if n < 2:
                until_known(watching, stream, TimeWindow(time, None))
        watching.read(60)
        until_known(watching, stream, TimeWindow(3000, None))
    watching.close()
    group = reader_group(client, f"{stream.scope}/late")
    assert group.create(config(stream, **often))
    late = Readers(group).add("r")
    found = []
    for n in (0, 19, 20, 39, 40):
        late.read(n)
        found.append(late.readers[0].time_window(stream.scoped_name))
    assert found == [(None, 1000), (None, 1000), (1000, 2000), (1000, 2000), (2000, 3000)]
    late.read(60)
    assert late.readers[0].time_window(stream.scoped_name) == (3000, None)
    late.close()


def commit(stream: Stream, numbers: tuple[int, int], *, wait: bool = True, **noted: Any) -> None:
    transaction = stream.begin_transaction()
    transaction.write(*events(*numbers))
    transaction.commit(wait, **noted)


@pytest.mark.slow
def test_a_window_moves_with_commits_that_note_times(client: Client, stream: Stream) -> None:
    """The second is of a transaction that rolls: the stream was split since it began."""
    often = {"automatic_checkpoint_interval_ms": 1000}
    watching = Readers(new_group(client, stream, **often)).add("w")
    commit(stream, (0, 20), timestamp=-1000)
    watching.read(20)
    until_known(watching, stream, TimeWindow(-1000, None))
    transaction = stream.begin_transaction()
    transaction.write(*events(20, 40))
    stream.split(stream.segments()[0].segment_id)
    transaction.commit(wait=True, timestamp=2000)
    watching.read(40)
    until_known(watching, stream, TimeWindow(2000, None))
    commit(stream, (40, 60), timestamp=1500)  # earlier than before: committed, and nothing is noted
    watching.read(60)
    assert watching.readers[0].time_window(stream.scoped_name) == (2000, None)
    watching.close()
    group = reader_group(client, f"{stream.scope}/late")
    assert group.create(config(stream, **often))
    late = Readers(group).add("r")
    found = []
    for n in (0, 19, 20, 39, 60):
        late.read(n)
        found.append(late.readers[0].time_window(stream.scoped_name))
    assert found == [(None, -1000), (None, -1000), (-1000, 2000), (-1000, 2000), (2000, None)]
    late.close()


@pytest.mark.slow
def test_the_slowest_of_several_writers_of_transactions_counts(client: Client, stream: Stream) -> None:
    """Those of one client are one writer, unless they say otherwise."""
    watching = Readers(new_group(client, stream)).add("w")
    commit(stream, (0, 20), wait=False, timestamp=3000, writer="slow")
    commit(stream, (20, 40), wait=False, timestamp=4000)
    commit(stream, (40, 60), wait=False, timestamp=5000)
    watching.read(60)
    until_known(watching, stream, TimeWindow(3000, None))
    watching.close()


@pytest.mark.slow
def test_commits_that_note_no_time_hold_no_window_back(client: Client, stream: Stream) -> None:
    watching = Readers(new_group(client, stream)).add("w")
    with stream.writer() as writer:
        writer.write(*events(0, 20))
        writer.note_time(1000)
    wanted, next_s, n = TimeWindow(1000, None), 0.0, 20

    def is_known_beside_commits() -> bool:
        nonlocal next_s, n
        if monotonic() >= next_s:
            next_s, n = monotonic() + 1, n + 1
            commit(stream, (n - 1, n), wait=False)
        return watching.readers[0].time_window(stream.scoped_name) == wanted

    watching.until(is_known_beside_commits, "a window of 1000")
    watching.read(n)
    watching.close()


def test_what_cannot_be_noted_or_asked(client: Client, stream: Stream) -> None:
    with stream.writer() as writer:
        writer.note_time(5)  # nothing was written yet
        writer.note_time(5)
        with pytest.raises(BadInputError, match="noted a later time"):
            writer.note_time(4)
        with pytest.raises(BadInputError, match="64 bits"):
            writer.note_time(2**63)
        writer.write("a", "k")
        writer.note_time(6)
        with stream.begin_transaction() as transaction:
            for never in (2**63, -(2**63)):  # the least stands for none
                with pytest.raises(BadInputError, match="64 bits"):
                    transaction.commit(timestamp=never)
        reader = new_group(client, stream).create_reader("r")
        with pytest.raises(BadInputError, match="reads"):
            reader.time_window(f"{stream.scope}/other")
        reader.close()
        with pytest.raises(ReinitializationRequiredError):
            reader.time_window(stream.scoped_name)
