"""How many segments a stream or a key-value table may have: each costs time in every call that lists or
replaces them all, and other clients wait for it.
"""

from __future__ import annotations

from .replies import RpcError

STREAM_SEGMENTS_MAX = 1000
"""Segments of a stream, or partitions of a key-value table, by default."""


def refuse_many_segments(what: str, count: int, count_max: int) -> None:
    """Raise RpcError if ``what`` is to have more than ``count_max`` segments."""
    if count > count_max:
        raise RpcError(
            "INVALID_ARGUMENT",
            f"{what} asks for {count} segments; the store allows {count_max} in a stream or table"
            " (--max-stream-segments). Ask for fewer, or use several.",
        )
