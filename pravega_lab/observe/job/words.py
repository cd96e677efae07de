"""`words_of`: a job's observation in a sentence, for the newest sentences of a subtask and for each step
of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pravega_lab.observe.job import observations as told
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.portable.words import plural

MAX_TIMESTAMP_MS = 2**63 - 1


class Names(Protocol):
    """The names for people of a job's subtasks and operators."""

    def label(self, vertex: str, subtask: int) -> str:
        """Return a subtask's name: ``count 2/3``."""

    def operator(self, operator_id: str) -> str:
        """Return an operator's name in the program."""


def words_of(o: Observation, names: Names) -> str:
    """Return the sentence without a full stop, "" for an observation that means nothing to a person."""
    make = _WORDS.get(type(o))
    return "" if make is None else make(o, names)


def tasks_of(o: Observation) -> tuple[tuple[str, int], ...]:
    """Return the subtasks that an observation is about, as (vertex, index)."""
    match o:
        case told.TaskObservation() | told.CheckpointAcknowledged():
            return ((o.vertex, o.subtask),)
        case told.ElementArrived():
            return (told.split_task(o.consumer),)
        case told.CheckpointStepped(step="task-triggered"):
            return (told.split_task(o.who),)
    return ()


def time_words(timestamp_ms: int) -> str:
    """Return an event time in words: ``1,200 ms``, or a word for the first or the last time."""
    if timestamp_ms >= MAX_TIMESTAMP_MS:
        return "the end of time"
    return "the beginning of time" if timestamp_ms <= -MAX_TIMESTAMP_MS else f"{timestamp_ms:,} ms"


def mark_words(what: str, value: int) -> str:
    """Return what is in a channel: ``12 records``, ``barrier 7``, ``end of data (drain)``, …"""
    match what:
        case "records":
            return plural(value, "record")
        case "watermark":
            return f"watermark {time_words(value)}"
        case "idle":
            return "idle" if value else "active again"
        case "barrier":
            return f"barrier {value}"
        case "cancel":
            return f"cancellation of checkpoint {value}"
        case "end-of-data":
            return "end of data (drain)" if value else "end of data (no drain)"
        case "end-of-partition":
            return "end of partition"
    return what


def channels_words(channels: tuple[int, ...]) -> str:
    """Return ``channel 2`` or ``channels 2, 3``."""
    return f"channel{'' if len(channels) == 1 else 's'} {', '.join(map(str, channels))}"


def _who(o: Any, names: Names) -> str:
    return names.label(o.vertex, o.subtask)


def _state(o: told.SubtaskStateChanged, names: Names) -> str:
    again = f" (attempt {o.attempt + 1})" if o.attempt else ""
    return f"{_who(o, names)} is {o.state}{again}{_because(o.reason)}"


def _because(reason: str) -> str:
    first = reason.strip().splitlines()[0] if reason.strip() else ""
    return f": {first[:200]}" if first else ""


_CALLS = {
    "open": "opened {operator}",
    "watermark-max": "gave {operator} the last watermark",
    "end-input": "told {operator} that its input has ended",
    "finish": "finished {operator}",
    "snapshot": "took the snapshot of {operator} for checkpoint {id}",
    "notify-complete": "told {operator} that checkpoint {id} is complete",
    "notify-aborted": "told {operator} that checkpoint {id} was given up",
    "close": "closed {operator}",
}


def _called(o: told.OperatorCalled, names: Names) -> str:
    text = _CALLS.get(o.what, f"{o.what} {{operator}}")
    return f"{_who(o, names)} {text.format(operator=names.operator(o.operator), id=o.checkpoint_id)}"


def _barrier(o: told.BarrierArrived, names: Names) -> str:
    rest = f"waits for {channels_words(o.waits_for)}" if o.waits_for else "has it from all"
    return f"{_who(o, names)} took barrier {o.checkpoint_id} on channel {o.channel}, {rest}"


def _planned(o: told.CheckpointPlanned, names: Names) -> str:
    done = f", {len(o.finished)} finished have nothing to snapshot" if o.finished else ""
    waits = f"{len(o.to_wait_for)} subtasks have to acknowledge"
    return f"{o.checkpoint_kind} {o.checkpoint_id} is pending: {waits}{done}"


def _stepped(o: told.CheckpointStepped, names: Names) -> str:
    if o.step == "task-triggered":
        return f"checkpoint {o.checkpoint_id} is triggered at {names.label(*told.split_task(o.who))}"
    sort, _, what = o.step.partition("-")
    verb = "asks" if what == "asked" else "has the state of"
    whose = "master hook" if sort == "hook" else "coordinator"
    return f"checkpoint {o.checkpoint_id} {verb} {whose} {names.operator(o.who)}"


def _between(o: told.SourceCut, names: Names) -> str:
    first, then = ("the cut", f"barrier {o.checkpoint_id}")
    if o.events < 0:
        first, then = f"barrier {o.checkpoint_id}", "the cut"
    return f"{abs(o.events):,} events of {_who(o, names)} lie between {first} and {then}"


def _trays(o: told.SinkTraysSeen, names: Names) -> str:
    return (
        f"{_who(o, names)}: {plural(len(o.open), 'transaction')} open, "
        f"{len(o.pre_committed)} pre-committed, {o.committed} committed"
    )


def _failed(o: told.CheckpointFailed, names: Names) -> str:
    number = "a checkpoint" if o.checkpoint_id is None else f"checkpoint {o.checkpoint_id}"
    return f"{number} failed: {o.message or o.reason}"


def _arrived(o: told.ElementArrived, names: Names) -> str:
    here = names.label(*told.split_task(o.consumer))
    return f"{mark_words(o.what, o.value)} reached {here} on channel {o.channel}"


def _notified(o: told.CheckpointNotified, names: Names) -> str:
    how = "is complete" if o.completed else "was given up"
    return f"{_who(o, names)} has heard that checkpoint {o.checkpoint_id} {how}"


def _restored(o: told.JobRestored, names: Names) -> str:
    whom = "all subtasks and coordinators" if o.is_global else f"{len(o.tasks)} subtasks"
    source = "without a checkpoint" if o.checkpoint_id is None else f"from checkpoint {o.checkpoint_id}"
    return f"{whom} begin {source}"


_WORDS: dict[type[Observation], Callable[[Any, Names], str]] = {
    told.JobStateChanged: lambda o, _: f"job {o.job} is {o.state}{_because(o.reason)}",
    told.SubtaskStateChanged: _state,
    told.OperatorCalled: _called,
    told.CheckpointRequested: lambda o, _: f"a {o.checkpoint_kind} is asked for",
    told.CheckpointPlanned: _planned,
    told.CheckpointStepped: _stepped,
    told.BarrierArrived: _barrier,
    told.CheckpointAligned: lambda o, names: (
        f"{_who(o, names)} takes checkpoint {o.checkpoint_id}: its barrier is out"
    ),
    told.CheckpointSnapshotted: lambda o, names: (
        f"{_who(o, names)} has written {o.state_bytes:,} bytes for checkpoint {o.checkpoint_id}"
    ),
    told.CheckpointAcknowledged: lambda o, names: (
        f"checkpoint {o.checkpoint_id} has the acknowledgement of {_who(o, names)}"
        + ("" if o.outcome == "success" else f": {o.outcome}")
    ),
    told.CheckpointCompleted: lambda o, _: (
        f"{o.checkpoint_kind} {o.checkpoint_id} is complete, {o.state_bytes:,} bytes"
    ),
    told.CheckpointFailed: _failed,
    told.CheckpointNotified: _notified,
    told.JobRestored: _restored,
    told.WatermarkAdvanced: lambda o, names: (
        f"{_who(o, names)} is at event time {time_words(o.timestamp_ms)}"
    ),
    told.ElementArrived: _arrived,
    told.SinkTraysSeen: _trays,
    told.SplitsAssigned: lambda o, names: (
        f"{', '.join(o.splits)} {'given back to' if o.back else 'assigned by'} {names.operator(o.operator)}"
        + (f" (subtask {o.subtask + 1})")
    ),
    told.SourceCut: lambda o, names: _between(o, names),
}
