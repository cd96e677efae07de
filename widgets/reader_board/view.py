"""A lane per reader of a group, with the segments it held. The top lane is nobody's, so gaps are seen."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar

from pravega_lab.observe.group.observations import ReaderLeft
from pravega_lab.observe.group.rows import CheckpointRow, Holding, Move, ReaderRow, label_of
from pravega_lab.portable.words import plural

from ..groups.history import BoardHistory
from ..live.payload import or_nan, pack
from ..live.view import View, refuse_value
from ..svg.picture import moment_text
from .rows import waits_since

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# model.ts declares the same formats. A reader is its index, and +1 where 0 is nobody.
READER = Struct("<Ifff")  # index, unread bytes, since when (s), lag as the reader reports it (ms)
LAG = Struct("<Ifff")  # index, t_s, unread bytes, since when (s)
BAR = Struct("<IIIIIff")  # index, reader + 1, stream, number, epoch, start_s, end_s (inf while it lasts)
CHECKPOINT = Struct("<IffII")  # index, asked_s, ended_s (inf while it runs), state, readers to pass
OWED = Struct("<II")  # checkpoint, reader that has to pass
PASS = Struct("<IIfI")  # checkpoint, reader, t_s, 1 when it left instead
STATES = ("", "running", "completed", "cancelled", "cleared", "reset", "unknown")  # 0: of another group
SORTS = ("joined", "lag", "held", "name")
MOVES_MAX = 5_000  # connectors sent to a page; older ones stay in the journal
COLUMNS = (
    "reader", "group", "state", "joined_s", "left_s", "segments", "held", "fair_share", "unread_bytes",
    "behind_s", "lag_ms", "owes", "cause", "cause_kind",
)  # fmt: skip
BAR_COLUMNS = ("reader", "stream", "label", "segment_id", "start_s", "end_s", "ended_by", "why")
MOVE_COLUMNS = (
    "t_s", "stream", "label", "segment_id", "from_reader", "to_reader", "gap_ms", "kind", "reason",
    "reason_kind",
)  # fmt: skip


class ReaderBoard(View):
    """Draws a lane per reader of a group: which segments it held when, and why they moved.

    Args:
        journal: A `Journal` or an observer of a group.
        group: ``scope/group``; by default the first in the journal.
        only: Show readers whose name contains this.
        sort: Lanes by ``"joined"`` (the order of joining), ``"lag"``, ``"held"`` or ``"name"``.
        title, scale, clock: As for every `View`.

    ``.frame``: a row per reader in order of joining: reader, group, state (reading, idle, checkpoint: it has
    to pass one; left, killed), joined_s, left_s (null while online), segments (labels), held (how many),
    fair_share (segments ÷ readers online), unread_bytes and behind_s (age of the oldest unread byte; null
    where nobody measures the stream), lag_ms (as it reports), owes (checkpoints), cause and cause_kind of
    its departure.
    ``.bars`` and ``.moves`` are the bars and the connectors as tables.
    """

    script = "reader_board"
    history: ClassVar[Any] = BoardHistory

    def __init__(
        self, journal: Any, *, group: str | None = None, only: str = "", sort: str = "joined", **more: Any
    ) -> None:
        refuse_value("ReaderBoard", "sort", sort, SORTS)
        self.group, self.only, self.sort = group, only, sort
        self._streams: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self._sent_passes: dict[int, int] = {}
        super().__init__(journal, **more)

    @property
    def _group(self) -> str:
        return self.group or str(self._history.first_group)

    def _concerns(self, source: str) -> bool:
        return source == self._group or source not in self._history.groups  # or a stream

    # Rows for the page.

    def _pack(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        history: BoardHistory = self._history
        if everything:
            self._sent, self._sent_passes = {}, {}
        changed = history.changed

        def of(rows: list[Any], some: dict[int, None]) -> list[Any]:
            found = rows if everything else [rows[i] for i in some]
            return [row for row in found if row.group == self._group]

        checkpoints = of(history.checkpoints, changed.checkpoints)
        tables = {
            "readers": pack(READER, (self._reader_row(r) for r in of(history.readers, changed.readers))),
            "lags": pack(LAG, self._new_lags()),
            "bars": pack(BAR, (self._bar_row(b) for b in of(history.holdings, changed.holdings))),
            "checkpoints": pack(CHECKPOINT, (self._checkpoint_row(c) for c in checkpoints)),
            "owed": pack(OWED, self._new_owed()),
            "passes": pack(PASS, [p for c in checkpoints for p in self._new_passes(c)]),
        }
        changed.clear()
        return tables, self._grown()

    def _s(self, time_ms: int | None, otherwise: float = float("inf")) -> float:
        return otherwise if time_ms is None else (time_ms - (self._history.start_ms or 0)) / 1000

    def _fresh(self, name: str, rows: list[Any], first: int = 0) -> list[Any]:
        """Return the rows that no page has, of a list that only grows."""
        at = max(self._sent.get(name, 0), first)
        self._sent[name] = len(rows)
        return [row for row in rows[at:] if getattr(row, "group", self._group) == self._group]

    def _reader_row(self, row: ReaderRow) -> tuple[float, ...]:
        since = self._s(row.behind_since_ms, float("nan"))
        return row.index, or_nan(row.unread_bytes if row.is_online else None), since, or_nan(row.lag_ms)

    def _new_lags(self) -> list[tuple[float, ...]]:
        history: BoardHistory = self._history
        first = max(0, self._sent.get("lags", 0) - history.samples_dropped)
        self._sent["lags"] = history.samples_dropped + len(history.samples)
        return [
            (s.index, self._s(s.time_ms), or_nan(s.unread_bytes), self._s(s.behind_since_ms, float("nan")))
            for s in history.samples[first:]
            if history.readers[s.index].group == self._group
        ]

    def _lane(self, reader: str) -> int:
        row = self._history.lane(self._group, reader)
        return 0 if row is None else row.index + 1

    def _bar_row(self, bar: Holding) -> tuple[float, ...]:
        stream = self._streams.setdefault(bar.stream, len(self._streams))
        number, epoch = bar.segment_id & 0xFFFFFFFF, bar.segment_id >> 32
        return (
            bar.index,
            self._lane(bar.reader),
            stream,
            number,
            epoch,
            self._s(bar.start_ms),
            self._s(bar.end_ms),
        )

    def _checkpoint_row(self, row: CheckpointRow) -> tuple[float, ...]:
        state = 0 if row.is_silent else STATES.index(row.state)
        return row.index, self._s(row.asked_ms), self._s(row.ended_ms), state, len(row.readers)

    def _new_owed(self) -> list[tuple[int, int]]:
        rows = self._fresh("owed", self._history.checkpoints)
        return [(c.index, self._lane(reader) - 1) for c in rows for reader in c.readers if self._lane(reader)]

    def _new_passes(self, row: CheckpointRow) -> list[tuple[float, ...]]:
        first = self._sent_passes.get(row.index, 0)
        self._sent_passes[row.index] = len(row.passes)
        passes = [(p, self._lane(p.reader)) for p in row.passes[first:]]
        return [(row.index, lane - 1, self._s(p.time_ms), int(p.is_by_leaving)) for p, lane in passes if lane]

    def _grown(self) -> dict[str, list[Any]]:
        history: BoardHistory = self._history
        moves = self._fresh("moves", history.moves, len(history.moves) - MOVES_MAX)
        return {
            "names": [[r.index, r.reader] for r in self._fresh("names", history.readers)],
            "presence": [self._came_or_went(o) for o in self._fresh("presence", history.presence)],
            "checkpoint_names": [
                [c.index, c.name] for c in self._fresh("checkpoint_names", history.checkpoints)
            ],
            "moves": [self._move(m) for m in moves],
            "resets": [[self._s(o.time_ms), o.is_begun] for o in self._fresh("resets", history.resets)],
            "gaps": [self._s(o.time_ms) for o in self._fresh("gaps", history.gaps)],
        }

    def _came_or_went(self, o: Any) -> list[Any]:
        """[t_s, reader, "joined" | "left" | "killed", cause, its kind]"""
        reader = self._lane(o.reader) - 1
        if not isinstance(o, ReaderLeft):
            return [self._s(o.time_ms), reader, "joined", "", ""]
        return [self._s(o.time_ms), reader, "killed" if o.was_killed else "left", o.cause, o.cause_kind]

    def _move(self, m: Move) -> list[Any]:
        """[t_s, left_s, stream, number, epoch, from + 1, to + 1, kind, reason, its kind, predecessors]"""
        stream = self._streams.setdefault(m.stream, len(self._streams))
        segment = [stream, m.segment_id & 0xFFFFFFFF, m.segment_id >> 32]
        ends = [self._lane(m.from_reader), self._lane(m.to_reader)]
        before = [i & 0xFFFFFFFF for i in m.from_segments]
        return [
            self._s(m.time_ms),
            self._s(m.left_ms),
            *segment,
            *ends,
            m.kind,
            m.reason,
            m.reason_kind,
            before,
        ]

    def _facts(self) -> dict[str, Any]:
        history: BoardHistory = self._history
        dropped = max(0, len(history.moves) - MOVES_MAX)
        waits = [w for w in history.waits if w.group == self._group]
        facts = {
            f"wait {w.index}": [
                w.stream,
                w.segment_id & 0xFFFFFFFF,
                self._s(w.start_ms),
                _end(self._s(w.end_ms)),
                waits_since(w, history.start_ms or 0),
            ]
            for w in waits[-200:]
        }
        return {
            **facts,
            "group": self._group,
            "title": self.title or self._group or self._observed or "no reader group yet",
            "streams": list(self._streams),
            "only": self.only,
            "sort": self.sort,
            "left_out": f"the oldest {dropped:,} moves are left out" if dropped else "",
            "empty": ["No readers yet: run this, and watch them share the segments.", EMPTY_CODE],
        }

    # Tables, words and pictures.

    def _frame_of(self, history: BoardHistory) -> pd.DataFrame:
        from pravega_lab.portable.frames import pd

        group, start_ms = self.group or history.first_group, history.start_ms or 0
        now_ms = history.now_ms or 0
        rows = [_frame_row(row, start_ms, now_ms) for row in history.lanes(group)]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        return frame.astype(
            {"left_s": "Float64", "unread_bytes": "Int64", "behind_s": "Float64", "lag_ms": "Int64"}
        )

    @property
    def bars(self) -> pd.DataFrame:
        """Who held what when; reader "" is nobody, and ``why`` says why no reader had it."""
        from pravega_lab.portable.frames import pd

        with self._lock:
            history = self._catch_up()
            bars = [b for b in history.holdings if b.group == self._group]
            rows = [
                (
                    b.reader,
                    b.stream,
                    b.label,
                    b.segment_id,
                    self._s(b.start_ms),
                    _end(self._s(b.end_ms)),
                    b.ended_by,
                    b.why,
                )
                for b in bars
            ]
        return pd.DataFrame(rows, columns=list(BAR_COLUMNS)).astype({"end_s": "Float64"})

    @property
    def moves(self) -> pd.DataFrame:
        """Return a row per segment that came to a reader.

        It says from whom (or ""), after how many ms without a reader, and why.
        """
        from pravega_lab.portable.frames import pd

        with self._lock:
            history = self._catch_up()
            rows = [self._move_row(m) for m in history.moves if m.group == self._group]
        return pd.DataFrame(rows, columns=list(MOVE_COLUMNS))

    def _move_row(self, m: Move) -> tuple[Any, ...]:
        what = (self._s(m.time_ms), m.stream, label_of(m.segment_id), m.segment_id)
        return (*what, m.from_reader, m.to_reader, m.gap_ms, m.kind, m.reason, m.reason_kind)

    def _reasons(self, history: BoardHistory) -> list[str]:
        return [
            f"{moment_text(self._s(m.time_ms))}: {label_of(m.segment_id)} of {m.stream} from "
            f"{m.from_reader or 'nobody'} to {m.to_reader}: {m.reason} ({m.reason_kind})"
            for m in history.moves
            if m.group == self._group and m.from_reader != m.to_reader
        ]

    def _summary(self) -> str:
        lanes = self._history.lanes(self._group)
        online = sum(row.is_online for row in lanes)
        return f"{self._group!r}, {plural(len(lanes), 'reader')}, {online:,} online, recording"

    def _rectangles(self) -> int:
        return 0  # a picture shows the newest bars of the busiest lanes, so it is always small

    def _svg(self) -> str:
        from .picture import reader_svg

        return reader_svg(self._history, self._facts(), str(self.journal.gap), self._span_ms)

    def figure(self) -> Figure:
        """Return who held what, as a plotly figure: a bar per holding, a row per reader."""
        from .figures import reader_figure

        with self._lock:
            return reader_figure(self._catch_up(), self._facts())


EMPTY_CODE = """group = client.create_reader_group("demo/readers", reading(["demo/flights"]))
reader = group.create_reader("r1")
reader.read_next(timeout_s=1)"""


def _end(value: float) -> float | None:
    """What is still open has no end."""
    return None if value == float("inf") else value


def _frame_row(row: ReaderRow, start_ms: int, now_ms: int) -> tuple[Any, ...]:
    left_s = None if row.left_ms is None else (row.left_ms - start_ms) / 1000
    behind = None if row.behind_since_ms is None else (now_ms - row.behind_since_ms) / 1000
    unread = row.unread_bytes if row.is_online else None
    return (
        row.reader, row.group, row.state, (row.joined_ms - start_ms) / 1000, left_s,
        [label_of(segment_id) for _, segment_id in row.held], len(row.held), row.fair_share, unread,
        behind if unread else None, row.lag_ms, list(row.owes), row.cause or None, row.cause_kind or None,
    )  # fmt: skip
