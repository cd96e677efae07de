"""Bytes of positions, checkpoints and watermarks: those of a real Pravega 0.13.0, and what is none."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pravega_lab.client.reader_group import Checkpoint, Position
from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.metadata.reader_group import KeyRange
from pravega_lab.protocol.metadata.watermark import Watermark
from pravega_lab.protocol.names import SegmentRange, segment_id, segment_name
from pravega_lab.protocol.stream_cut import StreamCut

POSITION = bytes.fromhex(
    "000002000000001401000f6a662f782f312e2365706f63682e304066"
    "010000002201000f6a662f782f312e2365706f63682e30bff0000000000000bff0000000000000"
)
CHECKPOINT = bytes.fromhex(
    "0000010000000037000863702d74687265650100046a662f78000101000000001e"
    "00046a662f7803c0000001000000022030c0000001000000032024012066"
)
MARK = bytes.fromhex(
    "000001000000003900000000000007d000000000000007d001"
    "0000010000000018000000000000000000000000000000003ff00000000000000000000000000014"
)
OFFSETS = st.integers(-1, 2**62 - 3)
SEGMENTS = st.builds(segment_id, st.integers(0, 2**20), st.integers(0, 2**31 - 1))


def test_a_position_of_java() -> None:
    found = Position.from_bytes(POSITION)
    assert found == Position({"jf/x/1.#epoch.0": 102})
    assert found.ranges == {}
    assert found.to_bytes() == POSITION


def test_a_checkpoint_of_java() -> None:
    cut = StreamCut("jf/x", {segment_id(0, 1): 102, segment_id(1, 2): 48, segment_id(1, 3): 36})
    found = Checkpoint.from_bytes(CHECKPOINT)
    assert found == Checkpoint("cp-three", {"jf/x": cut})
    assert found.to_bytes() == CHECKPOINT


def test_a_watermark_of_java() -> None:
    found = Watermark.from_bytes(MARK)
    assert found == Watermark(2000, 2000, {SegmentRange(0, 0.0, 1.0): 20})
    assert found.to_bytes() == MARK


@given(st.dictionaries(SEGMENTS, OFFSETS, max_size=5), st.booleans())
def test_positions_come_back(offsets: dict[int, int], known: bool) -> None:
    segments = {segment_name("s", "x", segment): offset for segment, offset in offsets.items()}
    ranges = dict.fromkeys(segments, KeyRange(0.25, 0.5)) if known else {}
    found = Position.from_bytes(Position(segments, ranges).to_bytes())
    assert (found.segments, found.ranges) == (segments, ranges)


@given(st.text(max_size=5), st.dictionaries(SEGMENTS, st.integers(-1, 2**60), min_size=1, max_size=5))
def test_checkpoints_come_back(name: str, offsets: dict[int, int]) -> None:
    made = Checkpoint(name, {"s/x": StreamCut("s/x", offsets), "s/y": StreamCut("s/y", {0: 5})})
    assert Checkpoint.from_bytes(made.to_bytes()) == made


@pytest.mark.parametrize("kind", [Position, Checkpoint, Watermark])
@given(st.binary(max_size=80))
def test_other_bytes_are_a_protocol_error(kind: type[Position | Checkpoint | Watermark], data: bytes) -> None:
    for candidate in (data, b"\0\0\1\0\0\0\0" + bytes([len(data)]) + data):
        with contextlib.suppress(ProtocolError):
            kind.from_bytes(candidate)


@pytest.mark.parametrize(
    ("kind", "good"), [(Position, POSITION), (Checkpoint, CHECKPOINT), (Watermark, MARK)]
)
def test_bytes_cut_short(kind: type[Position | Checkpoint | Watermark], good: bytes) -> None:
    for length in range(len(good)):
        with pytest.raises(ProtocolError):
            kind.from_bytes(good[:length])
