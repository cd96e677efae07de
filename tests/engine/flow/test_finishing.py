"""FLIP-147: how bounded jobs end, now and before; stop-with-savepoint with and without drain."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import replace

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.history import Finishing, History, LastPiece
from pravega_lab.engine.flow.checkpoint.plan import TaskAck
from pravega_lab.engine.flow.checkpoint.storage import IN_PROGRESS
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import (
    CheckpointFailedError,
    IllegalStateError,
    JobFailedError,
    StopWithSavepointStoppingError,
)
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.master import JobMaster
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.operators.functions import FunctionContext, ProcessFunction, count
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.sink.two_phase import TwoPhaseCommitOperator
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from tests.engine.flow.jobs import CHECKPOINTED, Virtual

ROWS = [{"n": n} for n in range(40)]


class Passing(TwoPhaseCommitOperator):
    """A two-phase sink that also passes its records on, so that several can stand in a chain."""

    def process_batch(self, batch, input):  # type: ignore[no-untyped-def]
        self.context.output.emit(batch)
        return super().process_batch(batch, input)

    def process_watermark(self, watermark):  # type: ignore[no-untyped-def]
        return Operator.process_watermark(self, watermark)


def chain_of_sinks(virtual: Virtual, length: int) -> StreamEnvironment:
    env = StreamEnvironment("chain", chaining=False)
    stream = env.from_source(RowsSource(ROWS, batch_rows=5, pause_ms=lambda: 10))
    for n in range(length):
        make = lambda n=n: Passing(TwoPhaseFileSink(f"out-{n}", virtual.files))  # noqa: E731
        stream = stream.transform(f"sink-{n}", make)
    return env


def checkpoints_after_the_source(virtual: Virtual) -> int:
    """How many checkpoints completed after the source had no more data."""
    ends = [
        n
        for n, o in enumerate(virtual.told.all)
        if isinstance(o, seen.LifecycleCall) and o.subtask.vertex == "source" and o.what == "finish"
    ]
    return sum(isinstance(o, seen.CheckpointCompleted) for o in virtual.told.all[ends[0] :])


@pytest.mark.parametrize(
    ("finishing", "length", "needed"),
    [
        (Finishing.FLIP_147, 1, 1),
        (Finishing.FLIP_147, 4, 1),
        (Finishing.WAIT_IN_EACH_TASK, 1, 2),
        (Finishing.WAIT_IN_EACH_TASK, 4, 5),
    ],
)
def test_a_chain_of_sinks_needs_one_checkpoint_or_one_each(
    finishing: Finishing, length: int, needed: int
) -> None:
    """The source is a task too: option 1 waits in it as well."""
    virtual = Virtual()
    virtual.finish(
        chain_of_sinks(virtual, length), replace(CHECKPOINTED, history=History(finishing=finishing))
    )
    assert checkpoints_after_the_source(virtual) == needed
    for n in range(length):
        rows = virtual.run(lambda n=n: committed_rows(f"out-{n}", virtual.files))
        assert [row["n"] for row in rows] == list(range(40))


def mixed(
    virtual: Virtual, last_piece: LastPiece, finishing: Finishing
) -> tuple[StreamEnvironment, JobConfig]:
    """A bounded part that ends early beside one that takes longer, each with a sink, in one region."""
    env = StreamEnvironment("mixed", chaining=False)
    short = env.from_source(RowsSource(ROWS[:6], batch_rows=1, pause_ms=lambda: 10), name="short")
    long = env.from_source(RowsSource(ROWS, batch_rows=1, pause_ms=lambda: 40), name="long")
    short.sink_to(TwoPhaseFileSink("short", virtual.files), name="short sink")
    short.union(long).sink_to(TwoPhaseFileSink("all", virtual.files), name="all sink")
    history = History(finishing=finishing, last_piece=last_piece)
    return env, JobConfig(CheckpointConfig(interval_ms=45), restart=FixedDelay(wait_ms=10), history=history)


def run_mixed(last_piece: LastPiece, finishing: Finishing, *, fails: bool) -> list[int]:
    """What the sink of the short part has in the end."""
    virtual = Virtual()
    env, config = mixed(virtual, last_piece, finishing)

    async def story() -> list[Row]:
        job = virtual.job(env, config)
        await job.start()
        await asyncio.sleep(0.8)
        if fails:
            job.fail_subtask(job.graph.vertex("long").subtasks[0], ValueError("late"))
        await job.wait()
        return await committed_rows("short", virtual.files)

    return sorted(row["n"] for row in virtual.run(story))


def test_before_flip_147_the_last_piece_was_lost_or_doubled() -> None:
    everything = list(range(6))
    old = Finishing.BEFORE_FLIP_147
    for fails in (False, True):
        assert run_mixed(LastPiece.DISCARDED, Finishing.FLIP_147, fails=fails) == everything
    lost = run_mixed(LastPiece.DISCARDED, old, fails=False)
    assert lost != everything
    assert set(lost) < set(everything)
    assert run_mixed(LastPiece.COMMITTED, old, fails=False) == everything
    doubled = run_mixed(LastPiece.COMMITTED, old, fails=True)
    assert len(doubled) > len(everything)
    assert set(doubled) == set(everything)


def test_before_flip_147_no_checkpoint_completes_once_a_task_has_finished() -> None:
    finished = {}
    for finishing in (Finishing.FLIP_147, Finishing.BEFORE_FLIP_147):
        virtual = Virtual()
        env, config = mixed(virtual, LastPiece.DISCARDED, finishing)
        virtual.finish(env, config)
        ends = [n for n, o in enumerate(virtual.told.all) if getattr(o, "state", "") == "finished"]
        after = virtual.told.all[ends[0] :]
        finished[finishing] = sum(isinstance(o, seen.CheckpointCompleted) for o in after)
    assert finished[Finishing.BEFORE_FLIP_147] == 0
    assert finished[Finishing.FLIP_147] > 5


def test_the_order_of_calls_at_the_end() -> None:
    virtual, env = Virtual(), StreamEnvironment("order", chaining=False)
    env.from_rows(ROWS).map(dict).uid("map").sink_to(TwoPhaseFileSink("out", virtual.files), uid="sink")
    virtual.finish(env)
    for operator in ("map", "sink"):
        calls = [call for call in virtual.told.calls(operator) if call != "notify-aborted"]
        at = calls.index("watermark-max")
        assert calls[at:] == ["watermark-max", "end-input", "finish", "snapshot", "notify-complete", "close"]


def test_finished_tasks_are_skipped_after_a_failure() -> None:
    virtual = Virtual()
    env, config = mixed(virtual, LastPiece.DISCARDED, Finishing.FLIP_147)

    async def story() -> None:
        job = virtual.job(env, config)
        await job.start()
        await asyncio.sleep(0.8)
        latest = job.latest_checkpoint
        assert latest is not None
        kinds = {state.name: state.finish_state for state in latest.operators.values()}
        assert kinds["short"] == kinds["short sink"] == "fully finished"
        assert kinds["long"] == "running"
        job.fail_subtask(job.graph.vertex("long").subtasks[0], ValueError("late"))
        await job.wait()

    virtual.run(story)
    short = env.job_graph().vertex("short").operators[0].operator_id
    assert virtual.told.calls(short, attempt=1) == []  # not opened, not finished again
    rows = virtual.run(lambda: committed_rows("all", virtual.files))
    assert sorted(row["n"] for row in rows) == sorted([*range(6), *range(40)])


class Held(ProcessFunction):
    """Holds everything back until the end of the input."""

    def open(self, context: FunctionContext) -> None:
        self._held = context.list_state("held")

    def process(self, row: Row, context: FunctionContext) -> None:
        self._held.append(row["n"])

    def end_input(self, context: FunctionContext) -> None:
        for n in self._held:
            context.emit({"n": n})
        self._held.clear()


def endless(virtual: Virtual) -> StreamEnvironment:
    kind = Boundedness.CONTINUOUS_UNBOUNDED
    env = StreamEnvironment("endless", chaining=False)
    source = RowsSource(ROWS, batch_rows=1, pause_ms=lambda: 5, boundedness=kind)
    stream = env.from_source(source, uid="source").process(Held()).uid("held")
    stream.sink_to(TwoPhaseFileSink("out", virtual.files), uid="sink")
    return env


def stop(
    virtual: Virtual, config: JobConfig, *, drain: bool, restore: str | None = None, folder: str
) -> list[int]:
    async def story() -> list[int]:
        job = virtual.job(endless(virtual), config, restore)
        await job.start()
        await asyncio.sleep(1.03)
        await job.stop_with_savepoint(folder, drain=drain)
        return sorted(row["n"] for row in await committed_rows("out", virtual.files))

    found: list[int] = virtual.run(story)
    return found


def test_with_drain_operators_finish_before_the_savepoint() -> None:
    virtual = Virtual()
    assert stop(virtual, CHECKPOINTED, drain=False, folder="sp/1") == []
    assert "finish" not in virtual.told.calls("held")
    assert stop(virtual, CHECKPOINTED, drain=True, restore="sp/1", folder="sp/2") == list(range(40))
    assert stop(virtual, CHECKPOINTED, drain=True, restore="sp/2", folder="sp/3") == list(range(40))


def test_the_old_order_lost_what_was_made_at_the_end_of_the_input() -> None:
    virtual = Virtual()
    config = replace(CHECKPOINTED, history=History(drain_before_flip_147=True))
    assert stop(virtual, config, drain=True, folder="sp/1") == []
    assert "finish" in virtual.told.calls("held")
    committed = [o for o in virtual.told.all if isinstance(o, seen.CheckpointCompleted)][-1]
    assert committed.path == "sp/1"


def test_a_failure_before_the_savepoint_is_one_like_any_other() -> None:
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(endless(virtual))
        await job.start()
        await asyncio.sleep(0.5)
        stopping = asyncio.ensure_future(job.stop_with_savepoint("sp/1"))
        await asyncio.sleep(0)
        job.fail_subtask(job.graph.subtasks()[1], ValueError("now"))
        with pytest.raises(CheckpointFailedError):
            await stopping
        await asyncio.sleep(2)
        assert job.state == "running"
        assert job.latest_checkpoint is not None
        await job.stop_with_savepoint("sp/2", drain=True)

    virtual.run(story)
    rows = virtual.run(lambda: committed_rows("out", virtual.files))
    assert sorted(row["n"] for row in rows) == list(range(40))


class FullAt(MemoryFiles):
    """A disk without room for the state of a subtask, in one folder."""

    folder = "sp/1"

    async def write(self, path: str, data: bytes) -> None:
        if path.startswith(f"{self.folder}/") and not path.endswith(IN_PROGRESS):
            raise OSError(errno.ENOSPC, "No space left on device", path)
        await super().write(path, data)


def test_a_stop_that_fails_is_one_failure_for_the_restart_strategy() -> None:
    """Its subtasks fail too, because they have stopped. Each of them used to take a restart of the job."""
    virtual = Virtual()
    virtual.files = FullAt()

    async def story() -> None:
        job = virtual.job(endless(virtual), replace(CHECKPOINTED, restart=FixedDelay(1, wait_ms=100)))
        await job.start()
        await asyncio.sleep(0.5)
        with pytest.raises(CheckpointFailedError, match="No space left"):
            await job.stop_with_savepoint("sp/1")
        await asyncio.sleep(2)
        assert job.state == "running"
        await job.stop_with_savepoint("sp/2", drain=True)

    virtual.run(story)
    assert [o.is_global for o in virtual.told.of(seen.Restored)] == [True, True]
    rows = virtual.run(lambda: committed_rows("out", virtual.files))
    assert sorted(row["n"] for row in rows) == list(range(40))


def test_a_second_stop_is_refused_and_the_first_one_stops_the_job() -> None:
    """The second one used to fail the job after the first savepoint, and the first caller waited forever."""
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(endless(virtual))
        await job.start()
        await asyncio.sleep(0.5)
        stops = [asyncio.ensure_future(job.stop_with_savepoint(folder)) for folder in ("sp/1", "sp/2")]
        await asyncio.sleep(0)
        with pytest.raises(IllegalStateError, match="a stop with a savepoint is under way"):
            await job.stop_with_savepoint("sp/3")
        with pytest.raises(IllegalStateError, match="a stop with a savepoint is under way"):
            await stops[1]
        assert await asyncio.wait_for(stops[0], 20) == "sp/1"
        assert job.state == "finished"
        assert not any(path.startswith("sp/3") for path in virtual.files.data)

    virtual.run(story)


class BreaksAtCommit(TwoPhaseFileSink):
    def __deepcopy__(self, memo):  # type: ignore[no-untyped-def]
        return BreaksAtCommit(self._folder, self._files)

    async def commit(self, transaction):  # type: ignore[no-untyped-def]
        raise ConnectionError("no")


def test_a_failure_after_the_savepoint_ends_the_job_and_names_the_savepoint() -> None:
    virtual = Virtual()

    async def story() -> None:
        env = StreamEnvironment("breaks")
        source = RowsSource(ROWS, batch_rows=1, boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
        env.from_source(source).sink_to(BreaksAtCommit("out", virtual.files))
        job = virtual.job(env, replace(CHECKPOINTED, restart=FixedDelay()))
        await job.start()
        await asyncio.sleep(0.05)
        with pytest.raises(
            StopWithSavepointStoppingError, match="A savepoint has been created at: sp/1"
        ) as stopped:
            await job.stop_with_savepoint("sp/1")
        assert stopped.value.path == "sp/1"
        assert job.state == "failed"
        assert "sp/1/_metadata" in virtual.files.data

    virtual.run(story)


def test_union_state_waits_until_all_have_finished() -> None:
    class Union(ProcessFunction):
        def open(self, context: FunctionContext) -> None:
            context.union_list_state("all").append(1)

        def process(self, row: Row, context: FunctionContext) -> None:
            context.emit(row)

    virtual, env = Virtual(), StreamEnvironment("union", parallelism=2, chaining=False)
    source = RowsSource(ROWS, splits=2, batch_rows=1, pause_ms=lambda: 20)
    uneven = RowsSource(ROWS[:4], batch_rows=1, pause_ms=lambda: 5)
    env.from_source(source).union(env.from_source(uneven, name="uneven")).process(Union()).sink_to(
        TwoPhaseFileSink("out", virtual.files)
    )
    virtual.finish(env)
    assert len(virtual.run(lambda: committed_rows("out", virtual.files))) == 44


def test_tolerated_failures_and_too_many() -> None:
    class Refuses(Operator):
        def process_batch(self, batch, input):  # type: ignore[no-untyped-def]
            return None

        def snapshot_state(self, checkpoint_id: int) -> None:
            from pravega_lab.engine.flow.errors import Reason

            raise CheckpointFailedError(Reason.CHECKPOINT_DECLINED, "not today")

    virtual, env = Virtual(), StreamEnvironment("refuses")
    source = RowsSource(ROWS, batch_rows=1, pause_ms=lambda: 50)
    env.from_source(source).key_by("n").aggregate(count()).transform("refuses", Refuses)
    from pravega_lab.engine.flow.master.restart import NoRestart

    config = JobConfig(CheckpointConfig(interval_ms=50, tolerable_failures=2), restart=NoRestart())
    with pytest.raises(JobFailedError, match="More than the 2 tolerable checkpoint failures"):
        virtual.finish(env, config)
    assert len([o for o in virtual.told.of(seen.CheckpointFailed) if o.reason == "CHECKPOINT_DECLINED"]) == 3


def test_a_subtask_that_finishes_without_its_acknowledgement_declines_the_savepoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The acknowledgement was lost, so the savepoint cannot complete. It does not wait for its timeout."""
    virtual = Virtual()
    right = JobMaster.acknowledge

    def lose(self: JobMaster, subtask: SubtaskId, attempt: int, checkpoint_id: int, ack: TaskAck) -> None:
        pending = self.coordinator.pending.get(checkpoint_id)
        if pending is None or not pending.kind.is_savepoint:
            right(self, subtask, attempt, checkpoint_id, ack)

    monkeypatch.setattr(JobMaster, "acknowledge", lose)
    two_at_once = replace(CHECKPOINTED, checkpoints=CheckpointConfig(interval_ms=100, max_concurrent=2))

    async def story() -> None:
        job = virtual.job(chain_of_sinks(virtual, 1), two_at_once)
        await job.start()
        await asyncio.sleep(0.01)
        with pytest.raises(CheckpointFailedError, match="it has finished"):
            await asyncio.wait_for(job.trigger_savepoint("sp/1"), 20)
        await job.wait()

    virtual.run(story)
