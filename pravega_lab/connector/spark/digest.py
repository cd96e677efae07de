"""An order-independent fingerprint of events and their routing keys.

A repeated batch has the same rows, but a shuffle may bring them in another order (reference/spark.md 4). The
digest is the sum of a hash per row, so it tells other rows, not another order. It guards against surprises,
not against malice.
"""

from __future__ import annotations

from typing import Any

_EVENT_SALT, _KEY_SALT = "pravega-lab/even", "pravega-lab/keys"
_MIX = 0x9E3779B97F4A7C15
_NO_KEY = 0x51ED270B35AE2A5D
MODULUS = 2**64


def digest_of(events: Any, keys: Any | None) -> int:
    """Sum over the rows of an Arrow array of binary events and one of text keys (or ``None``), modulo
    2**64.
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
    """The digest of two sets of rows together."""
    return (one + other) % MODULUS


def _hashes(values: Any, salt: str) -> Any:
    from pandas.util import hash_array

    return hash_array(values.to_numpy(zero_copy_only=False), hash_key=salt, categorize=False)


def _is_null(values: Any) -> Any:
    return values.is_null().to_numpy(zero_copy_only=False)
