"""A run that a ledger judged: a minute of events, a reader killed in the middle, some of them doubled."""

from __future__ import annotations

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.ledger import Ledger
from tests.observe.examples import START_MS


class Steps:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms


def judged_run(journal: Journal | None = None, *, seconds: int = 60, doubled: int = 37) -> Ledger:
    """A hundred events a second; at half time a reader dies, and ``doubled`` of its events come again."""
    clock = Steps()
    journal = journal or Journal("demo/flights at tcp://127.0.0.1:9090", live=False)
    ledger = Ledger(journal, name="flights", now_ms=clock)
    sent = read = 0
    for second in range(2 * seconds):
        clock.now_ms += 500
        ids = list(range(sent, sent + 50))
        ledger.written(ids, [f"N{i % 7}" for i in ids], where="writer w1")
        ledger.acknowledged(ids)
        sent += 50
        if second == seconds:
            ledger.fault("reader r1 killed", call="r1.kill()")
            again = range(read - doubled, read)
            places = [k * 40 for k in range(doubled)]
            ledger.read(again, where="r2", segments=[3 + (2 << 32)] * doubled, offsets=places)
        if second > 4 and not seconds < second < seconds + 8:
            n = sent - 100 - read
            places = [k * 40 for k in range(read, read + n)]
            ledger.read(range(read, read + n), where="r1", segments=[3 + (2 << 32)] * n, offsets=places)
            read += n
        ledger.verdict()  # so that each step ends with its counts
    clock.now_ms += 500
    ledger.read(range(read, sent), where="r2")
    ledger.settled()
    journal.tick(clock.now_ms)
    return ledger
