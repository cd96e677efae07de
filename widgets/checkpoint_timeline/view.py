"""The last checkpoints as bars, who passed one of them when, and beside it the cut in the key space."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar

from ..groups.history import CutPiece
from ..live.job_access import control_facts
from ..live.payload import or_nan, pack
from ..live.view import View, journal_of
from .job_rows import JobCheckpoints, TimelineHistory
from .rows import STATES, Checkpoint, CheckpointSource, GroupCheckpoints, counted, held_up

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# model.ts declares the same formats.
CHECKPOINT = Struct("<IIffI")  # index, number, start_s, end_s (inf while it runs), state + 1
PART = Struct("<IIII")  # index, checkpoint, row, 1 when it was skipped
PHASE = Struct("<IIff")  # part × 8 + phase, 1, start_s, end_s (inf while it lasts)
PIECE = Struct(
    "<IIIIIIffff"
)  # checkpoint, stream, number, epoch, row + 1, 1 when read to its end, low, high, t_s, offset
TICK = Struct("<IfI")  # part, t_s, number of the channel
PHASES_MAX = 8  # of a system
CHECKPOINTS_MAX = 1_000  # that a new page receives
PIECES_MAX = 1_000  # of a cut that are sent to a page
COLUMNS = (
    "number", "name", "source", "system", "state", "word", "start_s", "end_s", "duration_ms", "done", "of",
    "held_up", "gaps", "cut",
)  # fmt: skip
PART_COLUMNS = ("number", "name", "row", "phase", "start_s", "end_s", "duration_ms", "where", "skipped")


class CheckpointTimeline(View):
    """Draws the last 60 checkpoints as bars (height is duration), and one of them row by row, with its cut.

    Args:
        journal: A `Journal` or an observer of a group or of a job.
        group: ``scope/group``; by default the first in the journal.
        job: True shows the checkpoints of the job, subtask by subtask; with a group also its readers below,
            for the checkpoint that the job induced. This is the default when the journal contains a job.
        beside: Another journal (or observer) of the other of the two, on the same clock.
        checkpoint: Name of the checkpoint to show; by default the newest is followed. A click pins one.
        only: Show rows whose name contains this.
        title, scale, clock: As for every `View`.

    ``.frame``: a row per checkpoint: number (from 1, silent ones not counted, or 0 for a request that failed
    before it had a number), name, source (the group), system, state (running, completed, failed,
    cancelled, unknown), word, start_s, end_s and duration_ms (null while it runs), done (rows that passed),
    of, held_up (a sentence), gaps ((stream, low, high] that the cut leaves out) and cut ({segment: offset},
    -1 is read to its end). ``.parts`` is a row per reader and phase.
    """

    script = "checkpoint_timeline"
    history: ClassVar[Any] = TimelineHistory

    def __init__(
        self,
        journal: Any,
        *,
        group: str | None = None,
        job: bool | None = None,
        beside: Any = None,
        checkpoint: str | None = None,
        only: str = "",
        **more: Any,
    ) -> None:
        self.group, self.job, self.checkpoint, self.only = group, job, checkpoint, only
        self.beside = None if beside is None else journal_of(beside)
        self._beside_to = 0
        self._forget()
        self._streams: dict[str, int] = {}
        super().__init__(journal, **more)

    def _forget(self) -> None:
        self._older = self._first = 0  # the index of the first checkpoint that pages receive
        self._numbers: dict[int, int] = {}  # index -> number
        self._parts: dict[tuple[int, str], int] = {}  # index and name -> place of the part
        self._told_cuts: dict[int, None] = {}
        self._told: dict[tuple[str, int], None] = {}

    def _catch_up(self) -> TimelineHistory:
        history: TimelineHistory = super()._catch_up()
        beside = () if self.beside is None else self.beside.since(self._beside_to, all_samples=False)
        for observation in beside:
            self._beside_to = observation.seq + 1
            history.apply(observation)
        return history

    def _source(self, history: TimelineHistory) -> CheckpointSource:
        is_job = bool(history.jobs.lives) if self.job is None else self.job
        return JobCheckpoints(history, self.group) if is_job else GroupCheckpoints(history, self.group)

    def _concerns(self, source: str) -> bool:
        history: TimelineHistory = self._history
        return source == (self.group or history.first_group) or source not in history.groups  # or a stream

    # Rows for the page.

    def _pack(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        if everything:
            self._forget()
        source = self._source(self._history)
        seen = self._seen(source, source.rows(everything=everything))
        ended = [c for c in seen if c.state == "completed" and c.index not in self._told_cuts]
        self._told_cuts |= dict.fromkeys(c.index for c in ended)
        tables = {
            "checkpoints": pack(CHECKPOINT, (self._checkpoint_row(c) for c in seen)),
            "parts": pack(PART, (row for c in seen for row in self._part_rows(c))),
            "phases": pack(PHASE, (row for c in seen for row in self._phase_rows(c))),
            "ticks": pack(TICK, (row for c in seen for row in self._tick_rows(c))),
            "pieces": pack(PIECE, (row for c in ended for row in self._piece_rows(c))),
        }
        return tables, self._grown(source, seen, ended)

    def _seen(self, source: CheckpointSource, rows: list[Any]) -> list[Checkpoint]:
        """Return the checkpoints that a page receives: the newest."""
        if not self._numbers and len(rows) > CHECKPOINTS_MAX:
            self._older = len(rows) - CHECKPOINTS_MAX
            self._first = rows[self._older].index
        return [self._numbered(source, row) for row in rows if row.index >= self._first]

    def _numbered(self, source: CheckpointSource, row: Any) -> Checkpoint:
        number = self._numbers.setdefault(row.index, self._older + len(self._numbers) + 1)
        made = source.one(row, number)
        for part in made.parts:
            self._parts.setdefault((made.index, part.name), len(self._parts))
        return made

    def _place(self, c: Checkpoint, name: str) -> int:
        return self._parts[c.index, name]

    def _s(self, time_ms: int | None, otherwise: float = float("inf")) -> float:
        return otherwise if time_ms is None else (time_ms - (self._history.start_ms or 0)) / 1000

    def _checkpoint_row(self, c: Checkpoint) -> tuple[float, ...]:
        return c.index, c.number, self._s(c.start_ms), self._s(c.end_ms), 1 + STATES.index(c.state)

    def _part_rows(self, c: Checkpoint) -> list[tuple[int, ...]]:
        return [(self._place(c, p.name), c.index, max(0, p.row), int(bool(p.skipped))) for p in c.parts]

    def _phase_rows(self, c: Checkpoint) -> list[tuple[float, ...]]:
        return [
            (
                PHASES_MAX * self._place(c, part.name) + phase.kind,
                1,
                self._s(phase.start_ms),
                self._s(phase.end_ms),
            )
            for part in c.parts
            for phase in part.phases
        ]

    def _tick_rows(self, c: Checkpoint) -> list[tuple[float, ...]]:
        return [
            (self._place(c, part.name), self._s(ms), number)
            for part in c.parts
            for ms, number in part.ticks
            if self._first_time(f"tick {number}", self._place(c, part.name))
        ]

    def _piece_rows(self, c: Checkpoint) -> list[tuple[float, ...]]:
        return [
            self._piece(c.index, piece, c.owners.get((piece.stream, piece.segment_id), 0))
            for piece in c.cut[:PIECES_MAX]
        ]

    def _piece(self, checkpoint: int, p: CutPiece, row: int) -> tuple[float, ...]:
        stream = self._streams.setdefault(p.stream, len(self._streams))
        segment = (p.segment_id & 0xFFFFFFFF, p.segment_id >> 32)
        at = self._s(p.time_ms, float("nan"))
        return (
            checkpoint,
            stream,
            *segment,
            row,
            int(p.offset < 0),
            or_nan(p.low),
            or_nan(p.high),
            at,
            p.offset,
        )

    def _grown(
        self, source: CheckpointSource, seen: list[Checkpoint], ended: list[Checkpoint]
    ) -> dict[str, list[Any]]:
        rows = [row for row in source.row_names() if self._first_time("row", row[0])]
        over = [c for c in seen if c.state != "running"]
        gaps = [(c.index, *gap) for c in ended for gap in c.gaps]
        return {
            "rows": [list(row) for row in rows],
            "names": [[c.index, c.name] for c in seen if self._first_time("name", c.index)],
            "words": [[c.index, c.word] for c in over if self._first_time("word", c.index)],
            "gaps": [[i, stream, low, high] for i, stream, low, high in gaps],
            "where": [item for c in seen for item in self._new_where(c)],
            "about": [[c.index, c.about] for c in over if c.about and self._first_time("about", c.index)],
            "between": [item for c in seen for item in self._new_between(c)],
            "links": [
                [c.index, self._place(c, one), self._place(c, other)]
                for c in seen
                for one, other in c.links
                if self._first_time("link", self._place(c, other))
            ],
        }

    def _new_between(self, c: Checkpoint) -> list[list[Any]]:
        """Return [part, cut, barrier, events between]."""
        told = [(self._place(c, part.name), part.between) for part in c.parts if part.between is not None]
        return [
            [place, self._s(cut_ms), self._s(barrier_ms), n]
            for place, (cut_ms, barrier_ms, n) in told
            if self._first_time("between", place)
        ]

    def _first_time(self, what: str, index: int) -> bool:
        """Return whether no page has this yet."""
        is_new = (what, index) not in self._told
        self._told[(what, index)] = None
        return is_new

    def _new_where(self, c: Checkpoint) -> list[list[Any]]:
        """Return [part, where it was when it passed, why it was skipped]."""
        passed = [(self._place(c, part.name), part) for part in c.parts if part.end_ms is not None]
        return [[part, p.where, p.skipped] for part, p in passed if self._first_time("part", part)]

    def _facts(self) -> dict[str, Any]:
        history: TimelineHistory = self._history
        source = self._source(history)
        running = [c for c in source.running() if c.index in self._numbers]
        group = self.group or history.first_group
        cuts = max((len(row.cut) for row in history.checkpoints_of(group)[-60:]), default=0)
        left = [source.left_out()]
        left += [f"the oldest {self._older:,} left out" if self._older else ""]
        left += [f"{PIECES_MAX:,} of {cuts:,} segments of a cut drawn" if cuts > PIECES_MAX else ""]
        return {
            "source": source.name,
            "system": source.system,
            "title": self.title or f"checkpoints of {source.name}" if source.name else self._nothing(),
            "phases": [[k.name, k.words, k.colour, k.waits, int(k.passes)] for k in source.phases],
            "until": source.until,
            "counts": source.counts,
            "readers_from": source.readers_from,
            "group": group if source.system == "job" else "",
            "streams": list(self._streams),
            "waiting": {
                str(self._place(c, part.name)): part.where
                for c in running
                for part in c.parts
                if part.end_ms is None and (c.index, part.name) in self._parts
            },
            "chosen": self.checkpoint,
            **(control_facts(self) if source.system == "job" else {}),
            "only": self.only,
            "left_out": "; ".join(text for text in left if text),
            "empty": source.empty(),
        }

    def _nothing(self) -> str:
        return self._observed or "no reader group and no job yet"

    # Tables, words and pictures.

    def _frame_of(self, history: TimelineHistory) -> pd.DataFrame:
        from pravega_lab.portable.frames import pd

        source, start_ms = self._source(history), history.start_ms or 0
        now_ms = history.now_ms or 0
        rows = []
        for c in source.checkpoints():
            end_s = None if c.end_ms is None else (c.end_ms - start_ms) / 1000
            spent = None if c.end_ms is None else c.end_ms - c.start_ms
            what = (c.number, c.name, source.name, source.system, c.state, c.word)
            times = ((c.start_ms - start_ms) / 1000, end_s, spent)
            rows.append(
                (*what, *times, c.done, len(c.parts), held_up(c, source.phases, now_ms), c.gaps, c.positions)
            )
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        return frame.astype({"end_s": "Float64", "duration_ms": "Int64"})

    @property
    def parts(self) -> pd.DataFrame:
        """A row per checkpoint, reader (or subtask) and phase; ends are null while it lasts."""
        from pravega_lab.portable.frames import pd

        with self._lock:
            history = self._catch_up()
            source = self._source(history)
            kinds = [kind.name for kind in source.phases]
            rows = [
                (
                    c.number,
                    c.name,
                    part.name,
                    kinds[phase.kind],
                    *self._spent(phase),
                    part.where,
                    part.skipped,
                )
                for c in source.checkpoints()
                for part in c.parts
                for phase in part.phases
            ]
        frame = pd.DataFrame(rows, columns=list(PART_COLUMNS))
        return frame.astype({"end_s": "Float64", "duration_ms": "Int64"})

    def _spent(self, phase: Any) -> tuple[float, float | None, int | None]:
        if phase.end_ms is None:
            return self._s(phase.start_ms), None, None
        return self._s(phase.start_ms), self._s(phase.end_ms), phase.end_ms - phase.start_ms

    def _reasons(self, history: TimelineHistory) -> list[str]:
        source, now_ms = self._source(history), history.now_ms or 0
        return [
            f"{c.label}, {c.word}: {held_up(c, source.phases, now_ms) or ' '.join(c.about)}"
            for c in source.checkpoints()
        ]

    def _summary(self) -> str:
        source = self._source(self._history)
        return f"{source.name!r}, {counted(source.checkpoints())}, recording"

    def _rectangles(self) -> int:
        return 0  # a picture shows sixty bars and the rows of one checkpoint, so it is always small

    def _svg(self) -> str:
        from .picture import checkpoint_svg

        return checkpoint_svg(
            self._source(self._history), self._facts(), self._history, str(self.journal.gap)
        )

    def figure(self) -> Figure:
        """Return durations above, and below who passed the chosen checkpoint when, as a plotly figure."""
        from .figures import checkpoint_figure

        with self._lock:
            return checkpoint_figure(self._source(self._catch_up()), self._facts(), self._history)
