"""Moments worth jumping to: splits, checkpoints, failures, and what was done here. A fold, one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pravega_lab.observe.group_observations import GroupCheckpointDone, ReaderLeft
from pravega_lab.observe.job_observations import (
    CheckpointCompleted,
    CheckpointFailed,
    JobStateChanged,
    SubtaskStateChanged,
    task_name,
)
from pravega_lab.observe.ledger_observations import Acted
from pravega_lab.observe.observations import Observation, QueryEnded, StreamScaled

SPLIT, MERGE, CHECKPOINT, FAILURE, DONE = "split", "merge", "checkpoint", "failure", "done here"
SCALES = (SPLIT, MERGE)
NAME_MAX = 24  # of a checkpoint; those that groups take by themselves have UUIDs
KINDS = (SPLIT, MERGE, CHECKPOINT, FAILURE, DONE)
"""``split`` in a jump means any scale: merges are splits that are over."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When, of which kind, in words, and which observation says so. ``has_cut``: one can fork from it."""

    time_ms: int
    kind: str
    text: str
    seq: int
    has_cut: bool = False


def moment_of(o: Observation) -> Moment | None:
    """The moment that an observation is, if it is one."""
    match o:
        case StreamScaled():
            kind = MERGE if len(o.created) < len(o.sealed) else SPLIT
            sealed, created = (" ".join(f"#{i & 0xFFFFFFFF}" for i in ids) for ids in (o.sealed, o.created))
            return Moment(o.time_ms, kind, f"{sealed} → {created}: {o.cause}", o.seq)
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
    """All moments, in order of time."""
    found = (moment_of(o) for o in observations)
    return sorted((m for m in found if m is not None), key=lambda m: (m.time_ms, m.seq))


def is_of(moment: Moment | Any, kind: str | None) -> bool:
    """Is it of this kind? ``split`` means merges too; None means any."""
    return kind is None or moment.kind == kind or (kind == SPLIT and moment.kind in SCALES)
