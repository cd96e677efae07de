"""Scripts of jobs whose data ends, that are stopped with a savepoint, and that are restored."""

from __future__ import annotations

import re

from tests.conformance.flink.catalogue import case
from tests.conformance.flink.world import Lab, RefusedError

# -- final checkpoints (FLIP-147) ---------------------------------------------------------------------------


@case
async def final_checkpoint_of_a_chain(lab: Lab) -> list[str]:
    await lab.start("chain")
    await lab.until(r"sink.element b1")
    first = await lab.checkpoint()
    await lab.until(r"complete 1$", 3)
    await lab.open_gate(1)
    await lab.until(r"sink.finish")
    last = await lab.final_checkpoint()
    state = await lab.wait()
    return [state, *lab.lifecycle(), await lab.metadata(first), await lab.metadata(last)]


@case
async def final_checkpoint_of_tasks(lab: Lab) -> list[str]:
    await lab.start("tasks")
    await lab.until(r"sink.element", 2)
    await lab.checkpoint()
    await lab.until(r"complete 1$", 4)
    await lab.until(r"sink.commit")
    await lab.open_gate(1)
    await lab.until(r"sink.finish")
    last = await lab.final_checkpoint()
    return [await lab.wait(), *lab.lifecycle(), await lab.metadata(last)]


@case
async def inputs_that_end_one_after_the_other(lab: Lab) -> list[str]:
    await lab.start("inputs")
    await lab.until(r"sink.element", 2)
    await lab.open_gate(1)
    await lab.until(r"co.end-input 1")
    await lab.until(r"sink.element end1")
    first = await lab.checkpoint()
    await lab.until(r"co.complete 1$")
    await lab.until_finished(1)
    await lab.open_gate(2)
    await lab.until(r"sink.finish")
    last = await lab.final_checkpoint()
    return [await lab.wait(), *lab.lifecycle(), await lab.metadata(first), await lab.metadata(last)]


async def partly(lab: Lab, job: str = "mixed") -> str:
    """Until one of two subtasks has finished: its checkpoint."""
    await lab.start(job)
    await lab.until(r"end\[0\] sink.element", 3)
    await lab.checkpoint()
    await lab.until(r"complete 1$", 6)
    await lab.until(r"sink.commit")
    await lab.open_gate(1)
    await lab.until(r"some\[0\] a.finish")
    await lab.until(r"sink.element", 6)
    await lab.checkpoint()
    await lab.until_finished(1)
    await lab.until(r"complete 2$", 6)
    await lab.until(r"sink.commit", 2)
    folder = await lab.checkpoint()
    await lab.until(r"complete 3$", 4)
    await lab.until(r"sink.commit", 3)
    return folder


async def _fully(lab: Lab) -> str:
    """Then the other has finished too: its checkpoint."""
    await partly(lab)
    await lab.open_gate(2)
    await lab.until(r"some\[1\] a.finish")
    await lab.until(r"sink.element", 9)
    await lab.checkpoint()
    await lab.until_finished(2)
    await lab.until(r"complete 4$", 4)
    await lab.until(r"sink.commit", 4)
    folder = await lab.checkpoint()
    await lab.until(r"complete 5$", 2)
    await lab.until(r"sink.commit", 5)
    return folder


@case
async def checkpoint_after_one_of_two_subtasks_finished(lab: Lab) -> list[str]:
    folder = await partly(lab)
    savepoint = await lab.savepoint()  # of which nobody is told
    await lab.cancel()
    return [*lab.lifecycle(), await lab.metadata(folder), await lab.metadata(savepoint)]


@case
async def checkpoint_after_an_operator_finished(lab: Lab) -> list[str]:
    folder = await _fully(lab)
    await lab.cancel()
    return [*lab.lifecycle(), await lab.metadata(folder)]


@case
async def restored_after_one_of_two_subtasks_finished(lab: Lab) -> list[str]:
    folder = await partly(lab)
    await lab.cancel()
    await lab.start("mixed", restore=folder)
    await lab.open_gate(2)
    await lab.until(r"a.finish", 2)
    await lab.until(r"sink.element", 5)
    last = await lab.checkpoint()
    await lab.until_finished(2)
    await lab.until(r"sink.commit")
    await lab.until(r"(endless|some).*complete 4$", 6)
    await lab.cancel()
    return [*lab.lifecycle(), await lab.metadata(last)]


@case
async def restored_after_an_operator_finished(lab: Lab) -> list[str]:
    folder = await _fully(lab)
    await lab.cancel()
    await lab.start("mixed", restore=folder)
    await lab.open_gate(3)
    await lab.until(r"sink.element y1")
    last = await lab.checkpoint()
    await lab.until_finished(2)
    await lab.until(r"sink.commit")
    await lab.until(r"complete 6$", 2)
    after = await lab.checkpoint()
    await lab.until(r"complete 7$", 2)
    await lab.until(r"sink.commit", 2)
    await lab.cancel()
    return [*lab.lifecycle(), await lab.metadata(last), await lab.metadata(after)]


REASONS = {
    "mixed operator finished state": "mixed operator finished state|mixed operators? which are finished",
    "an operator in front is not finished": "predecessor not fully finished|predeceased|in front of it is",
    "the job does not have the operator": "Cannot map checkpoint/savepoint state|has state of operator",
}


def _refused(error: RefusedError) -> str:
    """Why, for both engines in the same words."""
    reasons = [reason for reason, words in REASONS.items() if re.search(words, str(error))]
    return "refused: " + (", ".join(reasons) or str(error))


async def _grown(lab: Lab, job: str) -> list[str]:
    folder = await _fully(lab)
    await lab.cancel()
    try:
        await lab.start(job, restore=folder)
    except RefusedError as error:
        return [_refused(error)]
    await lab.until(r"new.*n.finish", 2)
    await lab.until(r"sink.element", 4)
    last = await lab.checkpoint()
    await lab.until(r"(new|endless).*complete 6$", 4)
    await lab.until(r"sink.commit")
    await lab.until_finished(4)
    await lab.cancel()
    return [*lab.lifecycle(), await lab.metadata(last)]


@case
async def restored_with_an_operator_chained_to_a_finished_one(lab: Lab) -> list[str]:
    return await _grown(lab, "mixed-chained")


@case
async def restored_with_an_operator_in_front_of_a_finished_one(lab: Lab) -> list[str]:
    return await _grown(lab, "mixed-in-front")


@case
async def restored_with_an_operator_behind_a_finished_one(lab: Lab) -> list[str]:
    return await _grown(lab, "mixed-behind")


@case
async def restored_without_an_operator_that_has_state(lab: Lab) -> list[str]:
    await lab.start("chain")
    await lab.until(r"sink.element b1")
    folder = await lab.savepoint()
    await lab.cancel()
    try:
        await lab.start("inputs", restore=folder)
    except RefusedError as error:
        return [_refused(error)]
    await lab.cancel()
    return ["runs"]


@case
async def union_list_state_where_some_subtasks_have_ended(lab: Lab) -> list[str]:
    await lab.start("mixed-union")
    await lab.until(r"end\[0\] sink.element", 3)
    await lab.open_gate(1)
    await lab.until(r"some\[0\] a.finish")
    await lab.until(r"sink.element", 6)
    try:
        said = await lab.checkpoint()
    except RefusedError as error:
        message = str(error)
        said = "used UnionListState" + message.rpartition("used UnionListState")[2].partition(".")[0]
    await lab.until(r"aborted 1$", 6)
    await lab.open_gate(2)
    await lab.until(r"some\[1\] a.finish")
    await lab.until(r"sink.element", 9)
    folder = await lab.checkpoint()
    await lab.until_finished(2)
    await lab.until(r"complete 2$", 6)
    await lab.until(r"sink.commit")
    await lab.cancel()
    return [said, *lab.lifecycle(), await lab.metadata(folder)]


# -- stop-with-savepoint ------------------------------------------------------------------------------------


async def _stopped_chain(lab: Lab, job: str, last: str, *, drain: bool) -> list[str]:
    await lab.start(job)
    await lab.until(last)
    folder = await lab.stop(drain=drain)
    lines = [await lab.wait(), *lab.lifecycle(), await lab.metadata(folder)]
    await lab.open_gate(1)
    await lab.start(job, restore=folder)
    await lab.until(r"(sink|writer).element c1")
    await lab.stop(drain=drain)
    return [*lines, "resumed", *lab.lifecycle()]


@case
async def drained_chain(lab: Lab) -> list[str]:
    return await _stopped_chain(lab, "endless", r"sink.element b1", drain=True)


@case
async def suspended_chain(lab: Lab) -> list[str]:
    return await _stopped_chain(lab, "endless", r"sink.element b1", drain=False)


@case
async def drained_writer_and_committer(lab: Lab) -> list[str]:
    return await _stopped_chain(lab, "endless-committing", r"writer.element b1", drain=True)


@case
async def suspended_writer_and_committer(lab: Lab) -> list[str]:
    return await _stopped_chain(lab, "endless-committing", r"writer.element b1", drain=False)


@case
async def writer_and_committer_of_a_bounded_job(lab: Lab) -> list[str]:
    await lab.start("committing")
    await lab.until(r"writer.element b1")
    await lab.checkpoint()
    await lab.until(r"committer.commit")
    await lab.until(r"source.complete 1")
    await lab.open_gate(1)
    await lab.until(r"writer.flush at end")
    await lab.final_checkpoint()
    return [await lab.wait(), *lab.lifecycle()]


async def _stopped_tasks(lab: Lab, *, drain: bool) -> list[str]:
    await lab.start("endless-tasks")
    await lab.until(r"sink.element", 2)
    folder = await lab.stop(drain=drain)
    return [await lab.wait(), *lab.lifecycle(), await lab.metadata(folder)]


@case
async def drained_tasks(lab: Lab) -> list[str]:
    return await _stopped_tasks(lab, drain=True)


@case
async def suspended_tasks(lab: Lab) -> list[str]:
    return await _stopped_tasks(lab, drain=False)


async def _stopped_windows(lab: Lab, *, drain: bool) -> list[str]:
    await lab.start("windows")
    await lab.open_gate(1)
    await lab.until(r"sink.element window", 2)
    folder = await lab.stop(drain=drain)
    lines = ["rows " + lab.rows("sink"), *lab.committed()]
    await lab.open_gate(2)
    await lab.start("windows", restore=folder)
    await lab.until(r"source.element a14000")
    await lab.stop(drain=True)
    return [*lines, "resumed and drained", "rows " + lab.rows("sink"), *lab.committed()]


@case
async def drained_windows_and_timers(lab: Lab) -> list[str]:
    return await _stopped_windows(lab, drain=True)


@case
async def suspended_windows_and_timers(lab: Lab) -> list[str]:
    return await _stopped_windows(lab, drain=False)


# -- what is restored ---------------------------------------------------------------------------------------


async def _spread(lab: Lab, parallelism: int) -> list[str]:
    await lab.start("spread", 2)
    await lab.until(r"sink.element", 5)
    folder = await lab.savepoint()
    lines = [await lab.metadata(folder)]
    await lab.cancel()
    await lab.start("spread", parallelism, restore=folder)
    await lab.open_gate(1)
    await lab.until(r"sink.element", 3)
    await lab.stop(drain=True)
    restored = sorted(map(ordered, lab.restored()))
    return [*lines, *restored, "rows " + lab.rows("sink"), *lab.committed()]


def ordered(line: str) -> str:
    """Who gets which elements is fixed; their order, in Flink, changes from run to run."""
    head, _, elements = line.partition("[")
    place, _, elements = elements.partition("[")
    return f"{head}[{place}[{', '.join(sorted(elements[:-1].split(', ')))}]"


@case
async def state_of_two_subtasks_to_one(lab: Lab) -> list[str]:
    return await _spread(lab, 1)


@case
async def state_of_two_subtasks_to_two(lab: Lab) -> list[str]:
    return await _spread(lab, 2)


@case
async def state_of_two_subtasks_to_three(lab: Lab) -> list[str]:
    return await _spread(lab, 3)


@case
async def state_of_two_subtasks_to_four(lab: Lab) -> list[str]:
    return await _spread(lab, 4)


@case
async def failure_after_a_checkpoint(lab: Lab) -> list[str]:
    await lab.start("failing")
    await lab.until(r"sink.element a1")
    await lab.checkpoint()
    await lab.until(r"complete 1$", 3)
    await lab.until(r"sink.commit")
    await lab.open_gate(1)
    await lab.until(r"sink.element b1")
    await lab.open_gate(2)
    await lab.until(r"#1 sink.element c1")
    await lab.checkpoint()
    await lab.until(r"complete 2$", 3)
    await lab.until(r"#1 sink.commit")
    await lab.stop(drain=False)
    return lab.lifecycle()


@case
async def failure_of_one_of_two_lines(lab: Lab) -> list[str]:
    """The other line has no channel to the one that fails, and goes on."""
    await lab.start("lines")
    await lab.until(r"sink.element", 2)
    await lab.checkpoint()
    await lab.until(r"complete 1$", 4)
    await lab.until(r"sink.commit", 2)
    await lab.open_gate(2)
    await lab.until(r"\[1\]#1 sink.element b2")
    await lab.open_gate(1)
    await lab.until(r"\[0\] sink.element b1")
    await lab.checkpoint()
    await lab.until(r"complete 2$", 4)
    await lab.until(r"sink.commit", 4)
    await lab.stop(drain=False)
    return lab.lifecycle()
