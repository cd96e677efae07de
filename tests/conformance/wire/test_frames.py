"""Hand-written frames against both stores: what is answered, what is held, what closes the connection.

The cases are those that a released 0.13.0 was asked one by one (real-pravega.md 5). Each test
states the reply; both stores have to give it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from tests.conformance.controller import ControllerStub
from tests.conformance.wire.connection import CLOSED, MIN, OTHER_WRITER, WRITER, Wire, append, endpoint, event

MARK = UUID("7df9a874-246c-c9d6-9397-cdd19ead68c5")

Connect = Callable[..., Wire]


@pytest.fixture
def connect(controller: ControllerStub) -> Iterator[Connect]:
    """Opens a connection to the store under test; all are closed at the end."""
    address, opened = endpoint(controller), list[Wire]()

    def open_one(hello: c.Hello | None = c.Hello(16, 5)) -> Wire:
        opened.append(Wire(address, hello))
        return opened[-1]

    yield open_one
    for wire in opened:
        wire.close()


@pytest.fixture
def wire(connect: Connect) -> Wire:
    return connect()


@pytest.fixture
def segment(scope_name: Callable[[], str]) -> str:
    return f"{scope_name()}/s/0.#epoch.0"


# Hello


@pytest.mark.parametrize("versions", [(16, 5), (15, 5), (17, 5), (99, 50)])
def test_hello_is_answered_with_the_released_versions(connect: Connect, versions: tuple[int, int]) -> None:
    assert connect(c.Hello(*versions)).hello == c.Hello(16, 5)


def test_an_incompatible_client_is_greeted_and_closed(connect: Connect) -> None:
    assert connect(c.Hello(99, 50)).receive() == CLOSED


def test_requests_without_a_hello_are_served(connect: Connect, segment: str) -> None:
    wire = connect(hello=None)
    assert wire.ask(c.GetStreamSegmentInfo(1, segment, "")) == c.NoSuchSegment(1, segment, "", -1)


def test_keep_alive_is_echoed(wire: Wire) -> None:
    assert wire.ask(c.KeepAlive()) == c.KeepAlive()


# What a missing segment gets


def test_requests_on_a_missing_segment(wire: Wire, segment: str) -> None:
    requests: list[tuple[c.Command, int]] = [
        (c.GetStreamSegmentInfo(1, segment, ""), -1),
        (c.ReadSegment(segment, 7, 10, "", 1), 7),
        (c.SetupAppend(1, WRITER, segment, ""), -1),
        (c.GetSegmentAttribute(1, segment, MARK, ""), -1),
        (c.SealSegment(1, segment, ""), -1),
        (c.DeleteSegment(1, segment, ""), -1),
    ]
    for request, offset in requests:
        assert wire.ask(request) == c.NoSuchSegment(1, segment, "", offset), request


# Segments


def test_a_new_segment_is_empty(wire: Wire, segment: str) -> None:
    wire.create(segment)
    info = wire.info(segment)
    assert (info.exists, info.is_sealed, info.is_deleted) == (True, False, False)
    assert (info.start_offset, info.write_offset) == (0, 0)
    assert info.last_modified > 1_600_000_000_000


def test_a_segment_is_created_once(wire: Wire, segment: str) -> None:
    wire.create(segment)
    assert wire.ask(c.CreateSegment(9, segment, 0, 0, "", 0)) == c.SegmentAlreadyExists(9, segment, "")


def test_create_without_the_trailing_rollover_size(wire: Wire, segment: str) -> None:
    assert wire.ask(c.CreateSegment(9, segment, 100, 1, "")) == c.SegmentCreated(9, segment)


def test_the_policy_of_a_segment_is_updated(wire: Wire, segment: str) -> None:
    wire.create(segment)
    assert wire.ask(c.UpdateSegmentPolicy(9, segment, 5, 2, "")) == c.SegmentPolicyUpdated(9, segment)


def test_a_segment_is_sealed_once(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"one")
    assert wire.ask(c.SealSegment(9, segment, "")) == c.SegmentSealed(9, segment)
    assert wire.ask(c.SealSegment(9, segment, "")) == c.SegmentIsSealed(9, segment, "", -1)
    info = wire.info(segment)
    assert (info.is_sealed, info.write_offset) == (True, 11)


def test_a_segment_is_deleted_once(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"one")
    assert wire.ask(c.DeleteSegment(9, segment, "")) == c.SegmentDeleted(9, segment)
    assert wire.ask(c.DeleteSegment(9, segment, "")) == c.NoSuchSegment(9, segment, "", -1)


# Appends


def test_an_append_is_acknowledged_with_the_number_before_it(wire: Wire, segment: str) -> None:
    wire.create(segment)
    assert wire.setup(segment) == MIN
    assert wire.append(1, event(b"hello")) == c.DataAppended(WRITER, 1, MIN, 5, 13)
    data = event(b"a") + event(b"bb") + event(b"")
    assert wire.append(4, data, events=3) == c.DataAppended(WRITER, 4, 1, 5, 40)


def test_pipelined_appends_are_all_acknowledged_in_order(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    wire.send(*(append(number, event(b"%03d" % number)) for number in range(1, 101)))
    last = MIN
    while last != 100:
        ack = wire.receive()
        assert isinstance(ack, c.DataAppended)
        assert (ack.previous_event_number, ack.request_id) == (last, 5)
        assert ack.current_segment_write_offset == 11 * ack.event_number
        last = ack.event_number
    assert wire.length(segment) == 1100


def test_the_last_number_is_told_to_whoever_sets_the_writer_up_again(
    wire: Wire, connect: Connect, segment: str
) -> None:
    wire.filled(segment, b"one", b"two")
    assert wire.setup(segment) == 2
    again = connect()
    assert again.setup(segment) == 2
    assert again.append(3, event(b"three")) == c.DataAppended(WRITER, 3, 2, 5, 35)
    assert again.setup(segment, OTHER_WRITER) == MIN


def test_an_append_without_setup_closes_the_connection(wire: Wire, connect: Connect, segment: str) -> None:
    wire.create(segment)
    assert wire.append(1, event(b"x")) == CLOSED
    assert connect().length(segment) == 0


def test_an_append_of_no_events_closes_the_connection(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    assert wire.append(1, event(b"z"), events=0) == CLOSED


def test_a_number_that_goes_back_closes_the_connection(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one", b"two")
    assert wire.append(1, event(b"again")) == CLOSED
    assert connect().length(segment) == 22


def test_the_same_number_again_is_written_and_not_acknowledged(wire: Wire, segment: str) -> None:
    """Upstream's quirk (pravega.md A11): the bytes are there twice; the next number is acknowledged as
    usual."""
    wire.create(segment)
    wire.setup(segment)
    assert wire.append(5, event(b"z")) == c.DataAppended(WRITER, 5, MIN, 5, 9)
    wire.send(append(5, event(b"z")))
    assert wire.append(6, event(b"y")) == c.DataAppended(WRITER, 6, 5, 5, 27)
    assert wire.length(segment) == 27


def test_a_writer_that_another_connection_advanced_is_told_so_and_closed(
    wire: Wire, connect: Connect, segment: str
) -> None:
    wire.create(segment)
    other = connect()
    wire.setup(segment)
    other.setup(segment)
    assert isinstance(other.append(10, event(b"aaa")), c.DataAppended)
    assert wire.append(5, event(b"b")) == c.InvalidEventNumber(WRITER, 5, "", 5)
    assert wire.receive() == CLOSED
    assert other.append(11, event(b"aaa")) == c.DataAppended(WRITER, 11, 10, 5, 22)


def test_empty_and_unframed_bytes_are_accepted(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    assert wire.append(1, b"") == c.DataAppended(WRITER, 1, MIN, 5, 0)
    assert wire.append(2, b"no header") == c.DataAppended(WRITER, 2, 1, 5, 9)


def test_one_writer_id_on_two_segments_goes_to_the_last_one_set_up(wire: Wire, segment: str) -> None:
    other = segment.replace("/0.", "/1.")
    wire.filled(segment, b"one")
    wire.create(other)
    assert wire.setup(other) == MIN
    assert wire.append(9, event(b"q")) == c.DataAppended(WRITER, 9, MIN, 5, 9)
    assert (wire.length(segment), wire.length(other)) == (11, 9)


def test_several_writers_on_one_connection(wire: Wire, segment: str) -> None:
    other = segment.replace("/0.", "/1.")
    wire.create(segment)
    wire.create(other)
    wire.setup(segment)
    wire.setup(other, OTHER_WRITER)
    wire.send(append(1, event(b"a")), append(1, event(b"bb"), writer=OTHER_WRITER), append(2, event(b"c")))
    acknowledged = {WRITER: MIN, OTHER_WRITER: MIN}
    while acknowledged != {WRITER: 2, OTHER_WRITER: 1}:
        ack = wire.receive()
        assert isinstance(ack, c.DataAppended)
        assert ack.previous_event_number == acknowledged[ack.writer_id]
        acknowledged[ack.writer_id] = ack.event_number
    assert (wire.length(segment), wire.length(other)) == (18, 10)


def test_append_on_a_sealed_segment(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one", b"two")
    wire.ask(c.SealSegment(9, segment, ""))
    assert wire.append(3, event(b"late")) == c.SegmentIsSealed(5, segment, "", 3)
    again = connect()
    assert again.setup(segment) == 2
    assert again.append(7, event(b"late")) == c.SegmentIsSealed(5, segment, "", 7)
    assert connect().length(segment) == 22


def test_append_on_a_deleted_segment(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one")
    connect().ask(c.DeleteSegment(9, segment, ""))
    assert wire.append(2, event(b"late")) == c.NoSuchSegment(5, segment, "", -1)


def test_four_mebibytes_in_one_append(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    data = event(b"B" * (4 << 20))
    assert wire.append(1, data) == c.DataAppended(WRITER, 1, MIN, 5, len(data))


# Append blocks


def block_end(whole: int, data: bytes, events: int, number: int) -> c.AppendBlockEnd:
    return c.AppendBlockEnd(WRITER, whole, data, events, number, 6)


def frame(code: int, payload: bytes) -> bytes:
    return struct.pack(">ii", code, len(payload)) + payload


@pytest.mark.parametrize(
    ("block", "whole", "rest", "stored"),
    [
        (event(b"one") + event(b"two"), 22, b"", event(b"one") + event(b"two")),
        (event(b"padded") + frame(-1, bytes(12)), 14, b"", event(b"padded")),
        (
            event(b"w") + frame(-2, event(b"part, rest")[:12]),
            9,
            b", rest",
            event(b"w") + event(b"part, rest"),
        ),
    ],
    ids=["exact", "padding", "partial"],
)
def test_an_append_block(
    wire: Wire, segment: str, block: bytes, whole: int, rest: bytes, stored: bytes
) -> None:
    wire.create(segment)
    wire.setup(segment)
    wire.send(c.AppendBlock(WRITER, block), block_end(whole, rest, 2, 2))
    assert wire.receive() == c.DataAppended(WRITER, 2, MIN, 6, len(stored))
    assert wire.contents(segment) == stored


def test_other_requests_may_stand_inside_an_append_block(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    wire.send(c.AppendBlock(WRITER, event(b"x")))
    assert wire.ask(c.KeepAlive()) == c.KeepAlive()
    assert wire.length(segment) == 0
    assert wire.ask(block_end(9, b"", 1, 1)) == c.DataAppended(WRITER, 1, MIN, 6, 9)


# Conditional appends


def test_conditional_append(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    assert wire.ask(c.ConditionalAppend(WRITER, 1, 0, b"cond", 7)) == c.DataAppended(WRITER, 1, MIN, 7, 12)
    assert wire.ask(c.ConditionalAppend(WRITER, 2, 5, b"no", 8)) == c.ConditionalCheckFailed(WRITER, 2, 8)
    assert wire.ask(c.ConditionalAppend(WRITER, 2, 12, b"yes", 9)) == c.DataAppended(WRITER, 2, 1, 9, 23)
    assert wire.contents(segment) == event(b"cond") + event(b"yes")


def test_conditional_block(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    assert wire.ask(c.ConditionalBlockEnd(WRITER, 0, 0, b"raw", 7)) == c.DataAppended(WRITER, 0, MIN, 7, 3)
    assert wire.ask(c.ConditionalBlockEnd(WRITER, 1, 0, b"no", 8)) == c.ConditionalCheckFailed(WRITER, 1, 8)
    assert wire.ask(c.ConditionalBlockEnd(WRITER, 1, 3, b"bytes", 9)) == c.DataAppended(WRITER, 1, 0, 9, 8)


def test_a_negative_expected_offset_is_no_condition(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    assert wire.ask(c.ConditionalAppend(WRITER, 1, -1, b"x", 7)) == c.DataAppended(WRITER, 1, MIN, 7, 9)
    assert wire.ask(c.ConditionalBlockEnd(WRITER, 2, -2, b"raw", 8)) == c.DataAppended(WRITER, 2, 1, 8, 12)


# Reads


def test_read_from_the_head_and_in_parts(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"hello", b"world")
    both = event(b"hello") + event(b"world")
    assert wire.contents(segment) == both
    part = wire.read(segment, 0, 10)
    assert isinstance(part, c.SegmentRead)
    assert (part.data, part.offset, part.end_of_segment) == (both[:10], 0, False)
    assert wire.read(segment, 13) == c.SegmentRead(segment, 13, True, False, event(b"world"), 4)


def test_a_read_gives_eight_bytes_at_least_and_two_mebibytes_at_most(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"B" * (3 << 20))
    for asked, given in ((0, 8), (8 << 20, 2 << 20)):
        reply = wire.read(segment, 0, asked)
        assert isinstance(reply, c.SegmentRead)
        assert len(reply.data) == given


def test_a_read_at_the_tail_is_held_until_there_is_data(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one")
    reader = connect()
    reader.send(c.ReadSegment(segment, 11, 1000, "", 77))
    assert reader.is_silent()
    wire.append(2, event(b"two"))
    assert reader.receive() == c.SegmentRead(segment, 11, True, False, event(b"two"), 77)


def test_a_read_beyond_the_end_is_held_too(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one")
    reader = connect()
    reader.send(c.ReadSegment(segment, 22, 1000, "", 77))
    assert reader.is_silent()
    wire.append(2, event(b"two"))
    assert reader.is_silent()
    wire.append(3, event(b"three"))
    assert reader.receive() == c.SegmentRead(segment, 22, True, False, event(b"three"), 77)


def test_several_reads_are_held_on_one_connection(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one")
    reader = connect()
    reader.send(*(c.ReadSegment(segment, 11, 1000, "", number) for number in range(10)))
    assert reader.is_silent()
    wire.append(2, event(b"two"))
    replies = [reader.receive() for _ in range(10)]
    assert sorted(r.request_id for r in replies) == list(range(10))  # type: ignore[union-attr]


def test_a_held_read_of_a_segment_that_is_sealed(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one")
    reader = connect()
    reader.send(c.ReadSegment(segment, 11, 1000, "", 77))
    assert reader.is_silent()
    wire.ask(c.SealSegment(9, segment, ""))
    assert reader.receive() == c.SegmentIsSealed(77, segment, "", 11)


def test_a_held_read_of_a_segment_that_is_deleted(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one")
    reader = connect()
    reader.send(c.ReadSegment(segment, 11, 1000, "", 77))
    assert reader.is_silent()
    wire.ask(c.DeleteSegment(9, segment, ""))
    assert reader.receive() == c.SegmentRead(segment, 11, True, False, b"", 77)


def test_the_end_of_a_sealed_segment(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"one")
    wire.ask(c.SealSegment(9, segment, ""))
    assert wire.read(segment) == c.SegmentRead(segment, 0, False, True, event(b"one"), 4)
    assert wire.read(segment, 11) == c.SegmentRead(segment, 11, False, True, b"", 4)
    assert wire.read(segment, 16) == CLOSED


def test_a_read_at_a_negative_offset_closes_the_connection(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"one")
    assert wire.read(segment, -1) == CLOSED


def test_a_reader_that_goes_away_frees_its_hold(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one")
    reader = connect()
    reader.send(c.ReadSegment(segment, 11, 1000, "", 77))
    assert reader.is_silent()
    reader.close()
    assert wire.append(2, event(b"two")) == c.DataAppended(WRITER, 2, 1, 5, 22)


# Truncation


def test_truncation(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"one", b"two")
    assert wire.ask(c.TruncateSegment(9, segment, 11, "")) == c.SegmentTruncated(9, segment)
    assert wire.info(segment).start_offset == 11
    assert wire.read(segment, 0) == c.SegmentIsTruncated(4, segment, 11, "", 0)
    assert wire.read(segment, 11) == c.SegmentRead(segment, 11, True, False, event(b"two"), 4)
    for offset in (999, 0):
        reply = wire.ask(c.TruncateSegment(9, segment, offset, ""))
        assert reply == c.SegmentIsTruncated(9, segment, 11, "", offset)


def test_a_sealed_segment_may_be_truncated(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"one")
    wire.ask(c.SealSegment(9, segment, ""))
    assert wire.ask(c.TruncateSegment(9, segment, 11, "")) == c.SegmentTruncated(9, segment)


# Attributes


def test_attributes_are_compared_and_set(wire: Wire, segment: str) -> None:
    wire.create(segment)
    get, null = c.GetSegmentAttribute(9, segment, MARK, ""), c.NULL_ATTRIBUTE
    assert wire.ask(get) == c.SegmentAttribute(9, null)
    for new, expected, success in ((5, null, True), (6, null, False), (6, 5, True)):
        update = c.UpdateSegmentAttribute(9, segment, MARK, new, expected, "")
        assert wire.ask(update) == c.SegmentAttributeUpdated(9, success)
    assert wire.ask(get) == c.SegmentAttribute(9, 6)


def test_attributes_of_a_sealed_segment_stay(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.ask(c.SealSegment(9, segment, ""))
    update = c.UpdateSegmentAttribute(9, segment, MARK, 1, c.NULL_ATTRIBUTE, "")
    assert wire.ask(update) == c.SegmentIsSealed(9, segment, "", -1)


# Merges


def transaction(segment: str, number: int = 1) -> str:
    return f"{segment}#transaction.{number:032x}"


def test_a_merge_is_idempotent(wire: Wire, segment: str, which: str) -> None:
    wire.filled(segment, b"one")
    source = transaction(segment)
    wire.filled(source, b"two")
    merged = c.SegmentsMerged(9, segment, source, 22)
    assert wire.ask(c.MergeSegments(9, segment, source, "", ())) == merged
    repeated = wire.ask(c.MergeSegments(9, segment, source, "", ()))
    # A real server forgets the source as soon as the merge is in tier 2. Ours remembers it.
    forgotten = c.NoSuchSegment(9, source, "", -1)
    assert repeated == merged or (which == "real" and repeated == forgotten)
    assert wire.ask(c.GetStreamSegmentInfo(1, source, "")) == c.NoSuchSegment(1, source, "", -1)
    assert wire.contents(segment) == event(b"one") + event(b"two")


def test_an_empty_source_merges(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.create(transaction(segment))
    merged = c.SegmentsMerged(9, segment, transaction(segment), 0)
    assert wire.ask(c.MergeSegments(9, segment, transaction(segment), "")) == merged


def test_a_merge_of_what_never_was_names_the_source(wire: Wire, segment: str) -> None:
    source, missing = transaction(segment, 9), c.NoSuchSegment(9, transaction(segment, 9), "", -1)
    assert wire.ask(c.MergeSegments(9, segment, source, "")) == missing
    wire.create(segment)
    assert wire.ask(c.MergeSegments(9, segment, source, "")) == missing


def test_a_merge_into_a_sealed_segment_names_the_source(wire: Wire, segment: str) -> None:
    wire.create(segment)
    source = transaction(segment)
    wire.create(source)
    wire.ask(c.SealSegment(9, segment, ""))
    for attributes in ((), None):
        request = c.MergeSegments(9, segment, source, "", attributes)
        assert wire.ask(request) == c.SegmentIsSealed(9, source, "", -1)


def test_a_batch_of_merges_tells_the_length_after_each(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"one")
    sources = tuple(transaction(segment, number) for number in (1, 2))
    for source in sources:
        wire.filled(source, b"txn")
    reply = wire.ask(c.MergeSegmentsBatch(9, segment, sources, ""))
    assert reply == c.SegmentsBatchMerged(9, segment, tuple(zip(sources, (22, 33), strict=True)))


def test_a_merge_wakes_a_held_read(wire: Wire, connect: Connect, segment: str) -> None:
    wire.create(segment)
    wire.filled(transaction(segment), b"one", b"two")
    reader = connect()
    reader.send(c.ReadSegment(segment, 0, 1000, "", 77))
    assert reader.is_silent()
    wire.ask(c.MergeSegments(9, segment, transaction(segment), ""))
    reply = reader.receive()
    assert isinstance(reply, c.SegmentRead)
    assert (event(b"one") + event(b"two")).startswith(reply.data)
    assert (reply.request_id, reply.data != b"") == (77, True)


# Transient segments


def test_a_transient_segment_takes_a_large_event_in_parts(wire: Wire, segment: str) -> None:
    wire.filled(segment, b"one")
    created = wire.ask(c.CreateTransientSegment(9, WRITER, segment, ""))
    assert isinstance(created, c.SegmentCreated)
    start = f"{segment}#transient.{WRITER.hex}."
    assert created.segment.startswith(start)
    assert len(created.segment) == len(start) + 32
    assert wire.setup(created.segment) == MIN
    parts = [event(b"LARGE, in parts")[:13], b", in parts"]
    at, last = 0, MIN
    for number, part in enumerate(parts):
        reply = wire.ask(c.ConditionalBlockEnd(WRITER, number, at, part, 7))
        assert reply == c.DataAppended(WRITER, number, last, 7, at + len(part))
        at, last = at + len(part), number
    merged = wire.ask(c.MergeSegments(9, segment, created.segment, "", ()))
    assert merged == c.SegmentsMerged(9, segment, created.segment, 11 + 23)
    assert wire.contents(segment, 11) == event(b"LARGE, in parts")


def test_a_transient_segment_of_a_parent_that_never_was(wire: Wire, segment: str) -> None:
    """Upstream does not look for the parent."""
    created = wire.ask(c.CreateTransientSegment(9, WRITER, segment, ""))
    assert isinstance(created, c.SegmentCreated)


def test_two_transient_segments_differ(wire: Wire, segment: str) -> None:
    wire.create(segment)
    request = c.CreateTransientSegment(9, WRITER, segment, "")
    assert wire.ask(request) != wire.ask(request)


# What closes one connection, and only that one


def garbage() -> dict[str, bytes]:
    return {
        "unknown type": frame(12345, b"what"),
        "type of the next release (LocateOffset)": encode(c.LocateOffset(1, "a/b/0.#epoch.0", 1, "")),
        "admin's flush": bytes.fromhex("fffffffd0000000e000000000000000000000000041e"),
        "no Pravega at all": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "negative length": struct.pack(">ii", 11, -5),
        "length beyond the largest frame": struct.pack(">ii", 4, 0x7FFFFFFF),
        "a frame whose fields do not fit": frame(11, b"\0\0\0"),
    }


@pytest.mark.parametrize("name", garbage())
def test_garbage_closes_its_connection_and_no_other(
    wire: Wire, connect: Connect, segment: str, name: str
) -> None:
    wire.filled(segment, b"one")
    bad = connect()
    bad.socket.sendall(garbage()[name])
    assert bad.receive() == CLOSED
    assert wire.append(2, event(b"two")) == c.DataAppended(WRITER, 2, 1, 5, 22)


def test_half_a_frame_and_the_end(wire: Wire, connect: Connect, segment: str) -> None:
    wire.filled(segment, b"one")
    half = connect()
    half.setup(segment, OTHER_WRITER)
    half.socket.sendall(encode(append(1, event(b"never whole"), writer=OTHER_WRITER))[:-3])
    half.close()
    assert wire.append(2, event(b"two")) == c.DataAppended(WRITER, 2, 1, 5, 22)
    assert wire.setup(segment, OTHER_WRITER) == MIN


def test_frames_that_come_byte_by_byte(wire: Wire, segment: str) -> None:
    wire.create(segment)
    wire.setup(segment)
    for byte in encode(append(1, event(b"slow"))):
        wire.socket.sendall(bytes([byte]))
    assert wire.receive() == c.DataAppended(WRITER, 1, MIN, 5, 12)


def test_garbage_on_the_controllers_port_closes_its_connection(uri: str, controller: ControllerStub) -> None:
    host, port = uri.removeprefix("tcp://").split(":")
    bad = Wire((host, int(port)), hello=None)
    bad.socket.sendall(b"\xff" * 64 + b"\r\n\r\n")
    with_data = 0
    while data := _receive(bad):
        with_data += len(data)
        assert with_data < 1 << 20
    assert controller.call("checkScopeExists", pb.ScopeInfo(scope="_system")).exists is True


def _receive(wire: Wire) -> bytes:
    try:
        return wire.socket.recv(4096)
    except ConnectionResetError:
        return b""
