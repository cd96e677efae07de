"""Tutorial 08: which reader had which segment, and how a job and its reader group recover."""

from __future__ import annotations

from pravega_lab.observe import fold_groups
from pravega_lab.observe.group.observations import GroupReset, GroupSegmentAcquired, ReaderJoined
from pravega_lab.observe.job.observations import JobRestored, JobStateChanged, SubtaskStateChanged
from pravega_lab.protocol.names import number_of
from pravega_lab.tutorials.copying.copy_job import Copying
from pravega_lab.tutorials.copying.notes import SOURCE
from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.drawings.line_picture import Mark
from pravega_lab.widgets.drawings.sequence_picture import SequenceStep, sequence_picture
from pravega_lab.widgets.drawings.span_picture import Span, span_picture

NOBODY = "no reader"
SHOWN_MS = 150  # after the last deployment: until the new readers have joined
COORDINATOR, GROUP, FIRST, SECOND = "coordinator", "reader group", "source[0]", "source[1]"


def owners_picture(run: Copying, *, until_s: float) -> Drawing:
    """Draw which reader had each segment, from the beginning to a virtual second of the run.

    Lines mark the barrier of the checkpoint to which the job went back, the last checkpoint of the group
    before the failure, and the failure.
    """
    start_ms = run.journal.start_ms or 0

    def at(time_ms: float) -> float:
        return round((time_ms - start_ms) / 1000, 2)

    lanes: dict[str, list[Span]] = {}
    held = fold_groups(run.journal.since()).holdings
    for bar in sorted(held, key=lambda bar: (number_of(bar.segment_id), bar.start_ms)):
        end_s = min(at(bar.end_ms) if bar.end_ms is not None else until_s, until_s)
        if at(bar.start_ms) < until_s:
            lanes.setdefault(bar.label, []).append(Span(at(bar.start_ms), end_s, bar.reader or NOBODY))
    failed_ms = _failed_ms(run)
    barriers = run.job.to_pandas("checkpoint_snapshotted")
    own = barriers[(barriers.checkpoint_id == run.went_back_to) & barriers.vertex.str.startswith(SOURCE)]
    done = run.journal.to_pandas("group_checkpoint_done")
    marks = [
        Mark(at(own.time_ms.min()), f"barrier {run.went_back_to}"),
        *(Mark(at(ms), "group's checkpoint") for ms in done.time_ms[done.time_ms < failed_ms].tail(1)),
        Mark(at(failed_ms), "failure", fails=True),
    ]
    title = f"({run.form.letter}) which reader had which segment"
    return span_picture(title, lanes, x="virtual seconds", marks=marks, pale=[NOBODY])


def recovery_picture(run: Copying) -> Drawing:
    """Draw the recovery of a job with a reader group, from the failure until new readers have joined."""
    failed_ms = _failed_ms(run)
    steps: list[tuple[int, SequenceStep]] = []

    def add(time_ms: int, lane: str, what: str, by: str | None = None, *, fails: bool = False) -> None:
        steps.append((time_ms, SequenceStep(1000 * (time_ms - failed_ms), lane, what, by, fails)))

    deployed_ms = max(one.time_ms for one in run.job.since() if isinstance(one, JobRestored))
    for one in (
        *run.journal.since(),
        *run.job.since(),
    ):  # at one moment the group comes first: the job waits for it
        if not failed_ms <= one.time_ms <= deployed_ms + SHOWN_MS:
            continue
        match one:
            case SubtaskStateChanged(state="failed") if one.vertex.startswith(SOURCE):
                add(one.time_ms, f"source[{one.subtask}]", "fails", fails=True)
            case SubtaskStateChanged(state="canceled") if one.vertex.startswith(SOURCE):
                add(one.time_ms, f"source[{one.subtask}]", "is cancelled", COORDINATOR)
            case SubtaskStateChanged(state="running") if one.vertex.startswith(SOURCE):
                add(one.time_ms, f"source[{one.subtask}]", "runs")
            case JobStateChanged(state="restarting"):
                add(one.time_ms, COORDINATOR, "restarts the job")
            case GroupReset():
                add(one.time_ms, GROUP, "reset begins" if one.is_begun else "reset ends", COORDINATOR)
            case JobRestored():
                add(one.time_ms, COORDINATOR, f"deploys from {one.checkpoint_id}")
            case ReaderJoined():
                add(one.time_ms, GROUP, f"{one.reader} joins")
            case GroupSegmentAcquired():
                add(one.time_ms, GROUP, f"{one.reader}: #{number_of(one.segment_id)}")
    drawn = [step for _, step in sorted(steps, key=lambda pair: pair[0])]
    return sequence_picture(
        f"({run.form.letter}) from the failure on", [FIRST, SECOND, COORDINATOR, GROUP], drawn
    )


def _failed_ms(run: Copying) -> int:
    states = run.job.to_pandas("subtask_state")
    return int(states[states.state == "failed"].time_ms.min())
