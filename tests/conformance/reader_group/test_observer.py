"""Observers of reader groups: they see everything, take no part, and leave the server as it was.

On the embedded store and on a released Pravega 0.13.0, of groups of Python and of Java readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from pravega_lab import Lab, observe
from pravega_lab.client import Client, Stream
from pravega_lab.client.connection.connection import Connection
from pravega_lab.client.controller.calls import Controller
from pravega_lab.client.reader_group import ReaderGroup, reader_group, revisioned_stream
from pravega_lab.client.shared_state.revisioned import MARK
from pravega_lab.errors import BadInputError
from pravega_lab.observe import Watch, fold_groups, fold_segments
from pravega_lab.observe.group.observations import (
    GroupCheckpointDone,
    GroupGap,
    GroupObservation,
    GroupSeen,
    GroupUpdated,
    ReaderJoined,
    ReaderLeft,
)
from pravega_lab.observe.group.observer import GroupObserver
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.wire import commands as c
from tests.conformance.controller import ControllerStub, stream_info
from tests.conformance.java.test_reader_groups import JavaMember
from tests.conformance.reader_group.readers import WAIT_S, Readers, new_group, new_stream, write
from tests.conformance.wire.connection import Wire, endpoint
from tests.observe.group.logs import check
from tests.waiting import wait_until

LOOKING = {"ReadSegment", "GetStreamSegmentInfo", "GetSegmentAttribute", "KeepAlive", "Hello"}
ASKING = {
    "getCurrentSegments", "getEpochSegments", "getURI", "getStreamConfiguration",
    "getSegmentsImmediatelyFollowing",
}  # fmt: skip


@pytest.fixture
def stream(client: Client, scope_name: Callable[[], str]) -> Stream:
    return new_stream(client, f"{scope_name()}/x", 2)


@pytest.fixture
def group(client: Client, stream: Stream) -> ReaderGroup:
    return new_group(client, stream)


@pytest.fixture
def java(uri: str, stream: Stream) -> Iterator[JavaMember]:
    with JavaMember(uri, stream) as member:
        assert isinstance(member, JavaMember)
        yield member


def watched(uri: str, group: ReaderGroup, **options: Any) -> Watch:
    return observe(uri, group=group.scoped_name, every_ms=100, **options)


def live_through_much(group: ReaderGroup, stream: Stream) -> Readers:
    """Readers that come, share, pass checkpoints, meet a split and a merge, and one that dies."""
    readers = Readers(group).add("a")
    written = write(stream, 0, 60)
    readers.share(2)
    readers.add("b").read(30)
    readers.checkpoint("one")
    stream.split(stream.segments()[0].segment_id)
    written += write(stream, 60, 120)
    readers.read(60)
    readers.checkpoint("two")
    stream.merge([segment.segment_id for segment in stream.segments()[:2]])
    write(stream, 120, 150)
    readers.read(70)
    readers.checkpoint("three")
    readers.readers.pop(0).abandon()
    group.reader_offline("a")
    readers.add("c")
    readers.checkpoint("four")
    return readers


def test_a_group_is_seen_as_it_is(uri: str, group: ReaderGroup, stream: Stream) -> None:
    with watched(uri, group) as watch:
        readers = live_through_much(group, stream)
        assert watch.look(WAIT_S)
        state = group.state()
        history = fold_groups(watch.since())
        check(history, state, group.scoped_name)
        assert [row.name for row in history.checkpoints] == ["one", "two", "three", "four"]
        assert [row.gaps for row in history.checkpoints] == [()] * 4
        assert [row.reader for row in history.readers] == ["a", "b", "c"]
        dead = history.readers[0]
        assert (dead.state, dead.cause_kind) == ("left", "inferred")
        assert watch.shows == ("streams", "groups")
        readers.close()
        assert watch.look(WAIT_S)
    assert not words_of(watch)
    owners = {row.segment_id: (row.state, row.reader) for row in fold_segments(watch.since()).rows}
    assert {owners[s.segment_id] for s in stream.segments()} <= {
        ("nobody", None),
        ("waits", None),
        ("", None),
    }


def test_unread_bytes_are_known_when_the_streams_are_watched(
    uri: str, group: ReaderGroup, stream: Stream
) -> None:
    written = write(stream, 0, 40)
    with watched(uri, group) as watch:
        readers = Readers(group).add("a")
        readers.share(2)
        wait_until(lambda: sum(unread(watch, group)) == sum(8 + len(event) for event in written))
        readers.read(40)
        readers.checkpoint("one")
        wait_until(lambda: sum(unread(watch, group)) == 0)
        readers.close()


def unread(watch: Watch, group: ReaderGroup) -> list[int]:
    places = fold_groups(watch.since()).current(group.scoped_name)
    return [place.unread_bytes or 0 for place in places]


def test_nothing_is_changed_on_the_server(
    uri: str,
    client: Client,
    group: ReaderGroup,
    stream: Stream,
    controller: ControllerStub,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readers = Readers(group).add("a")
    write(stream, 0, 40)
    readers.read(40)
    readers.checkpoint("one")
    group.compact()
    before = everything(client, controller, group, stream)
    sent, called = spied(monkeypatch)
    with watched(uri, group, event_bytes=20) as watch:
        assert watch.look(WAIT_S)
        assert watch.look(WAIT_S)
    assert len(fold_groups(watch.since()).online(group.scoped_name)) == 1
    assert {"ReadSegment", "GetStreamSegmentInfo"} <= set(sent) <= LOOKING
    assert {"getCurrentSegments", "getURI"} <= set(called) <= ASKING
    monkeypatch.undo()
    assert everything(client, controller, group, stream) == before
    readers.close()


def spied(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, None], dict[str, None]]:
    """The names of frames and of controller calls that this process sends from now on."""
    sent: dict[str, None] = {}
    called: dict[str, None] = {}
    send, attempt = Connection.send, Controller._attempt

    def noting_send(self: Connection, command: c.Command) -> None:
        sent[type(command).__name__] = None
        send(self, command)

    async def noting_attempt(self: Controller, method: str, *rest: Any) -> bytes:
        called[method] = None
        return await attempt(self, method, *rest)

    monkeypatch.setattr(Connection, "send", noting_send)
    monkeypatch.setattr(Controller, "_attempt", noting_attempt)
    return sent, called


def everything(
    client: Client, controller: ControllerStub, group: ReaderGroup, stream: Stream
) -> dict[str, Any]:
    """What can be asked about a group, its log and its streams."""
    log = f"{group.scope}/_RG{group.name}/0.#epoch.0"
    names = [stream._core._context.segment_name(s.segment_id) for s in stream.segments()]
    wire = Wire(endpoint(controller))
    found: dict[str, Any] = {}
    for segment in [log, *names]:
        start = start_of(wire, segment)
        requests: list[Any] = [
            c.GetStreamSegmentInfo(0, segment, ""),
            c.GetSegmentAttribute(0, segment, MARK, ""),
            c.ReadSegment(segment, start, 1_000_000, "", 0),
        ]
        for request in requests:
            reply: Any = wire.ask(replace(request, request_id=wire.next_id()))
            found[f"{segment} {type(request).__name__}"] = replace(reply, request_id=0)
    for name in (stream.name, f"_RG{group.name}"):
        info = stream_info(group.scope, name)
        for method in ("getCurrentSegments", "getStreamConfiguration"):
            found[f"{name} {method}"] = str(controller.call(method, info))
    scope = pb.ScopeInfo(scope=group.scope)
    streams = controller.call("listStreamsInScope", pb.StreamsInScopeRequest(scope=scope)).streams
    found["streams"] = sorted(s.stream for s in streams)
    group_info = pb.ReaderGroupInfo(scope=group.scope, readerGroup=group.name)
    found["group"] = str(controller.call("getReaderGroupConfig", group_info))
    found["state"] = str(group.state().to_compact())
    return found


def start_of(wire: Wire, segment: str) -> int:
    info = wire.ask(c.GetStreamSegmentInfo(wire.next_id(), segment, ""))
    assert isinstance(info, c.StreamSegmentInfo)
    return info.start_offset


def test_two_observers_make_the_same_journal(uri: str, group: ReaderGroup, stream: Stream) -> None:
    """One from the beginning on, one that comes when all is over: the same, but for when it was seen."""
    with watched(uri, group, group_streams=False) as early:
        readers = live_through_much(group, stream)
        readers.close()
        assert early.look(WAIT_S)
        with watched(uri, group, group_streams=False) as late:
            assert late.look(WAIT_S)
    assert timeless(early.journal) == timeless(late.journal)
    assert len(late.since()) > 60


def timeless(journal: Journal) -> list[GroupObservation]:
    found = journal.since()
    assert all(isinstance(o, GroupObservation) for o in found)
    return [replace(o, time_ms=0, uncertain_ms=None) for o in found if isinstance(o, GroupObservation)]


def test_a_group_that_is_not_there_vanishes_and_comes_again(uri: str, client: Client, stream: Stream) -> None:
    group = reader_group(client, f"{stream.scope}/g")
    with watched(uri, group) as watch:
        assert watch.look(WAIT_S)
        assert len(words_of(watch)) == 1
        assert "is not there (yet)" in words_of(watch)[0]
        new_group(client, stream)
        readers = Readers(group).add("a")
        wait_until(lambda: len(kinds(watch, ReaderJoined)) == 1)
        assert group.delete()
        wait_until(lambda: len(kinds(watch, ReaderLeft)) == 1)
        wait_until(lambda: len(words_of(watch)) == 2)
        assert "is gone" in words_of(watch)[1]
        new_group(client, stream)
        again = Readers(group).add("z")
        wait_until(lambda: len(kinds(watch, ReaderJoined)) == 2)
        first, second = kinds(watch, GroupSeen)
        assert first.group_id != second.group_id
        assert [row.reader for row in fold_groups(watch.since()).online(group.scoped_name)] == ["z"]
        again.close()
    for reader in readers.readers:
        reader.abandon()


def words_of(watch: Watch) -> list[str]:
    """What it said of the group; a connection that a busy machine made late is another matter."""
    return [text for text in watch.trouble if text.startswith("group ")]


def kinds(watch: Watch, kind: type[Any]) -> list[Any]:
    return [o for o in watch.since() if isinstance(o, kind)]


def test_compactions_are_followed_and_falling_behind_one_is_a_gap(
    uri: str, client: Client, group: ReaderGroup, stream: Stream
) -> None:
    journal = Journal()
    readers = Readers(group).add("a")
    readers.share(2)
    first = GroupObserver(client, group.scoped_name, journal)
    assert group.compact()
    assert group.compact()
    assert first.look(WAIT_S)
    first.close()
    assert not [o for o in journal.since() if isinstance(o, GroupGap)]
    offset = first.tracker.offset
    readers.add("b").checkpoint("unseen")
    assert group.compact()
    readers.checkpoint("seen")
    assert group.compact()
    second = GroupObserver(client, group.scoped_name, journal, tracker=first.tracker)
    assert second.look(WAIT_S)
    (gap,) = [o for o in journal.since() if isinstance(o, GroupGap)]
    assert gap.from_revision == offset
    assert "before it was read" in journal.reason
    check(fold_groups(journal.since()), group.state(), group.scoped_name)
    second.close()
    readers.close()


def test_what_no_version_knows_is_said_and_the_next_whole_state_heals(
    uri: str, client: Client, group: ReaderGroup, stream: Stream
) -> None:
    readers = Readers(group).add("a")
    readers.share(2)
    state = group.state()
    readers.readers[0].abandon()
    strange = (2).to_bytes(4, "big") + (4).to_bytes(4, "big") + bytes((0, 99, 0, 0))
    log = revisioned_stream(client, f"{group.scope}/_RG{group.name}")
    with watched(uri, group) as watch:
        log.append(strange)
        log.append(rg.updates([rg.AddReader("b")]))
        assert watch.look(WAIT_S)
        (said,) = [o for o in kinds(watch, GroupUpdated) if o.update.startswith("unknown")]
        assert (said.update, said.details) == ("unknown: type 99 version 0", strange[8:].hex())
        assert said.revision > 0
        state.apply(rg.AddReader("b"))
        log.append(rg.initial(state.to_compact()))
        assert watch.look(WAIT_S)
        check(fold_groups(watch.since()), state, group.scoped_name)
    log.close()


@pytest.mark.parametrize("creator", ["java", "python"])
def test_a_group_of_java_programs_is_seen_as_it_is(
    creator: str, uri: str, client: Client, stream: Stream, java: JavaMember
) -> None:
    """Java's readers share, pass checkpoints, meet a scale; their program is killed."""
    group = reader_group(client, f"{stream.scope}/g")
    with watched(uri, group) as watch:
        if creator == "java":
            assert java.say("create 200 -1") == "true"
        else:
            new_group(client, stream, group_refresh_time_ms=200)
        readers = Readers(group)
        readers.readers += [java.reader("j1"), java.reader("j2")]  # type: ignore[list-item]
        write(stream, 0, 60)
        readers.share(1, 1)
        readers.read(60)
        java.say("begin theirs")
        readers.until(lambda: java.result("theirs") is not None, "Java's checkpoint")
        stream.split(stream.segments()[0].segment_id)
        write(stream, 60, 100)
        readers.read(70)
        readers.checkpoint("ours")
        java.kill()
        assert group.reader_offline("j1")
        assert watch.look(WAIT_S)
        check(fold_groups(watch.since()), group.state(), group.scoped_name)
        done = [o.checkpoint for o in kinds(watch, GroupCheckpointDone)]
        assert done == ["theirs", "ours"]
        left = kinds(watch, ReaderLeft)
        assert [(o.reader, o.cause_kind) for o in left] == [("j1", "inferred")]
        assert not [o for o in kinds(watch, GroupUpdated) if o.update.startswith("unknown")]
        assert all("(yet)" in text for text in words_of(watch))


def test_a_group_explains_itself(uri: str, group: ReaderGroup, stream: Stream) -> None:
    readers = Readers(group).add("a")
    write(stream, 0, 40)
    readers.share(2)
    with watched(uri, group) as watch:
        group.initiate_checkpoint("stuck")
        wait_until(lambda: "Checkpoint stuck" in str(watch.explain()))
        said = str(watch.explain())
        assert "1 reader (a) online" in said
        assert "for a (has #0 e0 and #1 e0); 0 of 1 passed" in said
        now = str(group.explain())
        assert "Checkpoint stuck waits for a (reads #0 e0 of" in now
        readers.readers[0].abandon()
        group.reader_offline("a")
        wait_until(lambda: "since a went" in str(watch.explain()))
        assert "no reader is online" in str(group.explain())
        assert "Nobody reads #0 e0 of" in str(group.explain())


def test_a_lab_observes_and_keeps_its_observer(uri: str, group: ReaderGroup, stream: Stream) -> None:
    with Lab(uri=uri) as lab:
        watch = lab.observe(group)
        assert lab.observe(group) is watch
        assert lab.observe(stream) is not watch
        assert watch.look(WAIT_S)
        wait_until(lambda: len(watch.streams) == 1)
        assert [o.group for o in kinds(watch, GroupSeen)] == [group.scoped_name]


def test_several_groups_and_a_stream_share_a_journal(
    uri: str, client: Client, group: ReaderGroup, stream: Stream
) -> None:
    other = reader_group(client, f"{stream.scope}/h")
    other.create(group.config())
    names = [group.scoped_name, other.scoped_name]
    with observe(uri, stream=stream.scoped_name, group=names, every_ms=100) as watch:
        assert watch.look(WAIT_S)
        assert sorted(o.group for o in kinds(watch, GroupSeen)) == sorted(names)
        assert len(watch.streams) == 1


def test_a_group_without_an_address_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"observe\(group='a/b'\) needs the controller"):
        observe(group="a/b")
