"""Blocks to batches: cut anywhere, the same events with the same offsets."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.client.framing import decode, pure_python
from pravega_lab.client.framing.decode import EventDecoder
from pravega_lab.client.framing.event_batch import batch_schema, cut_off
from pravega_lab.errors import ProtocolError

PAYLOADS = [b"", b"a", b"bb" * 50, b"", b"c" * 3000, b"d" * 7] * 4


def decoded(data: bytes, cuts: list[int], begin: int = 0) -> tuple[list[bytes], list[int], EventDecoder]:
    decoder = EventDecoder(7, begin)
    events: list[bytes] = []
    offsets: list[int] = []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        batch = decoder.decode(memoryview(data)[start:end])
        if batch is not None:
            assert batch.schema == batch_schema()
            assert set(batch.column("segment_id").to_pylist()) == {7}
            events += batch.column("event").to_pylist()
            offsets += batch.column("offset").to_pylist()
    return events, offsets, decoder


def offsets_of(payloads: list[bytes], begin: int) -> list[int]:
    found = []
    for payload in payloads:
        found.append(begin)
        begin += 8 + len(payload)
    return found


@pytest.mark.parametrize("few_bytes", [0, 1 << 30], ids=["compiled", "plain"])
@settings(max_examples=60)
@given(cuts=st.lists(st.integers(0, sum(8 + len(p) for p in PAYLOADS)), max_size=12))
def test_any_cut_gives_the_same_events(few_bytes: int, cuts: list[int]) -> None:
    data = b"".join(map(pure_python.frame, PAYLOADS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "FEW_BYTES", few_bytes)
        events, offsets, decoder = decoded(data, sorted(cuts), begin=1000)
    assert events == PAYLOADS
    assert offsets == offsets_of(PAYLOADS, 1000)
    assert decoder.position == 1000 + len(data)


def test_byte_by_byte() -> None:
    data = b"".join(map(pure_python.frame, PAYLOADS[:4]))
    events, offsets, _ = decoded(data, list(range(1, len(data))))
    assert events == PAYLOADS[:4]
    assert offsets == offsets_of(PAYLOADS[:4], 0)


def test_the_position_stays_before_an_event_that_is_not_whole() -> None:
    decoder = EventDecoder(7, 50)
    assert decoder.decode(memoryview(pure_python.frame(b"abc")[:-1])) is None
    assert decoder.position == 50
    batch = decoder.decode(memoryview(b"c"))
    assert batch is not None
    assert batch.column("event").to_pylist() == [b"abc"]
    assert decoder.position == 61


@pytest.mark.parametrize("good", [0, 3, 600])
def test_bytes_that_begin_no_event_are_named(good: int) -> None:
    data = pure_python.frame(b"x") * good + b"\1\2\3\4" * 3
    with pytest.raises(ProtocolError, match=f"segment 7.*offset 100.*byte {9 * good}"):
        EventDecoder(7, 100).decode(memoryview(data))


def test_a_carried_header_that_is_none_is_named_with_its_offset() -> None:
    decoder = EventDecoder(7, 100)
    assert decoder.decode(memoryview(b"\1\2\3")) is None
    with pytest.raises(ProtocolError, match="segment 7, offset 100"):
        decoder.decode(memoryview(b"\1" * 20))


def test_a_batch_is_cut_between_events_and_never_empty() -> None:
    batch = EventDecoder(7, 0).decode(
        memoryview(b"".join(map(pure_python.frame, [b"aa", b"bbb", b"", b"c" * 9])))
    )
    assert batch is not None
    parts = []
    rest = batch
    while rest is not None:
        part, rest = cut_off(rest, 5)
        parts.append(part.column("event").to_pylist())
    assert parts == [[b"aa", b"bbb", b""], [b"c" * 9]]


def test_reading_does_not_wait_for_pandas() -> None:
    code = """
import struct, sys
from pravega_lab.client.framing.decode import EventDecoder
few = struct.pack(">ii5s", 0, 5, b"hello")
for block in (few, few * 1000):
    assert EventDecoder(7, 0).decode(memoryview(block)).num_rows == len(block) // len(few)
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
