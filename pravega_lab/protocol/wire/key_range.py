"""What Java sends after the token of ReadTableKeys and ReadTableEntries: the bounds of the keys.

It is a prefix, which is no longer used and always empty, then the lowest and the highest key. Each is an
``i32`` length and so many bytes. A bound of 0 bytes is no bound.

Source: pravega.md D2.
"""

from __future__ import annotations

from pravega_lab.errors import ProtocolError

_PARTS = 3


def encode_range(low: bytes = b"", high: bytes = b"") -> bytes:
    """Return the field for keys from ``low`` to ``high``, both included. Empty: no bound."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in (b"", low, high))


def decode_range(field: bytes) -> tuple[bytes, bytes]:
    """Return the lowest and the highest key, empty where there is no bound. Rust sends an empty field.

    Raises:
        ProtocolError: A length does not fit.
    """
    parts: list[bytes] = []
    at = 0
    while at < len(field) and len(parts) < _PARTS:
        length = int.from_bytes(field[at : at + 4], "big", signed=True)
        at += 4
        if not 0 <= length <= len(field) - at:
            raise ProtocolError(f"a bound of keys claims {length} bytes; {len(field) - at} are left")
        parts.append(field[at : at + length])
        at += length
    parts += [b""] * (_PARTS - len(parts))
    return parts[1], parts[2]
