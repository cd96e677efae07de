"""Each checker finds its violation in a journal written by hand, and accepts a sound journal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pravega_lab.engine.simulation.kernel.journal import Journal
from pravega_lab.engine.simulation.store.checkers import check
from pravega_lab.protocol.hashing import key_position

LOW_KEY = next(k for k in "abcdefgh" if key_position(k) < 0.5)
HIGH_KEY = next(k for k in "abcdefgh" if key_position(k) > 0.5)
LEFT, RIGHT = (1 << 32) + 1, (1 << 32) + 2  # segment 0 splits into these
T1, T2 = "00000001-0000-0000-0000-000000000001", "00000001-0000-0000-0000-000000000002"


def event(source: str, key: str, n: int) -> str:
    return f"{source}|{key}|{n}|"


W = [event("w", LOW_KEY, n) for n in range(4)]
X = [event("w", HIGH_KEY, n) for n in range(2)]
A = [event("t1", LOW_KEY, 0), event("t1", LOW_KEY, 1)]
A_HIGH = event("t1", HIGH_KEY, 0)
B = event("t2", LOW_KEY, 0)


class Run:
    """A sound run. A test changes it before it is written to the journal."""

    def __init__(self) -> None:
        self.acked = W[:3] + X
        self.epochs = [[[0, 0.0, 1.0]], [[LEFT, 0.0, 0.5], [RIGHT, 0.5, 1.0]]]
        self.successors = {0: [[LEFT, 0.0, 0.5, [0]], [RIGHT, 0.5, 1.0, [0]]], LEFT: [], RIGHT: []}
        self.stored = {0: [W[0], X[0], W[1]], LEFT: [W[2], *A, B], RIGHT: [A_HIGH, X[1]]}
        self.sealed = {0: True, LEFT: False, RIGHT: False}
        self.reads = [
            (0, 0),
            (0, 10),
            (0, 20),
            (RIGHT, 0),
            (LEFT, 0),
            (LEFT, 10),
            (LEFT, 20),
            (LEFT, 30),
            (RIGHT, 10),
        ]
        self.early_reads: list[tuple[int, int]] = []
        self.bounded_reads: list[tuple[int, int]] | None = None
        self.aborted: list[str] = []
        self.committed = ["t1"]
        self.table = [("put", "p1", -1, 10), ("get", "g1", "p1", 10), ("put", "p2", 10, 20)]
        self.table_end: tuple[str | None, int] = ("p2", 20)

    def problems(self) -> list[str]:
        journal = Journal()
        journal.add("w", "write", key=LOW_KEY, events=W)
        journal.add("w", "write", key=HIGH_KEY, events=X)
        journal.add("w", "acked", events=self.acked)
        for name, txn_id, writes in (
            ("t1", T1, {LOW_KEY: A, HIGH_KEY: [A_HIGH]}),
            ("t2", T2, {LOW_KEY: [B]}),
        ):
            journal.add("c", "txn-begin", txn=name, id=txn_id)
            for key, events in writes.items():
                journal.add("c", "txn-write", txn=name, key=key, events=events)
        journal.add("r", "reading", positions=None)
        self.read(journal, self.early_reads)
        for name in self.aborted:
            journal.add("c", "txn-aborted", txn=name)
        for name in self.committed:
            journal.add("c", "txn-commit", txn=name)
            journal.add("c", "txn-committing", txn=name)
        if "t2" not in self.aborted + self.committed:
            journal.add("c", "txn-commit", txn="t2")  # outcome unknown
        self.read(journal, self.reads)
        journal.add("r", "read-all")
        if self.bounded_reads is not None:
            journal.add("b", "reading", positions=None)
            self.read(journal, self.bounded_reads)
            journal.add("b", "read-to-tail")
        self.write_table(journal)
        for epoch, segments in enumerate(self.epochs):
            journal.add("world", "epoch", epoch=epoch, segments=segments)
        for segment, successors in self.successors.items():
            journal.add("world", "successors", segment=segment, successors=successors)
        for segment, events in self.stored.items():
            stored = [[10 * n, e] for n, e in enumerate(events)]
            journal.add(
                "world", "stored", segment=segment, start=0, sealed=self.sealed[segment], events=stored
            )
        return check(journal)

    def read(self, journal: Journal, places: list[tuple[int, int]]) -> None:
        for segment, offset in places:
            events = self.stored[segment]
            shown = events[offset // 10] if offset // 10 < len(events) else "gone|k|0|"
            journal.add("r", "read", segment=segment, offset=offset, event=shown)

    def write_table(self, journal: Journal) -> None:
        for kind, op, first, second in self.table:
            if kind == "put":
                journal.add("c", "table-put", op=op, value=op, expected=first)
                if second == "refused":
                    journal.add("c", "table-put-refused", op=op)
                elif second is not None:
                    journal.add("c", "table-put-ok", op=op, version=second)
            else:
                journal.add("c", "table-get", op=op)
                journal.add("c", "table-got", op=op, value=first, version=second)
        journal.add("world", "table", value=self.table_end[0], version=self.table_end[1])


def test_a_sound_run_passes() -> None:
    assert Run().problems() == []


def test_an_unacknowledged_tail_may_be_lost_or_kept() -> None:
    run = Run()
    run.stored[LEFT].append(W[3])
    run.reads.append((LEFT, 40))
    assert run.problems() == []


def lose(run: Run) -> None:
    run.stored[RIGHT].remove(X[1])
    run.reads.remove((RIGHT, 10))


def double(run: Run) -> None:
    run.stored[LEFT].insert(0, W[1])


def misplace(run: Run) -> None:
    run.stored[LEFT].append(run.stored[RIGHT].pop())


def swap(run: Run) -> None:
    run.stored[0] = [W[1], X[0], W[0]]


def overlap(run: Run) -> None:
    run.epochs[1][0][2] = 0.5000001


def wrong_predecessor(run: Run) -> None:
    run.successors[0].pop()


def unsealed(run: Run) -> None:
    run.sealed[0] = False


def show_the_unsynced(run: Run) -> None:
    run.reads.append((RIGHT, 20))


def successor_first(run: Run) -> None:
    run.reads = [(RIGHT, 0), *(place for place in run.reads if place != (RIGHT, 0))]


def skip(run: Run) -> None:
    run.reads.remove((RIGHT, 10))


def end_before_the_tail(run: Run) -> None:
    run.bounded_reads = [(0, 0), (0, 10), (0, 20), (LEFT, 0)]


def commit_in_part(run: Run) -> None:
    run.stored[RIGHT].remove(A_HIGH)


def show_too_early(run: Run) -> None:
    run.early_reads, run.reads = run.reads, []


def tear_apart(run: Run) -> None:
    run.stored[LEFT] = [W[2], A[0], B, A[1]]


def against_commit_order(run: Run) -> None:
    run.committed = ["t2", "t1"]


def keep_the_aborted(run: Run) -> None:
    run.aborted = ["t2"]


def lose_an_update(run: Run) -> None:
    run.table.append(("put", "p3", 10, 30))
    run.table_end = ("p3", 30)


def do_the_refused(run: Run) -> None:
    run.table[2] = ("put", "p2", 10, "refused")


def read_the_past(run: Run) -> None:
    run.table.append(("get", "g2", "p1", 10))


SPOILT: list[tuple[str, Callable[[Run], None]]] = [
    ("nothing acknowledged is lost", lose),
    ("nothing is doubled", double),
    ("nothing is invented", misplace),
    ("order per key", swap),
    ("epochs cover the key space", overlap),
    ("successors agree with epochs", wrong_predecessor),
    ("left segments are sealed", unsealed),
    ("readers saw what is stored", show_the_unsynced),
    ("readers in order", successor_first),
    ("readers come to the end", skip),
    ("readers come to the tail", end_before_the_tail),
    ("transactions all or nothing", commit_in_part),
    ("transactions all or nothing", keep_the_aborted),
    ("transactions invisible until commit", show_too_early),
    ("transactions in one piece", tear_apart),
    ("transactions in order of commit", against_commit_order),
    ("table is linearizable", lose_an_update),
    ("table is linearizable", do_the_refused),
    ("table is linearizable", read_the_past),
]


@pytest.mark.parametrize(("checker", "spoil"), SPOILT, ids=[spoil.__name__ for _, spoil in SPOILT])
def test_each_violation_is_found(checker: str, spoil: Callable[[Run], None]) -> None:
    run = Run()
    spoil(run)
    assert checker in {problem.split(":")[0] for problem in run.problems()}
