"""Moments worth jumping to: splits, merges, checkpoints, failures, and what controls of ours did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pravega_lab.observe.group.observations import GroupCheckpointDone, ReaderLeft
from pravega_lab.observe.group.rows import number_label
from pravega_lab.observe.job.observations import (
    CheckpointCompleted,
    CheckpointFailed,
    JobStateChanged,
    SubtaskStateChanged,
    task_name,
)
from pravega_lab.observe.journal.observations import Observation, QueryEnded, StreamScaled
from pravega_lab.observe.ledger.observations import Acted

SPLIT, MERGE, CHECKPOINT, FAILURE, DONE = "split", "merge", "checkpoint", "failure", "done here"
SCALES = (SPLIT, MERGE)
NAME_MAX = 24  # of a checkpoint's name; automatic checkpoints have UUIDs
KINDS = (SPLIT, MERGE, CHECKPOINT, FAILURE, DONE)
"""``split`` in a jump means any scale: merges are splits that are over."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment: when, of which kind, in words, and by which observation. ``has_cut``: a fork can begin
    there.
    """

    time_ms: int
    kind: str
    text: str
    seq: int
    has_cut: bool = False


def scale_text(o: StreamScaled) -> str:
    """Return a scale in words, such as ``#2 → #4 #5: 210/s > 2 × 100/s``."""
    sealed, created = (" ".join(map(number_label, ids)) for ids in (o.sealed, o.created))
    return f"{sealed} → {created}: {o.cause}"


def moment_of(o: Observation) -> Moment | None:
    """Return the moment that an observation marks, None if it marks none."""
    match o:
        case StreamScaled():
            kind = MERGE if len(o.created) < len(o.sealed) else SPLIT
            return Moment(o.time_ms, kind, scale_text(o), o.seq)
        case GroupCheckpointDone():
            name = o.checkpoint if len(o.checkpoint) <= NAME_MAX else f"{o.checkpoint[:8]}…"
            return Moment(o.time_ms, CHECKPOINT, f"checkpoint {name} done", o.seq, has_cut=True)
        case QueryEnded(outcome="killed" | "failed" | "gone"):
            return Moment(o.time_ms, FAILURE, f"query {o.query} {o.outcome}", o.seq)
        case ReaderLeft(was_killed=True):
            return Moment(o.time_ms, FAILURE, f"reader {o.reader}, killed, is offline", o.seq)
        case CheckpointCompleted():
            return Moment(
                o.time_ms, CHECKPOINT, f"{o.checkpoint_kind} {o.checkpoint_id} of {o.job} done", o.seq
            )
        case CheckpointFailed():
            number = "a checkpoint" if o.checkpoint_id is None else f"checkpoint {o.checkpoint_id}"
            return Moment(o.time_ms, FAILURE, f"{number} of {o.job} failed: {o.message or o.reason}", o.seq)
        case SubtaskStateChanged(state="failed"):
            return Moment(o.time_ms, FAILURE, f"{task_name(o.vertex, o.subtask)} failed", o.seq)
        case JobStateChanged(state="failed"):
            return Moment(o.time_ms, FAILURE, f"job {o.job} failed", o.seq)
        case Acted():
            return Moment(o.time_ms, FAILURE if o.is_fault else DONE, o.text, o.seq)
    return None


def moments(observations: Iterable[Observation]) -> list[Moment]:
    """Return all moments, in order of time."""
    found = (moment_of(o) for o in observations)
    return sorted((m for m in found if m is not None), key=lambda m: (m.time_ms, m.seq))


def is_of(moment: Moment | Any, kind: str | None) -> bool:
    """Return whether a moment is of this kind. ``split`` includes merges; None includes all."""
    return kind is None or moment.kind == kind or (kind == SPLIT and moment.kind in SCALES)
