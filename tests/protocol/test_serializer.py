"""Java's compact numbers and envelopes (pravega.md A14)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol import serializer as s
from tests.protocol.golden import state_events

CHECKPOINT = (  # real-pravega.md 4, "cp-three"
    "0000010000000037000863702d74687265650100046a662f78000101000000001e00046a662f7803c0000001000000022030c000"
    "0001000000032024012066"
)
POSITION = (
    "000002000000001401000f6a662f782f312e2365706f63682e304066010000002201000f6a662f782f312e2365706f63682e30bf"
    "f0000000000000bff0000000000000"
)


@pytest.mark.parametrize(
    ("form", "value", "hexadecimal"),
    [
        (s.COMPACT_INT, 0, "00"),
        (s.COMPACT_INT, 0x7F, "7f"),
        (s.COMPACT_INT, 0x80, "8080"),
        (s.COMPACT_INT, 0x3FFF, "bfff"),
        (s.COMPACT_INT, 0x4000, "c0004000"),
        (s.COMPACT_INT, 2**30 - 1, "ffffffff"),
        (s.COMPACT_LONG, 0x3F, "3f"),
        (s.COMPACT_LONG, 0x40, "4040"),
        (s.COMPACT_LONG, 0x3FFF, "7fff"),
        (s.COMPACT_LONG, 0x4000, "80004000"),
        (s.COMPACT_LONG, 0x3FFFFFFF, "bfffffff"),
        (s.COMPACT_LONG, 0x40000000, "c000000040000000"),
        (s.COMPACT_LONG, 2**62 - 1, "ffffffffffffffff"),
        (s.COMPACT_SIGNED, 0, "00"),
        (s.COMPACT_SIGNED, 0x1F, "1f"),
        (s.COMPACT_SIGNED, -1, "80"),
        (s.COMPACT_SIGNED, -0x20, "9f"),
        (s.COMPACT_SIGNED, 0x20, "2020"),
        (s.COMPACT_SIGNED, -0x21, "a020"),
        (s.COMPACT_SIGNED, 0x1FFF, "3fff"),
        (s.COMPACT_SIGNED, 0x2000, "40002000"),
        (s.COMPACT_SIGNED, -0x2001, "c0002000"),
        (s.COMPACT_SIGNED, 0x1FFFFFFF, "5fffffff"),
        (s.COMPACT_SIGNED, 0x20000000, "6000000020000000"),
        (s.COMPACT_SIGNED, -(2**61), "ffffffffffffffff"),
    ],
)
def test_compact_numbers(form: s.Format[int], value: int, hexadecimal: str) -> None:
    assert form.write(value).hex() == hexadecimal
    assert form.read(s.Input(bytes.fromhex(hexadecimal))) == value


@given(st.integers(0, 2**30 - 1), st.integers(0, 2**62 - 1), st.integers(-(2**61), 2**61 - 1))
def test_compact_numbers_come_back(small: int, large: int, signed: int) -> None:
    data = s.COMPACT_INT.write(small) + s.COMPACT_LONG.write(large) + s.COMPACT_SIGNED.write(signed)
    source = s.Input(data)
    assert s.COMPACT_INT.read(source) == small
    assert s.COMPACT_LONG.read(source) == large
    assert s.COMPACT_SIGNED.read(source) == signed
    assert source.left == 0


@pytest.mark.parametrize(
    ("form", "value"),
    [
        *((s.COMPACT_INT, -1), (s.COMPACT_INT, 2**30), (s.COMPACT_LONG, -1), (s.COMPACT_LONG, 2**62)),
        *((s.COMPACT_SIGNED, 2**61), (s.COMPACT_SIGNED, -(2**61) - 1)),
    ],
)
def test_numbers_without_a_compact_form(form: s.Format[int], value: int) -> None:
    with pytest.raises(BadInputError, match="no compact form"):
        form.write(value)


COLLECTIONS: list[tuple[s.Format[Any], Any, str]] = [
    (s.list_of(s.UTF), ("a", "\0"), "02 0001 61 0002 c080"),
    (s.map_of(s.UTF, s.I64), {"b": 1, "a": -1}, "02 0001 62 0000000000000001 0001 61 ffffffffffffffff"),
    (s.array_of(bytes, bytes), b"xyz", "03 78797a"),
]


@pytest.mark.parametrize(("form", "value", "hexadecimal"), COLLECTIONS)
def test_collections(form: s.Format[Any], value: Any, hexadecimal: str) -> None:
    assert form.write(value) == bytes.fromhex(hexadecimal)
    assert form.read(s.Input(bytes.fromhex(hexadecimal))) == value


def test_a_count_without_its_bytes_is_refused() -> None:
    with pytest.raises(ProtocolError, match="1073741823 items are claimed"):
        s.list_of(s.U8).read(s.Input(bytes.fromhex("ffffffff")))


@pytest.mark.parametrize("recorded", [CHECKPOINT, POSITION, *map(bytes.hex, state_events("_MARK"))])
def test_recorded_envelopes(recorded: str) -> None:
    data = bytes.fromhex(recorded)
    envelope = s.Envelope.from_bytes(data)
    assert envelope.to_bytes() == data
    assert envelope.trailing == b""


def test_trailing_bytes_are_kept() -> None:
    data = bytes.fromhex(CHECKPOINT) + bytes(300)
    assert s.Envelope.from_bytes(data).trailing == bytes(300)
    assert s.Envelope.from_bytes(data).to_bytes() == data


@given(st.binary(max_size=40))
def test_any_bytes_give_an_envelope_or_one_error(data: bytes) -> None:
    try:
        envelope = s.Envelope.from_bytes(data)
    except ProtocolError:
        return
    assert envelope.to_bytes() == data
