"""Stream cuts: the bytes and text of a real Java client, and every form to itself."""

from __future__ import annotations

import base64
import gzip
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.names import segment_id
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut

# real-pravega.md 4: the cut {1:102, 2.#1:48, 3.#1:36} of jf/x.
JAVA_TEXT = "H4sIAAAAAAAA/zOwykrTr7Ay0jHWMbQy1DHUMbAysdAxNtMxNDACAIvulFAcAAAA"
JAVA_BYTES = bytes.fromhex("000101000000001e00046a662f7803c0000001000000022030c0000001000000032024012066")
CUT = StreamCut("jf/x", {1: 102, segment_id(1, 2): 48, segment_id(1, 3): 36})

segments = st.builds(segment_id, st.integers(0, 2**29), st.integers(0, 2**31 - 1))
offsets = st.integers(-1, 2**61 - 1)
cuts = st.builds(StreamCut, st.sampled_from(["s/a", "jf/x"]), st.dictionaries(segments, offsets, min_size=1))


def test_what_java_wrote() -> None:
    assert StreamCut.from_text(JAVA_TEXT) == CUT
    assert StreamCut.from_bytes(JAVA_BYTES) == CUT
    assert StreamCut.from_bytes(JAVA_BYTES).to_bytes() == JAVA_BYTES


def test_java_can_read_what_we_write() -> None:
    assert gzip.decompress(base64.b64decode(CUT.to_text())) == b"0:jf/x:1,2,3:0,1,1:102,48,36"
    cut = StreamCut("s/a", {1: -1, 0: 100})
    assert gzip.decompress(base64.b64decode(cut.to_text())) == b"0:s/a:0,1:0,0:100,-1"
    derived = "00 01 01 00 00000008 0003 73 2F 61 01 00 0A"
    assert StreamCut("s/a", {0: 10}).to_bytes() == bytes.fromhex(derived)


def test_version_0_has_unsigned_offsets() -> None:
    version_0 = bytes.fromhex("00 00 01 00 00000009 0003 73 2F 61 01 00 4066".replace(" ", ""))
    assert StreamCut.from_bytes(version_0) == StreamCut("s/a", {0: 102})


@given(cuts)
def test_every_form_comes_back(cut: StreamCut) -> None:
    again = StreamCut(cut.scoped_stream, dict(reversed(cut.positions.items())))
    assert (again, hash(again), again.to_text(), again.to_json()) == (
        cut,
        hash(cut),
        cut.to_text(),
        cut.to_json(),
    )
    assert StreamCut.from_text(cut.to_text()) == cut
    assert StreamCut.from_bytes(cut.to_bytes()) == cut
    assert StreamCut.from_json(cut.to_json()) == cut
    assert pickle.loads(pickle.dumps(cut)) == cut


def test_unbounded() -> None:
    assert UNBOUNDED.to_text() == str(UNBOUNDED) == "UNBOUNDED"
    assert UNBOUNDED.to_bytes() == b""
    assert StreamCut.from_text("UNBOUNDED") is StreamCut.from_bytes(b"") is UNBOUNDED
    assert StreamCut.from_json(UNBOUNDED.to_json()) == UNBOUNDED
    assert UNBOUNDED.is_unbounded
    assert not CUT.is_unbounded


def test_shown_with_the_names_of_segments() -> None:
    assert str(CUT) == "jf/x {1.#epoch.0: 102, 2.#epoch.1: 48, 3.#epoch.1: 36}"


def test_json_is_sorted() -> None:
    cut = StreamCut("s/a", {5: 0, 3: -1})
    assert cut.to_json() == '{"positions": {"3": -1, "5": 0}, "scoped_stream": "s/a"}'


def _text_of(inner: str) -> str:
    return base64.b64encode(gzip.compress(inner.encode(), mtime=0)).decode()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not a stream cut"),
        ("not base64", "not a stream cut"),
        ("unbounded", "not a stream cut"),
        (JAVA_TEXT[:-8], "ends early"),
        (base64.b64encode(b"plain").decode(), "not a stream cut"),
        (_text_of("s/a:0:0:0"), "inner text"),
        (_text_of("1:s/a:0:0:0"), "inner text"),
        (_text_of("0:a:0:0:0"), "write scope/stream"),
        (_text_of("0:s/a:0,1:0:0,0"), "not a stream cut"),
        (_text_of("0:s/a:x:0:0"), "invalid literal"),
        (_text_of("0:s/a:0:0:-2"), "-2 is not an offset"),
        (_text_of("0:s/a:0:-1:5"), "must be 0 to"),
        (_text_of("0" * (17 * 1024 * 1024)), "longer than"),
    ],
)
def test_malformed_text(text: str, complaint: str) -> None:
    with pytest.raises(BadInputError, match=complaint):
        StreamCut.from_text(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "7", '{"positions": [], "scoped_stream": "s/a"}', "[" * 100_000),
        '{"positions": {"x": 1}, "scoped_stream": "s/a"}',
        '{"positions": {"1": "1"}, "scoped_stream": "s/a"}',
        '{"positions": {"1": true}, "scoped_stream": "s/a"}',
        '{"positions": {"1": 1}, "scoped_stream": 5}',
        '{"positions": {"-1": 1}, "scoped_stream": "s/a"}',
    ],
)
def test_malformed_json(text: str) -> None:
    with pytest.raises(BadInputError, match="not a stream cut in JSON"):
        StreamCut.from_json(text)


@pytest.mark.parametrize("positions", [{-1: 0}, {2**62: 0}, {0: -2}, {0: 2**61}])
def test_positions_that_no_segment_has(positions: dict[int, int]) -> None:
    with pytest.raises(BadInputError):
        StreamCut("s/a", positions)


@settings(max_examples=300)
@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda tail: JAVA_BYTES[:8] + tail))
def test_any_bytes_give_a_cut_or_one_error(data: bytes) -> None:
    try:
        cut = StreamCut.from_bytes(data)
    except ProtocolError:
        return
    assert StreamCut.from_bytes(cut.to_bytes()) == cut
