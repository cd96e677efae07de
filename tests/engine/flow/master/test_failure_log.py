"""Failures and restarts of a job are logged, and do not fill the log."""

from __future__ import annotations

import asyncio
import importlib
import logging
from dataclasses import replace

import pytest

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master import failure_log
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.failure_log import PERIOD_MS, FailureLog
from pravega_lab.engine.flow.master.job import Job, run
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.source.master_hook import MasterHook
from tests.engine.flow.jobs import CHECKPOINTED, Virtual, collect


def failure(value: object) -> Exception:
    try:
        if value is None:
            raise KeyError("wrod")
        raise ValueError(value)
    except Exception as error:
        return error


def test_a_failure_has_its_traceback_once_and_restarts_are_not_logged_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = FailureLog("words")
    for number in range(1000):  # the same place raises, with another message each time
        log.restart("map[0]", failure(number), 100, number * 100)
    log.restart("map[1]", failure(None), 100, 99_901)
    lines = [(record.getMessage(), record.exc_info is not None) for record in caplog.records]
    assert lines[0] == ("job 'words': map[0] failed, and restarts in 100 ms (restart 1): 0", True)
    assert lines[1] == ("job 'words': map[0] failed, and restarts in 100 ms (restart 101): 100", False)
    assert len(lines) == 1000 * 100 // PERIOD_MS + 1
    assert lines[-1] == ("job 'words': map[1] failed, and restarts in 100 ms (restart 1001): 'wrod'", True)


def test_failed_checkpoints_are_not_logged_all(caplog: pytest.LogCaptureFixture) -> None:
    log = FailureLog("words")
    for number in range(100):
        log.checkpoint(number + 1, failure(f"reason {number}"), number * PERIOD_MS // 10)
    assert len(caplog.messages) == 10
    assert caplog.messages[1] == (
        "job 'words': a checkpoint failed, and the job continues (11 failed in a row): reason 10"
    )


class FullDisk(MemoryFiles):
    """Files that cannot be written while the disk is full."""

    is_full = True

    async def write(self, path: str, data: bytes) -> None:
        if self.is_full:
            raise OSError("No space left on device")
        await super().write(path, data)


def test_failed_checkpoints_that_the_job_tolerates_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    """A job could run for days without a checkpoint, and neither the log nor `explain` said so."""
    env, files = StreamEnvironment("words"), FullDisk()
    collect(env.from_rows([{"word": "to"}]), [])
    config = JobConfig(CheckpointConfig(interval_ms=10, tolerable_failures=1000))

    async def story() -> None:
        job = Job(env.job_graph(), config, files=files)
        await job.start()
        async with asyncio.timeout(20):
            while job.master.coordinator.failures.in_a_row < 2:
                await asyncio.sleep(0.001)
            [said] = [sentence for sentence in job.explain() if "in a row" in sentence]
            files.is_full = False
            await job.wait()
        number = said.partition(" ")[0]
        assert said == (
            f"{number} checkpoints failed in a row, and the job tolerates 1,000. The last error: An IO "
            "failure occurred in the checkpoint coordinator. No space left on device."
        )
        assert not any("in a row" in sentence for sentence in job.explain())

    asyncio.run(story())
    assert caplog.messages == [
        "job 'words': a checkpoint failed, and the job continues (1 failed in a row): An IO failure occurred "
        "in the checkpoint coordinator. No space left on device"
    ]


class Unreachable(MasterHook):
    """A hook that raises as long as its store cannot be reached."""

    identifier, is_down = "store", True

    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> None:
        if self.is_down:
            raise RuntimeError("the store cannot be reached")


def test_checkpoints_whose_hook_raises_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    """They never fail the job (flink.md 2.5), so it could run without a checkpoint, and nothing said so."""
    env, hook = StreamEnvironment("words"), Unreachable()
    collect(env.from_rows([{"word": "to"}]), [])
    graph = env.job_graph()
    next(operator for _, operator in graph.operators()).node.make_hook = lambda: hook

    async def story() -> None:
        job = Job(graph, JobConfig(CheckpointConfig(interval_ms=10)), files=MemoryFiles())
        await job.start()
        async with asyncio.timeout(20):
            while job.master.coordinator.failures.in_a_row < 2:
                await asyncio.sleep(0.001)
            [said] = [sentence for sentence in job.explain() if "in a row" in sentence]
            hook.is_down = False
            await job.wait()
        assert "checkpoints failed in a row, and this never fails the job. The last error: " in said
        assert said.endswith("the store cannot be reached.")
        assert not any("in a row" in sentence for sentence in job.explain())

    asyncio.run(story())
    [line] = caplog.messages
    assert line.startswith("job 'words': a checkpoint failed, and the job continues (1 failed in a row): ")
    assert line.endswith("the store cannot be reached")


def typo() -> StreamEnvironment:
    def mistaken(row: Row) -> Row:
        return {"word": row["wrod"]}

    env = StreamEnvironment("words")
    collect(env.from_rows([{"word": "to"}]).map(mistaken), [])
    return env


CONFIG = replace(CHECKPOINTED, restart=FixedDelay(attempts=2, wait_ms=1))


def test_a_typo_in_a_function_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(JobFailedError):
        run(typo().job_graph(), CONFIG, files=MemoryFiles())
    assert caplog.records[0].name == failure_log.__name__
    assert "map → collect[0] failed, and restarts in 1 ms (restart 1)" in caplog.text
    assert "KeyError: 'wrod'" in caplog.text
    assert "mistaken" in caplog.text  # the function, in the traceback


def test_a_simulated_job_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    importlib.import_module("pravega_lab.engine.simulation.flow.world")
    with pytest.raises(JobFailedError):
        Virtual().finish(typo(), CONFIG)
    assert caplog.records == []


def test_the_tutorials_keep_failures_off_standard_error() -> None:
    importlib.import_module("pravega_lab.tutorials")
    handlers = logging.getLogger(failure_log.__name__).handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in handlers)
