"""The journal of a job: what its observer writes down, frames, recordings, any moment, sentences."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from pravega_lab.engine.flow import observer as engine
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.failures import _COUNTED
from pravega_lab.engine.flow.errors import Reason
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job, execute
from pravega_lab.errors import BadInputError
from pravega_lab.observe import JobObserver, Journal, fold_jobs
from pravega_lab.observe.job import observations as told
from pravega_lab.observe.job.explain import REPORTED, explain_job
from pravega_lab.observe.job.observer import _HANDLERS
from pravega_lab.observe.job.rows import ALIGNING, FAILED, FINISHED, RESTORING, RUNNING, WAITING, Kept
from pravega_lab.observe.landmarks import moments
from tests.observe.job.examples import both_systems, half_run, whole_run, words_job


def test_every_observation_of_the_engine_has_a_kind() -> None:
    assert {kind.__name__ for kind in engine.Observation.__args__} <= set(_HANDLERS)


def test_the_graph_is_told_first() -> None:
    journal = whole_run()
    assert [type(o).__name__ for o in journal.since()[:1]] == ["JobSeen"]
    vertices = journal.to_pandas("vertex_seen")
    assert list(zip(vertices["vertex"], vertices["parallelism"], strict=True)) == [
        ("lines", 2), ("once", 1), ("aggregate", 2), ("sink", 2),
    ]  # fmt: skip
    edges = journal.to_pandas("edge_seen")
    assert set(zip(edges["producer"], edges["consumer"], edges["exchange"], strict=True)) == {
        ("lines", "aggregate", "hash"), ("once", "aggregate", "hash"), ("aggregate", "sink", "rebalance"),
    }  # fmt: skip


def test_each_kind_is_a_frame() -> None:
    journal = whole_run()
    for kind in dict.fromkeys(o.kind for o in journal.since()):
        frame = journal.to_pandas(kind)
        assert len(frame) > 0
        assert {"seq", "time_ms"} <= set(frame.columns)
    done = journal.to_pandas("checkpoint_completed")
    assert list(done["checkpoint_id"]) == [1, 2, 3]
    assert (done["state_bytes"] > 0).all()


def test_a_recording_is_the_same_journal(tmp_path: Path) -> None:
    journal = whole_run()
    loaded = Journal.load(journal.save(tmp_path / "job.jsonl.gz"))
    assert loaded.since() == journal.since()
    assert loaded.seed == 3


def test_an_asyncio_job_tells_the_same_kinds() -> None:
    graph = words_job(MemoryFiles(), rounds=2)
    observer = JobObserver(graph)
    config = JobConfig(CheckpointConfig(interval_ms=30), sample_interval_ms=20)
    asyncio.run(execute(graph, config, files=MemoryFiles(), observer=observer))
    simulated = {o.kind for o in whole_run().since()} - {"element_arrived", "acted"}
    assert {o.kind for o in observer.since()} - {"checkpoint_failed"} == simulated - {"checkpoint_failed"}
    history = fold_jobs(observer.since())
    assert history.state == "finished"
    assert {task.state for task in history.tasks} == {FINISHED}


def test_the_fold_gives_the_state_at_any_moment() -> None:
    journal = whole_run()
    changes = fold_jobs(journal.since()).states.items
    seen = {change.state for change in changes}
    assert seen >= {RUNNING, ALIGNING, WAITING, FINISHED, FAILED, RESTORING}
    for change in changes[:: len(changes) // 20]:
        past = fold_jobs(journal.since(), until_ms=change.time_ms)
        last = [c for c in changes if c.task == change.task and c.time_ms <= change.time_ms][-1]
        assert past.tasks[change.task].state == last.state


def test_a_failed_task_comes_back_from_the_checkpoint() -> None:
    history = fold_jobs(whole_run().since())
    failed = next(change for change in history.states.items if change.state == FAILED)
    assert history.tasks[failed.task].label == "aggregate 2/2"
    assert "failed here, by hand" in failed.why
    assert [restore.checkpoint_id for restore in history.restores] == [None, 1]
    assert all(task.attempt == 1 for task in history.tasks)


def test_a_checkpoint_in_its_steps() -> None:
    history = fold_jobs(whole_run().since())
    first, _, last = history.checkpoints
    assert first.state == last.state == "completed"
    for part in first.parts.values():
        arrived = [ms for _, ms in part.barriers] or [part.triggered_ms]
        steps = [first.start_ms, *arrived, part.aligned_ms, part.snapshotted_ms, part.acknowledged_ms]
        known = [ms for ms in steps if ms is not None]
        assert known == sorted(known)
        assert len(known) == len(steps)
        assert (part.notified_ms or 0) >= (first.end_ms or 0)
    assert sorted(channel for channel, _ in first.parts["aggregate[0]"].barriers) == [0, 1, 2]
    assert [part.task for part in last.parts.values() if part.is_finished] == ["once[0]"]
    assert last.parts["once[0]"].acknowledged_ms is None


def test_channels_tell_what_lies_and_what_is_on_its_way() -> None:
    journal = whole_run()
    whats = {what for o in journal.since() if isinstance(o, told.ChannelMeasured) for what, _ in o.marks}
    assert whats >= {"records", "barrier", "watermark", "end-of-data", "end-of-partition"}
    blocked = [o for o in journal.since() if isinstance(o, told.ChannelMeasured) and o.blocked]
    assert blocked
    for row in fold_jobs(journal.since()).channels:
        assert row.marks == ()
        assert row.blocked_since_ms is None


def test_trays_of_a_sink() -> None:
    history = fold_jobs(half_run().since())
    sinks = [task for task in history.tasks if task.trays]
    assert [task.label for task in sinks] == ["sink 1/2", "sink 2/2"]
    for task in sinks:
        [trays] = task.trays.values()
        assert len(trays.open) == 1
    [*_, last] = [trays for _, trays in fold_jobs(whole_run().since()).trays.items]
    assert last.open == ()
    assert last.pre_committed == ()


def test_events_between_cut_and_barrier() -> None:
    journal, _ = both_systems()
    parts = fold_jobs(journal.since()).checkpoints[0].parts
    for n in range(2):
        part = parts[f"flights[{n}]"]
        assert part.between is not None
        assert part.between > 0
        assert part.cut_ms is not None
        assert part.aligned_ms is not None
        assert part.cut_ms < part.aligned_ms
    said = fold_jobs(journal.since()).said.items
    told = f"{parts['flights[0]'].between} events of flights 1/2 lie between the cut and barrier 1"
    assert told in [text for _, _, text in said]
    assert parts["aggregate → sink[0]"].between is None
    assert fold_jobs(whole_run().since()).checkpoints[0].parts["lines[0]"].between is None


def test_sentences() -> None:
    said = fold_jobs(whole_run().since()).said.items
    texts = [text for _, _, text in said]
    assert "aggregate 1/2 took barrier 1 on channel 2, waits for channel 0" in texts
    assert "aggregate 2/2 is failed: aggregate[1] failed here, by hand" in texts
    explained = "\n".join(half_run().explain())
    assert "Job words has been running for" in explained
    assert "waiting for the final checkpoint: once 1/1" in explained
    assert "No checkpoint is complete: after a failure the job would begin again." in explained
    assert "A failure would go back" not in "\n".join(whole_run().explain())
    restored = [
        replace(o, checkpoint_id=7) if isinstance(o, told.JobRestored) else o for o in half_run().since()
    ]
    said = explain_job(fold_jobs(restored), 0)
    assert said[-1] == "A failure would go back to checkpoint 7, with which the job was started."


class FullDisk(MemoryFiles):
    """Files that cannot be written while the disk is full."""

    is_full = True

    async def write(self, path: str, data: bytes) -> None:
        if self.is_full:
            raise OSError("No space left on device")
        await super().write(path, data)


def test_failed_checkpoints_in_a_row() -> None:
    """A job that tolerates them could run for days without a checkpoint, and no sentence said so."""
    graph, files = words_job(MemoryFiles(), rounds=1), FullDisk()
    observer = JobObserver(graph)

    def failed(journal: Journal) -> list[int]:
        """Return where the journal has failures that count: a subtask may also not run yet."""
        return [
            n
            for n, o in enumerate(journal.since())
            if isinstance(o, told.CheckpointFailed) and o.reason == "IO_EXCEPTION"
        ]

    async def story() -> None:
        config = JobConfig(CheckpointConfig(interval_ms=10, tolerable_failures=1000))
        job = Job(graph, config, files=files, observer=observer)
        await job.start()
        async with asyncio.timeout(20):
            while len(failed(observer)) < 3:
                await asyncio.sleep(0.001)
            files.is_full = False
            await job.wait()

    asyncio.run(story())
    taken, third = observer.since(), failed(observer)[2]
    first_done = next(n for n, o in enumerate(taken) if isinstance(o, told.CheckpointCompleted))
    assert (
        "3 checkpoints failed in a row. The last error: An IO failure occurred in the checkpoint "
        "coordinator. No space left on device."
    ) in explain_job(fold_jobs(taken[: third + 1]), 0)
    later = explain_job(fold_jobs(taken[: first_done + 1]), 0)
    assert not any("in a row" in sentence for sentence in later)
    assert {reason.name for reason in (*_COUNTED, Reason.TRIGGER_CHECKPOINT_FAILURE)} == REPORTED


def test_moments_to_jump_to() -> None:
    found = moments(whole_run().since())
    kinds = [(m.kind, m.text) for m in found]
    assert ("checkpoint", "checkpoint 1 of words done") in kinds
    assert ("failure", "aggregate[1] failed") in kinds


def test_another_life_begins_anew() -> None:
    graph = words_job(MemoryFiles())
    observer = JobObserver(graph)
    state = engine.JobStateChanged(5, "running")
    observer.observe(state)
    observer.begin(words_job(MemoryFiles(), parallelism=3))
    observer.observe(state)
    history = fold_jobs(observer.since())
    assert [life for _, life in history.lives] == [0, 1]
    assert [vertex.parallelism for vertex in history.of_life(1)] == [2, 1, 3, 2]
    assert history.task("aggregate", 2) is not None


def test_what_a_fold_has_no_room_for_is_counted() -> None:
    kept: Kept[int] = Kept(8)
    for n in range(20):
        kept.add(n)
    assert (kept.total, kept.dropped) == (20, 20 - len(kept.items))
    assert kept.since(18) == [18, 19]
    assert kept.since(0) == kept.items


def test_an_observer_wants_a_graph() -> None:
    with pytest.raises(BadInputError, match=r"env\.job_graph"):
        JobObserver("words")
