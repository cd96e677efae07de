"""The static picture of a query's micro-batches, as SVG text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from pravega_lab.observe.journal.observations import BatchDone
from pravega_lab.observe.query.fold import BatchHistory, BatchRow
from pravega_lab.portable.words import plural

from ..svg.palette import LINE, NONE, SOFT, TEXT, VERMILION
from ..svg.picture import Across, Picture, amount, data_size, number, time_text

WIDTH = 900
LEFT, RIGHT = 46, 684
TOP, BOTTOM = 54, 274
STRIPS = ((284, 328), (338, 382))
HEIGHT = 416
ROWS_MAX = 40
ROW_MAX = 17.0
COLUMN, STEP = 4, 2  # pixels: of a bar, and of a step in the strips
BAD = ("killed", "gone", "failed")
Span = tuple[int, int] | None  # from when to when, where it is not the history's own
Steps = list[tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar stands for the attempts that begin in one column, from ``left`` to ``right``.

    ``row`` is the one of them that took longest.
    """

    row: BatchRow
    left: float
    right: float

    @property
    def width(self) -> float:
        return max(1.0, self.right - self.left)


class Scene:
    """The attempts that are drawn, and the time that they take.

    Each has a row, or, where there are too many, a bar that is as high as it took long.
    """

    def __init__(self, history: BatchHistory, facts: dict[str, Any], span_ms: Span = None) -> None:
        self.history, self.facts = history, facts
        self.start_ms, end_ms = span_ms or (history.start_ms or 0, history.now_ms or 0)
        self.now_ms = history.now_ms or 0
        self.across = Across(LEFT, RIGHT, max((end_ms - self.start_ms) / 1000, 1.0))
        self.bars = self._bars() if len(history.rows) > ROWS_MAX else []
        self.row_height = min(ROW_MAX, (BOTTOM - TOP) / max(1, len(history.rows)))
        self.colours = {name: colour for name, _, colour in facts["phases"]}

    def _bars(self) -> list[Bar]:
        found: dict[int, Bar] = {}
        for row in self.history.rows:
            left, right = self.x(row.start_ms), self.x(row.end_ms)
            column = int(left // COLUMN)
            bar = found.setdefault(column, Bar(row, left, right))
            longest = max(bar.row, row, key=self.took_ms)
            found[column] = Bar(longest, bar.left, max(bar.right, right))
        return list(found.values())

    def took_ms(self, row: BatchRow) -> int:
        """Return how long an attempt took, or has run so far."""
        return max(1, self.now_ms - row.start_ms if row.duration_ms is None else row.duration_ms)

    def x(self, time_ms: int | None) -> float:
        return self.across.x(((self.now_ms if time_ms is None else time_ms) - self.start_ms) / 1000)

    def steps(self, of: Callable[[BatchDone], float | None]) -> Steps:
        """Return (from x, to x, value) for every batch that is done and has the value.

        Of those that begin in one column, the one with the greatest value stands for all.
        """
        found: dict[int, tuple[float, float, float]] = {}
        last = -1.0
        for row in self.history.rows:
            value = of(row.done) if row.done else None
            if value is not None and row.end_ms is not None:
                left, right = max(self.x(row.start_ms), last), self.x(row.end_ms)
                last = right
                before = found.get(int(left // STEP))
                if before is not None:
                    left, value = before[0], max(before[2], value)
                found[int(left // STEP)] = (left, right, value)
        return list(found.values())


def query_svg(history: BatchHistory, facts: dict[str, Any], gap: str, span_ms: Span = None) -> str:
    """Return the picture as SVG text."""
    scene = Scene(history, facts, span_ms)
    counted = plural(len({(r.query, r.batch_id) for r in history.rows}), "batch", "batches")
    replays = len(history.replays)
    words = [
        counted,
        f"{replays:,} replayed" if replays else "",
        time_text(scene.across.end_s),
    ]
    if 0 < len(scene.bars) < len(history.rows):
        words.append(f"the longest {len(scene.bars):,} of {len(history.rows):,} attempts drawn")
    title = f"Micro-batches of {facts['query'] or 'no query yet'}: {counted}, {replays} replayed"
    picture = Picture(WIDTH, HEIGHT, title)
    picture.heading(facts["title"], " · ".join(w for w in [*words, f"gap: {gap}" if gap else ""] if w))
    _draw_legend(picture, scene)
    frame = f'fill="none" stroke="{LINE}"'
    picture.path(f"M{LEFT} {TOP - 4}H{RIGHT}V{BOTTOM + 3}H{LEFT}Z", frame)
    middle = (TOP + BOTTOM) / 2
    turned = f'transform="rotate(-90 12 {number(middle)})"'
    label = "duration of batches" if scene.bars else "← micro-batches"
    picture.text(12, middle, label, anchor="middle", extra=turned)
    if scene.bars:
        _draw_bars(picture, scene)
    else:
        for place, row in enumerate(history.rows):
            _draw_batch(picture, scene, row, TOP + place * scene.row_height)
    _draw_runs(picture, scene)
    _draw_flow(picture, scene)
    if history.rows:
        _draw_newest(picture, scene, history.rows[-1])
    picture.time_axis(scene.across, HEIGHT - 26)
    if not history.rows:
        picture.text((LEFT + RIGHT) / 2, 160, facts["empty"][0], size=14, anchor="middle")
    return picture.svg()


def _draw_legend(picture: Picture, scene: Scene) -> None:
    x = float(LEFT)
    told = [(words, colour) for name, words, colour in scene.facts["phases"] if name in scene.facts["told"]]
    cut = [("cut off", VERMILION)] if any(r.outcome in BAD for r in scene.history.rows) else []
    for words, colour in (told + cut)[:7]:
        picture.rect(x, 23, 11, 9, colour, 'stroke="#888888"')
        picture.text(x + 15, 31, words)
        x += 30 + 6.1 * len(words)


def _draw_batch(picture: Picture, scene: Scene, row: BatchRow, y: float) -> None:
    inset = 2 if scene.row_height > 8 else 0.5
    top, height = y + inset, max(1.0, scene.row_height - 2 * inset)
    x0 = scene.x(row.start_ms)
    x1 = max(x0 + 1, scene.x(row.end_ms))
    picture.rect(x0, top, x1 - x0, height, NONE, 'opacity=".5"', f"batch {_label(row)}: {row.outcome}")
    for phase in row.phases:
        left = scene.x(phase.start_ms)
        if phase.end_ms > phase.start_ms:
            picture.rect(left, top, scene.x(phase.end_ms) - left, height, scene.colours[phase.name])
    if row.replayed:
        for out in (0.5, 3.5):
            upper, lower = number(top - out * 0.8), number(top + height + out * 0.8)
            box = f"M{number(x0 - out)} {upper}H{number(x1 + out)}V{lower}"
            picture.path(f"{box}H{number(x0 - out)}Z", f'fill="none" stroke="{TEXT}"')
    if row.outcome in BAD:
        _draw_cross(picture, x1, top + height / 2, min(5.0, height / 2 + 1))
    if scene.row_height >= 8.5:
        left = x0 - 7 * len(_label(row)) - 6 > LEFT
        picture.text(
            x0 - 6 if left else x1 + 7,
            top + height / 2 + 3.5,
            _label(row),
            anchor="end" if left else "start",
            fill=TEXT,
        )


def _draw_cross(picture: Picture, x: float, y: float, r: float) -> None:
    cross = f"M{number(x - r)} {number(y - r)}l{number(2 * r)} {number(2 * r)}"
    picture.path(
        f"{cross}m0 {number(-2 * r)}l{number(-2 * r)} {number(2 * r)}",
        f'stroke="{VERMILION}" stroke-width="2"',
    )


def _draw_bars(picture: Picture, scene: Scene) -> None:
    """Draw each attempt as a bar, its phases above each other. All stretches of a phase are one path."""
    longest_ms = max(scene.took_ms(bar.row) for bar in scene.bars)
    per_ms = (BOTTOM - TOP) / longest_ms
    paths: dict[str, list[str]] = {}
    for bar in scene.bars:
        took_ms, width = scene.took_ms(bar.row), number(bar.width)
        words = f"batch {_label(bar.row)}: {bar.row.outcome}, {time_text(took_ms / 1000)}"
        picture.rect(bar.left, BOTTOM - took_ms * per_ms, bar.width, took_ms * per_ms, NONE, title=words)
        bottom = float(BOTTOM)
        for name, ms in _spent(bar.row).items():
            box = f"M{number(bar.left)} {number(bottom)}h{width}v{number(-ms * per_ms)}h-{width}z"
            paths.setdefault(scene.colours[name], []).append(box)
            bottom -= ms * per_ms
    for colour, boxes in paths.items():
        picture.path("".join(boxes), f'fill="{colour}" pointer-events="none"')
    for bar in scene.bars:
        top = BOTTOM - scene.took_ms(bar.row) * per_ms
        for out in (0.5, 3.5) if bar.row.replayed else ():
            across = f"{number(top - out)}h{number(bar.width + 2 * out)}"
            box = f"M{number(bar.left - out)} {BOTTOM}V{across}V{BOTTOM}z"
            picture.path(box, f'fill="none" stroke="{TEXT}"')
        if bar.row.outcome in BAD:
            _draw_cross(picture, bar.left + bar.width / 2, top, 4)
    picture.text(LEFT - 6, TOP + 4, time_text(longest_ms / 1000), size=9.5, anchor="end")
    picture.text(LEFT - 6, BOTTOM + 2, "0", size=9.5, anchor="end")


def _spent(row: BatchRow) -> dict[str, int]:
    """Return the milliseconds that an attempt spent in each phase."""
    spent: dict[str, int] = {}
    for phase in row.phases:
        spent[phase.name] = spent.get(phase.name, 0) + phase.end_ms - phase.start_ms
    return spent


def _label(row: BatchRow) -> str:
    return f"{row.batch_id}{f' ×{row.attempt}' if row.attempt > 1 else ''}"


def _draw_runs(picture: Picture, scene: Scene) -> None:
    marks = [(e.time_ms, e.outcome, e.outcome in BAD, True) for e in scene.history.ends]
    marks += [(s.time_ms, f"restarted, run {s.run}", False, False) for s in scene.history.starts if s.run > 1]
    last = -1.0
    for time_ms, words, bad, ended in sorted(marks):
        x = scene.x(time_ms)
        dash = ' stroke-dasharray="4 3"' if ended else ""
        picture.line(x, TOP - 5, x, STRIPS[1][1], VERMILION if bad else TEXT, f'stroke-width="1.5"{dash}')
        width = 6.1 * len(words)
        left = (
            x - width if ended else x
        )  # the text of an end is left of its line, that of a start right of it
        if left > last:
            anchor = "end" if ended else "start"
            picture.text(x - 3 if ended else x + 3, TOP - 8, words, fill=TEXT, anchor=anchor)
            last = left + width


def _draw_flow(picture: Picture, scene: Scene) -> None:
    arriving = scene.steps(attrgetter("input_rows_per_s"))
    processed = scene.steps(attrgetter("processed_rows_per_s"))
    rates = [(arriving, "#E69F00", "rows/s arriving"), (processed, "#0072B2", "rows/s processed")]
    _draw_strip(picture, STRIPS[0], rates, amount)
    lag = scene.steps(attrgetter("lag_bytes"))
    _draw_strip(picture, STRIPS[1], [(lag, "#009E73", "lag")], data_size)


def _draw_strip(
    picture: Picture,
    strip: tuple[int, int],
    series: Sequence[tuple[Steps, str, str]],
    show: Callable[[float], str],
) -> None:
    top, bottom = strip
    most = 1.15 * max((v for steps, _, _ in series for _, _, v in steps), default=0.0)
    picture.line(LEFT, bottom, RIGHT, bottom)
    for place, (steps, colour, words) in enumerate(series):
        points = "".join(
            f"{'L' if k and x0 - steps[k - 1][1] < 3 else 'M'}{number(x0)} "
            f"{number(bottom - v / (most or 1) * (bottom - top))}H{number(x1)}"
            for k, (x0, x1, v) in enumerate(steps)
        )
        if points:
            picture.path(points, f'fill="none" stroke="{colour}" stroke-width="1.4"')
        y = top + 8 + 13 * place
        picture.rect(RIGHT + 8, y - 1, 12, 2.5, colour)
        picture.text(RIGHT + 25, y + 3.5, words, size=9.5)
    picture.text(
        LEFT - 6,
        top + 9,
        show(most / 1.15) if any(steps for steps, _, _ in series) else "–",
        size=9.5,
        anchor="end",
    )
    if not any(steps for steps, _, _ in series):
        picture.text(LEFT + 6, (top + bottom) / 2 + 3, "not reported")


def _draw_newest(picture: Picture, scene: Scene, row: BatchRow) -> None:
    """Draw the newest attempt, in words, on the right."""
    words = {name: text for name, text, _ in scene.facts["phases"]}
    spent = _spent(row)
    x, right, y = RIGHT + 8, WIDTH - 6, TOP + 6.0
    again = ", replayed" if row.replayed else ""
    bold = 'font-weight="600"'
    picture.text(x, y, f"batch {_label(row)}{again}: {row.outcome}", size=11, fill=TEXT, extra=bold)
    for name in scene.colours:
        if name in spent:
            y += 14
            picture.rect(x, y - 8, 9, 8, scene.colours[name])
            picture.text(x + 14, y, words[name], fill=TEXT)
            picture.text(right, y, f"{amount(spent[name])} ms", anchor="end", fill=TEXT)
    if row.duration_ms is not None:
        picture.text(x, y + 14, "together", fill=SOFT)
        picture.text(right, y + 14, f"{amount(row.duration_ms)} ms", anchor="end")
