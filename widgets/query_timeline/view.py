"""Micro-batches of a streaming query as rows of phases over time; below them rows per second, and lag."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar

from pravega_lab.observe.journal.observations import Observation
from pravega_lab.observe.query.fold import PHASES, BatchHistory, BatchRow
from pravega_lab.portable.words import plural

from ..live.payload import NAN, or_nan, pack
from ..live.view import View
from ..svg.picture import moment_text

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# model.ts declares the same formats.
BATCH = Struct("<IIffII")  # index, batch id, start_s, end_s (inf while it runs), attempt, flags
PHASE = Struct("<IffIII")  # index of the batch, start_s, end_s, phase, 1 when inferred, 0
FLOW = Struct("<Ifffff")  # index of the batch, end_s, rows/s in, rows/s out, lag bytes, rows
OUTCOMES = ("running", "done", "failed", "killed", "gone", "stopped")
REPLAYED = 256

# Words of the legend and of the tooltip.
PHASE_WORDS = {
    "plan": "plan",
    "offsets": "Spark's offset log",
    "read": "read",
    "process": "process",
    "work": "read, process, write",
    "prepare": "prepare",
    "decision": "decision",
    "commit": "commit",
    "log": "Spark's commit log",
}
PHASE_COLOURS = {
    "plan": "#56B4E9",
    "offsets": "#9a9a9a",
    "read": "#7fb2dd",
    "process": "#0072B2",
    "work": "#0072B2",
    "prepare": "#E69F00",
    "decision": "#F0E442",
    "commit": "#009E73",
    "log": "#CC79A7",
}
COLUMNS = (
    "query", "batch_id", "attempt", "run", "outcome", "replayed", "start_s", "end_s", "duration_ms",
    "input_rows", "output_rows", "input_rows_per_s", "processed_rows_per_s", "lag_bytes", "late_rows",
    *(f"{phase}_ms" for phase in PHASES),
)  # fmt: skip


class QueryTimeline(View):
    """Draws a row per attempt of a micro-batch, phases from left to right; below rows per second and lag.

    Attempts that are too many for rows are bars side by side, each as high as it took long.

    Args:
        journal: A `Journal` or an observer.
        query: Name of the query; by default the first in the journal.
        title, scale, clock: As for every `View`.

    ``.frame``: a row per attempt in order of start: query, batch_id, attempt, run (of the query), outcome,
    replayed, start_s, end_s, duration_ms, input_rows, output_rows, input_rows_per_s, processed_rows_per_s,
    lag_bytes (behind the end of the stream when the batch ended), late_rows (dropped by a watermark), and the
    milliseconds of each phase. Null is *not known*: Spark reports ``work_ms`` as one number, and only a
    journal of our sink splits it into read, process, prepare, decision and commit.
    """

    script = "query_timeline"
    history: ClassVar[Any] = BatchHistory

    def __init__(self, journal: Any, *, query: str | None = None, **more: Any) -> None:
        self.query = query
        self._sent_phases: dict[int, int] = {}
        self._sent_runs = (0, 0)
        super().__init__(journal, **more)

    def _wants(self, observation: Observation) -> bool:
        query = getattr(observation, "query", None)
        if query is None:
            return True
        self.query = self.query or query
        return bool(query == self.query)

    def _concerns(self, source: str) -> bool:
        return not self.query or source in (self.query, "query")

    # Rows for the page.

    def _pack(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        history: BatchHistory = self._history
        if everything:
            self._sent_phases, self._sent_runs = {}, (0, 0)
        start_ms = history.start_ms or 0
        rows = history.rows if everything else [history.rows[i] for i in history.changed]
        history.changed.clear()
        tables = {
            "batches": pack(BATCH, (_batch_row(r, start_ms) for r in rows)),
            "phases": pack(PHASE, [p for r in rows for p in self._new_phases(r, start_ms)]),
            "flow": pack(FLOW, (_flow_row(r, start_ms) for r in rows)),
        }
        return tables, {"runs": self._new_runs(history, start_ms)}

    def _new_phases(self, row: BatchRow, start_ms: int) -> list[tuple[float, ...]]:
        first = self._sent_phases.get(row.index, 0)
        self._sent_phases[row.index] = len(row.phases)
        return [
            (
                row.index,
                (p.start_ms - start_ms) / 1000,
                (p.end_ms - start_ms) / 1000,
                PHASES.index(p.name),
                int(p.how == "inferred"),
                0,
            )
            for p in row.phases[first:]
        ]

    def _new_runs(self, history: BatchHistory, start_ms: int) -> list[list[Any]]:
        """Return [t_s, "start" or "end", run, outcome, cause, kind of the cause]."""
        starts, ends = self._sent_runs
        self._sent_runs = (len(history.starts), len(history.ends))
        new: list[list[Any]] = [
            [(s.time_ms - start_ms) / 1000, "start", s.run, "", s.cause, s.cause_kind]
            for s in history.starts[starts:]
        ]
        return new + [
            [(e.time_ms - start_ms) / 1000, "end", e.run, e.outcome, e.cause, e.cause_kind]
            for e in history.ends[ends:]
        ]

    def _facts(self) -> dict[str, Any]:
        history: BatchHistory = self._history
        told = dict.fromkeys(p.name for r in history.rows[-64:] for p in r.phases)
        return {
            "query": self.query or "",
            "title": self.title or self.query or self._observed or "no query yet",
            "phases": [[name, PHASE_WORDS[name], PHASE_COLOURS[name]] for name in PHASES],
            "told": [name for name in PHASES if name in told],
            "lag_known": any(r.done and r.done.lag_bytes is not None for r in history.rows[-64:]),
            "empty": ["No micro-batches yet: start a query, and watch them.", _EMPTY_CODE],
        }

    # Table, words and pictures.

    def _frame_of(self, history: BatchHistory) -> pd.DataFrame:
        from pravega_lab.portable.frames import pd

        start_ms = history.start_ms or 0
        frame = pd.DataFrame([_frame_row(r, start_ms) for r in history.rows], columns=list(COLUMNS))
        whole = (
            "duration_ms",
            "input_rows",
            "output_rows",
            "lag_bytes",
            "late_rows",
            *(f"{p}_ms" for p in PHASES),
        )
        types = dict.fromkeys(whole, "Int64") | dict.fromkeys(
            ("end_s", "input_rows_per_s", "processed_rows_per_s"), "Float64"
        )
        return frame.astype({**types, "replayed": "boolean"})

    def _reasons(self, history: BatchHistory) -> list[str]:
        start_ms = history.start_ms or 0
        return [
            f"{moment_text((e.time_ms - start_ms) / 1000)}: "
            f"run {e.run} {e.outcome}: {e.cause} ({e.cause_kind})"
            for e in history.ends
        ]

    def _summary(self) -> str:
        history: BatchHistory = self._history
        batches = len({r.batch_id for r in history.rows})
        replays = f", {len(history.replays)} replayed" if history.replays else ""
        return f"{self.query!r}, {plural(batches, 'batch', 'batches')}{replays}, recording"

    def _rectangles(self) -> int:
        return 0  # a picture has few bars where there are many rows, so it is always small

    def _svg(self) -> str:
        from .picture import query_svg

        return query_svg(self._history, self._facts(), str(self.journal.gap), self._span_ms)

    def figure(self) -> Figure:
        """Return phases per batch, rows per second and lag, as a plotly figure of three rows."""
        from ..segment_map.figures import query_figure

        with self._lock:
            return query_figure(self._catch_up(), self._facts())


_EMPTY_CODE = """query = result.writeStream.format("pravega").options(**out.options()).start()
lab.show(stream, query)"""


def _batch_row(row: BatchRow, start_ms: int) -> tuple[float, ...]:
    end_s = float("inf") if row.end_ms is None else (row.end_ms - start_ms) / 1000
    flags = OUTCOMES.index(row.outcome) | (REPLAYED if row.replayed else 0)
    return row.index, row.batch_id, (row.start_ms - start_ms) / 1000, end_s, row.attempt, flags


def _flow_row(row: BatchRow, start_ms: int) -> tuple[float, ...]:
    done = row.done
    if done is None:
        return row.index, NAN, NAN, NAN, NAN, NAN
    rates = (done.input_rows_per_s, done.processed_rows_per_s, done.lag_bytes, done.input_rows)
    return row.index, (done.time_ms - start_ms) / 1000, *map(or_nan, rates)


def _frame_row(row: BatchRow, start_ms: int) -> list[Any]:
    done = row.done
    spent: dict[str, int] = {}
    for p in row.phases:
        spent[p.name] = spent.get(p.name, 0) + p.end_ms - p.start_ms
    end_s = None if row.end_ms is None else (row.end_ms - start_ms) / 1000
    told = COLUMNS[COLUMNS.index("input_rows") : COLUMNS.index("plan_ms")]
    return [
        row.query,
        row.batch_id,
        row.attempt,
        row.run,
        row.outcome,
        row.replayed,
        (row.start_ms - start_ms) / 1000,
        end_s,
        row.duration_ms,
        *(getattr(done, name, None) for name in told),
        *(spent.get(p) for p in PHASES),
    ]
