"""What a subtask closes at its end, and which error it reports, if closing fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.closing import CLOSING_S
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import JobFailedError, StuckSubtaskError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.restart import NoRestart
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.source.sources import SourceContext, SourceFunction
from pravega_lab.engine.flow.subtask_states import SubtaskState
from pravega_lab.engine.flow.task.hosting import STOP_S
from tests.engine.flow.jobs import CHECKPOINTED, Virtual

TASK = SubtaskId("source → second → third", 0)


class Stubborn(SourceFunction):
    """A legacy source whose `cancel` and `close` raise, and whose `run` needs a while to end."""

    def __init__(self, log: list[str], in_cancel: bool, in_close: bool) -> None:
        self._log, self._in_cancel, self._in_close = log, in_cancel, in_close

    def __deepcopy__(self, memo: Any) -> Stubborn:
        return self  # one log for all copies

    async def run(self, context: SourceContext) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.01)
            self._log.append("run ended")

    def cancel(self) -> None:
        if self._in_cancel:
            raise ValueError("cancel() of the source")

    async def close(self) -> None:
        self._log.append("source closed")
        if self._in_close:
            raise ValueError("close() of the source")


class Closing(Operator):
    """An operator that notes that it was closed; ``error``: what it raises then."""

    def __init__(self, name: str, log: list[str], error: BaseException | None = None) -> None:
        self._name, self._log, self._error = name, log, error

    async def close(self) -> None:
        await asyncio.sleep(0.01)
        self._log.append(f"{self._name} closed")
        if self._error is not None:
            raise self._error


def stubborn(
    log: list[str], *, in_cancel: bool = False, in_close: bool = False, in_operator: bool = False
) -> StreamEnvironment:
    env = StreamEnvironment("stubborn")
    error = ValueError("close() of the operator") if in_operator else None
    stream = env.add_source(Stubborn(log, in_cancel, in_close), uid="source")
    stream = stream.transform("second", lambda: Closing("second", log, error))
    stream.transform("third", lambda: Closing("third", log))
    return env


FAULTS = [
    ({"in_cancel": True}, "cancel() of the source"),
    ({"in_close": True}, "close() of the source"),
    ({"in_operator": True}, "close() of the operator"),
    ({"in_cancel": True, "in_close": True, "in_operator": True}, "cancel() of the source"),
]


@pytest.mark.parametrize(("faults", "first"), FAULTS)
def test_a_cancelled_subtask_closes_everything_and_reports_the_first_error(
    faults: dict[str, bool], first: str, caplog: pytest.LogCaptureFixture
) -> None:
    virtual, log = Virtual(), list[str]()

    async def story() -> None:
        job = virtual.job(stubborn(log, **faults))
        await job.start()
        await asyncio.sleep(0.05)
        assert [str(id) for id in job.graph.subtasks()] == [str(TASK)]
        await job.cancel()

    virtual.run(story)
    assert log == ["run ended", "third closed", "second closed", "source closed"]
    last = virtual.told.of(seen.SubtaskStateChanged)[-1]
    assert last.state == SubtaskState.CANCELED.value
    assert first in last.reason
    logged = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert str(logged[0]) == first


@pytest.mark.parametrize(("faults", "first"), FAULTS)
def test_a_failed_subtask_closes_everything_and_reports_why_it_failed(
    faults: dict[str, bool], first: str
) -> None:
    virtual, log = Virtual(), list[str]()

    async def story() -> None:
        job = virtual.job(stubborn(log, **faults), replace(CHECKPOINTED, restart=NoRestart()))
        await job.start()
        await asyncio.sleep(0.05)
        job.fail_subtask(TASK, RuntimeError("broken"))
        with pytest.raises(JobFailedError, match="broken") as failed:
            await job.wait()
        cause = failed.value.__cause__
        assert isinstance(cause, RuntimeError)
        assert first in "\n".join(cause.__notes__)

    virtual.run(story)
    assert log == ["run ended", "third closed", "second closed", "source closed"]


def test_an_operator_that_awaits_a_cancelled_future_as_it_closes_keeps_no_other_one_open() -> None:
    virtual, log = Virtual(), list[str]()

    async def story() -> None:
        env = StreamEnvironment("aborted")
        stream = env.add_source(Stubborn(log, in_cancel=False, in_close=False), uid="source")
        stream = stream.transform("second", lambda: Closing("second", log))
        stream.transform("third", lambda: Closing("third", log, asyncio.CancelledError("aborted")))
        job = virtual.job(env)
        await job.start()
        await asyncio.sleep(0.05)
        await job.cancel()

    virtual.run(story)
    assert log == ["run ended", "third closed", "second closed", "source closed"]
    assert "aborted" in virtual.told.of(seen.SubtaskStateChanged)[-1].reason


def test_a_subtask_that_is_cancelled_while_it_closes_closes_the_rest() -> None:
    virtual, log = Virtual(), list[str]()

    async def story() -> None:
        job = virtual.job(stubborn(log))
        await job.start()
        await asyncio.sleep(0.05)
        subtask = job.master.executions[TASK].subtask
        assert subtask is not None
        closing = asyncio.ensure_future(subtask.chain.close())
        await asyncio.sleep(0.005)
        closing.cancel()
        await asyncio.wait([closing])
        assert closing.cancelled()
        await job.cancel()

    virtual.run(story)
    assert log[-2:] == ["second closed", "source closed"]


# -- code that does not end when it is cancelled -------------------------------------------------------------


class Swallowing(Operator):
    """An operator whose records take a while, and that swallows up to ``left`` cancellations."""

    def __init__(self, taken: list[int], left: list[int], close_s: float = 0) -> None:
        self._taken, self._left, self._close_s = taken, left, close_s

    async def process_batch(self, batch: Batch, input: int) -> None:
        ends_at = asyncio.get_running_loop().time() + 0.01
        while (rest := ends_at - asyncio.get_running_loop().time()) > 0 or self._left[0] > 1:
            try:
                await asyncio.sleep(rest if rest > 0 else 1000)
            except asyncio.CancelledError:
                if not self._left[0]:
                    raise
                self._left[0] -= 1
        self._taken += [row["n"] for row, _, _ in batch.records()]

    async def close(self) -> None:
        close_s, self._close_s = self._close_s, 0
        await asyncio.sleep(close_s)


def swallowing(make: Callable[[], Operator]) -> StreamEnvironment:
    env = StreamEnvironment("swallowing", chaining=False)
    env.from_rows([{"n": n} for n in range(200)], batch_rows=1).transform("slow", make)
    return env


def test_a_subtask_whose_code_swallows_the_cancellation_takes_no_further_batch() -> None:
    virtual, taken = Virtual(), list[int]()

    async def story() -> None:
        job = virtual.job(swallowing(lambda: Swallowing(taken, [1])))
        await job.start()
        await asyncio.sleep(0.5)
        before = len(taken)
        await asyncio.wait_for(job.cancel(), 1)
        await asyncio.sleep(1)
        assert 0 < before <= len(taken) <= before + 1

    virtual.run(story)


def test_a_job_whose_subtask_never_ends_fails_instead_of_starting_another_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    virtual, left, made = Virtual(), [0], list[Operator]()

    def make() -> Operator:
        made.append(Swallowing([], left))
        return made[-1]

    async def story() -> None:
        job = virtual.job(swallowing(make))
        await job.start()
        await asyncio.sleep(0.5)
        left[0] = 1000
        job.fail_subtask(SubtaskId("source", 0), RuntimeError("broken"))
        await asyncio.sleep(STOP_S - 1)
        assert job.state == "restarting"
        with pytest.raises(JobFailedError, match=r"slow\[0\]#0 has not ended 180 s after") as failed:
            await asyncio.wait_for(job.wait(), 5)
        assert isinstance(failed.value.__cause__, StuckSubtaskError)
        left[0] = 0

    virtual.run(story)
    assert len(made) == 1
    assert "ends although a subtask still runs" in caplog.text


@pytest.mark.parametrize("failed", ["source", "slow"])
def test_an_operator_whose_close_never_ends_does_not_keep_a_job_from_restarting(failed: str) -> None:
    virtual, taken, closings = Virtual(), list[int](), [1e9, 0.0]

    async def story() -> None:
        env = swallowing(lambda: Swallowing(taken, [0], closings.pop(0)))
        job = virtual.job(env)
        await job.start()
        await asyncio.sleep(0.5)
        job.fail_subtask(SubtaskId(failed, 0), RuntimeError("broken"))
        await asyncio.wait_for(job.wait(), CLOSING_S + 10)

    virtual.run(story)
    assert set(taken) == set(range(200))
