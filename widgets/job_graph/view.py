"""A running job as a graph: a column per chain, a box per subtask, and what each channel holds."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar

from pravega_lab.observe.job.fold import JobHistory
from pravega_lab.observe.job.observations import SinkTraysSeen, task_name
from pravega_lab.observe.job.rows import TASK_STATES, ChannelRow, Contents, Measure, TaskRow
from pravega_lab.observe.job.words import mark_words
from pravega_lab.portable.words import plural

from ..live.job_access import control_facts
from ..live.payload import or_nan, pack
from ..live.view import View

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# model.ts declares the same formats.
TASK = Struct("<III")  # index, vertex, subtask
CHANNEL = Struct("<IIII")  # index, producer, consumer, number among the consumer's
STATE = Struct("<IfIII")  # task, t_s, state, attempt, checkpoint + 1
MEASURE = Struct("<IfffffII")  # task, t_s, in/s, out/s, records out, bytes of state, event time (high, low)
CONTENT = Struct("<IfIIIII")  # channel, t_s, records, capacity, 1 when blocked, first of its marks, how many
MARK = Struct("<III")  # what, value (high, low)
TRAY = Struct("<IfIII")  # task, t_s, open, pre-committed, committed
MARKS = (
    "records", "watermark", "idle", "barrier", "cancel", "end-of-data", "end-of-partition",
)  # fmt: skip
CONTENTS_MAX, MEASURES_MAX, SAID_MAX = 30_000, 20_000, 10_000  # that a new page receives
FOLD_ABOVE = 8  # subtasks of a vertex; more share one box with counts
COLUMNS = (
    "task", "vertex", "subtask", "of", "state", "since_s", "attempt", "records_in", "records_out",
    "in_per_s", "out_per_s", "state_bytes", "watermark_ms", "open", "pre_committed", "committed", "reason",
)  # fmt: skip
WHOLE = ("records_in", "records_out", "state_bytes", "watermark_ms", "open", "pre_committed", "committed")
CHANNEL_COLUMNS = ("channel", "producer", "consumer", "number", "holds", "records", "capacity", "blocked_ms")

EMPTY_CODE = """observer = JobObserver(graph)
job = Job(graph, JobConfig(sample_interval_ms=100), observer=observer)
show(observer)
await job.start()"""


class JobGraph(View):
    """Draws vertices from left to right by depth, a box per subtask; more than eight share a box with counts.

    Before each box are its channels with what they hold, the head on the right: records with their number,
    a bar with the id of a barrier, ◇ watermark, ■ end of data, ▮ end of partition; the filling is
    back-pressure, a padlock that an alignment holds the channel. Live runs are sampled, simulated ones exact.

    Args:
        journal: A `Journal` or an observer of a job.
        title, scale, clock: As for every `View`.

    ``.frame``: a row per subtask of the newest life: task (``count[1]``), vertex, subtask (from 0), of, state
    (a word), since_s, attempt, records_in and records_out (of this attempt), in_per_s, out_per_s, state_bytes
    (of its last snapshot), watermark_ms, transactions open, pre_committed and committed (of sinks), reason.
    ``.channels``: a row per channel, with what it holds in words and for how long it has been blocked.
    """

    script = "job_graph"
    history: ClassVar[Any] = JobHistory

    def __init__(self, journal: Any, **more: Any) -> None:
        self._sent: dict[str, int] = {}
        self._n_marks = 0
        super().__init__(journal, **more)

    # Rows for the page.

    def _pack(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        history: JobHistory = self._history
        if everything:
            self._sent, self._n_marks = {}, 0
        contents = self._new("contents", history.contents, CONTENTS_MAX)
        trays = self._new("trays", history.trays)
        tables = {
            "tasks": pack(TASK, (_task(row) for row in self._rows("tasks", history.tasks))),
            "channels": pack(CHANNEL, (_channel(row) for row in self._rows("channels", history.channels))),
            "states": pack(STATE, (self._state(s) for s in self._new("states", history.states))),
            "measures": pack(
                MEASURE, (self._measure(m) for m in self._new("measures", history.measures, MEASURES_MAX))
            ),
            "contents": pack(CONTENT, [self._content(c) for c in contents]),
            "marks": pack(MARK, (_mark(what, value) for c in contents for what, value in c.marks)),
            "trays": pack(TRAY, (self._tray(task, o) for task, o in trays)),
        }
        return tables, self._grown(history, trays)

    def _rows(self, name: str, rows: list[Any]) -> list[Any]:
        """Return the rows that no page has."""
        first = self._sent.get(name, 0)
        self._sent[name] = len(rows)
        return rows[first:]

    def _new(self, name: str, kept: Any, most: int = 100_000) -> list[Any]:
        """Return what was added since; of very many the newest."""
        found: list[Any] = kept.since(self._sent.get(name, 0))
        self._sent[name] = kept.total
        return found[-most:]

    def _grown(self, history: JobHistory, trays: list[Any]) -> dict[str, list[Any]]:
        said = self._new("said", history.said, SAID_MAX)
        failures = self._new("why", history.states)
        return {
            "vertices": [
                [v.index, v.life, v.short, v.parallelism, list(v.operators), v.depth, v.name]
                for v in self._rows("vertices", history.vertices)
            ],
            "lives": [[self._s(ms), life] for ms, life in self._rows("lives", history.lives)],
            "jobs": [[self._s(o.time_ms), o.state, o.reason] for o in self._rows("jobs", history.job_states)],
            "said": [[task, self._s(ms), text] for task, ms, text in said],
            "why": [[s.task, self._s(s.time_ms), s.why] for s in failures if s.why],
            "trays": [[list(o.open), [list(pair) for pair in o.pre_committed]] for _, o in trays],
        }

    def _s(self, time_ms: int) -> float:
        return (time_ms - (self._history.start_ms or 0)) / 1000

    def _state(self, s: Any) -> tuple[float, ...]:
        checkpoint = 0 if s.checkpoint_id is None else s.checkpoint_id + 1
        return s.task, self._s(s.time_ms), TASK_STATES.index(s.state), s.attempt, checkpoint

    def _measure(self, m: Measure) -> tuple[float, ...]:
        time = _halves(-(2**63) if m.watermark_ms is None else m.watermark_ms)
        rates = (or_nan(m.in_per_s), or_nan(m.out_per_s), or_nan(m.records_out), or_nan(m.state_bytes))
        return m.task, self._s(m.time_ms), *rates, *time

    def _content(self, c: Contents) -> tuple[float, ...]:
        first, n = self._n_marks, len(c.marks)
        self._n_marks += n
        return c.channel, self._s(c.time_ms), c.records, c.capacity, int(c.blocked), first, n

    def _tray(self, task: int, o: SinkTraysSeen) -> tuple[float, ...]:
        return task, self._s(o.time_ms), len(o.open), len(o.pre_committed), o.committed

    def _facts(self) -> dict[str, Any]:
        history: JobHistory = self._history
        early = [
            kept.total - most for kept, most in ((history.contents, CONTENTS_MAX), (history.said, SAID_MAX))
        ]
        left = sum(max(0, n) for n in early)
        return {
            "source": history.job,
            "title": self.title or (f"job {history.job}" if history.job else self._observed or "no job yet"),
            "simulated": history.simulated,
            **control_facts(self),
            "left_out": f"the oldest {left:,} samples and sentences left out" if left else "",
            "empty": ["No job has begun: give its observer to a Job, and start it.", EMPTY_CODE],
        }

    # Tables, words and pictures.

    def _frame_of(self, history: JobHistory) -> pd.DataFrame:
        from pravega_lab.portable.frames import pd

        start_ms = history.start_ms or 0
        mine = [task for task in history.tasks if task.vertex.life == history.life]
        rows = [_frame_row(task, start_ms) for task in mine]
        # As objects first: with a null among them pandas would turn the end of time into an inexact float.
        frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
        types = dict.fromkeys(WHOLE, "Int64") | dict.fromkeys(("in_per_s", "out_per_s"), "Float64")
        types |= {"subtask": "int64", "of": "int64", "attempt": "int64", "since_s": "float64"}
        return frame.astype(types)

    @property
    def channels(self) -> pd.DataFrame:
        """Return a row per channel, the consumer's first channel first."""
        from pravega_lab.portable.frames import pd

        with self._lock:
            history: JobHistory = self._catch_up()
            mine = [c for c in history.channels if c.life == history.life]
            mine.sort(key=lambda c: (c.consumer.index, c.number))
            rows = [_channel_frame_row(c, history.now_ms or 0) for c in mine]
        return pd.DataFrame(rows, columns=list(CHANNEL_COLUMNS)).astype({"blocked_ms": "Int64"})

    def last(self, task: str, n: int = 20) -> list[str]:
        """Return the last sentences about a subtask such as ``count[1]``, the newest last; at most twenty."""
        with self._lock:
            history: JobHistory = self._catch_up()
            row = next((t for t in history.tasks if t.vertex.life == history.life and _name(t) == task), None)
            return [] if row is None else [text for _, text in list(row.said)[-n:]]

    def _summary(self) -> str:
        history: JobHistory = self._history
        n = sum(task.vertex.life == history.life for task in history.tasks)
        return f"{history.job!r}, {plural(n, 'subtask')}, {history.state}, recording"

    def _rectangles(self) -> int:
        return 0  # one graph at one moment: small, or folded

    def _svg(self) -> str:
        from .picture import job_svg

        return job_svg(self._history, self._facts(), str(self.journal.gap))

    def figure(self) -> Figure:
        """Return records per second of each subtask, and below how full its fullest channel was."""
        from .picture import job_figure

        with self._lock:
            return job_figure(self._catch_up(), self._facts())


def _name(task: TaskRow) -> str:
    return task_name(task.vertex.name, task.subtask)


def _frame_row(task: TaskRow, start_ms: int) -> tuple[Any, ...]:
    trays = list(task.trays.values())
    sums = (
        sum(len(t.open) for t in trays),
        sum(len(t.pre_committed) for t in trays),
        sum(t.committed for t in trays),
    )
    where = (_name(task), task.vertex.name, task.subtask, task.vertex.parallelism)
    state = (task.state, (task.since_ms - start_ms) / 1000, max(0, task.attempt))
    rates = (task.records_in, task.records_out, task.in_per_s, task.out_per_s, task.state_bytes)
    return *where, *state, *rates, task.watermark_ms, *(sums if trays else (None,) * 3), task.reason


def _channel_frame_row(c: ChannelRow, now_ms: int) -> tuple[Any, ...]:
    producer, consumer = _name(c.producer), _name(c.consumer)
    holds = [mark_words(what, value) for what, value in c.marks]
    blocked = None if c.blocked_since_ms is None else now_ms - c.blocked_since_ms
    lane = f"{producer}>{consumer}:{c.number}"
    return lane, producer, consumer, c.number, holds, c.records, c.capacity, blocked


def _task(row: TaskRow) -> tuple[int, ...]:
    return row.index, row.vertex.index, row.subtask


def _channel(row: ChannelRow) -> tuple[int, ...]:
    return row.index, row.producer.index, row.consumer.index, row.number


def _mark(what: str, value: int) -> tuple[int, ...]:
    return MARKS.index(what), *_halves(value)


def _halves(value: int) -> tuple[int, int]:
    """Return a 64-bit number as two numbers; a page puts them together."""
    return (value >> 32) & 0xFFFFFFFF, value & 0xFFFFFFFF
