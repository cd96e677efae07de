"""Scripts of event time: of two sources together, which are idle for a while.

Twice each: where the sources are two inputs of an operator, and where they are two channels of one input.
"""

from __future__ import annotations

from tests.conformance.flink.catalogue import case
from tests.conformance.flink.world import Lab


async def _clocks(lab: Lab, job: str, *steps: str) -> list[str]:
    """Step n is what a source does behind gate n. Then a checkpoint: behind it everybody knows."""
    await lab.start(job)
    await lab.until(r"clock.element", 2)
    for number, step in enumerate(steps, 1):
        source, _, event = step.partition(" ")
        await lab.open_gate(number)
        await lab.until(rf"{source}\[0\] source\.{event}", steps[:number].count(step))
        await lab.checkpoint()
        await lab.until(rf"clock.complete {number}$")
    await lab.cancel()
    return lab.lifecycle(r"close$|^source|^co")


async def _drained(lab: Lab, job: str, *idle: str) -> list[str]:
    """Sources come to the end of event time also if they were idle. In Flink, if all were, nobody hears
    of that end, and what waits for it is not emitted."""
    await lab.start(job)
    await lab.until(r"clock.element", 2)
    for number, source in enumerate(idle, 1):
        await lab.open_gate(number)
        await lab.until(rf"{source}\[0\] source\.idle")
    await lab.checkpoint()
    await lab.until(r"clock.complete 1$")
    await lab.stop(drain=True)
    return lab.lifecycle(r"element|^source|^co")  # what the two inputs emit at their end comes in any order


ALL = ["two element b7", "one idle", "one element a4", "two idle", "one element a9"]
ALL += ["one idle", "two element b8", "one element a10"]
LAST = ["one idle", "two idle", "one element a12", "two element b20"]
LATE = ["one idle", "two element b7", "one element a4", "two element b10", "two idle", "one idle"]
LATE += ["one element a20", "two element b30"]


@case
async def event_time_of_two_inputs(lab: Lab) -> list[str]:
    return await _clocks(lab, "clocks", *ALL)


@case
async def event_time_of_two_channels(lab: Lab) -> list[str]:
    return await _clocks(lab, "clocks-of-one-input", *ALL)


@case
async def idle_inputs_the_furthest_first(lab: Lab) -> list[str]:
    return await _clocks(lab, "last-idle", *LAST)


@case
async def idle_channels_the_furthest_first(lab: Lab) -> list[str]:
    return await _clocks(lab, "last-idle-of-one-input", *LAST)


@case
async def idle_inputs_the_last_of_which_was_late(lab: Lab) -> list[str]:
    return await _clocks(lab, "late-idle", *LATE)


@case
async def idle_channels_the_last_of_which_was_late(lab: Lab) -> list[str]:
    return await _clocks(lab, "late-idle-of-one-input", *LATE)


@case
async def drained_with_an_idle_input(lab: Lab) -> list[str]:
    return await _drained(lab, "last-idle", "one")


@case
async def drained_with_an_idle_channel(lab: Lab) -> list[str]:
    return await _drained(lab, "last-idle-of-one-input", "one")


@case
async def drained_with_idle_inputs(lab: Lab) -> list[str]:
    return await _drained(lab, "last-idle", "one", "two")


@case
async def drained_with_idle_channels(lab: Lab) -> list[str]:
    return await _drained(lab, "last-idle-of-one-input", "one", "two")
