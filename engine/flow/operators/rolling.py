"""Rolling sums of a whole batch, equal to what the loop of `operators.AggregateOperator` emits for each
record.

They exist for integers only, and only while int64 is exact. The loop over records processes everything else.
"""

from __future__ import annotations

from pravega_lab.portable.columns import np, npt, pa

Ints = npt.NDArray[np.int64]
EXACT_MAX = 2**62
RADIX_MAX = 2**16  # numpy sorts 16 bits in linear time


def integers(column: pa.Array) -> Ints | None:
    """Return the column as int64, or None if it has nulls or other values than integers of 63 bits."""
    kind = column.type
    if not pa.types.is_integer(kind) or pa.types.is_uint64(kind) or column.null_count:
        return None
    return np.asarray(column.to_numpy(), dtype=np.int64)


def rolling_sums(codes: Ints, increments: Ints, before: Ints) -> tuple[Ints, Ints, Ints] | None:
    """Return the sums per key as they grow from record to record.

    Args:
        codes: For each record, the index of its key. Each index of ``before`` occurs.
        increments: What each record adds.
        before: For each key, the sum before the batch.

    Returns:
        The sum after each record, in order of the records. For each key, the sum after the batch, and the
        number of its records. None if a sum might not fit into 63 bits.
    """
    step_max = max(int(increments.max()), -int(increments.min()))
    if max(int(before.max()), -int(before.min())) + step_max * len(codes) > EXACT_MAX:
        return None
    order = np.argsort(codes.astype(np.uint16) if len(before) <= RADIX_MAX else codes, kind="stable")
    counts = np.bincount(codes, minlength=len(before))
    running = np.cumsum(increments[order])
    at_end = running[np.cumsum(counts) - 1]
    behind = np.concatenate([[0], at_end[:-1]])  # what the keys before each have added
    results = np.empty(len(codes), dtype=np.int64)
    results[order] = running + np.repeat(before - behind, counts)
    return results, before + at_end - behind, counts
