"""The jobs of tutorial 09: what was lost and doubled before FLIP-147, and what the two options cost."""

from __future__ import annotations

import json
import re

import pytest

from pravega_lab.engine.flow.checkpoint.history import Finishing, LastPiece
from pravega_lab.tutorials.final_checkpoints import (
    CUSTOMERS,
    MixedJob,
    chain,
    checkpoints_after_the_end,
    listing,
)
from pravega_lab.tutorials.final_checkpoints_pictures import (
    end_of_data_picture,
    refusal,
    stored,
    two_subtasks,
    waiting_picture,
)


def known(job: MixedJob) -> list[int]:
    return sorted(row["customer"] for row in job.committed("known"))


def failed_at(job: MixedJob, at_ms: int, until_ms: int) -> MixedJob:
    job.to(at_ms)
    job.run.fail("orders[0]")
    return job.to(until_ms)


@pytest.mark.parametrize(
    ("finishing", "last_piece", "fails", "in_files"),
    [
        (Finishing.BEFORE_FLIP_147, LastPiece.DISCARDED, False, [*range(8)]),
        (Finishing.BEFORE_FLIP_147, LastPiece.DISCARDED, True, [*range(8)]),
        (Finishing.BEFORE_FLIP_147, LastPiece.COMMITTED, False, [*range(10)]),
        (Finishing.BEFORE_FLIP_147, LastPiece.COMMITTED, True, [*range(8), 8, 8, 9, 9]),
        (Finishing.FLIP_147, LastPiece.DISCARDED, False, [*range(10)]),
        (Finishing.FLIP_147, LastPiece.DISCARDED, True, [*range(10)]),
    ],
    ids=["discarded", "discarded-fails", "committed", "committed-fails", "final", "final-fails"],
)
def test_the_last_piece(
    finishing: Finishing, last_piece: LastPiece, fails: bool, in_files: list[int]
) -> None:
    job = MixedJob(finishing, last_piece)
    failed_at(job, 900, 2_000) if fails else job.to(2_000)
    assert known(job) == in_files
    job.run.close()


def test_what_is_processed_again_is_what_came_after_the_last_checkpoint() -> None:
    again = {}
    for finishing in (Finishing.BEFORE_FLIP_147, Finishing.FLIP_147):
        job = failed_at(MixedJob(finishing), 1_500, 3_500)
        numbers = [number for _, number in job.seen]
        turn = next(n for n, number in enumerate(numbers) if n and number != numbers[n - 1] + 1)
        assert numbers[:turn] == [*range(turn)]
        assert numbers[turn:] == [*range(numbers[turn], numbers[-1] + 1)]
        again[finishing] = turn - numbers[turn]
        assert job.taken_twice == again[finishing]
        bills = [row["order"] for row in job.committed("billed")]
        assert len(bills) == len(set(bills))
        job.run.close()
    assert again[Finishing.BEFORE_FLIP_147] > 4 * again[Finishing.FLIP_147]


def test_a_waiting_sink_is_recorded_with_its_transaction_and_a_finished_one_without() -> None:
    job = MixedJob(Finishing.FLIP_147)
    said = []
    for n in range(1, 5):
        job.run.until("checkpoint")
        body = json.loads(job.run.files.data[f"checkpoints/stepped/chk-{n}/_metadata"])
        said.append(next(o["finished"] for o in body["operators"] if o["name"] == "known"))
        if n == 3:
            trays = {tray: len(rows) for tray, _, rows in job.files("known")}
            assert trays["pre-committed"] == 2
    assert said == ["running", "running", "running", "fully finished"]
    assert known(job) == [*range(CUSTOMERS)]
    job.run.close()


@pytest.mark.parametrize("sinks", [1, 3, 6])
def test_a_chain_waits_once_or_in_every_task(sinks: int) -> None:
    for finishing, needed in ((Finishing.FLIP_147, 1), (Finishing.WAIT_IN_EACH_TASK, sinks + 1)):
        run = chain(sinks, finishing)
        checkpoints, _ = checkpoints_after_the_end(run)
        assert checkpoints == needed
        for n in range(1, sinks + 1):
            rows = [row["n"] for _, _, found in listing(run, f"out-{n}") for row in found]
            assert sorted(rows) == [*range(20)]
        run.close()


def test_a_part_that_finishes_first_is_partially_finished_and_takes_no_new_operator_in_front() -> None:
    run = two_subtasks()
    run.until("checkpoint")
    assert set(stored(run, 1).operator) == {"running"}  # the one that waits stores its state
    run.until("checkpoint")
    assert stored(run, 2).operator.to_dict() == {
        "customers": "partially finished",
        "known": "partially finished",
    }
    assert stored(run, 2)["subtask 1"].to_dict() == {"customers": "finished", "known": "finished"}
    assert refusal(run, 2, "") == ""
    assert refusal(run, 2, "clean").startswith(
        "known is partially finished in checkpoint 2, and clean in front"
    )


def test_the_picture_has_the_waits_one_after_the_other_or_all_at_once() -> None:
    for way, is_one_wait in ((Finishing.FLIP_147, True), (Finishing.WAIT_IN_EACH_TASK, False)):
        run = chain(2, way)
        run.until("end")
        words = str(waiting_picture(run, "waits"))
        waits = [tuple(map(int, found)) for found in re.findall(r"checkpoint from (\d+) to (\d+)", words)]
        assert len(waits) == 3
        overlap = max(begin for begin, _ in waits) < min(end for _, end in waits)
        assert overlap is is_one_wait


def test_the_end_of_data_is_drawn_before_the_barrier_and_the_barrier_before_the_close() -> None:
    run = chain(2, Finishing.FLIP_147)
    run.until("end")
    words = str(end_of_data_picture(run)).splitlines()[1:]
    for task in ("source", "sink 1", "sink 2"):
        own = [line.split(", ", 1)[1] for line in words if f", {task}: " in line]
        order = [
            next(n for n, line in enumerate(own) if what in line) for what in ("finish", "barrier", "close")
        ]
        assert order == sorted(order), task
    assert "sink 2: last watermark (from sink 1)" in "\n".join(words)
