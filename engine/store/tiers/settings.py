"""The limits of tier 2, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass

CHUNK_BYTES_MIN, CHUNK_BYTES_MAX = 4 << 10, 32 << 20
"""Larger chunks would be uploaded in parts, and S3 keeps the parts of an upload that was given up."""


@dataclass(frozen=True, slots=True)
class TierSettings:
    """When segments move to tier 2.

    Args:
        chunk_bytes: Bytes of a chunk at most.
        after_ms: Bytes move after this time at the latest, also from a log file that is not full.
        backlog_bytes: Appends wait while more bytes than this are in the log. Bytes move at once from half of
            it on, and appends resume at three quarters.
        cache_bytes: Bytes of tier 2 that are kept in memory for reads.
        sweep_ms: Time between two searches for objects in tier 2 that belong to no segment.
    """

    chunk_bytes: int = 16 << 20
    after_ms: int = 60_000
    backlog_bytes: int = 1 << 30
    cache_bytes: int = 64 << 20
    sweep_ms: int = 600_000
