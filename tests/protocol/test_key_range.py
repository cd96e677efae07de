"""The bounds of keys in requests for pages of a table."""

from __future__ import annotations

import pytest

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.wire.key_range import decode_range, encode_range


@pytest.mark.parametrize("bounds", [(b"", b""), (b"low", b"high"), (b"", b"h"), (b"l", b"")])
def test_bounds_are_read_as_they_were_written(bounds: tuple[bytes, bytes]) -> None:
    assert decode_range(encode_range(*bounds)) == bounds


def test_bounds_are_written_as_java_writes_them() -> None:
    assert encode_range(b"aa", b"b") == bytes.fromhex("00000000 00000002 6161 00000001 62")


def test_rust_sends_no_bounds() -> None:
    assert decode_range(b"") == (b"", b"")


@pytest.mark.parametrize("field", [b"\0\0\0\x05ab", b"\xff\xff\xff\xff", encode_range(b"aa", b"b")[:-1]])
def test_a_length_that_does_not_fit_is_refused(field: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_range(field)
