"""Tutorial 09: pictures of the end of a job, and a job with parallelism 2 of which a part finishes first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pravega_lab.engine.flow.checkpoint import metadata
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.plan import check_finished_graph
from pravega_lab.engine.flow.errors import RestoreError
from pravega_lab.engine.flow.files import Files
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.lab.stepping import StepByStep
from pravega_lab.tutorials.final_checkpoints import INTERVAL_MS
from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.drawings.line_picture import Mark
from pravega_lab.widgets.drawings.sequence_picture import SequenceStep, sequence_picture
from pravega_lab.widgets.drawings.span_picture import Span, span_picture

if TYPE_CHECKING:
    import pandas as pd

PROCESSES, WAITS = "processes data", "waits for a checkpoint"
COORDINATOR = "coordinator"
CUSTOMERS, SPLITS, EVERY_MS = 12, 3, 50
#: What a step is called in the picture, by the call of the operator, and whether another task caused it.
_SAID = {
    "watermark-max": ("last watermark", "task"),
    "end-input": ("end_input", ""),
    "finish": ("finish", ""),
    "snapshot": ("barrier: snapshot", "barrier"),
    "notify-complete": ("complete: commit", "coordinator"),
    "close": ("close", ""),
}


def _ms(run: StepByStep, time_ms: int) -> int:
    return int(time_ms) - (run.journal.start_ms or 0)


def _calls(run: StepByStep) -> pd.DataFrame:
    return run.journal.to_pandas("operator_called")


def _tasks(run: StepByStep) -> list[str]:
    """Return the tasks in the order of the graph."""
    return list(dict.fromkeys(run.journal.to_pandas("vertex_seen").vertex))


def waiting_picture(run: StepByStep, title: str) -> Drawing:
    """Draw when each task of a finished `chain` processed data, and when it waited for a checkpoint."""
    calls, lanes = _calls(run), {}
    for task in _tasks(run):
        own = calls[calls.vertex == task]
        finished, closed = (_ms(run, own[own.what == what].time_ms.max()) for what in ("finish", "close"))
        lanes[task] = [Span(0, finished, PROCESSES), Span(finished, closed, WAITS)]
    done = run.journal.to_pandas("checkpoint_completed")
    marks = [
        Mark(_ms(run, at), f"checkpoint {n}") for n, at in zip(done.checkpoint_id, done.time_ms, strict=True)
    ]
    return span_picture(title, lanes, x="virtual ms", marks=marks)


def end_of_data_picture(run: StepByStep) -> Drawing:
    """Draw how the end of data travels through a finished `chain`, and the checkpoint after it."""
    calls = _calls(run)
    tasks = _tasks(run)
    before = dict(zip(tasks[1:], tasks, strict=False))
    ended_seq = calls[calls.what == "finish"].seq.min()
    done = run.journal.to_pandas("checkpoint_completed")
    steps = [
        (int(seq), SequenceStep(1000 * _ms(run, at), COORDINATOR, f"checkpoint {n} complete"))
        for seq, at, n in zip(done.seq, done.time_ms, done.checkpoint_id, strict=True)
    ]
    for call in calls[calls.what.isin(_SAID)].to_dict("records"):
        task, (what, cause) = call["vertex"], _SAID[call["what"]]
        by: str | None = {"task": before.get(task), "coordinator": COORDINATOR}.get(cause)
        if cause == "barrier":
            by = before.get(task, COORDINATOR)
        steps.append((call["seq"], SequenceStep(1000 * _ms(run, call["time_ms"]), task, what, by)))
    first = ended_seq - 1
    drawn = [step for seq, step in sorted(steps, key=lambda pair: pair[0]) if seq >= first]
    return sequence_picture("The end of data, and the final checkpoint", [*tasks, COORDINATOR], drawn)


def customers_graph(files: Files, *, new: str = "") -> JobGraph:
    """Return a job with parallelism 2: a source of three splits, and a two-phase sink.

    One subtask of the source gets two splits and the other one, so that this one finishes first. ``new`` is
    the name of an operator to add between source and sink.
    """
    env = StreamEnvironment("two subtasks", parallelism=2, chaining=False)
    people = [{"customer": n} for n in range(CUSTOMERS)]
    source = RowsSource(people, splits=SPLITS, batch_rows=1, pause_ms=lambda: EVERY_MS)
    customers = env.from_source(source, uid="customers", name="customers")
    if new:
        customers = customers.map(lambda row: row, name=new)
    customers.sink_to(TwoPhaseFileSink("known", files), uid="known", name="known")
    return env.job_graph()


def two_subtasks() -> StepByStep:
    """Return a run of `customers_graph`."""
    return StepByStep(customers_graph, JobConfig(CheckpointConfig(interval_ms=INTERVAL_MS)), seed=1)


def stored(run: StepByStep, checkpoint_id: int) -> pd.DataFrame:
    """Return what the metadata of a checkpoint stores: a row for each operator, a column for each subtask."""
    from pravega_lab.portable.frames import pd

    body = json.loads(run.files.data[f"{_folder(checkpoint_id)}/_metadata"])
    rows = {}
    for operator in body["operators"]:
        subtasks = {
            f"subtask {index}": found if found == "finished" else f"{found['bytes']} bytes of state"
            for index, found in operator["subtasks"].items()
        }
        rows[operator["name"]] = {"operator": operator["finished"], **subtasks}
    return pd.DataFrame(rows).T.fillna("")


def refusal(run: StepByStep, checkpoint_id: int, new: str) -> str:
    """Return why the job with a ``new`` operator cannot start from a checkpoint; empty if it can."""
    graph = customers_graph(run.files, new=new)
    folder = _folder(checkpoint_id)
    checkpoint = metadata.decode(run.files.data[f"{folder}/_metadata"], folder)
    try:
        check_finished_graph(graph, checkpoint)
    except RestoreError as error:
        return str(error)
    return ""


def _folder(checkpoint_id: int) -> str:
    return f"checkpoints/stepped/chk-{checkpoint_id}"
