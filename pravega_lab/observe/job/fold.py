"""`JobHistory`: jobs over time, a pure fold of a journal, with the state of any moment.

`JobGraph` and the checkpoint timeline draw it. It takes a journal at once or bit by bit, with the same
result. It decides nothing about checkpoints: the engine did, and reported it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from pravega_lab.observe.job import observations as told
from pravega_lab.observe.job import rows
from pravega_lab.observe.job.rows import (
    Ask,
    ChannelRow,
    Contents,
    JobCheckpointRow,
    Kept,
    Measure,
    StateChange,
    TaskPart,
    TaskRow,
    VertexRow,
)
from pravega_lab.observe.job.words import tasks_of, words_of
from pravega_lab.observe.journal.observations import Observation

_BEFORE = ("created", "scheduled", "deploying", "initializing")


class JobHistory:
    """All jobs of a journal: as a rule one, in one or several lives."""

    def __init__(self) -> None:
        self.job = ""
        self.life = -1
        self.simulated = False
        self.state, self.reason, self.since_ms = "created", "", 0
        self.lives: list[tuple[int, int]] = []  # (time_ms, life)
        self.vertices: list[VertexRow] = []
        self.tasks: list[TaskRow] = []
        self.channels: list[ChannelRow] = []
        self.checkpoints: list[JobCheckpointRow] = []
        self.restores: list[told.JobRestored] = []
        self.states: Kept[StateChange] = Kept()
        self.measures: Kept[Measure] = Kept()
        self.contents: Kept[Contents] = Kept()
        self.trays: Kept[tuple[int, told.SinkTraysSeen]] = Kept()  # subtask, what it told
        self.job_states: list[told.JobStateChanged] = []
        self.said: Kept[tuple[int, int, str]] = Kept()  # subtask, time_ms, sentence
        self.start_ms: int | None = None
        self.now_ms: int | None = None
        self.changed: dict[int, None] = {}  # indexes of checkpoints, in order; the caller clears it
        self._vertices: dict[str, VertexRow] = {}  # of this life
        self._operators: dict[str, str] = {}
        self._tasks: dict[tuple[str, int], TaskRow] = {}
        self._channels: dict[tuple[str, str, int], ChannelRow] = {}
        self._checkpoints: dict[int, JobCheckpointRow] = {}
        self._failed_requests = 0
        self._restoring: dict[tuple[str, int], None] = {}

    def apply(self, observation: Observation) -> None:
        """Take the next observation. Kinds that do not concern jobs only move ``now_ms``."""
        is_mine = isinstance(observation, told.JobObservation)
        if is_mine and self.start_ms is None:
            self.start_ms = observation.time_ms
        if self.start_ms is not None:
            self.now_ms = max(self.now_ms or 0, observation.time_ms)
        handler = _HANDLERS.get(type(observation))
        if handler is not None:
            handler(self, observation)
        if is_mine:
            self._say(observation)

    def task(self, vertex: str, subtask: int) -> TaskRow | None:
        """Return a subtask of the newest life, None if there is no such subtask."""
        return self._tasks.get((vertex, subtask))

    def label(self, vertex: str, subtask: int) -> str:
        """Return a subtask's name for people: ``count 2/3``."""
        row = self._tasks.get((vertex, subtask))
        return row.label if row is not None else told.task_name(vertex, subtask)

    def operator(self, operator_id: str) -> str:
        """Return an operator's name in the program, or its id if it is a hook's or unknown."""
        return self._operators.get(operator_id, operator_id)

    def of_life(self, life: int) -> list[VertexRow]:
        """Return the vertices of a life, by column."""
        return [v for v in self.vertices if v.life == life]

    def running(self) -> list[JobCheckpointRow]:
        """Return the checkpoints that are neither complete nor failed."""
        return [row for row in self._checkpoints.values() if row.state == "running"]

    @property
    def latest(self) -> JobCheckpointRow | None:
        """Return the checkpoint from which a failure would restore, as far as this journal says."""
        done = (c for c in reversed(self.checkpoints) if c.state == "completed" and c.kind != "savepoint")
        return next(done, None)

    @property
    def dropped(self) -> int:
        """Return how many measurements and sentences this fold had no room for."""
        return sum(
            kept.dropped for kept in (self.measures, self.contents, self.said, self.states, self.trays)
        )

    # The graph.

    def _seen(self, o: told.JobSeen) -> None:
        self.job, self.life, self.simulated = o.job, o.life, o.simulated
        self.lives.append((o.time_ms, o.life))
        for table in (self._vertices, self._tasks, self._channels, self._checkpoints, self._restoring):
            table.clear()

    def _vertex(self, o: told.VertexSeen) -> None:
        vertex = VertexRow(len(self.vertices), o.life, o.vertex, o.parallelism, o.operators)
        self.vertices.append(vertex)
        self._vertices[o.vertex] = vertex
        self._operators |= zip(o.operator_ids, o.operators, strict=False)
        for n in range(o.parallelism):
            row = TaskRow(len(self.tasks), vertex, n, since_ms=o.time_ms)
            self.tasks.append(row)
            vertex.tasks.append(row)
            self._tasks[o.vertex, n] = row
            self._log(row, o.time_ms)

    def _edge(self, o: told.EdgeSeen) -> None:
        producer, consumer = self._vertices.get(o.producer), self._vertices.get(o.consumer)
        if producer is not None and consumer is not None:
            consumer.inputs.append((o.producer, o.exchange))
            consumer.depth = max(consumer.depth, producer.depth + 1)

    # Subtasks.

    def _job_state(self, o: told.JobStateChanged) -> None:
        self.state, self.reason, self.since_ms = o.state, o.reason, o.time_ms
        self.job_states.append(o)

    def _of(self, o: Any) -> TaskRow | None:
        """Return the row of a subtask, and forget what an older attempt reported."""
        row = self._tasks.get((o.vertex, o.subtask))
        attempt = getattr(o, "attempt", None)
        if row is not None and attempt is not None and attempt > row.attempt:
            row.attempt = attempt
            row.records_in = row.records_out = row.in_per_s = row.out_per_s = None
            row.watermark_ms = row.aligning = None
            row.totals.clear()
            row.waits_for, row.finished_operators, row.reason = (), 0, ""
            row.trays.clear()
        return row

    def _task_state(self, o: told.SubtaskStateChanged) -> None:
        row = self._of(o)
        if row is None or o.attempt < row.attempt:
            return
        row.engine_state = o.state
        row.reason = o.reason or row.reason
        if o.state not in (*_BEFORE, "running"):
            row.aligning, row.waits_for = None, ()
            row.in_per_s = row.out_per_s = None
        self._word(row, o.time_ms)

    def _word(self, row: TaskRow, time_ms: int) -> None:
        """Set what a person calls the subtask's state, and keep the change."""
        word, engine = row.engine_state, row.engine_state
        if engine in _BEFORE:
            is_again = row.attempt > 0 or (row.vertex.name, row.subtask) in self._restoring
            word = rows.RESTORING if is_again else rows.STARTING
        elif engine == "running" and row.aligning is not None:
            word = rows.ALIGNING
        elif engine == "running" and row.finished_operators >= len(row.vertex.operators):
            word = rows.WAITING
        if word != row.state or word == rows.ALIGNING:
            row.since_ms = time_ms if word != row.state else row.since_ms
            row.state = word
            self._log(row, time_ms)

    def _log(self, row: TaskRow, time_ms: int) -> None:
        self.states.add(
            StateChange(row.index, time_ms, row.state, max(0, row.attempt), row.aligning, row.reason)
        )

    def _called(self, o: told.OperatorCalled) -> None:
        row = self._of(o)
        if row is not None and o.what == "finish":
            row.finished_operators += 1
            self._word(row, o.time_ms)

    def _watermark(self, o: told.WatermarkAdvanced) -> None:
        row = self._of(o)
        if row is not None:
            row.watermark_ms = o.timestamp_ms
            self._measure(row, o.time_ms)

    def _measured(self, o: told.SubtaskMeasured) -> None:
        row = self._of(o)
        if row is None:
            return
        totals = row.totals
        totals.append((o.time_ms, o.records_in, o.records_out))
        while len(totals) > 2 and totals[1][0] <= o.time_ms - rows.RATE_MS:
            totals.popleft()
        since_ms, n_in, n_out = totals[0]
        if o.time_ms > since_ms:
            spent_s = (o.time_ms - since_ms) / 1000
            row.in_per_s, row.out_per_s = (o.records_in - n_in) / spent_s, (o.records_out - n_out) / spent_s
        row.records_in, row.records_out = o.records_in, o.records_out
        self._measure(row, o.time_ms)

    def _measure(self, row: TaskRow, time_ms: int) -> None:
        self.measures.add(
            Measure(
                row.index,
                time_ms,
                row.in_per_s,
                row.out_per_s,
                row.records_out,
                row.state_bytes,
                row.watermark_ms,
            )
        )

    def _channel(self, o: told.ChannelMeasured) -> None:
        producer, consumer = (self._tasks.get(told.split_task(n)) for n in (o.producer, o.consumer))
        if producer is None or consumer is None:
            return
        row = self._channels.get((o.producer, o.consumer, o.channel))
        if row is None:
            row = ChannelRow(len(self.channels), self.life, producer, consumer, o.channel)
            self.channels.append(row)
            self._channels[o.producer, o.consumer, o.channel] = row
        row.marks, row.records, row.capacity = o.marks, o.records, o.capacity
        if not o.blocked:
            row.blocked_since_ms = None
        elif row.blocked_since_ms is None:
            row.blocked_since_ms = o.time_ms
        self.contents.add(Contents(row.index, o.time_ms, o.marks, o.records, o.capacity, o.blocked))

    def _tray(self, o: told.SinkTraysSeen) -> None:
        row = self._of(o)
        if row is not None:
            row.trays[o.operator] = o
            self.trays.add((row.index, _summed(o, row.trays.values())))

    # Checkpoints.

    def _planned(self, o: told.CheckpointPlanned) -> None:
        parts = {name: TaskPart(name) for name in o.to_wait_for}
        parts |= {name: TaskPart(name, is_finished=True) for name in o.finished if name not in parts}
        asks = {who: Ask(who, is_hook=False) for who in o.coordinators}
        asks |= {who: Ask(who, is_hook=True) for who in o.hooks}
        row = JobCheckpointRow(
            len(self.checkpoints), o.job, o.life, o.checkpoint_id, o.checkpoint_kind, o.time_ms, parts, asks
        )
        self.checkpoints.append(row)
        self._checkpoints[o.checkpoint_id] = row
        self.changed[row.index] = None

    def checkpoint(self, checkpoint_id: int | None) -> JobCheckpointRow | None:
        """Return a checkpoint of the newest life, None if there is no such checkpoint."""
        return None if checkpoint_id is None else self._checkpoints.get(checkpoint_id)

    def _part(self, o: Any) -> TaskPart | None:
        """Return what the observation's subtask did for the observation's checkpoint, and note the change."""
        row = self.checkpoint(o.checkpoint_id)
        if row is None:
            return None
        self.changed[row.index] = None
        return row.parts.get(told.task_name(o.vertex, o.subtask))

    def _stepped(self, o: told.CheckpointStepped) -> None:
        row = self.checkpoint(o.checkpoint_id)
        if row is None:
            return
        self.changed[row.index] = None
        if o.step == "task-triggered":
            part = row.parts.get(o.who)
            if part is not None:
                part.triggered_ms = o.time_ms
            return
        ask = row.asks.get(o.who)
        if ask is not None and o.step.endswith("-asked"):
            ask.asked_ms = o.time_ms
        elif ask is not None:
            ask.acknowledged_ms = o.time_ms

    def _barrier(self, o: told.BarrierArrived) -> None:
        part, task = self._part(o), self._of(o)
        if part is not None:
            part.barriers.append((o.channel, o.time_ms))
            part.waits_for = o.waits_for
        if task is not None:
            task.aligning, task.waits_for = (o.checkpoint_id, o.waits_for) if o.waits_for else (None, ())
            self._word(task, o.time_ms)

    def _aligned(self, o: told.CheckpointAligned) -> None:
        part, task = self._part(o), self._of(o)
        if part is not None:
            part.aligned_ms, part.records_out, part.waits_for = o.time_ms, o.records_out, ()
        self._stop_aligning(task, o)

    def _stop_aligning(self, task: TaskRow | None, o: Any) -> None:
        if task is not None and task.aligning is not None and task.aligning <= o.checkpoint_id:
            task.aligning, task.waits_for = None, ()
            self._word(task, o.time_ms)

    def _snapshotted(self, o: told.CheckpointSnapshotted) -> None:
        part, task = self._part(o), self._of(o)
        if part is not None:
            part.snapshotted_ms, part.state_bytes = o.time_ms, o.state_bytes
        if task is not None:
            task.state_bytes = o.state_bytes
            self._measure(task, o.time_ms)

    def _acknowledged(self, o: told.CheckpointAcknowledged) -> None:
        part = self._part(o)
        if part is not None and o.outcome == "success":
            part.acknowledged_ms = o.time_ms

    def _refused(self, o: told.CheckpointFailed) -> None:
        """Note a request that failed before it had a number: nothing was asked of any subtask."""
        self._failed_requests += 1
        kind = f"checkpoint request {self._failed_requests}"
        row = JobCheckpointRow(
            len(self.checkpoints), o.job, o.life, 0, kind, o.time_ms, {}, {},
            state="failed", end_ms=o.time_ms, reason=o.reason, message=o.message,
        )  # fmt: skip
        self.checkpoints.append(row)
        self.changed[row.index] = None

    def _ended(self, o: told.CheckpointCompleted | told.CheckpointFailed) -> None:
        if isinstance(o, told.CheckpointFailed) and o.checkpoint_id is None:
            self._refused(o)
            return
        row = self.checkpoint(o.checkpoint_id)
        if row is None or row.state != "running":
            return
        self.changed[row.index] = None
        row.end_ms = o.time_ms
        if isinstance(o, told.CheckpointCompleted):
            row.state, row.path, row.state_bytes = "completed", o.path, o.state_bytes
        else:
            row.state, row.reason, row.message = "failed", o.reason, o.message

    def _notified(self, o: told.CheckpointNotified) -> None:
        part = self._part(o)
        if part is not None and o.completed:
            part.notified_ms = o.time_ms
        if not o.completed:
            self._stop_aligning(self._of(o), o)

    def _cut(self, o: told.SourceCut) -> None:
        part = self._part(o)
        if part is not None:
            part.between, part.cut_ms = o.events, o.cut_ms

    def _restored(self, o: told.JobRestored) -> None:
        self.restores.append(o)
        names = map(told.split_task, o.tasks)
        self._restoring = dict.fromkeys(names) if o.checkpoint_id is not None else {}

    def _say(self, o: Observation) -> None:
        for vertex, subtask in tasks_of(o):
            row = self._tasks.get((vertex, subtask))
            if row is None:
                continue
            text = words_of(o, self)
            if text:
                row.said.append((o.time_ms, text))
                self.said.add((row.index, o.time_ms, text))


def _summed(newest: told.SinkTraysSeen, trays: Iterable[told.SinkTraysSeen]) -> told.SinkTraysSeen:
    """Return all transactions of a subtask as one: a writer and its committer may be chained."""
    some = list(trays)
    return replace(
        newest,
        open=tuple(name for t in some for name in t.open),
        pre_committed=tuple(pair for t in some for pair in t.pre_committed),
        committed=sum(t.committed for t in some),
    )


_HANDLERS: dict[type[Observation], Callable[[Any, Any], None]] = {
    told.JobSeen: JobHistory._seen,
    told.VertexSeen: JobHistory._vertex,
    told.EdgeSeen: JobHistory._edge,
    told.JobStateChanged: JobHistory._job_state,
    told.SubtaskStateChanged: JobHistory._task_state,
    told.OperatorCalled: JobHistory._called,
    told.WatermarkAdvanced: JobHistory._watermark,
    told.SubtaskMeasured: JobHistory._measured,
    told.ChannelMeasured: JobHistory._channel,
    told.SinkTraysSeen: JobHistory._tray,
    told.CheckpointPlanned: JobHistory._planned,
    told.CheckpointStepped: JobHistory._stepped,
    told.BarrierArrived: JobHistory._barrier,
    told.CheckpointAligned: JobHistory._aligned,
    told.CheckpointSnapshotted: JobHistory._snapshotted,
    told.CheckpointAcknowledged: JobHistory._acknowledged,
    told.CheckpointCompleted: JobHistory._ended,
    told.CheckpointFailed: JobHistory._ended,
    told.CheckpointNotified: JobHistory._notified,
    told.JobRestored: JobHistory._restored,
    told.SourceCut: JobHistory._cut,
}


def fold_jobs(observations: Iterable[Observation], *, until_ms: int | None = None) -> JobHistory:
    """Return the history of the jobs in the observations, up to a moment if one is given."""
    history = JobHistory()
    for observation in observations:
        if until_ms is None or observation.time_ms <= until_ms:
            history.apply(observation)
    return history
