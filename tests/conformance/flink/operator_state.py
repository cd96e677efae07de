"""Scripts of operator state: broadcast and union lists, given to other subtasks, and where some had ended."""

from __future__ import annotations

import re

from tests.conformance.flink.cases import ordered, partly
from tests.conformance.flink.catalogue import case
from tests.conformance.flink.world import Lab, RefusedError


async def _copies(lab: Lab, before: int, after: int) -> list[str]:
    await lab.start("copies", before)
    await lab.until(r"sink.element", 3)
    folder = await lab.savepoint()
    lines = [await lab.metadata(folder)]
    await lab.cancel()
    await lab.start("copies", after, restore=folder)
    await lab.open_gate(1)
    await lab.until(r"sink.element", 2)
    last = await lab.stop(drain=False)
    restored = sorted(map(ordered, lab.restored()))
    return [*lines, *restored, await lab.metadata(last)]


@case
async def broadcast_state_of_two_subtasks_to_one(lab: Lab) -> list[str]:
    return await _copies(lab, 2, 1)


@case
async def broadcast_state_of_two_subtasks_to_two(lab: Lab) -> list[str]:
    return await _copies(lab, 2, 2)


@case
async def broadcast_state_of_two_subtasks_to_three(lab: Lab) -> list[str]:
    return await _copies(lab, 2, 3)


@case
async def broadcast_state_of_two_subtasks_to_four(lab: Lab) -> list[str]:
    return await _copies(lab, 2, 4)


@case
async def broadcast_state_where_one_of_two_subtasks_had_finished(lab: Lab) -> list[str]:
    folder = await partly(lab, "mixed-broadcast")
    lines = [await lab.metadata(folder)]
    await lab.cancel()
    await lab.start("mixed-broadcast", restore=folder)
    restored = sorted(lab.restored())
    await lab.cancel()
    return [*lines, *restored]


@case
async def union_list_state_where_some_subtasks_have_finished(lab: Lab) -> list[str]:
    """The list is there only after the other subtask has finished; before, nobody minds."""
    await partly(lab, "mixed-late-union")
    await lab.open_gate(2)
    await lab.until(r"some\[1\] a.finish")
    await lab.until(r"sink.element", 9)
    try:
        said = await lab.checkpoint()
    except RefusedError as error:
        said = "used UnionListState" + str(error).rpartition("used UnionListState")[2].partition(".")[0]
    await lab.until(r"aborted 4$", 4)
    await lab.cancel()
    return [said, *lab.lifecycle()]


async def _some(lab: Lab, job: str, after: int) -> list[str]:
    """Of three subtasks the first had finished."""
    await lab.start(job, 3)
    await lab.until(r"sink.element", 3)
    await lab.checkpoint()
    await lab.until(r"complete 1$", 6)
    await lab.open_gate(1)
    await lab.until(r"map\[0\] a.finish")
    await lab.until(r"sink.element", 6)
    await lab.checkpoint()
    await lab.until_finished(2)
    folder = await lab.checkpoint()
    lines = [await lab.metadata(folder)]
    await lab.cancel()
    try:
        await lab.start(job, after, restore=folder)
    except RefusedError as error:
        return [*lines, f"refused: {error}"]
    await lab.until(r"a.restored|a.initialize", after)
    restored = sorted(
        f"{where} {what}" for where, what in lab.journal if re.search(r"restored|initial", what)
    )
    await lab.cancel()
    return [*lines, *restored]


@case
async def list_state_of_three_subtasks_one_of_which_had_finished_to_two(lab: Lab) -> list[str]:
    return await _some(lab, "some-split", 2)


@case
async def list_state_of_three_subtasks_one_of_which_had_finished_to_three(lab: Lab) -> list[str]:
    return await _some(lab, "some-split", 3)


@case
async def list_state_of_three_subtasks_one_of_which_had_finished_to_four(lab: Lab) -> list[str]:
    return await _some(lab, "some-split", 4)


@case
async def broadcast_state_of_three_subtasks_one_of_which_had_finished_to_two(lab: Lab) -> list[str]:
    return await _some(lab, "some-broadcast", 2)


@case
async def broadcast_state_of_three_subtasks_one_of_which_had_finished_to_three(lab: Lab) -> list[str]:
    """The two that go on have the same, as they should: with equal parallelism Flink gives each its own copy
    and another one's together, ours its own."""
    return await _some(lab, "some-equal", 3)


@case
async def broadcast_state_of_three_subtasks_one_of_which_had_finished_to_four(lab: Lab) -> list[str]:
    return await _some(lab, "some-broadcast", 4)
