"""A fingerprint of events and their routing keys that does not depend on their order.

A repeated batch has the same rows, but a shuffle may deliver them in another order (spark.md 4). The digest
is the sum of one hash per row, so it detects other rows and ignores another order. It guards against
mistakes, not against malice.
"""

from __future__ import annotations

from typing import Any

_EVENT_SALT, _KEY_SALT = "pravega-lab/even", "pravega-lab/keys"
_MIX = 0x9E3779B97F4A7C15
_NO_KEY = 0x51ED270B35AE2A5D
MODULUS = 2**64


def digest_of(events: Any, keys: Any | None) -> int:
    """Return the digest of some rows: the sum of their hashes modulo 2**64.

    Args:
        events: An Arrow array of binary.
        keys: An Arrow array of text of the same length, or ``None`` if the rows have no keys.
    """
    import numpy as np

    if len(events) == 0:
        return 0
    hashes = _hashes(events, _EVENT_SALT) * np.uint64(_MIX)
    if keys is not None:
        hashes ^= np.where(_is_null(keys), np.uint64(_NO_KEY), _hashes(keys.fill_null(""), _KEY_SALT))
        hashes *= np.uint64(_MIX)
    return int(hashes.sum(dtype=np.uint64))


def add(one: int, other: int) -> int:
    """Return the digest of the union of two sets of rows."""
    return (one + other) % MODULUS


def _hashes(values: Any, salt: str) -> Any:
    from pandas.util import hash_array

    return hash_array(values.to_numpy(zero_copy_only=False), hash_key=salt, categorize=False)


def _is_null(values: Any) -> Any:
    return values.is_null().to_numpy(zero_copy_only=False)
