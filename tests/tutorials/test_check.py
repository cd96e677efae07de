"""`check`: right and wrong in words, hints before the solution, and a way back from every slip."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any
from uuid import UUID
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pravega_lab.client.reader_group import fold, reading
from pravega_lab.connector.flow import PravegaWriter
from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.rows.parsing import EVENT_INDEX
from pravega_lab.connector.spark.sink.register import (
    Abort,
    Commit,
    Fate,
    Finished,
    Look,
    Put,
    Record,
    Written,
    decide,
)
from pravega_lab.connector.spark.source.lineage import groups
from pravega_lab.datasets import flights
from pravega_lab.engine.flow.checkpoint.history import Finishing, History, LastPiece, Triggering
from pravega_lab.engine.simulation.flow.race import run_race
from pravega_lab.errors import BadInputError
from pravega_lab.observe import Journal
from pravega_lab.observe.group.observations import GroupSegmentAcquired, ReaderLeft
from pravega_lab.observe.known_cuts import cut_before
from pravega_lab.observe.ledger.observations import LedgerOffended
from pravega_lab.protocol.hashing import table_key_position
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.names import number_of
from pravega_lab.testing.commit_kills import Step, killed_at
from pravega_lab.tutorials import check
from pravega_lab.tutorials import stop_with_savepoint as stopping
from pravega_lab.tutorials.copying.copy_job import Copying, Story, copied
from pravega_lab.tutorials.final_checkpoints import MixedJob, chain, checkpoints_after_the_end
from pravega_lab.tutorials.learning.answer_forms import (
    numbers_in_any_order,
    whole_number,
    word,
    words_in_any_order,
)
from pravega_lab.tutorials.learning.book import Exercise, exercises, seal, unseal
from pravega_lab.tutorials.learning.checking import wrong_answers
from pravega_lab.tutorials.recording.recordings import recorded
from pravega_lab.tutorials.streaming_and_batch import (
    BATCH,
    BY_NAME,
    BY_TIME,
    STREAMING,
    figure_1,
    year_then_live,
)
from tests.client.reader_group.box import Box, Member
from tests.engine.flow.test_two_phase import Recorded, operator_of
from tests.engine.store.controller.test_retention import NO_MAXIMUM, SIZE, kept, periods, subscribe


@pytest.fixture(autouse=True)
def nobody_answered_yet() -> Iterator[None]:
    wrong_answers.clear()
    yield
    wrong_answers.clear()


def aircraft_that_move(before: int, after: int) -> int:
    """Worked out here once more, from the data."""
    keys = {key.encode() for key in flights(6000).keys.to_pylist()}
    return sum(crc32(key) % before != crc32(key) % after for key in keys)


def shares(n_segments: int, n_readers: int) -> list[int]:
    """Of readers that were left alone for 40 s of their own clock, with a checkpoint every 5 s."""
    config = reading(["s/x"], automatic_checkpoint_interval_ms=5_000)
    box = Box(n_segments, config, n_events=1_000)
    members = [Member(box, f"r{n}") for n in range(n_readers)]
    for _ in range(400):
        box.now_ms += 100
        for member in members:
            member.read()
    return [len(member.core.held) for member in members]


def waited_for() -> str:
    """Whom the checkpoint of exercise 03.2 waits for: its log, folded."""
    segments = {"s/x/0.#epoch.0": 0, "s/x/1.#epoch.0": 0}
    log = [
        rg.ReaderGroupStateInit(reading(["s/x"]), segments, {}),
        rg.AddReader("ann"),
        rg.AddReader("bob"),
        rg.AcquireSegment("ann", "s/x/0.#epoch.0"),
        rg.AcquireSegment("bob", "s/x/1.#epoch.0"),
        rg.CreateCheckpoint("noon"),
        rg.AddReader("cem"),
        rg.CheckpointReader("noon", "ann", {"s/x/0.#epoch.0": 10}),
    ]
    [name] = fold(log).checkpoints.waiting_for("noon")
    return name


def run_with_copies() -> str:
    """In which recording a segment holds more than was written: 360 events of 60 bytes, and their headers."""
    too_long = []
    for k in range(1, 6):
        measured = Journal.load(recorded(f"run-{k}.jsonl.gz")).to_pandas("segment_measured")
        if measured.groupby("segment_id").write_offset.max().sum() > 360 * 68:
            too_long.append(f"run {k}")
    [name] = too_long
    return name


def events_truncated() -> int:
    """Of segment 0 of run 5."""
    measured = Journal.load(recorded("run-5.jsonl.gz")).to_pandas("segment_measured")
    return int(measured.query("segment_id == 0").start_offset.max()) // 68


def checkpoint_known_at(at_s: float) -> str:
    """Where a fork of the case of tutorial 05 begins, as `fork` finds it."""
    journal = Journal.load(recorded("desk.jsonl.gz"))
    assert journal.start_ms is not None
    known = cut_before(journal.since(), journal.start_ms + 1000 * at_s)
    assert known is not None
    return known.text.split()[1]


def ms_with_nobody() -> int:
    """From bob's going until cem took segment 1, in the case of tutorial 05."""
    journal = Journal.load(recorded("desk.jsonl.gz"))
    [end] = [o.time_ms for o in journal.since() if isinstance(o, ReaderLeft) and o.reader == "bob"]
    taken = [o for o in journal.since() if isinstance(o, GroupSegmentAcquired) and o.reader == "cem"]
    return next(o.time_ms - end for o in taken if o.segment_id == 1 and o.time_ms > end)


def kept_of_four() -> list[str]:
    """In the stream in the end, in exercise 06.1: the sink decides, and what it decides comes about."""
    a, b, c, d = (UUID(int=n) for n in range(4))
    fates = {a: Fate.COMMITTED, b: Fate.GONE, c: Fate.OPEN, d: Fate.OPEN}

    def batch(*transactions: UUID) -> Record:
        parts = tuple(Written(one, rows=9, digest=n) for n, one in enumerate(transactions))
        return Record("query", "s/x", 0, parts, done=False, recorded_ms=0)

    record, looked = batch(a, b), None
    while True:
        step = decide(record, batch(c, d), looked, now_ms=0)
        looked = None
        match step:
            case Look(transactions):
                looked = {one: fates[one] for one in transactions}
            case Put(new):
                record = new
            case Commit(transactions):
                fates |= dict.fromkeys(transactions, Fate.COMMITTED)
            case Abort(transactions) | Finished(transactions):
                fates |= dict.fromkeys(transactions, Fate.GONE)
        if isinstance(step, Finished):
            return [name for name, fate in zip("abcd", fates.values(), strict=True) if fate is Fate.COMMITTED]


def read_by_one_task() -> list[int]:
    """With segment 6, in exercise 06.2: 0 splits into 4 and 5; 5 and 1 merge into 6."""
    spans = {n: (n / 4, (n + 1) / 4) for n in range(4)}
    spans |= {4: (0.0, 0.125), 5: (0.125, 0.25), 6: (0.125, 0.5)}
    [together] = [group for group in groups(spans) if 6 in group]
    return together


def customers_twice() -> list[int]:
    """In the files of a sink that commits when it ends, after a failure of another part: exercise 09.2."""
    job = MixedJob(Finishing.BEFORE_FLIP_147, LastPiece.COMMITTED).to(900)
    job.run.fail("orders[0]")
    kept = [row["customer"] for row in job.to(2_000).committed("known")]
    return sorted({n for n in kept if kept.count(n) > 1})


def skipped_after_the_failure() -> list[str]:
    """Restored as finished: no method of theirs is called again; exercise 09.3."""
    job = MixedJob(Finishing.FLIP_147).to(1_500)
    job.run.fail("orders[0]")
    calls = job.to(2_000).run.journal.to_pandas("operator_called")
    return sorted(set(calls.vertex) - set(calls[calls.attempt > 0].vertex))


def sales_in_the_savepoint() -> int:
    """Exercise 10.1: what was read and is not in the output."""
    return stopping.SALES_BEFORE - stopping.counted(stopping.stopped(drain=False, resumed=False).at_the_stop)


def kept_by_the_old_drain() -> int:
    """Exercise 10.2."""
    old = History(drain_before_flip_147=True)
    told = stopping.stopped(drain=True, resumed=False, history=old, sales_before=28)
    return stopping.counted(told.at_the_stop)


def drained_without_harm() -> int:
    """Exercise 10.3."""
    whole = stopping.never_stopped()
    tried = (31, 36, 39, 40, 41, 45)  # whole windows are at a multiple of ten
    [found] = [n for n in tried if stopping.stopped(drain=True, sales_before=n).in_the_end == whole]
    return found


def doubled_by_a_variable() -> int:
    """Exercise 10.4: one copy of the function, as jobs are sent to workers, before the kill and one after."""
    from pyspark import cloudpickle

    so_far: Counter[str] = Counter()

    def number(sale: dict[str, Any]) -> tuple[str, int]:
        so_far[sale["shop"]] += 1
        return sale["shop"], so_far[sale["shop"]]

    sent = cloudpickle.dumps(number)
    found = Counter(
        copy(sale)
        for copy, (first, last) in ((pickle.loads(sent), span) for span in ((0, 600), (600, 1000)))
        for sale in stopping.sales(first, last)
    )
    wanted = Counter((sale["shop"], sale["n"] // 2 + 1) for sale in stopping.sales(0, 1000))
    return (found - wanted).total()


def committed_by_a_restart() -> list[int]:
    """Exercise 11.1: the operator itself, up to checkpoint 6, and another one with its state."""
    dead = Recorded()
    dead._begun = 4
    operator = operator_of(dead)  # begins t5
    for checkpoint in (5, 6):
        asyncio.run(operator.snapshot_state(checkpoint))
    again = Recorded()
    operator_of(again, list(operator._state))
    return [int(call.removeprefix("commit t")) for call in again.calls if call.startswith("commit ")]


def exact_from_the_checkpoint_before() -> str:
    """Exercise 11.2."""
    runs = {step.name: killed_at(step, PravegaWriter, checkpoints_back=1) for step in Step}
    [name] = [name for name, run in runs.items() if run.verdict.is_exact]
    return name


def shortest_lease_s() -> int:
    """Exercise 11.3."""
    leases = range(40, 140, 10)
    return next(
        s
        for s in leases
        if killed_at(Step.COMPLETE, PravegaWriter, lease_ms=1000 * s, down_s=60).verdict.is_exact
    )


@cache
def kafka_style(*, fails: bool = True) -> Copying:
    """The run of tutorial 07."""
    acts = ((2.5, "split 0"), (4.5, "split 1"), (5.7, "fail 0"), (6.3, "merge 2 3"))
    return copied("d", Story(tuple(act for act in acts if fails or act[1] != "fail 0"), events=480), 5)


def story_of(way: str) -> Copying:
    """The run of tutorial 08."""
    acts = ((2.5, "split 0"), (4.5, "split 1"), (5.7, "fail 0"), (6.3, "merge 2 3"))
    return copied(way, Story(acts, events=480), 5)


def read_twice() -> list[int]:
    """Between the group's checkpoint and the barrier of each source subtask, as the job's observer noted."""
    told = story_of("b2").job.to_pandas("source_cut").query("checkpoint_id == 2")
    return [int(n) for n in told["events"]]


def who_has_number_4() -> str:
    """Who got it last before the failure at 5.7 s, by the group's log."""
    journal = story_of("b1").journal
    assert journal.start_ms is not None
    fails_ms = journal.start_ms + 5_700
    got = [o for o in journal.since() if isinstance(o, GroupSegmentAcquired)]
    return [o.reader for o in got if number_of(o.segment_id) == 4 and o.time_ms < fails_ms][-1]


def first_pair_out_of_order() -> list[int]:
    """Numbers of their segments, by what the ledger noted of the event and where the other one is stored."""
    run = kafka_style()
    first = run.disorder().iloc[0]
    told = next(o for o in run.journal.since() if isinstance(o, LedgerOffended) and o.what == "out of order")
    assert told.event == str(first["event"])
    newer = first["came after"]
    [stored] = [s.segment_id for s, events in run.stored.items() if newer in (n for _, n in events)]
    return [int(told.read_where.split("#")[1].split()[0]), number_of(stored)]


def moments_of_race(seed: int, triggering: Triggering) -> dict[str, int]:
    """When each step of its second checkpoint happened, in the exercises of 12."""
    return {step.what: step.time_us for step in run_race(seed, triggering).checkpoints[2]}


def too_late_by_us() -> int:
    moments = moments_of_race(53, Triggering.MAILBOX_1_11_0)
    return moments["its state, too late"] - moments["ack 2 of b"]


def in_line_for_us() -> int:
    locked, fixed = (moments_of_race(14, way) for way in (Triggering.LOCK, Triggering.FIXED))
    return locked["ack 2 of b"] - fixed["ack 2 of b"]


def readable_at_the_end(minimum: int, maximum: int, portions: int, *, held: bool) -> int:
    """Events of 100 bytes that are left, with or without a group that releases nothing."""
    driven = kept(SIZE, minimum, maximum)
    if held:
        subscribe(driven)
    return 100 * portions - periods(driven, portions, wrote=10_000)[0] // 100


def operations_of_the_view(*statuses: str) -> str:
    """What the sink of the format writes of an order's changes, of which the filter has left rows out."""
    rows: list[str | None] = [None, *(json.dumps({"status": status}) for status in statuses), None]
    events = [
        f'{{"before": {before or "null"}, "after": {after or "null"}, "op": "{operation}"}}'.encode()
        for before, after, operation in zip(rows, rows[1:], "cuud", strict=False)
    ]
    changes = row_format("debezium-json", pa.schema([("status", pa.string()), ("_row_kind", pa.string())]))
    seen = changes.parse(pa.array(events, pa.binary())).drop_columns([EVENT_INDEX])
    kept = changes.encode(seen.filter(pc.not_equal(seen.column("status"), "delivered")))
    return " ".join(json.loads(event)["op"] for event in kept.to_pylist() if event is not None)


def sum_with_a_repetition(kinds: list[str], cents: list[int], repeated: int) -> int:
    signed = [value if kind.startswith("+") else -value for kind, value in zip(kinds, cents, strict=True)]
    return sum([*signed, *signed[-repeated:]])


@cache
def answers() -> dict[str, Any]:
    """The right ones. The notebooks' own runs show why."""
    return {
        "02.1": aircraft_that_move(4, 8),
        "02.2": [5, 0, 1],
        "03.1": shares(10, 4),
        "03.2": waited_for(),
        "04.1": run_with_copies(),
        "04.2": events_truncated(),
        "05.1": checkpoint_known_at(16.2),
        "05.2": ms_with_nobody(),
        "06.1": kept_of_four(),
        "06.2": read_by_one_task(),
        "07.1": len(set(kafka_style().disorder()["key"])),
        "07.2": first_pair_out_of_order(),
        "07.3": kafka_style(fails=False).ledger.verdict().sentence,
        "08.1": copied("b1", Story(((5.7, "fail 0"),), events=480), 5).ledger.verdict().sentence,
        "08.2": read_twice(),
        "08.3": who_has_number_4(),
        "09.1": checkpoints_after_the_end(chain(6, Finishing.WAIT_IN_EACH_TASK))[0],
        "09.2": customers_twice(),
        "09.3": skipped_after_the_failure(),
        "10.1": sales_in_the_savepoint(),
        "10.2": kept_by_the_old_drain(),
        "10.3": drained_without_harm(),
        "10.4": doubled_by_a_variable(),
        "11.1": committed_by_a_restart(),
        "11.2": exact_from_the_checkpoint_before(),
        "11.3": shortest_lease_s(),
        "12.1": [n for n in range(50, 100) if run_race(n, Triggering.MAILBOX_1_11_0).failure is not None],
        "12.2": too_late_by_us(),
        "12.3": in_line_for_us(),
        "13.1": [
            sum(len(touch.emitted) for touch in figure_1(mode, "abacab")) for mode in (STREAMING, BATCH)
        ],
        "13.2": year_then_live(BY_TIME[::-1]).counted,
        "13.3": next(bound for bound in (362, 363, 364, 365) if year_then_live(BY_NAME, bound).late == 0),
        "14.1": readable_at_the_end(25_000, NO_MAXIMUM, 6, held=False),
        "14.2": 700 - readable_at_the_end(15_000, 45_000, 7, held=True),
        "15.1": int(table_key_position(b"N228UA") * 200),
        "15.2": sum(range(1, 11)),
        "16.1": operations_of_the_view("placed", "paid", "delivered"),
        "16.2": sum_with_a_repetition(["+I", "-U", "+U", "-D"], [500, 500, 700, 700], 3),
    }


def in_one_line(verdict: object) -> str:
    return " ".join(repr(verdict).split())


@pytest.mark.slow
def test_every_exercise_takes_its_answer() -> None:
    right = answers()
    assert list(exercises()) == list(right)
    for number, answer in right.items():
        verdict = check(number, answer)
        assert verdict
        assert in_one_line(verdict).startswith(f"{number}: right. ")


@pytest.mark.slow
def test_hint_then_another_then_the_solution() -> None:
    one = exercises()["02.1"]
    said = [in_one_line(check("02.1", 3)) for _ in range(4)]
    assert [text.startswith("02.1: 3 is not right. ") for text in said] == [True] * 4
    assert said[0].endswith(f"Hint: {one.hints[0]}")
    assert said[1].endswith(f"Another hint: {one.hints[1]}")
    assert said[2] == said[3]
    assert said[2].endswith(f"The solution: {unseal(one.solution)}")
    assert not check("02.1", 3)
    assert check("02.1", answers()["02.1"])


def test_a_likely_mistake_is_spoken_of() -> None:
    verdict = in_one_line(check("02.1", aircraft_that_move(4, 5)))
    assert "That is for 5 partitions." in verdict
    assert "one of them waits, too" in in_one_line(check("02.2", [1, 5]))
    assert "came when the checkpoint had begun" in in_one_line(check("03.2", "Cem"))


def test_without_an_answer_the_question_comes_and_nothing_is_counted() -> None:
    verdict = check("02.2", ...)
    assert not verdict
    assert exercises()["02.2"].asks in in_one_line(verdict)
    assert in_one_line(check("02.2")) == in_one_line(verdict)
    assert "a list of whole numbers, in any order" in in_one_line(verdict)
    assert wrong_answers == {}


@pytest.mark.parametrize(
    "answer",
    ["many", None, [1], True, float("nan"), float("inf"), 2.5, b"7", pytest.param(10**5000, id="huge")],
)
def test_what_can_be_no_answer_is_not_counted(answer: Any) -> None:
    verdict = in_one_line(check("02.1", answer))
    assert "can be no answer: a whole number is wanted" in verdict
    assert wrong_answers == {}


@pytest.mark.parametrize("asked", ["2.1", "02.1", " 2.1 ", "002.01", 2.1])
def test_an_exercise_is_found_without_its_leading_zero(asked: Any) -> None:
    assert in_one_line(check(asked)).startswith("02.1: ")


@pytest.mark.parametrize(
    ("asked", "near"), [("2.9", "02.1"), ("02.10", "02.1"), ("2,2", "02.2"), ("", "02.1"), (None, "02.1")]
)
def test_an_unknown_exercise_names_the_nearest(asked: Any, near: str) -> None:
    with pytest.raises(BadInputError, match=f"did you mean '{near}'"):
        check(asked, 1)


@pytest.mark.parametrize("answer", [1014, "1014", " 1,014 ", np.int64(1014), 1014.0, pa.scalar(1014)])
def test_the_same_number_in_many_ways(answer: Any) -> None:
    assert whole_number(answer) == "1014"


def test_the_same_list_in_many_ways() -> None:
    assert (
        numbers_in_any_order((5, 0, 1))
        == numbers_in_any_order({0, 1, 5})
        == numbers_in_any_order([1, "0", 5])
    )
    assert numbers_in_any_order([10, 9]) != numbers_in_any_order([1, 9])
    assert words_in_any_order(["Two ", "one"]) == "one, two"
    assert word("  After the  checkpoint ") == "after the checkpoint"


@pytest.mark.slow
@pytest.mark.parametrize("one", exercises().values(), ids=lambda one: one.number)
def test_no_answer_stands_in_the_open(one: Exercise) -> None:
    words = unseal(one.solution)
    assert seal(words) == one.solution
    assert len(one.right) == 16
    answer = str(answers()[one.number]).strip("[]'")
    assert all(answer not in text for text in (one.asks, *one.hints, *one.remarks.values(), one.right))
