"""Readers of the official Java client 0.13.0 and of this one in one group, on both stores.

Whoever creates the group, the other joins; scaled, checkpointed, bereaved and reset by either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pravega_lab.client import Client, Stream
from pravega_lab.client.reader_group import (
    EventRead,
    Position,
    Reader,
    ReaderGroup,
    ReinitializationRequiredError,
    reader_group,
)
from pravega_lab.client.reader_group.values import full_names
from pravega_lab.protocol.stream_cut import StreamCut
from tests.conformance.java.programs import JavaProgram
from tests.conformance.reader_group.readers import Readers, config, each_once, new_group, new_stream, write

REFRESH_MS = 200
CREATORS = ["java", "python"]


class JavaMember(JavaProgram):
    """A Java program with a handle of the group, and readers."""

    def __init__(self, uri: str, stream: Stream) -> None:
        super().__init__("GroupMember", uri, stream.scope, stream.name, "g")

    def say(self, line: str) -> str:
        """The answer to a command that succeeds, without its first word."""
        answer = self.ask(line)
        kind, _, rest = answer.partition(" ")
        assert kind in ("ok", "cut"), f"{line}: {answer}"
        return rest

    def reader(self, name: str) -> JavaReader:
        self.say(f"reader {name}")
        return JavaReader(self, name)

    def result(self, name: str) -> StreamCut | None:
        """Of a checkpoint that was begun: its cut, None while it waits."""
        answer = self.ask(f"done {name}")
        return None if answer == "waiting" else StreamCut.from_text(answer.removeprefix("cut "))


class JavaReader:
    """A reader in the Java program, with the methods that `Readers` uses."""

    def __init__(self, member: JavaMember, name: str) -> None:
        self.reader_id = name
        self._member = member

    def read_next(self, timeout_s: float) -> EventRead:
        kind, _, text = self._member.ask(f"read {self.reader_id} {int(timeout_s * 1000)}").partition(" ")
        if kind == "reinit":
            raise ReinitializationRequiredError(text)
        assert kind in ("event", "checkpoint", "none", "completed"), (kind, text)
        return EventRead(
            text.encode() if kind == "event" else None,
            checkpoint=text if kind == "checkpoint" else None,
            is_completed=kind == "completed",
        )

    def close(self) -> None:
        self._member.say(f"close {self.reader_id}")


@pytest.fixture
def stream(client: Client, scope_name: Callable[[], str]) -> Stream:
    return new_stream(client, f"{scope_name()}/x", 2)


@pytest.fixture
def java(uri: str, stream: Stream) -> Iterator[JavaMember]:
    with JavaMember(uri, stream) as member:
        yield member


def made(
    creator: str, client: Client, stream: Stream, java: JavaMember, checkpoint_ms: int = -1
) -> ReaderGroup:
    if creator == "java":
        assert java.say(f"create {REFRESH_MS} {checkpoint_ms}") == "true"
        return reader_group(client, f"{stream.scope}/g")
    settings: dict[str, Any] = {"automatic_checkpoint_interval_ms": checkpoint_ms}
    return new_group(client, stream, **settings, group_refresh_time_ms=REFRESH_MS)


def both(group: ReaderGroup, java: JavaMember) -> Readers:
    """One reader of each kind; each holds a segment."""
    readers = Readers(group).add("p1")
    readers.readers.append(java.reader("j1"))  # type: ignore[arg-type]
    readers.share(1, 1)
    return readers


@pytest.mark.parametrize("creator", CREATORS)
def test_scaling_with_automatic_checkpoints(
    creator: str, client: Client, stream: Stream, java: JavaMember
) -> None:
    """A split, then a merge: every event once, those of a key in order, whoever reads its segments."""
    readers = both(made(creator, client, stream, java, checkpoint_ms=1000), java)
    written = write(stream, 0, 60)
    readers.read(60)
    stream.split(stream.segments()[0].segment_id)
    written += write(stream, 60, 120)
    readers.read(100)
    stream.merge([segment.segment_id for segment in stream.segments()])
    written += write(stream, 120, 180)
    each_once(readers.read(180), written)
    assert sorted(readers.by_reader) == ["j1", "p1"]
    readers.close()


@pytest.mark.parametrize("creator", CREATORS)
def test_checkpoints_by_either(creator: str, client: Client, stream: Stream, java: JavaMember) -> None:
    readers = both(made(creator, client, stream, java), java)
    write(stream, 0, 40)
    readers.read(40)
    ours = readers.checkpoint("ours").stream_cuts[stream.scoped_name]
    assert ours == stream.tail()
    java.say("begin theirs")
    readers.until(lambda: java.result("theirs") is not None, "the checkpoint that Java initiated")
    assert java.result("theirs") == ours
    java.say("silent")
    readers.until(lambda: java.result("silent") is not None, "Java's silent checkpoint")
    assert java.result("silent") == ours
    assert sorted(set(readers.checkpoints)) == [(r, c) for r in ("j1", "p1") for c in ("ours", "theirs")]
    assert readers.group.stream_cuts() == {stream.scoped_name: StreamCut.from_text(java.say("cuts"))}
    assert java.say("unread") == str(readers.group.unread_bytes()) == "0"
    readers.close()


@pytest.mark.parametrize("creator", CREATORS)
def test_a_death_on_either_side(
    creator: str, client: Client, stream: Stream, java: JavaMember, uri: str
) -> None:
    """The other takes over at the stored position: everything is read, what came after it twice."""
    group = made(creator, client, stream, java)
    readers = both(group, java)
    written = write(stream, 0, 60)
    readers.read(60)
    readers.checkpoint("one")
    written += write(stream, 60, 120)
    readers.read(120)
    ours, theirs = readers.readers
    ours.abandon()
    java.say("offline p1")
    assert group.online_readers() == ["j1"]
    readers.readers = [theirs]
    readers.share(2)
    again = readers.by_reader["p1"][-1]
    readers.until(lambda: readers.by_reader["j1"][-1] == again, "the events of the dead again")
    each_once(dict.fromkeys(readers.events), written)
    readers.checkpoint("two")
    java.kill()
    assert group.reader_offline("j1")
    written += write(stream, 120, 150)
    last = Readers(group).add("p2")
    each_once(last.read(30), written[120:])
    last.close()


@pytest.mark.parametrize("resetter", CREATORS)
def test_a_reset_by_either(resetter: str, client: Client, stream: Stream, java: JavaMember) -> None:
    creator = CREATORS[1 - CREATORS.index(resetter)]
    readers = both(made(creator, client, stream, java), java)
    written = write(stream, 0, 60)
    readers.read(30)
    checkpoint = readers.checkpoint("one")
    cut = checkpoint.stream_cuts[stream.scoped_name]
    readers.read(60)
    if resetter == "python":
        readers.group.reset(checkpoint)
    else:
        java.say(f"reset {cut.to_text()} {REFRESH_MS} 100000")
    for reader in readers.readers:
        with pytest.raises(ReinitializationRequiredError):
            Readers(readers.group, [reader]).until(lambda: False)
    with stream.read(end=cut) as batches:
        before = [event.decode() for batch in batches for event in batch.column(0).to_pylist()]
    again = Readers(readers.group).add("p2")
    again.readers.append(java.reader("j2"))  # type: ignore[arg-type]
    each_once(before + again.read(60 - len(before)), written)
    again.close()


def test_java_reads_on_from_our_cut_in_the_middle_of_a_merge(
    client: Client, stream: Stream, java: JavaMember
) -> None:
    """A Java group that starts at a cut of ours, taken mid-merge, reads the merged segment too."""
    write(stream, 0, 300)
    halves = sorted(segment.segment_id for segment in stream.segments())
    stream.merge(halves)
    rest = write(stream, 300, 320)
    group = new_group(client, stream, group_refresh_time_ms=REFRESH_MS)
    middle = StreamCut(stream.scoped_name, {halves[0]: -1, halves[1]: 0})
    group.reset({stream.scoped_name: StreamCut(stream.scoped_name, {halves[1]: 0})})  # as Java would cut it
    assert group.stream_cuts() == {stream.scoped_name: middle}
    java.say(f"reset {middle.to_text()} {REFRESH_MS} 500")
    readers = Readers(group)
    readers.readers.append(java.reader("j1"))  # type: ignore[arg-type]
    with stream.read(segments=[halves[1]]) as batches:
        left = [event.decode() for batch in batches for event in batch.column(0).to_pylist()]
    each_once(readers.read(len(left) + 20), left + rest)
    readers.close()


def test_both_see_the_same_time_window(client: Client, stream: Stream, java: JavaMember) -> None:
    """The slowest reader of the group counts, whichever client it uses."""
    readers = both(made("java", client, stream, java), java)
    ours, theirs = readers.readers
    assert isinstance(ours, Reader)

    def windows_are(*wanted: int | None) -> bool:
        found = [None if word == "null" else int(word) for word in java.say("window j1").split()]
        return tuple(found) == ours.time_window(stream.scoped_name) == wanted

    with stream.writer() as writer:
        writer.write([f"key-{n}:{n}" for n in range(40)], [f"key-{n}" for n in range(40)])
        writer.note_time(1000)
        readers.read(40)
        readers.until(lambda: windows_are(1000, None), "the first window")
        writer.write([f"key-{n}:{n}" for n in range(40, 80)], [f"key-{n}" for n in range(40, 80)])
        writer.note_time(2000)
    readers.readers = [ours]
    readers.until(lambda: ours.time_window(stream.scoped_name) == (1000, 2000), "the second mark, not passed")
    readers.readers = [ours, theirs]
    readers.read(80)
    readers.until(lambda: windows_are(2000, None), "the second window")
    readers.close()


def test_positions_and_checkpoints_in_the_bytes_of_the_other(
    client: Client, stream: Stream, java: JavaMember
) -> None:
    group = made("python", client, stream, java)
    readers = both(group, java)
    written = write(stream, 0, 60)
    readers.read(60)
    checkpoint = readers.checkpoint("one")
    ours = readers.readers[0]
    assert isinstance(ours, Reader)
    theirs_at = Position.from_bytes(bytes.fromhex(java.say("position j1")))
    ours_at = ours.position()
    assert {**ours_at.segments, **theirs_at.segments} == full_names(
        stream.scoped_name, checkpoint.stream_cuts[stream.scoped_name].positions
    )
    written += write(stream, 60, 100)
    readers.read(100)
    assert group.reader_offline("j1", theirs_at)
    java.say(f"offline-at p1 {ours_at.to_bytes().hex()}")
    last = Readers(group).add("p2")
    each_once(last.read(40), written[60:])
    java.say(f"reset-to {checkpoint.to_bytes().hex()} {REFRESH_MS}")
    again = Readers(group).add("p3")
    each_once(again.read(40), written[60:])
    again.close()


def test_java_reads_a_compacted_log(client: Client, stream: Stream, java: JavaMember) -> None:
    group = new_group(client, stream, group_refresh_time_ms=REFRESH_MS)
    assert group.config() == config(
        stream, group_refresh_time_ms=REFRESH_MS, ending_stream_cuts=group.config().ending_stream_cuts
    )
    written = write(stream, 0, 40)
    readers = Readers(group).add("p1")
    readers.read(20)
    group.compact()
    group.compact()
    readers.readers.append(java.reader("j1"))  # type: ignore[arg-type]
    each_once(readers.read(40), written)
    assert readers.checkpoint("after").stream_cuts == {stream.scoped_name: stream.tail()}
    readers.close()
