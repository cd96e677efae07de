"""The codecs of a registry that Java's serializers know: none, gzip and Snappy (schema-registry.md A3)."""

from __future__ import annotations

import gzip
import zlib

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.registry.names import GZIP, NO_CODEC, SNAPPY

DECODED_BYTES_MAX = 64 << 20
"""A body that would become larger is refused: few bytes may stand for many."""
KNOWN = (NO_CODEC, GZIP, SNAPPY)


def encode(codec: str, body: bytes) -> bytes:
    """Return a body under a codec. Raises `BadInputError` for a codec that is not in `KNOWN`."""
    if codec == NO_CODEC:
        return body
    if codec == GZIP:
        return gzip.compress(body, mtime=0)
    check(codec)
    import pyarrow

    return bytes(pyarrow.compress(body, codec="snappy", asbytes=True))


def decode(codec: str, body: bytes) -> bytes:
    """Return the body that a codec encoded. Zeros may follow it: Java encodes whole buffers.

    Raises:
        BadInputError: The codec is not in `KNOWN`, the body is not of it, or would become too large.
    """
    if codec == NO_CODEC:
        return body
    if codec == GZIP:
        return _inflated(body)
    check(codec)
    import pyarrow

    length = _snappy_length(body)
    try:
        return bytes(pyarrow.decompress(body, length, codec="snappy", asbytes=True))
    except (OSError, pyarrow.ArrowException) as error:
        raise BadInputError(f"a body of {len(body)} bytes is not of the codec {codec}: {error}") from None


def check(codec: str) -> None:
    """Raise `BadInputError` for a codec that is not in `KNOWN`."""
    if codec not in KNOWN:
        raise BadInputError(f"the codec {codec!r} is not known here; there are {GZIP!r} and {SNAPPY!r}")


def _inflated(body: bytes) -> bytes:
    inflater = zlib.decompressobj(wbits=31)
    try:
        found = inflater.decompress(body, DECODED_BYTES_MAX)
    except zlib.error as error:
        raise BadInputError(f"a body of {len(body)} bytes is not of the codec {GZIP}: {error}") from None
    if inflater.unconsumed_tail:
        raise _too_large(GZIP)
    if not inflater.eof:
        raise BadInputError(f"a body of {len(body)} bytes under the codec {GZIP} ends too early")
    return found


def _snappy_length(body: bytes) -> int:
    """Return the length that a Snappy block begins with, as a variable-length integer."""
    length = 0
    for number, byte in enumerate(body[:5]):
        length |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:
            if length > DECODED_BYTES_MAX:
                raise _too_large(SNAPPY)
            return length
    raise BadInputError(f"a body of {len(body)} bytes is not of the codec {SNAPPY}")


def _too_large(codec: str) -> BadInputError:
    return BadInputError(f"a body under the codec {codec} stands for more than {DECODED_BYTES_MAX} bytes")
