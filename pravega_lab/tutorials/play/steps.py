"""`steps_of`: what happened in a run of the page, as steps of a picture with a lane for each actor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pravega_lab.observe.group import observations as group
from pravega_lab.observe.group.rows import label_of
from pravega_lab.observe.job import observations as job
from pravega_lab.observe.journal.observations import Observation, StreamScaled
from pravega_lab.observe.ledger.observations import Acted, LedgerOffended
from pravega_lab.tutorials.play.worlds.played import Played
from pravega_lab.widgets.drawings.sequence_picture import STEPS_MAX, SequenceStep

ACTS, STREAM, GROUP, JOB, LEDGER = "acts", "stream", "group", "job", "ledger"
EARLIER = 10  # steps at the beginning that a shortened story keeps


def steps_of(played: Played) -> list[SequenceStep]:
    """Return the steps up to the first offending event. Of many, the first and the last are kept."""
    seen = sorted((o for journal in played.journals for o in journal.since()), key=lambda o: o.time_ms)
    steps = [SequenceStep(0, ACTS, "the run begins")] if seen else []
    known: set[tuple[str, str]] = set()
    for observation in seen:
        for lane, what in _told(observation):
            if lane == ACTS or (lane, what) not in known:
                known.add((lane, what))
                fails = lane == LEDGER
                time_us = 1000 * (observation.time_ms - played.zero_ms)
                steps.append(SequenceStep(time_us, lane, what, fails=fails))
        if isinstance(observation, LedgerOffended):
            break
    return _shortened(steps)


def _told(o: Observation) -> Iterator[tuple[str, str]]:
    """Yield lane and words of an observation that belongs to the story."""
    match o:
        case Acted():
            yield ACTS, o.text
        case StreamScaled():
            yield STREAM, f"{_listed(o.sealed)} → {_listed(o.created)}"
        case group.ReaderJoined():
            yield o.reader, "joins"
        case group.ReaderLeft():
            yield o.reader, "is gone"
        case group.GroupSegmentAcquired():
            yield o.reader, f"acquires {label_of(o.segment_id)} at {o.offset:,}"
        case group.GroupSegmentReleased():
            yield o.reader, f"releases {label_of(o.segment_id)} at {o.offset:,}"
        case group.GroupSegmentFinished():
            yield o.reader, f"has read {label_of(o.segment_id)}"
        case group.GroupCheckpointDone():
            yield GROUP, f"{o.checkpoint} is complete"
        case group.GroupReset(is_begun=False):
            yield GROUP, "is reset"
        case job.CheckpointCompleted():
            yield JOB, f"checkpoint {o.checkpoint_id} is complete"
        case job.CheckpointFailed():
            yield JOB, f"no checkpoint: {o.reason}"
        case job.JobRestored():
            yield JOB, "begins" if o.checkpoint_id is None else f"goes back to checkpoint {o.checkpoint_id}"
        case job.SubtaskStateChanged(state="finished" | "failed"):
            yield f"{o.vertex}[{o.subtask}]", o.state
        case LedgerOffended():
            yield LEDGER, f"event {o.event}: {o.what}"


def _listed(segments: Sequence[int]) -> str:
    return ", ".join(map(label_of, segments))


def _shortened(steps: list[SequenceStep]) -> list[SequenceStep]:
    if len(steps) <= STEPS_MAX:
        return steps
    rest = STEPS_MAX - EARLIER - 1
    left_out = len(steps) - EARLIER - rest
    gap = SequenceStep(steps[EARLIER].time_us, steps[EARLIER].lane, f"({left_out} steps are left out)")
    return [*steps[:EARLIER], gap, *steps[-rest:]]
