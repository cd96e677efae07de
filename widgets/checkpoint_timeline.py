"""The last checkpoints as bars, and of one of them who passed when; beside it the cut in the key space."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar

from pravega_lab.observe.group_rows import CheckpointRow, split_segment
from pravega_lab.widgets.checkpoint_rows import STATES, Checkpoint, GroupCheckpoints, held_up
from pravega_lab.widgets.group_history import BoardHistory, CutPiece
from pravega_lab.widgets.module import module, style
from pravega_lab.widgets.payload import or_nan, pack
from pravega_lab.widgets.view import View

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# The same formats stand in checkpoint_timeline.js.
CHECKPOINT = Struct(
    "<IIffII"
)  # index, number, start_s, end_s (inf while it runs), state + 1, first of its parts
PART = Struct("<IIII")  # index, checkpoint, row, 1 when it was skipped
PHASE = Struct("<IIff")  # part × 8 + phase, 1, start_s, end_s (inf while it lasts)
PIECE = Struct(
    "<IIIIIIffff"
)  # checkpoint, stream, number, epoch, row + 1, 1 when read to its end, low, high, t_s, offset
PHASES_MAX = 8  # of a system
CHECKPOINTS_MAX = 1_000  # that a page gets when it comes
PIECES_MAX = 1_000  # of a cut that are sent to a page
COLUMNS = (
    "number", "name", "source", "system", "state", "word", "start_s", "end_s", "duration_ms", "done", "of",
    "held_up", "gaps", "cut",
)  # fmt: skip
PART_COLUMNS = ("number", "name", "row", "phase", "start_s", "end_s", "duration_ms", "where", "skipped")


class CheckpointTimeline(View):
    """The last 60 checkpoints as bars, height is duration; below one of them, row by row; beside it its cut.

    Args:
        journal: A `Journal` or an observer of a group.
        group: ``scope/group``; by default the first that the journal tells of.
        checkpoint: Name of the one to show; by default the newest is followed. A click pins one.
        only: Show rows whose name contains this.
        title, scale, clock: As for every `View`.

    ``.frame``: a row per checkpoint: number (from 1, silent ones not counted), name, source (the group),
    system, state (running, completed, failed, cancelled, unknown), word, start_s, end_s and duration_ms (null
    while it runs), done (rows that passed), of, held_up (a sentence), gaps ((stream, low, high] that the cut
    leaves out) and cut ({segment: offset}, -1 is read to its end). ``.parts`` is a row per reader and phase.
    """

    _esm = module("common.js", "checkpoint_timeline.js")
    _css = style()
    history: ClassVar[Any] = BoardHistory

    def __init__(
        self,
        journal: Any,
        *,
        group: str | None = None,
        checkpoint: str | None = None,
        only: str = "",
        **more: Any,
    ) -> None:
        self.group, self.checkpoint, self.only = group, checkpoint, only
        self._forget()
        self._streams: dict[str, int] = {}
        super().__init__(journal, **more)

    def _forget(self) -> None:
        self._n_rows = self._n_parts = 0
        self._older = self._first = (
            0  # checkpoints that pages do not get; the index of the first that they do
        )
        self._numbers: dict[int, tuple[int, int]] = {}  # index -> number, first of its parts
        self._told_cuts: dict[int, None] = {}
        self._told: dict[tuple[str, int], None] = {}

    def _source(self, history: BoardHistory) -> GroupCheckpoints:
        return GroupCheckpoints(history, self.group)

    # Rows for the page.

    def _pack(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        history: BoardHistory = self._history
        if everything:
            self._forget()
        source = self._source(history)
        some = range(len(history.checkpoints)) if everything else sorted(history.changed.checkpoints)
        rows = [history.checkpoints[i] for i in some]
        history.changed.clear()
        seen = self._seen(source, rows)
        ended = [c for c in seen if c.state == "completed" and c.index not in self._told_cuts]
        self._told_cuts |= dict.fromkeys(c.index for c in ended)
        tables = {
            "checkpoints": pack(CHECKPOINT, (self._checkpoint_row(c) for c in seen)),
            "parts": pack(PART, (row for c in seen for row in self._part_rows(c))),
            "phases": pack(PHASE, (row for c in seen for row in self._phase_rows(c))),
            "pieces": pack(PIECE, (row for c in ended for row in self._piece_rows(c))),
        }
        return tables, self._grown(history, seen, ended)

    def _seen(self, source: GroupCheckpoints, rows: list[CheckpointRow]) -> list[Checkpoint]:
        """Those of the group that readers saw; a page that comes gets the newest."""
        mine = [row for row in rows if row.group == source.name and not row.is_silent]
        if not self._numbers and len(mine) > CHECKPOINTS_MAX:
            self._older = len(mine) - CHECKPOINTS_MAX
            self._first = mine[self._older].index
        return [self._numbered(source, row) for row in mine if row.index >= self._first]

    def _numbered(self, source: GroupCheckpoints, row: CheckpointRow) -> Checkpoint:
        if row.index not in self._numbers:
            self._numbers[row.index] = (self._older + len(self._numbers) + 1, self._n_parts)
            self._n_parts += len(row.readers)
        return source.one(row, self._numbers[row.index][0])

    def _s(self, time_ms: int | None, otherwise: float = float("inf")) -> float:
        return otherwise if time_ms is None else (time_ms - (self._history.start_ms or 0)) / 1000

    def _checkpoint_row(self, c: Checkpoint) -> tuple[float, ...]:
        first = self._numbers[c.index][1]
        return c.index, c.number, self._s(c.start_ms), self._s(c.end_ms), 1 + STATES.index(c.state), first

    def _part_rows(self, c: Checkpoint) -> list[tuple[int, ...]]:
        first = self._numbers[c.index][1]
        return [(first + k, c.index, max(0, p.row), int(bool(p.skipped))) for k, p in enumerate(c.parts)]

    def _phase_rows(self, c: Checkpoint) -> list[tuple[float, ...]]:
        first = self._numbers[c.index][1]
        return [
            (PHASES_MAX * (first + k) + phase.kind, 1, self._s(phase.start_ms), self._s(phase.end_ms))
            for k, part in enumerate(c.parts)
            for phase in part.phases
        ]

    def _piece_rows(self, c: Checkpoint) -> list[tuple[float, ...]]:
        owners = self._owners(c)
        return [
            self._piece(c.index, piece, owners.get((piece.stream, piece.segment_id), 0))
            for piece in c.cut[:PIECES_MAX]
        ]

    def _owners(self, c: Checkpoint) -> dict[tuple[str, int], int]:
        """Who reported a segment, as row + 1."""
        history: BoardHistory = self._history
        found = {}
        for one in history.checkpoints[c.index].passes:
            lane = history.lane(history.checkpoints[c.index].group, one.reader)
            for name, _ in one.positions:
                found[split_segment(name)] = 0 if lane is None else lane.index + 1
        return found

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
        self, history: BoardHistory, seen: list[Checkpoint], ended: list[Checkpoint]
    ) -> dict[str, list[Any]]:
        rows = history.readers[self._n_rows :]
        self._n_rows = len(history.readers)
        over = [c for c in seen if c.state != "running"]
        gaps = [(c.index, *gap) for c in ended for gap in c.gaps]
        return {
            "rows": [[r.index, r.reader] for r in rows],
            "names": [[c.index, c.name] for c in seen if self._first_time("name", c.index)],
            "words": [[c.index, c.word] for c in over if self._first_time("word", c.index)],
            "gaps": [[i, stream, low, high] for i, stream, low, high in gaps],
            "where": [item for c in seen for item in self._new_where(c)],
        }

    def _first_time(self, what: str, index: int) -> bool:
        """Whether no page was told this yet."""
        is_new = (what, index) not in self._told
        self._told[(what, index)] = None
        return is_new

    def _new_where(self, c: Checkpoint) -> list[list[Any]]:
        """[part, where it was when it passed, why it was skipped]"""
        first = self._numbers[c.index][1]
        passed = [(first + k, part) for k, part in enumerate(c.parts) if part.end_ms is not None]
        return [[part, p.where, p.skipped] for part, p in passed if self._first_time("part", part)]

    def _facts(self) -> dict[str, Any]:
        history: BoardHistory = self._history
        source = self._source(history)
        running = [source.one(row, 0) for row in history.running(source.name) if not row.is_silent]
        silent = sum(row.is_silent for row in history.checkpoints_of(source.name, silent=True))
        cuts = max((len(row.cut) for row in history.checkpoints_of(source.name)[-60:]), default=0)
        left = [f"{silent:,} silent left out" if silent else ""]
        left += [f"the oldest {self._older:,} left out" if self._older else ""]
        left += [f"{PIECES_MAX:,} of {cuts:,} segments of a cut drawn" if cuts > PIECES_MAX else ""]
        return {
            "source": source.name,
            "system": source.system,
            "title": self.title or f"checkpoints of {source.name}" if source.name else self._nothing(),
            "phases": [[kind.name, kind.words, kind.colour, kind.waits] for kind in source.phases],
            "streams": list(self._streams),
            "waiting": {
                str(self._numbers[c.index][1] + k): part.where
                for c in running
                for k, part in enumerate(c.parts)
                if part.end_ms is None and c.index in self._numbers
            },
            "chosen": self.checkpoint,
            "only": self.only,
            "left_out": "; ".join(text for text in left if text),
            "empty": ["No checkpoints yet: ask for one, and watch who passes it.", EMPTY_CODE],
        }

    def _nothing(self) -> str:
        return self.journal.source or "no reader group yet"

    # Tables, words and pictures.

    def _frame_of(self, history: BoardHistory) -> pd.DataFrame:
        import pandas as pd

        source, start_ms = self._source(history), history.start_ms or 0
        now_ms = history.now_ms or 0
        rows = []
        for c in source.checkpoints():
            cut = dict(history.checkpoints[c.index].cut) if c.state == "completed" else {}
            end_s = None if c.end_ms is None else (c.end_ms - start_ms) / 1000
            spent = None if c.end_ms is None else c.end_ms - c.start_ms
            what = (c.number, c.name, source.name, source.system, c.state, c.word)
            times = ((c.start_ms - start_ms) / 1000, end_s, spent)
            rows.append((*what, *times, c.done, len(c.parts), held_up(c, source.phases, now_ms), c.gaps, cut))
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        return frame.astype({"end_s": "Float64", "duration_ms": "Int64"})

    @property
    def parts(self) -> pd.DataFrame:
        """A row per checkpoint, reader (or subtask) and phase; ends are null while it lasts."""
        import pandas as pd

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

    def _summary(self) -> str:
        source = self._source(self._history)
        all_ = source.checkpoints()
        done = sum(c.state == "completed" for c in all_)
        return f"{source.name!r}, {len(all_):,} checkpoints, {done:,} completed, recording"

    def _rectangles(self) -> int:
        return 0  # a picture shows sixty bars and the rows of one checkpoint, so it is always small

    def _svg(self) -> str:
        from pravega_lab.widgets.checkpoint_picture import checkpoint_svg

        return checkpoint_svg(
            self._source(self._history), self._facts(), self._history, str(self.journal.gap)
        )

    def figure(self) -> Figure:
        """Durations of the checkpoints above, below who passed the chosen one when, as a plotly figure."""
        from pravega_lab.widgets.group_figures import checkpoint_figure

        with self._lock:
            return checkpoint_figure(self._source(self._catch_up()), self._facts(), self._history)


EMPTY_CODE = """pending = group.initiate_checkpoint("first")
pending.result(timeout_s=30)"""
