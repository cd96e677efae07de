"""What a real server and its clients sent decodes, and encodes back to the same bytes."""

from __future__ import annotations

from uuid import UUID

from pravega_lab.protocol.wire.codec import HEADER, decode, encode
from pravega_lab.protocol.wire.commands import AppendBlock, AppendBlockEnd
from pravega_lab.protocol.wire.frames import FrameDecoder, join_append_block
from tests.protocol.golden import Frame, frames

FRAMES = frames()
REFUSED = {"99", "-3"}  # sent on purpose: a type that nobody knows, and an administrator's


def _known(*, is_cut: bool) -> list[Frame]:
    return [frame for frame in FRAMES if frame.is_cut == is_cut and frame.command not in REFUSED]


def test_the_file_was_read_whole() -> None:
    assert len(_known(is_cut=False)) == 1233
    assert len(_known(is_cut=True)) == 19
    assert {frame.command for frame in FRAMES} >= REFUSED


def test_each_whole_frame_decodes_and_encodes_back() -> None:
    for frame in _known(is_cut=False):
        decoder = FrameDecoder()
        (command,) = decoder.feed(frame.data)
        assert decoder.buffered_bytes == 0
        assert type(command).__name__ == frame.command, frame
        assert encode(command) == frame.data, frame


def test_each_cut_frame_is_waited_for_and_its_beginning_encodes_back() -> None:
    for frame in _known(is_cut=True):
        decoder = FrameDecoder()
        assert decoder.feed(frame.data) == []
        assert decoder.buffered_bytes == len(frame.data)
        code, length = HEADER.unpack_from(frame.data)
        command = decode(code, frame.data[8:].ljust(length, b"\0"))
        assert type(command).__name__ == frame.command, frame
        # Whole fields only: where the file cuts a table entry, the zeros make it an empty one.
        assert encode(command)[8 : len(frame.data) - 16] == frame.data[8:-16], frame


def test_a_whole_connection_decodes_at_any_cut() -> None:
    data = b"".join(frame.data for frame in _known(is_cut=False))
    decoder = FrameDecoder()
    found = [command for at in range(0, len(data), 7) for command in decoder.feed(data[at : at + 7])]
    assert b"".join(map(encode, found)) == data


def test_recorded_blocks_join_to_whole_events() -> None:
    blocks: dict[tuple[str, UUID], AppendBlock] = {}
    joined = 0
    for frame in _known(is_cut=False):
        (command,) = FrameDecoder().feed(frame.data)
        if isinstance(command, AppendBlock):
            blocks[frame.name, command.writer_id] = command
        elif isinstance(command, AppendBlockEnd) and (frame.name, command.writer_id) in blocks:
            data = join_append_block(blocks.pop((frame.name, command.writer_id)), command)
            joined += 1
            # Java was seen to count an event more than it sends, and to send a block of none.
            assert 0 <= command.num_events - _event_count(data) <= 1, frame
    assert joined == 58


def _event_count(data: bytes) -> int:
    at = count = 0
    while at < len(data):
        kind, length = HEADER.unpack_from(data, at)
        assert kind == 0
        at += 8 + length
        count += 1
    assert at == len(data)
    return count
