"""Any cut of a stream of frames gives the same commands; any other bytes give one documented error."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.wire import codec
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import (
    COMMANDS,
    HEADER,
    PAYLOAD_BYTES_MAX,
    decode,
    decode_at,
    encode,
    encode_parts,
)
from pravega_lab.protocol.wire.frames import FrameDecoder, join_append_block
from tests.protocol import strategies

WRITER = UUID(int=0xAA)
SEGMENT = "s/a/0.#epoch.0"
END = c.AppendBlockEnd(WRITER, 0, b"", 1, 7, 8)

command_lists = st.lists(strategies.commands, min_size=1, max_size=4)


OPEN_ENDED = (c.PartialEvent, c.Padding, c.Event, c.AppendBlock, c.ReadTableKeys, c.ReadTableEntries)
"""Their last field runs to the end of the frame; every other command ignores what follows its fields."""


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_every_command_decodes_to_itself(command: type[c.Command]) -> None:
    @settings(max_examples=25)
    @given(strategies.of(command))
    def check(value: c.Command) -> None:
        frame = encode(value)
        assert FrameDecoder().feed(frame) == [value]
        assert b"".join(encode_parts(value)) == frame
        if command not in OPEN_ENDED:
            assert decode(value.code, frame[8:] + b"\1\2\3") == value

    check()


def test_commands_of_later_protocol_versions_are_known() -> None:
    """A frame of an unknown type would end the connection as damaged bytes."""
    later = [c.LocateOffset(1, SEGMENT, 100, ""), c.OffsetLocated(1, SEGMENT, 104)]
    assert FrameDecoder().feed(b"".join(map(encode, later))) == later


@given(command_lists)
def test_split_at_every_byte(commands: list[c.Command]) -> None:
    data = b"".join(map(encode, commands))
    byte_by_byte = FrameDecoder()
    assert [found for at in range(len(data)) for found in byte_by_byte.feed(data[at : at + 1])] == commands
    for at in range(len(data) + 1):
        decoder = FrameDecoder()
        assert decoder.feed(data[:at]) + decoder.feed(data[at:]) == commands
        assert decoder.buffered_bytes == 0


@given(command_lists, strategies.commands, st.data())
def test_bytes_left_over_wait_for_the_rest(commands: list[c.Command], last: c.Command, data: Any) -> None:
    frame = encode(last)
    cut = data.draw(st.integers(0, len(frame) - 1))
    decoder = FrameDecoder()
    assert decoder.feed(b"".join(map(encode, commands)) + frame[:cut]) == commands
    assert decoder.buffered_bytes == cut
    assert decoder.feed(b"") == []
    assert decoder.feed(frame[cut:]) == [last]


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=60), max_size=5))
@example([bytes.fromhex("0000005b7fffffff")])
def test_random_bytes_give_frames_or_one_error(pieces: list[bytes]) -> None:
    decoder = FrameDecoder()
    for piece in pieces:
        _feed_anything(decoder, piece)


@settings(max_examples=300)
@given(strategies.commands, st.binary(max_size=3), st.data())
def test_reading_in_a_straight_line_is_reading_by_plan(command: c.Command, new: bytes, data: Any) -> None:
    payload = bytearray(encode(command)[8:])
    at = data.draw(st.integers(0, len(payload)))
    payload[at : at + data.draw(st.integers(0, 3))] = new
    cut = data.draw(st.integers(0, len(payload)))
    found = []
    for read in (decode_at, codec._decode_by_plan):
        try:
            found.append(read(command.code, bytes(payload), 0, cut))
        except ProtocolError as error:
            found.append(str(error))
    assert found[0] == found[1]


@settings(max_examples=600)
@given(strategies.commands, st.data())
def test_mutated_frames_give_frames_or_one_error(command: c.Command, data: Any) -> None:
    frame = bytearray(encode(command))
    for _ in range(data.draw(st.integers(1, 3))):
        if data.draw(st.booleans()):
            frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
        else:
            at = data.draw(st.integers(8, len(frame)))
            frame[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    if data.draw(st.booleans()) and len(frame) >= 8:
        frame[4:8] = (len(frame) - 8).to_bytes(4, "big")  # the header right, the payload wrong
    _feed_anything(FrameDecoder(), bytes(frame))


def _feed_anything(decoder: FrameDecoder, data: bytes) -> None:
    """Whatever comes out can be sent on, and then means the same."""
    try:
        found = decoder.feed(data)
    except ProtocolError:
        found = decoder.salvaged
        with pytest.raises(ProtocolError):
            decoder.feed(b"")
    for command in found:
        assert decode(command.code, encode(command)[8:]) == command


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("00000063 00000000", "type 99"),
        ("fffffffd 00000000", "type -3"),
        ("00000004 01000000", "claims 16777216 bytes"),
        ("00000004 ffffffff", "claims -1 bytes"),
        ("47455420 2f204854", "type 1195725856"),  # GET / HT
    ],
)
def test_a_bad_header_is_refused_before_any_payload(header: str, complaint: str) -> None:
    decoder = FrameDecoder()
    with pytest.raises(ProtocolError, match=complaint):
        decoder.feed(bytes.fromhex(header))
    assert decoder.buffered_bytes == 0


def test_what_came_before_a_bad_frame_is_salvaged() -> None:
    decoder = FrameDecoder()
    with pytest.raises(ProtocolError, match="type 99"):
        decoder.feed(encode(c.Hello(16, 5)) + encode(c.KeepAlive()) + HEADER.pack(99, 0))
    assert decoder.salvaged == [c.Hello(16, 5), c.KeepAlive()]


@pytest.mark.parametrize("payload", ["7fffffff", "80000000", "ffffffff", "00000001"])
def test_a_count_without_its_bytes_is_refused(payload: str) -> None:
    with pytest.raises(ProtocolError):
        decode(c.TableEntriesUpdated.code, bytes(8) + bytes.fromhex(payload))


# ---- large frames --------------------------------------------------------------------------------

BIG = bytes(range(256)) * 1200
LARGE = [
    replace(END, data=BIG),
    c.AppendBlock(WRITER, BIG),
    c.ConditionalAppend(WRITER, 1, 2, BIG, 3),
    c.ConditionalBlockEnd(WRITER, 1, 2, BIG, 3),
    c.SegmentRead("s/" + "a" * 65_000 + "/0.#epoch.0", 5, True, False, BIG, 6),
    c.TableEntriesRead(1, SEGMENT, (c.TableEntry(c.TableKey(b"k", 1), BIG),), b"token"),
    c.ReadTableKeys(1, SEGMENT, "t", 3, BIG, b"range"),
]


@pytest.mark.parametrize("command", LARGE, ids=lambda command: type(command).__name__)
@pytest.mark.parametrize("piece_bytes", [1009, 65_536, 262_144])
def test_a_large_frame_in_pieces(command: c.Command, piece_bytes: int) -> None:
    data = encode(c.KeepAlive()) + encode(command) + encode(c.Hello(16, 5))
    decoder = FrameDecoder()
    pieces = [data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes)]
    assert [found for piece in pieces for found in decoder.feed(piece)] == [
        c.KeepAlive(),
        command,
        c.Hello(16, 5),
    ]


@pytest.mark.parametrize("at", [8, 24, 28, 30])
def test_a_large_frame_with_a_wrong_length_inside(at: int) -> None:
    frame = bytearray(encode(replace(END, data=BIG)))
    frame[at : at + 4] = b"\x7f\xff\xff\xff"
    decoder = FrameDecoder()
    assert decoder.feed(bytes(frame[:100])) == []
    _feed_anything(decoder, bytes(frame[100:]))


def test_eight_mebibytes_are_copied_once() -> None:
    size = 8 * 1024 * 1024
    frame = encode(replace(END, data=bytes(size)))
    pieces = [frame[at : at + 65_536] for at in range(0, len(frame), 65_536)]
    decoder = FrameDecoder()
    tracemalloc.start()
    try:
        found = [command for piece in pieces for command in decoder.feed(piece)]
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == 1
    assert size < peak_bytes < 1.2 * size


# ---- blocks of appends (pravega.md D3) ------------------------------------------------------------


def _event(payload: bytes) -> bytes:
    return HEADER.pack(0, len(payload)) + payload


WHOLE = _event(b"one") + _event(b"two")
THIRD = _event(b"three")


def test_without_a_block_the_end_is_all() -> None:
    assert join_append_block(None, replace(END, data=WHOLE)) == WHOLE


@pytest.mark.parametrize(
    ("behind", "end_data", "joined"),
    [
        (b"", b"", WHOLE),
        (b"", THIRD, WHOLE + THIRD),
        (encode(c.Padding(bytes(30))), b"", WHOLE),
        (encode(c.Padding(b"")), b"", WHOLE),
        (encode(c.PartialEvent(THIRD[:9])), THIRD[9:], WHOLE + THIRD),
    ],
)
def test_a_block_and_its_end(behind: bytes, end_data: bytes, joined: bytes) -> None:
    block = c.AppendBlock(WRITER, WHOLE + behind)
    assert join_append_block(block, replace(END, size_of_whole_events=len(WHOLE), data=end_data)) == joined


@pytest.mark.parametrize(
    ("block", "end", "complaint"),
    [
        (c.AppendBlock(UUID(int=1), b""), END, "was ended by writer"),
        (c.AppendBlock(WRITER, b"1234"), replace(END, size_of_whole_events=5), "cannot hold 5"),
        (c.AppendBlock(WRITER, b"1234"), replace(END, size_of_whole_events=-1), "cannot hold -1"),
        (c.AppendBlock(WRITER, b"1234567"), END, "7 bytes .* not a frame"),
        (c.AppendBlock(WRITER, encode(c.Padding(b"")) * 2), END, "cannot end a block"),
        (c.AppendBlock(WRITER, encode(c.KeepAlive())), END, "type 100"),
        (c.AppendBlock(WRITER, encode(c.Padding(b""))), replace(END, data=b"x"), "ended in padding"),
    ],
)
def test_a_block_that_breaks_the_rules(block: c.AppendBlock, end: c.AppendBlockEnd, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        join_append_block(block, end)


# ---- what cannot be sent -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (c.Hello(2**31, 5), "cannot be written"),
        (c.SegmentCreated(1, "a" * 65_536), "65536 bytes does not fit"),
        (replace(END, data=bytes(PAYLOAD_BYTES_MAX - 43)), "split the data"),
        (c.SetupAppend(1, "no uuid", SEGMENT, ""), "cannot be written"),  # type: ignore[arg-type]
    ],
)
def test_values_that_no_frame_can_hold(command: c.Command, complaint: str) -> None:
    with pytest.raises(BadInputError, match=complaint):
        encode(command)


def test_the_largest_frame() -> None:
    command = replace(END, data=bytes(PAYLOAD_BYTES_MAX - 44))
    frame = encode(command)
    assert len(frame) == PAYLOAD_BYTES_MAX + 8
    assert FrameDecoder().feed(frame) == [command]


# ---- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "java"),
    [
        ("abc", "616263"),
        ("a\0b", "61c08062"),
        ("\U0001f600", "eda0bdedb880"),
        ("日", "e697a5"),
        ("\ud800", "eda080"),
    ],
)
def test_modified_utf_8(text: str, java: str) -> None:
    frame = encode(c.SegmentCreated(1, text))
    assert frame[18:] == bytes.fromhex(java)
    assert FrameDecoder().feed(frame) == [c.SegmentCreated(1, text)]


def test_plain_utf_8_is_read_too() -> None:
    data = "a\0\U0001f600".encode()
    payload = bytes(8) + len(data).to_bytes(2, "big") + data
    assert decode(c.SegmentCreated.code, payload) == c.SegmentCreated(0, "a\0\U0001f600")


def test_text_that_is_no_utf_8() -> None:
    with pytest.raises(ProtocolError, match="not UTF-8"):
        decode(c.SegmentCreated.code, bytes(8) + b"\0\2\xff\xfe")


def test_a_bad_frame_is_not_kept_in_memory() -> None:
    decoder = FrameDecoder()
    gc.disable()
    try:
        with pytest.raises(ProtocolError):
            decoder.feed(b"GET / HTTP/1.1")
        alive = weakref.ref(decoder)
        del decoder
        assert alive() is None
    finally:
        gc.enable()
