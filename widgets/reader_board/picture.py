"""The static picture of a reader board, as SVG text."""

from __future__ import annotations

from typing import Any

from pravega_lab.observe.group.observations import ReaderLeft
from pravega_lab.observe.group.rows import (
    NOBODY,
    CheckpointRow,
    Holding,
    Move,
    ReaderRow,
    Waiting,
    number_label,
)
from pravega_lab.portable.words import plural

from ..groups.history import BoardHistory
from ..svg.palette import HALO, SOFT, TEXT, VERMILION, ink, reader_colour
from ..svg.picture import Across, Picture, amount, data_size, number, time_text
from ..svg.text import common_start, first_fit, newest, placed, short_name
from .rows import busiest, waits_since

WIDTH, LEFT, RIGHT = 900, 46, 684
TOP = 58
LINES_APART = DEPARTURES_APART = 4.0  # lines of checkpoints, and departures of a reader; px
LANES_MAX, SLOTS_MAX, BARS_MAX = 30, 6, 400
MOVES_MAX = 100
GAP_MIN = 2.0  # px
CAUSES = 44  # three lines of reasons
WORDS = {"completed": "✓", "cleared": "failed", "reset": "dropped by reset"}
Span = tuple[int, int] | None  # from when to when, where it is not the history's own


class Lane:
    """Holds a reader (or nobody, ``None``) and the place of its bars."""

    def __init__(self, row: ReaderRow | None, bars: list[Holding], waits: list[Waiting]) -> None:
        self.row, self.bars, self.waits = row, bars, waits
        self.rows, free = stacked([(b.index, b.start_ms, b.end_ms) for b in bars])
        waiting, n = stacked([(-1 - w.index, w.start_ms, w.end_ms) for w in waits])
        self.rows |= {key: free + place for key, place in waiting.items()}
        self.n = max(1, free + n)
        self.y = self.height = 0.0

    def place(self, key: int) -> tuple[float, float]:
        """Return y and height of a bar."""
        height = (self.height - 5) / self.n
        return self.y + 2.5 + height * self.rows.get(key, 0), max(1.0, height - (1.5 if height > 6 else 0.5))

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def stacked(items: list[tuple[int, int, int | None]]) -> tuple[dict[int, int], int]:
    """Assign (key, start, end) to rows in which no two overlap; return each key's row, and their number."""
    ends: list[float] = []
    rows: dict[int, int] = {}
    for key, start, end in sorted(items, key=lambda item: item[1]):
        row = next((k for k, until in enumerate(ends) if until <= start), len(ends))
        ends[row:] = [float("inf") if end is None else end, *ends[row + 1 :]]
        rows[key] = row
    return rows, len(ends)


class Scene:
    """The history, the lanes that are drawn, and their places."""

    def __init__(self, history: BoardHistory, facts: dict[str, Any], span_ms: Span = None) -> None:
        self.history, self.facts, self.group = history, facts, facts["group"]
        self.start_ms, end_ms = span_ms or (history.start_ms or 0, history.now_ms or 0)
        self.now_ms = history.now_ms or 0
        self.across = Across(LEFT, RIGHT, max((end_ms - self.start_ms) / 1000, 1.0))
        rows = busiest(history, self.group, LANES_MAX, only=facts["only"], sort=facts["sort"])
        bars = [b for b in history.holdings if b.group == self.group]
        self.left_out = newest(len(bars), BARS_MAX, "bars")
        bars = bars[-BARS_MAX:]
        waits = [w for w in history.waits if w.group == self.group][-100:]
        self.lanes = [Lane(None, [b for b in bars if b.reader == NOBODY], waits)]
        self.lanes += [Lane(row, [b for b in bars if b.reader == row.reader], []) for row in rows]
        self.common = common_start([row.reader for row in rows])
        self.labels: list[tuple[float, float, str]] = []  # in lanes: drawn over the lines of checkpoints
        self.of = {lane.row.reader if lane.row else NOBODY: lane for lane in self.lanes}
        self.bottom = self._arrange()
        self.height = round(self.bottom + CAUSES + 30)

    def _arrange(self) -> float:
        rows = sum(min(SLOTS_MAX, lane.n) for lane in self.lanes)
        row = 15 if rows <= 14 else 12 if rows <= 28 else 8 if rows <= 60 else 5
        least = 22 if len(self.lanes) <= 14 else 15
        y = float(TOP)
        for lane in self.lanes:
            lane.y, lane.height = y, max(least, row * min(SLOTS_MAX, lane.n) + 5)
            y += lane.height
        return y

    def x(self, time_ms: int | None) -> float:
        return self.across.x(((self.now_ms if time_ms is None else time_ms) - self.start_ms) / 1000)


def reader_svg(history: BoardHistory, facts: dict[str, Any], gap: str, span_ms: Span = None) -> str:
    """Return the picture as SVG text."""
    scene = Scene(history, facts, span_ms)
    lanes = history.lanes(scene.group)
    online = sum(row.is_online for row in lanes)
    said = f"{plural(len(lanes), 'reader')}, {online:,} online"
    picture = Picture(WIDTH, scene.height, f"Readers of {scene.group or 'no group yet'}: {said}")
    hidden = len(lanes) - len(scene.lanes) + 1
    words = [said, f"the busiest {len(scene.lanes) - 1} drawn, +{hidden:,}" if hidden > 0 else ""]
    words += [scene.left_out, time_text(scene.across.end_s), f"gap: {gap}" if gap else ""]
    picture.heading(facts["title"], " · ".join(word for word in words if word))
    _draw_legend(picture, scene)
    for lane in scene.lanes:
        _draw_lane(picture, scene, lane)
    checkpoints = history.checkpoints_of(scene.group)
    _draw_checkpoints(picture, scene, checkpoints)
    for move in [m for m in history.moves if m.group == scene.group][-MOVES_MAX:]:
        _draw_move(picture, scene, move)
    _draw_departures(picture, scene)
    for x, y, text in scene.labels:
        picture.text(x, y, text, size=9.5, fill=TEXT, extra=HALO)
    _draw_reasons(picture, scene)
    _draw_gutter(picture, scene)
    picture.time_axis(scene.across, scene.height - 22)
    if not lanes:
        # The lane "nobody" is drawn. Without readers there are no reasons of moves below it.
        picture.text((LEFT + RIGHT) / 2, scene.bottom + 24, facts["empty"][0], size=14, anchor="middle")
    return picture.svg()


def _draw_legend(picture: Picture, scene: Scene) -> None:
    x = float(LEFT)
    for kind, text in (
        ("held", "held by the reader of the lane"), ("hatch", "nobody has it"),
        ("dots", "waits for predecessors or a checkpoint"), ("rule", "checkpoint asked"),
        ("dot", "reader passed it"), ("killed", "killed"),
    ):  # fmt: skip
        if kind == "killed" and not _killed(scene):
            continue
        if kind == "rule":
            picture.line(x + 5, 22, x + 5, 33, TEXT)
        elif kind == "dot":
            _dot(picture, x + 6, 27.5)
        else:
            fill = {"held": reader_colour(0), "hatch": "url(#plab-hatch)", "killed": VERMILION}.get(
                kind, "none"
            )
            dash = ' stroke-dasharray="2 2"' if kind == "dots" else ""
            picture.rect(x, 23, 11, 9, fill, f'stroke="{SOFT}"{dash}')
        picture.text(x + 15, 31, text)
        x += 28 + 5.7 * len(text)


def _killed(scene: Scene) -> bool:
    return any(row.state == "killed" for row in scene.history.lanes(scene.group))


def _draw_lane(picture: Picture, scene: Scene, lane: Lane) -> None:
    picture.line(4, lane.y + lane.height, WIDTH - 4, lane.y + lane.height)
    if lane.row is None:
        picture.text(4, lane.middle + 3.5, "nobody", fill=TEXT)
    else:
        colour = reader_colour(lane.row.index)
        for x0, x1 in _joined([(scene.x(joined), scene.x(left)) for joined, left in lane.row.sessions]):
            picture.rect(x0, lane.y + 1, x1 - x0, lane.height - 2, colour, 'fill-opacity=".14"')
        picture.rect(4, lane.middle - 5, 5, 10, colour, title=lane.row.reader)
        faded = "" if lane.row.is_online else 'opacity=".5"'
        picture.text(
            12,
            lane.middle + 3.5,
            short_name(lane.row.reader, 6, scene.common, lane.row.index + 1),
            fill=TEXT,
            extra=faded + ' font-weight="600"',
        )
    for bar in lane.bars:
        _draw_bar(picture, scene, lane, bar)
    for waiting in lane.waits:
        y, height = lane.place(-1 - waiting.index)
        x0, x1 = scene.x(waiting.start_ms), scene.x(waiting.end_ms)
        words = waits_since(waiting, scene.start_ms)
        picture.rect(x0, y, x1 - x0, height, "none", f'stroke="{TEXT}" stroke-dasharray="2 2"', words)
        if height >= 8:
            label = number_label(waiting.segment_id)
            text = f"{label} {words}"
            others = [scene.x(w.start_ms) for w in lane.waits if lane.place(-1 - w.index)[0] == y]
            room = min([x for x in others if x > x0], default=float(RIGHT)) - x1
            inside = x1 - x0 > min(5.6 * len(text), room)
            n_letters = int((x1 - x0 if inside else room) / 5.6)
            short = first_fit(n_letters, text, f"{label} waits", label)
            scene.labels.append((x0 + 3 if inside else x1 + 3, y + height / 2 + 3.3, short))


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return spans (from x, to x) without the gaps between them that are too narrow to see."""
    joined: list[tuple[float, float]] = []
    for x0, x1 in spans:
        if joined and x0 - joined[-1][1] < GAP_MIN:
            joined[-1] = (joined[-1][0], max(x1, joined[-1][1]))
        else:
            joined.append((x0, x1))
    return joined


def _draw_bar(picture: Picture, scene: Scene, lane: Lane, bar: Holding) -> None:
    y, height = lane.place(bar.index)
    x0, x1 = scene.x(bar.start_ms), scene.x(bar.end_ms)
    long = f"{amount(bar.length_ms(scene.now_ms))} ms"
    label = number_label(bar.segment_id)
    if lane.row is None:
        picture.rect(
            x0, y, x1 - x0, height, "url(#plab-hatch)", f'stroke="{SOFT}"', f"{bar.label} nobody's, {long}"
        )
        others = [scene.x(b.start_ms) for b in lane.bars if lane.rows[b.index] == lane.rows[bar.index]]
        room = min([x for x in others if x > x1], default=float(RIGHT)) - x1
        if height >= 8 and room > 6 * len(f"{label} {long}"):
            scene.labels.append((x1 + 3, y + height / 2 + 3.3, f"{label} {long}"))
        return
    colour = reader_colour(lane.row.index)
    picture.rect(
        x0,
        y,
        x1 - x0,
        height,
        colour,
        'stroke="#000000" stroke-opacity=".4"',
        f"{bar.label} {bar.reader}, {long}",
    )
    if lane.row.index >= 6:  # as many as there are colours
        picture.rect(x0, y, x1 - x0, height, "url(#plab-hatch)", 'opacity=".35"')
    if height >= 8 and x1 - x0 > 6.5 * len(label) + 5:
        picture.text(x0 + 4, y + height / 2 + 3.5, label, fill=ink(colour), extra='font-weight="600"')


def _dot(picture: Picture, x: float, y: float) -> None:
    ring = f"M{number(x - 3.5)} {number(y)}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0"
    picture.path(ring, f'fill="{TEXT}" stroke="#ffffff" shape-rendering="auto"')


def _draw_checkpoints(picture: Picture, scene: Scene, rows: list[CheckpointRow]) -> None:
    shown = rows[-60:]
    limit, last_x = float(RIGHT), float("inf")
    for place, row in reversed(list(enumerate(shown, 1 + len(rows) - len(shown)))):
        x = scene.x(row.asked_ms)
        failed = row.state == "cleared"
        if last_x - x < LINES_APART and not failed:
            continue  # it would cover the lanes
        last_x = x
        dash = "" if row.state == "completed" else 'stroke-dasharray="4 3"'
        picture.line(x, TOP - 6, x, scene.bottom, VERMILION if failed else TEXT, dash)
        for p in row.passes:
            lane = scene.of.get(p.reader)
            if lane is not None:
                picture.line(x, lane.middle, scene.x(p.time_ms), lane.middle, TEXT)
                if not p.is_by_leaving:
                    _dot(picture, scene.x(p.time_ms), lane.middle)
        text = f"{place} {WORDS.get(row.state, row.words)}"
        left = min(x - 2, limit - 5.6 * len(text)) if limit == RIGHT else x - 2
        if left + 5.6 * len(text) <= limit:
            picture.text(left, TOP - 9, text, size=9.5, fill=VERMILION if failed else TEXT)
            limit = left - 4


def _draw_move(picture: Picture, scene: Scene, move: Move) -> None:
    start, end = scene.of.get(move.from_reader), scene.of.get(move.to_reader)
    if start is None or end is None or start is end or move.from_reader == NOBODY:
        return
    ended = [b for b in start.bars if b.end_ms == move.left_ms]
    begun = [b for b in end.bars if b.start_ms == move.time_ms and b.segment_id == move.segment_id]
    y0 = sum(start.place(ended[0].index)) - 4 if ended else start.middle
    y1 = end.place(begun[0].index)[0] + 3 if begun else end.middle
    x0, x1 = scene.x(move.left_ms), scene.x(move.time_ms)
    half = number((y0 + y1) / 2)
    bend = f"C{number(x0)} {half} {number(x1)} {half} {number(x1)} {number(y1)}"
    curve = 'fill="none" stroke="#1a1a1a" stroke-opacity=".7" shape-rendering="auto"'
    picture.path(f"M{number(x0)} {number(y0)}{bend}", curve)
    tip = -6 if y1 > y0 else 6
    picture.path(f"M{number(x1)} {number(y1)}l-3 {tip}h6z", f'fill="{TEXT}"')


def _draw_departures(picture: Picture, scene: Scene) -> None:
    last_x: dict[str, float] = {}
    for o in reversed(scene.history.presence):
        lane = scene.of.get(o.reader)
        if not isinstance(o, ReaderLeft) or o.group != scene.group or lane is None or lane.row is None:
            continue
        x, y = scene.x(o.time_ms), lane.middle
        if last_x.get(o.reader, float("inf")) - x < DEPARTURES_APART:
            continue  # the later one would cover it
        last_x[o.reader] = x
        word = "killed" if o.was_killed else "offline"
        if o.was_killed:
            cross = f"M{number(x - 6)} {number(y - 6)}l12 12m0 -12l-12 12"
            picture.path(cross, f'stroke="{VERMILION}" stroke-width="2.2" shape-rendering="auto"')
        else:
            picture.rect(x - 1, lane.y + 2, 2, lane.height - 4, TEXT)
        again = [joined for joined, _ in lane.row.sessions if joined >= o.time_ms]
        room = (scene.x(again[0]) if again else RIGHT) - x - 14
        why = o.cause if o.cause.startswith(word) else f"{word}: {o.cause}"
        text = next((t for t in (f"{why} ({o.cause_kind})", word) if 5.6 * len(t) < room), "")
        if text:
            picture.text(x + 10, y + 3.5, text, fill=TEXT)


def move_text(move: Move) -> str:
    """Return a move in words, such as ``#5 r2 → r4: fair share … (inferred)``."""
    return f"{_move_title(move)}: {move.reason} ({move.reason_kind})"


def _move_title(move: Move) -> str:
    source = f"{move.from_reader} " if move.from_reader else ""
    return f"{number_label(move.segment_id)} {source}→ {move.to_reader}"


def _draw_reasons(picture: Picture, scene: Scene) -> None:
    limits = [WIDTH - 4.0] * 3
    y = scene.bottom + CAUSES - 2
    moves = [m for m in scene.history.moves if m.group == scene.group and m.from_reader != m.to_reader]
    for move in reversed(moves[-MOVES_MAX:]):
        x, text = scene.x(move.time_ms), move_text(move)
        picture.path(f"M{number(x - 3.5)} {number(y)}h7l-3.5 -5z", f'fill="{TEXT}"')
        rooms = [int((limit - x - 2) / 5.7) for limit in limits]
        title = _move_title(move)
        brief = f"{title}: {move.reason.split('; ')[0]} ({move.reason_kind})"
        row, shown = placed(rooms, text, brief, title)
        if shown:
            picture.text(x + 1, y - 9 - 12 * row, shown, fill=TEXT)
            limits[row] = x - 7


def _draw_gutter(picture: Picture, scene: Scene) -> None:
    now_x = scene.x(None)  # before the axis ends, if there is less than a second
    picture.line(now_x, TOP - 8, now_x, scene.bottom, TEXT)
    columns = (RIGHT + 7, RIGHT + 58, RIGHT + 123)
    for x, text in zip(columns, ("reader", "state", "held/fair"), strict=True):
        picture.text(x, TOP - 12, text)
    picture.text(WIDTH - 4, TOP - 12, "unread", anchor="end")
    for lane in scene.lanes:
        y, row = lane.middle + 3.5, lane.row
        if row is None:
            free = sum(b.end_ms is None for b in lane.bars)
            waiting = sum(w.end_ms is None for w in lane.waits)
            words = [f"{free} free" if free else "", f"{waiting} waiting" if waiting else ""]
            picture.text(columns[0], y, "nobody", fill=TEXT)
            picture.text(columns[1], y, ", ".join(w for w in words if w) or "all held")
            continue
        picture.text(
            columns[0],
            y,
            short_name(row.reader, 8, scene.common, row.index + 1),
            fill=TEXT if row.is_online else SOFT,
        )
        picture.text(columns[1], y, {"left": "offline"}.get(row.state, row.state))
        if not row.is_online:
            continue
        held = f"{len(row.held)}/{number(round(row.fair_share, 1))}"
        picture.text(columns[2], y, held, fill=TEXT)
        size = data_size(row.unread_bytes)
        age = (
            ""
            if row.behind_since_ms is None
            else f" {time_text(round((scene.now_ms - row.behind_since_ms) / 1000))}"
        )
        room = int((WIDTH - 4 - columns[2]) / 6) - len(held) - 1
        unread = first_fit(room, f"{size}{age if row.unread_bytes else ''}", size)
        picture.text(WIDTH - 4, y, unread, anchor="end")
