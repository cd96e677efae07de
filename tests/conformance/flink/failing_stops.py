"""Scripts of stops with a savepoint that fail: before the savepoint is complete, and after."""

from __future__ import annotations

import re

from tests.conformance.flink.cases import partly
from tests.conformance.flink.catalogue import case
from tests.conformance.flink.world import Lab, RefusedError

_WORDS = {  # the first that fits
    "the savepoint is there, but the job did not stop": "A savepoint has been created at",
    "the folder cannot be written": "below-a-file|is forbidden",
    "a subtask declined it": "Asynchronous task checkpoint failed",
    # In which of these ways Flink puts it is left to chance.
    "a subtask failed": "Coordinator is suspending|Task has failed|A task of the job has failed",
    "it could not be triggered": "An Exception occurred while triggering|Trigger checkpoint failure",
}
_CHANCE = r"\.aborted "  # the notice races with the cancellation of who would get it


async def _refusal(lab: Lab, *, drain: bool, forbidden: bool = False) -> str:
    """Why the stop failed, for both engines in the same words."""
    try:
        await lab.stop(drain=drain, forbidden=forbidden)
    except RefusedError as error:
        said = str(error)
        return "refused: " + next((why for why, words in _WORDS.items() if re.search(words, said)), said)
    return "stopped"


async def _begun(lab: Lab, job: str = "endless") -> None:
    """With checkpoint 1, to which a failure goes back."""
    await lab.start(job)
    await lab.until(r"sink.element b1")
    await lab.checkpoint()
    await lab.until(r"complete 1$", 3)
    await lab.until(r"sink.commit")


async def _left(lab: Lab) -> str:
    return "no savepoint" if await lab.savepoint_left() == "-" else "a savepoint"


def _without_ids(lines: list[str]) -> list[str]:
    """After a drain that failed Flink may have begun the checkpoint with which it ends bounded jobs."""
    return [re.sub(r"(prepare|snapshot|complete) \d+", r"\1", line) for line in lines]


async def _goes_on(lab: Lab, attempt: str, *, drain: bool) -> list[str]:
    """The job reads on and is stopped at last."""
    await lab.open_gate(1)
    await lab.until(rf"\[0\]{attempt} sink.element c1")
    await lab.stop(drain=drain)
    return [await lab.wait(), *lab.lifecycle(_CHANCE)]


async def _restarts(lab: Lab, place: str, *, drain: bool) -> list[str]:
    await _begun(lab)
    await lab.fail_at(place)
    said = await _refusal(lab, drain=drain)
    left = await _left(lab)
    await lab.until(r"#1 source.start")
    lines = await _goes_on(lab, "#1", drain=drain)
    return [said, left, *(_without_ids(lines) if drain else lines)]


@case
async def drain_fails_before_the_savepoint(lab: Lab) -> list[str]:
    return await _restarts(lab, r"a\.finish", drain=True)


@case
async def suspension_fails_before_the_savepoint(lab: Lab) -> list[str]:
    return await _restarts(lab, r"a\.prepare 2", drain=False)


@case
async def drain_fails_in_the_snapshot(lab: Lab) -> list[str]:
    return await _restarts(lab, r"a\.snapshot 2", drain=True)


@case
async def suspension_fails_in_the_snapshot(lab: Lab) -> list[str]:
    return await _restarts(lab, r"a\.snapshot 2", drain=False)


@case
async def drain_is_declined(lab: Lab) -> list[str]:
    return await _restarts(lab, r"a\.write", drain=True)


@case
async def suspension_is_declined(lab: Lab) -> list[str]:
    return await _restarts(lab, r"a\.write", drain=False)


async def _never_began(lab: Lab, place: str, *, drain: bool) -> list[str]:
    await _begun(lab)
    await lab.fail_at(place)
    said = await _refusal(lab, drain=drain)
    return [said, await _left(lab), *await _goes_on(lab, "", drain=drain)]


@case
async def drain_fails_in_the_enumerator(lab: Lab) -> list[str]:
    return await _never_began(lab, r"enumerator\.snapshot 2", drain=True)


@case
async def suspension_fails_in_the_enumerator(lab: Lab) -> list[str]:
    return await _never_began(lab, r"enumerator\.snapshot 2", drain=False)


@case
async def suspension_into_a_folder_that_cannot_be_written(lab: Lab) -> list[str]:
    """Ours is refused before it has an id, Flink's after that: ids are left out."""
    await _begun(lab)
    said = await _refusal(lab, drain=False, forbidden=True)
    left = await _left(lab)
    return [said, left, *_without_ids(await _goes_on(lab, "", drain=False))]


async def _fails_after(lab: Lab, place: str, *, drain: bool) -> list[str]:
    """What the job does, and what a job says that begins from the savepoint."""
    await _begun(lab)
    await lab.fail_at(place)
    said = await _refusal(lab, drain=drain)
    folder = await lab.savepoint_left()
    lines = [said, await lab.wait(), *lab.lifecycle(_CHANCE), await lab.metadata(folder)]
    await lab.open_gate(1)
    await lab.start("endless", restore=folder)
    return [*lines, "resumed", *await _goes_on(lab, "", drain=drain)]


@case
async def drain_fails_in_the_notification(lab: Lab) -> list[str]:
    return await _fails_after(lab, r"b\.complete 2", drain=True)


@case
async def suspension_fails_in_the_notification(lab: Lab) -> list[str]:
    return await _fails_after(lab, r"b\.complete 2", drain=False)


@case
async def drain_fails_in_the_commit(lab: Lab) -> list[str]:
    return await _fails_after(lab, r"sink\.commit \[.*end", drain=True)


@case
async def suspension_fails_in_the_commit(lab: Lab) -> list[str]:
    return await _fails_after(lab, r"sink\.commit \[\]", drain=False)


@case
async def drain_fails_while_it_closes(lab: Lab) -> list[str]:
    return await _fails_after(lab, r"a\.close", drain=True)


@case
async def suspension_fails_while_it_closes(lab: Lab) -> list[str]:
    return await _fails_after(lab, r"a\.close", drain=False)


# -- notices that fail after checkpoints ---------------------------------------------------------------------


@case
async def failure_in_the_notice_of_a_complete_checkpoint(lab: Lab) -> list[str]:
    await _begun(lab)
    await lab.fail_at(r"b\.complete 2")
    await lab.checkpoint()
    await lab.until(r"#1 source.start")
    return await _goes_on(lab, "#1", drain=False)


@case
async def failure_in_the_notice_of_an_aborted_checkpoint(lab: Lab) -> list[str]:
    await _begun(lab)
    await lab.fail_at(r"enumerator\.snapshot 2")
    await lab.fail_at(r"b\.aborted 2")
    try:
        await lab.checkpoint()
    except RefusedError:
        await lab.until(r"#1 source.start")
    await lab.open_gate(1)
    await lab.until(r"#1 sink.element c1")
    await lab.stop(drain=False)
    return lab.lifecycle()


# -- jobs of several tasks: one of them fails ----------------------------------------------------------------


async def _task_fails_before(lab: Lab, *, drain: bool) -> list[str]:
    """How far the others had come is left to chance: the second attempts only."""
    await lab.start("endless-tasks")
    await lab.until(r"sink.element", 2)
    await lab.checkpoint()
    await lab.until(r"complete 1$", 4)
    await lab.fail_at(r"map\[1\] a\.prepare 2")
    said = await _refusal(lab, drain=drain)
    left = await _left(lab)
    await lab.until(r"#1 source.start", 2)
    await lab.until(r"end\[0\]#1 sink.begin")
    await lab.open_gate(1)
    await lab.until(r"#1 sink.element b", 2)
    folder = await lab.stop(drain=drain)
    lines = lab.lifecycle(_CHANCE)
    again = [n for n, line in enumerate(lines) if line.endswith("#1")]
    seconds = [line for n in again for line in lines[n : _next_place(lines, n)]]
    # What the ended tasks had sent before the failure is aborted, and how much of it is chance.
    seconds = [re.sub(r"(recover-and-abort) \[.*?\]", r"\1 […]", line) for line in seconds]
    return [said, left, await lab.wait(), *_without_ids(seconds), await lab.metadata(folder)]


def _next_place(lines: list[str], at: int) -> int:
    return next((n for n in range(at + 1, len(lines)) if not lines[n].startswith(" ")), len(lines))


@case
async def drain_fails_in_one_of_several_tasks(lab: Lab) -> list[str]:
    return await _task_fails_before(lab, drain=True)


@case
async def suspension_fails_in_one_of_several_tasks(lab: Lab) -> list[str]:
    return await _task_fails_before(lab, drain=False)


async def _task_fails_after(lab: Lab, *, drain: bool) -> list[str]:
    """How far the others had come is left to chance; what begins from the savepoint is not."""
    await lab.start("endless-tasks")
    await lab.until(r"sink.element", 2)
    await lab.fail_at(r"map\[1\] a\.complete 1")
    said = await _refusal(lab, drain=drain)
    folder = await lab.savepoint_left()
    lines = [said, await lab.wait(), await lab.metadata(folder)]
    await lab.start("endless-tasks", restore=folder)
    await lab.open_gate(1)
    await lab.until(r"sink.element b", 2)
    await lab.stop(drain=drain)
    return [*lines, "resumed", *lab.lifecycle(_CHANCE)]


@case
async def drain_fails_in_the_notification_of_one_of_several_tasks(lab: Lab) -> list[str]:
    return await _task_fails_after(lab, drain=True)


@case
async def suspension_fails_in_the_notification_of_one_of_several_tasks(lab: Lab) -> list[str]:
    return await _task_fails_after(lab, drain=False)


# -- stops where a part had ended ----------------------------------------------------------------------------


async def _stopped_partly(lab: Lab, *, drain: bool) -> list[str]:
    await partly(lab)
    folder = await lab.stop(drain=drain)
    return [await lab.wait(), *lab.lifecycle(), await lab.metadata(folder)]


@case
async def drained_after_one_of_two_subtasks_finished(lab: Lab) -> list[str]:
    return await _stopped_partly(lab, drain=True)


@case
async def suspended_after_one_of_two_subtasks_finished(lab: Lab) -> list[str]:
    return await _stopped_partly(lab, drain=False)
