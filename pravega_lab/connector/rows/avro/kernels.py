"""The loops over Avro's bytes: the instructions of a program, run over every event or row of a batch.

`loops` compiles them by numba, and they also run as they are, much more slowly. They are written so that
both give the same results: no integer leaves the range of an int64. Functions that begin with an underscore
serve the others.
"""

from __future__ import annotations

from typing import Any

from pravega_lab.connector.rows.avro.operations import (
    ARRAY,
    BOOLEAN,
    BRANCH,
    BYTES,
    DOUBLE,
    END,
    ENDS,
    ENUM,
    FAIL,
    FIXED,
    FLOAT,
    FOLLOWED,
    JUMP,
    LITERAL,
    LONG,
    LOOP,
    NEGATIVE,
    NOT_BOOLEAN,
    NULL,
    NULLABLE,
    SKIP_BYTES,
    SKIP_FIXED,
    SYMBOL,
    TOO_LONG,
    TOO_MANY,
    UNION,
)  # fmt: skip

WIDE = 16  # bytes that a processor copies at once


def _read_long(data: Any, at: int, end: int) -> tuple[int, int, int]:
    """Return a variable-length zig-zag integer, where it ends, and 0 or a reason."""
    found, shift = 0, 0
    while True:
        if at >= end:
            return 0, at, ENDS
        byte = int(data[at])
        at += 1
        if shift == 63:
            if byte > 1:
                return 0, at, TOO_LONG
            half = (found >> 1) | (byte << 62)
            return half ^ -(found & 1), at, 0
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at, 0
        shift += 7


def _read_little(data: Any, at: int, size: int) -> int:
    """Return ``size`` bytes, lowest first, as a signed integer if there are eight of them."""
    found = 0
    for i in range(min(size, 7)):
        found |= int(data[at + i]) << (8 * i)
    if size == 8:
        high = int(data[at + 7])
        found |= (high - 256 if high > 127 else high) << 56
    return found


def _refused(op: int, value: int, b: int, rest: int) -> int:
    """Return the reason why an instruction cannot continue with the integer that it has read, or 0."""
    if op == LONG:
        return TOO_LONG if b < 64 and not -(1 << (b - 1)) <= value < 1 << (b - 1) else 0
    if op == BYTES or op == SKIP_BYTES:  # noqa: SIM109 - numba compiles this to a comparison
        if value < 0:
            return NEGATIVE
        return ENDS if value > rest else 0
    if op == ENUM:
        return 0 if 0 <= value < b else SYMBOL
    if op == UNION:
        return 0 if 0 <= value < b else BRANCH
    return 0


def _decode_datum(
    data: Any,
    at: int,
    end: int,
    program: Any,
    out: Any,
    base: Any,
    counts: Any,
    left: Any,
    is_writing: bool,
) -> tuple[int, int]:
    """Decode one event and return where its datum ends, and 0 or a reason."""
    pc = 0
    while True:
        op, a, b, level = program[pc, 0], program[pc, 1], program[pc, 2], program[pc, 3]
        pc += 1
        value = 0
        if op <= SKIP_BYTES:
            value, at, reason = _read_long(data, at, end)
            if not reason:
                reason = _refused(op, value, b, end - at)
            if reason:
                return at, reason
        elif op <= SKIP_FIXED:
            if b > end - at:
                return at, ENDS
            if op == BOOLEAN and int(data[at]) > 1:
                return at, NOT_BOOLEAN
        if op == LONG or op == ENUM:  # noqa: SIM109
            if is_writing:
                out[base[a] + counts[level]] = value
        elif op == BYTES:
            if is_writing:
                out[base[a] + counts[level]] = at
                out[base[a + 1] + counts[level]] = value
            at += value
        elif op == UNION:
            pc = program[pc + value, 1]
        elif op == JUMP:
            pc = a
        elif op == FIXED:
            if is_writing:
                out[base[a] + counts[level]] = at
                out[base[a + 1] + counts[level]] = b
            at += b
        elif op == BOOLEAN or op == FLOAT or op == DOUBLE:  # noqa: SIM109
            if is_writing:
                out[base[a] + counts[level]] = _read_little(data, at, b)
            at += b
        elif op == SKIP_BYTES:
            at += value
        elif op == SKIP_FIXED:
            at += b
        elif op == NULL:
            if is_writing:
                out[base[a] + counts[level]] = 1
        elif op == ARRAY:  # of items of level b, and in slot a is where they end
            if value < 0:  # the size of the block in bytes follows
                value = -value
                _, at, reason = _read_long(data, at, end)
                if reason:
                    return at, reason
            if value < 0 or value > end - at:
                return at, TOO_MANY
            left[b] = value
            if value == 0:
                if is_writing and a >= 0:
                    out[base[a] + counts[level]] = counts[b]
                pc = program[pc - 1, 4]
        elif op == LOOP:
            counts[b] += 1
            left[b] -= 1
            pc = a + 1 if left[b] else a
        elif op == END:
            return at, 0
        elif op == FAIL:
            return at, BRANCH


def decode_rows(
    data: Any,
    starts: Any,
    ends: Any,
    program: Any,
    out: Any,
    base: Any,
    counts: Any,
    left: Any,
    is_writing: bool,
    may_be_followed: bool,
) -> tuple[int, int]:
    """Decode event ``data[starts[i]:ends[i]]`` for every ``i`` into ``out``.

    ``counts`` receives the number of items of each level, and is all that a call without ``is_writing``
    changes. ``left`` is as long, and is scratch.

    Returns:
        The index of the first event that is not one datum, and the reason; or -1 and 0.
    """
    for row in range(len(starts)):
        counts[0] = row
        end = int(ends[row])
        at, reason = _decode_datum(data, int(starts[row]), end, program, out, base, counts, left, is_writing)
        if not reason and at != end and not may_be_followed:
            reason = FOLLOWED
        if reason:
            return row, reason
    counts[0] = len(starts)
    return -1, 0


def gather(data: Any, starts: Any, offsets: Any, found: Any) -> None:
    """Copy the pieces of ``data`` that begin at ``starts`` to ``found[offsets[i]:offsets[i + 1]]``.

    A short piece is copied together with what follows it, `WIDE` bytes in all, because a processor copies
    that many at once. The next piece is written over what is too much.
    """
    data_end, found_end = len(data) - WIDE, len(found) - WIDE
    for i in range(len(starts)):
        start, at = int(starts[i]), int(offsets[i])
        size = int(offsets[i + 1]) - at
        if size <= WIDE and start <= data_end and at <= found_end:
            for j in range(WIDE):
                found[at + j] = data[start + j]
        else:
            for j in range(size):
                found[at + j] = data[start + j]


def _write_long(out: Any, at: int, value: int) -> int:
    """Write a zig-zag integer of variable length and return where it ends."""
    sign = -1 if value < 0 else 0
    rest = value ^ sign  # not negative, and at most 63 bits: the sign is written as the lowest bit
    byte = (rest & 0x3F) << 1 | (sign & 1)
    rest >>= 6
    while rest:
        out[at] = byte | 0x80
        at += 1
        byte = rest & 0x7F
        rest >>= 7
    out[at] = byte
    return at + 1


def encode_rows(
    data: Any, values: Any, base: Any, program: Any, counts: Any, left: Any, out: Any, offsets: Any
) -> None:
    """Encode one datum per row into ``out``, which must be large enough; ``offsets`` receives their ends.

    ``values`` has the columns as in `decode_rows`; an array has two slots, where its items begin and how many
    there are.
    """
    at = 0
    for row in range(len(offsets) - 1):
        counts[0] = row
        pc = 0
        while True:
            op = program[pc, 0]
            a = program[pc, 1]
            b = program[pc, 2]
            level = program[pc, 3]
            pc += 1
            if op == LONG or op == ENUM:  # noqa: SIM109
                at = _write_long(out, at, int(values[base[a] + counts[level]]))
            elif op == BYTES or op == FIXED:  # noqa: SIM109
                start = int(values[base[a] + counts[level]])
                size = int(values[base[a + 1] + counts[level]])
                if op == BYTES:
                    at = _write_long(out, at, size)
                for i in range(size):
                    out[at + i] = data[start + i]
                at += size
            elif op == DOUBLE or op == FLOAT:  # noqa: SIM109
                bits = int(values[base[a] + counts[level]])
                for _ in range(8 if op == DOUBLE else 4):
                    out[at] = bits & 0xFF
                    bits >>= 8
                    at += 1
            elif op == BOOLEAN:
                out[at] = int(values[base[a] + counts[level]])
                at += 1
            elif op == NULLABLE:
                # a: slot of nulls, b: index of the branch in the high half, of null in the low half.
                if values[base[a] + counts[level]]:
                    out[at] = (b & 0xFF) << 1
                    pc = program[pc - 1, 4]
                else:
                    out[at] = (b >> 8) << 1
                at += 1
            elif op == LITERAL:
                out[at] = a
                at += 1
            elif op == ARRAY:
                size = int(values[base[a + 1] + counts[level]])
                if size:
                    at = _write_long(out, at, size)
                    counts[b] = int(values[base[a] + counts[level]])
                    left[b] = size
                else:
                    out[at] = 0
                    at += 1
                    pc = program[pc - 1, 4]
            elif op == LOOP:
                counts[b] += 1
                left[b] -= 1
                if left[b]:
                    pc = a + 1
                else:
                    out[at] = 0  # the empty block ends the array
                    at += 1
            else:
                break
        offsets[row + 1] = at
