"""The checker of the table: is a key that is written by compare-and-set a linearizable register?

Source: pravega.md A13 (versions and conditions of table entries).
"""

from __future__ import annotations

from .history import History, TableOp

NOT_EXISTS = -1


def table_is_a_register(history: History) -> list[str]:
    """Return where conditional puts and gets of one key are not linearizable.

    A value is the name of the put that wrote it, and each put names the version that it replaces. The order
    of the successful puts is therefore known, from the last value back to the first.
    """
    if history.table_end is None:
        return []
    order, problems = _chain(history)
    rank = {op: n for n, op in enumerate(order, start=1)}
    for op in history.table_ops.values():
        if op.kind == "put" and op.done_seq is not None and op.refused == (op.op in rank):
            outcome = "refused and happened" if op.refused else "acknowledged and did not happen"
            problems.append(f"{op.op} was {outcome}")
    return problems + _real_time_order(history, rank)


def _chain(history: History) -> tuple[list[str], list[str]]:
    """Return the successful puts, oldest first. Each replaced the version that the one before it made."""
    assert history.table_end is not None
    value, version = history.table_end
    versions = {op.version: op for op in history.table_ops.values() if op.kind == "put" and not op.refused}
    for seen in history.table_ops.values():
        if seen.kind == "get" and seen.value is not None:
            versions[seen.version] = history.table_ops[seen.value]
    order: list[str] = []
    while value is not None:
        op = history.table_ops.get(value)
        if op is None or op.kind != "put":
            return order[::-1], [f"the table holds {value!r}, which nobody put"]
        if op.op in order:
            return order[::-1], [f"{op.op} happened twice"]
        if op.version not in (None, version):
            return order[::-1], [f"{op.op} was told version {op.version} and has {version}"]
        order.append(op.op)
        version = op.expected
        before = versions.get(version)
        if before is None and version != NOT_EXISTS:
            return order[::-1], [f"{op.op} rests on version {version}, which no put made"]
        value = before.op if before is not None and version != NOT_EXISTS else None
    return order[::-1], []


def _real_time_order(history: History, rank: dict[str, int]) -> list[str]:
    """Return operations that began after another had ended, and yet are ordered before it."""
    problems = []
    done = [
        (op, _rank_of(op, rank))
        for op in history.table_ops.values()
        if op.done_seq is not None and not op.refused
    ]
    for first, first_rank in done:
        for second, second_rank in done:
            ended_before = first.done_seq is not None and first.done_seq < second.seq
            if ended_before and second_rank < first_rank:
                problems.append(f"{second.op} began after {first.op} had ended, and is ordered before it")
    return problems


def _rank_of(op: TableOp, rank: dict[str, int]) -> int:
    return rank.get(op.op if op.kind == "put" else op.value or "", 0)
