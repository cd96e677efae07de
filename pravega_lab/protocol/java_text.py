"""Java's ``DataOutput`` text: a u16 length, then modified UTF-8. The wire and the metadata format use
it.

Modified UTF-8 writes U+0000 as C0 80, and a character above U+FFFF as its two surrogates of three bytes
each. Other clients send plain UTF-8, so both forms are read. Only Java's form is written.
"""

from __future__ import annotations

import re

from pravega_lab.errors import BadInputError, ProtocolError

TEXT_BYTES_MAX = 0xFFFF
_ABOVE_BMP = re.compile("[\U00010000-\U0010ffff]")


def text_to_bytes(text: str) -> bytes:
    """Return the bytes after the length. Raises ``BadInputError`` above 65,535 bytes."""
    data = text.encode() if text.isascii() and "\0" not in text else _modified(text)
    if len(data) > TEXT_BYTES_MAX:
        raise BadInputError(
            f"a text of {len(data)} bytes does not fit its u16 length; the most is {TEXT_BYTES_MAX}"
        )
    return data


def text_from_bytes(data: bytes) -> str:
    """Return the text that Java, Rust or ``text_to_bytes`` wrote. Raises ``ProtocolError``."""
    try:
        if b"\0" not in data and data.isascii():
            return data.decode("ascii")
        text = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ProtocolError(f"a text is not UTF-8, at its byte {error.start}: {data[:40]!r}") from None
    return _pair_surrogates(text)


def _modified(text: str) -> bytes:
    split = _ABOVE_BMP.sub(_surrogates, text)
    return split.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def _surrogates(match: re.Match[str]) -> str:
    above = ord(match.group()) - 0x10000
    return chr(0xD800 + (above >> 10)) + chr(0xDC00 + (above & 0x3FF))


def _pair_surrogates(text: str) -> str:
    """Join surrogate pairs. A single surrogate, which a Java string may hold, stays single."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
