"""The ledger against a plain count of the same events, and what it says when nobody saw them."""

from __future__ import annotations

import random
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.fold import fold_ledger, sentence
from pravega_lab.observe.ledger.ledger import Ledger, NotExactError
from pravega_lab.observe.ledger.numbered import count_by_key, json_ids, make, numbered
from pravega_lab.observe.ledger.observations import LedgerCounted, LedgerOffended


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_000

    def __call__(self) -> int:
        self.now_ms += 10
        return self.now_ms


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(now_ms=Clock())


def test_everything_once_and_in_order_is_exact(ledger: Ledger) -> None:
    ledger.written([1, 2, 3], ["a", "b", "a"])
    assert ledger.verdict().sentence == "3 not yet known"
    ledger.acknowledged([1, 2, 3])
    ledger.read([2, 1])
    assert ledger.verdict().sentence == "1 not yet known"
    ledger.read([3])
    verdict = ledger.verdict()
    assert (verdict.sentence, verdict.is_exact, verdict.judged) == ("exact", True, "read")
    verdict.assert_exact()


def test_what_is_acknowledged_and_not_there_is_lost_once_it_had_its_chance(ledger: Ledger) -> None:
    ledger.written(range(5), "k", where="writer w1")
    ledger.acknowledged([0, 1, 2, 3])
    ledger.read([0, 1])
    assert ledger.verdict().unknown == 3
    ledger.settled()
    verdict = ledger.verdict()
    assert (verdict.lost, verdict.unknown) == (2, 0)  # 4 was never acknowledged: it need not be there
    assert verdict.first == "event 2 of key k was lost: written by writer w1"
    ledger.written([5], "k")
    assert (ledger.verdict().lost, ledger.verdict().unknown) == (2, 1)
    ledger.read([3])
    assert ledger.verdict().lost == 1
    with pytest.raises(NotExactError, match="1 lost, 1 not yet known") as caught:
        ledger.verdict().assert_exact()
    assert isinstance(caught.value, AssertionError)


def test_what_is_acknowledged_is_lost_without_it_also_if_no_writer_reported_it(ledger: Ledger) -> None:
    ledger.written([1, 2])
    ledger.acknowledged([1, 2, 3])
    ledger.read([1, 2])
    assert ledger.verdict().sentence == "1 not yet known"
    ledger.settled()
    verdict = ledger.verdict()
    assert (verdict.sentence, verdict.first) == ("1 lost", "event 3 was lost")
    ledger.read([3])
    assert ledger.verdict().sentence == "1 never written"


def test_the_first_offence_is_one_that_the_verdict_counts(ledger: Ledger) -> None:
    ledger.expected(range(30))
    ledger.read([0, 1], where="r1")
    ledger.settled()
    ledger.read([*range(30), 0], where="r2")  # they come after all, and 21 of them twice
    ledger.read(range(21), where="r3", segments=[5] * 21, offsets=range(21))
    verdict = ledger.verdict()
    assert (verdict.lost, verdict.doubled) == (0, 21)
    assert verdict.first == "event 0 was doubled: first read at r1, read at r2"
    told = [o for o in ledger.journal.since() if isinstance(o, LedgerOffended) and o.what == "doubled"]
    assert told[2].first_where == "r2"  # and no segment that nobody reported
    ledger.committed([*range(29), 7], where="the table")
    ledger.settled("committed")
    verdict = ledger.verdict()
    assert (verdict.sentence, verdict.judged) == ("1 lost, 1 doubled", "committed")
    assert verdict.first == "event 7 was doubled: first read at the table, read at the table"


def test_one_id_may_be_a_number_of_numpy(ledger: Ledger) -> None:
    ledger.expected(np.int64(5))
    ledger.read(5)
    assert ledger.verdict().is_exact


def test_distinct_events_are_counted_not_arrivals(ledger: Ledger) -> None:
    ledger.expected([1, 2, 3], "k")
    ledger.read([1, 2, 3, 2, 2], where="r1", segments=[0] * 5, offsets=[0, 20, 40, 60, 80])
    ledger.read([2, 3], where="r2")
    verdict = ledger.verdict()
    assert (verdict.doubled, verdict.out_of_order, verdict.sentence) == (2, 0, "2 doubled")
    assert verdict.first == (
        "event 2 of key k was doubled: first read at r1 #0 e0 offset 20, read at r1 #0 e0 offset 60"
    )
    told = [o for o in ledger.journal.since() if isinstance(o, LedgerOffended)]
    assert [(o.what, o.event) for o in told] == [("doubled", "2"), ("doubled", "3")]


def test_order_is_per_key_and_across_calls(ledger: Ledger) -> None:
    ledger.expected([1, 2, 3, 4, 5], ["a", "b", "a", "b", None])
    ledger.read([5, 2, 3])
    ledger.read([1, 4])
    verdict = ledger.verdict()
    assert (verdict.out_of_order, verdict.doubled) == (1, 0)
    assert verdict.first.startswith("event 1 of key a was read out of order")


def test_without_a_witness_it_is_unknown() -> None:
    nobody_wrote = Ledger()
    nobody_wrote.read([1, 2, 2])
    verdict = nobody_wrote.verdict()
    assert (verdict.lost, verdict.doubled, verdict.unknown) == (None, 1, None)
    assert "nobody witnessed what was written" in verdict.sentence
    nobody_acknowledged = Ledger()
    nobody_acknowledged.written([1, 2])
    nobody_acknowledged.read([1])
    nobody_acknowledged.settled()
    assert nobody_acknowledged.verdict().sentence == "1 not yet known"
    for ledger in (nobody_wrote, nobody_acknowledged, Ledger()):
        assert not ledger.verdict().is_exact
        with pytest.raises(NotExactError):
            ledger.verdict().assert_exact()


def test_the_result_is_judged_where_there_is_one(ledger: Ledger) -> None:
    ledger.expected(["x", "y"])
    ledger.read(["x", "y", "x"])
    assert ledger.verdict().sentence == "1 doubled"
    ledger.committed(["x", "y"])
    verdict = ledger.verdict()
    assert (verdict.judged, verdict.sentence) == ("committed", "exact")


def test_late_and_strange_events_stand_apart(ledger: Ledger) -> None:
    ledger.expected([1, 2, 3])
    ledger.read([1, 99])
    ledger.late([2])
    ledger.settled()
    verdict = ledger.verdict()
    assert (verdict.lost, verdict.late, verdict.strange) == (1, 1, 1)
    assert verdict.sentence == "1 lost, 1 never written, 1 late"


def test_a_fault_shows_what_came_of_it(ledger: Ledger) -> None:
    ledger.expected(range(10), "k")
    ledger.read([0, 1, 2])
    ledger.fault("reader r1 killed", call="r1.kill()")
    ledger.read([2, 3, 4])
    ledger.fault("store killed")
    ledger.read(range(5, 10))
    ledger.settled()
    history = fold_ledger(ledger.journal.since())
    assert [f.text for f in history.faults] == ["reader r1 killed", "store killed"]
    assert [history.effect(k) for k in (0, 1)] == ["1 doubled", "none"]
    before = history.before_the_fault
    assert before is not None
    assert (before.read, before.doubled) == (5, 1)
    assert sentence(history.now) == "1 doubled"


def test_ids_that_cannot_be(ledger: Ledger) -> None:
    ledger.written([1, 2])
    with pytest.raises(BadInputError, match="event 2 was written before"):
        ledger.written([3, 2])
    with pytest.raises(BadInputError, match="event 4 was written before"):
        ledger.written([4, 4])
    with pytest.raises(BadInputError, match=r"are int .* and these are str"):
        ledger.read(["1"])
    with pytest.raises(BadInputError, match="2 events and 1 keys"):
        ledger.written([7, 8], ["k"])
    with pytest.raises(BadInputError, match="writes into a Journal"):
        Ledger(3)


def plain_verdict(written: list[int], keys: list[str], read: list[int]) -> tuple[int, int, int]:
    """The same by the plainest means."""
    times = Counter(read)
    newest: dict[str, int] = {}
    disorder, seen = 0, set()
    key_of = dict(zip(written, keys, strict=True))
    place_of = {event: place for place, event in enumerate(written)}
    for event in read:
        if event in seen:
            continue
        seen.add(event)
        key, place = key_of[event], place_of[event]
        disorder += newest.get(key, -1) > place
        newest[key] = max(newest.get(key, -1), place)
    return sum(e not in times for e in written), sum(n > 1 for n in times.values()), disorder


@pytest.mark.parametrize("seed", range(8))
def test_it_counts_as_a_plain_count_does(seed: int) -> None:
    chance = random.Random(seed)
    written = chance.sample(range(10_000), 400)
    keys = [f"k{chance.randrange(7)}" for _ in written]
    read = [e for e in written for _ in range(chance.choice([0, 1, 1, 1, 2, 3]))]
    for _ in range(60):
        a, b = chance.randrange(len(read)), chance.randrange(len(read))
        read[a], read[b] = read[b], read[a]
    ledger = Ledger(now_ms=Clock())
    for at in range(0, len(written), 90):
        ledger.expected(pa.array(written[at : at + 90]), keys[at : at + 90])
    at = 0
    while at < len(read):
        n = chance.randrange(1, 60)
        ledger.read(np.array(read[at : at + n]))
        at += n
    ledger.settled()
    verdict = ledger.verdict()
    assert (verdict.lost, verdict.doubled, verdict.out_of_order) == plain_verdict(written, keys, read)
    assert verdict.unknown == 0


@pytest.mark.slow
def test_a_million_events_leave_a_small_journal() -> None:
    n = 1_000_000
    ledger = Ledger()
    keys = pa.array([f"key {k}" for k in range(500)] * (n // 500))
    ids = np.arange(n)
    began = time.process_time()
    for at in range(0, n, 50_000):
        ledger.expected(ids[at : at + 50_000], keys[at : at + 50_000])
    for at in range(0, n, 50_000):
        ledger.read(ids[at : at + 50_000])
    ledger.read(ids[::1000])
    ledger.settled()
    verdict = ledger.verdict()
    assert (verdict.written, verdict.lost, verdict.doubled, verdict.out_of_order) == (n, 0, 1000, 0)
    assert len([o for o in ledger.journal.since() if isinstance(o, LedgerOffended)]) == 20
    assert time.process_time() - began < 60  # seconds of work, not minutes


def test_a_ledgers_journal_is_saved_and_loaded(ledger: Ledger, tmp_path: Path) -> None:
    ledger.expected([1, 2], "k")
    ledger.read([1, 1])
    ledger.fault("pulled the plug")
    loaded = Journal.load(ledger.journal.save(tmp_path / "run.jsonl.gz"))
    assert loaded.since() == ledger.journal.since()
    assert [o.kind for o in loaded.since()].count("acted") == 1
    newest = [o for o in loaded.since() if isinstance(o, LedgerCounted)][-1]
    assert sentence(newest) == "1 doubled, 1 not yet known"


def test_a_column_that_cannot_be_settled_is_named(ledger: Ledger) -> None:
    wrong: Any = "acknowledged"
    with pytest.raises(BadInputError, match=r"^settled\('acknowledged'\): it is one of read, committed$"):
        ledger.settled(wrong)


def test_what_is_no_stream_is_not_counted(ledger: Ledger) -> None:
    with pytest.raises(BadInputError, match=r"count\('a/b'\): it reads a stream"):
        ledger.count("a/b")  # type: ignore[arg-type]


def test_numbered_events_are_parsed_as_made() -> None:
    events = make([7, 8], ["a", "b"], [0, 4], 32)
    assert [len(e) for e in events] == [32, 32]
    ids, keys = numbered(pa.array(events))
    assert (ids.to_pylist(), keys.to_pylist()) == ([7, 8], ["a", "b"])
    with pytest.raises(BadInputError, match="no numbered events"):
        numbered(pa.array([b"hello"]))
    parse: Any = json_ids("row", "tail")
    assert parse(pa.array([b'{"row": 3, "tail": "N1"}'])) == ([3], ["N1"])


def test_the_parsers_and_the_count_by_key_are_exported() -> None:
    observe: Any = import_module("pravega_lab.observe")
    assert (observe.numbered, observe.json_ids, observe.count_by_key) == (numbered, json_ids, count_by_key)
