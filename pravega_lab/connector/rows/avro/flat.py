"""Which programs are of records without nesting, whose columns are decoded one after another."""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.connector.rows.avro import operations

_SKIPS = (operations.SKIP_LONG, operations.SKIP_BYTES, operations.SKIP_FIXED)
_VALUES = (
    *(operations.LONG, operations.BYTES, operations.ENUM, operations.FIXED),
    *(operations.BOOLEAN, operations.FLOAT, operations.DOUBLE, *_SKIPS),
)

Code = Sequence[Sequence[int]]


def flat_steps(code: Code) -> list[list[int]] | None:
    """Return the steps of `flat_kernels` of a program, or None if it has more than plain and nullable values.

    Args:
        code: The instructions of `program.Program`.
    """
    steps: list[list[int]] = []
    at = 0
    while code[at][0] != operations.END:
        op, a, b = code[at][:3]
        if op in _VALUES:
            steps.append([op, _slot(op, a), b, -1, -1])
            at += 1
        elif op == operations.UNION and b == 2:
            bodies = [_body(code, code[at + 1 + branch][1]) for branch in range(2)]
            step = _nullable(bodies)
            if step is None:
                return None
            steps.append(step)
            at = code[at + 1][1] + len(bodies[0])  # the jump that leaves the first branch
            at = code[at][1]
        else:
            return None
    return steps


def _slot(op: int, a: int) -> int:
    return -1 if op in _SKIPS else a


def _body(code: Code, at: int) -> list[Sequence[int]]:
    """Return the instructions of a branch."""
    found = []
    while code[at][0] not in (operations.JUMP, operations.END):
        found.append(code[at])
        at += 1
    return found


def _nullable(bodies: Sequence[Sequence[Sequence[int]]]) -> list[int] | None:
    """Return the step of a union of null and a plain value, whose branches have these instructions."""
    for null in range(2):
        nothing, value = bodies[null], bodies[1 - null]
        is_null = not nothing or [one[0] for one in nothing] == [operations.NULL]
        if is_null and len(value) == 1 and value[0][0] in _VALUES:
            op, a, b = value[0][:3]
            return [op, _slot(op, a), b, nothing[0][1] if nothing else -1, null]
    return None
