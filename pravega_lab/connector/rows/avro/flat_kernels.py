"""The loops over the bytes of records without nesting: column after column, over a block of events at a time.

No event waits for the one before it, so the processor works on several of them at once, and the branches that
a column takes are nearly the same in all events. `kernels.decode_rows` decodes these records too, one event
after another, and says which one is damaged and why.

A step is a row (operation, slot, b, slot of nulls, index of null in its union). The slots are those of
`operations`; -1 is a value that no column wants. The last two are -1 where the value is in no union.
"""

from __future__ import annotations

from typing import Any

from pravega_lab.connector.rows.avro.kernels import _read_little, _read_long, _refused
from pravega_lab.connector.rows.avro.operations import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    FIXED,
    FLOAT,
    SKIP_BYTES,
    SKIP_FIXED,
)  # fmt: skip

BLOCK_ROWS = 1024  # their positions, and the bytes that they share, stay in the processor's caches
SCRATCH_ROWS = 5


def _read_branches(data: Any, at: Any, ends: Any, null: int, absent: Any) -> bool:
    """Read the index of a branch of every event, and set ``absent`` to 1 where it is that of null."""
    for i in range(len(ends)):
        branch, at[i], reason = _read_long(data, int(at[i]), int(ends[i]))
        if reason or branch < 0 or branch > 1:
            return False
        absent[i] = 1 if branch == null else 0
    return True


def _read_numbers(data: Any, at: Any, ends: Any, absent: Any, op: int, b: int, values: Any) -> bool:
    """Read an integer of variable length of every event."""
    for i in range(len(ends)):
        value = 0
        if not absent[i]:
            value, at[i], reason = _read_long(data, int(at[i]), int(ends[i]))
            if reason or _refused(op, value, b, 0):
                return False
        values[i] = value
    return True


def _read_texts(data: Any, at: Any, ends: Any, absent: Any, starts: Any, lengths: Any) -> bool:
    """Read a length of every event, and find where the bytes after it begin."""
    for i in range(len(ends)):
        size, start = 0, 0
        if not absent[i]:
            size, start, reason = _read_long(data, int(at[i]), int(ends[i]))
            if reason or size < 0 or size > int(ends[i]) - start:
                return False
            at[i] = start + size
        starts[i] = start
        lengths[i] = size
    return True


def _read_fixed(
    data: Any, at: Any, ends: Any, absent: Any, op: int, size: int, values: Any, lengths: Any
) -> bool:
    """Read ``size`` bytes of every event: as a number, or where they begin and how many they are."""
    for i in range(len(ends)):
        if absent[i]:
            values[i] = 0
            lengths[i] = 0
            continue
        start = int(at[i])
        if size > int(ends[i]) - start:
            return False
        at[i] = start + size
        if op == DOUBLE:
            values[i] = _read_little(data, start, 8)
        elif op == FLOAT:
            values[i] = _read_little(data, start, 4)
        elif op == BOOLEAN:
            if data[start] > 1:
                return False
            values[i] = data[start]
        else:
            values[i] = start
            lengths[i] = size
    return True


def decode_columns(
    data: Any, starts: Any, ends: Any, steps: Any, out: Any, scratch: Any, may_be_followed: bool
) -> bool:
    """Decode event ``data[starts[i]:ends[i]]`` for every ``i`` into ``out``, which has a row for each slot.

    Args:
        scratch: `SCRATCH_ROWS` rows of `BLOCK_ROWS` numbers. The first one is of zeros, and stays so.

    Returns:
        Whether every event is one datum. Otherwise what is in ``out`` has no meaning.
    """
    for first in range(0, len(starts), BLOCK_ROWS):
        count = min(BLOCK_ROWS, len(starts) - first)
        last = first + count
        at, till = scratch[1, :count], ends[first:last]
        for i in range(count):
            at[i] = starts[first + i]
        for step in range(len(steps)):
            op, a, b = steps[step, 0], steps[step, 1], steps[step, 2]
            null, branch = steps[step, 3], steps[step, 4]
            absent, values, more = scratch[0, :count], scratch[2, :count], scratch[3, :count]
            if branch >= 0:
                absent = out[null, first:last] if null >= 0 else scratch[4, :count]
                if not _read_branches(data, at, till, branch, absent):
                    return False
            if a >= 0:
                values = out[a, first:last]
            if a >= 0 and (op == BYTES or op == FIXED):  # noqa: SIM109 - numba compiles this to a comparison
                more = out[a + 1, first:last]
            if op == BYTES or op == SKIP_BYTES:  # noqa: SIM109
                is_good = _read_texts(data, at, till, absent, values, more)
            elif op == BOOLEAN or op == FLOAT or op == DOUBLE or op == FIXED or op == SKIP_FIXED:  # noqa: SIM109
                is_good = _read_fixed(data, at, till, absent, op, b, values, more)
            else:
                is_good = _read_numbers(data, at, till, absent, op, b, values)
            if not is_good:
                return False
        if not may_be_followed:
            for i in range(count):
                if at[i] != till[i]:
                    return False
    return True
