"""`JobObserver`: fills a journal with what a job of the engine reports to its observer.

``Job(graph, observer=JobObserver(graph))``: an observer of the engine is anything with ``observe``. This
module knows the engine's observations by their names and fields and imports nothing from the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.observe.job import observations as told
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.journalled import Journalled
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.observe.ledger.observations import Acted


class JobObserver(Journalled):
    """An observer of a job: pass it to a `Job`, or to several jobs in turn, each of which is a life.

    Args:
        graph: The job's graph. Vertices, edges and its name are noted first.
        journal: The journal to fill. By default a new one, which takes no more after `close`.
        seed: The seed of a simulated run, for the header of the views.
        simulated: Channels are reported exactly and not sampled.

    ``job.observe_now()`` adds a sample, and so does ``JobConfig.sample_interval_ms`` by itself.
    """

    shows = ("jobs",)

    def __init__(
        self, graph: Any, journal: Journal | None = None, *, seed: int | None = None, simulated: bool = False
    ) -> None:
        if not hasattr(graph, "vertices") or not hasattr(graph, "name"):
            raise BadInputError(
                f"JobObserver needs the graph of a job, env.job_graph(), and got {type(graph).__name__}."
            )
        self.job = str(graph.name)
        self.journal = Journal(f"job {self.job}", seed=seed) if journal is None else journal
        self.life = -1
        self._graph, self._simulated = graph, simulated
        self._begun = False

    def begin(self, graph: Any) -> None:
        """Begin another life with the next observation, with this graph (of another parallelism, for
        example).
        """
        self._graph, self._begun = graph, False

    def observe(self, observation: Any) -> None:
        """Take an observation of the engine. Kinds that this version does not know are left out."""
        made = _HANDLERS.get(type(observation).__name__)
        if made is None:
            return
        if not self._begun:
            self._begin(observation.at_ms)
        about = {"time_ms": observation.at_ms, "job": self.job, "life": self.life}
        self.journal.append(made(observation, about))

    def close(self) -> None:
        """End the journal, which stays as a recording."""
        self.journal.live = False

    def __repr__(self) -> str:
        return f"JobObserver({self.journal!r})"

    def _begin(self, now_ms: int) -> None:
        self._begun = True
        self.life += 1
        about: dict[str, Any] = {"time_ms": now_ms, "job": self.job, "life": self.life}
        self.journal.append(told.JobSeen(**about, simulated=self._simulated))
        for vertex in self._graph.vertices:
            self.journal.append(
                told.VertexSeen(
                    **about,
                    vertex=vertex.name,
                    parallelism=vertex.parallelism,
                    operators=tuple(operator.name for operator in vertex.operators),
                    operator_ids=tuple(operator.operator_id for operator in vertex.operators),
                )
            )
        for vertex in self._graph.vertices:
            for edge in vertex.inputs:
                exchange = edge.exchange.value
                self.journal.append(
                    told.EdgeSeen(
                        **about, producer=edge.producer.name, consumer=vertex.name, exchange=exchange
                    )
                )


FAULTS = ("drop", "delay", "fail", "kill")


def _by_hand(o: Any, about: dict[str, Any]) -> Observation:
    target = str(o.args[0]) if o.args else ""
    call = f"run.{o.name}({', '.join(map(repr, o.args))})"
    is_fault = o.name in FAULTS
    return Acted(time_ms=o.at_ms, text=o.text, call=call, target=target, is_fault=is_fault)


Make = Callable[[Any, dict[str, Any]], Observation]


def _of_task(cls: type[told.TaskObservation], *fields: str) -> Make:
    """Return what converts an observation of the engine about a subtask."""

    def make(o: Any, about: dict[str, Any]) -> Observation:
        where = {"vertex": o.subtask.vertex, "subtask": o.subtask.index, "attempt": o.attempt}
        return cls(**about, **where, **{name: getattr(o, name) for name in fields})

    return make


def _plain(cls: type[told.JobObservation], *fields: str) -> Make:
    def make(o: Any, about: dict[str, Any]) -> Observation:
        return cls(**about, **{name: getattr(o, name) for name in fields})

    return make


def _names(tasks: Iterable[Any]) -> tuple[str, ...]:
    return tuple(told.task_name(task.vertex, task.index) for task in tasks)


def _requested(o: Any, about: dict[str, Any]) -> Observation:
    return told.CheckpointRequested(**about, checkpoint_kind=o.kind.value, is_periodic=o.is_periodic)


def _planned(o: Any, about: dict[str, Any]) -> Observation:
    return told.CheckpointPlanned(
        **about,
        checkpoint_id=o.checkpoint_id,
        checkpoint_kind=o.kind.value,
        to_trigger=_names(o.to_trigger),
        to_wait_for=_names(o.to_wait_for),
        finished=_names(o.finished),
        coordinators=tuple(o.coordinators),
        hooks=tuple(o.hooks),
    )


def _acknowledged(o: Any, about: dict[str, Any]) -> Observation:
    where = {"vertex": o.subtask.vertex, "subtask": o.subtask.index}
    return told.CheckpointAcknowledged(**about, **where, checkpoint_id=o.checkpoint_id, outcome=o.outcome)


def _completed(o: Any, about: dict[str, Any]) -> Observation:
    return told.CheckpointCompleted(
        **about,
        checkpoint_id=o.checkpoint_id,
        checkpoint_kind=o.kind.value,
        path=o.path,
        state_bytes=o.state_bytes,
    )


def _restored(o: Any, about: dict[str, Any]) -> Observation:
    return told.JobRestored(
        **about, checkpoint_id=o.checkpoint_id, tasks=_names(o.subtasks), is_global=o.is_global
    )


def _contents(o: Any, about: dict[str, Any]) -> Observation:
    producer, consumer = _names((o.producer, o.consumer))
    marks = tuple((mark.what, mark.value) for mark in o.marks)
    return told.ChannelMeasured(
        **about, producer=producer, consumer=consumer, channel=o.channel, marks=marks, records=o.records,
        capacity=o.capacity, blocked=o.blocked,
    )  # fmt: skip


def _arrived(o: Any, about: dict[str, Any]) -> Observation:
    producer, consumer = _names((o.producer, o.consumer))
    mark = o.mark
    return told.ElementArrived(
        **about, producer=producer, consumer=consumer, channel=o.channel, what=mark.what, value=mark.value
    )


# By the name of the engine's observation.
_HANDLERS: dict[str, Make] = {
    "JobStateChanged": _plain(told.JobStateChanged, "state", "reason"),
    "SubtaskStateChanged": _of_task(told.SubtaskStateChanged, "state", "reason"),
    "LifecycleCall": _of_task(told.OperatorCalled, "operator", "what", "checkpoint_id"),
    "CheckpointRequested": _requested,
    "CheckpointPending": _planned,
    "CheckpointStep": _plain(told.CheckpointStepped, "checkpoint_id", "step", "who"),
    "BarrierArrived": _of_task(told.BarrierArrived, "checkpoint_id", "channel", "waits_for"),
    "Aligned": _of_task(told.CheckpointAligned, "checkpoint_id", "records_in", "records_out"),
    "Snapshotted": _of_task(told.CheckpointSnapshotted, "checkpoint_id", "state_bytes", "operators_finished"),
    "Acknowledged": _acknowledged,
    "CheckpointCompleted": _completed,
    "CheckpointFailed": _plain(told.CheckpointFailed, "checkpoint_id", "reason", "message"),
    "CheckpointNotified": _of_task(told.CheckpointNotified, "checkpoint_id", "completed"),
    "Restored": _restored,
    "WatermarkAdvanced": _of_task(told.WatermarkAdvanced, "timestamp_ms"),
    "Throughput": _of_task(told.SubtaskMeasured, "records_in", "records_out", "late_dropped"),
    "ChannelContents": _contents,
    "ElementArrived": _arrived,
    "ByHand": _by_hand,
    "SinkTrays": _of_task(told.SinkTraysSeen, "operator", "open", "pre_committed", "committed"),
    "CutPassed": _of_task(told.SourceCut, "checkpoint_id", "cut_ms", "events"),
    "SplitsAssigned": _plain(told.SplitsAssigned, "operator", "subtask", "splits", "back"),
}
