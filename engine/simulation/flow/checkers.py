"""The rules that must hold for a simulated job, checked from its observations and the content of its sinks.

`Watcher` checks what can only be seen while the job runs (cuts), and checks the rest at the end.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...flow import observer
from ...flow.checkpoint.handles import CompletedCheckpoint
from ...flow.elements import SubtaskId
from ...flow.graph.graph import JobGraph
from ...flow.task.task_input import GateInput
from ..kernel.journal import Journal
from .world import FlowFiles, FlowWire

if TYPE_CHECKING:
    from ...flow.master.job import Job

Attempt = tuple[int, SubtaskId, int]  # life of the job, subtask, attempt


class Watcher:
    """An `observer.Observer` that writes everything into the journal, and checks what can only be
    seen now.
    """

    def __init__(self, journal: Journal, wire: FlowWire, files: FlowFiles) -> None:
        self.problems: list[str] = []
        self.life = -1
        self.job: Job | None = None
        self.is_exactly_once = True
        self.completed: dict[tuple[int, int], None] = {}
        self.calls: dict[tuple[Attempt, str], list[tuple[str, int | None]]] = {}
        self.ended: dict[Attempt, None] = {}
        self.checkpoint_steps: dict[tuple[int, int], list[str]] = {}
        self.failed_checkpoints: Counter[str] = Counter()
        self.failures = 0  # failures of the job; a failure during a restart is not counted again
        self._state = ""
        self._failed: dict[SubtaskId, None] = {}  # since the last restore
        self._pending: dict[tuple[int, int], observer.CheckpointPending] = {}
        self._acknowledged: dict[tuple[int, int], list[SubtaskId]] = {}
        self._cuts: dict[tuple[int, int], list[str]] = {}
        self._journal, self._wire, self._files = journal, wire, files
        self.on_completed: Callable[[], None] = lambda: None

    def begin(self, job: Job, *, is_exactly_once: bool) -> None:
        """Begin another life of the job."""
        self.life += 1
        self.job, self.is_exactly_once = job, is_exactly_once

    def observe(self, observation: observer.Observation) -> None:
        """Write an observation into the journal, and check what can only be seen now."""
        about = {
            name: _plain(getattr(observation, name)) for name in observation.__slots__ if name != "at_ms"
        }
        self._journal.add(f"life {self.life}", type(observation).__name__, about=about)
        match observation:
            case observer.JobStateChanged():
                self.failures += observation.state == "restarting" != self._state
                self._state = observation.state
            case observer.LifecycleCall():
                attempt = (self.life, observation.subtask, observation.attempt)
                calls = self.calls.setdefault((attempt, observation.operator), [])
                calls.append((observation.what, observation.checkpoint_id))
                if observation.what == "notify-complete":
                    assert observation.checkpoint_id is not None
                    self._check_notice(observation.subtask, observation.checkpoint_id)
            case observer.SubtaskStateChanged(state="failed"):
                self._failed[observation.subtask] = None
            case observer.Restored():
                if observation.is_global:
                    self._failed.clear()
                else:
                    self._check_region(observation.subtasks)
            case observer.SubtaskStateChanged(state="finished"):
                self.ended[self.life, observation.subtask, observation.attempt] = None
            case observer.CheckpointPending():
                self._pending[self.life, observation.checkpoint_id] = observation
            case observer.CheckpointStep():
                steps = self.checkpoint_steps.setdefault((self.life, observation.checkpoint_id), [])
                steps.append(observation.step)
            case observer.Aligned():
                self._check_cut(observation)
            case observer.Acknowledged(outcome="success"):
                acks = self._acknowledged.setdefault((self.life, observation.checkpoint_id), [])
                acks.append(observation.subtask)
            case observer.CheckpointFailed():
                self.failed_checkpoints[observation.reason] += 1
            case observer.CheckpointCompleted():
                self._complete(observation.checkpoint_id)

    def _check_notice(self, subtask: SubtaskId, checkpoint_id: int) -> None:
        if (self.life, checkpoint_id) not in self.completed:
            self._violated(
                f"commit after completion: {subtask} was told that {checkpoint_id} is complete, and it is not"
            )

    def _check_cut(self, aligned: observer.Aligned) -> None:
        """Check that the subtask has processed exactly what was sent on each channel before the barrier."""
        assert self.job is not None
        subtask = self.job.master.executions[aligned.subtask].subtask
        if subtask is None or not isinstance(subtask.input, GateInput):
            return
        wrong = self._cuts.setdefault((self.life, aligned.checkpoint_id), [])
        for channel in subtask.input._channels:
            sent = self._wire.sent.get(channel, 0)
            before = self._wire.before_barrier.get(channel, {}).get(aligned.checkpoint_id, sent)
            taken = sent - channel._held
            is_right = taken == before if self.is_exactly_once else taken >= before
            if not is_right:
                wrong.append(
                    f"consistent cut: {aligned.subtask} took checkpoint {aligned.checkpoint_id} "
                    f"after {taken} records "
                    f"of {channel.producer}, which had sent {before} before the barrier"
                )

    def _check_region(self, restored: tuple[SubtaskId, ...]) -> None:
        """Check that whole regions of failed subtasks were restored, and nothing else.

        A region that failed while the tasks of another were being stopped is restored after it.
        """
        assert self.job is not None
        region = dict.fromkeys(id for id in self._failed if id in restored)
        for subtask in (ahead := list(region)):
            found = [id for id in _neighbours(self.job.graph, subtask) if id not in region]
            region |= dict.fromkeys(found)
            ahead += found
        if set(region) != set(restored):
            failed = ", ".join(map(str, self._failed))
            self._violated(f"region: after {failed} failed, {', '.join(map(str, restored))} were restored")
        for subtask in restored:
            self._failed.pop(subtask, None)

    def _complete(self, checkpoint_id: int) -> None:
        key = (self.life, checkpoint_id)
        self.completed[key] = None
        for wrong in self._cuts.get(key, []):
            self._violated(wrong)
        pending, acks = self._pending[key], self._acknowledged.get(key, [])
        missing = [str(s) for s in pending.to_wait_for if s not in acks]
        steps = self.checkpoint_steps.get(key, [])
        for kind, wanted in (("coordinator", pending.coordinators), ("hook", pending.hooks)):
            if steps.count(f"{kind}-acknowledged") < len(wanted):
                missing.append(f"{kind}s")
        if missing:
            self._violated(f"complete: checkpoint {checkpoint_id} is, without {', '.join(missing)}")
        self.on_completed()

    def check_cancelled(self, job: Job) -> None:
        """Check that a cancelled job left no subtask running. It would read and write concurrently with its
        successor.
        """
        alive = [str(id) for id, e in job.master.executions.items() if not e.state.is_terminal]
        if alive:
            self._violated(f"gone when cancelled: {', '.join(alive)} live on")

    def _violated(self, problem: str) -> None:
        """Record a problem in the journal at the time when it was found."""
        self.problems.append(problem)
        self._journal.add("checker", "violated", problem=problem)

    # -- at the end ----------------------------------------------------------------------------------------

    def check_files(self, checkpoint: CompletedCheckpoint) -> Iterator[str]:
        """Yield the files of a retained checkpoint that are missing or changed."""
        for blob in checkpoint.blobs():
            data = self._files.data.get(blob.path)
            if data is None:
                yield f"restorable: checkpoint {checkpoint.checkpoint_id} wants {blob.path}, which is gone"
            elif zlib.crc32(data[blob.offset : blob.offset + blob.length]) != blob.crc:
                yield f"restorable: {blob.path} is not what checkpoint {checkpoint.checkpoint_id} wants"

    def check_all(self) -> Iterator[str]:
        """Yield violations of the order of triggers, the lifecycle of operators, and final checkpoints."""
        yield from _check_steps(self.checkpoint_steps)
        for (attempt, operator), calls in self.calls.items():
            where = f"{attempt[1]}#{attempt[2]} {operator}"
            yield from (f"lifecycle: {where}: {p}" for p in _lifecycle_problems(calls))
            if attempt in self.ended:
                yield from (f"final checkpoint: {where}: {p}" for p in _final_problems(calls))


def _neighbours(graph: JobGraph, subtask: SubtaskId) -> Iterator[SubtaskId]:
    """Yield the subtasks that share a channel with a subtask, or have a master hook as it has."""
    vertex = graph.vertex(subtask.vertex)
    hooked = [v for v in graph.vertices if any(o.node.make_hook for o in v.operators)]
    if vertex in hooked:
        yield from (id for other in hooked for id in other.subtasks)
    for edge in vertex.outputs:
        yield from (SubtaskId(edge.consumer.name, index) for index in edge.consumers_of(subtask.index))
    for edge in vertex.inputs:
        yield from (SubtaskId(edge.producer.name, index) for index in edge.producers_of(subtask.index))


def _plain(value: Any) -> Any:
    if isinstance(value, (int, str, type(None))):
        return value
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return str(value)


def _check_steps(steps: dict[tuple[int, int], list[str]]) -> Iterator[str]:
    """Check that coordinators acknowledge before hooks are asked, and hooks before tasks are triggered."""
    order = [
        "coordinator-asked",
        "coordinator-acknowledged",
        "hook-asked",
        "hook-acknowledged",
        "task-triggered",
    ]
    for (_, checkpoint_id), taken in steps.items():
        last_coordinator = max((i for i, s in enumerate(taken) if s == order[1]), default=-1)
        first_hook = min((i for i, s in enumerate(taken) if s == order[2]), default=len(taken))
        last_hook = max((i for i, s in enumerate(taken) if s == order[3]), default=-1)
        first_task = min((i for i, s in enumerate(taken) if s == order[4]), default=len(taken))
        if last_coordinator > first_hook or last_hook > first_task or last_coordinator > first_task:
            yield f"order of a trigger: checkpoint {checkpoint_id}: {taken}"


def _lifecycle_problems(calls: list[tuple[str, int | None]]) -> Iterator[str]:
    names = [what for what, _ in calls]
    if names[0] != "open":
        yield f"begins with {names[0]}"
    for once in ("open", "finish", "close"):
        if names.count(once) > 1:
            yield f"{once} was called {names.count(once)} times"
    if "close" in names and names[-1] != "close":
        yield f"{names[-1]} after close"
    if "finish" in names:
        at = names.index("finish")
        if "end-input" in names[at:]:
            yield "end-input after finish"
        if "watermark-max" in names[at:]:
            yield "the last watermark after finish"
    snapshots = [n for what, n in calls if what == "snapshot" and n is not None]
    if snapshots != sorted(set(snapshots)):
        yield f"snapshots {snapshots}"
    told = [n for what, n in calls if what == "notify-complete" and n is not None]
    if told != sorted(set(told)):
        yield f"told of completion {told}"


def _final_problems(calls: list[tuple[str, int | None]]) -> Iterator[str]:
    """Check that a finished operator took a checkpoint after it finished, and was notified of its
    completion.
    """
    names = [what for what, _ in calls]
    if "finish" not in names:
        return  # stopped without drain; the job that restores the savepoint checks it
    after = calls[names.index("finish") + 1 :]
    first = next((n for what, n in after if what == "snapshot"), None)
    told = [
        n
        for what, n in after
        if what == "notify-complete" and first is not None and n is not None and n >= first
    ]
    if not told:
        yield f"finished without one: {after}"


def compare(sink: str, expected: Counter[tuple[int, int]], found: Counter[tuple[int, int]]) -> Iterator[str]:
    """Yield how the rows of a sink differ from exactly-once results."""
    lost, doubled = expected - found, found - expected
    if lost:
        yield f"exactly once: {sink} lost {lost.total()} rows, {list(lost)[:3]} among them"
    if doubled:
        yield f"exactly once: {sink} has {doubled.total()} rows too many, {list(doubled)[:3]} among them"
