"""The header of an encoded event: one byte of version and the encoding id (schema-registry.md A3)."""

from __future__ import annotations

from pravega_lab.errors import BadInputError

PROTOCOL = 1
HEADER_BYTES = 5


def encode_header(encoding_id: int) -> bytes:
    """Return the 5 bytes before the body of an event: version 1, and the id as 4 bytes, big-endian."""
    return bytes((PROTOCOL,)) + encoding_id.to_bytes(4, "big", signed=True)


def encoding_id_of(event: bytes) -> int:
    """Return the encoding id of an event.

    Raises:
        BadInputError: The event is shorter than a header, or begins with another version.
    """
    if len(event) < HEADER_BYTES or event[0] != PROTOCOL:
        raise BadInputError(
            f"an event of {len(event)} bytes that begins with {event[:8].hex() or 'nothing'} has no header of"
            " a schema registry (01 and 4 bytes). Was it written without one?"
        )
    return int.from_bytes(event[1:HEADER_BYTES], "big", signed=True)
