"""Externally induced sources in both forms, with hooks and enumerators; regional and global recovery."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.checkpoint.history import History
from pravega_lab.engine.flow.checkpoint.metadata import load
from pravega_lab.engine.flow.errors import JobCancelledError, RestoreError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.source.collections import RowsEnumerator, RowsSource, RowsSplit
from pravega_lab.engine.flow.source.sources import (
    Boundedness,
    SourceContext,
    SourceFunction,
    SplitEnumeratorContext,
)
from pravega_lab.engine.flow.subtask_states import SubtaskState as Life
from pravega_lab.engine.simulation.flow.external import ExternalLog, HookSource, InducedSource, LogHook
from tests.engine.flow.jobs import CHECKPOINTED, Virtual

ROWS = [{"n": n} for n in range(60)]


def hooked(virtual: Virtual, log: ExternalLog) -> StreamEnvironment:
    env = StreamEnvironment("hooked", parallelism=2)
    env.add_source(HookSource(log, 2, 1, 0.01), uid="log").sink_to(
        TwoPhaseFileSink("out", virtual.files), uid="sink"
    )
    return env


def induced(virtual: Virtual, log: ExternalLog) -> StreamEnvironment:
    env = StreamEnvironment("induced", parallelism=2)
    env.from_source(InducedSource(log, 1, 0.01), uid="log").sink_to(
        TwoPhaseFileSink("out", virtual.files), uid="sink"
    )
    return env


def rows_of(virtual: Virtual) -> list[int]:
    rows: list[Row] = virtual.run(lambda: committed_rows("out", virtual.files))
    return sorted(row["n"] for row in rows)


@pytest.mark.parametrize("make", [hooked, induced])
def test_exactly_once_through_a_failure(make: Any) -> None:
    virtual, log = Virtual(), ExternalLog(ROWS, 4)

    async def story() -> None:
        job = virtual.job(make(virtual, log))
        await job.start()
        for _ in range(2):
            await asyncio.sleep(0.17)
            job.fail_subtask(job.graph.subtasks()[0], ValueError("broken"))
        await asyncio.sleep(3)
        await job.cancel()

    virtual.run(story)
    assert rows_of(virtual) == list(range(60))


def test_a_failure_before_the_first_checkpoint_resets_the_hook() -> None:
    for reset in (True, False):
        virtual, log = Virtual(), ExternalLog(ROWS, 4)

        async def story(virtual: Virtual = virtual, log: ExternalLog = log, reset: bool = reset) -> None:
            config = replace(CHECKPOINTED, history=History(reset_hooks_in_regions=reset))
            job = virtual.job(hooked(virtual, log), config)
            await job.start()
            await asyncio.sleep(0.05)
            job.fail_subtask(job.graph.subtasks()[0], ValueError("early"))
            await asyncio.sleep(3)
            await job.cancel()

        virtual.run(story)
        lost = set(range(60)) - set(rows_of(virtual))
        assert bool(lost) == (not reset)  # FLINK-20222: what the old readers had read was lost


def test_a_job_that_is_cancelled_while_a_hook_is_reset_deploys_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    virtual, log = Virtual(), ExternalLog(ROWS, 4)

    async def reset_slowly(hook: LogHook) -> None:
        await asyncio.sleep(0.1)

    monkeypatch.setattr(LogHook, "reset", reset_slowly)

    async def story() -> None:
        job = virtual.job(hooked(virtual, log))
        starting = asyncio.create_task(job.start())
        await asyncio.sleep(0.05)
        await job.cancel()
        with pytest.raises(JobCancelledError, match="'hooked'"):
            await starting
        await asyncio.sleep(3)
        assert job.state == "cancelled"
        assert {execution.state for execution in job.master.executions.values()} == {Life.CREATED}

    virtual.run(story)
    assert rows_of(virtual) == []


def test_the_new_form_stops_with_a_savepoint_where_its_reader_reports_it() -> None:
    virtual, log = Virtual(), ExternalLog(ROWS, 4)

    async def story() -> None:
        job = virtual.job(induced(virtual, log))
        await job.start()
        await asyncio.sleep(0.15)
        await job.stop_with_savepoint("sp/1")
        stopped = rows_of_now(virtual)
        assert 0 < len(stopped) < 60
        assert len(stopped) == sum(log.positions.values())  # nothing was emitted after it
        job = virtual.job(induced(virtual, log), restore_from="sp/1")
        await job.start()
        await asyncio.sleep(3)
        await job.cancel()

    virtual.run(story)
    assert rows_of(virtual) == list(range(60))


def rows_of_now(virtual: Virtual) -> list[str]:
    parts = [data for path, data in virtual.files.data.items() if path.startswith("out/part-")]
    return [line for data in parts for line in data.decode().splitlines()]


def test_the_legacy_form_never_hears_that_it_should_stop() -> None:
    virtual, log = Virtual(), ExternalLog(ROWS, 4)

    async def story() -> None:
        job = virtual.job(hooked(virtual, log))
        await job.start()
        await asyncio.sleep(0.15)
        stopping = asyncio.ensure_future(job.stop_with_savepoint("sp/1"))
        await asyncio.sleep(5)
        assert not stopping.done()
        assert job.state == "running"
        assert "sp/1/_metadata" in virtual.files.data  # though the savepoint is complete
        stopping.cancel()
        await job.cancel()

    virtual.run(story)


def test_before_flink_25256_the_new_form_did_not_stop_either() -> None:
    virtual, log = Virtual(), ExternalLog(ROWS, 4)

    async def story() -> None:
        job = virtual.job(induced(virtual, log), replace(CHECKPOINTED, history=History(rendezvous=False)))
        await job.start()
        await asyncio.sleep(0.15)
        stopping = asyncio.ensure_future(job.stop_with_savepoint("sp/1"))
        await asyncio.sleep(5)
        assert not stopping.done()
        assert job.state == "running"
        stopping.cancel()
        await job.cancel()

    virtual.run(story)


def test_a_savepoint_of_the_legacy_form_outlives_the_checkpoints_after_it() -> None:
    virtual, log = Virtual(), ExternalLog(ROWS, 4)

    def counting() -> StreamEnvironment:
        env = StreamEnvironment("counting", parallelism=2)
        counts = env.add_source(HookSource(log, 2, 1, 0.01), uid="log").key_by("n").aggregate(count())
        counts.uid("counts").sink_to(TwoPhaseFileSink("out", virtual.files), uid="sink")
        return env

    async def story() -> None:
        job = virtual.job(counting())
        await job.start()
        await asyncio.sleep(0.35)
        savepoint = await job.trigger_savepoint("sp/1")
        await asyncio.sleep(0.5)
        latest = job.latest_checkpoint
        assert latest is not None
        found = [path for path in virtual.files.data if path.startswith("checkpoints/")]
        assert set(found) == {latest.path + "/_metadata", *latest.files}
        await job.cancel()
        found = [path for path in virtual.files.data if path.startswith("sp/1/")]
        assert set(found) == {"sp/1/_metadata", *(await load(virtual.files, "sp/1")).files}
        job = virtual.job(counting(), replace(CHECKPOINTED, claim=True), restore_from=savepoint)
        await job.start()
        await asyncio.sleep(3)
        await job.cancel()

    virtual.run(story)
    assert rows_of(virtual) == list(range(60))


class _OtherHook(LogHook):
    identifier = "other"  # type: ignore[assignment]


class Renamed(HookSource):
    def create_master_hook(self) -> LogHook:
        return _OtherHook(self._log, self._readers)


def test_state_of_a_hook_that_is_gone_is_refused() -> None:
    virtual, log = Virtual(), ExternalLog(ROWS, 4)

    async def story() -> None:
        job = virtual.job(hooked(virtual, log))
        await job.start()
        await asyncio.sleep(0.3)
        folder = await job.trigger_savepoint("sp/1")
        await job.cancel()
        env = StreamEnvironment("hooked", parallelism=2)
        env.add_source(Renamed(log, 2, 1, 0.01), uid="log").sink_to(
            TwoPhaseFileSink("out", virtual.files), uid="sink"
        )
        with pytest.raises(RestoreError, match="master hook 'external-log'"):
            await virtual.job(env, restore_from=folder).start()

    virtual.run(story)


class Counting(SourceFunction):
    """A legacy source with state of its own."""

    def __init__(self, most: int) -> None:
        self._most, self._next, self._stopped = most, 0, False

    def restore_state(self, state: Any) -> None:
        self._next = max(state, default=0)

    def snapshot_state(self, checkpoint_id: int) -> list[int]:
        return [self._next]

    async def run(self, context: SourceContext) -> None:
        while self._next < self._most and not self._stopped:
            async with context.lock:
                await context.collect(Batch.of_rows([{"n": self._next}]))
                self._next += 1
            await asyncio.sleep(0.01)

    def cancel(self) -> None:
        self._stopped = True


def test_a_legacy_source_keeps_its_place_and_stops_with_a_savepoint() -> None:
    virtual = Virtual()

    def env() -> StreamEnvironment:
        made = StreamEnvironment("counting")
        made.add_source(Counting(60), uid="c").sink_to(TwoPhaseFileSink("out", virtual.files), uid="s")
        return made

    async def story() -> None:
        job = virtual.job(env())
        await job.start()
        await asyncio.sleep(0.23)
        job.fail_subtask(job.graph.subtasks()[0], ValueError("broken"))
        await asyncio.sleep(0.3)
        await job.stop_with_savepoint("sp/1", drain=False)
        job = virtual.job(env(), restore_from="sp/1")
        await job.start()
        await job.wait()

    virtual.run(story)
    assert rows_of(virtual) == list(range(60))


def test_splits_assigned_after_the_checkpoint_come_back_and_only_they() -> None:
    virtual, env = Virtual(), StreamEnvironment("splits", parallelism=2)
    source = RowsSource(
        ROWS, splits=12, batch_rows=1, pause_ms=lambda: 7, boundedness=Boundedness.CONTINUOUS_UNBOUNDED
    )
    env = StreamEnvironment("splits", parallelism=2, observer=virtual.told)
    env.from_source(source).sink_to(TwoPhaseFileSink("out", virtual.files))

    async def story() -> None:
        job = virtual.job(env)
        await job.start()
        await asyncio.sleep(0.19)
        job.fail_subtask(job.graph.subtasks()[1], ValueError("broken"))
        await asyncio.sleep(3)
        await job.stop_with_savepoint("sp/1", drain=True)

    virtual.run(story)
    assert rows_of(virtual) == list(range(60))
    back = [name for o in virtual.told.of(seen.SplitsAssigned) if o.back for name in o.splits]
    assert 0 < len(back) < 12


def test_an_enumerator_that_raises_fails_the_job_globally() -> None:
    virtual, log = Virtual(), ExternalLog(ROWS, 4)

    async def story() -> None:
        job = virtual.job(induced(virtual, log))
        await job.start()
        await asyncio.sleep(0.25)
        job.fail_subtask(job.graph.subtasks()[0], ValueError("a reader cannot be rewound alone"))
        await asyncio.sleep(1)
        await job.cancel()

    virtual.run(story)
    kinds = [o.is_global for o in virtual.told.of(seen.Restored)]
    assert kinds[:3] == [True, False, True]


class SlowToEnd(RowsEnumerator):
    """Its calls never return, and take a while to end when they are cancelled."""

    def __init__(self, told: list[str], context: SplitEnumeratorContext[RowsSplit]) -> None:
        super().__init__(context, ())
        self._told = told
        self._number = sum(what.startswith("close") for what in told)

    async def start(self) -> None:
        self._context.call_async(lambda: self._work("work"), lambda *_: None)
        await self._work("call")

    async def _work(self, what: str) -> None:
        self._told.append(f"{what} {self._number} begins")
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.5)
            self._told.append(f"{what} {self._number} has ended")

    def close(self) -> None:
        self._told.append(f"close {self._number}")


class SlowSource(RowsSource):
    def __init__(self, told: list[str]) -> None:
        super().__init__([])
        self._told = told

    def create_enumerator(self, context: SplitEnumeratorContext[RowsSplit]) -> SlowToEnd:
        return SlowToEnd(self._told, context)


def test_calls_of_an_enumerator_end_before_it_is_closed_and_the_next_one_starts() -> None:
    virtual, env, told = Virtual(), StreamEnvironment(), []
    env.from_source(SlowSource(told)).sink_to(TwoPhaseFileSink("out", virtual.files))

    async def story() -> None:
        job = virtual.job(env, replace(CHECKPOINTED, restart=FixedDelay(wait_ms=10)))
        await job.start()
        await asyncio.sleep(0.05)
        job.master.fail_globally(ValueError("broken"))
        job.master.act()
        await asyncio.sleep(2)
        await job.cancel()

    virtual.run(story)
    for number, (*began, ended, last, closed) in enumerate((told[:5], told[5:])):
        assert began == [f"call {number} begins", f"work {number} begins"]
        assert {ended, last} == {f"call {number} has ended", f"work {number} has ended"}
        assert closed == f"close {number}"
