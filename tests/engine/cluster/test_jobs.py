"""Jobs in workers: what they commit is exact, also when workers are killed and functions raise."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.engine.cluster.errors import RemoteTracebackError, WorkerLostError
from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.errors import IllegalStateError, JobFailedError, UserFunctionError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.restart import NoRestart
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.errors import BadInputError
from pravega_lab.observe import JobObserver
from tests.engine.cluster.conftest import Home
from tests.engine.cluster.jobs import check_counts, committed, config, tell_pid, told_pids, words
from tests.engine.flow.jobs import Told
from tests.waiting import wait_until


def five() -> int:
    return 5


@pytest.mark.slow
def test_a_job_counts_in_two_processes_and_is_watched(home: Home, tmp_path: Path) -> None:
    graph, told = words(tmp_path, 2000), Told()
    with home(graph, config(tmp_path), observer=told) as job:
        pids = sorted(worker.pid for worker in job.workers)
        job.wait()
    assert (job.state, job.epoch) == ("finished", 1)
    check_counts(committed(tmp_path), 2000)
    assert told_pids(tmp_path) == pids
    assert os.getpid() not in pids
    # Every subtask's life was told, in its order, in this process.
    for subtask in graph.subtasks():
        states = [o.state for o in told.of(seen.SubtaskStateChanged) if o.subtask == subtask]
        assert states == ["scheduled", "deploying", "initializing", "running", "finished"]
    completed = {o.checkpoint_id for o in told.of(seen.CheckpointCompleted)}
    noticed = {(o.checkpoint_id, o.subtask) for o in told.of(seen.CheckpointNotified) if o.completed}
    assert completed
    assert {number for number, _ in noticed} <= completed


@pytest.mark.slow
def test_a_worker_is_killed_and_nothing_is_lost_or_doubled(home: Home, tmp_path: Path) -> None:
    graph, told = words(tmp_path, 3000, pause_ms=20), Told()
    with home(graph, config(tmp_path), observer=told) as job:
        wait_until(lambda: job.latest_checkpoint and len(told_pids(tmp_path)) == 2, "a checkpoint")
        before = told_pids(tmp_path)
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: job.epoch == 2, "new workers")
        job.wait()
        assert before[0] not in [worker.pid for worker in job.workers]
    check_counts(committed(tmp_path), 3000)
    restores = [o.checkpoint_id for o in told.of(seen.Restored)]
    assert restores[0] is None
    assert len(restores) == 2
    assert restores[1] is not None
    [failure] = [o for o in told.of(seen.JobStateChanged) if o.state == "restarting"]
    assert "worker" in failure.reason
    assert "epoch 1 of 2 workers ends" in failure.reason
    assert job.state == "finished"


@pytest.mark.slow
def test_a_job_that_failed_goes_on_with_another_parallelism(home: Home, tmp_path: Path) -> None:
    with home(words(tmp_path, 3000, pause_ms=20), config(tmp_path, NoRestart())) as job:
        wait_until(lambda: job.latest_checkpoint, "a checkpoint")
        os.kill(job.workers[1].pid, signal.SIGKILL)
        with pytest.raises(JobFailedError, match=r"worker 1 \(pid \d+"):
            job.wait()
    last = job.latest_checkpoint
    assert last is not None
    rescaled = words(tmp_path, 3000, parallelism=3)
    with home(rescaled, config(tmp_path), workers=1, restore_from=last.path) as job:
        job.wait()
    check_counts(committed(tmp_path), 3000)


@pytest.mark.slow
def test_regions_fail_alone_and_channels_are_sampled(home: Home, tmp_path: Path) -> None:
    """Two programs in one graph: the one that fails is deployed anew beside the one that goes on."""
    env = StreamEnvironment("two", parallelism=2)
    for name in ("calm", "fails"):
        look = FailsOnce(tmp_path) if name == "fails" else tell_pid(tmp_path)
        rows = [{"word": f"w{n % 7}"} for n in range(2000)]
        source = RowsSource(rows, splits=4, batch_rows=20, pause_ms=five)
        stream = env.from_source(source, uid=name, name=name).map(look)
        counted = stream.key_by("word").aggregate(count(), name=f"count {name}")
        counted.sink_to(TwoPhaseFileSink(str(tmp_path / name / "out")))
    told = Told()
    sampled = replace(config(tmp_path), sample_interval_ms=50)
    with home(env.job_graph(), sampled, observer=told) as job:
        job.wait()
        assert job.epoch == 1
    for name in ("calm", "fails"):
        check_counts(committed(tmp_path / name), 2000)
    attempts = {(o.subtask.vertex, o.attempt) for o in told.of(seen.SubtaskStateChanged)}
    assert {attempt for vertex, attempt in attempts if "calm" in vertex} == {0}
    assert {attempt for vertex, attempt in attempts if "fails" in vertex} == {0, 1}
    contents = told.of(seen.ChannelContents)
    assert {(o.producer.index, o.consumer.index) for o in contents} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert all(o.records <= o.capacity == 64 for o in contents)
    assert max(o.records_in for o in told.of(seen.Throughput)) > 0


@pytest.mark.slow
def test_stop_with_savepoint_and_go_on_with_another_parallelism(home: Home, tmp_path: Path) -> None:
    with home(words(tmp_path, 3000, pause_ms=20), config(tmp_path)) as job:
        wait_until(lambda: job.latest_checkpoint, "a checkpoint")
        path = job.stop_with_savepoint(str(tmp_path / "savepoint"))
    assert job.state == "finished"
    first = len(committed(tmp_path))
    assert 0 < first < 3000
    with home(words(tmp_path, 3000, parallelism=3), config(tmp_path), restore_from=path) as job:
        job.wait()
    check_counts(committed(tmp_path), 3000)


def test_what_a_users_function_raises_arrives_in_words(home: Home, tmp_path: Path) -> None:
    def look(row: Row) -> Row:
        if row["word"] == "w3":
            raise ValueError("no threes")
        return row

    with home(words(tmp_path, 100, look=look), config(tmp_path, NoRestart())) as job:
        with pytest.raises(
            JobFailedError, match=r"ValueError: no threes at record \{'word': 'w3'\}"
        ) as caught:
            job.wait()
        assert job.state == "failed"
    assert "ValueError: no threes at record {'word': 'w3'}" in str(caught.value)
    cause = caught.value.__cause__
    assert isinstance(cause, UserFunctionError)
    assert "subtask" in str(cause)
    assert isinstance(cause.__cause__, RemoteTracebackError)
    assert "in look" in str(cause.__cause__)
    assert committed(tmp_path) == []


def only_in(pid: int) -> Callable[[Row], Row]:
    """Stands for a module that only the driver has."""
    if os.getpid() != pid:
        raise ModuleNotFoundError("No module named 'mine'")
    return dict


class Mine:
    """A function that can be unpickled in this process only."""

    def __call__(self, row: Row) -> Row:
        return row

    def __reduce__(self) -> Any:
        return only_in, (os.getpid(),)


def test_a_job_that_a_worker_cannot_load_says_why(home: Home, tmp_path: Path) -> None:
    job = home(words(tmp_path, 10, look=Mine()), config(tmp_path))
    words_of_it = (
        r"worker \d cannot load the job: ModuleNotFoundError\(\"No module named 'mine'\"\); whatever"
    )
    with pytest.raises(WorkerLostError, match=words_of_it):
        job.start()
    job.close()


@dataclass
class FailsOnce:
    """Raises in the middle, the first time; a file remembers."""

    folder: Path
    passed: int = 0

    def __call__(self, row: Row) -> Row:
        self.passed += 1
        flag = self.folder / "failed"
        if self.passed == 500 and not flag.exists():
            flag.touch()
            raise RuntimeError("just once")
        return row


@pytest.mark.slow
def test_a_failed_function_is_restarted_in_the_same_workers(home: Home, tmp_path: Path) -> None:
    told = Told()
    with home(
        words(tmp_path, 3000, pause_ms=5, look=FailsOnce(tmp_path)), config(tmp_path), observer=told
    ) as job:
        job.wait()
        assert job.epoch == 1
    check_counts(committed(tmp_path), 3000)
    assert max(o.attempt for o in told.of(seen.SubtaskStateChanged)) == 1
    assert len(told.of(seen.Restored)) == 2


def test_cancel_ends_the_workers_tasks(home: Home, tmp_path: Path) -> None:
    graph = words(tmp_path, 5000, pause_ms=50)
    observer = JobObserver(graph)
    with home(graph, config(tmp_path), observer=observer) as job:
        wait_until(lambda: job.latest_checkpoint, "a checkpoint")
        assert job.explain()[0] == "Job 'words' is running."
        assert f"pid {job.workers[0].pid}" in job.explain()[-1]
        done = job.trigger_checkpoint()
        assert job.latest_checkpoint is not None
        assert job.latest_checkpoint.checkpoint_id >= done.checkpoint_id
        assert observer.explain()
        job.cancel()
        assert job.state == "cancelled"
    assert len(committed(tmp_path)) < 5000
    assert job.explain()[0] == "Job 'words' is cancelled."


@pytest.mark.parametrize("kind", ["memory", "no workers"])
def test_what_cannot_be_is_refused_before_anything_starts(kind: str, home: Home, tmp_path: Path) -> None:
    from pravega_lab.engine.flow.files import MemoryFiles

    graph = words(tmp_path, 10)
    if kind == "memory":
        with pytest.raises(BadInputError, match="visible to one process only"):
            home(graph, config(tmp_path), files=MemoryFiles())
    else:
        with pytest.raises(BadInputError, match="workers=0"):
            home(graph, config(tmp_path), workers=0)
        with pytest.raises(IllegalStateError, match="call start"):
            home(graph, config(tmp_path)).explain()
