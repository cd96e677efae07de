"""Rolling sums of a whole batch, equal to what the loop of `operators.AggregateOperator` emits for each
record.

They exist for integers only, and only while int64 is exact. The loop over records processes everything else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
EXACT_MAX = 2**62
RADIX_MAX = 2**16  # numpy sorts 16 bits in linear time


def integers(column: pa.Array) -> Ints | None:
    """Return the column as int64, or None if it has nulls or other values than integers of 63 bits."""
    kind = column.type
    if not pa.types.is_integer(kind) or pa.types.is_uint64(kind) or column.null_count:
        return None
    return np.asarray(column.to_numpy(), dtype=np.int64)


def is_exact_key(kind: pa.DataType) -> bool:
    """Return whether values of this Arrow type are equal exactly where Python values are. (0.0 and -0.0 are
    not.)
    """
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    return bool(texts or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def rolling_sums(
    codes: Ints, increments: Ints, before: Sequence[object]
) -> tuple[Ints, list[int], list[int]] | None:
    """Return the sums per key as they grow from record to record.

    Args:
        codes: For each record, the index of its key. Each index of ``before`` occurs.
        increments: What each record adds.
        before: For each key, the sum before the batch.

    Returns:
        The sum after each record, in order of the records; for each key, the sum after the batch; and for
            each key,
        the number of its records. None if a sum in ``before`` is not an int, or a result might not fit into
            63 bits.
    """
    if set(map(type, before)) != {int}:
        return None
    sums: list[int] = list(before)  # type: ignore[arg-type]
    step_max = max(int(increments.max()), -int(increments.min()))
    if max(max(sums), -min(sums)) + step_max * len(codes) > EXACT_MAX:
        return None
    begin = np.array(sums, dtype=np.int64)
    order = np.argsort(codes.astype(np.uint16) if len(sums) <= RADIX_MAX else codes, kind="stable")
    counts = np.bincount(codes, minlength=len(sums))
    running = np.cumsum(increments[order])
    at_end = running[np.cumsum(counts) - 1]
    behind = np.concatenate([[0], at_end[:-1]])  # what the keys before each have added
    results = np.empty(len(codes), dtype=np.int64)
    results[order] = running + np.repeat(begin - behind, counts)
    return results, (begin + at_end - behind).tolist(), counts.tolist()
